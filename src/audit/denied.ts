import type { Pool, PoolClient } from 'pg'
import { isCleanText } from '../base/json.ts'
import type { AuditDenied } from '../callers/access.ts'
import { newId } from '../db/ids.ts'
import { inTransaction } from '../db/transaction.ts'
import { type Actor, actorOf, operatorOf } from './audit-log.ts'

// Refused attempts. A caller that repeats them without end fills neither the log nor the pool.

/**
 * Rows per minute for one key, and for all players of a project together. Further attempts are counted without a
 * target.
 */
const MAX_ROWS = 100
/** As long as an id. */
const MAX_TARGET = 36
/** The actor of players' attempts beyond `MAX_ROWS`. */
const ANY_PLAYER = 'player:*'

interface Row {
  readonly projectId: string
  readonly id: string
  readonly environmentId: string | null
  readonly actor: string
  readonly action: string
  readonly target: string
  /** Null when several people made the attempt with one key. */
  operator: string | null
  operatorIsClaimed: boolean
  attempts: number
}

/** The callers whose rows are counted together: one key, or all players of a project. */
interface Source {
  readonly projectId: string
  /** The beginning of the names of its actors. */
  readonly actor: string
  readonly isPlayers: boolean
}

interface DeniedAction {
  readonly row: Row
  readonly written: () => void
  readonly failed: (error: unknown) => void
}

/** `onDenied` is called with the action of each attempt. */
export function createAuditDenied(pool: Pool, onDenied: (action: string) => void = () => {}): AuditDenied {
  /** Attempts that wait while others of their source are written. */
  const waiting = new Map<string, DeniedAction[]>()

  function auditDenied(caller: Actor, action: string, target: string): Promise<void> {
    onDenied(action)
    const isPlayers = caller.kind === 'player'
    const source = { projectId: caller.projectId, actor: isPlayers ? 'player:' : actorOf(caller), isPlayers }
    const row = {
      projectId: caller.projectId,
      id: newId(),
      environmentId: isPlayers ? caller.environmentId : null,
      actor: actorOf(caller),
      action: `${action}.denied`,
      // The target has not been validated: text that cannot be stored is left out.
      target: isCleanText(target) ? target.slice(0, MAX_TARGET) : '',
      ...operatorOf(caller),
      attempts: 1,
    }
    return new Promise((written, failed) => {
      const attempt = { row, written, failed }
      const others = waiting.get(lockOf(source))
      if (others) others.push(attempt)
      else void writeAll(source, [attempt])
    })
  }

  async function writeAll(source: Source, first: DeniedAction[]): Promise<void> {
    const lock = lockOf(source)
    for (let attempts = first; attempts.length > 0; attempts = waiting.get(lock) ?? []) {
      waiting.set(lock, [])
      const rows = attempts.map(({ row }) => row)
      try {
        await inTransaction(pool, (client) => write(client, source, rows))
        for (const { written } of attempts) written()
      } catch (error) {
        for (const { failed } of attempts) failed(error)
      }
    }
    waiting.delete(lock)
  }

  return auditDenied
}

const lockOf = ({ projectId, actor }: Source): string => `audit ${projectId} ${actor}`

const keyOf = ({ actor, action, target }: Pick<Row, 'actor' | 'action' | 'target'>): string =>
  JSON.stringify([actor, action, target])

const COLUMNS = [
  ...(['projectId', 'id', 'environmentId', 'actor', 'action', 'target', 'attempts'] as const),
  ...(['operator', 'operatorIsClaimed'] as const),
] as const

/** Whether the existing row has the same person. */
const IS_SAME = '((a.operator, a.operator_is_claimed) IS NOT DISTINCT FROM (g.operator, g.operator_is_claimed))'

/** Counts the same attempt again. Attempts of different people have no operator. */
function add(row: Row, { operator, operatorIsClaimed, attempts }: Row): void {
  row.attempts += attempts
  if (row.operator === operator && row.operatorIsClaimed === operatorIsClaimed) return
  row.operator = null
  row.operatorIsClaimed = false
}

async function write(client: PoolClient, source: Source, attempts: readonly Row[]): Promise<void> {
  // One transaction at a time, so that the rows of a minute can be counted. A transaction belongs to the minute in
  // which it began.
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lockOf(source)])
  const { rows: written } = await client.query<Pick<Row, 'actor' | 'action' | 'target'>>({
    name: 'audit-denied-written',
    text: `SELECT actor, action, target FROM audit_log WHERE project_id = $1 AND minute = date_trunc('minute', now())
      AND (actor = $2 OR ($3 AND starts_with(actor, $2)))`,
    values: [source.projectId, source.actor, source.isPlayers],
  })
  const known = new Set(written.map(keyOf))
  const rows = new Map<string, Row>()
  for (const attempt of attempts) {
    const isOneTooMany = known.size >= MAX_ROWS && !known.has(keyOf(attempt))
    const row = isOneTooMany
      ? { ...attempt, target: '', actor: source.isPlayers ? ANY_PLAYER : attempt.actor }
      : { ...attempt }
    const key = keyOf(row)
    const same = rows.get(key)
    if (same) add(same, row)
    else rows.set(key, row)
    known.add(key)
  }
  // Without ON CONFLICT, which would need a unique index without the id: partitions by time cannot have one.
  await client.query({
    name: 'audit-denied-write',
    text: `WITH given AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[],
          $8::text[], $9::boolean[])
          AS g(project_id, id, environment_id, actor, action, target, attempts, operator, operator_is_claimed)
      ), counted AS (
        UPDATE audit_log a SET attempts = a.attempts + g.attempts,
          operator = CASE WHEN ${IS_SAME} THEN a.operator END,
          operator_is_claimed = ${IS_SAME} AND a.operator_is_claimed
        FROM given g WHERE a.project_id = g.project_id AND a.minute = date_trunc('minute', now())
          AND a.actor = g.actor AND a.action = g.action AND a.target = g.target
        RETURNING g.id
      )
      INSERT INTO audit_log (project_id, id, environment_id, actor, action, target, attempts,
        operator, operator_is_claimed, minute)
      SELECT *, date_trunc('minute', now()) FROM given WHERE id NOT IN (SELECT id FROM counted)`,
    values: COLUMNS.map((name) => [...rows.values()].map((row) => row[name])),
  })
}
