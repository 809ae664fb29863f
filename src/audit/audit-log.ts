import type { ClientBase, Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { type Json, print } from '../base/json.ts'
import { type Access, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller, PlayerCaller } from '../callers/callers.ts'
import { newId } from '../db/ids.ts'
import { boolean, nullable, text, uuid } from '../transactions/columns.ts'
import type { Extension, Group } from '../transactions/group.ts'
import { keyOf } from '../transactions/player.ts'
import type { Statement } from '../transactions/statement.ts'
import { table } from '../transactions/table.ts'
import { ACTIONS } from './actions.ts'

/** The operator that reads the actions on a player. The attempt of another caller is in the audit log. */
export const requireReaderOfActions = (access: Access, playerId: string): Promise<PlatformCaller> =>
  requirePlatform(access, 'act', { action: ACTIONS.readAuditLog, target: playerId })

/** A change by an operator. `before` and `after` never contain secrets. */
export interface AuditEntry {
  readonly environmentId: string | null
  /** What was done, such as `auth_providers.set`. */
  readonly action: string
  /** What it was done to, such as the name of an environment or the id of a player. */
  readonly target: string
  readonly before: Json
  readonly after: Json
  /** Why, in the operator's words. */
  readonly reason?: string | null
  /** The entry of the action that this one undoes. */
  readonly undoes?: string | null
}

const auditLog = table('audit_log', {
  owner: null,
  key: { projectId: uuid, id: uuid },
  columns: {
    environmentId: nullable(uuid),
    actor: text,
    action: text,
    target: text,
    before: nullable(text),
    after: nullable(text),
    reason: nullable(text),
    operator: nullable(text),
    operatorIsClaimed: boolean,
    undoes: nullable(uuid),
  },
  kind: 'append',
})
const whatItWas = auditLog.one({ columns: ['action', 'target', 'before', 'after'], isKept: false })
const undoOf = auditLog.one({ by: ['projectId', 'undoes'], columns: ['id'], isKept: false })

/** Asks for an entry, and whether another one undoes it. Two undos of a group would not see each other. */
export function askUndo(group: Group, projectId: string, id: string) {
  const entry = group.unowned.one(whatItWas, keyOf(projectId, id))
  const undo = group.unowned.one(undoOf, keyOf(projectId, id))
  return {
    get entry() {
      return entry.value
    },
    get isUndone() {
      return undo.value !== null
    },
  }
}

/** The actor of an entry. A player has entries only for refused attempts, and for its own deletion. */
export type Actor = PlatformCaller | Omit<PlayerCaller, 'expiresAt' | 'familyId'>

export const actorOf = (actor: Actor): string =>
  actor.kind === 'platform' ? `platform_key:${actor.keyId}` : `player:${actor.playerId}`

/** The person behind a call, as the log has it. Null for a player, and for a key whose call names no person. */
export function operatorOf(actor: Actor): { operator: string | null; operatorIsClaimed: boolean } {
  const operator = actor.kind === 'platform' ? actor.operator : undefined
  return { operator: operator?.name ?? null, operatorIsClaimed: operator?.isClaimed ?? false }
}

function rowOf(actor: Actor, id: string, entry: AuditEntry) {
  return {
    projectId: actor.projectId,
    id,
    environmentId: entry.environmentId,
    actor: actorOf(actor),
    action: entry.action,
    target: entry.target,
    before: entry.before === null ? null : print(entry.before),
    after: entry.after === null ? null : print(entry.after),
    reason: entry.reason ?? null,
    undoes: entry.undoes ?? null,
    ...operatorOf(actor),
  }
}

/** The entry of a change. Null when nothing was written. */
export interface Audited {
  readonly audit: { readonly projectId: string; readonly id: string } | null
}

/**
 * Writes an entry in the transaction of its change, and refuses a caller whose access has ended since its call began.
 * Returns the entry's id.
 */
export async function writeAudit(
  client: ClientBase | Pool,
  caller: PlatformCaller,
  entry: AuditEntry,
): Promise<string> {
  await requireAccess(client, caller)
  return recordAudit(client, caller, entry)
}

/** The same for work that was planned, which belongs to the project: its planner had access when it was planned. */
export async function recordAudit(
  client: ClientBase | Pool,
  caller: PlatformCaller,
  entry: AuditEntry,
): Promise<string> {
  const id = newId()
  for (const statement of auditLog.save([rowOf(caller, id, entry)])) await client.query(statement)
  return id
}

async function requireAccess(client: ClientBase | Pool, { keyId, expiresAt }: PlatformCaller): Promise<void> {
  const { rowCount } = await client.query({
    name: 'key-of-entry',
    text: 'SELECT FROM platform_keys WHERE id = $1 AND revoked_at IS NULL',
    values: [keyId],
  })
  if (rowCount === 0 || (expiresAt !== undefined && expiresAt <= Date.now())) throw new Refusal('invalidToken')
}

/** The entries of a group, written together with its changes. */
export class AuditLog implements Extension {
  static readonly stage = 'records'
  private readonly rows: ReturnType<typeof rowOf>[] = []

  add(actor: Actor, entry: AuditEntry, id: string): void {
    this.rows.push(rowOf(actor, id, entry))
  }

  save(): Statement[] {
    return auditLog.save(this.rows)
  }
}
