import type { PoolClient } from 'pg'
import { Refusal } from '../base/errors.ts'
import { decideOnce } from './command.ts'
import type { Group, Steps } from './group.ts'
import type { Player, PlayerRef } from './player.ts'
import type { Entry } from './queue.ts'
import { send, takeRows } from './send.ts'
import type { Statement } from './statement.ts'

/** A decision may need further rows after each read, but rarely more reads than this. */
const MAX_READS = 3

export const BEGIN: Statement = { text: 'BEGIN' }
const BEGIN_SNAPSHOT: Statement = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }

interface Decided {
  readonly entry: Entry
  readonly outcome: unknown
  readonly refusal: Refusal | undefined
}

/**
 * The decisions of one group. A command that asks for rows waits for them, and continues after the group has read what
 * all its commands asked for. Meanwhile the later commands of its player may only ask.
 */
export class Decisions {
  /** What was decided, in this order. */
  readonly made: Decided[] = []
  private readonly group: Group
  private readonly client: PoolClient
  private readonly entries: readonly Entry[]
  /** Decisions that wait for rows. */
  private readonly begun = new Map<Entry, Steps<unknown>>()
  /** Players with a command that waits: their later commands must not be decided before it. */
  private readonly blocked = new Set<Player>()
  /** A command without a player waits. It may change any player, so that all later commands wait for it. */
  private areAllBlocked = false

  constructor(group: Group, client: PoolClient, entries: readonly Entry[]) {
    this.group = group
    this.client = client
    this.entries = entries
  }

  /**
   * Decides on rows in memory, and reads missing rows without a lock. These are of the remembered version if the write
   * proves that version: no row of a player changes without a new version, and no other group of this process has the
   * player. Returns the calls that need more rows.
   */
  async fromMemory(): Promise<Entry[]> {
    const { group } = this
    let waiting = this.goOnWith(this.entries)
    // A group of reads does not own its players.
    for (let round = 0; round < MAX_READS && !group.isReadOnly; round += 1) {
      const reads = group.read()
      if (reads.length === 0) break
      takeRows(reads, await send(this.client, reads))
      waiting = this.goOnWith(waiting)
    }
    return waiting
  }

  /**
   * Locks or reads the rows that commands ask for, and decides again, until all are decided. Players that an earlier
   * attempt found that it needs are locked first.
   */
  async inTransaction(needed: readonly PlayerRef[]): Promise<void> {
    const { group, entries } = this
    if (!group.isReadOnly) {
      for (const { player } of entries) if (player) group.enter(player)
      for (const ref of needed) group.need(ref)
    }
    let waiting = this.goOnWith(entries)
    let opening = [group.isReadOnly ? BEGIN_SNAPSHOT : BEGIN]
    for (;;) {
      const reads = group.load()
      if (reads.length === 0 && opening.length === 0) {
        const [entry] = waiting
        if (entry) throw new CommandBug(entry, new Error('a command waits for rows that it did not ask for'))
        return
      }
      const statements = [...opening, ...reads]
      takeRows(statements, await send(this.client, statements))
      opening = []
      waiting = this.goOnWith(waiting)
    }
  }

  /** Answers the calls of players who were proven. The others need a transaction. */
  answer(isProven: (player: Player) => boolean): void {
    for (const { entry, outcome, refusal } of this.made) {
      if (entry.player && !isProven(entry.player)) {
        entry.isFresh = true
      } else if (!entry.isSettled) {
        entry.isSettled = true
        if (refusal) entry.reject(refusal)
        else entry.resolve(outcome)
      }
    }
  }

  /** Continues with these decisions, in their order, on the rows that were read. Returns those that wait for more. */
  private goOnWith(entries: readonly Entry[]): Entry[] {
    this.blocked.clear()
    this.areAllBlocked = false
    return entries.filter((entry) => !this.decide(entry))
  }

  /** Continues with a decision. False when the group must read rows first. */
  private decide(entry: Entry): boolean {
    const { group } = this
    const { path, isReadOnly } = group
    const { player } = entry
    // The player may have been forgotten, or taken by a group of writes, since the command arrived.
    if (path === 'memory' && (!player || player.version === undefined || (isReadOnly && player.isInFlight)))
      return false
    group.begin(path === 'transaction' && isReadOnly ? undefined : player, { isBlocked: this.isBlocked(entry) })
    const decision = refusedCaller(entry) ?? this.goOn(entry)
    if (!decision) {
      this.block(entry)
      return false
    }
    this.made.push(decision)
    if (path === 'memory' && player) group.players.add(player)
    return true
  }

  /** Whether a command must wait for an earlier one of the group. Reads change nothing. */
  private isBlocked({ player }: Entry): boolean {
    if (this.group.isReadOnly) return false
    return this.areAllBlocked || (player ? this.blocked.has(player) : this.blocked.size > 0)
  }

  private block({ player }: Entry): void {
    if (player) this.blocked.add(player)
    else this.areAllBlocked = true
  }

  /**
   * Makes the next step of a decision, and checks that it asks first, refuses before it changes anything, and then
   * changes. Undefined while it waits for rows.
   */
  private goOn(entry: Entry): Decided | undefined {
    const { group, begun } = this
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

/** One command threw an error other than a refusal, or broke a rule of commands. */
export class CommandBug extends Error {
  readonly entry: Entry

  constructor(entry: Entry, cause: unknown) {
    super('a command failed', { cause })
    this.entry = entry
  }
}
