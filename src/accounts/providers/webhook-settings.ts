import { print } from '../../base/json.ts'
import {
  MAX_BREAKER_AFTER,
  MAX_CERTIFICATES,
  MAX_WEBHOOK_ATTEMPTS,
  MAX_WEBHOOK_TIMEOUT_MS,
  MIN_WEBHOOK_TIMEOUT_MS,
} from '../../base/limits.ts'
import type { SecretContext } from '../../base/secrets.ts'
import { anyText, flag, int32, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { JsonSource } from '../../declare/source.ts'
import { newKeySalt, printPublicKey, signingKeyOf } from '../webhook/ed25519.ts'
import { certificatesFault } from '../webhook/webhook-tls.ts'

// What a custom provider sets of its webhook's calls besides the address and the secret. Stored as JSON.

const limits = {
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
  claims: optional(
    flag(
      'Whether access tokens carry the member `claims` of an answer, for game servers. Default: false, it is ignored.',
    ),
    false,
  ),
  denialReasons: optional(
    flag('Whether clients receive the member `reason` of a denial. Default: false, it is ignored.'),
    false,
  ),
}

export const webhookSettings = shape({
  ...limits,
  caCertificates: optional(
    text('The authorities that may sign the certificate of the address, in PEM, instead of the public ones.', {
      max: MAX_CERTIFICATES,
      check: certificatesFault,
    }),
  ),
  clientCertificate: optional(
    text(
      'The certificate by which the endpoint recognizes the service (mTLS), in PEM: first its own, then those between it and its authority. It needs `clientKey`.',
      { max: MAX_CERTIFICATES, check: certificatesFault },
    ),
  ),
})
export type WebhookSettings = RequestOf<typeof webhookSettings>

const storedSettings = shape({
  ...limits,
  // They were checked when they were set. Each login reads them.
  caCertificates: optional(anyText('')),
  clientCertificate: optional(anyText('')),
  // The key of Ed25519 signatures. It stays stored while it is not used, so that its public key stays the same.
  keySalt: optional(anyText('')),
  publicKey: optional(anyText('')),
})

export const readWebhookSettings = (stored: string | null): RequestOf<typeof storedSettings> =>
  storedSettings.read(new JsonSource(stored ?? '{}'))

/** The owner of the sealed key of a client certificate, other than that of the provider's secret. */
export const clientKeyContext = (context: SecretContext): SecretContext => ({ ...context, kind: 'clientKey' })

/**
 * The text to store; null when everything is as by default. `secret` is that of the provider, null for one that cannot
 * be opened: the key cannot be known then, and stays as it was.
 */
export function printWebhookSettings(
  { ed25519, ...others }: WebhookSettings,
  before: string | null,
  secret: string | null,
): string | null {
  const known = readWebhookSettings(before)
  const keySalt = known.keySalt ?? (ed25519 ? newKeySalt() : null)
  const set = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null && value !== false))
  if (keySalt === null) return Object.keys(set).length === 0 ? null : print(set)
  const publicKey = secret === null ? known.publicKey : printPublicKey(signingKeyOf(secret, keySalt))
  return print({ ...set, ed25519, keySalt, publicKey })
}

/** The stored text after the secret has changed. */
export const withSecret = (stored: string | null, secret: string): string | null =>
  stored === null ? null : printWebhookSettings(readWebhookSettings(stored), stored, secret)
