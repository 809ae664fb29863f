import type { Pool, PoolClient, QueryArrayResult } from 'pg'
import { isRetryable, isTransient, sqlState } from '../db/failures.ts'
import { Refusal } from '../errors.ts'
import { Group, MissingRows, type Statement } from './group.ts'

/**
 * Which engine runs a command: the game's writes; the game's reads; reads of storage, whose answers may be long; or
 * logins, which lock the subject before the player.
 */
export type Lane = 'game' | 'reads' | 'storage' | 'logins'

/** One call's share of a group: the rows it rests on, and what it makes of them. */
export interface Command<Outcome> {
  /** `game` unless given. */
  readonly lane?: Lane
  /** What it carries to the database, where that may be much: bytes, roughly. A group takes up to a few megabytes. */
  readonly bytes?: number
  /** Names the rows that the decision rests on. Called again after each load, until nothing new is named. */
  needs(group: Group): void
  /**
   * Decides on the loaded rows and records the changes. Throws before it changes anything, or not at all: a `Refusal`,
   * or `MissingRows` to be asked again with what it turned out to need.
   */
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
  /** Was in a group that lost its connection. Should it be what breaks them, it breaks only its own from now on. */
  alone: boolean
}

const MAX_RETRIES = 20
const MAX_BATCH_BYTES = 8 * 2 ** 20
const SWEEP_MS = 100
const RECONNECT_MS = 100

/**
 * Runs commands in groups, one transaction for all that wait (architecture: decide in TypeScript, commit in groups).
 * There is no timer: a lone command leaves at once, and groups grow by themselves while the connections are busy.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { pool, connections = 2, maxBatch = 256, maxQueue = 10_000, deadlineMs = 5_000, readOnly = false } = options
  // Every statement of a group looks rows up by their whole key. A scan can only look cheaper while a table is nearly
  // empty, and such a plan would be kept while it grows.
  const begin = `BEGIN${readOnly ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''}; SET LOCAL enable_seqscan = off`
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
        alone: false,
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
    // All of the queue, since what was put back need not stand in the order of its deadlines.
    for (const entry of [...queue, ...inFlight]) if (entry.deadline <= now) refuse(entry, new Refusal('unavailable'))
    if (queue.some((entry) => entry.settled)) queue.splice(0, queue.length, ...queue.filter((entry) => !entry.settled))
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
          // Commands are taken only when a connection is ready for them, so those that arrive meanwhile join in: also
          // the ones whose requests have arrived already and wait for their turn of this very loop.
          do {
            await new Promise(setImmediate)
            if (queue.length > 0) await runBatch(client, takeBatch())
            // Whoever waits for a connection has its turn, however much there is to commit.
          } while (queue.length > 0 && pool.waitingCount === 0)
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
    const alone = queue.findIndex((entry) => entry.alone)
    const most = alone === 0 ? 1 : alone > 0 ? Math.min(alone, maxBatch) : maxBatch
    let size = 0
    // One command goes whatever it carries.
    for (let bytes = 0; size < most && size < queue.length; size += 1) {
      bytes += queue[size]?.command.bytes ?? 0
      if (bytes > MAX_BATCH_BYTES && size > 0) break
    }
    const batch = queue.splice(0, size)
    for (const entry of batch) inFlight.add(entry)
    return batch
  }

  async function runBatch(client: PoolClient, batch: Entry[]): Promise<void> {
    const watchdog = setTimeout(() => client.connection.stream.destroy(), deadlineMs)
    const started = performance.now()
    try {
      await commitTogether(client, batch)
    } catch (error) {
      // The connection is gone. Those who are not answered have changed nothing, and wait for a new one.
      const waiting = batch.filter((entry) => !entry.settled)
      for (const entry of waiting) entry.alone = true
      queue.unshift(...waiting)
      throw error
    } finally {
      clearTimeout(watchdog)
      for (const entry of batch) inFlight.delete(entry)
      options.observe?.({ size: batch.length, seconds: (performance.now() - started) / 1000 })
    }
  }

  /** Throws only when the connection can no longer be used; whoever is not answered by then has changed nothing. */
  async function commitTogether(client: PoolClient, batch: readonly Entry[]): Promise<void> {
    for (let retries = 0; batch.some((entry) => !entry.settled); ) {
      const result = await attemptGroup(client, batch)
      if (result.kind === 'done') return
      if (result.kind === 'lost') {
        // Once COMMIT was sent, nobody knows what happened: running it again might do it twice.
        if (result.commitSent)
          for (const entry of batch) refuse(entry, new Refusal('unavailable', { cause: result.error }))
        throw result.error
      }
      if (result.kind === 'unsendable') {
        if (batch.length === 1) for (const entry of batch) refuse(entry, result.error)
        throw result.error
      }
      if (result.kind === 'bug') {
        // Its error is its own, and what it may have left half done is forgotten: the others begin anew without it.
        refuse(result.entry, result.error)
        continue
      }
      if (isRetryable(result.code) && retries < MAX_RETRIES) {
        retries += 1
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * retries))
        continue
      }
      if (batch.length === 1) {
        for (const entry of batch)
          refuse(entry, isTransient(result.code) ? new Refusal('unavailable', { cause: result.error }) : result.error)
        return
      }
      // One command's fault must not become its neighbours': each gets a transaction of its own.
      for (const entry of batch) await commitTogether(client, [entry])
      return
    }
  }

  async function attemptGroup(client: PoolClient, batch: readonly Entry[]): Promise<Attempt> {
    const group = new Group(readOnly)
    const outcomes: { entry: Entry; outcome: unknown }[] = []
    const refusals: { entry: Entry; refusal: Refusal }[] = []
    let commitSent = false
    let committed = false

    /** How far a command got with a step. What it throws beyond a refusal or a call for rows is a bug. */
    function attempt(entry: Entry, step: () => void): 'done' | 'refused' | 'missing rows' {
      try {
        step()
        return 'done'
      } catch (error) {
        if (error instanceof MissingRows) return 'missing rows'
        if (!(error instanceof Refusal)) throw new CommandBug(entry, error)
        refusals.push({ entry, refusal: error })
        return 'refused'
      }
    }

    async function load(statements: readonly Statement[]): Promise<void> {
      takeRows(statements, await send(client, statements))
    }

    try {
      let live = batch.filter((entry) => !entry.settled)
      let opening: Statement[] = [{ text: begin }]
      for (;;) {
        live = live.filter((entry) => attempt(entry, () => entry.command.needs(group)) !== 'refused')
        const reads = group.load()
        if (reads.length === 0 && opening.length === 0) break
        await load([...opening, ...reads])
        opening = []
      }
      for (const entry of live) {
        const decide = () => outcomes.push({ entry, outcome: entry.command.decide(group) })
        while (attempt(entry, decide) === 'missing rows') await load(group.load())
      }
      const writes = group.save()
      commitSent = writes.length > 0
      const results = await send(client, [...writes, { text: 'COMMIT' }])
      if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
      committed = true
      takeRows(writes, results)
      options.committed?.(group)
      for (const { entry, outcome } of outcomes) answer(entry, outcome)
      for (const { entry, refusal } of refusals) refuse(entry, refusal)
      return { kind: 'done' }
    } catch (error) {
      if (committed) {
        // A bug of ours after the fact. It is told, but nothing that is committed may run again.
        for (const entry of batch) refuse(entry, error)
        return { kind: 'done' }
      }
      if (error instanceof ConnectionLost) return { kind: 'lost', commitSent, error: error.cause }
      if (error instanceof Unsendable) return { kind: 'unsendable', error: error.cause }
      await client.query('ROLLBACK').catch(() => undefined)
      if (error instanceof CommandBug) return { kind: 'bug', entry: error.entry, error: error.cause }
      return { kind: 'failed', code: sqlState(error) ?? 'bug', error }
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
  /** The database refused a statement, or a part has a bug: nobody's in particular. */
  | { kind: 'failed'; code: string; error: unknown }
  /** One command threw what is no refusal. */
  | { kind: 'bug'; entry: Entry; error: unknown }
  | { kind: 'lost'; commitSent: boolean; error: unknown }
  /** A statement could not be written down; nothing of the packet left, and the connection is closed. */
  | { kind: 'unsendable'; error: unknown }

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

/** Sends statements in one go; the server runs them in order. The first error wins. */
async function send(client: PoolClient, statements: readonly Statement[]): Promise<QueryArrayResult[]> {
  const { stream } = client.connection
  let unsendable: { error: Error } | undefined
  // Held back until all are written: one packet instead of one for each.
  stream.cork()
  let writing = true
  const queries = statements.map(
    (statement) =>
      new Promise<QueryArrayResult>((resolve, reject) => {
        void client.query({ ...statement, rowMode: 'array' }, (error: Error | null, result: QueryArrayResult) => {
          if (!error) return resolve(result)
          if (writing) unsendable ??= { error }
          reject(error)
        })
      }),
  )
  writing = false
  // The statements around it must not leave either: a COMMIT among them would commit a part of the group.
  if (unsendable) stream.destroy()
  stream.uncork()
  const results = await Promise.allSettled(queries)
  if (unsendable) throw new Unsendable(unsendable.error)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw sqlState(failed.reason) === undefined ? new ConnectionLost(failed.reason) : failed.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

function takeRows(statements: readonly Statement[], results: readonly QueryArrayResult[]): void {
  for (const [index, statement] of statements.entries()) statement.take?.(results[index]?.rows ?? [])
}

/** The connection broke before an answer came: what it had been sent may or may not have happened. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause })
  }
}

/** A statement's values cannot be turned into what Postgres reads. */
class Unsendable extends Error {
  constructor(cause: unknown) {
    super('a statement could not be sent', { cause })
  }
}

class CommandBug extends Error {
  readonly entry: Entry

  constructor(entry: Entry, cause: unknown) {
    super('a command failed', { cause })
    this.entry = entry
  }
}
