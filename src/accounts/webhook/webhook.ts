import { setTimeout as pause } from 'node:timers/promises'
import { MAX_WEBHOOK_ATTEMPTS, MAX_WEBHOOK_TIMEOUT_MS } from '../../base/limits.ts'
import { isPrivateHost } from '../../base/outgoing/addresses.ts'
import { type AttemptError, errorOf } from '../../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { createSemaphore, type Semaphore } from '../../base/semaphore.ts'
import { newId } from '../../db/ids.ts'
import { signStandardWebhook, signWebhook } from '../../sdk/webhook.ts'
import type { BreakerOutcome, BreakerState } from './breaker.ts'
import { type BreakerEndpoint, Breakers } from './breakers.ts'
import { type DenialReason, readDenial } from './denial.ts'
import { signByKey, signingKeyOf } from './ed25519.ts'
import { EXCERPT_BYTES, excerptOf } from './excerpt.ts'
import { causeOfStatus, createMemory, type Memory, meaningOf, readStart, readText, refuseLong } from './read-answer.ts'
import { createAgents } from './webhook-agents.ts'
import { CAUSE_OF_RESET, causeOfTls, type WebhookTls } from './webhook-tls.ts'

// The call of the studio's endpoint (contract 4.4), and the meaning of each ending (contract 7.1).

const PAUSE_MS = 300 // contract 8
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

export interface WebhookTarget extends BreakerEndpoint {
  /** Signs `X-Signature`, and comes first in `webhook-signature`. */
  readonly secret: string
  /** Also sign `webhook-signature`, while endpoints may still have an old secret. */
  readonly replacedSecrets: readonly string[]
  /** The longest time of an attempt, below the service's own limit; null for that one. */
  readonly timeoutMs?: number | null
  /** The most attempts, below the service's own limit; null for that one. */
  readonly attempts?: number | null
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
      /** The studio's message to the player's client; null for none. */
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
  const means: Means = { agents, memory: createMemory(MAX_BUFFERED_BYTES, MAX_PROJECT_BYTES) }
  const providers = new Map<string, Provider>()
  const breakers = new Breakers(options.onBreaker)

  async function call(
    target: WebhookTarget,
    customData: string,
    { purpose = 'login', id = newWebhookId() }: CallOptions = {},
  ): Promise<WebhookResult> {
    // A rehearsal always calls, and its end says nothing about the calls of players.
    const breaker = purpose === 'test' ? undefined : breakers.of(target)
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
      const { ending, ...attempt } = await attemptCall(means, target, provider, asked, body)
      attempts.push(observed(attempt, target))
      if (ending.kind !== 'unavailable' || attempts.length >= most) return { ...ending, attempts }
      await pause(PAUSE_MS)
    }
  }

  function observed(attempt: WebhookAttempt, target: WebhookTarget): WebhookAttempt {
    options.observe?.(attempt, target)
    return attempt
  }

  return {
    mayCall: (host) => options.allowPrivateAddresses || !isPrivateHost(host),
    call,
    breakerState: (endpoint) => breakers.stateOf(endpoint),
    openBreakers: () => breakers.open(),
    close: agents.close,
  }
}

/** What attempts share. */
interface Means {
  readonly agents: ReturnType<typeof createAgents>
  readonly memory: Memory
}

interface Provider {
  calls: number
  readonly longAnswers: Semaphore
}

/** A call, for all of its attempts. */
interface Asked extends Required<CallOptions> {
  readonly customData: string
}

type Ending =
  | { readonly kind: 'answered'; readonly text: string; readonly clean: (text: string) => string | null }
  | { readonly kind: 'rejected'; readonly reason: DenialReason | null }
  | { readonly kind: Exclude<WebhookResult['kind'], 'answered' | 'rejected'> }

interface Ended {
  readonly ending: Ending
}

/** What came of an attempt, whether an answer was read or not. */
type Outcome = Ended & Pick<WebhookAttempt, 'error' | 'cause' | 'excerpt'>

/** One request with its answer. Never throws. */
async function attemptCall(
  { agents, memory }: Means,
  target: WebhookTarget,
  { longAnswers }: Provider,
  asked: Asked,
  body: Buffer,
): Promise<WebhookAttempt & Ended> {
  const { projectId, url, secret, replacedSecrets, timeoutMs, tls } = target
  const started = performance.now()
  const signature = signWebhook(secret, body)
  const clean = cleanerOf(asked.customData, [signature, secret, ...replacedSecrets])
  let status: number | null = null
  let outcome: Outcome
  try {
    const answer = await agents.of(tls).send(url, {
      method: 'POST',
      headers: headersOf(target, asked, body, signature),
      body,
      timeoutMs: Math.min(timeoutMs ?? MAX_WEBHOOK_TIMEOUT_MS, MAX_WEBHOOK_TIMEOUT_MS),
      async read(answer): Promise<ReadAnswer> {
        if (answer.status === 200) refuseLong(answer)
        status = answer.status
        if (status === 200) return { status, text: await readText(answer, { memory, projectId, longAnswers }) }
        const { location } = answer.headers
        return { status, start: await readStart(answer), location: location ? String(location) : null }
      },
    })
    outcome = outcomeOf(answer, clean)
  } catch (thrown) {
    outcome = outcomeOfFault(thrown, tls)
  }
  const milliseconds = Math.round(performance.now() - started)
  const { error, cause, excerpt, ending } = outcome
  return { status, milliseconds, error, cause, excerpt, replacedSecrets: replacedSecrets.length, ending }
}

/** The headers of a request, signed by each secret. */
function headersOf(
  { secret, replacedSecrets, keySalt }: WebhookTarget,
  { purpose, id }: Asked,
  body: Buffer,
  signature: string,
): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000)
  const secrets = [secret, ...replacedSecrets]
  return {
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
  }
}

/** The whole text of an answer with status 200; of any other its beginning, and where it sends the caller. */
type ReadAnswer =
  | { readonly status: number; readonly text: string }
  | { readonly status: number; readonly start: Buffer; readonly location: string | null }

/** The beginning of an answer for people. */
type Clean = (bytes: Uint8Array) => string | null

/** Leaves out the secrets of a call, and the texts of its `customData`. */
const cleanerOf =
  (customData: string, secrets: readonly string[]): Clean =>
  (bytes) =>
    excerptOf(bytes.subarray(0, EXCERPT_BYTES), customData, secrets)

function outcomeOf(answer: ReadAnswer, clean: Clean): Outcome {
  const cleanText = (text: string) => clean(Buffer.from(text.slice(0, EXCERPT_BYTES)))
  if ('text' in answer) {
    const ending: Ending = { kind: 'answered', text: answer.text, clean: cleanText }
    return { ending, error: null, cause: null, excerpt: null }
  }
  const kind = meaningOf(answer.status)
  return {
    ending: kind === 'rejected' ? { kind, reason: readDenial(answer.start) } : { kind },
    error: null,
    cause: causeOfStatus(answer.status, answer.location && cleanText(answer.location)),
    excerpt: clean(answer.start),
  }
}

function outcomeOfFault(thrown: unknown, tls: WebhookTls | null | undefined): Outcome {
  const error = errorOf(thrown)
  const ending: Ending = { kind: ANSWER_FAULTS.has(error) ? 'invalidResponse' : 'unavailable' }
  const causeOfReset = error === 'reset' && tls ? CAUSE_OF_RESET : null
  return { ending, error, cause: error === 'tls' ? causeOfTls(thrown) : causeOfReset, excerpt: null }
}

/** Faults of the answer itself: another attempt would get the same answer. */
const ANSWER_FAULTS: ReadonlySet<AttemptError> = new Set(['bad_status', 'too_large', 'encoding'])
