import type { Pool } from 'pg'
import { FOLDING_LOCK } from './fold.ts'
import { HOURS_KEPT_DAYS } from './range.ts'

const ROWS = 5_000

/**
 * Moves at most {@link ROWS} expired hours into their days. Returns how many. An hour is kept a day longer than it is
 * readable, so that no reader meets half a day. A day is stored under its first hour. Logins have days of their own, so
 * their hours are only removed.
 */
export async function rollUpHours(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ taken: number }>({
    name: 'insight-roll-up',
    text: `WITH turn AS MATERIALIZED (
        SELECT pg_try_advisory_xact_lock(${FOLDING_LOCK}) AS mine
      ), taken AS (
        DELETE FROM insight_totals WHERE (SELECT mine FROM turn) AND ctid = ANY (ARRAY (
          SELECT ctid FROM insight_totals
          WHERE bucket < date_trunc('day', now(), 'UTC') - make_interval(days => ${HOURS_KEPT_DAYS + 1})
            AND (measure = 'login' OR measure IN ('xp', 'attempts') AND bucket <> date_trunc('day', bucket, 'UTC'))
          LIMIT ${ROWS}
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
  })
  return rows[0]?.taken ?? 0
}
