import type { Pool } from 'pg'
import type { FailureCause, Outcome } from './outcomes.ts'

/** A player of a grant job, and what became of it. */
export interface JobPlayer {
  readonly environmentId: string
  readonly playerId: string
  readonly amount: string | null
  readonly outcome: Outcome | null
  readonly cause: FailureCause | null
  readonly given: string | null
  readonly messageId: string | null
  readonly actedAt: Date | null
}

export interface CauseCount {
  readonly cause: FailureCause
  readonly players: number
}

const PLAYER_COLUMNS = `g.environment_id AS "environmentId", g.player_id AS "playerId", g.amount::text AS amount, g.outcome, g.cause,
  g.given, g.message_id AS "messageId", g.acted_at AS "actedAt"`

export async function countFailures(pool: Pool, jobId: string): Promise<CauseCount[]> {
  const { rows } = await pool.query<CauseCount>(
    `SELECT cause, count(*)::int AS players FROM grant_job_players WHERE job_id = $1 AND outcome = 'failed'
     GROUP BY cause ORDER BY players DESC, cause`,
    [jobId],
  )
  return rows
}

export async function readLargest(pool: Pool, jobId: string): Promise<JobPlayer[]> {
  const { rows } = await pool.query<JobPlayer>(
    `SELECT ${PLAYER_COLUMNS} FROM grant_job_players g WHERE job_id = $1 ORDER BY g.amount DESC NULLS LAST, player_id LIMIT 10`,
    [jobId],
  )
  return rows
}

interface PlayersPage {
  readonly outcomes: readonly string[] | null
  readonly after: string | null
  readonly most: number
}

export async function readJobPlayers(
  pool: Pool,
  jobId: string,
  { outcomes, after, most }: PlayersPage,
): Promise<JobPlayer[]> {
  const { rows } = await pool.query<JobPlayer>(
    `SELECT ${PLAYER_COLUMNS} FROM grant_job_players g WHERE job_id = $1 AND ($2::uuid IS NULL OR player_id > $2)
       AND ($3::text[] IS NULL OR outcome = ANY ($3)) ORDER BY player_id LIMIT $4`,
    [jobId, after, outcomes, most],
  )
  return rows
}
