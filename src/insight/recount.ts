import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { type PassNode, parseDefinition } from '../scenario/definition.ts'

/** Calls that were under way with the edited definition have ended by then: a statement has five seconds. */
const SETTLED_MS = 10_000
/** Long enough for some millions of passes. Nobody waits for it but another publication of the scenario. */
const STATEMENT_TIMEOUT_MS = 60_000

/**
 * Counts anew at which levels players stand, of each scenario that was published since it was counted: an edit moves
 * players without a call of theirs. What differs is appended like any other change, so that figures of days before stay
 * as they were, and calls go on meanwhile: what they append beside it is what they move by the new definition. Says how
 * many scenarios were counted.
 */
export async function recountStanding(pool: Pool, settledMs = SETTLED_MS): Promise<number> {
  let counted = 0
  while (await inTransaction(pool, (client) => recountOne(client, settledMs))) counted += 1
  return counted
}

async function recountOne(client: PoolClient, settledMs: number): Promise<boolean> {
  const { rows } = await client.query<{ environment_id: string; id: string; definition: string }>({
    name: 'insight-uncounted',
    text: `SELECT s.environment_id, s.id, v.definition FROM scenarios s
      JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
      WHERE s.counted_version <> s.version AND s.published_at <= now() - make_interval(secs => $1::float8 / 1000)
      LIMIT 1 FOR UPDATE OF s SKIP LOCKED`,
    values: [settledMs],
  })
  const [scenario] = rows
  if (!scenario) return false
  const { environment_id: environmentId, id: scenarioId, definition } = scenario
  await client.query('UPDATE scenarios SET counted_version = version WHERE environment_id = $1 AND id = $2', [
    environmentId,
    scenarioId,
  ])
  await client.query("SELECT set_config('statement_timeout', $1, true), set_config('jit', 'off', true)", [
    String(STATEMENT_TIMEOUT_MS),
  ])
  const parsed = parseDefinition(definition)
  const nodes = parsed.ok ? [...parsed.definition.nodes.values()] : []
  for (const node of nodes) {
    if (node.type === 'battle-pass') await recountPass(client, [environmentId, scenarioId, node.id], node)
  }
  return true
}

/** In one statement, so that passes and figures are those of one moment. */
async function recountPass(client: PoolClient, place: readonly string[], { levels }: PassNode): Promise<void> {
  await client.query(
    `INSERT INTO insight_changes (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
     SELECT $1::uuid, $2, $3, 'standing', date_trunc('day', now(), 'UTC'), level, detail, sum(count), 0 FROM (
       SELECT (ARRAY[0] || $5::int[])[1 + width_bucket(xp, $4::bigint[])] AS level,
         CASE WHEN premium_owned THEN 'premium' ELSE 'free' END AS detail, count(*) AS count
       FROM passes WHERE environment_id = $1 AND scenario_id = $2 AND node_id = $3 GROUP BY 1, 2
       UNION ALL SELECT level, detail, -sum(count) FROM insight
       WHERE environment_id = $1 AND scenario_id = $2 AND node_id = $3 AND measure = 'standing' GROUP BY 1, 2
     ) AS moves GROUP BY level, detail HAVING sum(count) <> 0`,
    [...place, levels.map(({ xp }) => String(xp)), levels.map(({ level }) => level)],
  )
}
