import { isIP, type LookupFunction } from 'node:net'
import { type Duplex, pipeline, type Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { setTimeout as pause } from 'node:timers/promises'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { createFetch } from 'ofetch'
import { Agent, buildConnector, Headers, request } from 'undici'
import { newId } from '../db/ids.ts'
import { createSemaphore, type Semaphore } from '../request/semaphore.ts'
import { signStandardWebhook, signWebhook } from '../sdk/webhook.ts'
import { isPublicAddress } from './addresses.ts'
import { EXCERPT_BYTES, excerptOf } from './excerpt.ts'
import { sharedLookup } from './look-up.ts'

// The call of the studio's endpoint (spec 4.4), and the meaning of each ending (spec 7.1).

const ATTEMPTS = 3 // spec 8
const ATTEMPT_TIMEOUT_MS = 3_000 // spec 8: from the connection to the last byte of the answer
const PAUSE_MS = 300 // spec 8
/** The longest answer, after decompression. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20
/** Answers up to this size are read at once. A longer one waits for its provider's turn, within its attempt's time. */
const SHORT_ANSWER_BYTES = 64 * 2 ** 10
/** Long answers of one provider that are read at the same time. */
const MAX_LONG_ANSWERS = 2
/**
 * Memory for all answers that are read. Beyond it, or beyond the project's share, an attempt fails; a later one may
 * succeed.
 */
const MAX_BUFFERED_BYTES = 512 * 2 ** 20
/** The share of one project, however many providers it has. */
const MAX_PROJECT_BYTES = 128 * 2 ** 20
/** Interim answers, such as 103, before the final one. */
const MAX_INTERIM_ANSWERS = 100
/** An unread answer up to this size is discarded to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 2 ** 10
/** How long the beginning of a refusing answer is awaited, while the client waits, too. */
const EXCERPT_MS = 500
/**
 * Calls of one provider that are under way. Further calls fail at once: with this many waiting the endpoint does not
 * answer.
 */
const MAX_CALLS = 500
const KEEP_ALIVE_MS = 4_000

export interface WebhookTarget {
  /** Identifies the provider in its environment. The limits of a provider go by it. */
  readonly key: string
  /** The provider's project. The memory limit goes by it. */
  readonly projectId: string
  readonly url: string
  /** Signs `X-Signature`, and comes first in `webhook-signature`. */
  readonly secret: string
  /** Sign beside it in `webhook-signature`, while endpoints may still have the old secret. */
  readonly replacedSecrets: readonly string[]
}

/** How one attempt went. */
export interface WebhookAttempt {
  /** Null when no answer came. */
  readonly status: number | null
  readonly milliseconds: number
  /** The class of the failure: `timeout`, `dns`, `refused`, `tls`… Null when an answer was read. */
  readonly error: AttemptError | null
  /** The beginning of the answer when it refuses (4xx) in words. */
  readonly excerpt: string | null
}

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
  'network',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

export type WebhookResult =
  /** Status 200, and its body to the last byte. */
  | { readonly kind: 'answered'; readonly text: string; readonly attempts: readonly WebhookAttempt[] }
  | {
      readonly kind: 'rejected' | 'invalidResponse' | 'unavailable'
      readonly attempts: readonly WebhookAttempt[]
    }

export interface Webhook {
  /** Sends `{"customData": …}` with exactly the given text, up to three times. Never throws. */
  call(target: WebhookTarget, customData: string): Promise<WebhookResult>
  close(): Promise<void>
}

export interface WebhookOptions {
  readonly allowPrivateAddresses: boolean
  readonly lookup?: LookupFunction
  readonly observe?: (attempt: WebhookAttempt) => void
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The one place that calls studios' endpoints. Connections are kept; every attempt has three seconds of its own. */
export function createWebhook(options: WebhookOptions): Webhook {
  const agent = new Agent({
    connect: guardedConnector(options),
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Our own timeout is shorter, and covers the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const attemptOnce = createFetch({ fetch: createPlainFetch(agent), Headers: Headers as typeof globalThis.Headers })
  const providers = new Map<string, Provider>()
  const memory = createMemory(MAX_BUFFERED_BYTES, MAX_PROJECT_BYTES)

  async function call(target: WebhookTarget, customData: string): Promise<WebhookResult> {
    const provider = providers.get(target.key) ?? { calls: 0, longAnswers: createSemaphore(MAX_LONG_ANSWERS) }
    if (provider.calls >= MAX_CALLS) {
      return {
        kind: 'unavailable',
        attempts: [observed({ status: null, milliseconds: 0, error: 'overloaded', excerpt: null })],
      }
    }
    providers.set(target.key, provider)
    provider.calls += 1
    try {
      return await callUpToThrice(target, provider, customData)
    } finally {
      provider.calls -= 1
      if (provider.calls === 0) providers.delete(target.key)
    }
  }

  async function callUpToThrice(target: WebhookTarget, provider: Provider, customData: string): Promise<WebhookResult> {
    const body = Buffer.from(`{"customData":${customData}}`)
    const id = `msg_${newId()}`
    const attempts: WebhookAttempt[] = []
    for (;;) {
      const { ending, ...attempt } = await attemptCall(target, provider, id, body, customData)
      attempts.push(observed(attempt))
      if (ending.kind !== 'unavailable' || attempts.length === ATTEMPTS) return { ...ending, attempts }
      await pause(PAUSE_MS)
    }
  }

  async function attemptCall(
    { projectId, url, secret, replacedSecrets }: WebhookTarget,
    { longAnswers }: Provider,
    id: string,
    body: Buffer,
    customData: string,
  ): Promise<WebhookAttempt & Ended> {
    const started = performance.now()
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)
    const timestamp = Math.floor(Date.now() / 1000)
    const signature = signWebhook(secret, body)
    let status: number | null = null
    let ending: Ending
    let error: AttemptError | null = null
    let excerpt: string | null = null
    try {
      const response = await attemptOnce.raw(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate, br',
          'user-agent': 'tierway',
          'x-signature': signature,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': [secret, ...replacedSecrets]
            .map((each) => signStandardWebhook(each, { id, timestamp }, body))
            .join(' '),
        },
        body,
        signal,
        // ofetch's retries and timeout do not fit spec 8: its retries reuse the signal, and its timeout ends at the
        // headers.
        retry: false,
        redirect: 'manual',
        ignoreResponseError: true,
        responseType: 'stream',
      })
      status = response.status
      ending =
        status === 200
          ? { kind: 'answered', text: await readText(response.body, projectId, longAnswers, signal) }
          : { kind: meaningOf(status) }
      if (ending.kind === 'rejected') {
        const secrets = [signature, secret, ...replacedSecrets]
        excerpt = excerptOf(await bytesOf(response.body), customData, secrets)
      }
    } catch (thrown) {
      error = errorOf(thrown, signal)
      ending = { kind: ANSWER_FAULTS.has(error) ? 'invalidResponse' : 'unavailable' }
    }
    return { status, milliseconds: Math.round(performance.now() - started), error, excerpt, ending }
  }

  async function readText(
    body: unknown,
    projectId: string,
    longAnswers: Semaphore,
    signal: AbortSignal,
  ): Promise<string> {
    const chunks: Uint8Array[] = []
    let length = 0
    let leave: (() => void) | undefined
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        length += chunk.length
        const fits = memory.take(projectId, chunk.length)
        if (length > MAX_ANSWER_BYTES) throw new AnswerFault('too_large')
        if (!fits) throw new AnswerFault('overloaded')
        chunks.push(chunk)
        // A waiting body is not read, so its sender is held back.
        if (length > SHORT_ANSWER_BYTES) leave ??= await longAnswers.acquire(signal)
      }
      return utf8.decode(Buffer.concat(chunks, length))
    } catch (error) {
      throw error instanceof TypeError ? new AnswerFault('encoding') : error
    } finally {
      memory.giveBack(projectId, length)
      leave?.()
    }
  }

  function observed(attempt: WebhookAttempt): WebhookAttempt {
    options.observe?.(attempt)
    return attempt
  }

  return { call, close: () => agent.destroy() }
}

type Ending =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: Exclude<WebhookResult['kind'], 'answered'> }

/** The calls of one provider that are under way. */
interface Provider {
  calls: number
  readonly longAnswers: Semaphore
}

interface Ended {
  readonly ending: Ending
}

/** Faults of the answer itself: another attempt would bring the same. */
const ANSWER_FAULTS: ReadonlySet<AttemptError> = new Set(['bad_status', 'too_large', 'encoding'])

/** Spec 7.1. Redirects are not followed: they are an answer like any other that is not 200. */
function meaningOf(status: number): 'rejected' | 'unavailable' | 'invalidResponse' {
  if (status >= 400 && status < 500) return 'rejected'
  return status >= 500 ? 'unavailable' : 'invalidResponse'
}

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/**
 * A fetch that sends one request and nothing more. The standard fetch follows rules of browsers: it repeats after a 421
 * and reports a 407 as a network error. Only the body of a 200 is read.
 */
function createPlainFetch(agent: Agent): typeof globalThis.fetch {
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
      const isWorded = meaningOf(statusCode) === 'rejected' && headers['content-encoding'] === undefined
      const start = isWorded ? await readStart(body) : null
      void body.dump({ limit: MAX_DISCARDED_BYTES, ...(signal && { signal }) }).catch(() => undefined)
      return new Response(start, { status: statusCode })
    }
    if (Number(headers['content-length'] ?? 0) > MAX_ANSWER_BYTES) {
      body.on('error', () => undefined).destroy()
      throw new AnswerFault('too_large')
    }
    // undici keeps the space after a header's value.
    const encoding = String(headers['content-encoding'] ?? '')
      .trim()
      .toLowerCase()
    const decode = DECODERS.get(encoding)
    // The reader of the pipeline's end receives the error of a broken body.
    const decoded = decode ? pipeline(body, decode(), () => undefined) : body
    // Read this way, everything that has arrived is one piece, even of chunks of one byte.
    return new Response(ReadableStream.from<Uint8Array>(decoded as Readable) as globalThis.ReadableStream<Uint8Array>)
  }
}

/** The part of a body that arrives within a moment. The rest remains to be read. Never fails. */
function readStart(body: Readable): Promise<Buffer<ArrayBuffer>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = () => {
      clearTimeout(timer)
      body.off('readable', take).off('end', end)
      resolve(Buffer.concat(chunks).subarray(0, EXCERPT_BYTES))
    }
    const take = () => {
      for (let chunk = body.read(); chunk !== null; chunk = length < EXCERPT_BYTES ? body.read() : null) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length >= EXCERPT_BYTES) end()
    }
    const timer = setTimeout(end, EXCERPT_MS)
    // A later error does not matter, but needs a listener: an unhandled one would end the process.
    body.on('readable', take).once('end', end).on('error', end)
  })
}

const bytesOf = async (body: unknown): Promise<Uint8Array> =>
  new Uint8Array(await new Response(body as ReadableStream as never).arrayBuffer())

/** The outcome of a promise, unless the signal comes first. */
function within<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

interface Memory {
  /** Counts bytes for an owner. False when they exceed the share of the owner or the total. */
  take(owner: string, bytes: number): boolean
  giveBack(owner: string, bytes: number): void
}

function createMemory(most: number, mostOfOne: number): Memory {
  const taken = new Map<string, number>()
  let all = 0

  function take(owner: string, bytes: number): boolean {
    const own = (taken.get(owner) ?? 0) + bytes
    taken.set(owner, own)
    all += bytes
    return own <= mostOfOne && all <= most
  }

  function giveBack(owner: string, bytes: number): void {
    const own = (taken.get(owner) ?? 0) - bytes
    if (own > 0) taken.set(owner, own)
    else taken.delete(owner)
    all -= bytes
  }

  return { take, giveBack }
}

/** Connects to public addresses only, in any spelling. The address that is checked is the one that is used. */
function guardedConnector({
  allowPrivateAddresses,
  lookup = sharedLookup(),
}: WebhookOptions): buildConnector.connector {
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
  const connect = buildConnector({ timeout: ATTEMPT_TIMEOUT_MS, lookup: guardedLookup })
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    // No lookup happens for a literal address, so it is checked here.
    if (!allowPrivateAddresses && isIP(host) && !isPublicAddress(host)) callback(new PrivateAddress(), null)
    else connect(target, callback)
  }
}

class PrivateAddress extends Error {}

class AnswerFault extends Error {
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
function errorOf(thrown: unknown, signal: AbortSignal): AttemptError {
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
