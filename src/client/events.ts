import { invalidAnswer, parsed, readAs } from './answers.ts'
import type { Bearer, ForPlayer, PlayerCalls } from './calls.ts'
import { EVENT_FIELDS, type EventFields } from './contract.ts'
import { type ErrorCode, TierwayError } from './error.ts'
import { framesOf } from './frames.ts'
import type { Signal } from './platform.ts'
import { isObject, type ShapeOf } from './shape.ts'
import { backoff, type CallOptions, graphqlRefusal, listenOnline, pause, refusalOf } from './transport.ts'

/** An event of the player: a handle that a node of a scenario crossed, the end of a run, or `PLAYER_CREATED`. */
export interface TierwayEvent extends EventFields {
  /**
   * The event's data. `onLevelUp`: `fromLevel`, `toLevel`, `xp`, `source`. `onMaxLevel`: `level`, `xp`, `source`.
   * `onPremiumPurchase`: `price`. `RUN_CANCELLED`: `cause`. `SEASON_SETTLED`: `tiers`, `failed`, `granted`, `ended`, `mailed`.
   * `TIERS_CLAIMED`: `claimed`, each with `level`, `track` and `granted`.
   * `INBOX_RECEIVED`: `messageId`, `kind`, `rewards`, `expiresAt`. `onSeasonEnd`: `level`, `xp`, `premiumOwned`.
   * Xp and amounts are `bigint`.
   */
  readonly data: Readonly<Record<string, unknown>>
}

export interface EventOptions {
  /** A cursor: the events after it come first. Without one, the next new event is the first. */
  readonly after?: string | null
  /** Only these handles, such as `onLevelUp`. */
  readonly handles?: readonly string[]
  /** Only this scenario. */
  readonly scenarioId?: string
  /** Only this node. */
  readonly nodeId?: string
  /** Ends the events. The iteration then ends without an error. */
  readonly signal?: Signal
}

const CURSOR = '{ streamCursor }'
const EVENTS = `subscription ($after: String, $handles: [String!], $scenarioId: String, $nodeId: String) {
  events(after: $after, handles: $handles, scenarioId: $scenarioId, nodeId: $nodeId) {
    ${Object.keys(EVENT_FIELDS.members).join(' ')} data
  }
}`

/** Errors that end a stream and pass by themselves. */
const PASSING: readonly ErrorCode[] = ['unavailable', 'internal_error', 'rate_limited']
const LONGEST_WAIT_MS = 10_000
/** The service sends a sign of life every twelve seconds. */
const SILENCE_MS = 25_000
/** After this many streams that ended without an event, the login is checked. */
const ENDINGS = 2

export async function* listen(
  calls: PlayerCalls,
  { after, signal, ...filter }: EventOptions = {},
): AsyncGenerator<TierwayEvent, void, undefined> {
  let cursor = after ?? null
  let ended = 0
  let playerId: string | undefined
  for (let failed = 0; !signal?.aborted; failed += 1) {
    try {
      // The service closes the stream of an ended login without a message. A refresh shows whether it has ended.
      if (ended >= ENDINGS) await calls.renew()
      playerId ??= await calls.player(signal)
      cursor ??= await streamCursor(calls, { signal, playerId })
      const completed = () => {
        ended += 1
      }
      for await (const event of connect(calls, { ...filter, after: cursor }, completed, { signal, playerId })) {
        // Events that have already arrived are dropped after the end.
        if (signal?.aborted) return
        failed = 0
        ended = 0
        cursor = event.cursor
        yield event
      }
    } catch (error) {
      if (signal?.aborted) return
      if (!TierwayError.is(error) || !error.retryable) throw error
    }
    await pauseOffline(backoff(failed, LONGEST_WAIT_MS), signal)
  }
}

/** Waits, but at most until the device is online again. */
async function pauseOffline(ms: number, signal?: Signal): Promise<void> {
  const ending = new AbortController()
  const end = () => ending.abort()
  listenOnline('addEventListener', end)
  signal?.addEventListener('abort', end)
  await pause(ms, ending.signal).catch(() => undefined)
  listenOnline('removeEventListener', end)
  signal?.removeEventListener('abort', end)
}

const STREAM_CURSOR: ShapeOf<{ readonly streamCursor: string }> = { members: { streamCursor: 'string' } }

/** The present end of the player's stream. */
export async function streamCursor(calls: PlayerCalls, options: CallOptions & ForPlayer): Promise<string> {
  return (await graphql(calls, CURSOR, {}, STREAM_CURSOR, options)).streamCursor
}

/** Runs an operation of GraphQL, whose data has this shape. Its errors are those of the REST calls. */
export function graphql<Data>(
  calls: PlayerCalls,
  query: string,
  variables: object,
  shape: ShapeOf<Data>,
  options?: CallOptions & ForPlayer & { readonly isChange?: boolean; readonly idempotencyKey?: string },
): Promise<Data> {
  return calls.send('/graphql', { ...options, body: JSON.stringify({ query, variables }) }, (text) =>
    dataOf(parsed(text), shape),
  )
}

function dataOf<Data>(body: unknown, shape: ShapeOf<Data>): Data {
  const { data, errors } = isObject(body) ? body : {}
  if (errors === undefined) return readAs(shape, data)
  const refusal = graphqlRefusal(Array.isArray(errors) ? errors[0] : undefined)
  if (refusal === undefined) throw invalidAnswer('the answer did not come from the service: its errors have no code')
  throw new TierwayError({ ...refusal, status: 200, retryable: PASSING.includes(refusal.code) })
}

/** One connection: the events until it ends. */
async function* connect(
  calls: PlayerCalls,
  variables: object,
  /** Called when the service has ended the stream in order, not when the connection broke. */
  completed: () => void,
  { signal, playerId }: ForPlayer,
): AsyncGenerator<TierwayEvent, void, undefined> {
  const ending = new AbortController()
  const end = () => ending.abort()
  signal?.addEventListener('abort', end)
  try {
    const { results, first } = await calls.withToken(
      async (headers) => {
        const results = subscribe(calls, headers, { query: EVENTS, variables }, ending.signal)
        const first = await results.next()
        // A refusal is the first result. The token is then replaced, as for any call.
        if (!first.done) eventOf(first.value)
        return { results, first }
      },
      { playerId, signal: ending.signal },
    )
    for (let next = first; !next.done; next = await results.next()) yield eventOf(next.value)
    completed()
  } catch (error) {
    if (TierwayError.is(error)) throw error
    throw new TierwayError({ code: 'network_error', retryable: true, cause: error })
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

/** The results of a subscription, over a socket where there is one. Throws when the connection breaks. */
function subscribe(
  calls: PlayerCalls,
  headers: Bearer,
  body: object,
  signal: Signal,
): AsyncGenerator<unknown, void, undefined> {
  const { blockedMs } = calls.sockets
  if (blockedMs > 0) return streamed(calls, headers, body, { signal, longestMs: blockedMs })
  const call = () => streamCursor(calls, { signal, retries: 0 })
  return calls.sockets.subscribe(headers.authorization, body, { signal, call })
}

/** The results of a subscription over server-sent events, for at most this time. */
async function* streamed(
  calls: PlayerCalls,
  headers: Bearer,
  body: object,
  { signal, longestMs }: { readonly signal: Signal; readonly longestMs: number },
): AsyncGenerator<unknown, void, undefined> {
  const ending = new AbortController()
  const end = () => ending.abort()
  const limit = longestMs < Number.POSITIVE_INFINITY ? setTimeout(end, longestMs) : undefined
  let silence = setTimeout(end, SILENCE_MS)
  const isAlive = () => {
    clearTimeout(silence)
    silence = setTimeout(end, SILENCE_MS)
  }
  signal.addEventListener('abort', end)
  try {
    const request = { body: JSON.stringify(body), headers: { ...headers, accept: 'text/event-stream' } }
    const response = await calls.transport.open('/graphql', request, ending.signal)
    if (!response.ok) throw refusalOf(response, await response.text())
    if (!response.body || typeof TextDecoder === 'undefined') throw new TierwayError({ code: 'no_stream' })
    for await (const frame of framesOf(response.body, isAlive)) {
      const json = /^event: next\ndata: (.*)$/m.exec(frame)?.[1]
      if (json !== undefined) yield parsed(json)
      else if (/^event: complete$/m.test(frame)) return
    }
    throw new Error('the stream broke')
  } finally {
    clearTimeout(limit)
    clearTimeout(silence)
    signal.removeEventListener('abort', end)
    end()
  }
}

const eventOf = (result: unknown): TierwayEvent => dataOf(result, EVENT_DATA).events

const EVENT_DATA: ShapeOf<{ readonly events: TierwayEvent }> = {
  members: {
    events: {
      members: {
        ...EVENT_FIELDS.members,
        data: { members: { xp: { ifPresent: 'int64' }, price: { ifPresent: { members: { amount: 'int64' } } } } },
      },
    },
  },
}
