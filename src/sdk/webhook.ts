import { createHmac, timingSafeEqual } from 'node:crypto'

// Both ends of a login webhook's signatures: the service signs with this file, a studio's endpoint verifies with it
// as `tierway/webhook`. It rests on nothing else of the service.

/** A body as it travels: its bytes, or its text, which stands for its UTF-8 bytes. */
export type WebhookBody = Uint8Array | string

/** A header as servers hand it over. One that is missing, or came as a list, never verifies. */
export type HeaderValue = string | readonly string[] | null | undefined

/** What a Standard Webhooks signature covers beside the body. */
export interface StandardWebhook {
  /** Header `webhook-id`: the same on all attempts of one login. Without a full stop, which would be ambiguous. */
  readonly id: string
  /** Header `webhook-timestamp`: when the attempt was made, in whole seconds since 1970. */
  readonly timestamp: number
}

/** The three Standard Webhooks headers of a request, as they came. */
export interface StandardWebhookHeaders {
  /** Header `webhook-id`. */
  readonly id: HeaderValue
  /** Header `webhook-timestamp`. */
  readonly timestamp: HeaderValue
  /** Header `webhook-signature`: one `v1,<base64>`, or several with a space between them. */
  readonly signature: HeaderValue
}

export interface VerifyStandardWebhookOptions {
  /** How many seconds the timestamp may lie before or after `now`; 300 unless given. */
  readonly toleranceSeconds?: number
  readonly now?: Date
}

const DEFAULT_TOLERANCE_SECONDS = 300
/** Up to 15 digits are exact as a number. */
const TIMESTAMP = /^\d{1,15}$/
const MAX_TIMESTAMP = 10 ** 15 - 1
const ENCODED_SECRET = 'whsec_'

/**
 * What `X-Signature` must be: the HMAC-SHA256 of the body's bytes, keyed with the UTF-8 bytes of the secret, as 64
 * lowercase hex digits (spec 4.4).
 */
export function signWebhook(secret: string, body: WebhookBody): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/**
 * Whether `X-Signature` is the signature of this body (spec 4.4). Give it the body's bytes as they were received:
 * JSON that was parsed and printed again may differ from them.
 *
 * False for what is missing, too short or long, upper-case or no hex at all, and for an empty secret: a variable that
 * somebody forgot to set must not let everyone in. Compares in constant time. Never throws.
 */
export function verifyWebhookSignature(secret: string, body: WebhookBody, signature: HeaderValue): boolean {
  return isSecret(secret) && isBody(body) && isSame(signature, signWebhook(secret, body))
}

/**
 * What `webhook-signature` must be: `v1,` and the base64 of the HMAC-SHA256 of `<id>.<timestamp>.<body>`
 * (Standard Webhooks). A secret of the form `whsec_<base64>` is keyed with the bytes that it encodes, any other with its
 * own UTF-8 bytes. Throws a RangeError when the id is empty or has a full stop, and when the timestamp is no such number.
 */
export function signStandardWebhook(secret: string, { id, timestamp }: StandardWebhook, body: WebhookBody): string {
  if (!isId(id)) throw new RangeError('the id of a webhook must not be empty nor contain a full stop')
  if (!Number.isInteger(timestamp) || timestamp < 0 || timestamp > MAX_TIMESTAMP) {
    throw new RangeError('the timestamp of a webhook must be in whole seconds since 1970')
  }
  return standardSignature(secret, `${id}.${timestamp}.`, body)
}

/**
 * Whether one of the signatures in `webhook-signature` is that of this body, id and timestamp, and the timestamp is near
 * enough to now: unlike `X-Signature` alone, a request that was recorded does not verify for ever. Within the tolerance
 * it does, and an attempt that is made again has the same id: answer that one as before.
 *
 * False for every header that is missing or malformed, and for an empty secret. Compares in constant time. Never throws,
 * whatever a request holds.
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
  // Asked this way around, a date or a tolerance that is no number refuses.
  if (!(Math.abs(age) <= toleranceSeconds)) return false

  const expected = standardSignature(secret, `${id}.${timestamp}.`, body)
  // Several while a secret is being replaced. All are compared, so that time does not tell which one it was.
  return signature.split(' ').filter((candidate) => isSame(candidate, expected)).length > 0
}

function standardSignature(secret: string, prefix: string, body: WebhookBody): string {
  return `v1,${createHmac('sha256', standardKey(secret)).update(prefix).update(body).digest('base64')}`
}

/** An encoded secret that is not valid base64, with its padding, is taken as it stands; so is one that encodes nothing. */
function standardKey(secret: string): Buffer | string {
  const encoded = secret.slice(ENCODED_SECRET.length)
  const isEncoded =
    secret.startsWith(ENCODED_SECRET) && encoded.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  return isEncoded ? Buffer.from(encoded, 'base64') : secret
}

// Callers in plain JavaScript may pass anything, such as a body that was parsed already.
const isSecret = (secret: unknown): boolean => typeof secret === 'string' && secret !== ''
const isBody = (body: unknown): boolean => typeof body === 'string' || ArrayBuffer.isView(body)
const isId = (id: unknown): boolean => typeof id === 'string' && id !== '' && !id.includes('.')

/** Compares in constant time. The length of a signature is no secret. */
function isSame(given: HeaderValue, expected: string): boolean {
  if (typeof given !== 'string') return false
  const bytes = Buffer.from(given)
  return bytes.length === expected.length && timingSafeEqual(bytes, Buffer.from(expected))
}
