import { hash } from 'node:crypto'
import type { Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { Refusal } from '../../base/errors.ts'
import { MAX_OPERATOR, MAX_OPERATOR_TOKEN_SECONDS } from '../../base/limits.ts'
import { type SecretContext, type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { AuditDenied } from '../../callers/access.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import type { Tokens } from '../../callers/tokens.ts'
import { issueOperatorToken } from '../projects/manage-keys.ts'
import { IssuerFault } from './issuer-calls.ts'
import { type Claims, claimAt, type IssuerClient, type Proofs } from './issuer-client.ts'
import { isOn, openClientSecret, readSignOn, redirectUriOf, type SignOnGroup, type SignOnSettings } from './settings.ts'

// A sign-in by the studio's issuer: authorization code with PKCE. The browser carries what its end needs, sealed.

/** The reason why a sign-in did not succeed, for its page. */
export type SignOnFault = 'off' | 'unavailable' | 'refused' | 'expired' | 'no_role' | 'no_name'

export class SignOnError extends Error {
  readonly fault: SignOnFault

  constructor(fault: SignOnFault, options?: ErrorOptions) {
    super(`single sign-on: ${fault}`, options)
    this.fault = fault
  }
}

/** How long a person may take to sign in at the issuer. */
export const TICKET_SECONDS = 600
/** A cookie holds 4,096 bytes, and the token is in it, too. */
const MAX_PAGE = 1_000
/** How long the page may take to fetch its token. */
export const PASS_SECONDS = 60

interface Ticket extends Proofs {
  readonly projectId: string
  readonly returnTo: string
  readonly expiresAt: number
}

/** The end of a sign-in, for the page. */
export interface Pass {
  readonly token: string
  readonly returnTo: string
  readonly expiresAt: number
}

interface Deps {
  readonly pool: Pool
  readonly operatorPool: Pool
  readonly secrets: Secrets
  readonly tokens: Tokens
  readonly issuerClient: IssuerClient
  readonly auditDenied: AuditDenied
  readonly warn: (message: string, detail: unknown) => void
}

const context = (kind: 'ticket' | 'pass'): SecretContext => ({
  projectId: '',
  environmentId: '',
  kind: `single_sign_on.${kind}`,
  name: '',
})

/** A page of the console to go on with. Anything else becomes the first page. */
function pageOf(returnTo: string | null): string {
  const here = 'http://here'
  const url = URL.canParse(returnTo ?? '', here) ? new URL(returnTo ?? '', here) : null
  const isPage = url?.origin === here && /^\/console(\/|$)/.test(url.pathname) && url.href.length <= MAX_PAGE
  return isPage ? `${url.pathname}${url.search}` : '/console'
}

function openSealed<T extends { readonly expiresAt: number }>(
  secrets: Secrets,
  sealed: string | undefined,
  kind: 'ticket' | 'pass',
): T {
  const text = sealed === undefined ? undefined : tryToOpen(secrets, sealed, context(kind))
  const opened = text === undefined ? undefined : (JSON.parse(text) as T)
  if (!opened || opened.expiresAt <= Date.now()) throw new SignOnError('expired')
  return opened
}

async function requireSignOn(pool: Pool, projectId: string): Promise<SignOnSettings> {
  const settings = await readSignOn(pool, projectId)
  if (!settings || !isOn(settings)) throw new SignOnError('off')
  return settings
}

function issuerOf(secrets: Secrets, settings: SignOnSettings) {
  const clientSecret = openClientSecret(secrets, settings)
  if (clientSecret === undefined)
    throw new SignOnError('unavailable', { cause: 'the client secret is under a key that SECRETS_KEYS lacks' })
  return { ...settings, clientSecret, redirectUri: redirectUriOf(settings) }
}

/** The address at which a person signs in, and the sealed ticket with which the sign-in is finished. */
export async function beginSignOn(
  { pool, secrets, issuerClient, warn }: Deps,
  { projectId: sent, returnTo }: { readonly projectId: string; readonly returnTo: string | null },
): Promise<{ readonly url: string; readonly ticket: string; readonly state: string; readonly consoleUrl: string }> {
  const projectId = sent.toLowerCase()
  const settings = await requireSignOn(pool, projectId)
  const { url, proofs } = await asking(warn, () => issuerClient.begin(issuerOf(secrets, settings)))
  const expiresAt = Date.now() + TICKET_SECONDS * 1000
  const ticket: Ticket = { ...proofs, projectId, returnTo: pageOf(returnTo), expiresAt }
  const sealed = secrets.seal(JSON.stringify(ticket), context('ticket'))
  return { url, ticket: sealed, state: proofs.state, consoleUrl: settings.consoleUrl }
}

/** Finishes a sign-in with what the issuer sent the browser back with. Returns the sealed pass of the page. */
export async function finishSignOn(
  deps: Deps,
  { answer, projectId: asked }: { readonly answer: URLSearchParams; readonly projectId: string },
  sealed: string | undefined,
): Promise<{ readonly pass: string; readonly consoleUrl: string }> {
  const { pool, secrets, issuerClient, warn } = deps
  const { projectId, returnTo, ...proofs } = openSealed<Ticket>(secrets, sealed, 'ticket')
  if (projectId !== asked.toLowerCase()) throw new SignOnError('expired')
  const settings = await requireSignOn(pool, projectId)
  const claims = await asking(warn, () =>
    issuerClient.finish(issuerOf(secrets, settings), answer, proofs, settings.groupsClaim),
  )
  const token = await tokenOf(deps, settings, claims)
  const pass: Pass = { token, returnTo, expiresAt: Date.now() + PASS_SECONDS * 1000 }
  return { pass: secrets.seal(JSON.stringify(pass), context('pass')), consoleUrl: settings.consoleUrl }
}

export const openPass = (secrets: Secrets, sealed: string | undefined): Pass => openSealed(secrets, sealed, 'pass')

const FAILED = 'a sign-in by the issuer of the studio failed'

/** A fault of the issuer is in the log, and the person gets its class. */
async function asking<T>(warn: Deps['warn'], ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof IssuerFault)) throw error
    warn(FAILED, error.message)
    throw new SignOnError(error.isRefusal ? 'refused' : 'unavailable', { cause: error })
  }
}

async function tokenOf(deps: Deps, settings: SignOnSettings, claims: Claims): Promise<string> {
  const { projectId, groups, sessionHours, issuer } = settings
  const actor = nameIn(claims)
  if (actor === undefined) throw new SignOnError('no_name')
  const group = groupOf(settings, claims)
  const keyId = group?.keyId ?? groups[0]?.keyId ?? ''
  const caller = {
    kind: 'platform',
    keyId,
    projectId,
    operator: { name: actor, isClaimed: false, person: personOf(issuer, claims) },
  } as const
  if (group === undefined) {
    deps.warn(FAILED, whyNoRole(settings, claims))
    await deps.auditDenied({ ...caller, role: 'analyst' }, ACTIONS.createOperatorToken, keyId)
    throw new SignOnError('no_role')
  }
  const seconds = Math.min(sessionHours * 3600, MAX_OPERATOR_TOKEN_SECONDS)
  const { role } = group
  const person: PlatformCaller = { ...caller, role }
  try {
    const asked = { role, seconds, actor, reason: 'single sign-on' }
    return (await issueOperatorToken(deps, person, asked, caller.operator.person)).token
  } catch (error) {
    // The key ended meanwhile.
    if (error instanceof Refusal && error.kind === 'invalidToken') throw new SignOnError('off', { cause: error })
    throw error
  }
}

/** The person, whatever their name is. An issuer never gives an id again. */
const personOf = (issuer: string, { sub }: Claims): string =>
  hash('sha256', JSON.stringify([issuer, sub]), 'base64url').slice(0, 22)

/** The name for the audit log: an e-mail address, or a name. */
function nameIn(claims: Claims): string | undefined {
  return [claims.email, claims.preferred_username, claims.sub].find(
    (name): name is string =>
      typeof name === 'string' && name.length > 0 && name.length <= MAX_OPERATOR && !/\p{Cc}|^\s|\s$/u.test(name),
  )
}

/** For the log. It names claims, and no values of a person. */
function whyNoRole({ groupsClaim, groups }: SignOnSettings, claims: Claims): string {
  const claim = claimAt(claims, groupsClaim)
  const names = claimAt(claims, '_claim_names')
  if (claim === undefined && typeof names === 'object' && names !== null && Object.hasOwn(names, groupsClaim))
    return `the issuer left the claim ${groupsClaim} out, since the person is in too many groups for a token: let it send only groups that are assigned to the client, or roles`
  if (claim === undefined) {
    const known = Object.keys(claims).sort().join(', ')
    return `neither the ID token nor the user info has the claim ${groupsClaim}, or its address is not verified; they have ${known}`
  }
  const count = Array.isArray(claim) ? claim.length : 1
  return `none of the ${count} values of the claim ${groupsClaim} is one of the ${groups.length} groups with a role`
}

/** The first group, in the order of the settings, that the person is in. */
function groupOf({ groups, groupsClaim }: SignOnSettings, claims: Claims): SignOnGroup | undefined {
  const claim = claimAt(claims, groupsClaim)
  const own = new Set(Array.isArray(claim) ? claim : [claim])
  return groups.find(({ group }) => own.has(group))
}
