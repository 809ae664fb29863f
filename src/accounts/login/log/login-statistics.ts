import type { Pool } from 'pg'
import { groupBy } from '../../../base/group-by.ts'
import { ceilTo, floorTo, hoursKeptFrom, type Range, type Step, stepsIn } from '../../../declare/range.ts'
import { percentile, type StepCount } from './latency.ts'

// Figures of an environment's logins, from counters that are written with each login. Reading a million logins takes a
// few rows.

export interface LoginStatisticsRef extends Range {
  readonly environmentId: string
  /** The name of a provider; null for all of them. */
  readonly provider: string | null
}

export interface LoginFigures {
  readonly logins: number
  /** By `ok`, or the code that the client received; the most frequent first. */
  readonly outcomes: readonly { readonly outcome: string; readonly logins: number }[]
  /** How many logins took 1, 2 or 3 attempts. */
  readonly attempts: readonly { readonly attempts: number; readonly logins: number }[]
  /** Time that the webhook took, all attempts of a login together. Null without logins. */
  readonly latency: Latency | null
}

export interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
}

export interface LoginStatistics {
  /** The counted range in whole hours (UTC); in whole days where it is more than 90 days ago. */
  readonly from: Date
  readonly to: Date
  readonly total: LoginFigures
  /** Each provider with a login, by name. */
  readonly providers: readonly { readonly provider: string; readonly figures: LoginFigures }[]
}

/** The figures of an hour, or of the part of a day that is in the range. */
export interface LoginTime {
  readonly at: Date
  readonly figures: LoginFigures
}

/** The figures of a range, and of each provider in it. */
export async function readLoginStatistics(pool: Pool, ref: LoginStatisticsRef): Promise<LoginStatistics> {
  const rows = await readCounts(pool, 'provider', ref)
  return {
    ...wholeHours(ref),
    total: figuresOf(rows),
    providers: [...groupBy(rows, ({ provider }) => provider ?? '')]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([provider, those]) => ({ provider, figures: figuresOf(those) })),
  }
}

/** The figures of each hour or day of a range, including those without a login. */
export async function readLoginTimes(pool: Pool, ref: LoginStatisticsRef, by: Step): Promise<LoginTime[]> {
  const { from, to } = wholeHours(ref)
  const known = groupBy(await readCounts(pool, by, ref), ({ at }) => at?.getTime() ?? 0)
  return stepsIn(by, { from, to }).map((at) => ({ at, figures: figuresOf(known.get(at.getTime()) ?? []) }))
}

/** Whole hours, or whole days where hours are no longer kept. */
function wholeHours({ from, to }: Range): Range {
  const kept = hoursKeptFrom()
  const stepAt = (moment: Date): Step => (moment < kept ? 'day' : 'hour')
  return { from: floorTo(stepAt(from), from), to: ceilTo(stepAt(to), to) }
}

/** The counts of one provider, hour or day, of one measure and outcome: `counts[i]` is that of `levels[i]`. */
interface Counts {
  readonly provider?: string
  readonly at?: Date
  readonly measure: 'login' | 'login_day' | 'attempts'
  /** For logins: the outcome. */
  readonly detail: string
  /** For logins: the steps of latency. For `attempts`: the numbers of attempts. */
  readonly levels: readonly number[]
  readonly counts: readonly number[]
  /** For logins: the sum of their milliseconds. */
  readonly amount: number
}

const KEYS = { provider: 'provider', hour: 'bucket AS at', day: "date_trunc('day', bucket, 'UTC') AS at" } as const

async function readCounts(pool: Pool, by: keyof typeof KEYS, ref: LoginStatisticsRef): Promise<Counts[]> {
  const { from, to } = wholeHours(ref)
  // Whole days are read from the daily counts, unless hours are asked for.
  const days = { from: ceilTo('day', from), to: floorTo('day', to) }
  const whole = by === 'hour' || days.from >= days.to ? { from: to, to } : days
  const { rows } = await pool.query<Counts>({
    name: `login-statistics-${by}`,
    // Providers are looked up one after another, so that each takes a few ranges of the index, however old the totals
    // are. The offset keeps Postgres from reading all of them at once.
    text: `WITH RECURSIVE known AS (
        (SELECT node_id AS name FROM insight_totals WHERE environment_id = $1 AND scenario_id = '' ORDER BY 1 LIMIT 1)
        UNION ALL
        SELECT (
          SELECT t.node_id FROM insight_totals t
          WHERE t.environment_id = $1 AND t.scenario_id = '' AND t.node_id > k.name ORDER BY 1 LIMIT 1
        ) FROM known k WHERE k.name IS NOT NULL
      ), parts (measure, first, until) AS (
        VALUES ('login', $3::timestamptz, $4::timestamptz), ('login_day', $4, $5), ('login', $5, $6), ('attempts', $3, $6)
      ), counted AS (
        SELECT k.name AS provider, t.* FROM known k CROSS JOIN parts p CROSS JOIN LATERAL (
          SELECT measure, bucket, level, detail, count, amount FROM insight_totals t
          WHERE t.environment_id = $1 AND t.scenario_id = '' AND t.node_id = k.name
            AND t.measure = p.measure AND t.bucket >= p.first AND t.bucket < p.until OFFSET 0
        ) t WHERE $2::text IS NULL OR k.name = $2
        UNION ALL
        SELECT c.node_id, c.measure, c.bucket, c.level, c.detail, c.count, c.amount
        FROM insight_changes c JOIN parts p ON c.measure = p.measure AND c.bucket >= p.first AND c.bucket < p.until
        WHERE c.environment_id = $1 AND c.scenario_id = '' AND ($2::text IS NULL OR c.node_id = $2)
      ), summed AS (
        SELECT ${KEYS[by]}, measure, detail, level, sum(count::float8) AS count, sum(amount::float8) AS amount
        FROM counted GROUP BY 1, 2, 3, 4
      )
      SELECT ${by === 'provider' ? by : 'at'}, measure, detail,
        array_agg(level) AS levels, array_agg(count) AS counts, sum(amount) AS amount
      FROM summed GROUP BY 1, 2, 3`,
    values: [ref.environmentId, ref.provider, from, whole.from, whole.to, to],
  })
  return rows
}

function figuresOf(rows: readonly Counts[]): LoginFigures {
  const outcomes = new Map<string, number>()
  const attempts = new Map<number, number>()
  const steps = new Map<number, number>()
  let milliseconds = 0
  for (const { measure, detail, levels, counts, amount } of rows) {
    const byLevel = measure === 'attempts' ? attempts : steps
    for (const [index, level] of levels.entries()) add(byLevel, level, counts[index] ?? 0)
    if (measure === 'attempts') continue
    for (const count of counts) add(outcomes, detail, count)
    milliseconds += amount
  }
  const logins = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  return {
    logins,
    outcomes: [...outcomes]
      .map(([outcome, count]) => ({ outcome, logins: count }))
      .sort((a, b) => b.logins - a.logins || (a.outcome < b.outcome ? -1 : 1)),
    attempts: [...attempts]
      .map(([number, count]) => ({ attempts: number, logins: count }))
      .sort((a, b) => a.attempts - b.attempts),
    latency: latencyOf(
      [...steps].map(([step, count]) => ({ step, count })),
      Math.round(milliseconds / logins),
    ),
  }
}

function latencyOf(steps: readonly StepCount[], mean: number): Latency | null {
  const [p50, p90, p95, p99] = [0.5, 0.9, 0.95, 0.99].map((share) => percentile(steps, share))
  if (p50 === undefined || p90 === undefined || p95 === undefined || p99 === undefined) return null
  return { mean, p50, p90, p95, p99 }
}

function add<K>(sums: Map<K, number>, key: K, count: number): void {
  sums.set(key, (sums.get(key) ?? 0) + count)
}
