import { Refusal } from '../errors.ts'
import type { Span } from '../request/tracing.ts'
import type { Command } from './command.ts'
import type { Player } from './player.ts'

/** A call that waits for its answer. */
export interface Entry {
  readonly command: Command<unknown>
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
  /** Memory did not have its rows, or was not up to date. */
  isLong: boolean
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
  waiting: Entry[]
  /** The calls that a group has taken. */
  taken: Entry[]
}

/** The way of a group: from memory, or by reading its rows. */
export type Way = 'memory' | 'long'

export interface QueueOptions {
  readonly maxBatch: number
  /** Whether only one group at a time may have a player. */
  readonly isExclusive: boolean
  readonly isRemembered: (entry: Entry) => boolean
}

export interface Queue {
  add(entry: Entry): void
  /** Lines that a group could take now. */
  ready(way: Way): number
  take(way: Way): Line[]
  /** Returns the unanswered calls of a group to the queue, before later ones. */
  putBack(lines: readonly Line[]): void
  /** Calls that wait for a group. */
  readonly size: number
  close(): void
}

/** Whether a call needs more than memory has. */
function goesLong({ isLong, command }: Entry): boolean {
  return isLong || command.locks === true
}

const MAX_BATCH_BYTES = 8 * 2 ** 20
const SWEEP_MS = 100

export function createQueue({ maxBatch, isExclusive, isRemembered }: QueueOptions): Queue {
  const ready: Record<Way, Set<Line>> = { memory: new Set(), long: new Set() }
  /** Players with calls that wait or are under way. */
  const lines = new Map<string, Line>()
  /** All calls in the order of their deadlines. */
  let calls: Entry[] = []
  let waiting = 0
  let sweeper: NodeJS.Timeout | undefined

  function add(entry: Entry): void {
    waiting += 1
    calls.push(entry)
    sweeper ??= setInterval(sweep, SWEEP_MS).unref()
    const { player } = entry
    const key = isExclusive ? player?.key : undefined
    const line = key === undefined ? undefined : lines.get(key)
    if (line) {
      // Memory may have forgotten the player since, and created another object for it.
      entry.player = line.player
      line.waiting.push(entry)
      return
    }
    const own: Line = { player, waiting: [entry], taken: [] }
    if (key !== undefined) lines.set(key, own)
    ready[wayOf(own)].add(own)
  }

  /** The first call decides the way. */
  function wayOf({ waiting: [first] }: Line): Way {
    return first && !goesLong(first) && isRemembered(first) ? 'memory' : 'long'
  }

  /** Moves a line to the way of its first call. A line without calls is removed. */
  function settle(line: Line): void {
    if (line.waiting.length > 0) ready[wayOf(line)].add(line)
    else if (line.player && isExclusive) lines.delete(line.player.key)
  }

  function take(way: Way): Line[] {
    const taken: Line[] = []
    let size = 0
    let bytes = 0
    let isFull = false
    for (const line of ready[way]) {
      while (!isFull) {
        const [entry] = line.waiting
        if (!entry) break
        if (entry.isSettled) {
          line.waiting.shift()
          waiting -= 1
          continue
        }
        // A call that takes the long way waits until the calls before it are done.
        if (way === 'memory' && goesLong(entry)) break
        bytes += entry.command.bytes ?? 0
        // A single command is taken at any size.
        isFull = size >= maxBatch || (size > 0 && (bytes > MAX_BATCH_BYTES || entry.isAlone))
        if (isFull) break
        line.taken.push(entry)
        line.waiting.shift()
        waiting -= 1
        size += 1
        isFull = entry.isAlone
      }
      if (line.taken.length > 0) {
        ready[way].delete(line)
        taken.push(line)
        if (line.player && isExclusive) line.player.isInFlight = true
      } else if (!isFull) {
        ready[way].delete(line)
        settle(line)
      }
      if (isFull || size >= maxBatch) break
    }
    return taken
  }

  function putBack(done: readonly Line[]): void {
    for (const line of done) {
      const left = line.taken.filter((entry) => !entry.isSettled)
      waiting += left.length
      line.taken = []
      if (left.length > 0) line.waiting.unshift(...left)
      if (line.player && isExclusive) line.player.isInFlight = false
      settle(line)
    }
  }

  /** No caller waits past its deadline, even if the database does not answer. */
  function sweep(): void {
    const now = performance.now()
    let oldest = 0
    for (; oldest < calls.length; oldest += 1) {
      const entry = calls[oldest] as Entry
      if (entry.isSettled) continue
      if (entry.deadline > now) break
      refuse(entry, new Refusal('unavailable'))
    }
    calls = calls.slice(oldest)
    // Calls that no group could take are released.
    for (const way of ['memory', 'long'] as const) {
      for (const line of [...ready[way]]) {
        const left = line.waiting.filter((entry) => !entry.isSettled)
        waiting -= line.waiting.length - left.length
        line.waiting = left
        ready[way].delete(line)
        settle(line)
      }
    }
    if (calls.length > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  return {
    add,
    take,
    putBack,
    ready: (way) => ready[way].size,
    get size() {
      return waiting
    },
    close: () => clearInterval(sweeper),
  }
}
