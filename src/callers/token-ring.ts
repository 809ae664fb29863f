import { hash } from 'node:crypto'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
// Imported by path: the whole library has 46 modules, most of them for encryption, and each start would load them.
import { CompactSign } from 'jose/jws/compact/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'
import type { TokenKey } from '../base/config.ts'
import { Refusal } from '../base/errors.ts'
import { type Json, print } from '../base/json.ts'
import { REQUIRED_CLAIMS, TOKEN_ALGORITHM } from '../sdk/access-token.ts'

export type { TokenKey } from '../base/config.ts'

/** The signature identifies a token. Hashing a whole token would cost more than the rest of finding its player. */
export const SIGNATURE_LENGTH = 86

/** The properties of a kind of token. A verifier checks each of them, so that no kind is accepted as another. */
export interface TokenKind {
  /** `typ` of the header. */
  readonly type: string
  readonly issuer: string
  readonly audience: string
  /** Required claims, in addition to those of every kind. */
  readonly claims: readonly string[]
}

/** A token to sign. Times are in seconds since 1970. */
export interface NewToken {
  readonly subject: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly tokenId: string
  readonly claims: { readonly [name: string]: Json }
  /** Further claims, which no verifier reads. */
  readonly carried?: { readonly [name: string]: Json }
}

export interface TokenRing {
  sign(kind: TokenKind, token: NewToken): Promise<string>
  /**
   * The claims of a token, verified with any key of the ring. Throws when the token is of another kind, expired or
   * invalid.
   */
  verify(kind: TokenKind, token: string): Promise<JWTPayload>
  readonly jwks: { readonly keys: readonly JWK[] }
}

/** The first key signs, all verify. */
export async function createTokenRing(keys: readonly TokenKey[]): Promise<TokenRing> {
  const [signing] = keys
  if (!signing) throw new Error('at least one token key is needed')
  const signingKey = await importJWK(signing, TOKEN_ALGORITHM)
  const publicKeys = new Map<string, CryptoKey>()
  const jwks: JWK[] = []
  for (const { d: _, ...publicPart } of keys) {
    publicKeys.set(publicPart.kid, (await importJWK(publicPart, TOKEN_ALGORITHM)) as CryptoKey)
    jwks.push({ ...publicPart, alg: TOKEN_ALGORITHM, use: 'sig' })
  }

  function findKey({ kid }: { kid?: string }): CryptoKey {
    const key = kid === undefined ? undefined : publicKeys.get(kid)
    if (!key) throw new Refusal('invalidToken')
    return key
  }

  return {
    jwks: { keys: jwks },

    sign({ type, issuer, audience }, { subject, issuedAt, expiresAt, tokenId, claims, carried }) {
      const registered = { iss: issuer, aud: audience, sub: subject, iat: issuedAt, exp: expiresAt, jti: tokenId }
      // Printed here, since the library would round long integers.
      return new CompactSign(Buffer.from(print({ ...claims, ...registered, ...carried })))
        .setProtectedHeader({ alg: TOKEN_ALGORITHM, typ: type, kid: signing.kid })
        .sign(signingKey)
    },

    async verify({ type, issuer, audience, claims }, token) {
      const { payload } = await jwtVerify(token, findKey, {
        algorithms: [TOKEN_ALGORITHM],
        typ: type,
        issuer,
        audience,
        requiredClaims: [...REQUIRED_CLAIMS, ...claims],
      })
      return payload
    },
  }
}

/** Makes a new signing key; its `kid` is the thumbprint of the public part. */
export async function generateTokenKey(): Promise<TokenKey> {
  const { privateKey } = await generateKeyPair(TOKEN_ALGORITHM, { crv: 'Ed25519', extractable: true })
  const { x, d } = await exportJWK(privateKey)
  if (x === undefined || d === undefined) throw new Error('the key could not be exported')
  const kid = hash('sha256', x, 'base64url').slice(0, 16)
  return { kty: 'OKP', crv: 'Ed25519', kid, x, d }
}
