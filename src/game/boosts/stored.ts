import type { ClientBase } from 'pg'
import { gameNow } from '../clock/game-clock.ts'

// The boosts of a scenario, as they are stored beside it.

/** Who gets a boost: every player of a pass, or the owners of its premium. */
export const AUDIENCES = ['everybody', 'premium'] as const
export type Audience = (typeof AUDIENCES)[number]

/** More xp for a time. Times are in milliseconds since 1970. */
export interface Boost {
  /** The percentage that is added to each xp. */
  readonly percent: bigint
  readonly startsAt: number
  /** The first moment without it. */
  readonly endsAt: number
  /** The sources of xp that it is for. Empty for all. */
  readonly sources: readonly string[]
  readonly audience: Audience
  /** It is of one player alone. */
  readonly isPersonal?: boolean
}

export type StoredBoost = Omit<Boost, 'percent'> & { readonly percent: number }

export const readBoosts = (stored: readonly StoredBoost[]): readonly Boost[] =>
  stored.map(({ percent, startsAt, endsAt, sources, audience }) => ({
    percent: BigInt(percent),
    startsAt,
    endsAt,
    sources,
    audience,
  }))

const WRITE = `UPDATE scenarios t SET version = t.version, boosts = w.boosts
  FROM (
    SELECT s.id, (
      SELECT json_agg(json_build_object(
          'percent', b.percent,
          'startsAt', (extract(epoch FROM b.starts_at) * 1000)::bigint,
          'endsAt', (extract(epoch FROM b.ends_at) * 1000)::bigint,
          'sources', to_json(b.sources),
          'audience', b.audience
        ) ORDER BY b.id)::text
      FROM boosts b
      WHERE b.environment_id = $1 AND b.ended_at IS NULL AND b.ends_at > game.now
        AND (cardinality(b.scenarios) = 0 OR s.id = ANY (b.scenarios))
    ) AS boosts
    FROM scenarios s, (SELECT ${gameNow('e')} AS now FROM environments e WHERE e.id = $1 OFFSET 0) game
    WHERE s.environment_id = $1 AND ($2::text IS NULL OR s.id = $2)
  ) w
  WHERE t.environment_id = $1 AND t.id = w.id AND t.boosts IS DISTINCT FROM w.boosts`

/**
 * Writes the boosts that have not ended to the scenarios that they are for: to one, or to all of the environment. The
 * revision changes with them, so that calls that have read the scenario before are decided again. The transaction holds
 * the lock of `lockSeasons`, since it changes several scenarios.
 */
export async function writeBoosts(
  client: Pick<ClientBase, 'query'>,
  environmentId: string,
  scenarioId: string | null = null,
): Promise<void> {
  await client.query(WRITE, [environmentId, scenarioId])
}
