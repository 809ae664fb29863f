import type { Pool, PoolClient } from 'pg'
import { inTransaction, queryWithin } from '../db/transaction.ts'
import type { PassNode } from '../scenario/definition.ts'
import { parseDefinition } from '../scenario/parse-definition.ts'

/** After this time calls under the previous definition have ended: the database ends idle transactions. */
export const SETTLED_MS = 20_000
/** Long enough for tens of millions of passes. */
const STATEMENT_TIMEOUT_MS = 600_000
/** A number that nothing else locks. */
const RECOUNT_LOCK = 7_274_410_002

/** What follows a publication. */
export interface FollowOptions {
  /** How long after its publication a scenario is looked at, in milliseconds. */
  readonly settledMs?: number
  /** Aborts the running work. */
  readonly signal?: AbortSignal
}

/**
 * Recounts the players at each level, for each scenario that was published since its last count: an edit moves players
 * to other levels without a call. The difference is appended like any other change, so that figures of earlier days
 * stay as they were. Calls go on meanwhile and append their changes by the new definition. Returns the number of
 * counted scenarios.
 */
export async function recountStanding(pool: Pool, options: FollowOptions = {}): Promise<number> {
  let counted = 0
  while (!options.signal?.aborted && (await recountNext(pool, options))) counted += 1
  return counted
}

function recountNext(pool: Pool, { settledMs = SETTLED_MS, signal }: FollowOptions): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const giveUp = () => client.connection.stream.destroy()
    signal?.addEventListener('abort', giveUp)
    try {
      return await recountOne(client, settledMs)
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  })
}

async function recountOne(client: PoolClient, settledMs: number): Promise<boolean> {
  const { rows: turns } = await client.query('SELECT pg_try_advisory_xact_lock($1) AS mine', [RECOUNT_LOCK])
  if (!turns[0]?.mine) return false
  const { rows } = await client.query<{ environment_id: string; id: string; version: number; definition: string }>({
    name: 'insight-uncounted',
    text: `SELECT s.environment_id, s.id, s.version, v.definition FROM scenarios s
      JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
      WHERE s.counted_version <> s.version AND s.published_at <= now() - make_interval(secs => $1::float8 / 1000)
      LIMIT 1`,
    values: [settledMs],
  })
  const [scenario] = rows
  if (!scenario) return false
  const { environment_id: environmentId, id: scenarioId, version, definition } = scenario
  await client.query('SET LOCAL jit = off')
  for (const node of passesOf(definition)) await recountPass(client, [environmentId, scenarioId, node.id], node)
  // Last, as its lock blocks publications. A publication that came meanwhile is counted next.
  await client.query('UPDATE scenarios SET counted_version = $3 WHERE environment_id = $1 AND id = $2', [
    environmentId,
    scenarioId,
    version,
  ])
  return true
}

/** The battle passes of a stored definition. */
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

/** One statement, so that passes and figures are of one moment. */
async function recountPass(client: PoolClient, place: readonly string[], node: PassNode): Promise<void> {
  const text = `INSERT INTO insight_changes (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
     SELECT $1::uuid, $2, $3, 'standing', date_trunc('day', now(), 'UTC'), level, detail, sum(count), 0 FROM (
       SELECT ${levelSql('$4', '$5')} AS level,
         CASE WHEN premium_owned THEN 'premium' ELSE 'free' END AS detail, count(*) AS count
       FROM passes WHERE environment_id = $1 AND scenario_id = $2 AND node_id = $3 GROUP BY 1, 2
       UNION ALL SELECT level, detail, -sum(count) FROM insight
       WHERE environment_id = $1 AND scenario_id = $2 AND node_id = $3 AND measure = 'standing' GROUP BY 1, 2
     ) AS moves GROUP BY level, detail HAVING sum(count) <> 0`
  await queryWithin(client, STATEMENT_TIMEOUT_MS, text, [...place, ...levelValues(node)])
}
