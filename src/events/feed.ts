import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import { createTurns } from '../turns.ts'
import type { Bus } from './bus.ts'
import type { StreamEvent } from './catalogue.ts'
import { EVENT_COLUMNS, eventOf } from './history.ts'

export interface FeedOptions {
  readonly pool: Pool
  readonly bus: Bus
  /** Told when the database could not be read; it is asked again. */
  readonly onError?: (error: unknown) => void
}

export interface Feeds {
  /** The position of the last event that is committed. */
  end(environmentId: string): Promise<bigint>
  /**
   * Every event after a position (after the present end when null) that matches, in order, without a gap or a
   * duplicate. Refuses with `cursor expired` a position that is gone or to come. End it with `return()`.
   */
  follow(follower: Follower): Promise<AsyncIterableIterator<StreamEvent>>
  /** Ends every follower, and refuses new ones. */
  close(): Promise<void>
}

export interface Follower {
  readonly environmentId: string
  readonly after: bigint | null
  /** Whose events alone match, if it is one player's: a replay then looks at no others. */
  readonly playerId?: string | null
  readonly matches: (event: StreamEvent) => boolean
  /** Told once when the follower has ended, whoever ended it. */
  readonly onEnd?: () => void
}

/** Events kept at hand per environment, so that followers near the end need no database. */
const RECENT_EVENTS = 4_000
/** Events kept that came before their predecessors. Further ones are read again: Postgres may be long in answering. */
const EARLY_EVENTS = 4_000
const PAGE = 500
/** Pages of single players that are read at once. A player may come back many times over, and the game needs the others. */
const MAX_PLAYER_READS = 2
/** A signal ahead of its predecessors waits this long for them before the database is asked. */
const HOLE_MS = 20
/** How often the ends of the streams are compared with the database: what makes a lost signal late, not lost. */
const QUIET_MS = 1_000

/**
 * Follows the streams of the environments that somebody listens to. Followers pull: each remembers its own position
 * and takes what lies beyond it, from the recent events or from Postgres, so that a slow one costs nobody anything.
 */
export function createFeeds({ pool, bus, onError = () => {} }: FeedOptions): Feeds {
  const feeds = new Map<string, Promise<Feed>>()
  const open = new Map<string, Feed>()
  const playerReads = createTurns(MAX_PLAYER_READS)
  let quiet: NodeJS.Timeout | undefined
  let closed = false

  async function end(environmentId: string): Promise<bigint> {
    const { rows } = await pool.query<{ position: string }>({
      name: 'stream-end',
      text: 'SELECT position FROM streams WHERE environment_id = $1',
      values: [environmentId],
    })
    return BigInt(rows[0]?.position ?? 0)
  }

  async function read(environmentId: string, after: bigint): Promise<StreamEvent[]> {
    const { rows } = await pool.query({
      name: 'stream-read',
      text: `SELECT ${EVENT_COLUMNS} FROM events
        WHERE environment_id = $1 AND position > $2 ORDER BY position LIMIT ${PAGE}`,
      values: [environmentId, after],
    })
    return rows.map((row) => eventOf(environmentId, row))
  }

  async function readOf(environmentId: string, playerId: string, after: bigint, end: bigint): Promise<StreamEvent[]> {
    const { rows } = await pool.query({
      name: 'stream-read-player',
      text: `SELECT ${EVENT_COLUMNS} FROM events
        WHERE environment_id = $1 AND player_id = $2 AND position > $3 AND position <= $4
        ORDER BY position LIMIT ${PAGE}`,
      values: [environmentId, playerId, after, end],
    })
    return rows.map((row) => eventOf(environmentId, row))
  }

  async function isKept(environmentId: string, position: bigint): Promise<boolean> {
    const { rowCount } = await pool.query({
      name: 'stream-is-kept',
      text: 'SELECT FROM events WHERE environment_id = $1 AND position = $2',
      values: [environmentId, position],
    })
    return rowCount === 1
  }

  /** One statement for all environments, once a second. */
  async function compareEnds(): Promise<void> {
    try {
      const { rows } = await pool.query<{ environment_id: string; position: string }>({
        name: 'stream-ends',
        text: 'SELECT environment_id, position FROM streams WHERE environment_id = ANY($1::uuid[])',
        values: [[...open.keys()]],
      })
      for (const row of rows) open.get(row.environment_id)?.reaches(BigInt(row.position))
    } catch (error) {
      onError(error)
    }
    if (open.size > 0) scheduleQuiet()
  }

  function scheduleQuiet(): void {
    clearTimeout(quiet)
    quiet = setTimeout(compareEnds, QUIET_MS).unref()
  }

  function acquire(environmentId: string): Promise<Feed> {
    const known = feeds.get(environmentId)
    if (known) return known
    const opening = openFeed(environmentId)
    feeds.set(environmentId, opening)
    opening.catch(() => feeds.delete(environmentId))
    return opening
  }

  async function join(environmentId: string): Promise<Feed> {
    for (;;) {
      const opening = acquire(environmentId)
      const feed = await opening
      // Its last follower may have left while we waited.
      if (feeds.get(environmentId) !== opening) continue
      feed.join()
      return feed
    }
  }

  async function openFeed(environmentId: string): Promise<Feed> {
    const feed = new Feed((after) => read(environmentId, after), onError)
    // Signals are heard before the end is read, so nothing falls between the two.
    const leave = await bus.subscribe(environmentId, feed)
    try {
      feed.begin(await end(environmentId))
    } catch (error) {
      leave()
      throw error
    }
    feed.onIdle = () => {
      leave()
      feeds.delete(environmentId)
      open.delete(environmentId)
      if (open.size === 0) clearTimeout(quiet)
    }
    if (open.size === 0) scheduleQuiet()
    open.set(environmentId, feed)
    return feed
  }

  async function follow({
    environmentId,
    after,
    playerId = null,
    matches,
    onEnd,
  }: Follower): Promise<AsyncIterableIterator<StreamEvent>> {
    if (closed) throw new Refusal('unavailable')
    const feed = await join(environmentId)
    const ended = new AbortController()
    try {
      // The cursor may come from another instance that is ahead of what this one has heard.
      if (after !== null && after > feed.head) feed.reaches(await end(environmentId))
      if (after !== null && after > feed.target) throw new Refusal('cursorExpired')
      const position = after ?? feed.head
      const first = feed.recentAfter(position) ?? (await pageAfter(position))
      if (closed) throw new Refusal('unavailable')
      return new Following({ feed, pageAfter, matches, first, ended, onEnd })
    } catch (error) {
      feed.leave()
      throw error
    }

    async function pageAfter(position: bigint): Promise<Page> {
      if (playerId !== null) {
        const leave = await playerReads.enter(ended.signal)
        return ownPageAfter(playerId, position).finally(leave)
      }
      const { head } = feed
      const events = await read(environmentId, position)
      // What is known to be committed and is not there is past retention.
      const next = events[0]?.position ?? head + 1n
      if (next > position + 1n) throw new Refusal('cursorExpired')
      return { events, end: events.at(-1)?.position ?? position }
    }

    async function ownPageAfter(player: string, position: bigint): Promise<Page> {
      const { head } = feed
      const events = await readOf(environmentId, player, position, head)
      // Asked afterwards: the oldest leave first, so what is kept now has kept all behind it until now.
      if (!(await isKept(environmentId, position + 1n))) throw new Refusal('cursorExpired')
      const last = events.length === PAGE ? events.at(-1) : undefined
      return { events, end: last?.position ?? head }
    }
  }

  return {
    end,
    follow,
    async close() {
      closed = true
      clearTimeout(quiet)
      for (const feed of open.values()) for (const following of feed.followings) following.end()
    },
  }
}

/** What a stretch of the stream has for a follower, up to a position and with it. */
interface Page {
  readonly events: readonly StreamEvent[]
  readonly end: bigint
}

/** Where a follower starts, and how it goes on. */
interface Way {
  readonly feed: Feed
  readonly pageAfter: (position: bigint) => Promise<Page>
  readonly matches: (event: StreamEvent) => boolean
  readonly first: Page
  readonly ended: AbortController
  readonly onEnd?: () => void
}

/**
 * One follower's way along a feed. Not a generator: `return()` must end a `next()` that waits, and free the feed even
 * when nothing was ever asked for.
 */
class Following implements AsyncIterableIterator<StreamEvent> {
  private readonly way: Way
  private page: Page
  private at = 0

  constructor(way: Way) {
    this.way = way
    this.page = way.first
    way.feed.followings.add(this)
  }

  async next(): Promise<IteratorResult<StreamEvent>> {
    const { feed, pageAfter, matches, ended } = this.way
    while (!ended.signal.aborted) {
      const { events, end } = this.page
      for (let event = events[this.at]; event; event = events[this.at]) {
        this.at += 1
        if (matches(event)) return { done: false, value: event }
      }
      // A page at a time, then the others: what is at hand would keep everybody waiting until one has it all.
      if (events.length === PAGE) await nextTurn()
      try {
        this.page = feed.recentAfter(end) ?? (await pageAfter(end))
      } catch (error) {
        if (ended.signal.aborted) break
        // Whoever pulls does not call `return()` after an error.
        this.end()
        throw error
      }
      this.at = 0
      if (this.page.end === end) await feed.moved(end, ended.signal)
    }
    return { done: true, value: undefined }
  }

  end(): void {
    if (this.way.ended.signal.aborted) return
    this.way.ended.abort()
    this.way.feed.followings.delete(this)
    this.way.feed.leave()
    this.way.onEnd?.()
  }

  async return(): Promise<IteratorResult<StreamEvent>> {
    this.end()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<StreamEvent>> {
    await this.return()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** One environment's stream as this instance knows it: an unbroken tail of recent events, and what came too early. */
class Feed {
  /** The last position up to which everything is known. */
  head = 0n
  /** The furthest position that is known to exist. */
  target = 0n
  onIdle = (): void => {}
  readonly followings = new Set<Following>()
  private readonly readAfter: (position: bigint) => Promise<StreamEvent[]>
  private readonly onError: (error: unknown) => void
  private recent: StreamEvent[] = []
  private readonly early = new Map<bigint, StreamEvent>()
  /** Up to here nothing is early any more. */
  private absorbed = 0n
  private readonly waiting = new Set<() => void>()
  private followers = 0
  private begun = false
  private filling = false
  private hole: NodeJS.Timeout | undefined

  constructor(readAfter: (position: bigint) => Promise<StreamEvent[]>, onError: (error: unknown) => void) {
    this.readAfter = readAfter
    this.onError = onError
  }

  begin(end: bigint): void {
    this.head = end
    this.begun = true
    this.absorb()
    // More may have been told while the end was read.
    this.reaches(end)
  }

  join(): void {
    this.followers += 1
  }

  leave(): void {
    this.followers -= 1
    if (this.followers > 0) return
    clearTimeout(this.hole)
    this.onIdle()
  }

  events(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if (event.position <= this.head) continue
      // Those that follow on make room for the others.
      if (this.early.size === EARLY_EVENTS && this.begun) this.absorb()
      if (this.early.size < EARLY_EVENTS) this.early.set(event.position, event)
    }
    if (this.begun) this.absorb()
  }

  gap(): void {
    void this.fill()
  }

  /** The stream is known to reach this position: what is missing up to it is read. */
  reaches(position: bigint): void {
    if (position > this.target) this.target = position
    if (this.target > this.head) void this.fill()
  }

  /** The events after a position when they are at hand; undefined when only Postgres has them. */
  recentAfter(position: bigint): Page | undefined {
    if (position >= this.head) return { events: [], end: position }
    const first = this.recent[0]
    if (!first || first.position > position + 1n) return undefined
    const from = Number(position + 1n - first.position)
    const events = this.recent.slice(from, from + PAGE)
    return { events, end: events.at(-1)?.position ?? position }
  }

  /** Resolves when there is something after a position, or when the signal aborts. */
  moved(position: bigint, signal: AbortSignal): Promise<void> {
    if (this.head > position || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  private absorb(): void {
    const before = this.head
    for (let next = this.early.get(this.head + 1n); next; next = this.early.get(this.head + 1n)) this.push(next)
    if (this.head > before) this.wake()
    if (this.head > this.absorbed) {
      for (const position of this.early.keys()) if (position <= this.head) this.early.delete(position)
      this.absorbed = this.head
    }
    if (this.early.size === 0) {
      clearTimeout(this.hole)
      this.hole = undefined
    } else {
      this.hole ??= setTimeout(() => {
        this.hole = undefined
        void this.fill()
      }, HOLE_MS).unref()
    }
  }

  private skipTo(position: bigint): void {
    this.head = position
    this.recent = []
  }

  private push(event: StreamEvent): void {
    this.recent.push(event)
    this.head = event.position
    if (this.head > this.target) this.target = this.head
    // Trimmed in halves, so that dropping the oldest costs nothing per event.
    if (this.recent.length > 2 * RECENT_EVENTS) this.recent = this.recent.slice(-RECENT_EVENTS)
  }

  private wake(): void {
    for (const wake of [...this.waiting]) wake()
  }

  private async fill(): Promise<void> {
    // Without a beginning it would read all that was ever told, and take it for what is recent.
    if (this.filling || !this.begun) return
    this.filling = true
    try {
      for (;;) {
        const page = await this.readAfter(this.head)
        const [first] = page
        // What lies between is past retention: whoever still waits for it is told so when it asks.
        if (first && first.position > this.head + 1n) this.skipTo(first.position - 1n)
        for (const event of page) if (event.position === this.head + 1n) this.push(event)
        this.absorb()
        this.wake()
        if (page.length < PAGE) break
      }
    } catch (error) {
      // The next quiet second tries again.
      this.onError(error)
    } finally {
      this.filling = false
    }
  }
}
