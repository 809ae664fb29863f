import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import { LRUCache } from 'lru-cache'
import { Refusal } from '../base/errors.ts'
import { RawJson } from '../base/json.ts'
import { ACCESS_TOKEN_CLAIMS, ACCESS_TOKEN_TYPE, MAX_TOKEN_LENGTH, readAccessToken } from '../sdk/access-token.ts'
import type { PlayerRef } from '../transactions/player.ts'
import type { PlayerCaller } from './callers.ts'
import { createOperatorTokens, type OperatorTokens } from './operator-tokens.ts'
import { createTokenRing, SIGNATURE_LENGTH, type TokenKey, type TokenKind } from './token-ring.ts'

export { generateTokenKey, type TokenKey } from './token-ring.ts'

/** Lifetime of an access token, in seconds: 24 hours (contract 5, contract 8). */
export const ACCESS_TOKEN_SECONDS = 86_400

const CACHED_TOKENS = 50_000
/** Tokens with claims are up to seven times as long as others. */
const CACHED_CHARACTERS = CACHED_TOKENS * 1_000

export interface Tokens extends OperatorTokens {
  /** An access token for a player. The same `tokenId` and time give the same token while the same key signs. */
  issueAccessToken(player: NewAccessToken): Promise<string>
  /**
   * The player that a token names. Refuses with `invalid token` every token that we did not issue. `sent` is the text
   * that carried the token; `known` finds the player by it from then on.
   */
  verifyAccessToken(token: string, sent?: string): Promise<PlayerCaller>
  /**
   * The player of a text whose token was verified before and has not expired. Refuses a token whose login has ended.
   */
  known(sent: string): PlayerCaller | undefined
  /** Refuses a player whose token has expired, or whose login has ended, since it was found. */
  requireValid(caller: PlayerCaller): void
  /** The public keys, for `/.well-known/jwks.json`. */
  readonly jwks: { readonly keys: readonly JWK[] }
}

export interface NewAccessToken extends PlayerRef {
  readonly projectId: string
  /** `jti`. Default: a random one. */
  readonly tokenId?: string
  /** `iat`, in seconds since 1970. Default: now. */
  readonly issuedAt?: number
  /** The text of an object for game servers, which the token carries as it is. It gives no rights. */
  readonly claims?: string | null
}

export interface TokenOptions {
  /** The first key signs, all verify. To rotate, put a new key first and remove the old one a day later. */
  readonly keys: readonly TokenKey[]
  readonly issuer: string
  readonly audience: string
  /** The logins that have ended. Their access tokens are refused. Default: none. */
  readonly endedLogins?: Pick<ReadonlySet<string>, 'has'>
}

/** Tokens of players and of operators: JWTs signed with Ed25519, verified with every claim pinned. */
export async function createTokens({ keys, issuer, audience, endedLogins = new Set() }: TokenOptions): Promise<Tokens> {
  const ring = await createTokenRing(keys)
  const kind: TokenKind = { type: ACCESS_TOKEN_TYPE, issuer, audience, claims: ACCESS_TOKEN_CLAIMS }
  // One verification costs more than the rest of a request. An entry never outlives its token. The player's status is
  // not part of it: each command reads it.
  const verified = new LRUCache<string, { readonly sent: string; readonly caller: PlayerCaller }>({
    max: CACHED_TOKENS,
    maxSize: CACHED_CHARACTERS,
    sizeCalculation: ({ sent }) => sent.length,
  })

  function known(sent: string): PlayerCaller | undefined {
    const found = verified.get(sent.slice(-SIGNATURE_LENGTH))
    return found?.sent === sent && found.caller.expiresAt > Date.now() ? unlessEnded(found.caller) : undefined
  }

  function unlessEnded(caller: PlayerCaller): PlayerCaller {
    if (caller.familyId !== null && endedLogins.has(caller.familyId)) throw new Refusal('invalidToken')
    return caller
  }

  async function verify(token: string): Promise<PlayerCaller> {
    const said = readAccessToken(await ring.verify(kind, token))
    if (!said) throw new Refusal('invalidToken')
    const { projectId, environmentId, playerId, expiresAt, loginId: familyId } = said
    return { kind: 'player', projectId, environmentId, playerId, expiresAt: expiresAt * 1000, familyId }
  }

  return {
    ...createOperatorTokens(ring, { issuer, audience }),
    jwks: ring.jwks,

    issueAccessToken({
      projectId,
      environmentId,
      playerId,
      tokenId,
      issuedAt = Math.floor(Date.now() / 1000),
      claims = null,
    }) {
      return ring.sign(kind, {
        subject: playerId,
        issuedAt,
        expiresAt: issuedAt + ACCESS_TOKEN_SECONDS,
        tokenId: tokenId ?? randomUUID(),
        claims: { prj: projectId, env: environmentId },
        carried: claims === null ? undefined : { claims: new RawJson(claims) },
      })
    },

    known,

    requireValid(caller) {
      if (unlessEnded(caller).expiresAt <= Date.now()) throw new Refusal('invalidToken')
    },

    async verifyAccessToken(token, sent = token) {
      const before = known(sent)
      if (before) return before
      if (token.length > MAX_TOKEN_LENGTH) throw new Refusal('invalidToken')
      try {
        const caller = await verify(token)
        if (sent.length <= 2 * MAX_TOKEN_LENGTH) verified.set(sent.slice(-SIGNATURE_LENGTH), { sent, caller })
        return unlessEnded(caller)
      } catch (cause) {
        throw new Refusal('invalidToken', { cause })
      }
    },
  }
}
