import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { actorOf, writeAudit } from '../../audit/audit-log.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { createPlatformKey, createSdkKey, createServerKey, type NewKey } from '../../callers/keys.ts'
import type { IssuedOperatorToken } from '../../callers/operator-tokens.ts'
import { type Role, roleIncludes } from '../../callers/roles.ts'
import type { Tokens } from '../../callers/tokens.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Changed } from '../../declare/change.ts'

// Changes to the keys of a project, each with its audit row. A key is shown once, when it is created.

export type KeyKind = 'sdk' | 'server' | 'platform'

const CREATE = { sdk: createSdkKey, server: createServerKey }

export async function issueEnvironmentKey(
  client: ClientBase,
  caller: PlatformCaller,
  kind: keyof typeof CREATE,
  { environmentId, label }: { readonly environmentId: string; readonly label: string | null },
): Promise<Changed<NewKey>> {
  const made = await CREATE[kind](client, environmentId, { createdBy: actorOf(caller), label })
  const after = { prefix: made.prefix, ...(label !== null && { label }) }
  return { outcome: made, target: made.id, before: null, after }
}

export async function issuePlatformKey(
  client: ClientBase,
  caller: PlatformCaller,
  { role, label }: { readonly role: Role; readonly label: string | null },
): Promise<Changed<NewKey>> {
  // Nobody makes a key with rights that the caller does not have.
  if (!roleIncludes(caller.role, role)) throw new Refusal('forbidden')
  const made = await createPlatformKey(client, caller.projectId, role, { createdBy: actorOf(caller), label })
  const after = { prefix: made.prefix, role, ...(label !== null && { label }) }
  return { outcome: made, target: made.id, before: null, after }
}

const findOfEnvironment = (kind: keyof typeof CREATE) =>
  `SELECT k.prefix, k.environment_id FROM ${kind}_keys k JOIN environments e ON e.id = k.environment_id
    WHERE e.project_id = $1 AND k.id = $2 FOR NO KEY UPDATE OF k`

const FIND: Readonly<Record<KeyKind, string>> = {
  sdk: findOfEnvironment('sdk'),
  server: findOfEnvironment('server'),
  platform: `SELECT k.prefix, NULL::uuid AS environment_id FROM platform_keys k
    WHERE k.project_id = $1 AND k.id = $2 FOR NO KEY UPDATE`,
}

/**
 * Revokes a key and the tokens that were made with it. The next call is refused on every instance; open sockets and
 * streams close within two seconds. Returns the id of the audit entry.
 */
export function revokeKey(
  pool: Pool,
  caller: PlatformCaller,
  kind: KeyKind,
  {
    id: keyId,
    reason,
    allowLast = false,
  }: { readonly id: string; readonly reason: string; readonly allowLast?: boolean },
): Promise<string> {
  return inTransaction(pool, async (client) => {
    if (kind === 'platform')
      await client.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [caller.projectId])
    const { rows } = await client.query<{ prefix: string; environment_id: string | null }>(FIND[kind], [
      caller.projectId,
      keyId,
    ])
    const [found] = rows
    if (!found) throw new Refusal('notFound')
    if (kind === 'platform' && !allowLast) await requireOtherAdmin(client, caller.projectId, [keyId])
    // Before the revocation: a key may revoke itself.
    const auditId = await writeAudit(client, caller, {
      environmentId: found.environment_id,
      action: `${kind}_key.revoke`,
      target: keyId,
      before: { prefix: found.prefix },
      after: null,
      reason,
    })
    // A second revocation changes nothing.
    await client.query(
      `UPDATE ${kind}_keys SET revoked_at = now(), revoked_by = $2 WHERE id = $1 AND revoked_at IS NULL`,
      [keyId, actorOf(caller)],
    )
    return auditId
  })
}

/**
 * Refuses to end keys of admins that are the last way into a project: of somebody who holds one, or of a group of single
 * sign-on. Lock the project first: two admins must not each leave the other as the last one.
 */
export async function requireOtherAdmin(
  client: ClientBase,
  projectId: string,
  keyIds: readonly string[],
): Promise<void> {
  // The key of a group of single sign-on has the role of the group.
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM platform_keys WHERE project_id = $1 AND role = 'admin' AND revoked_at IS NULL`,
    [projectId],
  )
  if (rows.length === 0 || rows.some(({ id }) => !keyIds.includes(id))) return
  const message = `is the last way in for admins. Make another admin key first, or send allowLast: true. Afterwards only the command line makes one: npx tierway key create --kind platform --project ${projectId}`
  throw invalidRequest({ path: 'allowLast', message })
}

export interface OperatorTokenRequest {
  /** At most the role of the key. */
  readonly role: Role
  readonly seconds: number
  readonly actor: string
  readonly reason: string
}

/** Makes a token for a person, for whom the key vouches. Returns once the token is in the audit log. */
export async function issueOperatorToken(
  { operatorPool, tokens }: { readonly operatorPool: Pool; readonly tokens: Tokens },
  caller: PlatformCaller,
  { role, seconds, actor, reason }: OperatorTokenRequest,
  person?: string,
): Promise<IssuedOperatorToken & { readonly auditId: string }> {
  const { projectId, keyId } = caller
  const issued = await tokens.issueOperatorToken({ projectId, keyId, role, actor, person, seconds })
  const { tokenId, expiresAt } = issued
  const auditId = await writeAudit(operatorPool, caller, {
    environmentId: null,
    action: ACTIONS.createOperatorToken,
    target: keyId,
    before: null,
    after: { tokenId, role, actor, expiresAt: expiresAt.toISOString() },
    reason,
  })
  return { ...issued, auditId }
}
