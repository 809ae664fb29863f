import { print } from '../base/json.ts'
import {
  MAX_BREAKER_AFTER,
  MAX_WEBHOOK_ATTEMPTS,
  MAX_WEBHOOK_TIMEOUT_MS,
  MIN_WEBHOOK_TIMEOUT_MS,
} from '../base/limits.ts'
import { int32, JsonSource, optional, type RequestOf, shape } from '../declare/shape.ts'

// The limits of webhook calls that a custom provider lowers. They are stored as the provider's settings.

export const webhookLimits = shape({
  timeoutMs: optional(
    int32(
      `The longest time of an attempt: ${MIN_WEBHOOK_TIMEOUT_MS} to ${MAX_WEBHOOK_TIMEOUT_MS} ms. Default: the latter.`,
      {
        min: MIN_WEBHOOK_TIMEOUT_MS,
        max: MAX_WEBHOOK_TIMEOUT_MS,
      },
    ),
  ),
  attempts: optional(
    int32(`The most attempts of a call: 1 to ${MAX_WEBHOOK_ATTEMPTS}. Default: ${MAX_WEBHOOK_ATTEMPTS}.`, {
      min: 1,
      max: MAX_WEBHOOK_ATTEMPTS,
    }),
  ),
  breakerAfter: optional(
    int32(
      `The failed calls in a row within a minute after which further ones fail at once, until one that is tried every five seconds succeeds: 1 to ${MAX_BREAKER_AFTER}. Default: never.`,
      { min: 1, max: MAX_BREAKER_AFTER },
    ),
  ),
})
export type WebhookLimits = RequestOf<typeof webhookLimits>

/** The stored text; null without a limit. */
export const printLimits = ({ timeoutMs, attempts, breakerAfter }: WebhookLimits): string | null =>
  timeoutMs === null && attempts === null && breakerAfter === null ? null : print({ timeoutMs, attempts, breakerAfter })

export const readLimits = (settings: string | null): WebhookLimits =>
  webhookLimits.read(new JsonSource(settings ?? '{}'))
