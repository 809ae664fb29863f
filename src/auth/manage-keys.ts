import type { Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { actorOf, writeAudit } from '../audit/audit-log.ts'
import { inTransaction } from '../db/transaction.ts'
import { Refusal } from '../errors.ts'
import type { PlatformCaller, Role } from './callers.ts'
import { createPlatformKey, createSdkKey, type NewKey } from './keys.ts'

// What an admin does to the keys of its project, each with its audit row. A key is shown once, when it is made.

/** Which kind of key: those of game clients, or those of operators. */
export type KeyKind = 'sdk' | 'platform'

export function issueSdkKey(
  pool: Pool,
  caller: PlatformCaller,
  { environmentId, reason }: { environmentId: string; reason: string },
): Promise<NewKey> {
  return inTransaction(pool, async (client) => {
    const made = await createSdkKey(client, environmentId, actorOf(caller))
    await writeAudit(client, caller, {
      environmentId,
      action: ACTIONS.createSdkKey,
      target: made.id,
      before: null,
      after: { prefix: made.prefix },
      reason,
    })
    return made
  })
}

export function issuePlatformKey(
  pool: Pool,
  caller: PlatformCaller,
  { role, reason }: { role: Role; reason: string },
): Promise<NewKey> {
  return inTransaction(pool, async (client) => {
    const made = await createPlatformKey(client, caller.projectId, role, actorOf(caller))
    await writeAudit(client, caller, {
      environmentId: null,
      action: ACTIONS.createPlatformKey,
      target: made.id,
      before: null,
      after: { prefix: made.prefix, role },
      reason,
    })
    return made
  })
}

/** Whoever revoked it first did it. */
const FIRST = 'CASE WHEN k.revoked_at IS NULL THEN $3 ELSE k.revoked_by END'

const REVOKE: Readonly<Record<KeyKind, string>> = {
  sdk: `UPDATE sdk_keys k SET revoked_at = coalesce(k.revoked_at, now()), revoked_by = ${FIRST} FROM environments e
    WHERE k.id = $2 AND e.id = k.environment_id AND e.project_id = $1 RETURNING k.prefix, k.environment_id`,
  platform: `UPDATE platform_keys k SET revoked_at = coalesce(k.revoked_at, now()), revoked_by = ${FIRST}
    WHERE k.id = $2 AND k.project_id = $1 RETURNING k.prefix, NULL::uuid AS environment_id`,
}

/** Ends a key: its next call is refused, on every instance, and what it has open closes within two seconds. */
export function revokeKey(
  pool: Pool,
  caller: PlatformCaller,
  { kind, keyId, reason }: { kind: KeyKind; keyId: string; reason: string },
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ prefix: string; environment_id: string | null }>(REVOKE[kind], [
      caller.projectId,
      keyId,
      actorOf(caller),
    ])
    const [revoked] = rows
    if (!revoked) throw new Refusal('notFound')
    await writeAudit(client, caller, {
      environmentId: revoked.environment_id,
      action: `${kind}_key.revoke`,
      target: keyId,
      before: { prefix: revoked.prefix },
      after: null,
      reason,
    })
  })
}
