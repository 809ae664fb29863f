import type { JWTVerifyGetKey } from 'jose'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { jwtVerify } from 'jose/jwt/verify'
import { type OptionCheck, refuseOptions } from '../client/error.ts'
import { parseExact } from '../client/json.ts'
import { isObject } from '../client/shape.ts'
import { isTime, isUrl } from '../client/transport.ts'
import {
  ACCESS_TOKEN_CLAIMS,
  ACCESS_TOKEN_TYPE,
  isId,
  MAX_TOKEN_LENGTH,
  REQUIRED_CLAIMS,
  readAccessToken,
  TOKEN_ALGORITHM,
} from './access-token.ts'
import { EndedTokens } from './ended-tokens.ts'
import { EndedFollower, type FollowOptions } from './follow-ended.ts'

export interface TokenVerifierOptions {
  /** Where the service is, such as `https://play.example.com`. */
  readonly url: string
  /** The id of the environment whose players may come in: `env` of their tokens. */
  readonly environmentId: string
  /** `TOKEN_ISSUER` of the service. Default: `tierway`. */
  readonly issuer?: string
  /** `TOKEN_AUDIENCE` of the service. Default: `tierway`. */
  readonly audience?: string
  /** How far the clocks of this machine and of the service may differ, in seconds. Default: 5. */
  readonly toleranceSeconds?: number
  /** The age after which the keys are read again, in milliseconds. Default: ten minutes. */
  readonly keysMaxAgeMs?: number
  /** The shortest time between two reads of the keys, in milliseconds. Default: 5,000. */
  readonly keysCooldownMs?: number
  /** The longest time of a read of the keys, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number
}

/** What a verified token says. */
export interface VerifiedPlayer {
  readonly playerId: string
  readonly projectId: string
  readonly environmentId: string
  /** The login that the token belongs to. The token that follows it has the same. Null for a token made without a login. */
  readonly loginId: string | null
  readonly expiresAt: Date
  /** The `claims` that the login webhook answered. Null without any. Integers beyond 2^53 are `bigint`. */
  readonly claims: Readonly<Record<string, unknown>> | null
}

/** Verifies access tokens. Create one for the whole process: it keeps the keys. */
export interface TokenVerifier {
  /** The player of an access token. Rejects with a {@link TokenError}. */
  verify(token: string): Promise<VerifiedPlayer>
  /**
   * Follows the logins that end and the players that are banned or deleted: `verify` refuses their tokens within seconds.
   * Resolves once all that ended before is known, and continues until its signal aborts. Rejects with a `TierwayError`
   * when the key is refused, and with the signal's reason. After it has resolved, `onError` hears of a key that is
   * revoked: the following has then ended, and can begin again with another key.
   *
   * While the feed is away, the verifier connects again and again. It refuses what it knows of, and accepts other tokens
   * until they expire. Nothing is missed once it is back. It keeps a million logins; of more, it forgets those that ended
   * first.
   */
  follow(options: FollowOptions): Promise<void>
  /** Whether the feed is there: each login that ends is known within seconds. */
  readonly isFollowing: boolean
  /** How long ago all logins that had ended were known, in milliseconds: a few seconds while following. Null before. */
  readonly followedMsAgo: number | null
}

/** The `code` of a `TokenError`. */
export type TokenErrorCode =
  /** The token has expired. The client gets a new one and tries again. */
  | 'token_expired'
  /** The token is of a player of another environment. */
  | 'other_environment'
  /** The service signed the token for something else than a player: an operator, for example. */
  | 'not_player_token'
  /** The service did not sign the token, or not for this audience. */
  | 'invalid_token'
  /** The keys could not be read, so nothing is known of the token. Try again later. */
  | 'keys_unreachable'
  /** The login of the token has ended, as by a logout. Only a verifier that follows knows. */
  | 'login_ended'
  /** The player is banned. Only a verifier that follows knows. */
  | 'player_banned'
  /** The player is deleted. Only a verifier that follows knows. */
  | 'player_deleted'

const MESSAGES: Readonly<Record<TokenErrorCode, string>> = {
  token_expired: 'the token has expired',
  other_environment: 'the token is of a player of another environment',
  not_player_token: 'the token is not one of a player',
  invalid_token: 'the token is invalid',
  keys_unreachable: 'the keys of the service could not be read',
  login_ended: 'the login of the token has ended',
  player_banned: 'the player is banned',
  player_deleted: 'the player is deleted',
}

/** Why a token is not accepted. */
export class TokenError extends Error {
  /** The code to match on. */
  readonly code: TokenErrorCode

  constructor(code: TokenErrorCode, cause?: unknown) {
    super(MESSAGES[code], cause === undefined ? undefined : { cause })
    this.name = 'TokenError'
    this.code = code
  }
}

/**
 * Makes a verifier of access tokens, for a game server that has to know which player a client is. It checks what the
 * service itself checks: signature, kind, issuer, audience, environment and expiry.
 *
 * The public keys come from `/.well-known/jwks.json`, at the first token. They are read again when a token names a key
 * that is not known, and when they are older than `keysMaxAgeMs`; while the service does not answer, the known keys go
 * on. A login that has ended, as by a logout, is known only while the verifier follows: without `follow`, its tokens are
 * accepted until they expire.
 *
 * Throws `invalid_request` for a faulty option.
 */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  checkOptions(options)
  const { url, environmentId, issuer = 'tierway', audience = 'tierway', toleranceSeconds = 5 } = options
  const { keysMaxAgeMs = 600_000, keysCooldownMs = 5_000, timeoutMs = 5_000 } = options
  const remote = createRemoteJWKSet(new URL(`${url.replace(/\/+$/, '')}/.well-known/jwks.json`), {
    // Read again below, so that an outage of the service does not end the known keys.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: keysCooldownMs,
    timeoutDuration: timeoutMs,
    // A connection that was kept may close just when it is used again.
    [customFetch]: (target, init) => fetch(target, init).catch(() => fetch(target, init)),
  })
  const ended = new EndedTokens()
  const follower = new EndedFollower(url, environmentId, ended)
  let renewsAt = Number.POSITIVE_INFINITY

  /** Reads keys again that are old. Only one call waits for them. */
  async function renewKeys(): Promise<void> {
    const now = performance.now()
    if (remote.jwks() === undefined) renewsAt = now + keysMaxAgeMs
    if (now < renewsAt) return
    renewsAt = now + keysMaxAgeMs
    await remote.reload().catch(() => {
      renewsAt = performance.now() + Math.min(keysCooldownMs, keysMaxAgeMs)
    })
  }

  const findKey: JWTVerifyGetKey = async (header, token) => {
    // Each token of the service names its key.
    if (typeof header.kid !== 'string') throw new TokenError('invalid_token')
    await renewKeys()
    try {
      return await remote(header, token)
    } catch (error) {
      throw new TokenError(codeOf(error) === NO_SUCH_KEY ? 'invalid_token' : 'keys_unreachable', error)
    }
  }

  async function claimsOf(token: string) {
    try {
      const { payload } = await jwtVerify(token, findKey, {
        algorithms: [TOKEN_ALGORITHM],
        typ: ACCESS_TOKEN_TYPE,
        issuer,
        audience,
        requiredClaims: [...REQUIRED_CLAIMS, ...ACCESS_TOKEN_CLAIMS],
        clockTolerance: toleranceSeconds,
      })
      return payload
    } catch (error) {
      if (error instanceof TokenError) throw error
      if (codeOf(error) === 'ERR_JWT_EXPIRED') throw new TokenError('token_expired', error)
      const isOfAnotherKind = (error as { claim?: unknown }).claim === 'typ'
      throw new TokenError(isOfAnotherKind ? 'not_player_token' : 'invalid_token', error)
    }
  }

  return {
    async verify(token) {
      // Callers in plain JavaScript may pass anything, such as a missing header.
      if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH) throw new TokenError('invalid_token')
      const said = readAccessToken(await claimsOf(token))
      if (!said) throw new TokenError('invalid_token')
      if (said.environmentId !== environmentId) throw new TokenError('other_environment')
      const code = ended.codeOf(said.playerId) ?? (said.loginId === null ? undefined : ended.codeOf(said.loginId))
      if (code !== undefined) throw new TokenError(code)
      return { ...said, expiresAt: new Date(said.expiresAt * 1000), claims: ownClaimsOf(token) }
    },
    follow: (options) => follower.follow(options),
    get isFollowing() {
      return follower.isFollowing
    },
    get followedMsAgo() {
      return follower.msAgo
    },
  }
}

const NO_SUCH_KEY = 'ERR_JWKS_NO_MATCHING_KEY'

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

/** The webhook's claims, read again from the text of the token: the library for tokens rounds long integers. */
function ownClaimsOf(token: string): VerifiedPlayer['claims'] {
  const [, payload = ''] = token.split('.')
  const { claims } = parseExact(Buffer.from(payload, 'base64url').toString()) as { readonly claims?: unknown }
  return isObject(claims) ? claims : null
}

function checkOptions(given: { readonly [Name in keyof TokenVerifierOptions]?: unknown } = {}): void {
  const { url, environmentId, issuer = '-', audience = '-', toleranceSeconds = 0, ...times } = given
  // More would accept tokens long after their login has ended.
  const isTolerance = typeof toleranceSeconds === 'number' && toleranceSeconds >= 0 && toleranceSeconds <= 300
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
  refuseOptions([
    [isUrl(url), 'url', 'must be an http or https URL such as https://play.example.com'],
    [isId(environmentId), 'environmentId', 'must be the id of an environment'],
    [isText(issuer), 'issuer', 'must be a text'],
    [isText(audience), 'audience', 'must be a text'],
    [isTolerance, 'toleranceSeconds', 'must be 0 to 300'],
    ...(['keysMaxAgeMs', 'keysCooldownMs', 'timeoutMs'] as const).map((path): OptionCheck => {
      const ms = times[path] ?? 1
      return [isTime(ms) && Number.isInteger(ms), path, 'must be an integer of 1 to 2147483647']
    }),
  ])
}
