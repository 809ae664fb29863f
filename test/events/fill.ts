import type { Game } from '../harness/game.ts'
import { execute } from '../harness/sql.ts'

interface Filling {
  /** The length of the data of each event, about. */
  readonly bytes?: number
  readonly type?: 'crossing' | 'player.created'
  /** The player of one event in `every`. All others have a player each. */
  readonly playerId?: string
  readonly every?: number
}

/**
 * Writes events directly to the database and returns their rows. Its session has no time limit: on a busy machine, long
 * events take longer than a statement of the service may.
 */
export async function fill(
  { databaseUrl, environmentId }: Pick<Game, 'databaseUrl' | 'environmentId'>,
  count: number,
  { bytes = 0, type = 'crossing', playerId, every = 1 }: Filling = {},
) {
  const { rows } = await execute(
    databaseUrl,
    `WITH moved AS (
       INSERT INTO streams AS s (environment_id, position, reached_at) VALUES ($1, $2, now())
       ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position, reached_at = now()
       RETURNING position
     )
     INSERT INTO events (environment_id, position, type, player_id, data)
     SELECT $1, position - $2 + n, $3, coalesce(CASE WHEN n % $6 = 0 THEN $4::uuid END, gen_random_uuid()),
       '{"pad":"' || repeat('x', $5) || '"}'
     FROM moved, generate_series(1, $2::int) n
     RETURNING position, type, player_id, occurred_at`,
    [environmentId, count, type, playerId, bytes, every],
  )
  return rows
}
