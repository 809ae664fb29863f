import type { Pool } from 'pg'
import { notBegun } from '../base/errors.ts'
import type { ObservedGroup } from '../base/metrics.ts'
import { tracing } from '../base/tracing.ts'
import type { Command } from './command.ts'
import type { Common } from './execute-group.ts'
import type { Group } from './group.ts'
import type { Memory } from './memory.ts'
import { type Entry, Queue } from './queue.ts'
import { Workers } from './workers.ts'

export interface GroupCommitOptions {
  readonly pool: Pool
  /** Remembered rows of players. Without it every group reads its rows. */
  readonly memory?: Memory
  /** Groups that may run at the same time. */
  readonly connections?: number
  readonly maxBatch?: number
  /** Commands that may wait. Beyond it, commands are refused at once with `unavailable`. */
  readonly maxQueue?: number
  /** The longest time from a call to its answer, in milliseconds. */
  readonly deadlineMs?: number
  /** Reads only: a snapshot that takes no locks and writes nothing. */
  readonly readOnly?: boolean
  /** Called after each COMMIT, before the callers are answered. Must not throw. */
  readonly committed?: (group: Group) => void
  /** Called after each group. */
  readonly observe?: (group: ObservedGroup) => void
}

export interface GroupCommit {
  /**
   * Answers after COMMIT, or refuses with `unavailable` when the outcome cannot be known in time. `admit` refuses a caller
   * whose access has ended while the call waited.
   */
  run<Outcome>(command: Command<Outcome>, admit?: () => void): Promise<Outcome>
  readonly queued: number
  /** Waits for the calls under way, and refuses later ones. */
  close(): Promise<void>
}

/** The default of `deadlineMs`. */
export const DEADLINE_MS = 5_000
/** A queue whose calls wait for this share of their deadline takes no further calls: they would miss their deadline. */
const FULL_AT = 0.8

/**
 * Runs commands in groups: all waiting commands go together.
 * There is no timer. A lone command starts at once, and groups grow by themselves while the connections are busy.
 *
 * A group takes one of two paths. From memory, commands of remembered players are decided at once, or after a missing row
 * was read, and one statement proves and writes. All others lock their players, read, decide and write in one
 * transaction; so do commands whose players were not proven.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { memory, maxBatch = 256, maxQueue = 10_000, deadlineMs = DEADLINE_MS, readOnly = false } = options
  const common: Common = {
    memory,
    clock: { offsetMs: undefined },
    isReadOnly: readOnly,
    committed: options.committed,
  }
  const queue = new Queue({
    maxBatch,
    isExclusive: !readOnly,
    isRemembered: (entry) => isRemembered(entry, common),
    failure: () => workers.failure,
  })
  const { pool, connections = 2, observe } = options
  const workers: Workers = new Workers({ pool, queue, common, connections, deadlineMs, observe })
  let closed = false

  function run<Outcome>(command: Command<Outcome>, admit?: () => void): Promise<Outcome> {
    if (closed) return Promise.reject(notBegun('the instance is stopping'))
    if (isFull()) return Promise.reject(notBegun('too many calls wait for Postgres'))
    return new Promise<Outcome>((resolve, reject) => {
      const player = memory && command.player ? memory.player(command.player) : undefined
      queue.add({
        command,
        admit,
        player,
        resolve: resolve as (outcome: unknown) => void,
        reject,
        deadline: performance.now() + deadlineMs,
        isSettled: false,
        span: tracing()?.active(),
        isAlone: command.apart === true,
        isFresh: false,
      })
      workers.wake()
    })
  }

  /** A call that cannot be answered in time is refused at once, so that the calls before it are answered in time. */
  const isFull = (): boolean =>
    queue.size >= maxQueue || (queue.size > maxBatch && workers.waitMs > FULL_AT * deadlineMs)

  async function close(): Promise<void> {
    closed = true
    while (workers.areBusy || queue.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    queue.close()
  }

  return {
    run,
    close,
    get queued() {
      return queue.size
    },
  }
}

/** Whether a group from memory could decide a call. */
function isRemembered({ player }: Entry, { clock, isReadOnly }: Common): boolean {
  return (
    player?.version !== undefined &&
    !player.isContested &&
    clock.offsetMs !== undefined &&
    !(isReadOnly && player.isInFlight)
  )
}
