import { groupBy } from '../base/group-by.ts'
import { randomsFrom } from '../db/ids.ts'
import { type Holder, One, Player, type PlayerRef, playerKey, type Slot } from './player.ts'
import type { Sql } from './sql.ts'
import type { Row, Statement } from './statement.ts'
import type { AnyTable, Table, Written } from './table.ts'
import { inLockOrder, readVersions } from './versions.ts'

/** A decision in steps. It yields while its group waits for rows, and continues once they are in memory. */
export type Steps<Outcome> = Generator<void, Outcome, void>

/**
 * When an extension's statements run. Those that lock do so before the players are locked. New rows are written before rows
 * that refer to them.
 */
const STAGES = ['creates', 'locks', 'changes', 'erases', 'records'] as const
export type Stage = (typeof STAGES)[number]

/**
 * What a feature adds to a group, for rows of no declared table and for its own statements. It reads the rows that
 * commands ask for in one statement, holds them while commands decide, and writes the changes.
 */
export interface Extension {
  /** Reads the rows that were asked for since the last call. */
  load?(): Statement[]
  /** Writes the changes. */
  save?(): Statement[]
  /** Its INSERT in the statement that writes the tables, which has the CTE `proven` of players with their numbers. */
  insert?(numberOf: NumberOf): Sql | undefined
}

/** The number of a changed player in the statement that writes. */
export type NumberOf = (player: Player) => number

export interface ExtensionType<E> {
  readonly stage: Stage
  /** Groups from memory may use it: it writes only for players who were proven. */
  readonly isProvable?: true
  new (group: Group): E & Extension
}

/** A row without a player that decisions depend on, such as a scenario. The write proves that it is current. */
export interface Precondition {
  /** A table with `environment_id`, `id` and `revision`. The revision is random and changes with the row. */
  readonly table: string
  readonly environmentId: string
  readonly id: string
  readonly revision: string
}

/**
 * How a group comes by its rows. From `memory`: it decides on remembered rows, and its write proves that they are
 * current. In a `transaction`: it locks the players, reads their rows, decides and writes. A group that only reads takes
 * a snapshot instead of locks.
 */
export type Path = 'memory' | 'transaction'

/** The rows that one group of commands uses and changes. Lives for one attempt at one transaction. */
export class Group implements Holder {
  readonly path: Path
  readonly isReadOnly: boolean
  /** Players whose version is not the remembered one. Known after the write. */
  unproven: ReadonlySet<Player> = new Set()
  /**
   * A command before the one being decided waits for rows, so this one must wait for its turn. Until then it may only ask:
   * the rows that it sees may change.
   */
  isBlocked = false
  /** Set when the command being decided asks for rows that are not in memory. */
  misses = false
  /** The database's clock, in milliseconds since 1970: one clock for every instance. */
  clockMs: number
  /** How far the database's clock is ahead of this process's clock, once an answer has shown it. */
  clockOffsetMs: number | undefined
  /** The player whose command is being decided. */
  current: Player | undefined
  /** Players whose commands were decided on remembered rows. */
  readonly players = new Set<Player>()
  readonly preconditions = new Map<string, Precondition>()
  /** A stand-in without an owner. It holds the rows of tables without an owner. */
  readonly unowned = new Player({ environmentId: '', playerId: '' })
  /** Rows that are assumed absent. The write proves their absence. */
  readonly absent: One<unknown>[] = []
  /** The version that the group gives to the players that it changes. */
  readonly version = String(nextVersion())
  /** Changes that commands have made so far. A command that waits or is refused must have made none. */
  private changes = 0
  private changesBefore = 0
  private readonly extensions = new Map<ExtensionType<unknown>, Extension>()
  private ordered: [ExtensionType<unknown>, Extension][] | undefined
  private readonly others = new Map<string, Player>()
  private readonly visited: Player[] = []
  private readonly toLock: Player[] = []
  private lastLocked: Player | undefined
  private asked: Slot[] = []
  /**
   * Rows that were read without a lock. They match the remembered version only if this connection proves that version.
   */
  private readonly unlocked: Slot[] = []
  private readonly touched: Slot[] = []
  private readonly passing: Slot[] = []
  private readonly written = new Set<Slot>()
  private readonly unversioned = new Set<Slot>()
  private readonly appended: { table: AnyTable; player: Player; row: unknown }[] = []
  private readonly changing = new Set<Player>()
  private time: Date | undefined

  constructor(path: Path, clockMs: number, { isReadOnly = false } = {}) {
    this.path = path
    this.isReadOnly = isReadOnly
    this.clockMs = clockMs
    this.unowned.enter(this)
  }

  get now(): Date {
    this.time ??= new Date(this.clockMs)
    return this.time
  }

  /** A player's rows. A group that locks locks the player first. */
  player(ref: PlayerRef): Player {
    const { current } = this
    if (current?.playerId === ref.playerId && current.environmentId === ref.environmentId) return current
    if (this.path === 'memory') throw new Error('a group from memory decides for one player at a time')
    const player = this.need(ref)
    if (!player.isHeldBy(this)) this.misses = true
    return player
  }

  /** Adds a player by its ids, unless the group has it. */
  need(ref: PlayerRef): Player {
    const known = this.others.get(playerKey(ref))
    if (known) return known
    const player = new Player(ref)
    this.enter(player)
    return player
  }

  /** A player that this group creates. It has no rows, and no other group knows it. */
  create(ref: PlayerRef): Player {
    const player = new Player(ref)
    player.begin(this)
    this.others.set(player.key, player)
    return player
  }

  /** Adds a player, to be locked, read or proven. */
  enter(player: Player): void {
    if (player.isIn(this)) return
    player.enter(this)
    // A player without a version did not exist when its rows were read.
    if (player.version === undefined) player.forget()
    this.others.set(player.key, player)
    this.toLock.push(player)
  }

  /**
   * The rows that a decision asks for, once all of them are in memory. `ask` runs again with each answer of the database,
   * so it may ask for rows that others lead to. While the group waits, its result is meaningless.
   */
  *rows<T>(ask: () => T): Steps<T> {
    for (;;) {
      const rows = ask()
      if (!this.waits) return rows
      yield
    }
  }

  /**
   * As `rows`, for rows that others lead to. The others are asked for first, in all commands of the group, and then all
   * that they lead to: a group that locks subjects, and then players, must not lock a subject after a player.
   */
  rowsFrom<Lead, T>(askLead: () => Lead, ask: (lead: Lead) => T): Steps<T> {
    return this.rows(() => {
      const lead = askLead()
      // Without its lead the result is meaningless, as the group waits.
      return this.misses ? (undefined as T) : ask(lead)
    })
  }

  /**
   * As `rows`, for what is checked before a decision continues. It asks for its own rows meanwhile, so that all are
   * read together.
   */
  rowsBefore<T>(decision: Steps<unknown>, ask: () => T): Steps<T> {
    return this.rows(() => {
      const asked = ask()
      if (this.waits) decision.next()
      return asked
    })
  }

  /** Whether the decision must not go on: it waits for its turn, or for rows. */
  get waits(): boolean {
    return this.misses || this.isBlocked
  }

  /** Asks for a transaction: a decision from memory waits, and is made again in one. */
  askTransaction(): void {
    if (this.path === 'memory') this.misses = true
  }

  /** Begins a step of a decision. It waits at least until its player is held. */
  begin(player: Player | undefined, { isBlocked }: { readonly isBlocked: boolean }): void {
    this.current = player
    if (player && !player.isIn(this)) {
      player.enter(this)
      this.visited.push(player)
    }
    this.misses = false
    this.isBlocked = isBlocked || (player !== undefined && this.path === 'transaction' && !player.isHeldBy(this))
    this.changesBefore = this.changes
  }

  /** Whether the command being decided has changed anything. */
  get hasChanged(): boolean {
    return this.changes > this.changesBefore
  }

  /** The group's own instance of an extension. */
  of<E>(type: ExtensionType<E>): E {
    const known = this.extensions.get(type)
    if (known) return known as E
    if (this.path === 'memory' && !type.isProvable) throw new Error(`a command with ${type.name} must be fresh`)
    const extension = new type(this)
    this.extensions.set(type, extension)
    this.ordered = undefined
    return extension
  }

  has(type: ExtensionType<unknown>): boolean {
    return this.extensions.has(type)
  }

  /** The players that it read or locked. */
  held(): Iterable<Player> {
    return this.others.values()
  }

  /** Marks a player as changed by the group, by any kind of write. */
  change(player: Player): void {
    this.changes += 1
    this.changing.add(player)
  }

  /** Notes that the command being decided has given an extension something to write. */
  note(): void {
    this.changes += 1
  }

  /** Adds a row to a table whose rows never change. */
  append<Row>(table: Table<Row>, player: Player, row: Row): void {
    this.changes += 1
    this.appended.push({ table, player, row })
  }

  /** How many rows were appended so far, for `appendedSince`. */
  get appendedCount(): number {
    return this.appended.length
  }

  /**
   * The rows that one command appended for its player: those after the count that it noted before. Commands of other
   * players may have been decided while it waited for rows.
   */
  appendedSince<Row>(count: number, table: Table<Row>, player: Player): Row[] {
    const since = this.appended.slice(count).filter((entry) => entry.table === table && entry.player === player)
    return since.map(({ row }) => row as Row)
  }

  ask(slot: Slot): void {
    if (this.path === 'memory' && slot instanceof One && slot.read.isMostlyAbsent) {
      slot.note(null)
      this.absent.push(slot)
      return
    }
    this.misses = true
    this.asked.push(slot)
    if (!slot.read.isKept) this.passing.push(slot)
  }

  touch(slot: Slot): void {
    this.touched.push(slot)
  }

  write(slot: Slot, isRemoval: boolean): void {
    this.changes += 1
    const { isVersioned } = slot.read.table
    if ((this.path === 'memory' || this.isReadOnly) && (isRemoval || !isVersioned))
      throw new Error('a command that removes rows, or writes some without a version, must be fresh')
    if (isVersioned) this.written.add(slot)
    else this.unversioned.add(slot)
  }

  /** Reads everything that was asked for and is not in memory yet. */
  load(): Statement[] {
    const extensions = this.inOrder()
    const firsts = extensions.filter(([{ stage }]) => stage === 'locks')
    const others = extensions.filter(([{ stage }]) => stage !== 'locks')
    const locks = firsts.flatMap(([, extension]) => extension.load?.() ?? [])
    if (locks.length > 0 && this.lastLocked) throw new OutOfOrder()
    return [...locks, ...this.lock(), ...this.read(), ...others.flatMap(([, extension]) => extension.load?.() ?? [])]
  }

  /**
   * Reads the versions of players; a group that locks holds them from then on. Rows are locked in the order of the
   * arrays, which is the same in every group, so two groups never wait for each other.
   */
  private lock(): Statement[] {
    const players = this.toLock.splice(0).sort(inLockOrder)
    const [first] = players
    if (!first) return []
    if (!this.isReadOnly) {
      if (this.lastLocked && inLockOrder(first, this.lastLocked) < 0) throw new OutOfOrder()
      this.lastLocked = players.at(-1)
    }
    return [
      readVersions(players, {
        isLocking: !this.isReadOnly,
        take: (versions, clockMs) => {
          if (clockMs !== undefined) this.readClock(clockMs)
          for (const player of players) {
            player.confirm(versions.get(player))
            player.hold(this)
          }
        },
      }),
    ]
  }

  /** Takes the database's clock from an answer. */
  readClock(clockMs: number): void {
    this.clockMs = clockMs
    this.clockOffsetMs = clockMs - performance.now()
    this.time = undefined
  }

  /** The statements that read the requested rows. */
  read(): Statement[] {
    const { asked } = this
    if (asked.length === 0) return []
    this.asked = []
    return [...groupBy(new Set(asked), ({ read }) => read)].map(([read, slots]) => {
      if (this.path === 'memory') this.unlocked.push(...slots)
      return {
        ...read.statement(slots),
        take(rows: Row[]) {
          const found = slots.map((): Row[] => [])
          for (const row of rows) found[row[0] - 1]?.push(row)
          for (const [index, slot] of slots.entries()) slot.take(found[index] ?? [])
        },
      }
    })
  }

  /** The INSERTs of the statement that writes, in the same order for the same tables. */
  insertions(numberOf: NumberOf): Sql[] {
    const rows = new Map<AnyTable, Written<unknown>[]>()
    for (const slot of this.written)
      for (const row of slot.changed()) add(rows, slot.read.table, { n: numberOf(slot.player), row })
    for (const { table, player, row } of this.appended) add(rows, table, { n: numberOf(player), row })
    const insertions: Sql[] = []
    for (const table of [...rows.keys()].sort((a, b) => a.index - b.index))
      insertions.push(table.insert(rows.get(table) as Written<unknown>[]))
    for (const [, extension] of this.inOrder()) {
      const insertion = extension.insert?.(numberOf)
      if (insertion) insertions.push(insertion)
    }
    return insertions
  }

  /** The statements that remove rows, and those that write rows without a version. */
  private saveOthers(): Statement[] {
    const removed = new Map<AnyTable, object[]>()
    const changed = new Map<AnyTable, object[]>()
    if (this.path === 'transaction')
      for (const slot of this.written) for (const row of slot.removed()) add(removed, slot.read.table, row)
    for (const slot of this.unversioned) {
      const { read } = slot
      for (const row of slot.removed()) add(removed, read.table, row)
      for (const row of slot.changed()) add(changed, read.table, { ...read.keyed(slot), ...(row as object) })
    }
    return [
      ...[...removed].flatMap(([table, rows]) => table.remove(rows, table.key)),
      ...[...changed].flatMap(([table, rows]) => table.save(rows)),
    ]
  }

  /** Players that the group changes, in the order in which their versions are locked. */
  changed(): Player[] {
    const changed = this.changing
    for (const { player } of this.written) changed.add(player)
    for (const { player } of this.appended) changed.add(player)
    return [...changed].sort(inLockOrder)
  }

  /** The statements before and after the one that writes the tables. */
  save(): { before: Statement[]; after: Statement[] } {
    const before: Statement[] = []
    const after = this.saveOthers()
    for (const [{ stage }, extension] of this.inOrder())
      (stage === 'creates' || stage === 'locks' ? before : after).push(...(extension.save?.() ?? []))
    return { before, after }
  }

  /** Keeps the new rows of one player, or of all. */
  keep(isProven: (player: Player) => boolean): void {
    for (const slot of this.touched) {
      if (!isProven(slot.player)) slot.discard()
      else slot.commit()
    }
    for (const slot of this.unlocked)
      if (!this.players.has(slot.player) || !isProven(slot.player)) slot.player.drop(slot)
    this.leave()
  }

  /** Drops the changes of the group. */
  discard(): void {
    for (const slot of this.touched) slot.discard()
    for (const slot of this.unlocked) slot.player.drop(slot)
    this.leave()
  }

  private leave(): void {
    for (const slot of this.touched) if (!slot.read.isKept) slot.player.drop(slot)
    for (const slot of this.passing) slot.player.drop(slot)
    for (const player of this.visited) player.leave(this)
    for (const player of this.others.values()) player.leave(this)
  }

  private inOrder(): [ExtensionType<unknown>, Extension][] {
    this.ordered ??= [...this.extensions].sort(([a], [b]) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage))
    return this.ordered
  }
}

/**
 * The group would lock a player after one that comes later in the order of locks. Another group could wait for it, and it
 * for that group, until Postgres ends one of them a second later. It starts again, and locks all its players at once.
 */
export class OutOfOrder extends Error {}

const nextVersion = randomsFrom(new BigInt64Array(512))

function add<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}
