import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { StandardWebhook } from '../../sdk/webhook.ts'

// Signatures `v1a` of Standard Webhooks: an endpoint verifies them by a public key, and so holds no secret.

/** An Ed25519 key in PKCS #8, before its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_KEY_BYTES = 32

/** With it, a public key does not help to guess a short secret. */
export const newKeySalt = (): string => randomBytes(32).toString('base64')

/** The private key that belongs to a secret: it is replaced with the secret, and overlaps as the secret does. */
export function signingKeyOf(secret: string, salt: string): KeyObject {
  const seed = hkdfSync('sha256', secret, Buffer.from(salt, 'base64'), 'tierway webhook v1a', 32)
  return createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.from(seed)]), format: 'der', type: 'pkcs8' })
}

/** The public key as endpoints are configured with it: `whpk_` and its base64. */
export function printPublicKey(key: KeyObject): string {
  const bytes = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-PUBLIC_KEY_BYTES)
  return `whpk_${bytes.toString('base64')}`
}

/** A signature of `<id>.<timestamp>.<body>`. */
export function signByKey(key: KeyObject, { id, timestamp }: StandardWebhook, body: Uint8Array): string {
  return `v1a,${sign(null, Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]), key).toString('base64')}`
}
