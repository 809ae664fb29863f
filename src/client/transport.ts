import { type ErrorCode, type Fault, invalidRequest, TierwayError } from './error.ts'
import type { Fetch, FetchResponse, Signal } from './platform.ts'
import { isObject } from './shape.ts'

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call and its retries. The call then rejects with the signal's reason. */
  readonly signal?: Signal
  /** The longest time of one attempt, in milliseconds. */
  readonly timeoutMs?: number
  /** How often the call is retried after a failure that may pass. */
  readonly retries?: number
}

/** Options of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters, without a space at the ends. The same key and call takes effect once within seven days. Default: random. */
  readonly idempotencyKey?: string
}

/** Reads the body of a successful answer. Throws a `TierwayError`, which is treated like a refusal by status. */
export type Reader<Answer> = (text: string, status: number, headers: FetchResponse['headers']) => Answer

export interface Transport {
  /** Makes a call until it is answered, and resolves with what `read` returns. Rejects with a `TierwayError`. */
  post<Answer>(path: string, request: PostRequest, read: Reader<Answer>): Promise<Answer>
  /** One attempt. Its body is not read yet. */
  open(path: string, request: PostRequest, signal: Signal): Promise<FetchResponse>
  /**
   * The time of the service, in milliseconds since 1970, by its last answer. Undefined before an answer that has one, and
   * when the clocks of the device disagree about the time since then: one was set, or the device slept.
   */
  serviceTime(): number | undefined
}

export interface PostRequest extends CallOptions {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** The call changes something, so a lost answer leaves its outcome unknown. */
  readonly isChange?: boolean
  /** Its key, in a header or in the body. Errors carry it. */
  readonly idempotencyKey?: string
  /** The longest time of all attempts and the pauses between them. Default: as long as these take. */
  readonly deadlineMs?: number
}

export interface TransportOptions {
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  readonly retries: number
}

const SHORTEST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5_000
const LONGEST_RETRY_AFTER_MS = 60_000
/** Clocks of a device that differ by more disagree. */
const CLOCK_DIFFERENCE_MS = 60_000
/** Statuses of failures that pass by themselves, of the service and of proxies before it. */
const PASSING = [408, 429, 502, 503, 504]
/** The service has already called the studio's webhook three times. */
const FINAL: readonly ErrorCode[] = ['custom_auth_unavailable', 'custom_auth_invalid_response']

/** The time of the service, by its last answer. */
class ServiceClock {
  #heard: { readonly time: number; readonly date: number; readonly tick: number } | undefined

  hear({ headers }: FetchResponse): void {
    const time = Date.parse(headers.get('date') ?? '')
    if (time > 0) this.#heard = { time, date: Date.now(), tick: performance.now() }
  }

  time(): number | undefined {
    if (!this.#heard) return undefined
    const passed = performance.now() - this.#heard.tick
    const byDate = Date.now() - this.#heard.date
    return Math.abs(passed - byDate) < CLOCK_DIFFERENCE_MS ? this.#heard.time + passed : undefined
  }
}

export function createTransport({ baseUrl, fetch, timeoutMs, retries }: TransportOptions): Transport {
  const base = baseUrl.replace(/\/+$/, '')
  const clock = new ServiceClock()

  function open(path: string, { body, headers }: PostRequest, signal: Signal): Promise<FetchResponse> {
    return fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal,
      credentials: 'omit',
      cache: 'no-store',
    })
  }

  /** Makes a call once, in at most this time. */
  async function attempt<Answer>(path: string, request: PostRequest, read: Reader<Answer>, leftMs: number) {
    const { signal, timeoutMs: own = timeoutMs } = request
    const ending = new AbortController()
    const abort = () => ending.abort()
    let isLate = false
    const timer = setTimeout(
      () => {
        isLate = true
        abort()
      },
      Math.min(own, leftMs),
    )
    signal?.addEventListener('abort', abort)
    try {
      throwIfAborted(signal)
      const response = await open(path, request, ending.signal)
      const text = await response.text()
      // A 304 answers a request that names what the caller has.
      if (!response.ok && response.status !== 304) throw refusalOf(response, text)
      const answer = read(text, response.status, response.headers)
      // Only now it is known to come from the service, and not from a network with a clock of its own.
      clock.hear(response)
      return answer
    } catch (error) {
      if (TierwayError.is(error)) throw error
      throwIfAborted(signal)
      throw new TierwayError({ code: isLate ? 'timeout' : 'network_error', retryable: true, cause: error })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  async function post<Answer>(path: string, request: PostRequest, read: Reader<Answer>): Promise<Answer> {
    const {
      signal,
      retries: own = retries,
      isChange = false,
      deadlineMs = Number.POSITIVE_INFINITY,
      idempotencyKey = null,
    } = request
    const endsAt = performance.now() + deadlineMs
    let mayHaveArrived = false
    for (let tried = 0; ; tried += 1) {
      try {
        return await attempt(path, request, read, endsAt - performance.now())
      } catch (error) {
        if (!TierwayError.is(error)) throw error
        // A 503 with details says that nothing was done.
        const isUndone = error.status === 429 || (error.status === 503 && error.details.length > 0)
        if (!isUndone) mayHaveArrived = true
        const waitMs = Math.max(backoff(tried), waits.get(error) ?? 0)
        if (error.retryable && tried < own && performance.now() + waitMs < endsAt) {
          await pause(waitMs, signal)
          continue
        }
        const isUnknown = isChange && mayHaveArrived && (error.retryable || error.code === 'invalid_answer')
        throw Object.assign(error, { outcomeUnknown: isUnknown, idempotencyKey })
      }
    }
  }

  return { post, open, serviceTime: () => clock.time() }
}

/** The wait that the service asks for, by refusal. */
const waits = new WeakMap<TierwayError, number>()

/** The error of a refusing answer. */
export function refusalOf(response: FetchResponse, text: string): TierwayError {
  const { status, headers } = response
  const answer = refusalIn(text)
  const refusal = new TierwayError({
    code: status === 429 ? 'rate_limited' : 'invalid_answer',
    message: `the answer has status ${status}`,
    requestId: headers.get('x-request-id'),
    ...answer,
    status,
    retryable: PASSING.includes(status) && !FINAL.includes(answer?.code as ErrorCode),
  })
  const seconds = Number(headers.get('retry-after'))
  if (seconds > 0) waits.set(refusal, Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS))
  return refusal
}

type Refused = Pick<TierwayError, 'code' | 'message' | 'details' | 'facts'> & { readonly requestId?: string }

/** What a refusing body says, of REST or of GraphQL. Undefined for a body that did not come from the service. */
function refusalIn(text: string): Refused | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(body)) return undefined
  if (Array.isArray(body.errors)) return graphqlRefusal(body.errors[0])
  const { error: message, code, requestId, details } = body
  if (typeof message !== 'string' || typeof code !== 'string' || typeof requestId !== 'string') return undefined
  return { code: code as ErrorCode, message, requestId, ...detailsOf(details) }
}

/** The refusal in an error of GraphQL. Undefined for an error without a code: those of the service have one. */
export function graphqlRefusal(error: unknown): Refused | undefined {
  const { message, extensions } = isObject(error) ? error : {}
  const { code, details, requestId } = isObject(extensions) ? extensions : {}
  if (typeof message !== 'string' || typeof code !== 'string') return undefined
  const refusal = { code: code.toLowerCase() as ErrorCode, message, ...detailsOf(details) }
  return typeof requestId === 'string' ? { ...refusal, requestId } : refusal
}

/** Faults of the request are a list. Facts of other refusals are an object. */
const detailsOf = (details: unknown): Pick<TierwayError, 'details' | 'facts'> => ({
  details: Array.isArray(details) ? details.filter(isFault) : [],
  facts: isObject(details) ? details : {},
})

const isFault = (fault: unknown): fault is Fault =>
  isObject(fault) && typeof fault.path === 'string' && typeof fault.message === 'string'

/** A pause with full jitter, so that clients that failed together do not return together. */
export function backoff(tried: number, longestMs = LONGEST_WAIT_MS): number {
  return Math.random() * Math.min(SHORTEST_WAIT_MS * 2 ** tried, longestMs)
}

export function pause(ms: number, signal?: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(reasonOf(signal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

/** Some platforms have signals without a reason. */
export const reasonOf = (signal: Signal | undefined): unknown => signal?.reason ?? new Error('the call was ended')

function throwIfAborted(signal: Signal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal)
}

/** Where the service is, such as `https://play.example.com`. */
export const isUrl = (url: unknown): boolean => typeof url === 'string' && /^https?:\/\/[^\s/?#]+[^\s?#]*$/i.test(url)

/** What a timer takes, in milliseconds. */
export const isTime = (ms: unknown): boolean => typeof ms === 'number' && ms > 0 && ms < 2 ** 31

/** Headers carry these unchanged. */
export const VISIBLE = /^[!-~]+$/

/** The given idempotency key, or a random one. */
export function keyOr(given: string | undefined): string {
  if (given === undefined) return newKey()
  if (given.length <= 255 && /^[!-~]([ -~]*[!-~])?$/.test(given)) return given
  const message = 'must be 1 to 255 printable ASCII characters, without a space at the ends'
  throw invalidRequest([{ path: 'idempotencyKey', message }])
}

/**
 * A UUID of version 4. `crypto.randomUUID` is missing in pages without HTTPS, and all of `crypto` in React Native. A key
 * counts for one player only, so a predictable one does no harm.
 */
export function newKey(): string {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256)
  globalThis.crypto?.getRandomValues(bytes)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Browsers say when there is a connection again. */
export function listenOnline(method: 'addEventListener' | 'removeEventListener', listener: () => void): void {
  const target = globalThis as Partial<Record<typeof method, (type: string, listener: () => void) => void>>
  target[method]?.('online', listener)
}
