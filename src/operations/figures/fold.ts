import type { Pool } from 'pg'
import { type Background, type Repeated, repeatInBackground } from '../../base/background.ts'
import { RECENT_HOURS_DAYS } from '../../declare/range.ts'
import { MEASURES } from '../../events/tally.ts'
import { recountStanding } from './recount.ts'
import { storeLevels } from './store-levels.ts'

/** Adds the appended changes to the totals, counts the effects of edits, and stores the levels that they move, repeatedly. */
export interface Folding extends Background {
  /** Seconds since all changes were last folded, or since the start if that has never succeeded. */
  age(): number
}

export interface FoldingOptions {
  readonly pool: Pool
  /** Called with a failure and the time of the next attempt. */
  readonly onError: (error: unknown, message: string) => void
}

const EVERY_MS = 1_000
/** A slow job that failed is not repeated each second. */
const RECOUNT_AGAIN_MS = 60_000
const ROWS = 20_000
/** Clients name the sources of xp. Sources beyond `SOURCES_AN_HOUR` for a pass are counted under this name. */
const OTHER = 'other'
const SOURCES_AN_HOUR = 100
/** A number that nothing else locks. */
export const FOLDING_LOCK = 7_274_410_001

/** Folds each second. Any number of instances may do so: one works at a time, the others find nothing to do. */
export function createFolding({ pool, onError }: FoldingOptions): Folding {
  let foldedAt: number | undefined

  async function fold(signal: AbortSignal): Promise<void> {
    let taken = await foldChanges(pool)
    while (!signal.aborted && taken === ROWS) taken = await foldChanges(pool)
    if (taken !== null) foldedAt = performance.now()
  }

  const repeated = (work: Repeated['work'], fault: string, againMs = EVERY_MS): Repeated => ({
    work,
    onError: (error) => onError(error, fault),
    everyMs: EVERY_MS,
    againMs,
  })
  // Separate, as a recount of millions takes long.
  const { start, stop } = repeatInBackground(
    repeated(fold, 'figures could not be added up; each second tries again'),
    repeated(
      (signal) => recountStanding(pool, { signal }),
      'players could not be counted after an edit of levels; each minute tries again',
      RECOUNT_AGAIN_MS,
    ),
    repeated(
      (signal) => storeLevels(pool, { signal }),
      'levels of players could not be stored after an edit of levels; each minute tries again',
      RECOUNT_AGAIN_MS,
    ),
  )
  return {
    start() {
      foldedAt = performance.now()
      start()
    },
    stop,
    age: () => (foldedAt === undefined ? 0 : (performance.now() - foldedAt) / 1000),
  }
}

/**
 * Moves at most {@link ROWS} changes into the totals. Returns how many, or null while another session does so. One
 * statement does it, so that a reader of both tables sees each change once.
 */
export async function foldChanges(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ taken: number | null }>({
    name: 'insight-fold',
    text: `WITH turn AS MATERIALIZED (
        SELECT pg_try_advisory_xact_lock(${FOLDING_LOCK}) AS mine
      ), taken AS (
        DELETE FROM insight_changes WHERE (SELECT mine FROM turn)
          AND ctid = ANY (ARRAY (SELECT ctid FROM insight_changes LIMIT ${ROWS})) RETURNING *
      ), summed AS (
        SELECT environment_id, scenario_id, node_id, measure, bucket, level, detail,
          sum(count) AS count, sum(amount) AS amount
        FROM taken GROUP BY 1, 2, 3, 4, 5, 6, 7
      ), sources AS (
        -- The limits make Postgres look up the totals by their key.
        SELECT s.*, measure IN ('xp', 'xp_clipped') AND (
            SELECT 1 FROM insight_totals t
            WHERE (t.environment_id, t.scenario_id, t.node_id, t.measure, t.bucket, t.level, t.detail)
              = (s.environment_id, s.scenario_id, s.node_id, s.measure, s.bucket, s.level, s.detail) LIMIT 1
          ) IS NULL AS is_new
        FROM summed s
      ), named AS (
        SELECT environment_id, scenario_id, node_id, measure, bucket, level, count, amount,
          CASE WHEN is_new AND ${SOURCES_AN_HOUR} < row_number() OVER (
            PARTITION BY environment_id, scenario_id, node_id, measure, bucket, is_new ORDER BY count DESC, detail
          ) + (
            SELECT count(*) FROM (
              SELECT FROM insight_totals t
              WHERE (t.environment_id, t.scenario_id, t.node_id, t.measure, t.bucket)
                = (s.environment_id, s.scenario_id, s.node_id, s.measure, s.bucket) LIMIT ${SOURCES_AN_HOUR}
            ) AS known
          ) THEN '${OTHER}' ELSE detail END AS detail
        FROM sources s
      ), folded AS (
        INSERT INTO insight_totals AS t (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
        SELECT environment_id, scenario_id, node_id, measure, bucket, level, detail, sum(count), sum(amount)
        FROM named GROUP BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (environment_id, scenario_id, node_id, measure, bucket, level, detail)
        DO UPDATE SET count = t.count + excluded.count, amount = t.amount + excluded.amount
      )
      SELECT CASE WHEN (SELECT mine FROM turn) THEN count(*)::int END AS taken FROM taken`,
  })
  return rows[0]?.taken ?? null
}

const ROLL_UP_ROWS = 5_000

const BY_HOUR = Object.entries(MEASURES).filter(([, days]) => days !== null)

/**
 * Moves at most {@link ROLL_UP_ROWS} expired hours into their days. Returns how many. An hour is kept a day longer than
 * it is readable, so that no reader meets half a day. A day is stored under its first hour. Logins have days of their
 * own, so their hours are only removed.
 */
export async function rollUpHours(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ taken: number }>({
    name: 'insight-roll-up',
    text: `WITH turn AS MATERIALIZED (
        SELECT pg_try_advisory_xact_lock(${FOLDING_LOCK}) AS mine
      ), taken AS (
        DELETE FROM insight_totals WHERE (SELECT mine FROM turn) AND ctid = ANY (ARRAY (
          SELECT t.ctid FROM insight_totals t JOIN unnest($1::text[], $2::int[]) AS kept (measure, days) USING (measure)
          WHERE bucket < date_trunc('day', now(), 'UTC') - make_interval(days => ${RECENT_HOURS_DAYS + 1})
            AND bucket < date_trunc('day', now(), 'UTC') - make_interval(days => kept.days + 1)
            AND (measure = 'login' OR bucket <> date_trunc('day', bucket, 'UTC'))
          LIMIT ${ROLL_UP_ROWS}
        )) RETURNING *
      ), summed AS (
        INSERT INTO insight_totals AS t (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
        SELECT environment_id, scenario_id, node_id, measure, date_trunc('day', bucket, 'UTC'), level, detail,
          sum(count), sum(amount)
        FROM taken WHERE measure <> 'login' GROUP BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (environment_id, scenario_id, node_id, measure, bucket, level, detail)
        DO UPDATE SET count = t.count + excluded.count, amount = t.amount + excluded.amount
      )
      SELECT count(*)::int AS taken FROM taken`,
    values: [BY_HOUR.map(([measure]) => measure), BY_HOUR.map(([, days]) => days)],
  })
  return rows[0]?.taken ?? 0
}
