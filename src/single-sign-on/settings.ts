import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { actorOf, writeAudit } from '../audit/audit-log.ts'
import { type Fault, invalidRequest } from '../base/errors.ts'
import { type SecretContext, type Secrets, tryToOpen } from '../base/secrets.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { createPlatformKey } from '../callers/keys.ts'
import { inTransaction } from '../db/transaction.ts'
import { type RequestOf, refuseFaults } from '../declare/shape.ts'
import { requireOtherAdmin } from '../projects/manage-keys.ts'
import type { Webhook } from '../webhook/webhook.ts'
import { newUrlFault } from '../webhook/webhook-url.ts'
import { type IssuerClient, IssuerFault } from './issuer-client.ts'
import type { GroupRole, removeRequest, SetRequest } from './requests.ts'

// The settings of single sign-on, one for each project.

export interface SignOnSettings {
  readonly projectId: string
  readonly keyId: string
  readonly title: string
  readonly issuer: string
  readonly clientId: string
  /** Sealed; null for a public client. */
  readonly clientSecret: string | null
  readonly consoleUrl: string
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  readonly groups: readonly GroupRole[]
  readonly sessionHours: number
  readonly updatedAt: Date
  /** False when the key was revoked. */
  readonly isOn: boolean
}

/** One for each project: an issuer of one project must not get the answers of another's. */
export const redirectUriOf = ({ consoleUrl, projectId }: Pick<SignOnSettings, 'consoleUrl' | 'projectId'>): string =>
  `${consoleUrl}/sign-on/callback/${projectId}`

const COLUMNS = `s.project_id AS "projectId", s.key_id AS "keyId", s.title, s.issuer, s.client_id AS "clientId",
  s.client_secret AS "clientSecret", s.console_url AS "consoleUrl", s.scopes, s.groups_claim AS "groupsClaim",
  s.groups, s.session_hours AS "sessionHours", s.updated_at AS "updatedAt", k.revoked_at IS NULL AS "isOn"`
const FROM = 'FROM single_sign_ons s JOIN platform_keys k ON k.id = s.key_id'

type Row = Omit<SignOnSettings, 'groups'> & { readonly groups: string }
const settingsOf = ({ groups, ...row }: Row): SignOnSettings => ({ ...row, groups: JSON.parse(groups) })

export async function readSignOn(pool: Pool | ClientBase, projectId: string): Promise<SignOnSettings | null> {
  const { rows } = await pool.query<Row>(`SELECT ${COLUMNS} ${FROM} WHERE s.project_id = $1`, [projectId])
  return rows[0] ? settingsOf(rows[0]) : null
}

/** The settings of the only project that has some. Null when several do: then a page must name the project. */
export async function readOnlySignOn(pool: Pool): Promise<SignOnSettings | null> {
  const { rows } = await pool.query<Row>(`SELECT ${COLUMNS} ${FROM} WHERE k.revoked_at IS NULL LIMIT 2`)
  const [only, ...others] = rows
  return only && others.length === 0 ? settingsOf(only) : null
}

const secretContext = (projectId: string): SecretContext => ({
  ...{ projectId, environmentId: '', kind: 'single_sign_on.client_secret', name: '' },
})

/** The client's secret; null for a public client. Undefined when `SECRETS_KEYS` lacks the key that it is under. */
export const openClientSecret = (
  secrets: Secrets,
  { projectId, clientSecret }: Pick<SignOnSettings, 'projectId' | 'clientSecret'>,
): string | null | undefined =>
  clientSecret === null ? null : tryToOpen(secrets, clientSecret, secretContext(projectId))

interface Desk {
  readonly operatorPool: Pool
  readonly secrets: Secrets
  readonly webhook: Pick<Webhook, 'mayCall'>
  readonly issuerClient: Pick<IssuerClient, 'configurationOf'>
}

/** What the audit log has. */
const shown = ({ title, issuer, clientId, consoleUrl, scopes, groupsClaim, groups, sessionHours }: SignOnSettings) => ({
  ...{ title, issuer, clientId, consoleUrl, scopes: [...scopes], groupsClaim, sessionHours },
  groups: groups.map((one) => ({ ...one })),
})

/**
 * Sets how people sign in. Their sessions go on while the issuer, the client and the claim are the same and every group
 * has its role and its place: further groups may follow. Otherwise everybody signs in again. Returns the audit entry.
 */
export async function setSignOn(
  { operatorPool, secrets, webhook, issuerClient }: Desk,
  caller: PlatformCaller,
  { reason, clientSecret: sent, ...asked }: SetRequest,
): Promise<string> {
  const { projectId } = caller
  const { issuer, groups } = asked
  const faults: Fault[] = groups.flatMap(({ group }, index) =>
    groups.findIndex((one) => one.group === group) < index
      ? [{ path: `groups[${index}].group`, message: 'is there twice' }]
      : [],
  )
  refuseFaults([...faults, ...clientFaults(asked, webhook)])
  try {
    await issuerClient.configurationOf(issuer)
  } catch (error) {
    if (!(error instanceof IssuerFault)) throw error
    throw invalidRequest({ path: 'issuer', message: `is no OpenID Connect issuer that can be asked: ${error.message}` })
  }
  return inTransaction(operatorPool, async (client) => {
    const before = await lockSignOn(client, projectId)
    const isSameClient = before?.issuer === issuer && before.clientId === asked.clientId
    const kept = isSameClient ? before.clientSecret : null
    const clientSecret = sent === null ? kept : secrets.seal(sent, secretContext(projectId))
    const keptKeyId = before?.isOn && isSameClient && keepsRoles(before, asked) ? before.keyId : null
    const note = { createdBy: actorOf(caller), label: `single sign-on: ${asked.title}`.slice(0, 64) }
    const keyId = keptKeyId ?? (await createPlatformKey(client, projectId, 'admin', note)).id
    await client.query(
      `INSERT INTO single_sign_ons (project_id, key_id, title, issuer, client_id, client_secret, console_url, scopes,
         groups_claim, groups, session_hours)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
       ON CONFLICT (project_id) DO UPDATE SET key_id = excluded.key_id, title = excluded.title,
         issuer = excluded.issuer, client_id = excluded.client_id, client_secret = excluded.client_secret,
         console_url = excluded.console_url, scopes = excluded.scopes, groups_claim = excluded.groups_claim,
         groups = excluded.groups, session_hours = excluded.session_hours, updated_at = now()`,
      [
        ...[projectId, keyId, asked.title, issuer, asked.clientId, clientSecret, asked.consoleUrl, asked.scopes],
        ...[asked.groupsClaim, JSON.stringify(groups), asked.sessionHours],
      ],
    )
    const after = { ...asked, projectId, keyId, clientSecret, updatedAt: new Date(), isOn: true }
    const entry = { environmentId: null, action: ACTIONS.setSingleSignOn, target: 'project', reason }
    const auditId = await writeAudit(client, caller, {
      ...entry,
      before: before && shown(before),
      after: { ...shown(after), ...(sent !== null && { clientSecretChanged: true }) },
    })
    if (before && keptKeyId === null) await revokeTokens(client, caller, before)
    return auditId
  })
}

/** What is wrong with how an issuer is to be asked. */
export function clientFaults(
  { issuer, scopes }: Pick<SetRequest, 'issuer' | 'scopes'>,
  webhook: Desk['webhook'],
): Fault[] {
  const fault = newUrlFault(issuer, webhook.mayCall)
  return [
    ...(scopes.includes('openid') ? [] : [{ path: 'scopes', message: 'must contain openid' }]),
    ...(fault === undefined ? [] : [{ path: 'issuer', message: fault }]),
  ]
}

/** Whether everybody who has a role has the same one afterwards: the first group counts. */
const keepsRoles = (before: Pick<SignOnSettings, 'groups' | 'groupsClaim'>, after: typeof before): boolean =>
  before.groupsClaim === after.groupsClaim &&
  before.groups.every(({ group, role }, at) => after.groups[at]?.group === group && after.groups[at].role === role)

/** Ends single sign-on, and the sessions of everybody who is signed in so. Null when there was none. */
export function removeSignOn(
  pool: Pool,
  caller: PlatformCaller,
  { reason, allowLast }: RequestOf<typeof removeRequest>,
): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const before = await lockSignOn(client, caller.projectId)
    if (before === null) return null
    if (!allowLast) await requireOtherAdmin(client, caller.projectId, before.keyId)
    await client.query('DELETE FROM single_sign_ons WHERE project_id = $1', [caller.projectId])
    const entry = { environmentId: null, action: ACTIONS.removeSingleSignOn, target: 'project', reason }
    const auditId = await writeAudit(client, caller, { ...entry, before: shown(before), after: null })
    await revokeTokens(client, caller, before)
    return auditId
  })
}

/** Changes of one project run one after another. */
async function lockSignOn(client: ClientBase, projectId: string): Promise<SignOnSettings | null> {
  await client.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [projectId])
  return readSignOn(client, projectId)
}

/** After the audit entry: it could be the person's own token. */
const revokeTokens = (client: ClientBase, caller: PlatformCaller, { keyId }: SignOnSettings) =>
  client.query('UPDATE platform_keys SET revoked_at = now(), revoked_by = $2 WHERE id = $1 AND revoked_at IS NULL', [
    ...[keyId, actorOf(caller)],
  ])
