import { isIP, type LookupFunction } from 'node:net'
import { type Duplex, pipeline, type Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { SecureContext } from 'node:tls'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Agent, buildConnector, Headers, request } from 'undici'
import { MAX_WEBHOOK_TIMEOUT_MS } from '../base/limits.ts'
import { isPublicAddress } from './addresses.ts'
import { sharedLookup } from './look-up.ts'

// The HTTP client of webhook calls: its connections, and the endings of an attempt.

/** From the connection to the last byte of the answer. */
export const ATTEMPT_TIMEOUT_MS = MAX_WEBHOOK_TIMEOUT_MS
/** The longest answer, after decompression. */
export const MAX_ANSWER_BYTES = 16 * 2 ** 20
/** Interim answers, such as 103, before the final one. */
const MAX_INTERIM_ANSWERS = 100
/** An unread answer up to this size is discarded to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 2 ** 10
/** The longest wait for the beginning of an answer that is no 200. The client waits meanwhile. */
const EXCERPT_MS = 500

export const ATTEMPT_ERRORS = [
  'timeout',
  'dns',
  'private_address',
  'refused',
  'reset',
  'tls',
  'protocol',
  'bad_status',
  'too_large',
  'encoding',
  'overloaded',
  'breaker_open',
  'network',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/**
 * A fetch that sends one request and nothing more. The standard fetch follows rules of browsers: it repeats after a 421
 * and reports a 407 as a network error. Only the body of a 200 is read in full.
 */
export function createPlainFetch(agent: Agent): typeof globalThis.fetch {
  return async (url, init) => {
    const signal = init?.signal ?? undefined
    let interimAnswers = 0
    const sent = request(String(url), {
      dispatcher: agent,
      method: 'POST',
      headers: Object.fromEntries(new Headers(init?.headers as Headers)),
      body: init?.body as Buffer,
      signal,
      onInfo() {
        interimAnswers += 1
        if (interimAnswers > MAX_INTERIM_ANSWERS) throw new AnswerFault('protocol')
      },
    })
    // undici observes the signal only once it is connected. After an abort it sends nothing.
    const { statusCode, headers, body } = await (signal ? within(signal, sent) : sent)
    if (statusCode < 200 || statusCode > 599) {
      body.on('error', () => undefined).destroy()
      throw new AnswerFault('bad_status')
    }
    if (statusCode !== 200) {
      const isWorded = !BODILESS.has(statusCode) && headers['content-encoding'] === undefined
      const start = isWorded ? await readStart(body, signal) : null
      void body.dump({ limit: MAX_DISCARDED_BYTES, ...(signal && { signal }) }).catch(() => undefined)
      const { location } = headers
      return new Response(start, { status: statusCode, headers: location ? { location: String(location) } : {} })
    }
    if (Number(headers['content-length'] ?? 0) > MAX_ANSWER_BYTES) {
      body.on('error', () => undefined).destroy()
      throw new AnswerFault('too_large')
    }
    // Read this way, all bytes that have arrived are one piece, even when they came in chunks of one byte.
    const decoded = decodedBody(body, headers)
    return new Response(ReadableStream.from<Uint8Array>(decoded) as globalThis.ReadableStream<Uint8Array>)
  }
}

/** A body without its compression. Bound what is read of it. */
export function decodedBody(body: Readable, headers: Readonly<Record<string, unknown>>): Readable {
  // undici keeps the space after a header's value.
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase()
  const decode = DECODERS.get(encoding)
  // The reader of the pipeline's end receives the error of a broken body.
  return decode ? pipeline(body, decode(), () => undefined) : body
}

/** Statuses without a body. `Response` refuses one. */
export const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** The bytes of a body. Throws an {@link AnswerFault} for a longer one. */
export async function readAtMost(body: Readable, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw new AnswerFault('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** Bytes of an answer without a player that are read: the reason of a denial fits. */
const START_BYTES = 4_096

/** The part of a body that arrives within `EXCERPT_MS` and the attempt. The rest remains to be read. Never fails. */
function readStart(body: Readable, signal: AbortSignal | undefined): Promise<Buffer<ArrayBuffer>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      body.off('readable', take).off('end', end)
      resolve(Buffer.concat(chunks).subarray(0, START_BYTES))
    }
    const take = () => {
      for (let chunk = body.read(); chunk !== null; chunk = length < START_BYTES ? body.read() : null) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length >= START_BYTES) end()
    }
    const timer = setTimeout(end, EXCERPT_MS)
    signal?.addEventListener('abort', end)
    // A later error does not matter, but needs a listener: an unhandled one would end the process.
    body.on('readable', take).once('end', end).on('error', end)
  })
}

export const bytesOf = async (body: unknown): Promise<Uint8Array> =>
  new Uint8Array(await new Response(body as ReadableStream as never).arrayBuffer())

/** The outcome of a promise, unless the signal aborts first. */
export function within<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

export interface ConnectionOptions {
  readonly allowPrivateAddresses: boolean
  readonly lookup?: LookupFunction
}

const KEEP_ALIVE_MS = 4_000

/**
 * Connections to public addresses only, which are kept for some seconds. Without a context, TLS trusts the authorities
 * that Node knows, and shows no certificate.
 */
export const guardedAgent = (options: ConnectionOptions, secureContext?: SecureContext): Agent =>
  new Agent({
    connect: guardedConnector(options, secureContext),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The callers' own timeouts are shorter, and cover a whole answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/** Connects to public addresses only, in any spelling. The address that is checked is the one that is used. */
function guardedConnector(
  { allowPrivateAddresses, lookup = sharedLookup() }: ConnectionOptions,
  secureContext?: SecureContext,
): buildConnector.connector {
  const guardedLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = Array.isArray(found) ? found : []
      const [first] = addresses
      const isAllowed = allowPrivateAddresses || addresses.every(({ address }) => isPublicAddress(address))
      if (error) callback(error, [])
      // Node fails on an empty list.
      else if (!first) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
      else if (!isAllowed) callback(new PrivateAddress(), [])
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
  const connect = buildConnector({
    timeout: ATTEMPT_TIMEOUT_MS,
    lookup: guardedLookup,
    ...(secureContext && { secureContext }),
  })
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    // No lookup happens for a literal address, so it is checked here.
    if (!allowPrivateAddresses && isIP(host) && !isPublicAddress(host)) callback(new PrivateAddress(), null)
    else connect(target, callback)
  }
}

class PrivateAddress extends Error {}

export class AnswerFault extends Error {
  readonly error: AttemptError

  constructor(error: AttemptError) {
    super(error)
    this.error = error
  }
}

const ERRORS: Readonly<Record<string, AttemptError>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
}

/** The class of an error, searched from the outermost cause inwards. Its text is dropped: it may name addresses. */
export function errorOf(thrown: unknown, signal: AbortSignal): AttemptError {
  if (signal.aborted) return 'timeout'
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof AnswerFault) return error.error
    if (error instanceof PrivateAddress) return 'private_address'
    // Only its name identifies it.
    if (error.name === 'HTTPParserError') return 'protocol'
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') continue
    const known = ERRORS[code]
    if (known) return known
    if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return 'tls'
    // Codes of zlib: the body is complete and cannot be decompressed.
    if (/^(Z_|ERR__ERROR_)/.test(code)) return 'encoding'
  }
  return 'network'
}

/** Why an answer with a status other than 200 lets no player in, in words. */
export function causeOfStatus(status: number, location: string | null): string {
  if (status >= 500) return `status ${status}: the endpoint failed`
  if (status >= 400) return `status ${status}: the endpoint refused the player or the request`
  if (status < 300) return `status ${status}: only 200 accepts a player`
  return `status ${status}: redirects are not followed${location === null ? '' : `; this one leads to ${location}`}`
}

/** The meaning of a status other than 200 (spec 7.1). A redirect is not followed: it is an invalid response. */
export function meaningOf(status: number): 'rejected' | 'unavailable' | 'invalidResponse' {
  if (status >= 400 && status < 500) return 'rejected'
  return status >= 500 ? 'unavailable' : 'invalidResponse'
}
