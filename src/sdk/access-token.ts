import type { JWTPayload } from 'jose'

// The form of a player's access token. The service verifies with this file, and game servers do with `tierway-server`.

export const TOKEN_ALGORITHM = 'EdDSA'
/** `typ` of the header. Other kinds of tokens of the service have another one. */
export const ACCESS_TOKEN_TYPE = 'at+jwt'
/** Claims of every kind of token. */
export const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'iat', 'exp', 'jti']
/** Further claims of an access token. */
export const ACCESS_TOKEN_CLAIMS = ['prj', 'env']
/** Our tokens have about 450 bytes, 1,300 with a long name, or 3,400 with claims. Longer tokens are refused without verification. */
export const MAX_TOKEN_LENGTH = 4096
/** The form of our ids. A query with another text could fail. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What an access token says. */
export interface AccessToken {
  readonly playerId: string
  readonly projectId: string
  readonly environmentId: string
  /** In seconds since 1970. */
  readonly expiresAt: number
  /** The login that the token belongs to. Null for a token that was made without one. */
  readonly loginId: string | null
}

/** Whether a claim has the form of our ids. */
export function isId(claim: unknown): claim is string {
  return typeof claim === 'string' && ID.test(claim)
}

/** Reads the claims of a token whose signature and registered claims are verified. Undefined for others than ours. */
export function readAccessToken({ sub, prj, env, exp, jti }: JWTPayload): AccessToken | undefined {
  if (!isId(sub) || !isId(prj) || !isId(env) || exp === undefined) return undefined
  const [login] = jti?.split('.', 1) ?? []
  const loginId = jti?.includes('.') && isId(login) ? login : null
  return { playerId: sub, projectId: prj, environmentId: env, expiresAt: exp, loginId }
}
