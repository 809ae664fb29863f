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

export interface Queue {
  add(entry: Entry): void
  /** Lines that a group could take now. */
  ready(path: Path): number
  take(path: Path): Line[]
  /** Returns the unanswered calls of a group to the queue, before later ones. */
  putBack(lines: readonly Line[]): void
  /** Calls that wait for a group. */
  readonly size: number
  close(): void
}

/** Whether a call needs more than memory has. */
const needsTransaction = ({ isFresh, command }: Entry): boolean => isFresh || command.fresh === true

const MAX_BATCH_BYTES = 8 * 2 ** 20
const SWEEP_MS = 100
/** With more players than this, those without calls are removed. */
const MAX_LINES = 10_000

/**
 * No call deletes from a `Map` or `Set` that lives longer than the call. When such a table is rebuilt, V8 links it to
 * its successor. Once one is in old memory, all later tables and the calls in them stay until the next full collection.
 */
export function createQueue({ maxBatch, isExclusive, isRemembered, failure }: QueueOptions): Queue {
  /** The lines that a group could take, each once. */
  const ready: Record<Path, Line[]> = { memory: [], transaction: [] }
  /** Players with calls that wait or are under path; undefined for other recent players. */
  let lines = new Map<string, Line | undefined>()
  /** Lines that groups have taken, by group. */
  let taken: Line[][] = []
  let waiting = 0
  let sweeper: NodeJS.Timeout | undefined

  function add(entry: Entry): void {
    waiting += 1
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
    ready[pathOf(own)].push(own)
  }

  /** The first call decides the path. */
  function pathOf({ waiting: [first] }: Line): Path {
    return first && !needsTransaction(first) && isRemembered(first) ? 'memory' : 'transaction'
  }

  /** Moves a line to the path of its first call. A line without calls ends. */
  function settle(line: Line): void {
    if (line.waiting.length > 0) ready[pathOf(line)].push(line)
    else if (line.player && isExclusive) lines.set(line.player.key, undefined)
  }

  function take(path: Path): Line[] {
    const group: Line[] = []
    let size = 0
    let bytes = 0
    let isFull = false
    const queue = ready[path]
    let at = 0
    // `settle` may add lines meanwhile.
    for (; at < queue.length && !isFull && size < maxBatch; at += 1) {
      const line = queue[at] as Line
      while (!isFull) {
        const [entry] = line.waiting
        if (!entry) break
        if (entry.isSettled) {
          line.waiting.shift()
          waiting -= 1
          continue
        }
        // A call that needs a transaction waits until the calls before it are done.
        if (path === 'memory' && needsTransaction(entry)) break
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
        group.push(line)
        if (line.player && isExclusive) line.player.takeOff()
      } else if (isFull) {
        break
      } else {
        settle(line)
      }
    }
    ready[path] = queue.slice(at)
    if (group.length > 0) taken.push(group)
    return group
  }

  function putBack(done: readonly Line[]): void {
    taken = taken.filter((group) => group !== done)
    for (const line of done) {
      const left = line.taken.filter((entry) => !entry.isSettled)
      waiting += left.length
      line.taken = []
      if (left.length > 0) line.waiting.unshift(...left)
      if (line.player && isExclusive) line.player.land()
      settle(line)
    }
  }

  /** No caller waits past its deadline, even if the database does not answer. */
  function sweep(): void {
    const now = performance.now()
    const refuseLate = (entry: Entry): void => {
      if (entry.deadline <= now)
        refuse(entry, notBegun('the call had no turn at Postgres in time', { cause: failure() }))
    }
    const refuseOpen = (entry: Entry): void => {
      if (entry.deadline <= now) refuse(entry, new Refusal('unavailable', { cause: 'Postgres took too long' }))
    }
    for (const line of taken.flat()) {
      line.taken.forEach(refuseOpen)
      line.waiting.forEach(refuseLate)
    }
    for (const path of ['memory', 'transaction'] as const) {
      for (const line of ready[path].splice(0)) {
        line.waiting.forEach(refuseLate)
        // Calls that no group could take are released.
        const left = line.waiting.filter((entry) => !entry.isSettled)
        waiting -= line.waiting.length - left.length
        line.waiting = left
        settle(line)
      }
    }
    if (lines.size > MAX_LINES) lines = new Map([...lines].filter(([, line]) => line))
    if (waiting > 0 || taken.length > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  return {
    add,
    take,
    putBack,
    ready: (path) => ready[path].length,
    get size() {
      return waiting
    },
    close: () => clearInterval(sweeper),
  }
}
