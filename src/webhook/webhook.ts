import type { LookupFunction } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { MAX_WEBHOOK_ATTEMPTS } from '../base/limits.ts'
import { createSemaphore, type Semaphore } from '../base/semaphore.ts'
import { tracing } from '../base/tracing.ts'
import { newId } from '../db/ids.ts'
import { signStandardWebhook, signWebhook } from '../sdk/webhook.ts'
import { isPrivateHost } from './addresses.ts'
import { Breaker, type BreakerOutcome, type BreakerState } from './breaker.ts'
import { type DenialReason, readDenial } from './denial.ts'
import { signByKey, signingKeyOf } from './ed25519.ts'
import { EXCERPT_BYTES, excerptOf } from './excerpt.ts'
import { createAgents } from './webhook-agents.ts'
import {
  AnswerFault,
  ATTEMPT_TIMEOUT_MS,
  type AttemptError,
  bytesOf,
  causeOfStatus,
  errorOf,
  MAX_ANSWER_BYTES,
  meaningOf,
} from './webhook-connection.ts'
import { CAUSE_OF_RESET, causeOfTls, type WebhookTls } from './webhook-tls.ts'

// The call of the studio's endpoint (spec 4.4), and the meaning of each ending (spec 7.1).

const PAUSE_MS = 300 // spec 8
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
/**
 * The most calls of one provider that are under way. Further calls fail at once: an endpoint with this many waiting
 * calls does not answer.
 */
const MAX_CALLS = 500
/** Breakers in memory, and the time after the last login for which one is kept. A new one is closed. */
const MAX_BREAKERS = 10_000
const BREAKER_KEPT_MS = 10 * 60_000

export interface WebhookTarget {
  /** Identifies the provider among all providers of the service. The limits of a provider count by this key. */
  readonly key: string
  /** The provider's project. The memory limit counts by it. */
  readonly projectId: string
  readonly url: string
  /** Signs `X-Signature`, and comes first in `webhook-signature`. */
  readonly secret: string
  /** Also sign `webhook-signature`, while endpoints may still have an old secret. */
  readonly replacedSecrets: readonly string[]
  /** The longest time of an attempt, below the service's own limit; null for that one. */
  readonly timeoutMs?: number | null
  /** The most attempts, below the service's own limit; null for that one. */
  readonly attempts?: number | null
  /** The failed calls in a row after which calls fail at once, until a probe succeeds; null for never. */
  readonly breakerAfter?: number | null
  /** Of the Ed25519 keys that sign, too, one for each secret; null without them. */
  readonly keySalt?: string | null
  /** Certificates of its own; null for none. */
  readonly tls?: WebhookTls | null
}

export interface WebhookAttempt {
  /** Null when no answer came. */
  readonly status: number | null
  readonly milliseconds: number
  /** The class of the failure: `timeout`, `dns`, `refused`, `tls`… Null when an answer was read. */
  readonly error: AttemptError | null
  /**
   * Why the answer lets no player in, with the place: `subject: must be a string, was a number`; or why no connection
   * with TLS came about. Null otherwise.
   */
  readonly cause: string | null
  /** The beginning of such an answer, if it is text. */
  readonly excerpt: string | null
  /** How many replaced secrets signed beside the current one. */
  readonly replacedSecrets: number
}

export type WebhookResult =
  /** Status 200, and its body to the last byte. */
  | {
      readonly kind: 'answered'
      readonly text: string
      /** The beginning of a text without secrets and texts of `customData`, for people. */
      readonly clean: (text: string) => string | null
      readonly attempts: readonly WebhookAttempt[]
    }
  | {
      readonly kind: 'rejected'
      /** What the studio tells the player's client; null for nothing. */
      readonly reason: DenialReason | null
      readonly attempts: readonly WebhookAttempt[]
    }
  | {
      readonly kind: 'invalidResponse' | 'unavailable'
      readonly attempts: readonly WebhookAttempt[]
    }

export interface Webhook {
  /** False for a host that is surely not a public one, unless such hosts are allowed: a literal address, `localhost`. */
  readonly mayCall: (host: string) => boolean
  /** Sends `{"customData": …}` with exactly the given text, up to three times. Never throws. */
  call(target: WebhookTarget, customData: string, options?: CallOptions): Promise<WebhookResult>
  /** The state of the breaker of an endpoint on this instance. */
  breakerState(endpoint: BreakerEndpoint): BreakerState
  /** How many breakers are not closed. One that no login has asked for in ten minutes does not count. */
  openBreakers(): number
  close(): Promise<void>
}

/** What a call is for. The endpoint finds it in `webhook-purpose`. */
export const PURPOSES = ['login', 'link', 'test'] as const
export type Purpose = (typeof PURPOSES)[number]

export interface CallOptions {
  /** Default: `login`. */
  readonly purpose?: Purpose
  /** Default: a new one. */
  readonly id?: string
}

export interface WebhookOptions {
  readonly allowPrivateAddresses: boolean
  readonly lookup?: LookupFunction
  readonly observe?: (attempt: WebhookAttempt, target: WebhookTarget) => void
  /** Called when a breaker opens, and when calls are made again: it closed, or other settings began with a closed one. */
  readonly onBreaker?: (isOpen: boolean, endpoint: BreakerEndpoint) => void
}

/** The identification of the calls of one login, `webhook-id`. */
export const newWebhookId = (): string => `msg_${newId()}`

const NOT_CALLED = { status: null, milliseconds: 0, cause: null, excerpt: null, replacedSecrets: 0 }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The only place that calls studios' endpoints. Connections are kept; every attempt has its own three seconds. */
export function createWebhook(options: WebhookOptions): Webhook {
  const agents = createAgents(options)
  const providers = new Map<string, Provider>()
  const breakers = new LRUCache<string, KnownBreaker>({
    max: MAX_BREAKERS,
    ttl: BREAKER_KEPT_MS,
    updateAgeOnGet: true,
    dispose: ({ endpoint, breaker }) => {
      if (breaker.state !== 'closed') options.onBreaker?.(false, endpoint)
    },
  })
  const memory = createMemory(MAX_BUFFERED_BYTES, MAX_PROJECT_BYTES)

  async function call(
    target: WebhookTarget,
    customData: string,
    { purpose = 'login', id = newWebhookId() }: CallOptions = {},
  ): Promise<WebhookResult> {
    // A rehearsal always calls, and its end says nothing about the calls of players.
    const breaker = purpose === 'test' ? undefined : breakerOf(target)
    const admitted = breaker?.admit(performance.now())
    if (admitted === null) {
      return { kind: 'unavailable', attempts: [observed({ ...NOT_CALLED, error: 'breaker_open' }, target)] }
    }
    let outcome: BreakerOutcome = 'failed'
    try {
      const result = await callWithin(target, customData, { purpose, id })
      if (result.kind !== 'unavailable') outcome = 'answered'
      else if (result.attempts.at(-1)?.error === 'overloaded') outcome = 'neither'
      return result
    } finally {
      admitted?.end(outcome, performance.now())
    }
  }

  /** The breaker of an endpoint. Another address, or another limit, begins with a closed one. */
  function breakerOf({ projectId, key, url, breakerAfter }: WebhookTarget): Breaker | undefined {
    if (breakerAfter === null || breakerAfter === undefined) {
      breakers.delete(key)
      return undefined
    }
    const endpoint = { projectId, key, url, breakerAfter }
    const known = breakers.get(key)
    if (known && isOf(endpoint, known)) return known.breaker
    const breaker = new Breaker(breakerAfter, (isOpen) => {
      // A call of before a change of the settings may end after it.
      if (breakers.peek(key)?.breaker === breaker) options.onBreaker?.(isOpen, endpoint)
    })
    breakers.set(key, { endpoint, breaker })
    return breaker
  }

  /** A call, unless too many of its provider are under way. */
  async function callWithin(
    target: WebhookTarget,
    customData: string,
    { purpose, id }: Required<CallOptions>,
  ): Promise<WebhookResult> {
    const provider = providers.get(target.key) ?? { calls: 0, longAnswers: createSemaphore(MAX_LONG_ANSWERS) }
    if (provider.calls >= MAX_CALLS) {
      return {
        kind: 'unavailable',
        attempts: [observed({ ...NOT_CALLED, error: 'overloaded' }, target)],
      }
    }
    providers.set(target.key, provider)
    provider.calls += 1
    try {
      return await callUpToThrice(target, provider, { purpose, id, customData })
    } finally {
      provider.calls -= 1
      if (provider.calls === 0) providers.delete(target.key)
    }
  }

  async function callUpToThrice(target: WebhookTarget, provider: Provider, asked: Asked): Promise<WebhookResult> {
    const { customData } = asked
    const most = Math.min(target.attempts ?? MAX_WEBHOOK_ATTEMPTS, MAX_WEBHOOK_ATTEMPTS)
    const body = Buffer.from(`{"customData":${customData}}`)
    const attempts: WebhookAttempt[] = []
    for (;;) {
      const { ending, ...attempt } = await attemptCall(target, provider, asked, body)
      attempts.push(observed(attempt, target))
      if (ending.kind !== 'unavailable' || attempts.length >= most) return { ...ending, attempts }
      await pause(PAUSE_MS)
    }
  }

  async function attemptCall(
    { projectId, url, secret, replacedSecrets, timeoutMs, keySalt, tls }: WebhookTarget,
    { longAnswers }: Provider,
    { purpose, id, customData }: Asked,
    body: Buffer,
  ): Promise<WebhookAttempt & Ended> {
    const started = performance.now()
    const signal = AbortSignal.timeout(Math.min(timeoutMs ?? ATTEMPT_TIMEOUT_MS, ATTEMPT_TIMEOUT_MS))
    const timestamp = Math.floor(Date.now() / 1000)
    const secrets = [secret, ...replacedSecrets]
    const signature = signWebhook(secret, body)
    const span = tracing()?.begin('POST login webhook')
    let status: number | null = null
    let ending: Ending
    let error: AttemptError | null = null
    let cause: string | null = null
    let excerpt: string | null = null
    const cleanBytes = (bytes: Uint8Array) =>
      excerptOf(bytes.subarray(0, EXCERPT_BYTES), customData, [signature, ...secrets])
    const clean = (text: string) => cleanBytes(Buffer.from(text.slice(0, EXCERPT_BYTES)))
    try {
      const response = await agents.of(tls).raw(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate, br',
          'user-agent': 'tierway',
          ...span?.headers,
          'x-signature': signature,
          'webhook-purpose': purpose,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': [
            ...secrets.map((each) => signStandardWebhook(each, { id, timestamp }, body)),
            ...(keySalt ? secrets.map((each) => signByKey(signingKeyOf(each, keySalt), { id, timestamp }, body)) : []),
          ].join(' '),
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
      if (status === 200) {
        const text = await readText(response.body, projectId, longAnswers, signal)
        ending = { kind: 'answered', text, clean }
      } else {
        const start = await bytesOf(response.body)
        const kind = meaningOf(status)
        ending = kind === 'rejected' ? { kind, reason: readDenial(start) } : { kind }
        const location = response.headers.get('location')
        cause = causeOfStatus(status, location && clean(location))
        excerpt = cleanBytes(start)
      }
    } catch (thrown) {
      error = errorOf(thrown, signal)
      if (error === 'tls') cause = causeOfTls(thrown)
      else if (error === 'reset' && tls) cause = CAUSE_OF_RESET
      ending = { kind: ANSWER_FAULTS.has(error) ? 'invalidResponse' : 'unavailable' }
    }
    if (status !== null) span?.set('http.response.status_code', status)
    span?.end(error ?? undefined)
    const milliseconds = Math.round(performance.now() - started)
    return { status, milliseconds, error, cause, excerpt, replacedSecrets: replacedSecrets.length, ending }
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

  function observed(attempt: WebhookAttempt, target: WebhookTarget): WebhookAttempt {
    options.observe?.(attempt, target)
    return attempt
  }

  return {
    mayCall: (host) => options.allowPrivateAddresses || !isPrivateHost(host),
    call,
    breakerState: (endpoint) => {
      const known = breakers.peek(endpoint.key)
      return known && isOf(endpoint, known) ? known.breaker.state : 'closed'
    },
    openBreakers: () => [...breakers.values()].filter(({ breaker }) => breaker.state !== 'closed').length,
    close: agents.close,
  }
}

type Ending =
  | { readonly kind: 'answered'; readonly text: string; readonly clean: (text: string) => string | null }
  | { readonly kind: 'rejected'; readonly reason: DenialReason | null }
  | { readonly kind: Exclude<WebhookResult['kind'], 'answered' | 'rejected'> }

/** A call, for all of its attempts. */
interface Asked extends Required<CallOptions> {
  readonly customData: string
}

interface Provider {
  calls: number
  readonly longAnswers: Semaphore
}

/** A breaker belongs to an address and a limit: another of either begins with a closed one. */
export type BreakerEndpoint = Pick<WebhookTarget, 'projectId' | 'key' | 'url' | 'breakerAfter'>

interface KnownBreaker {
  readonly endpoint: BreakerEndpoint
  readonly breaker: Breaker
}

const isOf = ({ url, breakerAfter }: BreakerEndpoint, { endpoint }: KnownBreaker): boolean =>
  url === endpoint.url && breakerAfter === endpoint.breakerAfter

interface Ended {
  readonly ending: Ending
}

/** Faults of the answer itself: another attempt would get the same answer. */
const ANSWER_FAULTS: ReadonlySet<AttemptError> = new Set(['bad_status', 'too_large', 'encoding'])

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
