import type { Pool, PoolClient } from 'pg'
import { isRetryable, isTransient, sqlState } from '../db/failures.ts'
import { Refusal } from '../errors.ts'
import { Group, type Statement } from './group.ts'

/** One call's share of a group: the rows it rests on, and what it makes of them. */
export interface Command<Outcome> {
  /** Names the rows that the decision rests on. Called again after each load, until nothing new is named. */
  needs(group: Group): void
  /** Decides on the loaded rows and records the changes. Throws before it changes anything, or not at all. */
  decide(group: Group): Outcome
}

export interface GroupCommitOptions {
  readonly pool: Pool
  /** Groups that may be under way at once. Two keep the database and this process busy in turn. */
  readonly connections?: number
  readonly maxBatch?: number
  /** Commands that may wait. Beyond it, `unavailable` at once is kinder than a wait that ends the same way. */
  readonly maxQueue?: number
  /** How long a command may take from the call to its answer, in milliseconds. */
  readonly deadlineMs?: number
  /** Loads only: a snapshot that takes no locks and writes nothing. */
  readonly readOnly?: boolean
  /** Called after each COMMIT, before the callers hear of it. Must not throw. */
  readonly committed?: (group: Group) => void
  readonly observe?: (batch: { size: number; seconds: number }) => void
}

export interface GroupCommit {
  /** Answers after COMMIT, or refuses with `unavailable` when that cannot be known in time. */
  run<Outcome>(command: Command<Outcome>): Promise<Outcome>
  readonly queued: number
  /** Waits for what is under way; refuses what comes later. */
  close(): Promise<void>
}

interface Entry {
  readonly command: Command<unknown>
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
  readonly deadline: number
  settled: boolean
}

const MAX_RETRIES = 20
const SWEEP_MS = 100
const RECONNECT_MS = 100

/**
 * Runs commands in groups, one transaction for all that wait (architecture: decide in TypeScript, commit in groups).
 * There is no timer: a lone command leaves at once, and groups grow by themselves while the connections are busy.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { pool, connections = 2, maxBatch = 256, maxQueue = 10_000, deadlineMs = 5_000, readOnly = false } = options
  const begin = readOnly ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN'
  const queue: Entry[] = []
  const inFlight = new Set<Entry>()
  let workers = 0
  let closed = false
  let sweeper: NodeJS.Timeout | undefined

  function run<Outcome>(command: Command<Outcome>): Promise<Outcome> {
    if (closed || queue.length >= maxQueue) return Promise.reject(new Refusal('unavailable'))
    return new Promise<Outcome>((resolve, reject) => {
      queue.push({
        command,
        resolve: resolve as (outcome: unknown) => void,
        reject,
        deadline: Date.now() + deadlineMs,
        settled: false,
      })
      sweeper ??= setInterval(sweep, SWEEP_MS).unref()
      if (workers < connections) {
        workers += 1
        void work()
      }
    })
  }

  /** A caller is never left waiting past its deadline, whatever the database does. */
  function sweep(): void {
    const now = Date.now()
    while (queue[0] && queue[0].deadline <= now) {
      const entry = queue.shift()
      if (entry) refuse(entry, new Refusal('unavailable'))
    }
    for (const entry of inFlight) if (entry.deadline <= now) refuse(entry, new Refusal('unavailable'))
    if (queue.length === 0 && inFlight.size === 0) {
      clearInterval(sweeper)
      sweeper = undefined
    }
  }

  async function work(): Promise<void> {
    try {
      while (queue.length > 0) {
        const client = await connect()
        if (!client) continue
        let broken = true
        try {
          // Commands are taken only when a connection is ready for them, so those that arrive meanwhile join in.
          while (queue.length > 0) await runBatch(client, takeBatch())
          broken = false
        } catch {
          // The callers have been answered or put back; only this connection is lost.
        } finally {
          client.release(broken)
        }
      }
    } finally {
      workers -= 1
    }
  }

  async function connect(): Promise<PoolClient | undefined> {
    try {
      return await pool.connect()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
      return undefined
    }
  }

  function takeBatch(): Entry[] {
    const batch = queue.splice(0, maxBatch)
    for (const entry of batch) inFlight.add(entry)
    return batch
  }

  async function runBatch(client: PoolClient, batch: Entry[]): Promise<void> {
    const watchdog = setTimeout(() => client.connection.stream.destroy(), deadlineMs)
    const started = performance.now()
    try {
      await commitTogether(client, batch)
    } finally {
      clearTimeout(watchdog)
      for (const entry of batch) inFlight.delete(entry)
      options.observe?.({ size: batch.length, seconds: (performance.now() - started) / 1000 })
    }
  }

  /** Throws only when the connection can no longer be used. */
  async function commitTogether(client: PoolClient, batch: Entry[]): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const result = await attemptGroup(client, batch)
      if (result.kind === 'done') return
      if (result.kind === 'lost') {
        // Before COMMIT was sent nothing can have happened: these wait for a new connection. After it, nobody knows.
        if (result.commitSent)
          for (const entry of batch) refuse(entry, new Refusal('unavailable', { cause: result.error }))
        else queue.unshift(...batch.filter((entry) => !entry.settled))
        throw result.error
      }
      if (isRetryable(result.code) && attempt < MAX_RETRIES) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * (attempt + 1)))
        continue
      }
      if (batch.length === 1) {
        for (const entry of batch)
          refuse(entry, isTransient(result.code) ? new Refusal('unavailable', { cause: result.error }) : result.error)
        return
      }
      // One command's fault must not become its neighbours': each gets a transaction of its own.
      for (const entry of batch) if (!entry.settled) await commitTogether(client, [entry])
      return
    }
  }

  async function attemptGroup(client: PoolClient, batch: readonly Entry[]): Promise<Attempt> {
    const group = new Group(readOnly)
    const outcomes: { entry: Entry; outcome: unknown }[] = []
    let commitSent = false
    try {
      let live = batch.filter((entry) => !entry.settled)
      const failures: { entry: Entry; error: unknown }[] = []
      let opening: Statement[] = [{ text: begin }]
      for (;;) {
        live = live.filter((entry) => attemptOne(entry, failures, () => entry.command.needs(group)))
        const reads = group.load()
        if (reads.length === 0 && opening.length === 0) break
        await send(client, [...opening, ...reads])
        opening = []
      }
      for (const entry of live) {
        attemptOne(entry, failures, () => outcomes.push({ entry, outcome: entry.command.decide(group) }))
      }
      const writes = group.save()
      commitSent = writes.length > 0
      const results = await send(client, [...writes, { text: 'COMMIT' }])
      if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
      options.committed?.(group)
      for (const { entry, outcome } of outcomes) answer(entry, outcome)
      for (const { entry, error } of failures) refuse(entry, error)
      return { kind: 'done' }
    } catch (error) {
      if (error instanceof ConnectionLost) return { kind: 'lost', commitSent, error: error.cause }
      await client.query('ROLLBACK').catch(() => undefined)
      return { kind: 'failed', code: sqlState(error) ?? 'bug', error }
    }
  }

  function attemptOne(entry: Entry, failures: { entry: Entry; error: unknown }[], step: () => void): boolean {
    try {
      step()
      return true
    } catch (error) {
      failures.push({ entry, error })
      return false
    }
  }

  async function close(): Promise<void> {
    closed = true
    while (workers > 0 || queue.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    clearInterval(sweeper)
  }

  return {
    run,
    close,
    get queued() {
      return queue.length
    },
  }
}

type Attempt =
  | { kind: 'done' }
  | { kind: 'failed'; code: string; error: unknown }
  | { kind: 'lost'; commitSent: boolean; error: unknown }

function answer(entry: Entry, outcome: unknown): void {
  if (entry.settled) return
  entry.settled = true
  entry.resolve(outcome)
}

function refuse(entry: Entry, error: unknown): void {
  if (entry.settled) return
  entry.settled = true
  entry.reject(error)
}

/** Sends statements in one go; the server runs them in order. The first real error wins. */
async function send(client: PoolClient, statements: readonly Statement[]) {
  const { stream } = client.connection
  // Held back until all are written: one packet instead of one for each.
  stream.cork()
  const queries = statements.map((statement) => client.query({ ...statement, rowMode: 'array' as const }))
  stream.uncork()
  const results = await Promise.allSettled(queries)
  let failure: unknown
  const answers = []
  for (const [index, result] of results.entries()) {
    if (result.status === 'rejected') {
      failure ??= result.reason
    } else if (failure === undefined) {
      statements[index]?.take?.(result.value.rows)
      answers.push(result.value)
    }
  }
  if (failure === undefined) return answers
  throw sqlState(failure) === undefined ? new ConnectionLost(failure) : failure
}

/** The connection broke before an answer came: what it had been sent may or may not have happened. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause })
  }
}
