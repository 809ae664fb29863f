import type { Pool } from 'pg'
import { until } from './until.ts'

/** Waits until every committed event has its position, for tests that read the table of events. */
export const settled = (pool: Pick<Pool, 'query'>): Promise<void> =>
  until('every event has its position', async () => {
    const { rows } = await pool.query('SELECT FROM unnumbered_events LIMIT 1')
    return rows.length === 0
  })
