import Papa from 'papaparse'
import type { Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import { Refusal } from '../../base/errors.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { requireKey } from '../../callers/keys.ts'
import { isUuid } from '../../declare/shape.ts'
import { FIRST } from './targets.ts'

interface ExportedJob {
  readonly jobId: string
  readonly reason: string | null
}

/**
 * The players of a job with their outcomes as pages of CSV, by their ids. The export is in the audit log before its first
 * page.
 */
export async function exportJob(
  pool: Pool,
  caller: PlatformCaller,
  { jobId, reason }: ExportedJob,
): Promise<AsyncGenerator<string>> {
  const { rows } = await pool.query<{ environmentId: string }>(
    `SELECT j.environment_id AS "environmentId" FROM grant_jobs j JOIN environments e ON e.id = j.environment_id
     WHERE j.id = $1 AND e.project_id = $2`,
    [isUuid(jobId) ? jobId : FIRST, caller.projectId],
  )
  const [job] = rows
  if (!job) throw new Refusal('notFound')
  const { environmentId } = job
  const entry = { environmentId, action: ACTIONS.exportGrantJob, target: jobId, before: null, after: null, reason }
  await writeAudit(pool, caller, entry)
  return pagesOf(pool, caller, jobId, await readRows(pool, jobId, FIRST))
}

/** Players of one page. No connection of the database is held while they are sent. */
const PAGE = 1_000
const COLUMNS = ['playerId', 'outcome', 'cause', 'amount', 'granted', 'messageId', 'actedAt'] as const
type Row = Readonly<Record<Exclude<(typeof COLUMNS)[number], 'playerId' | 'actedAt'>, string | null>> & {
  readonly playerId: string
  readonly actedAt: Date | null
}

async function readRows(pool: Pool, jobId: string, after: string): Promise<readonly Row[]> {
  const { rows } = await pool.query<Row>({
    name: 'grant-job-export',
    text: `SELECT player_id AS "playerId", outcome, cause, amount::text, given AS granted, message_id AS "messageId",
        acted_at AS "actedAt"
      FROM grant_job_players WHERE job_id = $1 AND player_id > $2 ORDER BY player_id LIMIT ${PAGE}`,
    values: [jobId, after],
  })
  return rows
}

async function* pagesOf(
  pool: Pool,
  caller: PlatformCaller,
  jobId: string,
  first: readonly Row[],
): AsyncGenerator<string> {
  yield `${COLUMNS.join(',')}\n`
  for (let rows = first; ; ) {
    if (rows.length > 0) yield linesOf(rows)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    await requireKey(pool, caller)
    rows = await readRows(pool, jobId, last.playerId)
  }
}

const linesOf = (rows: readonly Row[]): string =>
  `${Papa.unparse(
    rows.map((row) => COLUMNS.map((name) => (row[name] instanceof Date ? row[name].toISOString() : row[name]))),
    { newline: '\n' },
  )}\n`
