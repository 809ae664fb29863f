import type { ClientBase, Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import type { PlatformCaller, PlayerCaller } from '../auth/callers.ts'
import { columns, PART_ORDER, type Part, type Statement } from '../commit/group.ts'
import { inTransaction } from '../db/transaction.ts'
import { isCleanText, type Json, print } from '../json.ts'

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

/** As long as an id. */
const MAX_TARGET = 36

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

/**
 * Rows of what is denied that one key may cause in a minute, and that all players of a project together may: what is more
 * is counted without its target, so that nobody fills the log with what it may not do.
 */
const MAX_DENIED_ROWS = 100

/** The actor that stands for players beyond those rows. */
const ANY_PLAYER = 'player:*'

const COUNT_DENIED = `UPDATE audit_log SET attempts = attempts + 1
  WHERE project_id = $1 AND minute = date_trunc('minute', now()) AND actor = $2 AND action = $3 AND target = $4`

/**
 * Writes down that a caller tried what it may not. Nothing else was changed. The same thing tried again within a minute
 * is counted in the same row.
 */
export async function auditDenied(pool: Pool, caller: Actor, action: string, target: string): Promise<void> {
  const environmentId = caller.kind === 'player' ? caller.environmentId : null
  // It was read by nobody yet: what cannot be stored is left out.
  const named = isCleanText(target) ? target.slice(0, MAX_TARGET) : ''
  const entry = { environmentId, action: `${action}.denied`, target: named, before: null, after: null }
  const row = rowOf(caller, uuidv7(), entry)

  const key = [row.projectId, row.actor, row.action, row.target]
  const { rowCount } = await pool.query({ name: 'audit-count-denied', text: COUNT_DENIED, values: key })
  if (rowCount !== 0) return
  await inTransaction(pool, async (client) => {
    const counted = caller.kind === 'player' ? 'player:' : row.actor
    // One after another, so that the rows of a minute can be counted. Minutes are those of the transaction's beginning.
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`audit ${row.projectId} ${counted}`])
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int FROM audit_log WHERE project_id = $1 AND minute = date_trunc('minute', now())
         AND (actor = $2 OR ($2 = 'player:' AND starts_with(actor, $2)))`,
      [row.projectId, counted],
    )
    const isOneTooMany = (rows[0]?.count ?? 0) >= MAX_DENIED_ROWS
    const shown = isOneTooMany ? { ...row, target: '', ...(caller.kind === 'player' && { actor: ANY_PLAYER }) } : row
    await client.query(
      `INSERT INTO audit_log (project_id, id, environment_id, actor, action, target, before, after, reason, minute)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, date_trunc('minute', now()))
       ON CONFLICT (project_id, minute, actor, action, target) WHERE minute IS NOT NULL
       DO UPDATE SET attempts = audit_log.attempts + 1`,
      COLUMNS.map((name) => shown[name]),
    )
  })
}

/** The entries of a group, written with what they tell of. */
export class AuditLog implements Part {
  static readonly order = PART_ORDER.auditLog
  private readonly rows: ReturnType<typeof rowOf>[] = []

  /** The id of an entry to come, for what else refers to it. */
  newId(): string {
    return uuidv7()
  }

  add(caller: PlatformCaller, entry: AuditEntry, id: string): void {
    this.rows.push(rowOf(caller, id, entry))
  }

  load(): Statement[] {
    return []
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
