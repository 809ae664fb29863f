import type { Game } from '../harness/game.ts'
import { execute } from '../harness/sql.ts'

/**
 * Writes many long events directly to the database, all of one player if it is given. In a session of its own, whose
 * statements may take as long as a busy machine needs.
 */
export async function fill(
  { databaseUrl, environmentId }: Game,
  count: number,
  bytes: number,
  playerId?: string,
): Promise<void> {
  await execute(
    databaseUrl,
    `WITH moved AS (
       INSERT INTO streams AS s (environment_id, position) VALUES ($1, $2)
       ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position RETURNING position
     )
     INSERT INTO events (environment_id, position, type, player_id, data)
     SELECT $1, position - $2 + n, 'crossing', coalesce($4, gen_random_uuid()), '{"pad":"' || repeat('x', $3) || '"}'
     FROM moved, generate_series(1, $2::int) n`,
    [environmentId, count, bytes, playerId],
  )
}
