import type { Pool, PoolClient } from 'pg'
import { inTransaction, queryWithin } from '../../db/transaction.ts'
import type { PassNode } from '../../game/definition/definition.ts'
import { type FollowOptions, levelSql, levelValues, markDone, nextPublished, passesOf } from './published.ts'

/** Long enough for tens of millions of passes. */
const STATEMENT_TIMEOUT_MS = 600_000
/** A number that nothing else locks. */
const RECOUNT_LOCK = 7_274_410_002

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

function recountNext(pool: Pool, { settledMs, signal }: FollowOptions): Promise<boolean> {
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

async function recountOne(client: PoolClient, settledMs: number | undefined): Promise<boolean> {
  const { rows: turns } = await client.query('SELECT pg_try_advisory_xact_lock($1) AS mine', [RECOUNT_LOCK])
  if (!turns[0]?.mine) return false
  const published = await nextPublished(client, 'counted_version', settledMs)
  if (!published) return false
  const { environmentId, scenarioId, definition } = published
  await client.query('SET LOCAL jit = off')
  for (const node of passesOf(definition)) await recountPass(client, [environmentId, scenarioId, node.id], node)
  // Last, as its lock blocks publications.
  await markDone(client, 'counted_version', published)
  return true
}

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
