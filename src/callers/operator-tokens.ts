import { randomUUID } from 'node:crypto'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { LRUCache } from 'lru-cache'
import { Refusal } from '../base/errors.ts'
import { isId, MAX_TOKEN_LENGTH } from '../sdk/access-token.ts'
import type { PlatformCaller } from './callers.ts'
import { ROLES, type Role } from './roles.ts'
import { SIGNATURE_LENGTH, type TokenKind, type TokenRing } from './token-ring.ts'

export interface NewOperatorToken {
  readonly projectId: string
  /** The key that makes it. The token ends with the key. */
  readonly keyId: string
  readonly role: Role
  readonly actor: string
  /** See `Operator`. */
  readonly person?: string | undefined
  /** Its lifetime, in seconds. */
  readonly seconds: number
}

export interface IssuedOperatorToken {
  readonly token: string
  readonly tokenId: string
  readonly expiresAt: Date
}

/** Tokens that a holder of a platform key makes for people, for pages in browsers, which cannot keep a key. */
export interface OperatorTokens {
  issueOperatorToken(token: NewOperatorToken): Promise<IssuedOperatorToken>
  /** Whether a text claims to be an operator token. */
  isOperatorToken(token: string): boolean
  /**
   * The caller of a token. Refuses with `invalid token` a token that we did not issue, or that has expired. Does not
   * check whether its key is still valid.
   */
  verifyOperatorToken(token: string): Promise<PlatformCaller>
}

const TYPE = 'op+jwt'
/** Far more than the operators of one instance. */
const CACHED_TOKENS = 1_000

/**
 * Makes and verifies operator tokens. They have a type and an audience of their own, so that no player's token is
 * accepted as one.
 */
export function createOperatorTokens(
  ring: TokenRing,
  { issuer, audience }: { readonly issuer: string; readonly audience: string },
): OperatorTokens {
  const kind: TokenKind = { type: TYPE, issuer, audience: `${audience}/operators`, claims: ['prj', 'role', 'act'] }
  /** A token verified before, by its signature. An entry never outlives its token. */
  const verified = new LRUCache<string, { readonly token: string; readonly caller: PlatformCaller }>({
    max: CACHED_TOKENS,
  })

  async function verify(token: string): Promise<PlatformCaller> {
    const { sub, prj, role, act, per, exp } = await ring.verify(kind, token)
    const known = ROLES.find((one) => one === role)
    if (!isId(sub) || !isId(prj) || known === undefined || typeof act !== 'string' || exp === undefined)
      throw new Refusal('invalidToken')
    const operator = { name: act, isClaimed: false, ...(typeof per === 'string' && { person: per }) }
    return { kind: 'platform', keyId: sub, projectId: prj, role: known, operator, expiresAt: exp * 1000 }
  }

  return {
    async issueOperatorToken({ projectId, keyId, role, actor, person, seconds }) {
      const issuedAt = Math.floor(Date.now() / 1000)
      const expiresAt = issuedAt + seconds
      const tokenId = randomUUID()
      const claims = { prj: projectId, role, act: actor, ...(person !== undefined && { per: person }) }
      const token = await ring.sign(kind, { subject: keyId, issuedAt, expiresAt, tokenId, claims })
      return { token, tokenId, expiresAt: new Date(expiresAt * 1000) }
    },

    isOperatorToken(token) {
      if (token.length > MAX_TOKEN_LENGTH) return false
      try {
        return decodeProtectedHeader(token).typ === TYPE
      } catch {
        return false
      }
    },

    async verifyOperatorToken(token) {
      const signature = token.slice(-SIGNATURE_LENGTH)
      const before = verified.get(signature)
      if (before?.token === token) {
        if ((before.caller.expiresAt ?? 0) > Date.now()) return before.caller
        throw new Refusal('invalidToken')
      }
      try {
        const caller = await verify(token)
        verified.set(signature, { token, caller })
        return caller
      } catch (cause) {
        throw new Refusal('invalidToken', { cause })
      }
    },
  }
}
