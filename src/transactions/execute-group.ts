import type { PoolClient } from 'pg'
import { Refusal } from '../base/errors.ts'
import { sqlState } from '../db/failures.ts'
import { isGone } from '../db/pool.ts'
import { BEGIN, CommandBug, Decisions } from './decisions.ts'
import { Group, OutOfOrder, type Path } from './group.ts'
import type { Memory } from './memory.ts'
import type { Player, PlayerRef } from './player.ts'
import { type Entry, refuse } from './queue.ts'
import { ConnectionLost, rollBack, send, takeRows, Unsendable } from './send.ts'
import type { Statement } from './statement.ts'
import { type Proof, writeStatement } from './write.ts'

/** How far the database's clock is ahead of this process's clock. Undefined until an answer has shown it. */
export interface Clock {
  offsetMs: number | undefined
}

/** What all groups of an engine have in common. */
export interface Common {
  readonly memory: Memory | undefined
  readonly clock: Clock
  /** Reads only: a snapshot that takes no locks and writes nothing. */
  readonly isReadOnly: boolean
  /** Called after each COMMIT, before the callers are answered. Must not throw. */
  readonly committed: ((group: Group) => void) | undefined
}

export interface ExecuteOptions extends Common {
  readonly client: PoolClient
  readonly path: Path
  readonly entries: readonly Entry[]
  /** Players that an earlier attempt found that it needs. They are locked first. */
  readonly needed: readonly PlayerRef[]
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

/** One attempt at a group, and how far it has come: what an error means depends on that. */
interface Attempt {
  readonly options: ExecuteOptions
  readonly group: Group
  readonly decisions: Decisions
  /** Changes were sent with their COMMIT. Without an answer, nobody knows what became of them. */
  isSent: boolean
  isCommitted: boolean
}

/** Decides commands as one group and commits it. Answers the finished ones; the others may be tried again. */
export async function executeGroup(options: ExecuteOptions): Promise<GroupResult> {
  const { client, clock, path, isReadOnly, entries, needed } = options
  const group = new Group(path, performance.now() + (clock.offsetMs ?? 0), { isReadOnly })
  const decisions = new Decisions(group, client, entries)
  const attempt: Attempt = { options, group, decisions, isSent: false, isCommitted: false }
  try {
    if (path === 'memory') {
      for (const entry of await decisions.fromMemory()) entry.isFresh = true
      if (decisions.made.length === 0) {
        group.discard()
        return { kind: 'done' }
      }
    } else {
      await decisions.inTransaction(needed)
    }
    await commit(attempt)
    return { kind: 'done' }
  } catch (error) {
    return giveUp(attempt, error)
  }
}

/** Writes what was decided, commits it, remembers the rows, and answers the calls. */
async function commit(attempt: Attempt): Promise<void> {
  const { options, group, decisions } = attempt
  const { client, clock, path, isReadOnly } = options
  const last = lastPacket(group)
  const { statements, changed, isAlone } = last
  if (isGone(client)) throw new ConnectionLost(new Error('the connection ended before the group was written'))
  attempt.isSent = !isReadOnly && (path === 'memory' ? changed.length > 0 : statements.length > 1)
  const results = await send(client, statements)
  if (!isAlone && results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
  attempt.isCommitted = true
  takeRows(statements, results)
  const { proof } = last
  if (group.clockOffsetMs !== undefined) clock.offsetMs = group.clockOffsetMs
  if (path === 'transaction' && proof.unproven.size > 0) throw new Error('a player that is locked was not proven')

  keep(options, group, changed, proof)
  if (!isReadOnly) options.committed?.(group)
  decisions.answer((player) => !proof.unproven.has(player))
}

/** What is sent at the end of a group. */
interface LastPacket {
  readonly statements: readonly Statement[]
  /** The players that it changes. */
  readonly changed: readonly Player[]
  /** One statement is a transaction by itself. */
  readonly isAlone: boolean
  /** Of the answer, once its rows were taken. */
  proof: Proof
}

/** The statements that prove, write and commit what the commands of a group have decided. */
function lastPacket(group: Group): LastPacket {
  const write = writeStatement(group, (answer) => {
    packet.proof = answer
    group.unproven = answer.unproven
    group.readClock(answer.clockMs)
  })
  const { before, after } = group.save()
  const statements = write ? [...before, write.statement, ...after] : [...before, ...after]
  const isFromMemory = group.path === 'memory'
  const isAlone = isFromMemory && statements.length === 1
  if (!isAlone) statements.push({ text: 'COMMIT' })
  if (!isAlone && isFromMemory) statements.unshift(BEGIN)
  const proof = { unproven: new Set<Player>(), outdated: [], clockMs: group.clockMs }
  const packet: LastPacket = { statements, changed: write?.changed ?? [], isAlone, proof }
  return packet
}

/** Leaves a group that failed, and decides what that means for its calls. */
async function giveUp(attempt: Attempt, error: unknown): Promise<GroupResult> {
  const { options, group, decisions } = attempt
  const { client, path } = options
  if (attempt.isCommitted) {
    // A bug after the COMMIT. It is reported, but committed commands must not run again.
    forget(group, options)
    for (const { entry } of decisions.made) refuse(entry, error)
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
    if (attempt.isSent)
      for (const { entry } of decisions.made) refuse(entry, new Refusal('unavailable', { cause: error.cause }))
    return { kind: 'lost', error: error.cause }
  }
  await rollBack(client)
  return { kind: 'failed', code: sqlState(error) ?? 'bug', error }
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
