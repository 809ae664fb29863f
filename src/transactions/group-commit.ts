import type { Pool, PoolClient } from 'pg'
import { notBegun, Refusal } from '../base/errors.ts'
import type { ObservedGroup } from '../base/metrics.ts'
import { tracing } from '../base/tracing.ts'
import { isRetryable, isTransient } from '../db/failures.ts'
import { ANSWER_TIMEOUT_MS } from '../db/pool.ts'
import type { Command } from './command.ts'
import { type Clock, executeGroup, type GroupResult } from './execute-group.ts'
import type { Group, Path } from './group.ts'
import type { Memory } from './memory.ts'
import type { PlayerRef } from './player.ts'
import { createQueue, type Entry, type Line, refuse } from './queue.ts'

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
const MAX_RETRIES = 20
const RECONNECT_MS = 100
/** A second group from memory starts before the first ends only if this many players wait: larger groups cost less. */
const SECOND_GROUP_AT = 16

/**
 * Runs commands in groups: all waiting commands go together (architecture: decide in TypeScript, commit in groups).
 * There is no timer. A lone command starts at once, and groups grow by themselves while the connections are busy.
 *
 * A group takes one of two paths. From memory, commands of remembered players are decided at once, or after a missing row
 * was read, and one statement proves and writes. All others lock their players, read, decide and write in one
 * transaction; so do commands whose players were not proven.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const {
    pool,
    memory,
    connections = 2,
    maxBatch = 256,
    maxQueue = 10_000,
    deadlineMs = DEADLINE_MS,
    readOnly = false,
    committed,
  } = options
  /** A group that takes longer gives up its connection. */
  const timeoutMs = Math.min(deadlineMs, ANSWER_TIMEOUT_MS)
  const clock: Clock = { offsetMs: undefined }
  const workers = { memory: 0, transaction: 0 }
  /** Neither path may use all connections while the other has calls. */
  const most = memory ? Math.max(1, connections - 1) : connections
  let closed = false
  /** The wait of the call that a group took last, in milliseconds. */
  let waitMs = 0

  /** Why the last group had no answer, or no connection. */
  let failure: unknown

  const queue = createQueue({ maxBatch, isExclusive: !readOnly, isRemembered, failure: () => failure })

  function isRemembered({ player }: Entry): boolean {
    return (
      player?.version !== undefined &&
      !player.isContested &&
      clock.offsetMs !== undefined &&
      !(readOnly && player.isInFlight)
    )
  }

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
      wake()
    })
  }

  /** A call that cannot be answered in time is refused at once, so that the calls before it are answered in time. */
  const isFull = (): boolean => queue.size >= maxQueue || (queue.size > maxBatch && waitMs > FULL_AT * deadlineMs)

  /** Starts groups. With a single connection, this path goes first. */
  function wake(first: Path = 'memory'): void {
    for (const path of [first, otherThan(first)]) {
      while (
        queue.ready(path) > 0 &&
        workers.memory + workers.transaction < connections &&
        workers[path] < most &&
        (path === 'transaction' || workers.memory === 0 || queue.ready(path) >= SECOND_GROUP_AT * workers.memory)
      ) {
        if (workers[path] > 0 && workers[path] >= queue.ready(path)) break
        workers[path] += 1
        void work(path)
      }
    }
  }

  async function work(path: Path): Promise<void> {
    try {
      // It takes one group at least, or two paths would give each other the only connection without end.
      for (let isFirst = true; queue.ready(path) > 0 && (isFirst || !keepsOtherWaiting(path)); isFirst = false) {
        const client = await connect()
        if (!client) continue
        let broken = true
        try {
          // Commands are taken only when a connection is ready for them, so that later arrivals join in, including
          // requests that wait for their turn of this event loop.
          do {
            await new Promise(setImmediate)
            const lines = queue.take(path)
            const [first] = lines[0]?.taken ?? []
            if (first) waitMs = performance.now() - (first.deadline - deadlineMs)
            if (lines.length > 0) await runLines(client, path, lines)
            // Other users of the pool get their turn, however much there is to commit.
          } while (queue.ready(path) > 0 && pool.waitingCount === 0 && !keepsOtherWaiting(path))
          broken = false
          failure = undefined
        } catch (error) {
          // The callers were answered or put back; only this connection is lost.
          failure = error
        } finally {
          client.release(broken)
        }
      }
    } finally {
      workers[path] -= 1
      wake(otherThan(path))
    }
  }

  /** Whether the other path has calls and no connection. */
  function keepsOtherWaiting(path: Path): boolean {
    const other = otherThan(path)
    return queue.ready(other) > 0 && workers[other] === 0 && workers[path] >= connections
  }

  async function connect(): Promise<PoolClient | undefined> {
    try {
      return await pool.connect()
    } catch (error) {
      failure = error
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
      return undefined
    }
  }

  /** Throws only when the connection can no longer be used. Calls without an answer have then changed nothing. */
  async function runLines(client: PoolClient, path: Path, lines: readonly Line[]): Promise<void> {
    const entries = lines.flatMap((line) => line.taken)
    const watchdog = setTimeout(() => client.connection.stream.destroy(), timeoutMs)
    const started = performance.now()
    const waitSeconds = waitMs / 1000
    const isFromMemory = path === 'memory'
    try {
      if (isFromMemory) await runFromMemory(client, entries)
      else await runInTransaction(client, entries)
    } catch (error) {
      // The connection is gone. Calls without an answer have changed nothing, and wait for a new one.
      for (const entry of entries) entry.isAlone = true
      throw error
    } finally {
      clearTimeout(watchdog)
      queue.putBack(lines)
      const seconds = (performance.now() - started) / 1000
      tracing()?.group(
        started,
        entries.length,
        entries.map(({ span }) => span),
      )
      const unproven = isFromMemory ? entries.filter(({ isFresh }) => isFresh).length : 0
      options.observe?.({ size: entries.length, seconds, waitSeconds, isFromMemory, unproven })
      wake()
    }
  }

  /** Decides and commits the calls without an answer as one group. */
  async function attempt(
    client: PoolClient,
    path: Path,
    entries: readonly Entry[],
  ): Promise<Exclude<GroupResult, { kind: 'restart' }>> {
    for (let needed: readonly PlayerRef[] = []; ; ) {
      const waiting = entries.filter((entry) => !entry.isSettled)
      const group = { client, memory, clock, path, isReadOnly: readOnly, entries: waiting, needed, committed }
      const result = await executeGroup(group)
      if (result.kind !== 'restart') return result
      needed = result.needed
    }
  }

  /** Decides on rows in memory. Calls that need more, or whose players were not proven, need a transaction. */
  async function runFromMemory(client: PoolClient, entries: readonly Entry[]): Promise<void> {
    while (entries.some((entry) => !entry.isSettled)) {
      const result = await attempt(client, 'memory', entries)
      if (result.kind === 'bug') {
        refuse(result.entry, result.error)
        continue
      }
      if (result.kind === 'done') return
      for (const entry of entries) entry.isFresh = true
      if (result.kind === 'lost' || result.kind === 'unsendable') throw result.error
      // The cause is not known: each call gets a transaction of its own.
      if (!isRetryable(result.code)) for (const entry of entries) entry.isAlone = true
      return
    }
  }

  async function runInTransaction(client: PoolClient, entries: readonly Entry[]): Promise<void> {
    for (let retries = 0; entries.some((entry) => !entry.isSettled); ) {
      const result = await attempt(client, 'transaction', entries)
      if (result.kind === 'done') return
      if (result.kind === 'lost') throw result.error
      if (result.kind === 'unsendable') {
        if (entries.length === 1) for (const entry of entries) refuse(entry, result.error)
        throw result.error
      }
      if (result.kind === 'bug') {
        // The command caused the error. Its changes are forgotten, and the others start again without it.
        refuse(result.entry, result.error)
        continue
      }
      if (isRetryable(result.code) && retries < MAX_RETRIES) {
        retries += 1
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * retries))
        continue
      }
      if (entries.length === 1) {
        const refusal = isTransient(result.code) ? new Refusal('unavailable', { cause: result.error }) : result.error
        for (const entry of entries) refuse(entry, refusal)
        return
      }
      // One faulty command must not fail the others: each gets a transaction of its own.
      for (const entry of entries) await runInTransaction(client, [entry])
      return
    }
  }

  async function close(): Promise<void> {
    closed = true
    while (workers.memory + workers.transaction > 0 || queue.size > 0)
      await new Promise((resolve) => setTimeout(resolve, 5))
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

const otherThan = (path: Path): Path => (path === 'memory' ? 'transaction' : 'memory')
