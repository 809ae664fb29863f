import type { Pool } from 'pg'

const PURGE_ROWS = 5_000

/**
 * Removes events past retention from the first partition, which has those of many weeks: the oldest of each stream first
 * and a bounded number at a time. Returns how many. Later partitions are dropped as a whole. The rest of a stream is
 * always contiguous, so that an older cursor is recognized as expired. Ends early when `signal` aborts.
 */
export async function purgeFirstEvents(pool: Pool, days: number, signal?: AbortSignal): Promise<number> {
  const { rows } = await pool.query<{ environment_id: string }>(
    `SELECT environment_id FROM streams WHERE to_regclass('events_first') IS NOT NULL`,
  )
  let removed = 0
  for (const { environment_id: environmentId } of rows) {
    if (signal?.aborted) break
    const { rowCount } = await pool.query(
      `DELETE FROM events_first WHERE environment_id = $1 AND position <= (
         SELECT max(position) FROM (
           SELECT position, occurred_at FROM events_first WHERE environment_id = $1 ORDER BY position LIMIT ${PURGE_ROWS}
         ) AS oldest WHERE occurred_at < now() - make_interval(days => $2)
       )`,
      [environmentId, days],
    )
    removed += rowCount ?? 0
  }
  return removed
}
