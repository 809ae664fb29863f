import type { ClientBase, Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import type { PlatformCaller, PlayerCaller } from '../auth/callers.ts'
import type { Part } from '../commit/group.ts'
import type { Statement } from '../commit/statement.ts'
import { columns } from '../commit/wanted.ts'
import { type Json, print } from '../json.ts'

/** What an operator changed. Before and after are what operators may see: never a secret. */
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
}

const COLUMNS = ['projectId', 'id', 'environmentId', 'actor', 'action', 'target', 'before', 'after', 'reason'] as const
const INSERT = `INSERT INTO audit_log (project_id, id, environment_id, actor, action, target, before, after, reason)`

/** Who is written down. A player is only for what it tried and may not. */
export type Actor = PlatformCaller | PlayerCaller

/** How the log names who did something. */
export const actorOf = (actor: Actor): string =>
  actor.kind === 'platform' ? `platform_key:${actor.keyId}` : `player:${actor.playerId}`

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
  }
}

/** Writes an entry in the transaction of the change that it tells of. */
export async function writeAudit(client: ClientBase | Pool, caller: Actor, entry: AuditEntry): Promise<void> {
  const row = rowOf(caller, uuidv7(), entry)
  await client.query(
    `${INSERT} VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    COLUMNS.map((name) => row[name]),
  )
}

/** The entries of a group, written with what they tell of. */
export class AuditLog implements Part {
  static readonly stage = 'records'
  private readonly rows: ReturnType<typeof rowOf>[] = []

  add(caller: PlatformCaller, entry: AuditEntry, id: string): void {
    this.rows.push(rowOf(caller, id, entry))
  }

  save(): Statement[] {
    if (this.rows.length === 0) return []
    return [
      {
        name: 'audit-save',
        text: `${INSERT}
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::text[], $9::text[])`,
        values: columns(this.rows, COLUMNS),
      },
    ]
  }
}
