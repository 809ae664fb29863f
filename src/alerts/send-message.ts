import { type Dispatcher, request } from 'undici'
import { signStandardWebhook } from '../sdk/webhook.ts'
import {
  type AttemptError,
  type ConnectionOptions,
  errorOf,
  guardedAgent,
  within,
} from '../webhook/webhook-connection.ts'
import { type AlertMessage, bodyOf } from './messages.ts'
import type { AlertFormat } from './requests.ts'

/** From the connection to the end of the answer. */
const TIMEOUT_MS = 8_000
/** The part of an answer that is read, so that its connection can be kept. What it says is not used. */
const MAX_ANSWER_BYTES = 16 * 2 ** 10

export interface AlertTarget {
  readonly format: AlertFormat
  readonly url: string
  /** Null where the format signs nothing. */
  readonly secret: string | null
}

export interface AlertAttempt {
  /** Null when no answer came. */
  readonly status: number | null
  /** The class of the failure. Null when an answer came. */
  readonly error: AttemptError | null
  readonly milliseconds: number
  /** How long the answer asks to wait. Null when it does not. */
  readonly retryAfterMs: number | null
}

export interface AlertSender {
  /** Sends a message once. Never throws. A signal ends the attempt. */
  send(target: AlertTarget, message: AlertMessage, ended?: AbortSignal): Promise<AlertAttempt>
  close(): Promise<void>
}

/** Calls alert webhooks, with the guards of login webhooks: public addresses only, a time limit, no redirects. */
export function createAlertSender(options: ConnectionOptions): AlertSender {
  const agent = guardedAgent(options)

  async function send(target: AlertTarget, message: AlertMessage, ended?: AbortSignal): Promise<AlertAttempt> {
    const { format, url, secret } = target
    const started = performance.now()
    const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(ended ? [ended] : [])])
    const since = () => Math.round(performance.now() - started)
    try {
      const body = bodyOf(format, message)
      const headers = { 'content-type': 'application/json', 'user-agent': 'tierway', ...signed(message, secret, body) }
      const sent = request(url, { dispatcher: agent, method: 'POST', headers, body, signal })
      // undici observes the signal only once it is connected.
      const { statusCode, headers: answered, body: answer } = await within(signal, sent)
      await discard(answer, signal)
      const retryAfterMs = pauseOf(answered['retry-after'])
      return { status: statusCode, error: null, milliseconds: since(), retryAfterMs }
    } catch (error) {
      return { status: null, error: errorOf(error, signal), milliseconds: since(), retryAfterMs: null }
    }
  }

  return { send, close: () => agent.destroy() }
}

/** The headers of Standard Webhooks. */
function signed({ id }: AlertMessage, secret: string | null, body: string): Record<string, string> {
  if (secret === null) return {}
  const timestamp = Math.floor(Date.now() / 1000)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signStandardWebhook(secret, { id, timestamp }, body),
  }
}

/** The status says all. An answer that breaks off or is too long changes nothing. */
const discard = (answer: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<void> =>
  answer.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined)

export const hasArrived = ({ status }: AlertAttempt): boolean => status !== null && status >= 200 && status < 300

/** The receiver wants nothing more (RFC 9110, 15.5.11). */
export const isGone = ({ status }: AlertAttempt): boolean => status === 410
/** The receiver does not know the address, or has forgotten it. */
export const isUnknown = ({ status }: AlertAttempt): boolean => status === 404
const REFUSALS: ReadonlySet<number | null> = new Set([400, 413, 415, 422])
/** The receiver refuses this message, and may take another. */
export const isRefused = ({ status }: AlertAttempt): boolean => REFUSALS.has(status)

/** Why an attempt failed, in words. */
export function failureOf(attempt: AlertAttempt): string {
  const { status, error } = attempt
  if (status === null) return `no answer: ${(error ?? 'network').replaceAll('_', ' ')}`
  return isGone(attempt) ? `status ${status}, so nothing more is sent to this address` : `status ${status}`
}

/** `Retry-After`: seconds, or a date. */
function pauseOf(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null
  const pauseMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return pauseMs > 0 ? pauseMs : null
}
