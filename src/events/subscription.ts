import type { Page, StreamBuffer, Subscriber } from './buffer.ts'
import type { StreamEvent } from './catalogue.ts'
import { type EventFilter, matches } from './filter.ts'
import { PAGE } from './read-stream.ts'
import type { Topic } from './subscription-index.ts'

export interface Sink {
  /** Takes events, in order. False asks for a pause: nothing more arrives until `resume()` is called. */
  take(events: readonly StreamEvent[]): boolean
  /** Called once at the end, with the error that ended the subscription, if any. */
  end(error?: unknown): void
}

/** Events that are delivered together to a subscription that is behind, and roughly their bytes of data. */
const CHUNK = 64
const CHUNK_BYTES = 16 * 1024

/**
 * - `new`: has no sink yet;
 * - `behind`: works its way forward through recent events and pages from Postgres;
 * - `waiting`: continues by itself, after a read or in the next turn of the event loop;
 * - `full`: its sink asked for a pause;
 * - `live`: is in the index of its buffer, which delivers matching events;
 * - `ended`.
 */
type State = 'new' | 'behind' | 'waiting' | 'full' | 'live' | 'ended'

/**
 * The events of a stream that match a filter, from a position on: in order, without a gap or a repeat. They flow into a
 * sink. A live subscription costs nothing while no event matches.
 */
export class Subscription implements AsyncIterable<StreamEvent>, Subscriber {
  readonly filter: EventFilter
  private readonly buffer: StreamBuffer
  private readonly endings: (() => void)[] = []
  private state: State = 'new'
  /** All matching events up to here were delivered. Not current while live: the buffer then knows the position. */
  private position: bigint
  private topic: Topic<Subscriber> | undefined
  private sink: Sink | undefined
  private reading: AbortController | undefined
  /** The events after the first position, when they had to be read. */
  private first: Page | null
  /** Events that were examined in this turn of the event loop. */
  private scanned = 0

  constructor(buffer: StreamBuffer, { filter, position, first }: SubscriptionStart) {
    this.buffer = buffer
    this.filter = filter
    this.position = position
    this.first = first
    buffer.subscriptions.add(this)
  }

  /** Lets the events flow into a sink. Call it once. */
  flow(sink: Sink): void {
    this.sink = sink
    if (this.state === 'ended') {
      sink.end()
      return
    }
    this.state = 'behind'
    const { first } = this
    this.first = null
    if (first) this.work(first)
    this.advance()
  }

  /** Calls a function once at the end, after the functions that were given before. */
  onceEnded(callBack: () => void): void {
    if (this.state === 'ended') callBack()
    else this.endings.push(callBack)
  }

  /** Continues after a pause. Without a pause it does nothing. */
  resume(): void {
    if (this.state !== 'full') return
    this.state = 'behind'
    this.advance()
  }

  give(events: readonly StreamEvent[], end: bigint): void {
    if (this.state !== 'live' || this.position >= end) return
    // The subscription became live meanwhile, and has received some of them.
    const isNew = ({ position }: StreamEvent) => position > this.position
    const due = events[0] && isNew(events[0]) ? events : events.filter(isNew)
    if (due.length === 0 || this.offer(due)) return
    this.exit()
    this.position = end
  }

  fallBehind(position: bigint): void {
    if (this.state !== 'live') return
    this.exit()
    if (position > this.position) this.position = position
    this.state = 'behind'
    this.advance()
  }

  /** Ends the subscription. A second call does nothing. */
  end(error?: unknown): void {
    if (this.state === 'ended') return
    this.exit()
    this.state = 'ended'
    this.reading?.abort()
    this.buffer.subscriptions.delete(this)
    this.buffer.leave()
    for (const callBack of this.endings) callBack()
    this.sink?.end(error)
  }

  /** graphql-js asks for it, and nothing iterates. */
  [Symbol.asyncIterator](): never {
    throw new Error('events flow into a sink')
  }

  private advance(): void {
    while (this.state === 'behind') {
      const isLevel = this.position >= this.buffer.delivered
      const page = isLevel ? undefined : this.buffer.recentAfter(this.position)
      if (isLevel) this.enter()
      else if (page) this.work(page)
      else void this.read()
    }
  }

  private enter(): void {
    this.state = 'live'
    this.topic = this.buffer.enter(this)
  }

  private exit(): void {
    if (this.topic) this.buffer.exit(this.topic, this)
    this.topic = undefined
  }

  private async read(): Promise<void> {
    this.state = 'waiting'
    this.reading = new AbortController()
    try {
      const page = await this.buffer.readAfter(this.position, this.filter.playerId, this.reading.signal)
      if (!this.continue()) return
      this.work(page)
      this.advance()
    } catch (error) {
      this.end(error)
    } finally {
      this.reading = undefined
    }
  }

  /** Delivers the matches of a page while the sink accepts them and the turn lasts. */
  private work({ events, at, end }: Page): void {
    let index = at
    while (this.state === 'behind' && this.position < end) {
      if (this.scanned >= PAGE) {
        this.rest({ events, at: index, end })
        return
      }
      const chunk: StreamEvent[] = []
      let bytes = 0
      // The page may have grown beyond its end since it was cut.
      while (this.position < end && chunk.length < CHUNK && bytes < CHUNK_BYTES && this.scanned < PAGE) {
        const event = events[index]
        index += 1
        this.scanned += 1
        // A page of one player ends after its last event.
        this.position = event?.position ?? end
        if (!event || !matches(this.filter, event)) continue
        chunk.push(event)
        bytes += event.data.length
      }
      if (chunk.length > 0) this.offer(chunk)
    }
  }

  /** Yields to other work of the event loop: with much in memory this could run for long. */
  private rest(page: Page): void {
    this.state = 'waiting'
    setImmediate(() => {
      this.scanned = 0
      if (!this.continue()) return
      this.work(page)
      this.advance()
    })
  }

  /** False when the subscription has ended. */
  private continue(): boolean {
    if (this.state !== 'waiting') return false
    this.state = 'behind'
    return true
  }

  /** False when the sink asks for a pause, or the subscription has ended. */
  private offer(events: readonly StreamEvent[]): boolean {
    try {
      if (this.sink?.take(events)) return true
      if ((this.state as State) !== 'ended') this.state = 'full'
    } catch (error) {
      this.end(error)
    }
    return false
  }
}

export interface SubscriptionStart {
  readonly filter: EventFilter
  readonly position: bigint
  /** The events after the position, when they are not in memory. */
  readonly first: Page | null
}
