import { type Client, type CombinedError, stringifyDocument } from 'urql'
import type { ResultOf, VariablesOf } from '../graphql.ts'
import type { LiveSocket } from '../session/client.ts'
import { eventsSubscription, latestEventsQuery, streamCursorQuery } from './operations.ts'

export type GameEvent = ResultOf<typeof eventsSubscription>['events']

/** Which events of an environment are followed. */
export type EventFilter = Omit<VariablesOf<typeof eventsSubscription>, 'after'>

/** What a feed shows. */
export interface FeedState {
  readonly status: 'connecting' | 'live' | 'reconnecting' | 'ended'
  /** In the order of the stream, the oldest first. */
  readonly events: readonly GameEvent[]
  /** Events that were heard and are no longer kept, since there were more than the limit. */
  readonly dropped: number
  /** When the connection was lost, in milliseconds. Null while there is one. */
  readonly lostAt: number | null
  /** The last time that a lost connection came back, and how many events were missed meanwhile and told then. */
  readonly resumed: { readonly at: number; readonly awayMs: number; readonly caughtUp: number } | null
  /** Set when events between two that are shown have left the history, and cannot be told any more. */
  readonly hasGap: boolean
  /** Why the feed has ended, in a sentence. */
  readonly ending: string | null
}

export interface FeedOptions {
  readonly client: Client
  readonly socket: LiveSocket
  readonly filter: EventFilter
  /** How many events are kept. */
  readonly limit: number
  readonly onState: (state: FeedState) => void
}

/** The events before the first that is live. */
const FIRST_EVENTS = 100
const MAX_PAUSE_MS = 10_000
/** Events of a flood are shown together. */
const FLUSH_MS = 100

const START: FeedState = {
  status: 'connecting',
  events: [],
  dropped: 0,
  lostAt: null,
  resumed: null,
  hasGap: false,
  ending: null,
}

/**
 * Follows the events of an environment. It begins with the latest ones, and goes on behind the last event that it has
 * heard whenever the connection is lost: no event is missed, and none is told twice.
 */
export class EventFeed {
  readonly #options: FeedOptions
  #state = START
  /** Behind it the next subscription begins. */
  #after: string | undefined
  #pending: GameEvent[] = []
  #flush: ReturnType<typeof setTimeout> | undefined
  #pause: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #unsubscribe = (): void => undefined
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    addEventListener('online', this.#retryNow)
    document.addEventListener('visibilitychange', this.#retryNow)
    void this.#begin()
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    clearTimeout(this.#flush)
    clearTimeout(this.#pause)
    removeEventListener('online', this.#retryNow)
    document.removeEventListener('visibilitychange', this.#retryNow)
  }

  /** Reads the latest events, then follows what comes behind them. */
  async #begin(): Promise<void> {
    const { client, filter } = this.#options
    const policy = { requestPolicy: 'network-only' as const }
    // The end of the stream is read first: what happens between the two reads is in the second.
    const end = await client.query(streamCursorQuery, { environment: filter.environment }, policy)
    const latest = end.error ? end : await client.query(latestEventsQuery, { ...filter, last: FIRST_EVENTS }, policy)
    if (this.#isClosed) return
    if (latest.error) return this.#onError(latest.error.graphQLErrors, latest.error)
    const events =
      'events' in (latest.data ?? {}) ? ((latest.data as ResultOf<typeof latestEventsQuery>).events.nodes ?? []) : []
    const shown = this.#state.events
    const known = new Set(shown.map(({ cursor }) => cursor))
    const isContinued = shown.length === 0 || events.some(({ cursor }) => known.has(cursor))
    this.#keep([...shown, ...events.filter(({ cursor }) => !known.has(cursor))], { hasGap: !isContinued })
    this.#after = events.at(-1)?.cursor ?? end.data?.streamCursor
    this.#subscribe()
  }

  #subscribe(): void {
    const { socket, filter } = this.#options
    const off = socket.client.on('connected', () => this.#onLive())
    const stop = socket.client.subscribe<{ events: GameEvent }>(
      { query: stringifyDocument(eventsSubscription), variables: { ...filter, after: this.#after } },
      {
        next: ({ data, errors }) => {
          this.#onLive()
          if (data?.events) this.#onEvent(data.events)
          else if (errors) this.#onError(errors)
        },
        error: (error) => this.#onError(Array.isArray(error) ? error : []),
        complete: () => this.#onError([]),
      },
    )
    this.#unsubscribe = () => {
      this.#unsubscribe = () => undefined
      off()
      stop()
    }
    // The socket may be open already, for another feed.
    if (socket.isConnected()) this.#onLive()
  }

  #onLive(): void {
    if (this.#isClosed || this.#state.status === 'live') return
    this.#failures = 0
    const { lostAt } = this.#state
    const now = Date.now()
    const resumed = lostAt === null ? this.#state.resumed : { at: now, awayMs: now - lostAt, caughtUp: 0 }
    this.#set({ status: 'live', lostAt: null, resumed })
  }

  #onEvent(event: GameEvent): void {
    this.#after = event.cursor
    this.#pending.push(event)
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined
      const events = this.#pending
      this.#pending = []
      const { resumed } = this.#state
      const missed = resumed ? events.filter(({ occurredAt }) => Date.parse(occurredAt) < resumed.at).length : 0
      this.#keep([...this.#state.events, ...events], {
        resumed: resumed && { ...resumed, caughtUp: resumed.caughtUp + missed },
      })
    }, FLUSH_MS)
  }

  #onError(
    errors: readonly { readonly extensions?: Readonly<Record<string, unknown>>; readonly message: string }[],
    cause?: CombinedError,
  ): void {
    if (this.#isClosed) return
    this.#unsubscribe()
    const [error] = errors
    const code = error?.extensions?.code
    if (code === 'FORBIDDEN' || code === 'INVALID_REQUEST' || code === 'ENVIRONMENT_NOT_FOUND') {
      this.#set({ status: 'ended', ending: cause?.message ?? error?.message ?? String(code) })
      return
    }
    if (code === 'CURSOR_EXPIRED') {
      // What is behind the last event has left the history: the feed goes on with what is kept.
      this.#set({ lostAt: this.#state.lostAt ?? Date.now() })
      void this.#begin()
      return
    }
    this.#set({ status: 'reconnecting', lostAt: this.#state.lostAt ?? Date.now() })
    const asked = Number(error?.extensions?.retryAfter)
    const pause = Math.min(MAX_PAUSE_MS, 250 * 2 ** this.#failures) * (0.5 + Math.random() / 2)
    this.#failures += 1
    this.#pause = setTimeout(this.#retry, Number.isFinite(asked) ? asked * 1000 : pause)
  }

  readonly #retry = (): void => {
    clearTimeout(this.#pause)
    this.#pause = undefined
    if (this.#isClosed) return
    if (this.#after === undefined) void this.#begin()
    else this.#subscribe()
  }

  /** A computer that woke up, or has its network again, does not wait for the end of the pause. */
  readonly #retryNow = (): void => {
    if (this.#pause !== undefined && document.visibilityState === 'visible') this.#retry()
  }

  #keep(events: readonly GameEvent[], change: Partial<FeedState> = {}): void {
    const { limit } = this.#options
    const surplus = Math.max(0, events.length - limit)
    this.#set({ ...change, events: events.slice(surplus), dropped: this.#state.dropped + surplus })
  }

  #set(change: Partial<FeedState>): void {
    this.#state = { ...this.#state, ...change }
    this.#options.onState(this.#state)
  }
}
