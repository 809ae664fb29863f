import type { ClientBase, Pool } from 'pg'
import type { Webhook } from '../../accounts/webhook/webhook.ts'
import { newUrlFault } from '../../accounts/webhook/webhook-url.ts'
import { ACTIONS } from '../../audit/actions.ts'
import { actorOf, writeAudit } from '../../audit/audit-log.ts'
import { type Fault, invalidRequest } from '../../base/errors.ts'
import { MAX_LABEL } from '../../base/limits.ts'
import { type SecretContext, type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { createPlatformKey } from '../../callers/keys.ts'
import { roleIncludes } from '../../callers/roles.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type RequestOf, refuseFaults } from '../../declare/shape.ts'
import { requireOtherAdmin } from '../projects/manage-keys.ts'
import { IssuerFault } from './issuer-calls.ts'
import type { IssuerClient } from './issuer-client.ts'
import type { deleteRequest, GroupRole, SetRequest } from './requests.ts'

// The settings of single sign-on, one for each project. The sessions of each group have a platform key of their own, which
// nobody holds: a change ends those of the groups whose role may change, and no others.

export interface SignOnGroup extends GroupRole {
  readonly keyId: string
}

export interface SignOnSettings {
  readonly projectId: string
  readonly title: string
  readonly issuer: string
  readonly clientId: string
  /** Sealed; null for a public client. */
  readonly clientSecret: string | null
  readonly consoleUrl: string
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  readonly groups: readonly SignOnGroup[]
  readonly sessionHours: number
  readonly updatedAt: Date
  /** The keys of its groups that are not revoked. Without any, nobody can sign in. */
  readonly validKeyIds: readonly string[]
}

export const isOn = ({ validKeyIds }: Pick<SignOnSettings, 'validKeyIds'>): boolean => validKeyIds.length > 0

/** One for each project: an issuer of one project must not get the answers of another's. */
export const redirectUriOf = ({ consoleUrl, projectId }: Pick<SignOnSettings, 'consoleUrl' | 'projectId'>): string =>
  `${consoleUrl}/sign-on/callback/${projectId}`

const KEYS = `SELECT k.id FROM jsonb_array_elements(s.groups::jsonb) one
  JOIN platform_keys k ON k.id = (one->>'keyId')::uuid WHERE k.revoked_at IS NULL`
const COLUMNS = `s.project_id AS "projectId", s.title, s.issuer, s.client_id AS "clientId", s.client_secret AS "clientSecret", s.console_url AS "consoleUrl", s.scopes, s.groups_claim AS "groupsClaim",
  s.groups, s.session_hours AS "sessionHours", s.updated_at AS "updatedAt", ARRAY(${KEYS}) AS "validKeyIds"`

type Row = Omit<SignOnSettings, 'groups'> & { readonly groups: string }
const settingsOf = ({ groups, ...row }: Row): SignOnSettings => ({ ...row, groups: JSON.parse(groups) })

export async function readSignOn(pool: Pool | ClientBase, projectId: string): Promise<SignOnSettings | null> {
  const { rows } = await pool.query<Row>(`SELECT ${COLUMNS} FROM single_sign_ons s WHERE s.project_id = $1`, [
    projectId,
  ])
  return rows[0] ? settingsOf(rows[0]) : null
}

/** The settings of the only project that has some. Null when several do: then a page must name the project. */
export async function readOnlySignOn(pool: Pool): Promise<SignOnSettings | null> {
  const { rows } = await pool.query<Row>(`SELECT ${COLUMNS} FROM single_sign_ons s WHERE EXISTS (${KEYS}) LIMIT 2`)
  const [only, ...others] = rows
  return only && others.length === 0 ? settingsOf(only) : null
}

const secretContext = (projectId: string): SecretContext => ({
  projectId,
  environmentId: '',
  kind: 'single_sign_on.client_secret',
  name: '',
})

/** The client's secret; null for a public client. Undefined when `SECRETS_KEYS` lacks the key that it is under. */
export const openClientSecret = (
  secrets: Secrets,
  { projectId, clientSecret }: Pick<SignOnSettings, 'projectId' | 'clientSecret'>,
): string | null | undefined =>
  clientSecret === null ? null : tryToOpen(secrets, clientSecret, secretContext(projectId))

interface Deps {
  readonly operatorPool: Pool
  readonly secrets: Secrets
  readonly webhook: Pick<Webhook, 'mayCall'>
  readonly issuerClient: Pick<IssuerClient, 'configurationOf'>
}

type Shown = Omit<SignOnSettings, 'projectId' | 'clientSecret' | 'groups' | 'updatedAt' | 'validKeyIds'> & {
  readonly groups: readonly GroupRole[]
}

/** What the audit log has. */
const shown = ({ title, issuer, clientId, consoleUrl, scopes, groupsClaim, groups, sessionHours }: Shown) => ({
  title,
  issuer,
  clientId,
  consoleUrl,
  scopes: [...scopes],
  groupsClaim,
  sessionHours,
  groups: groups.map(({ group, role }) => ({ group, role })),
})

/**
 * Sets how people sign in. While the issuer, the client and the claim are the same, the sessions of each group go on whose
 * people keep its role. Returns the audit entry.
 */
export async function setSignOn(
  { operatorPool, secrets, webhook, issuerClient }: Deps,
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
    const stored = isSameClient ? before.clientSecret : null
    const clientSecret = sent === null ? stored : secrets.seal(sent, secretContext(projectId))
    const kept = before && isSameClient && before.groupsClaim === asked.groupsClaim ? keptKeys(before, groups) : []
    const withKeys: SignOnGroup[] = []
    for (const [at, { group, role }] of groups.entries()) {
      const note = { createdBy: actorOf(caller), label: `single sign-on: ${group}`.slice(0, MAX_LABEL) }
      const keyId = kept[at] ?? (await createPlatformKey(client, projectId, role, note)).id
      withKeys.push({ group, role, keyId })
    }
    await client.query(
      `INSERT INTO single_sign_ons (project_id, title, issuer, client_id, client_secret, console_url, scopes,
         groups_claim, groups, session_hours)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       ON CONFLICT (project_id) DO UPDATE SET title = excluded.title,
         issuer = excluded.issuer, client_id = excluded.client_id, client_secret = excluded.client_secret,
         console_url = excluded.console_url, scopes = excluded.scopes, groups_claim = excluded.groups_claim,
         groups = excluded.groups, session_hours = excluded.session_hours, updated_at = now()`,
      [
        projectId,
        asked.title,
        issuer,
        asked.clientId,
        clientSecret,
        asked.consoleUrl,
        asked.scopes,
        asked.groupsClaim,
        JSON.stringify(withKeys),
        asked.sessionHours,
      ],
    )
    const entry = { environmentId: null, action: ACTIONS.setSingleSignOn, target: 'project', reason }
    const auditId = await writeAudit(client, caller, {
      ...entry,
      before: before && shown(before),
      after: { ...shown(asked), ...(sent !== null && { clientSecretChanged: true }) },
    })
    const ended = keysOf(before?.groups ?? []).filter((keyId) => !kept.includes(keyId))
    await revokeKeys(client, caller, ended)
    return auditId
  })
}

/** What is wrong with how an issuer is to be asked. */
export function clientFaults(
  { issuer, scopes }: Pick<SetRequest, 'issuer' | 'scopes'>,
  webhook: Deps['webhook'],
): Fault[] {
  const fault = newUrlFault(issuer, webhook.mayCall)
  return [
    ...(scopes.includes('openid') ? [] : [{ path: 'scopes', message: 'must contain openid' }]),
    ...(fault === undefined ? [] : [{ path: 'issuer', message: fault }]),
  ]
}

/**
 * For each group, the key whose sessions go on; undefined for none. A person has the role of its first group. So a group
 * keeps its people when no group that gives less has come before it.
 */
function keptKeys(
  { groups: before, validKeyIds }: SignOnSettings,
  after: readonly GroupRole[],
): (string | undefined)[] {
  const placeOf = (one: GroupRole) => before.findIndex(({ group }) => group === one.group)
  const kept = after.map((one, at) => {
    const was = placeOf(one)
    const key = before[was]?.role === one.role ? before[was].keyId : undefined
    const isLess = (first: GroupRole) => {
      const place = placeOf(first)
      return !(place >= 0 && place < was) && !roleIncludes(first.role, one.role)
    }
    return key !== undefined && validKeyIds.includes(key) && !after.slice(0, at).some(isLess) ? key : undefined
  })
  // Groups may share a key: it ends for all of them.
  const ended = before.filter((one) => !after.some((other, at) => other.group === one.group && kept[at] === one.keyId))
  return kept.map((key) => (ended.some(({ keyId }) => keyId === key) ? undefined : key))
}

const keysOf = (groups: readonly SignOnGroup[]): string[] => [...new Set(groups.map(({ keyId }) => keyId))]

/** Ends single sign-on, and the sessions of everybody who is signed in so. Null when there was none. */
export function deleteSignOn(
  pool: Pool,
  caller: PlatformCaller,
  { reason, allowLast }: RequestOf<typeof deleteRequest>,
): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const before = await lockSignOn(client, caller.projectId)
    if (before === null) return null
    if (!allowLast) await requireOtherAdmin(client, caller.projectId, keysOf(before.groups))
    await client.query('DELETE FROM single_sign_ons WHERE project_id = $1', [caller.projectId])
    const entry = { environmentId: null, action: ACTIONS.deleteSingleSignOn, target: 'project', reason }
    const auditId = await writeAudit(client, caller, { ...entry, before: shown(before), after: null })
    await revokeKeys(client, caller, keysOf(before.groups))
    return auditId
  })
}

/** Changes of one project run one after another. */
async function lockSignOn(client: ClientBase, projectId: string): Promise<SignOnSettings | null> {
  await client.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [projectId])
  return readSignOn(client, projectId)
}

/** After the audit entry: it could be the person's own token. */
const revokeKeys = (client: ClientBase, caller: PlatformCaller, keyIds: readonly string[]) =>
  client.query(
    'UPDATE platform_keys SET revoked_at = now(), revoked_by = $2 WHERE id = ANY ($1) AND revoked_at IS NULL',
    [keyIds, actorOf(caller)],
  )
