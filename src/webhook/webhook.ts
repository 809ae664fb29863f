import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { MAX_WEBHOOK_ATTEMPTS, MAX_WEBHOOK_TIMEOUT_MS } from '../base/limits.ts'
import { isPrivateHost } from '../base/outgoing/addresses.ts'
import { type AttemptError, errorOf } from '../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../base/outgoing/connections.ts'
import type { Answer } from '../base/outgoing/outgoing.ts'
import { createSemaphore, type Semaphore } from '../base/semaphore.ts'
import { newId } from '../db/ids.ts'
import { signStandardWebhook, signWebhook } from '../sdk/webhook.ts'
import { Breaker, type BreakerOutcome, type BreakerState } from './breaker.ts'
import { type DenialReason, readDenial } from './denial.ts'
import { signByKey, signingKeyOf } from './ed25519.ts'
import { EXCERPT_BYTES, excerptOf } from './excerpt.ts'
import { causeOfStatus, createMemory, meaningOf, readStart, readText, refuseLong } from './read-answer.ts'
import { createAgents } from './webhook-agents.ts'
import { CAUSE_OF_RESET, causeOfTls, type WebhookTls } from './webhook-tls.ts'

// The call of the studio's endpoint (spec 4.4), and the meaning of each ending (spec 7.1).

const PAUSE_MS = 300 // spec 8
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

export interface WebhookOptions extends ConnectionOptions {
  readonly observe?: (attempt: WebhookAttempt, target: WebhookTarget) => void
  /** Called when a breaker opens, and when calls are made again: it closed, or other settings began with a closed one. */
  readonly onBreaker?: (isOpen: boolean, endpoint: BreakerEndpoint) => void
}

/** The identification of the calls of one login, `webhook-id`. */
export const newWebhookId = (): string => `msg_${newId()}`

const NOT_CALLED = { status: null, milliseconds: 0, cause: null, excerpt: null, replacedSecrets: 0 }

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
    const timestamp = Math.floor(Date.now() / 1000)
    const secrets = [secret, ...replacedSecrets]
    const signature = signWebhook(secret, body)
    let status: number | null = null
    let ending: Ending
    let error: AttemptError | null = null
    let cause: string | null = null
    let excerpt: string | null = null
    const cleanBytes = (bytes: Uint8Array) =>
      excerptOf(bytes.subarray(0, EXCERPT_BYTES), customData, [signature, ...secrets])
    const clean = (text: string) => cleanBytes(Buffer.from(text.slice(0, EXCERPT_BYTES)))
    const read = async (answer: Answer) => {
      if (answer.status === 200) refuseLong(answer)
      status = answer.status
      if (status === 200) return { status, text: await readText(answer, { memory, projectId, longAnswers }) }
      const { location } = answer.headers
      return { status, start: await readStart(answer), location: location ? String(location) : null }
    }
    try {
      const answer = await agents.of(tls).send(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate, br',
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
        timeoutMs: Math.min(timeoutMs ?? MAX_WEBHOOK_TIMEOUT_MS, MAX_WEBHOOK_TIMEOUT_MS),
        read,
      })
      if (answer.text !== undefined) {
        ending = { kind: 'answered', text: answer.text, clean }
      } else {
        const kind = meaningOf(answer.status)
        ending = kind === 'rejected' ? { kind, reason: readDenial(answer.start) } : { kind }
        cause = causeOfStatus(answer.status, answer.location && clean(answer.location))
        excerpt = cleanBytes(answer.start)
      }
    } catch (thrown) {
      error = errorOf(thrown)
      if (error === 'tls') cause = causeOfTls(thrown)
      else if (error === 'reset' && tls) cause = CAUSE_OF_RESET
      ending = { kind: ANSWER_FAULTS.has(error) ? 'invalidResponse' : 'unavailable' }
    }
    const milliseconds = Math.round(performance.now() - started)
    return { status, milliseconds, error, cause, excerpt, replacedSecrets: replacedSecrets.length, ending }
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
