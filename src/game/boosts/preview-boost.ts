import type { PoolClient } from 'pg'
import { createFairQueue, type Places } from '../../base/fair-queue.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { firstIdAt } from '../../db/ids.ts'
import type { Reader } from '../../db/replica.ts'
import { inSnapshot, queryWithin } from '../../db/transaction.ts'
import { DerivedValues } from '../definition/derived.ts'
import type { BoostEffect } from './requests.ts'

// What a boost would have given, had it run in the last days. The database counts; no row of a player is read.

/** Long enough for a day of a large game, on a database that also serves it. */
const STATEMENT_TIMEOUT_MS = 30_000
const MAX_WAITING = 4
const DAY_MS = 86_400_000

/** Counts leave out deleted players. */
export interface BoostCounts {
  /** Players who got xp that it is for. */
  readonly players: number
  /** The xp that it would have added. */
  readonly xp: bigint
  /** Players among them who would stand at a higher level now. */
  readonly levelGained: number
}

export interface PassBoostPreview extends BoostCounts {
  readonly scenarioId: string
  readonly nodeId: string
}

export interface BoostPreview extends BoostCounts {
  /** All that was committed by then is counted. */
  readonly asOf: Date
  /** The beginning of the days. */
  readonly from: Date
  /** The passes with such players, by scenario and node. */
  readonly passes: readonly PassBoostPreview[]
}

export type PreviewBoost = (
  reader: Reader,
  projectId: string,
  environmentId: string,
  boost: BoostEffect & { readonly days: number },
) => Promise<BoostPreview>

/**
 * Creates the operation. It counts on one snapshot and takes no lock. Each project has a row of them, as of previews of
 * scenarios. Refuses with `unavailable` when too many of a project wait, or when one takes too long.
 */
export function createBoostPreview(places: Places): PreviewBoost {
  const inTurn = createFairQueue(places, { maxWaiting: MAX_WAITING, tasks: 'previews of boosts' })
  return async (reader, projectId, environmentId, boost) => {
    const counted = await inTurn(projectId, () =>
      reader.read(({ pool }) => inSnapshot(pool, (client) => preview(client, environmentId, boost))),
    )
    return { asOf: reader.asOf, ...counted }
  }
}

const NOTHING: BoostCounts = { players: 0, xp: 0n, levelGained: 0 }

/** Each row of the ledger is rounded down by itself, as each call is. The row without a scenario has the whole. */
const COUNT = `WITH nodes AS MATERIALIZED (
    SELECT scenario_id, node_id, thresholds::bigint[]
    FROM unnest($2::text[], $3::text[], $4::text[]) AS k(scenario_id, node_id, thresholds)
  ), given AS MATERIALIZED (
    SELECT x.player_id, x.scenario_id, x.node_id, sum(div((x.amount - coalesce(x.bonus, 0))::numeric * $5, 100)) AS xp
    FROM xp_ledger x JOIN nodes n USING (scenario_id, node_id)
    WHERE x.environment_id = $1 AND x.created_at >= $6 AND x.id >= $7 AND x.amount > coalesce(x.bonus, 0)
      AND (x.origin IS NULL OR x.origin = 'server') AND (cardinality($8::text[]) = 0 OR x.source = ANY ($8))
    GROUP BY x.player_id, x.scenario_id, x.node_id
  ), moved AS (
    SELECT g.*, width_bucket(least(p.xp + g.xp, ${MAX_INT64})::bigint, n.thresholds)
      > width_bucket(p.xp, n.thresholds) AS gains
    FROM given g JOIN nodes n USING (scenario_id, node_id)
    JOIN passes p ON p.environment_id = $1 AND p.player_id = g.player_id AND p.scenario_id = g.scenario_id
      AND p.node_id = g.node_id
    WHERE (p.premium_owned OR NOT $9) AND NOT EXISTS (
      SELECT FROM players d WHERE d.environment_id = $1 AND d.id = g.player_id AND d.status = 'deleted'
    )
  )
  SELECT scenario_id, node_id, count(DISTINCT player_id)::int AS players,
    least(coalesce(sum(xp), 0), ${MAX_INT64})::bigint::text AS xp,
    (count(DISTINCT player_id) FILTER (WHERE gains))::int AS level_gained
  FROM moved GROUP BY GROUPING SETS ((), (scenario_id, node_id))
  ORDER BY scenario_id COLLATE "C", node_id COLLATE "C"`

interface Row {
  readonly scenario_id: string | null
  readonly node_id: string | null
  readonly players: number
  readonly xp: string
  readonly level_gained: number
}

async function preview(
  client: PoolClient,
  environmentId: string,
  { percent, scenarios, sources, audience, days }: BoostEffect & { readonly days: number },
): Promise<Omit<BoostPreview, 'asOf'>> {
  await client.query(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`)
  const { rows: times } = await client.query<{ now: Date }>('SELECT now()')
  const from = new Date((times[0]?.now.getTime() ?? Date.now()) - days * DAY_MS)
  const passes = await readPasses(client, environmentId, scenarios)
  const rows = await queryWithin<Row>(client, STATEMENT_TIMEOUT_MS, COUNT, [
    environmentId,
    passes.map(({ scenarioId }) => scenarioId),
    passes.map(({ nodeId }) => nodeId),
    passes.map(({ thresholds }) => `{${thresholds.join(',')}}`),
    percent,
    from,
    // An id may be some seconds older than its row. The id leaves out whole partitions.
    firstIdAt(from.getTime() - DAY_MS),
    sources,
    audience === 'premium',
  ])
  let whole = NOTHING
  const counted: PassBoostPreview[] = []
  for (const { scenario_id: scenarioId, node_id: nodeId, players, xp, level_gained: levelGained } of rows) {
    const counts = { players, xp: BigInt(xp), levelGained }
    if (scenarioId === null || nodeId === null) whole = counts
    else counted.push({ scenarioId, nodeId, ...counts })
  }
  return { from, ...whole, passes: counted }
}

interface Thresholds {
  readonly scenarioId: string
  readonly nodeId: string
  readonly thresholds: readonly bigint[]
}

/** A person who types a boost asks again and again. */
const passesOf = new DerivedValues<readonly Thresholds[]>({
  derive: ({ nodes }, scenarioId) =>
    [...nodes].flatMap(([nodeId, node]) =>
      node.type === 'battle-pass' ? [{ scenarioId, nodeId, thresholds: node.levels.map(({ xp }) => xp) }] : [],
    ),
  sizeOf: (passes) => passes.reduce((size, { thresholds }) => size + thresholds.length, 1),
  maxSize: 200_000,
})

/** The passes of the current versions of these scenarios; of all without any. */
async function readPasses(client: PoolClient, environmentId: string, scenarios: readonly string[]) {
  const current = await passesOf.read(client, environmentId)
  return current
    .filter(({ scenarioId }) => scenarios.length === 0 || scenarios.includes(scenarioId))
    .flatMap(({ value }) => value)
}
