import { type Client, CombinedError, stringifyDocument } from 'urql'
import type { ResultOf, VariablesOf } from '../graphql.ts'
import type { LiveSocket } from '../session/client.ts'
import { codeOf, faultsOf, faultText, textOf } from '../ui/errors.ts'
import { CatchUp, type Resumption } from './catch-up.ts'
import { eventsSubscription, latestEventsQuery, streamCursorQuery } from './operations.ts'

export type GameEvent = ResultOf<typeof eventsSubscription>['onEvent']

export type EventFilter = Omit<VariablesOf<typeof eventsSubscription>, 'after'>

export interface FeedState {
  readonly status: 'connecting' | 'live' | 'reconnecting' | 'ended'
  /** In the order of the stream, the oldest first. */
  readonly events: readonly GameEvent[]
  readonly heard: number
  /** The number of events that are no longer kept, since there were more than the limit. */
  readonly dropped: number
  /** When the connection was lost, in milliseconds. Null while connected. */
  readonly lostAt: number | null
  /** The last time that a lost connection came back. */
  readonly resumed: Resumption | null
  /** The last time that the list was read again, because the stream no longer had the last event. */
  readonly gap: Gap | null
  /** The refusal of the service, in a sentence: the reason why the feed has ended, or is not back yet. */
  readonly problem: string | null
}

/** Times of the last event before a gap and of the first one after it. Null where there is none. */
export interface Gap {
  readonly from: string | null
  readonly to: string | null
}

export const CONNECTING: FeedState = {
  status: 'connecting',
  events: [],
  heard: 0,
  dropped: 0,
  lostAt: null,
  resumed: null,
  gap: null,
  problem: null,
}

export interface FeedOptions {
  readonly client: Client
  readonly socket: LiveSocket
  readonly filter: EventFilter
  readonly limit: number
  readonly onState: (state: FeedState) => void
}

/** The number of events before the first live one. */
const FIRST_EVENTS = 100
const MAX_PAUSE_MS = 10_000
/** After a connection of at least this length, the next pause is short again. */
const GOOD_MS = 10_000
/** Events of a flood are shown together. */
const FLUSH_MS = 100
/** Errors that pass by themselves. After any other error, a retry has the same answer. */
const PASSING = ['UNAVAILABLE', 'INTERNAL_ERROR', 'RATE_LIMITED', 'SUBSCRIPTION_LIMIT_EXCEEDED']
/** The code with which the service closes the sockets of a caller without access. */
const FORBIDDEN = 4403

/**
 * Follows the events of an environment. It begins with the latest ones. After a lost connection it continues after the
 * last event that it has received: no event is missed, and none is shown twice.
 */
export class EventFeed {
  readonly #options: FeedOptions
  #state = CONNECTING
  #after: string | undefined
  /** Cursors of the first page. The first subscription may send some of its events again. */
  #first: ReadonlySet<string> = new Set()
  #pending: GameEvent[] = []
  #flush: ReturnType<typeof setTimeout> | undefined
  #pause: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #liveSince = 0
  #catchUp: CatchUp | undefined
  #unsubscribe = (): void => undefined
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    addEventListener('online', this.#onAwake)
    document.addEventListener('visibilitychange', this.#onAwake)
    void this.#begin()
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    clearTimeout(this.#flush)
    clearTimeout(this.#pause)
    removeEventListener('online', this.#onAwake)
    document.removeEventListener('visibilitychange', this.#onAwake)
  }

  async #begin(): Promise<void> {
    const { client, filter } = this.#options
    // The end of the stream is read first: an event between the two reads is in both, so none is missed.
    const end = await client.query(streamCursorQuery, { environment: filter.environment }, NETWORK)
    if (this.#isClosed) return
    if (!end.data) return this.#onFailure(end.error)
    const latest = await client.query(latestEventsQuery, { ...filter, last: FIRST_EVENTS }, NETWORK)
    if (this.#isClosed) return
    if (!latest.data) return this.#onFailure(latest.error)
    const events = latest.data.events.nodes
    this.#first = new Set(events.map(({ cursor }) => cursor))
    this.#after = end.data.streamCursor
    const { gap, heard } = this.#state
    this.#set({
      events,
      heard: heard + events.length,
      dropped: 0,
      lostAt: null,
      gap: gap && { ...gap, to: events[0]?.occurredAt ?? null },
    })
    this.#subscribe()
  }

  #subscribe(): void {
    const { socket, filter } = this.#options
    // A subscription that was replaced may still call a listener, for example at its end.
    let isCurrent = true
    const ifCurrent =
      <Said extends unknown[]>(listener: (...said: Said) => void) =>
      (...said: Said) => {
        if (isCurrent) listener(...said)
      }
    const lose = ifCurrent((error?: unknown) => this.#onFailure(error))
    const offs = [
      socket.client.on('connected', ifCurrent(this.#onLive)),
      // Called before the library acts: after a normal closure it would repeat the subscription with its first cursor.
      socket.client.on('closed', lose),
    ]
    const stop = socket.client.subscribe<{ onEvent: GameEvent }>(
      { query: stringifyDocument(eventsSubscription), variables: { ...filter, after: this.#after } },
      {
        next: ifCurrent(({ data, errors }) => {
          if (data?.onEvent) this.#onEvent(data.onEvent)
          else lose(errors)
        }),
        error: lose,
        complete: lose,
      },
    )
    this.#unsubscribe = () => {
      isCurrent = false
      this.#unsubscribe = () => undefined
      for (const off of offs) off()
      stop()
    }
    // The socket may be open already, for another feed.
    if (socket.isConnected()) this.#onLive()
  }

  readonly #onLive = (): void => {
    if (this.#state.status === 'live') return
    const { lostAt } = this.#state
    this.#liveSince = Date.now()
    if (lostAt !== null) this.#startCatchUp(this.#liveSince - lostAt)
    this.#set({ status: 'live', lostAt: null, problem: null })
  }

  /** Finds the last event at the return of the connection: the events up to it were missed. */
  #startCatchUp(awayMs: number): void {
    const { client, filter } = this.#options
    const catchUp = new CatchUp(awayMs, this.#lastShown())
    this.#catchUp = catchUp
    this.#set({ resumed: catchUp.resumption })
    void client.query(latestEventsQuery, { ...filter, last: 1 }, NETWORK).then(({ data }) => {
      if (this.#isClosed || this.#catchUp !== catchUp) return
      if (data) catchUp.endAt(data.events.nodes[0]?.cursor)
      else catchUp.giveUp()
      this.#set({ resumed: catchUp.resumption })
    })
  }

  #onEvent(event: GameEvent): void {
    this.#after = event.cursor
    if (this.#first.has(event.cursor)) return
    this.#pending.push(event)
    this.#catchUp?.add(event.cursor)
    // A hidden page has slow timers.
    if (this.#pending.length >= this.#options.limit) this.#showPending()
    else this.#flush ??= setTimeout(() => this.#showPending(), FLUSH_MS)
  }

  #showPending(): void {
    clearTimeout(this.#flush)
    this.#flush = undefined
    const events = [...this.#state.events, ...this.#pending]
    const surplus = Math.max(0, events.length - this.#options.limit)
    const heard = this.#state.heard + this.#pending.length
    this.#pending = []
    this.#set({
      heard,
      events: surplus > 0 ? events.slice(surplus) : events,
      dropped: this.#state.dropped + surplus,
      resumed: this.#catchUp?.resumption ?? this.#state.resumed,
    })
  }

  /** Handles the end of an attempt: a close event, errors of GraphQL, an error of a query, or undefined. */
  #onFailure(failure: unknown): void {
    this.#unsubscribe()
    const error = errorOf(failure)
    const code = codeOf(error)
    if (code === 'CURSOR_EXPIRED') {
      this.#showPending()
      this.#catchUp = undefined
      const from = this.#state.events.at(-1)?.occurredAt ?? null
      this.#set({ status: 'connecting', resumed: null, gap: { from, to: null } })
      void this.#begin()
      return
    }
    const problem = error ? problemOf(error) : null
    if (code !== undefined && !PASSING.includes(code)) {
      this.#set({ status: 'ended', problem, lostAt: null })
      return
    }
    if (this.#state.status === 'live' && Date.now() - this.#liveSince > GOOD_MS) this.#failures = 0
    this.#set({ status: 'reconnecting', lostAt: this.#state.lostAt ?? Date.now(), problem })
    const asked = Number(error?.graphQLErrors[0]?.extensions.retryAfter)
    const pause = Math.min(MAX_PAUSE_MS, 250 * 2 ** this.#failures) * (0.5 + Math.random() / 2)
    this.#failures += 1
    const isDenied = (failure as Partial<CloseEvent> | undefined)?.code === FORBIDDEN
    this.#pause = setTimeout(isDenied ? this.#retryIfAllowed : this.#retry, asked > 0 ? asked * 1000 : pause)
  }

  readonly #retry = (): void => {
    clearTimeout(this.#pause)
    this.#pause = undefined
    if (this.#isClosed) return
    if (this.#after === undefined) void this.#begin()
    else this.#subscribe()
  }

  /** A socket that was denied access gives no reason. A query does, and ends a session that is no longer valid. */
  readonly #retryIfAllowed = async (): Promise<void> => {
    const { client, filter } = this.#options
    this.#pause = undefined
    const { error } = await client.query(streamCursorQuery, { environment: filter.environment }, NETWORK)
    if (this.#isClosed) return
    if (error) this.#onFailure(error)
    else this.#retry()
  }

  /** A computer that woke up, or has its network again, does not wait for the end of a pause or for the next ping. */
  readonly #onAwake = (): void => {
    if (document.visibilityState !== 'visible') return
    if (this.#pause !== undefined) this.#retry()
    else this.#options.socket.check()
  }

  #lastShown(): string | undefined {
    return (this.#pending.at(-1) ?? this.#state.events.at(-1))?.cursor
  }

  #set(change: Partial<FeedState>): void {
    this.#state = { ...this.#state, ...change }
    this.#options.onState(this.#state)
  }
}

const NETWORK = { requestPolicy: 'network-only' } as const

/** Undefined for a lost connection, which has no error. */
function errorOf(failure: unknown): CombinedError | undefined {
  if (failure instanceof CombinedError) return failure
  return Array.isArray(failure) ? new CombinedError({ graphQLErrors: failure }) : undefined
}

/** The refusal of the service, with every fault. Null without a code, and while the service is unavailable. */
function problemOf(error: CombinedError): string | null {
  const code = codeOf(error)
  if (code === undefined || code === 'UNAVAILABLE') return null
  return [textOf(error), ...faultsOf(error).map((fault) => faultText(fault))].join(' ')
}
