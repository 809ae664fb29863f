import type { Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import type { PlayerRef } from './player-status.ts'

/** Players of a project, by the ids of the list that exist, in lower case. */
export async function findPlayers(
  pool: Pool,
  projectId: string,
  playerIds: readonly string[],
): Promise<ReadonlyMap<string, PlayerRef>> {
  const { rows } = await pool.query<{ environment_id: string; id: string }>({
    name: 'players-of-project',
    text: `SELECT p.environment_id, p.id FROM environments e CROSS JOIN unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
        SELECT environment_id, id FROM players p WHERE p.environment_id = e.id AND p.id = k.id LIMIT 1
      ) p WHERE e.project_id = $1`,
    values: [projectId, playerIds],
  })
  return new Map(rows.map(({ environment_id: environmentId, id: playerId }) => [playerId, { environmentId, playerId }]))
}

/** A player of a project, by its id. A player of another project counts as missing. */
export async function findPlayer(pool: Pool, projectId: string, playerId: string): Promise<PlayerRef> {
  const { rows } = await pool.query<{ environment_id: string; id: string }>({
    name: 'player-of-project',
    text: `SELECT p.environment_id, p.id FROM environments e CROSS JOIN LATERAL (
        SELECT environment_id, id FROM players p WHERE p.environment_id = e.id AND p.id = $2 LIMIT 1
      ) p WHERE e.project_id = $1`,
    values: [projectId, playerId],
  })
  const [found] = rows
  if (!found) throw new Refusal('playerNotFound')
  return { environmentId: found.environment_id, playerId: found.id }
}
