import type { Pool } from 'pg'

/** The latest settlements that a list has. */
export const MOST_SETTLEMENTS = 100

export interface Settlement {
  readonly scenarioId: string
  readonly nodeId: string
  readonly dueAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly players: string
  readonly tiers: string
  readonly failed: string
}

/** The settlements of an environment, or of one of its scenarios, the latest first. */
export async function listSettlements(
  pool: Pool,
  environmentId: string,
  scenarioId: string | null,
): Promise<Settlement[]> {
  const { rows } = await pool.query<Settlement>(
    `SELECT scenario_id AS "scenarioId", node_id AS "nodeId", due_at AS "dueAt", started_at AS "startedAt",
       finished_at AS "finishedAt", players, tiers, failed
     FROM season_settlements WHERE environment_id = $1 AND ($2::text IS NULL OR scenario_id = $2)
     ORDER BY due_at DESC, scenario_id, node_id LIMIT ${MOST_SETTLEMENTS}`,
    [environmentId, scenarioId],
  )
  return rows
}
