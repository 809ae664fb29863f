import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { print } from './json.ts'

/** An encryption key for secrets: 32 bytes in base64url, and its id. */
export interface SecretsKey {
  readonly kid: string
  readonly key: string
}

/** The owner of a secret. A secret sealed for one owner cannot be opened for another. */
export interface SecretContext {
  readonly projectId: string
  readonly environmentId: string
  readonly kind: string
  readonly name: string
  /** For a replaced secret: the id of its row. */
  readonly replaced?: string
}

/** Encrypts secrets for the database: AES-256-GCM, with the owner as associated data. */
export interface Secrets {
  /** The ids of the keys. The first one seals. */
  readonly kids: readonly string[]
  /**
   * `v1.<kid>.<iv>.<ciphertext and tag>`, the last two in base64url. Sealing the same secret twice gives different
   * texts.
   */
  seal(plain: string, context: SecretContext): string
  /** Throws for a text that was sealed for another owner or with a missing key, or that `seal` did not write. */
  open(sealed: string, context: SecretContext): string
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^v1\.([\w-]+)\.([\w-]{16})\.([\w-]{22,})$/

/** The first key encrypts, all decrypt. To rotate, put a new key first, and keep the old one until `rotateSecrets` has sealed everything with the new one. */
export function createSecrets(keys: readonly SecretsKey[]): Secrets {
  const [sealing] = keys
  if (!sealing) throw new Error('at least one secrets key is needed')
  const byId = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key, 'base64url')]))

  return {
    kids: keys.map(({ kid }) => kid),

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
      // Base64url leaves spare bits in its last character: only the form that we write is accepted.
      if (bytes.toString('base64url') !== text) throw new Error('the secret is not as it was written')
      const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
      decipher.setAAD(associated(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      return decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
  }
}

/** The id of the key that a secret is sealed with; undefined for a text that `seal` did not write. */
export const kidOf = (sealed: string): string | undefined => SEALED.exec(sealed)?.[1]

/** The secret; undefined where `open` would throw. */
export function tryToOpen(secrets: Secrets, sealed: string, context: SecretContext): string | undefined {
  try {
    return secrets.open(sealed, context)
  } catch {
    return undefined
  }
}

function associated({ projectId, environmentId, kind, name, replaced }: SecretContext): Buffer {
  const parts = [projectId, environmentId, kind, name]
  return Buffer.from(print(replaced === undefined ? parts : [...parts, replaced]))
}

/** Generates a secret for a provider: 32 bytes in the form of Standard Webhooks, which their libraries accept. */
export const generateSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export function generateSecretsKey(): SecretsKey {
  return { kid: randomBytes(6).toString('base64url'), key: randomBytes(32).toString('base64url') }
}
