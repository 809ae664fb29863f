import type { Pool, PoolClient } from 'pg'
import type { PassNode } from '../../game/definition/definition.ts'
import { parseDefinition } from '../../game/definition/parse.ts'

// Work that follows a publication. Each kind of work has a column with the version that it was last done for.

type Column = 'leveled_version' | 'counted_version'

/** After this time calls under the previous definition have ended: the database ends idle transactions. */
const SETTLED_MS = 20_000

export interface FollowOptions {
  /** How long after its publication a scenario is looked at, in milliseconds. */
  readonly settledMs?: number
  readonly signal?: AbortSignal
}

/** The current version of a scenario. */
export interface Published {
  readonly environmentId: string
  readonly scenarioId: string
  readonly version: number
  readonly definition: string
}

/** A scenario whose current version still waits for the work of this column. */
export async function nextPublished(
  client: Pool | PoolClient,
  column: Column,
  settledMs = SETTLED_MS,
): Promise<Published | undefined> {
  const { rows } = await client.query<Published>({
    name: `next-published-${column}`,
    text: `SELECT s.environment_id AS "environmentId", s.id AS "scenarioId", s.version, v.definition FROM scenarios s
      JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
      WHERE s.${column} <> s.version AND s.published_at <= now() - make_interval(secs => $1::float8 / 1000)
      LIMIT 1`,
    values: [settledMs],
  })
  return rows[0]
}

/** Records that the work of this column is done. A publication that came meanwhile follows next. */
export async function markDone(
  client: Pool | PoolClient,
  column: Column,
  { environmentId, scenarioId, version }: Published,
): Promise<void> {
  await client.query(`UPDATE scenarios SET ${column} = $3 WHERE environment_id = $1 AND id = $2`, [
    environmentId,
    scenarioId,
    version,
  ])
}

export function passesOf(definition: string): PassNode[] {
  const parsed = parseDefinition(definition, { isStored: true })
  return parsed.ok ? [...parsed.definition.nodes.values()].filter((node) => node.type === 'battle-pass') : []
}

/** The level of a row of `passes`, in SQL, from the parameters of {@link levelValues}. */
export const levelSql = (xps: string, levels: string): string =>
  `(ARRAY[0] || ${levels}::int[])[1 + width_bucket(xp, ${xps}::bigint[])]`

export const levelValues = ({ levels }: PassNode): [xps: string[], levels: number[]] => [
  levels.map(({ xp }) => String(xp)),
  levels.map(({ level }) => level),
]
