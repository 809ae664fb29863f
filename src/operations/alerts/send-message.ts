import { type AttemptError, errorOf } from '../../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { createOutgoing, discard } from '../../base/outgoing/outgoing.ts'
import { signStandardWebhook } from '../../sdk/webhook.ts'
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

/** Calls alert webhooks, with the guards of all calls that go out: public addresses only, a time limit, no redirects. */
export function createAlertSender(options: ConnectionOptions): AlertSender {
  const outgoing = createOutgoing({ ...options, name: 'alert webhook' })

  async function send(target: AlertTarget, message: AlertMessage, ended?: AbortSignal): Promise<AlertAttempt> {
    const { format, url, secret } = target
    const started = performance.now()
    const since = () => Math.round(performance.now() - started)
    try {
      const body = bodyOf(format, message)
      return await outgoing.send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...signed(message, secret, body) },
        body: Buffer.from(body),
        timeoutMs: TIMEOUT_MS,
        ended,
        read: async (answer) => {
          // The status says all. An answer that breaks off or is too long changes nothing.
          await discard(answer, MAX_ANSWER_BYTES)
          const retryAfterMs = pauseOf(answer.headers['retry-after'])
          return { status: answer.status, error: null, milliseconds: since(), retryAfterMs }
        },
      })
    } catch (error) {
      return { status: null, error: errorOf(error), milliseconds: since(), retryAfterMs: null }
    }
  }

  return { send, close: outgoing.close }
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
