import { print } from '../base/json.ts'
import {
  MAX_BREAKER_AFTER,
  MAX_WEBHOOK_ATTEMPTS,
  MAX_WEBHOOK_TIMEOUT_MS,
  MIN_WEBHOOK_TIMEOUT_MS,
} from '../base/limits.ts'
import { anyText, flag, int32, JsonSource, optional, type RequestOf, shape } from '../declare/shape.ts'
import { newKeySalt, printPublicKey, signingKeyOf } from '../webhook/ed25519.ts'

// What a custom provider sets of its webhook's calls besides the address and the secret. Stored as JSON.

export const webhookSettings = shape({
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
  ed25519: optional(
    flag('Whether calls are also signed by an Ed25519 key, whose public key verifies them. Default: false.'),
    false,
  ),
})
export type WebhookSettings = RequestOf<typeof webhookSettings>

/** The key of Ed25519 signatures. It stays stored while it is not used, so that its public key stays the same. */
const signing = shape({ keySalt: optional(anyText('')), publicKey: optional(anyText('')) })
export type Signing = RequestOf<typeof signing>

interface Stored extends WebhookSettings, Signing {}

export function readWebhookSettings(stored: string | null): Stored {
  const source = new JsonSource(stored ?? '{}')
  return { ...webhookSettings.read(source), ...signing.read(source) }
}

/**
 * The text to store; null when everything is as by default. `secret` is that of the provider, null for one that cannot
 * be opened: the key cannot be known then, and stays as it was.
 */
export function printWebhookSettings(
  { ed25519, ...limits }: WebhookSettings,
  before: string | null,
  secret: string | null,
): string | null {
  const known = readWebhookSettings(before)
  const { timeoutMs, attempts, breakerAfter } = limits
  const keySalt = known.keySalt ?? (ed25519 ? newKeySalt() : null)
  const isPlain = timeoutMs === null && attempts === null && breakerAfter === null
  if (keySalt === null) return isPlain ? null : print({ timeoutMs, attempts, breakerAfter })
  const publicKey = secret === null ? known.publicKey : printPublicKey(signingKeyOf(secret, keySalt))
  return print({ timeoutMs, attempts, breakerAfter, ed25519, keySalt, publicKey })
}

/** The stored text after the secret has changed. */
export const withSecret = (stored: string | null, secret: string): string | null =>
  stored === null ? null : printWebhookSettings(readWebhookSettings(stored), stored, secret)
