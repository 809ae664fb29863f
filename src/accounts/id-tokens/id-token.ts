import { hash } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { type Fault, Refusal } from '../../base/errors.ts'
import { isCleanText } from '../../base/json.ts'
import { MAX_NICKNAME, MAX_SUBJECT } from '../../base/limits.ts'
import { lengthOf } from '../../declare/shape.ts'
import type { LoginNote } from '../webhook/webhook-answer.ts'
import { DocumentFault } from './guarded-json.ts'
import type { KeySets, KeySource } from './key-sets.ts'

/** How far the clock of an issuer may differ from ours, in seconds. */
const CLOCK_TOLERANCE = 10
/** How far ahead of ours the clock of an issuer may be when it signs a token, in seconds. */
const MAX_AHEAD = 300
/** The oldest token that may carry a nonce, in seconds: used nonces are kept that long. */
const NONCE_SECONDS = 86_400
/** Asymmetric ones: a public key must never serve as a shared secret. */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** What a token of an issuer must be. */
export interface Issuer extends KeySource {
  /** The values of `iss` that the issuer uses. */
  readonly issuers: readonly string[]
  /** The clients whose tokens are accepted: values of `aud`, and of `azp`. */
  readonly audiences: readonly string[]
  readonly algorithms: readonly string[]
  /** The claim that names the player. */
  readonly subjectClaim: string
  /** The claim that gives the nickname; null for none. */
  readonly nicknameClaim: string | null
  /** The longest time since the token was issued, in seconds; null for any. */
  readonly maxAgeSeconds: number | null
}

export interface IdToken {
  readonly subject: string
  readonly nickname: string | null
  readonly notes: readonly LoginNote[]
  /** The hash of the nonce, which may be used once; null without one. */
  readonly nonceHash: string | null
  /** Milliseconds since 1970, with the tolerance. */
  readonly expiresAt: number
}

/**
 * Verifies an ID token (OpenID Connect Core, 3.1.3.7). Refuses any other token with `id token rejected`, with the reason
 * in words, and with `sign-in unavailable` when the issuer's keys cannot be had.
 */
export async function verifyIdToken(
  keySets: KeySets,
  issuer: Issuer,
  { idToken, nonce }: { readonly idToken: string; readonly nonce: string | null },
): Promise<IdToken> {
  const payload = await verified(keySets, issuer, idToken)
  const faults = [...partyFaults(payload, issuer), ...nonceFaults(payload, nonce)]
  if ((payload.iat ?? 0) > Date.now() / 1000 + MAX_AHEAD) faults.push(faultOf('it was issued in the future'))
  const subject = payload[issuer.subjectClaim]
  if (!isSubject(subject))
    faults.push(faultOf(`its claim ${issuer.subjectClaim} must be a string of 1 to ${MAX_SUBJECT} characters`))
  if (faults.length > 0 || !isSubject(subject)) throw rejected(...faults)
  return {
    subject,
    ...nicknameIn(payload, issuer),
    nonceHash: nonce === null ? null : hash('sha256', `${payload.iss} ${payload.nonce}`, 'base64url'),
    expiresAt: ((payload.exp ?? 0) + CLOCK_TOLERANCE) * 1000,
  }
}

async function verified(keySets: KeySets, issuer: Issuer, idToken: string): Promise<JWTPayload> {
  const { issuers, audiences, algorithms, maxAgeSeconds } = issuer
  // A token of another issuer must not have its key looked for.
  const claimed = issuerOf(idToken)
  if (claimed !== undefined && !issuers.includes(claimed)) throw rejected(faultOf(OTHER_ISSUER))
  try {
    const { payload } = await jwtVerify(idToken, keySets.keysOf(issuer), {
      algorithms: [...algorithms],
      issuer: [...issuers],
      audience: [...audiences],
      clockTolerance: CLOCK_TOLERANCE,
      requiredClaims: ['iss', 'aud', 'iat', 'exp'],
      ...(maxAgeSeconds !== null && { maxTokenAge: maxAgeSeconds }),
    })
    return payload
  } catch (error) {
    if (error instanceof DocumentFault) throw new Refusal('signInUnavailable', { cause: error.message })
    if (error instanceof errors.JOSEError) throw rejected(faultOf(wordsFor(error)))
    // A key of the issuer that no library can use, such as an RSA key that is too short.
    throw new Refusal('signInUnavailable', { cause: 'the key of the issuer cannot be used' })
  }
}

/** What a token says of its issuer, unverified. Undefined for one that is no token, or that has no issuer. */
function issuerOf(idToken: string): string | undefined {
  try {
    const { iss } = decodeJwt(idToken)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

/** Whom the token was issued to. With several audiences, the token must say which of them asked for it. */
function partyFaults({ aud, azp }: JWTPayload, { audiences }: Issuer): Fault[] {
  if (azp === undefined)
    return Array.isArray(aud) && aud.length > 1
      ? [faultOf('it has several audiences and no authorized party (azp)')]
      : []
  if (typeof azp === 'string' && audiences.includes(azp)) return []
  return [faultOf('it was issued to another client: its authorized party (azp) is not accepted')]
}

/** Native clients of Apple and Google give the issuer the SHA-256 of their nonce, so that form is accepted, too. */
function nonceFaults({ nonce: claimed, iat = 0 }: JWTPayload, nonce: string | null): Fault[] {
  if (nonce === null) return claimed === undefined ? [] : [nonceFault('is required, as the token has one')]
  if (claimed === undefined) return [nonceFault('is not in the token')]
  if (claimed !== nonce && claimed !== hash('sha256', nonce) && claimed !== hash('sha256', nonce, 'base64url'))
    return [nonceFault('is not the one in the token')]
  return Date.now() / 1000 - iat > NONCE_SECONDS ? [faultOf('it was issued more than a day ago')] : []
}

function nicknameIn(payload: JWTPayload, { nicknameClaim }: Issuer): Pick<IdToken, 'nickname' | 'notes'> {
  const nickname = nicknameClaim === null ? undefined : payload[nicknameClaim]
  if (nickname === undefined || nickname === '') return { nickname: null, notes: [] }
  // A name never prevents a login.
  const isUsable =
    typeof nickname === 'string' && isCleanText(nickname) && lengthOf(nickname, MAX_NICKNAME) <= MAX_NICKNAME
  return isUsable ? { nickname, notes: [] } : { nickname: null, notes: ['nickname ignored'] }
}

const isSubject = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && isCleanText(value) && lengthOf(value, MAX_SUBJECT) <= MAX_SUBJECT

const OTHER_ISSUER = 'it is of another issuer'
const CLAIMS: Readonly<Record<string, string>> = {
  iss: OTHER_ISSUER,
  aud: 'it was issued for another client: its audience (aud) is not accepted',
  iat: 'it is too old, or was issued in the future',
  nbf: 'it is not valid yet',
}

function wordsFor(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return error.claim === 'iat' ? 'it is too old' : 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.reason === 'missing'
      ? `its claim ${error.claim} is missing`
      : (CLAIMS[error.claim] ?? `its claim ${error.claim} is invalid`)
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not match'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  if (error instanceof errors.JWKSNoMatchingKey) return 'it was signed by a key that is none of the issuer'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it does not name the key that signed it (kid)'
  return 'it is no signed token (JWT)'
}

const faultOf = (message: string): Fault => ({ path: 'idToken', message })
const nonceFault = (message: string): Fault => ({ path: 'nonce', message })

/** A token that is refused, with all that is wrong with it. */
export function rejected(...faults: Fault[]): Refusal {
  const cause = faults.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return new Refusal('idTokenRejected', { faults, cause })
}
