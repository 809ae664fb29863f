import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { print } from '../json.ts'

/** A key that secrets are encrypted with: 32 bytes in base64url, and the name that finds it again. */
export interface SecretsKey {
  readonly kid: string
  readonly key: string
}

/** What a secret belongs to. Sealed for one place, it opens in no other. */
export interface SecretContext {
  readonly projectId: string
  readonly environmentId: string
  readonly kind: string
  readonly name: string
  /** Of a secret that another one replaced: the id of the row that keeps it. */
  readonly replaced?: string
}

/** Encrypts what must never be read from a database: AES-256-GCM, with the place of a secret as associated data. */
export interface Secrets {
  /** `v1.<kid>.<iv>.<ciphertext and tag>`, the last two in base64url. The same secret is never sealed alike twice. */
  seal(plain: string, context: SecretContext): string
  /** Throws what was sealed elsewhere, by a key that is not there any more, or not at all. */
  open(sealed: string, context: SecretContext): string
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^v1\.([\w-]+)\.([\w-]{16})\.([\w-]{22,})$/

/** The first key encrypts, all decrypt: a new key is put in front, and an old one stays until nothing is under it. */
export function createSecrets(keys: readonly SecretsKey[]): Secrets {
  const [sealing] = keys
  if (!sealing) throw new Error('at least one secrets key is needed')
  const byId = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key, 'base64url')]))

  return {
    seal(plain, context) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, byId.get(sealing.kid) ?? '', iv, { authTagLength: TAG_BYTES })
      cipher.setAAD(associated(context))
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${sealing.kid}.${iv.toString('base64url')}.${sealed.toString('base64url')}`
    },

    open(sealed, context) {
      const [, kid = '', iv = '', text = ''] = SEALED.exec(sealed) ?? []
      const key = byId.get(kid)
      if (!key) throw new Error('the secret is under a key that SECRETS_KEYS does not have')
      const bytes = Buffer.from(text, 'base64url')
      // Base64url leaves spare bits in its last character: only the form that we write is taken.
      if (bytes.toString('base64url') !== text) throw new Error('the secret is not as it was written')
      const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
      decipher.setAAD(associated(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      return decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
  }
}

/** What was sealed; undefined where `open` would throw. */
export function tryToOpen(secrets: Secrets, sealed: string, context: SecretContext): string | undefined {
  try {
    return secrets.open(sealed, context)
  } catch {
    return undefined
  }
}

function associated({ projectId, environmentId, kind, name, replaced }: SecretContext): Buffer {
  const place = [projectId, environmentId, kind, name]
  return Buffer.from(print(replaced === undefined ? place : [...place, replaced]))
}

/** Makes a new secret for a provider: 32 bytes in the form of Standard Webhooks, which their libraries take as it is. */
export const generateSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** Makes a new key for `SECRETS_KEYS`. */
export function generateSecretsKey(): SecretsKey {
  return { kid: randomBytes(6).toString('base64url'), key: randomBytes(32).toString('base64url') }
}
