import type { Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { MAX_IDENTITY_PROVIDER, MAX_SUBJECT } from '../base/limits.ts'
import { type RequestOf, shape, text } from '../declare/shape.ts'
import type { PlayerRef } from './player-status.ts'

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

/** An identity, as game servers name a player. */
export const identityRequest = shape(
  {
    provider: text('The provider: `custom`, or `custom:` and the name of another one.', { max: MAX_IDENTITY_PROVIDER }),
    subject: text("The studio's own id of the player.", { max: MAX_SUBJECT }),
  },
  { name: 'FindPlayerRequest', example: { provider: 'custom', subject: 'player-1' } },
)

/** The player of an identity. */
export async function findByIdentity(
  pool: Pool,
  environmentId: string,
  { provider, subject }: RequestOf<typeof identityRequest>,
): Promise<PlayerRef> {
  const { rows } = await pool.query<{ player_id: string }>({
    name: 'player-of-identity',
    text: 'SELECT player_id FROM identities WHERE environment_id = $1 AND provider = $2 AND subject = $3',
    values: [environmentId, provider, subject],
  })
  const [found] = rows
  if (!found) throw new Refusal('playerNotFound')
  return { environmentId, playerId: found.player_id }
}
