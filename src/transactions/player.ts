import type { Read } from './table.ts'

/** The identity of a player in tables and tokens. */
export interface PlayerRef {
  readonly environmentId: string
  readonly playerId: string
  /** Ids of players whose idempotency keys a call for this one must not use again. */
  readonly formers?: readonly string[]
}

export type Slot = One<unknown> | Many<unknown>

/** The group that decides on a player. */
export interface Holder {
  /** Notes a row that is not in memory. */
  ask(slot: Slot): void
  /** Notes a row that changes. */
  touch(slot: Slot): void
  /** Notes a row that is to be written or removed. */
  write(slot: Slot, isRemoval: boolean): void
}

/** A player as one text. */
export const playerKey = ({ environmentId, playerId }: PlayerRef): string => `${environmentId}/${playerId}`

/** Rough number of bytes of a remembered row, without its texts. */
const ROW_BYTES = 150
const PLAYER_BYTES = 500

/**
 * A player of one instance. Memory owns its rows, which are those of the database at `version`. The group that decides on
 * it notes its changes beside the rows, and commits or discards them. A group of writes has the player for itself.
 */
export class Player implements PlayerRef {
  readonly environmentId: string
  readonly playerId: string
  /** Built once: a string that lives as long as the player is also hashed only once. */
  readonly key: string
  private readonly slots: (Map<string, Slot> | undefined)[] = []
  private remembered: string | undefined
  private contested = false
  private bytes = PLAYER_BYTES
  private counted = 0
  private inFlight = false
  private decidedBy: Holder | undefined
  private heldBy: Holder | undefined
  /** The group creates it, so it has no rows. */
  private isNew = false

  constructor(ref: PlayerRef) {
    this.environmentId = ref.environmentId
    this.playerId = ref.playerId
    this.key = playerKey(ref)
  }

  // What memory owns.

  /** The version of the remembered rows. Undefined while nothing is remembered. */
  get version(): string | undefined {
    return this.remembered
  }

  /** Another instance changed this player after this one did. Until this stops, each command reads the rows. */
  get isContested(): boolean {
    return this.contested
  }

  /** Bytes, roughly. */
  get weight(): number {
    return this.bytes
  }

  /** How many bytes the player has gained since the last call. */
  takeGrowth(): number {
    const growth = this.bytes - this.counted
    this.counted = this.bytes
    return growth
  }

  /** The bytes that were counted, which count no longer. */
  takeCounted(): number {
    const { counted } = this
    this.counted = 0
    return counted
  }

  /** Takes the version in the database: the remembered rows of the same one are kept, and any others forgotten. */
  confirm(version: string | undefined): void {
    if (this.remembered === version && version !== undefined) {
      // No other instance has changed the player since, so it may be remembered again.
      this.contested = false
      return
    }
    if (this.remembered !== undefined) this.forget()
    this.remembered = version
  }

  /** Takes the version that a group has given to the player with its changes. */
  advance(version: string): void {
    this.remembered = version
  }

  /** Forgets the rows: the database has another version. */
  outdate({ isContested }: { isContested: boolean }): void {
    this.forget()
    this.contested = isContested
  }

  /** Forgets all rows. */
  forget(): void {
    this.remembered = undefined
    this.bytes = PLAYER_BYTES
    this.slots.length = 0
  }

  /** Takes over rows of the same player that were read elsewhere. */
  adopt(other: Player): void {
    if (this.remembered !== other.remembered) this.forget()
    this.remembered = other.remembered
    // The rows are current, whichever instance wrote them.
    this.contested = false
    for (const slots of other.slots) {
      if (!slots) continue
      for (const [key, slot] of slots) {
        const own = this.slotsOf(slot.read)
        this.bytes += slot.weight - (own.get(key)?.weight ?? 0)
        slot.player = this
        own.set(key, slot)
      }
    }
  }

  /** Whether a group of writes has the player. No other group may use its rows. */
  get isInFlight(): boolean {
    return this.inFlight
  }

  takeOff(): void {
    if (this.inFlight) throw new Error('two groups of writes have one player')
    this.inFlight = true
  }

  land(): void {
    this.inFlight = false
  }

  // What a group holds.

  /** The group that decides on it. */
  get group(): Holder {
    if (!this.decidedBy) throw new Error('rows of a player are used outside of a group')
    return this.decidedBy
  }

  isIn(group: Holder): boolean {
    return this.decidedBy === group
  }

  enter(group: Holder): void {
    this.decidedBy = group
  }

  /** The group creates the player. */
  begin(group: Holder): void {
    this.isNew = true
    this.enter(group)
    this.hold(group)
  }

  /** The group has locked the player or read its version. */
  hold(group: Holder): void {
    this.heldBy = group
  }

  isHeldBy(group: Holder): boolean {
    return this.heldBy === group
  }

  /** Ends a group's use of the player. Another group may have it by then. */
  leave(group: Holder): void {
    if (this.decidedBy === group) this.decidedBy = undefined
    if (this.heldBy === group) this.heldBy = undefined
  }

  /** A row, by the values of the columns that the read uses. If it is not in memory, the group waits for it. */
  one<Row>(read: Read<Row>, key = ''): One<Row> {
    const slot = this.slot(read, key)
    if (slot.row === undefined && slot.next === undefined) this.group.ask(slot as One<unknown>)
    return slot
  }

  /** The same for a row that is overwritten without being read. */
  slot<Row>(read: Read<Row>, key: string): One<Row> {
    const slots = this.slotsOf(read as Read<unknown>)
    let slot = slots.get(key) as One<Row> | undefined
    if (slot === undefined) {
      slot = new One(this, read, key)
      if (this.isNew) slot.row = null
      slots.set(key, slot as One<unknown>)
      this.bytes += slot.weight
    }
    return slot
  }

  /** All rows with these values. */
  many<Row>(read: Read<Row>, key = ''): Many<Row> {
    const slots = this.slotsOf(read as Read<unknown>)
    let slot = slots.get(key) as Many<Row> | undefined
    if (slot === undefined) {
      slot = new Many(this, read, key)
      if (this.isNew) slot.rows = new Map()
      slots.set(key, slot as Many<unknown>)
      this.bytes += slot.weight
    }
    if (slot.rows === undefined) this.group.ask(slot as Many<unknown>)
    return slot
  }

  private slotsOf({ index }: Read<unknown>): Map<string, Slot> {
    const known = this.slots[index]
    if (known) return known
    const slots = new Map<string, Slot>()
    this.slots[index] = slots
    return slots
  }

  /** Forgets the rows of one read. */
  drop(slot: Slot): void {
    const slots = this.slots[slot.read.index]
    if (slots?.get(slot.key) !== slot) return
    slots.delete(slot.key)
    this.bytes -= slot.weight
  }

  /** Adds to the weight of a slot. */
  grow(slot: Slot, by: number): void {
    slot.weight += by
    if (this.slots[slot.read.index]?.get(slot.key) === slot) this.bytes += by
  }
}

/** Bytes of the texts of a row, roughly. */
function weightOf(columns: readonly unknown[]): number {
  let weight = 0
  for (const column of columns) if (typeof column === 'string') weight += column.length
  return weight
}

/** The values of several columns as one key. None of them contains NUL. */
export const keyOf = (...values: readonly string[]): string => values.join('\0')

/** One row of a player, or its absence. */
export class One<Row> {
  player: Player
  readonly read: Read<Row>
  readonly key: string
  /** Bytes, roughly. */
  weight: number
  /** The row in the database; null when there is none, undefined when it is not known. */
  row: Row | null | undefined
  /** The row as the group changes it. Undefined while the group does not change it. */
  next: Row | null | undefined

  constructor(player: Player, read: Read<Row>, key: string) {
    this.player = player
    this.read = read
    this.key = key
    this.weight = ROW_BYTES + key.length
  }

  /** The row as the group sees it. Null when there is none. */
  get value(): Row | null {
    const value = this.next === undefined ? this.row : this.next
    if (value === undefined) throw new Error(`${this.read.table.name}: a row is used before it is read`)
    return value
  }

  get isKnown(): boolean {
    return this.row !== undefined || this.next !== undefined
  }

  /** Writes the whole row with the group. Null removes it. */
  set(row: Row | null): void {
    this.note(row)
    this.player.group.write(this as One<unknown>, row === null)
  }

  /** Records how another row or statement changes this row. */
  note(row: Row | null): void {
    if (this.next === undefined) this.player.group.touch(this as One<unknown>)
    this.next = row
  }

  take(rows: readonly (readonly unknown[])[]): void {
    const [columns] = rows
    this.row = columns ? this.read.decode(columns) : null
    this.player.grow(this as One<unknown>, weightOf(columns ?? []))
  }

  commit(): void {
    if (this.next !== undefined) {
      this.row = this.next === null ? null : this.read.table.remembered(this.next as never)
    }
    this.discard()
  }

  discard(): void {
    this.next = undefined
  }

  /** The rows that the group writes. */
  changed(): Row[] {
    return this.next ? [this.next] : []
  }

  /** The rows that the group removes. */
  removed(): object[] {
    return this.next === null ? [this.read.keyed(this)] : []
  }
}

/** Several rows of a player, each under a key of its own. */
export class Many<Row> {
  player: Player
  readonly read: Read<Row>
  readonly key: string
  /** Bytes, roughly. */
  weight: number
  /** The rows in the database; undefined when they are not known. */
  rows: Map<string, Row> | undefined
  /** The rows that the group changes or adds; null for those that it removes. */
  next: Map<string, Row | null> | undefined
  private written: Set<string> | undefined

  constructor(player: Player, read: Read<Row>, key: string) {
    this.player = player
    this.read = read
    this.key = key
    this.weight = ROW_BYTES + key.length
  }

  get(key: string): Row | undefined {
    const next = this.next?.get(key)
    return next === undefined ? this.known.get(key) : (next ?? undefined)
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  keys(): string[] {
    if (!this.next) return [...this.known.keys()]
    return [...new Set([...this.known.keys(), ...this.next.keys()])].filter((key) => this.has(key))
  }

  values(): Row[] {
    return this.keys().map((key) => this.get(key) as Row)
  }

  get isKnown(): boolean {
    return this.rows !== undefined
  }

  get isEmpty(): boolean {
    return this.next ? this.keys().length === 0 : this.known.size === 0
  }

  /** Writes the whole row with the group. Null removes it. */
  set(key: string, row: Row | null): void {
    this.note(key, row)
    this.written ??= new Set()
    this.written.add(key)
    this.player.group.write(this as Many<unknown>, row === null)
  }

  /** Records how another statement changes a row. */
  note(key: string, row: Row | null): void {
    if (this.next === undefined) {
      this.next = new Map()
      this.player.group.touch(this as Many<unknown>)
    }
    this.next.set(key, row)
  }

  /** The rows that the group writes. */
  *changed(): Iterable<Row> {
    for (const key of this.written ?? []) {
      const row = this.next?.get(key)
      if (row) yield row
    }
  }

  /** The rows that the group removes. */
  *removed(): Iterable<object> {
    for (const key of this.written ?? []) {
      const row = this.rows?.get(key)
      if (row && this.next?.get(key) === null) yield { ...this.read.keyed(this), ...row }
    }
  }

  take(rows: readonly (readonly unknown[])[]): void {
    this.rows = new Map()
    for (const columns of rows) {
      const row = this.read.decode(columns)
      this.rows.set(this.read.rowKey?.(row) ?? '', row)
      this.player.grow(this as Many<unknown>, ROW_BYTES + weightOf(columns))
    }
  }

  commit(): void {
    if (this.next && this.rows) {
      for (const [key, row] of this.next) {
        const by = Number(row !== null) - Number(this.rows.has(key))
        this.player.grow(this as Many<unknown>, by * ROW_BYTES)
        if (row === null) this.rows.delete(key)
        else this.rows.set(key, row)
      }
    }
    this.discard()
  }

  discard(): void {
    this.next = undefined
    this.written = undefined
  }

  private get known(): Map<string, Row> {
    if (this.rows === undefined) throw new Error(`${this.read.table.name}: rows are used before they are read`)
    return this.rows
  }
}
