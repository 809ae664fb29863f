import { type Duplex, pipeline, type Readable } from 'node:stream'
import type { SecureContext } from 'node:tls'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { createFetch, type FetchContext, type FetchOptions } from 'ofetch'
import { type Agent, type Dispatcher, Headers, request } from 'undici'
import { type Span, tracing } from '../tracing.ts'
import { AttemptFault, errorOf } from './attempt-fault.ts'
import { type ConnectionOptions, guardedAgent } from './connections.ts'

// The way out: every HTTP call that the service makes.
//
// ofetch puts a call together and runs the hooks around it. Below it stands one plain request of undici, with the
// reading of its answer, so that ofetch sees the end of the whole exchange, and never a body. That keeps four of its
// habits off: its timeout ends at the headers, its retries reuse the signal that has ended, its redirects carry
// signatures elsewhere, and its parser makes a text of broken JSON. The standard fetch stands nowhere, since it repeats
// a request after a 421 and hides a 407.

/** Interim answers, such as 103, before the final one. */
const MAX_INTERIM_ANSWERS = 100
/** Statuses of answers without a body. */
export const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
/** An unread answer up to this size is discarded to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 2 ** 10

interface OutgoingOptions extends ConnectionOptions {
  /** Names the other side in traces, such as `login webhook`. */
  readonly name: string
  /** Whether the other side gets the trace, to continue it. */
  readonly passesTrace?: boolean
  /** The certificates of the connections. Default: the authorities that Node knows. */
  readonly secureContext?: SecureContext
}

export interface Answer {
  /** From 200 to 599. */
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  /** With its compression. It breaks off when the exchange has no time left. Read it, {@link discard} or destroy it. */
  readonly body: Dispatcher.ResponseData['body']
  /** Aborts when the exchange has no time left. */
  readonly signal: AbortSignal
}

export interface Call<T> {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  /** Exactly these bytes. ofetch would add headers for a text. */
  readonly body?: Uint8Array
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number
  /** Ends the exchange before that. */
  readonly ended?: AbortSignal
  readonly read: (answer: Answer) => T | Promise<T>
}

export interface Outgoing {
  /** Sends a request once, follows no redirect, and gives what was read of the answer. Throws an {@link AttemptFault}. */
  send<T>(url: string, call: Call<T>): Promise<T>
  /** Ends when the calls that are under way have ended. */
  retire(): Promise<void>
  /** Ends calls that are under way. */
  close(): Promise<void>
}

/** An exchange, as it goes through ofetch. */
interface Exchange {
  readonly read: (answer: Answer) => unknown
  readonly signal: AbortSignal
  span: Span | undefined
  /** Null until an answer began. */
  status: number | null
  result: unknown
}

interface ExchangeOptions extends FetchOptions<'json'> {
  readonly exchange: Exchange
}

const exchangeOf = (options: unknown): Exchange => (options as ExchangeOptions).exchange

/** Calls with connections of their own, to public addresses only unless private ones are allowed. */
export function createOutgoing(options: OutgoingOptions): Outgoing {
  const agent = guardedAgent(options, options.secureContext)
  const { raw } = createFetch({
    fetch: (url, init) => exchangeBy(agent, String(url), init),
    Headers: Headers as typeof globalThis.Headers,
    defaults: { retry: false, ignoreResponseError: true, ...hooksOf(options) },
  })

  async function send<T>(url: string, { method, headers, body, timeoutMs, ended, read }: Call<T>): Promise<T> {
    const limit = new AbortController()
    const end = () => limit.abort()
    // It is not cleared: what remains unread may be discarded until then.
    setTimeout(end, timeoutMs).unref()
    // `AbortSignal.any` can lose a timeout (nodejs/node#57736).
    ended?.addEventListener('abort', end)
    if (ended?.aborted) end()
    const exchange: Exchange = { read, signal: limit.signal, span: undefined, status: null, result: undefined }
    const options: ExchangeOptions = { method, headers, body, exchange }
    try {
      await raw(url, options)
      return exchange.result as T
    } catch (error) {
      // ofetch's error contains the address.
      throw (error as Error).cause ?? error
    } finally {
      ended?.removeEventListener('abort', end)
    }
  }

  return { send, retire: () => agent.close(), close: () => agent.destroy() }
}

/** Each call says who sends it, and is a span, which ends with the exchange. */
const hooksOf = ({ name, passesTrace = false }: OutgoingOptions): FetchOptions => ({
  onRequest({ options }) {
    options.headers.set('user-agent', 'tierway')
    const span = tracing()?.begin(`${options.method} ${name}`)
    if (!span) return
    exchangeOf(options).span = span
    if (passesTrace) for (const [header, value] of Object.entries(span.headers)) options.headers.set(header, value)
  },
  onResponse: ({ options }) => endSpan(exchangeOf(options)),
  onRequestError: ({ options, error }: FetchContext & { error: Error }) =>
    endSpan(exchangeOf(options), (error as AttemptFault).error),
})

function endSpan({ span, status }: Exchange, error?: string): void {
  if (status !== null) span?.set('http.response.status_code', status)
  span?.end(error)
}

/** One request and the reading of its answer. What ofetch gets of it is the status. */
async function exchangeBy(agent: Agent, url: string, init: RequestInit | undefined): Promise<Response> {
  const exchange = exchangeOf(init)
  try {
    const answer = await answerTo(agent, url, init, exchange.signal)
    exchange.status = answer.status
    exchange.result = await exchange.read(answer)
    return new Response(null, { status: answer.status })
  } catch (error) {
    throw new AttemptFault(exchange.signal.aborted ? 'timeout' : errorOf(error), { cause: error })
  }
}

async function answerTo(
  agent: Agent,
  url: string,
  init: RequestInit | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  let interimAnswers = 0
  const sent = request(url, {
    dispatcher: agent,
    method: init?.method as Dispatcher.HttpMethod,
    headers: Object.fromEntries(init?.headers as unknown as Headers),
    body: (init?.body as Uint8Array | undefined) ?? null,
    signal,
    onInfo() {
      interimAnswers += 1
      if (interimAnswers > MAX_INTERIM_ANSWERS) throw new AttemptFault('protocol')
    },
  })
  // undici observes the signal only once it is connected. After an abort it sends nothing.
  const { statusCode: status, headers, body } = await within(signal, sent)
  // Its reader receives the error of a broken body. An unhandled one would end the process.
  body.on('error', () => undefined)
  if (status >= 200 && status <= 599) return { status, headers, body, signal }
  body.destroy()
  throw new AttemptFault('bad_status')
}

/** The outcome of a promise, unless the signal aborts first. */
function within<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/**
 * A body without its compression. Bound what is read of it. Iterated, all bytes that have arrived are one piece, even
 * when they came in chunks of one byte.
 */
export function decodedBody({ body, headers }: Answer): Readable {
  // undici keeps the space after a header's value.
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase()
  const decode = DECODERS.get(encoding)
  // The reader of the pipeline's end receives the error of a broken body.
  return decode ? pipeline(body, decode(), () => undefined) : body
}

/** The whole body, without its compression. Throws an {@link AttemptFault} for a longer one. */
export async function wholeBody(answer: Answer, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of decodedBody(answer)) {
    length += chunk.length
    if (length > maxBytes) throw new AttemptFault('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** Reads past a body, so that its connection can be kept. One that is long or breaks off closes it. Never fails. */
export const discard = ({ body, signal }: Answer, maxBytes = MAX_DISCARDED_BYTES): Promise<void> =>
  body.dump({ limit: maxBytes, signal }).catch(() => undefined)
