import { createHash, randomUUID } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { Refusal } from '../errors.ts'
import type { PlayerRef } from '../players/standing.ts'
import type { PlayerCaller } from './callers.ts'

/** Lifetime of an access token, in seconds: 24 hours (spec 5, spec 8). */
export const ACCESS_TOKEN_SECONDS = 86_400

const ALGORITHM = 'EdDSA'
const TOKEN_TYPE = 'at+jwt'
/** Ours are some 450 bytes. Whatever is much longer is neither verified nor kept. */
const MAX_TOKEN_LENGTH = 4096
const CACHED_TOKENS = 50_000
/** Tokens are told apart by their signature: to hash one whole costs more than all the rest of finding its player. */
const SIGNATURE_LENGTH = 86
/** An id as we write it. The database would fail on any other. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A private Ed25519 key as a JWK with its `kid`. */
export interface TokenKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly kid: string
  readonly x: string
  readonly d: string
}

export interface Tokens {
  /** An access token for a player. The same `tokenId` and time make the same token, while the same key signs. */
  issueAccessToken(player: NewAccessToken): Promise<string>
  /**
   * The player that a token names. Refuses with `invalid token` whatever is not entirely as we issue it. `sent` is the
   * text that carried it, under which it is known from then on.
   */
  verifyAccessToken(token: string, sent?: string): Promise<PlayerCaller>
  /** The player of a text whose token was verified before and has not expired. Refuses one whose login has ended. */
  known(sent: string): PlayerCaller | undefined
  /** The public keys, for `/.well-known/jwks.json`. */
  readonly jwks: { readonly keys: readonly JWK[] }
}

export interface NewAccessToken extends PlayerRef {
  readonly projectId: string
  /** `jti`; a random one unless given. */
  readonly tokenId?: string
  /** `iat`, in seconds since 1970; now unless given. */
  readonly issuedAt?: number
}

export interface TokenOptions {
  /** The first key signs, all verify: a new key is put in front, an old one removed a day later. */
  readonly keys: readonly TokenKey[]
  readonly issuer: string
  readonly audience: string
  /** Whether a login has ended, and its access tokens with it. */
  readonly isEnded?: (familyId: string | null) => boolean
}

/** Player access tokens: JWTs signed with Ed25519, verified with every claim pinned. */
export async function createTokens({ keys, issuer, audience, isEnded = () => false }: TokenOptions): Promise<Tokens> {
  const [signing] = keys
  if (!signing) throw new Error('at least one token key is needed')
  const signingKey = await importJWK(signing, ALGORITHM)
  const publicKeys = new Map<string, CryptoKey>()
  const jwks: JWK[] = []
  for (const { d: _, ...publicPart } of keys) {
    publicKeys.set(publicPart.kid, (await importJWK(publicPart, ALGORITHM)) as CryptoKey)
    jwks.push({ ...publicPart, alg: ALGORITHM, use: 'sig' })
  }
  // One verification costs more than all the rest of a request. An entry never outlives its token, and a player's
  // standing is no part of it: that is read with every call.
  const verified = new LRUCache<string, { readonly sent: string; readonly caller: PlayerCaller }>({
    max: CACHED_TOKENS,
  })

  function known(sent: string): PlayerCaller | undefined {
    const found = verified.get(sent.slice(-SIGNATURE_LENGTH))
    return found?.sent === sent && found.caller.expiresAt > Date.now() ? unlessEnded(found.caller) : undefined
  }

  function unlessEnded(caller: PlayerCaller): PlayerCaller {
    if (isEnded(caller.familyId)) throw new Refusal('invalidToken')
    return caller
  }

  async function verify(token: string): Promise<PlayerCaller> {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = kid === undefined ? undefined : publicKeys.get(kid)
        if (!key) throw new Refusal('invalidToken')
        return key
      },
      {
        algorithms: [ALGORITHM],
        typ: TOKEN_TYPE,
        issuer,
        audience,
        requiredClaims: ['iss', 'aud', 'sub', 'prj', 'env', 'iat', 'exp', 'jti'],
      },
    )
    const { sub, prj, env, exp, jti } = payload
    if (!isId(sub) || !isId(prj) || !isId(env) || exp === undefined) throw new Refusal('invalidToken')
    const [family] = jti?.split('.', 1) ?? []
    const familyId = jti?.includes('.') && isId(family) ? family : null
    return { kind: 'player', projectId: prj, environmentId: env, playerId: sub, expiresAt: exp * 1000, familyId }
  }

  return {
    jwks: { keys: jwks },

    issueAccessToken({ projectId, environmentId, playerId, tokenId, issuedAt = Math.floor(Date.now() / 1000) }) {
      return new SignJWT({ prj: projectId, env: environmentId })
        .setProtectedHeader({ alg: ALGORITHM, typ: TOKEN_TYPE, kid: signing.kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(playerId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ACCESS_TOKEN_SECONDS)
        .setJti(tokenId ?? randomUUID())
        .sign(signingKey)
    },

    known,

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

function isId(claim: unknown): claim is string {
  return typeof claim === 'string' && ID.test(claim)
}

/** Makes a new signing key; its `kid` is the thumbprint of the public part. */
export async function generateTokenKey(): Promise<TokenKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true })
  const { x, d } = await exportJWK(privateKey)
  if (x === undefined || d === undefined) throw new Error('the key could not be exported')
  const kid = createHash('sha256').update(x).digest('base64url').slice(0, 16)
  return { kty: 'OKP', crv: 'Ed25519', kid, x, d }
}
