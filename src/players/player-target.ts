import type { Pool } from 'pg'
import { type Fault, Refusal } from '../base/errors.ts'
import { MAX_SUBJECT } from '../base/limits.ts'
import { providerOfIdentity } from '../declare/common.ts'
import { nested, optional, type RequestOf, shape, text, uuid } from '../declare/shape.ts'
import type { PlayerRef } from './player-status.ts'

// How game servers name a player: by its id, or by an identity, which is the studio's own id.

const identity = {
  provider: providerOfIdentity('The provider: '),
  subject: text("The studio's own id of the player.", { max: MAX_SUBJECT }),
}

export const identityRequest = shape(identity, {
  name: 'FindPlayerRequest',
  example: { provider: 'custom', subject: 'player-1' },
})

/** A player by its id, or by an identity. `checkTarget` finds a target that is neither or both. */
export const targetShape = shape({
  playerId: optional(uuid('The id of the player. Leave it out with `provider` and `subject`.')),
  provider: optional(identity.provider),
  subject: optional(identity.subject),
})
export type PlayerTarget = RequestOf<typeof targetShape>

export function checkTarget({ playerId, provider, subject }: PlayerTarget): readonly Fault[] {
  if (playerId !== null) {
    const isBoth = provider !== null || subject !== null
    return isBoth ? [{ path: '', message: 'must have either playerId, or provider and subject' }] : []
  }
  if (provider === null && subject === null)
    return [{ path: '', message: 'must have playerId, or provider and subject' }]
  if (provider === null) return [{ path: 'provider', message: 'is required with subject' }]
  return subject === null ? [{ path: 'subject', message: 'is required with provider' }] : []
}

export const playerTarget = nested('The player: `playerId`, or `provider` and `subject`.', targetShape, checkTarget)

/**
 * The players of targets, in their order, with one statement. Null for a player that the environment does not have. The
 * status of a player is not checked: commands do that. A player that is found by an identity comes with those who had it
 * before: a trigger notes them.
 */
export async function findTargets(
  pool: Pool,
  environmentId: string,
  targets: readonly PlayerTarget[],
): Promise<readonly (PlayerRef | null)[]> {
  const { rows } = await pool.query<{ id: string | null; formers: string[] | null }>({
    name: 'players-of-targets',
    text: `SELECT coalesce(p.id, i.player_id) AS id, f.formers
      FROM unnest($2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY AS t(player_id, provider, subject, n)
      LEFT JOIN LATERAL (
        SELECT id FROM players p WHERE p.environment_id = $1 AND p.id = t.player_id LIMIT 1
      ) p ON true
      LEFT JOIN LATERAL (
        SELECT player_id FROM identities i
        WHERE i.environment_id = $1 AND i.provider = t.provider AND i.subject = t.subject LIMIT 1
      ) i ON true
      LEFT JOIN LATERAL (
        SELECT array_agg(f.player_id::text ORDER BY f.player_id) AS formers FROM former_identities f
        WHERE f.environment_id = $1 AND f.player_id <> i.player_id
          AND f.identity = sha256(convert_to(t.provider || ' ' || t.subject, 'UTF8'))
      ) f ON true
      ORDER BY t.n`,
    values: [
      environmentId,
      targets.map(({ playerId }) => playerId),
      targets.map(({ provider }) => provider),
      targets.map(({ subject }) => subject),
    ],
  })
  return rows.map(({ id, formers }) =>
    id === null ? null : { environmentId, playerId: id, ...(formers && { formers }) },
  )
}

/** The player of one target. Refuses a missing one. */
export async function findTarget(pool: Pool, environmentId: string, target: PlayerTarget): Promise<PlayerRef> {
  const [found] = await findTargets(pool, environmentId, [target])
  if (!found) throw new Refusal('playerNotFound')
  return found
}
