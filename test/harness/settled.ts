import type { Pool } from 'pg'
import { createLocalBus } from '../../src/events/bus.ts'
import { createNumbering } from '../../src/events/numbering.ts'
import { until } from './until.ts'

const WAITING = 'SELECT DISTINCT environment_id FROM unnumbered_events'

/** Waits until a service has given every committed event its position, for tests that read the table of events. */
export const settled = (pool: Pick<Pool, 'query'>): Promise<void> =>
  until('every event has its position', async () => (await pool.query(WAITING)).rowCount === 0)

/** Gives every committed event its position, where no service runs that does. */
export async function numberEvents(pool: Pool): Promise<void> {
  const onError = (error: unknown) => {
    throw error
  }
  const numbering = createNumbering({ pool, ownPool: pool, bus: createLocalBus(), onError })
  const { rows } = await pool.query<{ environment_id: string }>(WAITING)
  for (const { environment_id: environmentId } of rows) await numbering.settle(environmentId)
}
