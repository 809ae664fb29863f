import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { Secrets } from '../../base/secrets.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import { admitPlayer } from '../../players/player-status.ts'
import { type IdToken, verifyIdToken } from '../id-tokens/id-token.ts'
import type { KeySets } from '../id-tokens/key-sets.ts'
import { findIssuer, type PlatformKeys } from '../providers/issuers.ts'
import type { Rehearsal } from './custom-login.ts'
import { type IdentityRef, identityProvider } from './identities.ts'
import { LOGIN_OUTCOMES, type LoginAttempt, logAttempt } from './log/login-log.ts'
import { issueTokenPair, type TokenDeps, type TokenPair } from './refresh-tokens.ts'
import { type Approval, type CountDeps, counted, type LoginInput, logIn, type Statement } from './sign-in.ts'
import { link } from './switch-player.ts'
import { askIdToken } from './used-nonces.ts'

// Logins by ID tokens (OpenID Connect): the issuer's signature names the subject, and no webhook is called.

export interface IdTokenDeps extends TokenDeps, CountDeps {
  readonly pool: Pool
  readonly keySets: KeySets
  readonly platformKeys: PlatformKeys
  readonly secrets: Secrets
  readonly warn: (message: string, detail: unknown) => void
}

/** A token with its provider: `google`, `apple` or `oidc:<name>`. */
export interface IdTokenCredentials {
  readonly provider: string
  readonly idToken: string
  readonly nonce: string | null
}

export async function loginIdToken(
  deps: IdTokenDeps,
  client: ClientRef,
  input: IdTokenCredentials & LoginInput,
): Promise<TokenPair> {
  return counted(deps, 'login', async () => {
    const approval = await approve(deps, { operation: 'login', playerId: null }, client, input)
    return issueTokenPair(deps.tokens, client, await deps.run(logIn(approval, input)))
  })
}

/** Links the subject of a token to a player: no player is created, and there are no tokens. */
export async function linkIdToken(
  deps: IdTokenDeps,
  client: ClientRef,
  player: PlayerCaller,
  input: IdTokenCredentials,
): Promise<IdentityRef> {
  return counted(deps, 'link', async () => {
    // Checked here to spare the issuer; the transaction checks again.
    await deps.run(admitPlayer(player))
    const approval = await approve(deps, { operation: 'link', playerId: player.playerId }, client, input)
    return link(deps, approval, player)
  })
}

/** The check of a token, without a login. */
export interface Checked {
  readonly token: IdToken | null
  /** The reason why there is none. */
  readonly refusal: Refusal | null
  readonly attempts: LoginAttempt['attempts']
}

/** Verifies a token by the provider's settings, while no connection to the database is held. */
export async function checkIdToken(
  deps: Pick<IdTokenDeps, 'pool' | 'keySets' | 'platformKeys'>,
  environmentId: string,
  { provider, ...sent }: IdTokenCredentials,
): Promise<Checked> {
  const issuer = await findIssuer(deps, { environmentId, provider })
  if (!issuer) return { token: null, refusal: new Refusal('signInDisabled'), attempts: [] }
  const started = performance.now()
  const check = { status: null, error: null, excerpt: null, replacedSecrets: 0 }
  const elapsed = () => Math.round(performance.now() - started)
  try {
    const token = await verifyIdToken(deps.keySets, issuer, sent)
    return { token, refusal: null, attempts: [{ ...check, milliseconds: elapsed(), cause: null }] }
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal
    const cause = String(refusal.cause)
    return { token: null, refusal, attempts: [{ ...check, milliseconds: elapsed(), cause }] }
  }
}

/** Verifies a token as a login would, and stops there: no player is created, looked up or logged, and no nonce used. */
export async function rehearseIdToken(
  deps: Pick<IdTokenDeps, 'pool' | 'keySets' | 'platformKeys'>,
  environmentId: string,
  credentials: IdTokenCredentials,
): Promise<Rehearsal> {
  const { token, refusal, attempts } = await checkIdToken(deps, environmentId, credentials)
  const outcome = refusal === null ? 'ok' : LOGIN_OUTCOMES.find((known) => known === refusal.code)
  if (outcome === undefined) throw refusal
  return {
    status: refusal?.status ?? 200,
    outcome,
    answer: token && { ...statementOf(token), notes: token.notes, notices: [], overLimits: null },
    attempts,
    notes: token?.notes ?? [],
    notices: [],
    reason: null,
    oddBody: null,
  }
}

/** What a token says about a player. */
const statementOf = ({ subject, nickname }: IdToken): Statement => ({
  subject,
  nickname,
  avatarUrl: null,
  data: new Map(),
  claims: null,
})

async function approve(
  deps: IdTokenDeps,
  { operation, playerId }: Pick<LoginAttempt, 'operation' | 'playerId'>,
  client: ClientRef,
  credentials: IdTokenCredentials,
): Promise<Approval> {
  const { projectId, environmentId } = client
  const { provider } = credentials
  const { token, refusal, attempts } = await checkIdToken(deps, environmentId, credentials)
  const milliseconds = attempts.reduce((sum, attempt) => sum + attempt.milliseconds, 0)
  const attempt = { environmentId, operation, provider, milliseconds, attempts }
  if (token) {
    const { subject, notes } = token
    return {
      client,
      identity: { environmentId, provider: identityProvider(provider), subject },
      answer: statementOf(token),
      attempt: { ...attempt, subject, notes },
      ask: (group) => askIdToken(group, environmentId, token),
    }
  }
  const { kind, code, cause, faults } = refusal ?? new Refusal('idTokenRejected')
  // As for a webhook, a login through a provider that is not configured leaves no entry.
  if (attempts.length > 0) {
    const entry = { ...attempt, subject: null, notes: [], playerId, outcome: code }
    await deps.run(logAttempt(entry)).catch((failure) => deps.warn('a login could not be logged', failure))
  }
  throw new Refusal(kind, { faults, cause, about: { project: projectId, environment: environmentId, provider } })
}
