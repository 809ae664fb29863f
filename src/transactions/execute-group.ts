import type { PoolClient, QueryArrayResult } from 'pg'
import { Refusal } from '../base/errors.ts'
import { sqlState } from '../db/failures.ts'
import { isGone } from '../db/pool.ts'
import { decideOnce } from './command.ts'
import { Group, OutOfOrder, type Path, type Steps } from './group.ts'
import type { Memory } from './memory.ts'
import type { Player, PlayerRef } from './player.ts'
import { type Entry, refuse } from './queue.ts'
import type { Statement } from './statement.ts'
import { type Proof, writeStatement } from './write.ts'

/** How far the database's clock is ahead of this process's clock. Undefined until an answer has shown it. */
export interface Clock {
  offsetMs: number | undefined
}

export interface ExecuteOptions {
  readonly client: PoolClient
  readonly memory?: Memory
  readonly clock: Clock
  readonly path: Path
  readonly isReadOnly: boolean
  readonly entries: readonly Entry[]
  /** Players that an earlier attempt found that it needs. They are locked first. */
  readonly needed: readonly PlayerRef[]
  readonly committed?: (group: Group) => void
}

export type GroupResult =
  | { kind: 'done' }
  /** The database refused a statement, or an extension has a bug. Any command of the group may be the cause. */
  | { kind: 'failed'; code: string; error: unknown }
  /** One command threw an error other than a refusal. */
  | { kind: 'bug'; entry: Entry; error: unknown }
  | { kind: 'lost'; error: unknown }
  /** Locks would be out of order. The next attempt must lock these players, known now, before anything else. */
  | { kind: 'restart'; needed: readonly PlayerRef[] }
  /** A statement could not be encoded. Nothing of the packet was sent, and the connection is closed. */
  | { kind: 'unsendable'; error: unknown }

/** A decision may need further rows after each read, but rarely more reads than this. */
const MAX_READS = 3

interface Decided {
  readonly entry: Entry
  readonly outcome: unknown
  readonly refusal: Refusal | undefined
}

const BEGIN: Statement = { text: 'BEGIN' }
const BEGIN_SNAPSHOT: Statement = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }

/** Decides commands as one group and commits it. Answers the finished ones; the others may be tried again. */
export async function executeGroup(options: ExecuteOptions): Promise<GroupResult> {
  const { client, clock, path, isReadOnly, entries, needed } = options
  const group = new Group(path, performance.now() + (clock.offsetMs ?? 0), { isReadOnly })
  const decided: Decided[] = []
  let isSent = false
  let isCommitted = false

  /** Decisions that wait for rows. */
  const begun = new Map<Entry, Steps<unknown>>()
  /** Players with a command that waits: their later commands must not be decided before it. */
  const blocked = new Set<Player>()
  /** A command without a player waits. It may change any player, so that all later commands wait for it. */
  let areAllBlocked = false

  /** Whether a command must wait for an earlier one of the group. Reads change nothing. */
  function isBlocked({ player }: Entry): boolean {
    if (isReadOnly) return false
    return areAllBlocked || (player ? blocked.has(player) : blocked.size > 0)
  }

  function block({ player }: Entry): void {
    if (player) blocked.add(player)
    else areAllBlocked = true
  }

  function unblock(): void {
    blocked.clear()
    areAllBlocked = false
  }

  /** Goes on with a decision. False when the group must read rows first. */
  function decide(entry: Entry): boolean {
    const { player } = entry
    // The player may have been forgotten, or taken by a group of writes, since the command arrived.
    if (path === 'memory' && (!player || player.version === undefined || (isReadOnly && player.isInFlight)))
      return false
    group.begin(path === 'transaction' && isReadOnly ? undefined : player, { isBlocked: isBlocked(entry) })
    const decision = refusedCaller(entry) ?? goOn(group, entry, begun)
    if (!decision) {
      block(entry)
      return false
    }
    decided.push(decision)
    if (path === 'memory' && player) group.players.add(player)
    return true
  }

  /**
   * Decides on rows in memory, and reads missing rows without a lock. These are of the remembered version if the write
   * proves that version: no row of a player changes without a new version, and no other group of this process has the
   * player. Returns the calls that need more rows.
   */
  async function decideFromMemory(): Promise<Entry[]> {
    let waiting = entries.filter((entry) => !decide(entry))
    // A group of reads does not own its players.
    for (let round = 0; round < MAX_READS && !isReadOnly; round += 1) {
      const reads = group.read()
      if (reads.length === 0) break
      takeRows(reads, await send(client, reads))
      unblock()
      waiting = waiting.filter((entry) => !decide(entry))
    }
    return waiting
  }

  /** Locks or reads the rows that commands ask for, and decides again, until all are decided. */
  async function decideInTransaction(): Promise<void> {
    if (!isReadOnly) {
      for (const { player } of entries) if (player) group.enter(player)
      for (const ref of needed) group.need(ref)
    }
    let waiting = entries.filter((entry) => !decide(entry))
    let opening = [isReadOnly ? BEGIN_SNAPSHOT : BEGIN]
    for (;;) {
      const reads = group.load()
      if (reads.length === 0 && opening.length === 0) {
        const [entry] = waiting
        if (entry) throw new CommandBug(entry, new Error('a command waits for rows that it did not ask for'))
        return
      }
      const statements = [...opening, ...reads]
      takeRows(statements, await send(client, statements))
      opening = []
      unblock()
      waiting = waiting.filter((entry) => !decide(entry))
    }
  }

  function settle(isProven: (player: Player) => boolean): void {
    for (const { entry, outcome, refusal } of decided) {
      if (entry.player && !isProven(entry.player)) {
        entry.isFresh = true
      } else if (!entry.isSettled) {
        entry.isSettled = true
        if (refusal) entry.reject(refusal)
        else entry.resolve(outcome)
      }
    }
  }

  try {
    if (path === 'memory') {
      for (const entry of await decideFromMemory()) entry.isFresh = true
      if (decided.length === 0) {
        group.discard()
        return { kind: 'done' }
      }
    } else {
      await decideInTransaction()
    }

    let proof: Proof = { unproven: new Set(), outdated: [], clockMs: group.clockMs }
    const statements: Statement[] = []
    const write = writeStatement(group, (answer) => {
      proof = answer
      group.unproven = answer.unproven
      group.readClock(answer.clockMs)
    })
    const changed = write?.changed ?? []
    if (write) statements.push(write.statement)
    const { before, after } = group.save()
    statements.unshift(...before)
    statements.push(...after)
    // One statement is a transaction by itself.
    const isAlone = path === 'memory' && statements.length === 1
    if (!isAlone) statements.push({ text: 'COMMIT' })
    if (!isAlone && path === 'memory') statements.unshift(BEGIN)
    if (isGone(client)) throw new ConnectionLost(new Error('the connection ended before the group was written'))
    isSent = !isReadOnly && (path === 'memory' ? changed.length > 0 : statements.length > 1)
    const results = await send(client, statements)
    if (!isAlone && results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
    isCommitted = true
    takeRows(statements, results)
    if (group.clockOffsetMs !== undefined) clock.offsetMs = group.clockOffsetMs
    if (path === 'transaction' && proof.unproven.size > 0) throw new Error('a player that is locked was not proven')

    keep(options, group, changed, proof)
    if (!isReadOnly) options.committed?.(group)
    settle((player) => !proof.unproven.has(player))
    return { kind: 'done' }
  } catch (error) {
    if (isCommitted) {
      // A bug after the COMMIT. It is reported, but committed commands must not run again.
      forget(group, options)
      for (const { entry } of decided) refuse(entry, error)
      return { kind: 'done' }
    }
    if (error instanceof CommandBug) {
      group.discard()
      if (path === 'transaction') await rollBack(client)
      return { kind: 'bug', entry: error.entry, error: error.cause }
    }
    if (error instanceof OutOfOrder) {
      const needed = [...group.held()]
      group.discard()
      await rollBack(client)
      return { kind: 'restart', needed }
    }
    forget(group, options)
    if (error instanceof Unsendable) return { kind: 'unsendable', error: error.cause }
    if (error instanceof ConnectionLost) {
      // Once COMMIT was sent, the outcome is not known: running the command again could apply it twice.
      if (isSent) for (const { entry } of decided) refuse(entry, new Refusal('unavailable', { cause: error.cause }))
      return { kind: 'lost', error: error.cause }
    }
    await rollBack(client)
    return { kind: 'failed', code: sqlState(error) ?? 'bug', error }
  }
}

/** The refusal of a caller whose access has ended while the call waited. It rests on no rows. */
function refusedCaller(entry: Entry): Decided | undefined {
  try {
    entry.admit?.()
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw new CommandBug(entry, error)
    return { entry, outcome: undefined, refusal: error }
  }
}

/**
 * Goes on with a decision, and checks that it asks first, refuses before it changes anything, and then changes. Undefined
 * while it waits for rows.
 */
function goOn(group: Group, entry: Entry, begun: Map<Entry, Steps<unknown>>): Decided | undefined {
  const bug = (message: string, cause?: unknown): CommandBug => new CommandBug(entry, new Error(message, { cause }))
  let steps = begun.get(entry)
  let step: IteratorResult<void, unknown>
  try {
    steps ??= decideOnce(group, entry.command)
    step = steps.next()
  } catch (error) {
    if (!(error instanceof Refusal)) throw new CommandBug(entry, error)
    if (group.hasChanged) throw bug('a command was refused after it had changed rows', error)
    if (group.waits) throw bug('a command was refused on rows that the group does not hold yet', error)
    return { entry, outcome: undefined, refusal: error }
  }
  if (group.waits === step.done) throw bug('a command must yield while its group waits for rows, and only then')
  if (step.done) {
    const { value } = step
    return value instanceof Refusal
      ? { entry, outcome: undefined, refusal: value }
      : { entry, outcome: value, refusal: undefined }
  }
  if (group.hasChanged) throw bug('a command changed rows before it had all that it asked for')
  begun.set(entry, steps)
  return undefined
}

/** Remembers the committed rows of players who were proven, and forgets the other players. */
function keep(
  { memory, isReadOnly }: ExecuteOptions,
  group: Group,
  changed: readonly Player[],
  { unproven, outdated }: Proof,
): void {
  group.keep((player) => !unproven.has(player))
  for (const player of outdated) {
    // A group of writes may have taken the player by now, and will check it.
    if (isReadOnly && player.isInFlight) continue
    player.outdate({ isContested: !isReadOnly })
  }
  for (const player of changed) if (!unproven.has(player)) player.advance(group.version)
  if (!memory) return
  const own = group.path === 'memory' || isReadOnly ? group.players : group.held()
  for (const player of own) memory.count(player, { isOwn: !isReadOnly })
  if (group.path === 'transaction' && isReadOnly) for (const player of group.held()) memory.adopt(player)
}

/** Forgets the players of the group: the database may now hold other rows than memory. */
function forget(group: Group, { entries, isReadOnly }: ExecuteOptions): void {
  group.discard()
  if (isReadOnly) return
  for (const { player } of entries) player?.forget()
}

async function rollBack(client: PoolClient): Promise<void> {
  await client.query('ROLLBACK').catch(() => undefined)
}

/** Sends statements in one go; the server runs them in order. The first error wins. */
async function send(client: PoolClient, statements: readonly Statement[]): Promise<QueryArrayResult[]> {
  const { stream } = client.connection
  const results: QueryArrayResult[] = []
  let failed: { error: Error } | undefined
  let unsendable: { error: Error } | undefined
  await new Promise<void>((resolve) => {
    let left = statements.length
    let isWriting = true
    // The stream waits until all statements are encoded: one packet instead of one for each.
    stream.cork()
    for (const [index, { name, text, values }] of statements.entries()) {
      void client.query({ name, text, values, rowMode: 'array' }, (error: Error | null, result: QueryArrayResult) => {
        if (!error) results[index] = result
        else if (isWriting) unsendable ??= { error }
        else failed ??= { error }
        left -= 1
        if (left === 0) resolve()
      })
    }
    isWriting = false
    // The statements around it must not be sent either: a COMMIT among them would commit part of the group.
    if (unsendable) stream.destroy()
    stream.uncork()
  })
  if (unsendable) throw new Unsendable(unsendable.error)
  if (failed) throw sqlState(failed.error) === undefined ? new ConnectionLost(failed.error) : failed.error
  return results
}

function takeRows(statements: readonly Statement[], results: readonly QueryArrayResult[]): void {
  for (const [index, statement] of statements.entries()) statement.take?.(results[index]?.rows ?? [])
}

/** The connection broke before an answer came. The server may or may not have run the statements. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause })
  }
}

/** The values of a statement cannot be encoded for Postgres. */
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
