import { Refusal } from '../base/errors.ts'
import type { Semaphore } from '../base/semaphore.ts'
import type { BusListener } from './bus.ts'
import type { StreamEvent } from './catalogue.ts'
import { agree, type StreamPoint } from './cursor.ts'
import type { EventFilter } from './filter.ts'
import { PAGE, PLAYER_PAGE, type StreamReader } from './read-stream.ts'
import { SubscriptionIndex, type Topic } from './subscription-index.ts'

/** Recent events in memory, so that subscriptions near the end of the stream need no database. */
const RECENT_EVENTS = 4_000
/**
 * The most events in memory that arrived before their predecessors. Events beyond it are dropped and read later: while
 * Postgres is slow, they would fill the memory.
 */
const EARLY_EVENTS = 4_000
/** How long an event waits for its missing predecessors before Postgres is asked. */
const HOLE_MS = 20
/** The most events that are delivered together, and roughly their most bytes of data. */
const BATCH = 128
const BATCH_BYTES = 64 * 1024
/** Subscriptions that are served in one turn of the event loop. Calls of the game run in between. */
const SLICE = 128
/** Pages of the stream that are kept until the next second, for other subscriptions that read the same. */
const KEPT_PAGES = 8

export interface Subscriber {
  readonly filter: EventFilter
  /** Delivers the matching events up to `end`, if the subscription is live. */
  give(events: readonly StreamEvent[], end: bigint): void
  /** The events after a position are no longer in memory: a live subscription must read them. */
  fallBehind(position: bigint): void
  end(error?: unknown): void
}

/** A contiguous part of the stream. */
export interface Page {
  readonly events: readonly StreamEvent[]
  /** The index of the first requested event. */
  readonly at: number
  /** The position up to which the page is complete. */
  readonly end: bigint
}

export interface StreamBufferOptions {
  readonly environmentId: string
  readonly reader: StreamReader
  /** Limits how many pages of single players are read at once. */
  readonly playerReads: Semaphore
  readonly onError: (error: unknown) => void
  /** Called with the oldest event of each delivered batch. */
  readonly onDelivery: (event: StreamEvent) => void
  /** Called when the last subscription has left. */
  readonly onIdle: () => void
  /** Called when the database turned out to have another history. This buffer takes no further subscription. */
  readonly onExpired: () => void
}

/**
 * One environment's stream as this instance knows it: an unbroken tail of recent events, and the subscriptions to them.
 * Live subscriptions are in an index, and an event wakes only those that it matches. A subscription that is behind
 * reads forward by itself (`subscription.ts`).
 */
export class StreamBuffer implements BusListener {
  /** The last position up to which every event is known. */
  head = 0n
  /** When the event at the head occurred, in milliseconds. Null when that is not known. */
  private headAt: number | null = null
  /** The furthest position that is known to exist. */
  target = 0n
  /** The last position that was delivered, or is being delivered, to live subscriptions. */
  delivered = 0n
  readonly subscriptions = new Set<Subscriber>()
  private readonly options: StreamBufferOptions
  private readonly index = new SubscriptionIndex<Subscriber>()
  private recent: StreamEvent[] = []
  private readonly early = new Map<bigint, StreamEvent>()
  /** All events up to here were taken out of `early`. */
  private absorbed = 0n
  private readonly pages = new Map<bigint, { readonly end: bigint; readonly events: Promise<StreamEvent[]> }>()
  /** Subscriptions, and calls that are about to open one. */
  private users = 0
  private hasBegun = false
  private isFilling = false
  private isDelivering = false
  private deliveries: Generator<void> | undefined
  private hole: NodeJS.Timeout | undefined

  constructor(options: StreamBufferOptions) {
    this.options = options
  }

  /** Starts at the end of the stream, which must be read after signals arrive. */
  begin({ position, at }: StreamPoint): void {
    this.head = position
    this.headAt = at
    this.delivered = position
    this.hasBegun = true
    this.absorb()
    // Further events may have been announced while the end was read.
    this.reaches(position)
  }

  join(): void {
    this.users += 1
  }

  leave(): void {
    this.users -= 1
    if (this.users > 0) return
    clearTimeout(this.hole)
    this.options.onIdle()
  }

  events(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if (event.position <= this.head) continue
      if (this.hasBegun && event.position === this.head + 1n) {
        this.announced(event)
        continue
      }
      // Absorbing makes room.
      if (this.early.size === EARLY_EVENTS && this.hasBegun) this.absorb()
      if (this.early.size < EARLY_EVENTS) this.early.set(event.position, event)
    }
    if (this.hasBegun) this.absorb()
  }

  gap(): void {
    void this.fill()
  }

  reaches(position: bigint): void {
    if (position > this.target) this.target = position
    if (this.target > this.head) void this.fill()
  }

  /**
   * Compares the end of the stream with the head, which was at `known` before the end was read. A database that ends
   * before `known`, or with another event, was restored, or is a standby that lagged when it was promoted.
   */
  compare(known: bigint, end: StreamPoint): void {
    if (end.position < known || (end.position === this.head && !agree(end.at, this.headAt))) {
      this.expire()
      return
    }
    // Forgets the position that a late signal of a lost history has announced.
    this.target = this.head
    this.reaches(end.position)
  }

  /** Call it every second. */
  tick(): void {
    this.pages.clear()
  }

  /** Makes a subscription live: from now on it receives each matching event. */
  enter(subscription: Subscriber): Topic<Subscriber> {
    return this.index.add(subscription.filter, subscription)
  }

  exit(topic: Topic<Subscriber>, subscription: Subscriber): void {
    this.index.delete(topic, subscription)
  }

  /** The events after a position, if they are in memory. Undefined when only Postgres has them. */
  recentAfter(position: bigint): Page | undefined {
    const first = this.recent[0]
    if (position >= this.head) return { events: [], at: 0, end: position }
    if (!first || first.position > position + 1n) return undefined
    return { events: this.recent, at: Number(position + 1n - first.position), end: this.head }
  }

  /** When the event at a position occurred, in milliseconds. Null when this is not in memory. */
  private timeAt(position: bigint): number | null {
    if (position === this.head) return this.headAt
    const first = this.recent[0]
    if (!first || position < first.position) return null
    return this.recent[Number(position - first.position)]?.occurredAt.getTime() ?? null
  }

  /** False when the stream has another event at the position of a point, or does not reach it. */
  async has(point: StreamPoint, playerId: string | null): Promise<boolean> {
    const { environmentId, reader, playerReads } = this.options
    if (point.position > this.head) {
      // The cursor may come from another instance that is ahead of this one.
      const known = this.head
      const end = await reader.end(environmentId)
      this.compare(known, end)
      return point.position <= end.position && (await reader.isOfHistory(environmentId, end, point))
    }
    const at = this.timeAt(point.position)
    if (point.at === null || at !== null) return agree(point.at, at)
    const end = { position: this.head, at: this.headAt }
    const leave = playerId === null ? undefined : await playerReads.acquire()
    return reader.isOfHistory(environmentId, end, point).finally(leave)
  }

  /** Reads the events after a position. Throws `cursor expired` when retention has removed them. */
  async readAfter(position: bigint, playerId: string | null, signal?: AbortSignal): Promise<Page> {
    if (playerId === null) return this.readPage(position)
    const leave = await this.options.playerReads.acquire(signal)
    return this.readPlayerPage(playerId, position).finally(leave)
  }

  /** Pages begin at multiples of their size, so that subscriptions that fell behind together read each page once. */
  private async readPage(position: bigint): Promise<Page> {
    const { environmentId, reader } = this.options
    const start = position - (position % BigInt(PAGE))
    let page = this.pages.get(start)
    if (!page || page.end <= position) {
      const full = start + BigInt(PAGE)
      const end = full < this.head ? full : this.head
      page = { end, events: reader.between(environmentId, start, end) }
      this.pages.set(start, page)
      page.events.catch(() => this.pages.delete(start))
      const [oldest] = this.pages.keys()
      if (this.pages.size > KEPT_PAGES && oldest !== undefined) this.pages.delete(oldest)
    }
    const events = await page.events
    const [first] = events
    // The position is committed, so retention has removed its event.
    if (!first || first.position > position + 1n) throw new Refusal('cursorExpired')
    return { events, at: Number(position + 1n - first.position), end: page.end }
  }

  private async readPlayerPage(playerId: string, position: bigint): Promise<Page> {
    const { environmentId, reader } = this.options
    const { head } = this
    const events = await reader.ofPlayer(environmentId, playerId, position, head)
    // Checked afterwards: the oldest events are removed first, so if this one still exists, all later ones did.
    if (!(await reader.isKept(environmentId, position + 1n))) throw new Refusal('cursorExpired')
    const last = events.length === PLAYER_PAGE ? events.at(-1) : undefined
    return { events, at: 0, end: last?.position ?? head }
  }

  private absorb(): void {
    for (let next = this.early.get(this.head + 1n); next; next = this.early.get(this.head + 1n)) {
      this.early.delete(next.position)
      this.announced(next)
    }
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

  /** Takes the next event from a signal. If it does not follow the last event, the database is read instead. */
  private announced(event: StreamEvent): void {
    if (agree(event.follows, this.headAt)) this.push(event)
    else void this.fill()
  }

  private push(event: StreamEvent): void {
    this.recent.push(event)
    this.head = event.position
    this.headAt = event.occurredAt.getTime()
    if (this.head > this.target) this.target = this.head
    // Trimmed by halves, so that dropping the oldest costs nothing per event.
    if (this.recent.length > 2 * RECENT_EVENTS) {
      this.recent = this.recent.slice(-RECENT_EVENTS)
      this.leaveBehind()
    }
    if (!this.isDelivering) this.scheduleDelivery()
  }

  /** Retention has removed the events up to a position. A subscription that needs them fails when it reads. */
  private skipTo(position: bigint): void {
    this.head = position
    this.headAt = null
    this.recent = []
    this.leaveBehind()
  }

  /** Makes subscriptions read the events that were not delivered and are no longer in memory. */
  private leaveBehind(): void {
    const first = this.recent[0]?.position ?? this.head + 1n
    if (first <= this.delivered + 1n) return
    // Collected events are delivered first, so that no subscription receives one twice.
    for (const _ of this.deliveries ?? []);
    const { delivered } = this
    this.delivered = first - 1n
    for (const subscription of this.subscriptions) subscription.fallBehind(delivered)
  }

  /** Ends all subscriptions: events that they received, or would have received, are lost. */
  private expire(): void {
    this.options.onExpired()
    for (const subscription of this.subscriptions) subscription.end(new Refusal('cursorExpired'))
  }

  private async fill(): Promise<void> {
    // Before the start, this would read the whole history and treat it as recent.
    if (this.isFilling || !this.hasBegun) return
    this.isFilling = true
    try {
      for (;;) {
        const { head, headAt } = this
        // The page begins with the last known event, which shows whether the next ones belong to the same history.
        const page = await this.options.reader.from(this.options.environmentId, head)
        const [first] = page
        if (first?.position === head && !agree(first.occurredAt.getTime(), headAt)) {
          this.expire()
          return
        }
        if (first && first.position > this.head + 1n) this.skipTo(first.position - 1n)
        for (const event of page) if (event.position === this.head + 1n) this.push(event)
        this.absorb()
        if (page.length <= PAGE) break
      }
    } catch (error) {
      // The next second tries again.
      this.options.onError(error)
    } finally {
      this.isFilling = false
    }
  }

  /** Deferred: the answers of the calls that caused the events go first. */
  private scheduleDelivery(): void {
    this.isDelivering = true
    setImmediate(() => this.deliver())
  }

  private deliver(): void {
    const page = this.recentAfter(this.delivered)
    const topics = new Set<Topic<Subscriber>>()
    let bytes = 0
    for (let at = page?.at ?? 0, count = 0; count < BATCH && bytes < BATCH_BYTES; at += 1, count += 1) {
      const event = page?.events[at]
      if (!event) break
      this.delivered = event.position
      bytes += event.data.length
      this.index.visit(event, (topic) => {
        topic.events.push(event)
        topics.add(topic)
      })
    }
    const oldest = page?.events[page.at]
    if (oldest && topics.size > 0) this.options.onDelivery(oldest)
    this.deliveries = deliveriesOf(topics, this.delivered)
    this.deliverSlice(this.deliveries)
  }

  private deliverSlice(deliveries: Generator<void>): void {
    for (let count = 0; count < SLICE; count += 1) {
      if (!deliveries.next().done) continue
      this.deliveries = undefined
      this.isDelivering = false
      if (this.head > this.delivered) this.scheduleDelivery()
      return
    }
    setImmediate(() => this.deliverSlice(deliveries))
  }
}

/** Delivers each topic's events, one subscription per step. */
function* deliveriesOf(topics: ReadonlySet<Topic<Subscriber>>, end: bigint): Generator<void> {
  for (const topic of topics) {
    const { events } = topic
    topic.events = []
    for (const subscription of topic.subscriptions) {
      subscription.give(events, end)
      yield
    }
  }
}
