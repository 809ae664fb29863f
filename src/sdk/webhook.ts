import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

// Both ends of a login webhook's signatures: the service signs with this file, and a studio's endpoint verifies with it
// as `tierway-server/webhook`. It imports nothing else of the service.

/** A body as bytes, or as text, which stands for its UTF-8 bytes. */
export type WebhookBody = Uint8Array | string

/** A header as servers provide it. A missing header, or one given as a list, never verifies. */
export type HeaderValue = string | readonly string[] | null | undefined

/** The parts that a Standard Webhooks signature covers in addition to the body. */
export interface StandardWebhook {
  /** Header `webhook-id`: the same on all attempts of one login. It has no full stop, which would be ambiguous. */
  readonly id: string
  /** Header `webhook-timestamp`: the time of the attempt, in whole seconds since 1970. */
  readonly timestamp: number
}

/** The three Standard Webhooks headers of a request, as received. */
export interface StandardWebhookHeaders {
  /** Header `webhook-id`. */
  readonly id: HeaderValue
  /** Header `webhook-timestamp`. */
  readonly timestamp: HeaderValue
  /** Header `webhook-signature`: one `v1,<base64>`, or several with a space between them. */
  readonly signature: HeaderValue
}

/** The body of an endpoint's answer that accepts a player, with status 200. */
export interface LoginAnswer {
  /** The studio's own id of the player: stable, unique, never reused. */
  readonly subject: string
  readonly nickname?: string | null
  readonly avatarUrl?: string | null
  /** Merged into the player's storage. */
  readonly data?: Readonly<Record<string, unknown>> | null
  /**
   * Only of a provider with `"claims": true`: carried by the player's access tokens until the next login, for game
   * servers. Up to 2,048 bytes of JSON.
   */
  readonly claims?: Readonly<Record<string, unknown>> | null
}

export interface VerifyStandardWebhookOptions {
  /** The largest allowed difference between the timestamp and `now`, in seconds. Default: 300. */
  readonly toleranceSeconds?: number
  readonly now?: Date
}

const DEFAULT_TOLERANCE_SECONDS = 300
/** Up to 15 digits are exact as a number. */
const TIMESTAMP = /^\d{1,15}$/
const MAX_TIMESTAMP = 10 ** 15 - 1
const ENCODED_SECRET = 'whsec_'
const PUBLIC_KEY = /^whpk_([A-Za-z0-9+/]{43}=)$/
/** An Ed25519 public key as SubjectPublicKeyInfo, before its 32 bytes. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * The value of `X-Signature`: the HMAC-SHA256 of the body's bytes, keyed with the UTF-8 bytes of the secret, as 64
 * lowercase hex digits.
 */
export function signWebhook(secret: string, body: WebhookBody): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/**
 * Whether `X-Signature` is the signature of this body. Pass the body's bytes as received: JSON that was parsed and
 * printed again may differ.
 *
 * False for a signature that is missing, too short or long, in upper case or no hex at all, and for an empty secret: an
 * unset variable must not let everyone in. Compares in constant time. Never throws.
 *
 * @example
 * ```ts
 * import { signWebhook, verifyWebhookSignature } from 'tierway-server/webhook'
 *
 * const signature = signWebhook('a shared secret', '{"customData":{}}')
 * verifyWebhookSignature('a shared secret', '{"customData":{}}', signature) // true
 * verifyWebhookSignature('a shared secret', '{ "customData": {} }', signature) // false
 * ```
 */
export function verifyWebhookSignature(secret: string, body: WebhookBody, signature: HeaderValue): boolean {
  // A public key is no secret: everybody could sign with it.
  if (!isSecret(secret) || secret.startsWith('whpk_')) return false
  return isBody(body) && isSame(signature, signWebhook(secret, body))
}

/**
 * The value of `webhook-signature`: `v1,` and the base64 of the HMAC-SHA256 of `<id>.<timestamp>.<body>` (Standard
 * Webhooks). A secret of the form `whsec_<base64>` is keyed with the bytes that it encodes, any other with its own
 * UTF-8 bytes. Throws a RangeError for an id that is empty or has a full stop, and for a timestamp that is not in whole
 * seconds since 1970.
 */
export function signStandardWebhook(secret: string, { id, timestamp }: StandardWebhook, body: WebhookBody): string {
  if (!isId(id)) throw new RangeError('the id of a webhook must not be empty nor contain a full stop')
  if (!Number.isInteger(timestamp) || timestamp < 0 || timestamp > MAX_TIMESTAMP) {
    throw new RangeError('the timestamp of a webhook must be in whole seconds since 1970')
  }
  return standardSignature(secret, `${id}.${timestamp}.`, body)
}

/**
 * Whether one of the signatures in `webhook-signature` matches this body, id and timestamp, and the timestamp is close
 * to the present time. Unlike with `X-Signature` alone, a recorded request does not verify forever. Within the
 * tolerance it still verifies, and a repeated attempt has the same id: answer it as before.
 *
 * Instead of the secret, pass the provider's `publicKey`, `whpk_…`, to verify the Ed25519 signatures, `v1a`: the endpoint
 * then holds nothing with which it could sign.
 *
 * False for every header that is missing or malformed, and for an empty secret. Compares in constant time. Never
 * throws, for any request.
 *
 * @example
 * ```ts
 * import { signStandardWebhook, verifyStandardWebhook } from 'tierway-server/webhook'
 *
 * const signature = signStandardWebhook('a shared secret', { id: 'login-1', timestamp: 1_750_000_000 }, '{}')
 * const headers = { id: 'login-1', timestamp: '1750000000', signature }
 * verifyStandardWebhook('a shared secret', '{}', headers, { now: new Date(1_750_000_060_000) }) // true
 * verifyStandardWebhook('a shared secret', '{}', headers, { now: new Date(1_750_000_600_000) }) // false
 * ```
 */
export function verifyStandardWebhook(
  secret: string,
  body: WebhookBody,
  headers: StandardWebhookHeaders,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = new Date() }: VerifyStandardWebhookOptions = {},
): boolean {
  const { id, timestamp, signature } = headers
  if (!isSecret(secret) || !isBody(body) || !isId(id) || typeof signature !== 'string') return false
  if (typeof timestamp !== 'string' || !TIMESTAMP.test(timestamp)) return false
  const age = Math.floor(now.getTime() / 1000) - Number(timestamp)
  // This form of the comparison refuses NaN, too.
  if (!(Math.abs(age) <= toleranceSeconds)) return false

  if (secret.startsWith('whpk_')) return isSignedByKey(secret, `${id}.${timestamp}.`, body, signature)
  const expected = standardSignature(secret, `${id}.${timestamp}.`, body)
  // There are several while a secret is being replaced. All are compared, so that the time does not reveal the match.
  return signature.split(' ').filter((candidate) => isSame(candidate, expected)).length > 0
}

function isSignedByKey(publicKey: string, prefix: string, body: WebhookBody, signature: string): boolean {
  const key = readPublicKey(publicKey)
  if (key === undefined) return false
  const bytes =
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const signed = Buffer.concat([Buffer.from(prefix), bytes])
  return signature
    .split(' ')
    .some((one) => one.startsWith('v1a,') && verify(null, signed, key, Buffer.from(one.slice('v1a,'.length), 'base64')))
}

function readPublicKey(text: string): KeyObject | undefined {
  const [, encoded] = PUBLIC_KEY.exec(text) ?? []
  if (encoded === undefined) return undefined
  return createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(encoded, 'base64')]), format: 'der', type: 'spki' })
}

function standardSignature(secret: string, prefix: string, body: WebhookBody): string {
  return `v1,${createHmac('sha256', standardKey(secret)).update(prefix).update(body).digest('base64')}`
}

/** An encoded secret that is empty, or not valid base64 with its padding, is used as it stands. */
function standardKey(secret: string): Buffer | string {
  const encoded = secret.slice(ENCODED_SECRET.length)
  const isEncoded =
    secret.startsWith(ENCODED_SECRET) && encoded.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  return isEncoded ? Buffer.from(encoded, 'base64') : secret
}

// Callers in plain JavaScript may pass anything, such as a parsed body.
const isSecret = (secret: unknown): boolean => typeof secret === 'string' && secret !== ''
const isBody = (body: unknown): boolean => typeof body === 'string' || ArrayBuffer.isView(body)
const isId = (id: unknown): boolean => typeof id === 'string' && id !== '' && !id.includes('.')

/** Compares in constant time. The length of a signature is no secret. */
function isSame(given: HeaderValue, expected: string): boolean {
  if (typeof given !== 'string') return false
  const bytes = Buffer.from(given)
  return bytes.length === expected.length && timingSafeEqual(bytes, Buffer.from(expected))
}
