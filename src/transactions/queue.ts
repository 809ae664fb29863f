import { notBegun, Refusal } from '../base/errors.ts'
import type { Span } from '../base/tracing.ts'
import type { Command } from './command.ts'
import type { Path } from './group.ts'
import type { Player } from './player.ts'

/** A call that waits for its answer. */
export interface Entry {
  readonly command: Command<unknown>
  /** Refuses a caller whose access has ended while the call waited. Called before each decision. */
  readonly admit: (() => void) | undefined
  /** Its player, when rows are remembered. */
  player: Player | undefined
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
  /** By `performance.now()`, which does not jump with the machine's clock. */
  readonly deadline: number
  isSettled: boolean
  /** The span of the call, when traces are on. */
  readonly span: Span | undefined
  /** The call was in a group that failed. It gets its own group from now on, in case it is the cause. */
  isAlone: boolean
  /** Memory did not have its rows, or was not up to date: it needs a transaction. */
  isFresh: boolean
}

/** Rejects the call with the reason why there is no outcome. */
export function refuse(entry: Entry, error: unknown): void {
  if (entry.isSettled) return
  entry.isSettled = true
  entry.reject(error)
}

/** The calls of one player, in order. One group at a time takes them. */
export interface Line {
  readonly player: Player | undefined
  /** Calls that wait for a group. */
  waiting: Entry[]
  /** The calls that a group has taken. */
  taken: Entry[]
}

export interface QueueOptions {
  readonly maxBatch: number
  /** Whether only one group at a time may have a player. */
  readonly isExclusive: boolean
  readonly isRemembered: (entry: Entry) => boolean
  /** Why calls wait in vain, for the log: the last failure; undefined for none. */
  readonly failure: () => unknown
}

/** Whether a call needs more than memory has. */
const needsTransaction = ({ isFresh, command }: Entry): boolean => isFresh || command.fresh === true

const MAX_BATCH_BYTES = 8 * 2 ** 20
const SWEEP_MS = 100
/** With more players than this, those without calls are removed. */
const MAX_LINES = 10_000

/**
 * The waiting calls. No call deletes from a `Map` or `Set` that lives longer than the call. When such a table is rebuilt,
 * V8 links it to its successor. Once one is in old memory, all later tables and the calls in them stay until the next full
 * collection.
 */
export class Queue {
  private readonly options: QueueOptions
  /** The lines that a group could take, each once. */
  private readonly lines: Record<Path, Line[]> = { memory: [], transaction: [] }
  /** Lines of players with calls that wait or are under way; undefined for other recent players. */
  private byPlayer = new Map<string, Line | undefined>()
  /** Lines that groups have taken, by group. */
  private taken: Line[][] = []
  private waiting = 0
  private sweeper: NodeJS.Timeout | undefined

  constructor(options: QueueOptions) {
    this.options = options
  }

  /** Calls that wait for a group. */
  get size(): number {
    return this.waiting
  }

  /** Lines that a group could take now. */
  ready(path: Path): number {
    return this.lines[path].length
  }

  add(entry: Entry): void {
    this.waiting += 1
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
    const { player } = entry
    const key = this.options.isExclusive ? player?.key : undefined
    const line = key === undefined ? undefined : this.byPlayer.get(key)
    if (line) {
      // Memory may have forgotten the player since, and created another object for it.
      entry.player = line.player
      line.waiting.push(entry)
      return
    }
    const own: Line = { player, waiting: [entry], taken: [] }
    if (key !== undefined) this.byPlayer.set(key, own)
    this.lines[this.pathOf(own)].push(own)
  }

  /** Takes the calls of the next group. */
  take(path: Path): Line[] {
    const { isExclusive, maxBatch } = this.options
    const group: Line[] = []
    const batch = new Batch(path, maxBatch)
    const lines = this.lines[path]
    let at = 0
    // `settle` may add lines meanwhile.
    for (; at < lines.length && batch.hasRoom; at += 1) {
      const line = lines[at] as Line
      this.waiting -= batch.takeFrom(line)
      if (line.taken.length > 0) {
        group.push(line)
        if (line.player && isExclusive) line.player.takeOff()
      } else if (batch.isFull) {
        break
      } else {
        this.settle(line)
      }
    }
    this.lines[path] = lines.slice(at)
    if (group.length > 0) this.taken.push(group)
    return group
  }

  /** Returns the unanswered calls of a group to the queue, before later ones. */
  putBack(done: readonly Line[]): void {
    this.taken = this.taken.filter((group) => group !== done)
    for (const line of done) {
      const left = line.taken.filter((entry) => !entry.isSettled)
      this.waiting += left.length
      line.taken = []
      if (left.length > 0) line.waiting.unshift(...left)
      if (line.player && this.options.isExclusive) line.player.land()
      this.settle(line)
    }
  }

  close(): void {
    clearInterval(this.sweeper)
  }

  /** The first call decides the path. */
  private pathOf({ waiting: [first] }: Line): Path {
    return first && !needsTransaction(first) && this.options.isRemembered(first) ? 'memory' : 'transaction'
  }

  /** Moves a line to the path of its first call. A line without calls ends. */
  private settle(line: Line): void {
    if (line.waiting.length > 0) this.lines[this.pathOf(line)].push(line)
    else if (line.player && this.options.isExclusive) this.byPlayer.set(line.player.key, undefined)
  }

  /** No caller waits past its deadline, even if the database does not answer. */
  private sweep(): void {
    const now = performance.now()
    for (const line of this.taken.flat()) {
      for (const entry of line.taken)
        if (entry.deadline <= now) refuse(entry, new Refusal('unavailable', { cause: 'Postgres took too long' }))
      this.refuseLate(line, now)
    }
    for (const path of ['memory', 'transaction'] as const) {
      for (const line of this.lines[path].splice(0)) {
        this.refuseLate(line, now)
        // Calls that no group could take are released.
        const left = line.waiting.filter((entry) => !entry.isSettled)
        this.waiting -= line.waiting.length - left.length
        line.waiting = left
        this.settle(line)
      }
    }
    if (this.byPlayer.size > MAX_LINES) this.byPlayer = new Map([...this.byPlayer].filter(([, line]) => line))
    if (this.waiting > 0 || this.taken.length > 0) return
    clearInterval(this.sweeper)
    this.sweeper = undefined
  }

  private refuseLate({ waiting }: Line, now: number): void {
    for (const entry of waiting)
      if (entry.deadline <= now)
        refuse(entry, notBegun('the call had no turn at Postgres in time', { cause: this.options.failure() }))
  }
}

/** The calls of one group, as they are taken from their lines. */
class Batch {
  private readonly path: Path
  private readonly maxBatch: number
  private size = 0
  private bytes = 0
  /** The next call is for another group. */
  isFull = false

  constructor(path: Path, maxBatch: number) {
    this.path = path
    this.maxBatch = maxBatch
  }

  get hasRoom(): boolean {
    return !this.isFull && this.size < this.maxBatch
  }

  /** Takes the next calls of a line, as far as this group may have them. Returns how many calls wait no longer. */
  takeFrom(line: Line): number {
    let gone = 0
    while (!this.isFull) {
      const [entry] = line.waiting
      if (!entry) break
      if (entry.isSettled) {
        line.waiting.shift()
        gone += 1
        continue
      }
      // A call that needs a transaction waits until the calls before it are done.
      if (this.path === 'memory' && needsTransaction(entry)) break
      this.bytes += entry.command.bytes ?? 0
      // A single command is taken at any size.
      this.isFull = this.size >= this.maxBatch || (this.size > 0 && (this.bytes > MAX_BATCH_BYTES || entry.isAlone))
      if (this.isFull) break
      line.taken.push(entry)
      line.waiting.shift()
      gone += 1
      this.size += 1
      this.isFull = entry.isAlone
    }
    return gone
  }
}
