import type { Pool, PoolClient } from 'pg'
import type { ObservedGroup } from '../base/metrics.ts'
import { tracing } from '../base/tracing.ts'
import { ANSWER_TIMEOUT_MS } from '../db/pool.ts'
import type { Common } from './execute-group.ts'
import type { Path } from './group.ts'
import type { Line, Queue } from './queue.ts'
import { runFromMemory, runInTransaction } from './run-group.ts'

const RECONNECT_MS = 100
/** A second group from memory starts before the first ends only if this many players wait: larger groups cost less. */
const SECOND_GROUP_AT = 16

export interface WorkersOptions {
  readonly pool: Pool
  readonly queue: Queue
  readonly common: Common
  /** Groups that may run at the same time. */
  readonly connections: number
  /** The longest time from a call to its answer, in milliseconds. */
  readonly deadlineMs: number
  readonly observe: ((group: ObservedGroup) => void) | undefined
}

/** Take calls from the queue in groups. Each works for one path, on a connection, until no calls wait there. */
export class Workers {
  /** The wait of the call that a group took last, in milliseconds. */
  waitMs = 0
  /** Why the last group had no answer, or no connection. */
  failure: unknown
  private readonly options: WorkersOptions
  /** How many work for each path. */
  private readonly at: Record<Path, number> = { memory: 0, transaction: 0 }
  /** Neither path may use all connections while the other has calls. */
  private readonly most: number
  /** A group that takes longer gives up its connection. */
  private readonly timeoutMs: number

  constructor(options: WorkersOptions) {
    const { common, connections, deadlineMs } = options
    this.options = options
    this.most = common.memory ? Math.max(1, connections - 1) : connections
    this.timeoutMs = Math.min(deadlineMs, ANSWER_TIMEOUT_MS)
  }

  get areBusy(): boolean {
    return this.at.memory + this.at.transaction > 0
  }

  /** Starts workers for the calls that wait. With a single connection, this path goes first. */
  wake(first: Path = 'memory'): void {
    for (const path of [first, otherThan(first)]) {
      while (this.mayStart(path)) {
        this.at[path] += 1
        void this.work(path)
      }
    }
  }

  private mayStart(path: Path): boolean {
    const { at, options } = this
    const ready = options.queue.ready(path)
    if (ready === 0 || at[path] >= this.most || at.memory + at.transaction >= options.connections) return false
    if (at[path] > 0 && at[path] >= ready) return false
    return path === 'transaction' || at.memory === 0 || ready >= SECOND_GROUP_AT * at.memory
  }

  /** Works until no calls wait on the path, or the other path needs the connection. */
  private async work(path: Path): Promise<void> {
    const { queue } = this.options
    try {
      // It takes one group at least, or two paths would give each other the only connection without end.
      for (let isFirst = true; queue.ready(path) > 0 && (isFirst || !this.keepsOtherWaiting(path)); isFirst = false) {
        const client = await this.connect()
        if (client) await this.workOn(client, path)
      }
    } finally {
      this.at[path] -= 1
      this.wake(otherThan(path))
    }
  }

  /** Whether the other path has calls and no connection. */
  private keepsOtherWaiting(path: Path): boolean {
    const { queue, connections } = this.options
    const other = otherThan(path)
    return queue.ready(other) > 0 && this.at[other] === 0 && this.at[path] >= connections
  }

  private async connect(): Promise<PoolClient | undefined> {
    try {
      return await this.options.pool.connect()
    } catch (error) {
      this.failure = error
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
      return undefined
    }
  }

  /** Runs one group after another on a connection, which it then releases. */
  private async workOn(client: PoolClient, path: Path): Promise<void> {
    const { pool, queue, deadlineMs } = this.options
    let broken = true
    try {
      // Commands are taken only when a connection is ready for them, so that later arrivals join in, including
      // requests that wait for their turn of this event loop.
      do {
        await new Promise(setImmediate)
        const lines = queue.take(path)
        const [first] = lines[0]?.taken ?? []
        if (first) this.waitMs = performance.now() - (first.deadline - deadlineMs)
        if (lines.length > 0) await this.runLines(client, path, lines)
        // Other users of the pool get their turn, however much there is to commit.
      } while (queue.ready(path) > 0 && pool.waitingCount === 0 && !this.keepsOtherWaiting(path))
      broken = false
      this.failure = undefined
    } catch (error) {
      // The callers were answered or put back; only this connection is lost.
      this.failure = error
    } finally {
      client.release(broken)
    }
  }

  /** Throws only when the connection can no longer be used. Calls without an answer have then changed nothing. */
  private async runLines(client: PoolClient, path: Path, lines: readonly Line[]): Promise<void> {
    const { queue, common, observe } = this.options
    const entries = lines.flatMap((line) => line.taken)
    const watchdog = setTimeout(() => client.connection.stream.destroy(), this.timeoutMs)
    const started = performance.now()
    const waitSeconds = this.waitMs / 1000
    const isFromMemory = path === 'memory'
    try {
      if (isFromMemory) await runFromMemory(common, client, entries)
      else await runInTransaction(common, client, entries)
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
      observe?.({ size: entries.length, seconds, waitSeconds, isFromMemory, unproven })
      this.wake()
    }
  }
}

const otherThan = (path: Path): Path => (path === 'memory' ? 'transaction' : 'memory')
