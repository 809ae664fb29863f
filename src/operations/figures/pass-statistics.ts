import type { Pool } from 'pg'
import { groupBy } from '../../base/group-by.ts'
import { type Dated, type Range, type Step, stepsIn, wholeSteps } from '../../declare/range.ts'
import type { Measure } from '../../events/tally.ts'

// The figures of all battle passes of an environment together, by hour or day.

export interface PassStatisticsRef extends Range {
  readonly environmentId: string
  /** Only the passes of this scenario. Null: all. */
  readonly scenarioId: string | null
  /** Only this pass. Null: all. */
  readonly nodeId: string | null
}

/** The figures of an hour or a day. */
export interface PassTime {
  readonly at: Date
  /** Players whose first call of a day was then. One of several passes counts in each. */
  readonly players: bigint
  readonly newPlayers: bigint
  readonly grants: bigint
  readonly xp: bigint
  /** Calls that were granted less xp than they sent. */
  readonly clipped: bigint
  readonly claims: bigint
  readonly completed: bigint
  /** Premium bought or granted, minus revoked. */
  readonly premium: bigint
  readonly sold: bigint
}

/** What was sold for a currency. */
export interface Sales {
  readonly currency: string
  readonly purchases: bigint
  readonly amount: bigint
  /** The hours or days with a purchase. */
  readonly times: readonly SalesTime[]
}

export interface SalesTime {
  readonly at: Date
  readonly purchases: bigint
  readonly amount: bigint
}

export interface PassStatistics {
  /** Every hour or day that the range touches. */
  readonly times: readonly PassTime[]
  /** By currency, in the order of names. */
  readonly sales: readonly Sales[]
}

/** The figures with what they are of. */
export interface PassFigures extends PassStatistics, PassStatisticsRef, Dated {}

const COUNTED = [
  'active',
  'joined',
  'xp',
  'xp_clipped',
  'claimed',
  'completed',
  'premium',
  'sold',
] as const satisfies Measure[]

interface Sum {
  readonly at: Date
  readonly measure: (typeof COUNTED)[number]
  /** The currency of what was sold; empty for other measures. */
  readonly currency: string
  readonly count: bigint
  readonly amount: bigint
}

export async function readPassStatistics(pool: Pool, ref: PassStatisticsRef, by: Step): Promise<PassStatistics> {
  const sums = await readSums(pool, ref, { by, measures: COUNTED })
  const times = groupBy(sums, ({ at }) => at.getTime())
  return {
    times: stepsIn(by, ref).map((at) => timeOf(at, times.get(at.getTime()) ?? [])),
    sales: salesOf(sums.filter(({ measure }) => measure === 'sold')),
  }
}

/** The sales alone, which are few rows. */
export async function readSales(pool: Pool, ref: PassStatisticsRef, by: Step): Promise<readonly Sales[]> {
  return salesOf(await readSums(pool, ref, { by, measures: ['sold'] }))
}

function timeOf(at: Date, sums: readonly Sum[]): PassTime {
  const total = (of: Measure, what: 'count' | 'amount' = 'count'): bigint =>
    sums.reduce((all, sum) => (sum.measure === of ? all + sum[what] : all), 0n)
  return {
    at,
    players: total('active'),
    newPlayers: total('joined'),
    grants: total('xp'),
    xp: total('xp', 'amount'),
    clipped: total('xp_clipped'),
    claims: total('claimed'),
    completed: total('completed'),
    premium: total('premium'),
    sold: total('sold'),
  }
}

function salesOf(sums: readonly Sum[]): Sales[] {
  const byCurrency = [...groupBy(sums, ({ currency }) => currency)].sort(([a], [b]) => (a < b ? -1 : 1))
  return byCurrency.map(([currency, sold]) => {
    const times = sold
      .map(({ at, count, amount }): SalesTime => ({ at, purchases: count, amount }))
      .sort((a, b) => a.at.getTime() - b.at.getTime())
    return {
      currency,
      purchases: times.reduce((all, { purchases }) => all + purchases, 0n),
      amount: times.reduce((all, { amount }) => all + amount, 0n),
      times,
    }
  })
}

async function readSums(
  pool: Pool,
  ref: PassStatisticsRef,
  { by, measures }: { by: Step; measures: readonly Measure[] },
): Promise<Sum[]> {
  const { environmentId, scenarioId, nodeId } = ref
  const { from, to } = wholeSteps(by, ref)
  const { rows } = await pool.query({
    name: 'pass-statistics',
    // Passes are looked up one after another, so that each takes a few ranges of the index, however old the totals are.
    // The offset keeps Postgres from reading all of them at once.
    text: `WITH RECURSIVE known AS (
        (SELECT scenario_id, node_id FROM insight_totals
         WHERE environment_id = $1 AND scenario_id > '' ORDER BY 1, 2 LIMIT 1)
        UNION ALL
        SELECT next.scenario_id, next.node_id FROM known k CROSS JOIN LATERAL (
          SELECT t.scenario_id, t.node_id FROM insight_totals t
          WHERE t.environment_id = $1 AND (t.scenario_id, t.node_id) > (k.scenario_id, k.node_id) ORDER BY 1, 2 LIMIT 1
        ) next
      ), counted AS (
        SELECT t.* FROM known k CROSS JOIN unnest($5::text[]) AS m (name) CROSS JOIN LATERAL (
          SELECT measure, bucket, detail, count, amount FROM insight_totals t
          WHERE t.environment_id = $1 AND t.scenario_id = k.scenario_id AND t.node_id = k.node_id
            AND t.measure = m.name AND t.bucket >= $3 AND t.bucket < $4 OFFSET 0
        ) t WHERE ($2::text IS NULL OR k.scenario_id = $2) AND ($7::text IS NULL OR k.node_id = $7)
        UNION ALL
        SELECT measure, bucket, detail, count, amount FROM insight_changes
        WHERE environment_id = $1 AND scenario_id > '' AND ($2::text IS NULL OR scenario_id = $2)
          AND ($7::text IS NULL OR node_id = $7) AND measure = ANY ($5)
          AND bucket >= $3 AND bucket < $4
      )
      SELECT date_trunc($6, bucket, 'UTC') AS at, measure, CASE measure WHEN 'sold' THEN detail ELSE '' END AS currency,
        sum(count)::text AS count, sum(amount)::text AS amount
      FROM counted GROUP BY 1, 2, 3`,
    values: [environmentId, scenarioId, from, to, measures, by, nodeId],
  })
  return rows.map((row) => ({ ...row, count: BigInt(row.count), amount: BigInt(row.amount) }))
}
