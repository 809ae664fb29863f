import type { Pool } from 'pg'
import { repeatInBackground } from '../../base/background.ts'
import { purge } from '../../db/purge.ts'
import type { Dated, Range } from '../../declare/range.ts'

// The calls of an environment's players, by minute. Counts are kept in memory and written every few seconds, so that a
// call costs no statement. An instance that is killed loses the calls that it has not written.

export const MINUTES_KEPT_DAYS = 7
export const MINUTE_MS = 60_000

const WRITE_EVERY_MS = 5_000

export interface CallCounts {
  readonly count: (environmentId: string) => void
  start(): void
  /** Writes the counts that are left. */
  stop(): Promise<void>
}

export interface CallCountsOptions {
  readonly pool: Pool
  readonly onError: (error: unknown, message: string) => void
}

export function createCallCounts({ pool, onError }: CallCountsOptions): CallCounts {
  let counts = new Map<string, number>()

  const add = (environmentId: string, calls: number): void => {
    counts.set(environmentId, (counts.get(environmentId) ?? 0) + calls)
  }

  /** Writes the counts. They are kept when they cannot be written. */
  async function write(): Promise<void> {
    const written = counts
    if (written.size === 0) return
    counts = new Map()
    try {
      await addCalls(pool, written)
    } catch (error) {
      for (const [environmentId, calls] of written) add(environmentId, calls)
      throw error
    }
  }

  const countFailed = (error: unknown): void => onError(error, 'calls could not be counted; the next round tries again')

  const writing = repeatInBackground({ work: write, onError: countFailed, everyMs: WRITE_EVERY_MS })

  return {
    count: (environmentId) => add(environmentId, 1),
    start: () => writing.start(),
    async stop() {
      await writing.stop()
      await write().catch(countFailed)
    },
  }
}

/** Writes in the order of the key, so that two instances cannot deadlock. */
async function addCalls(pool: Pool, counts: ReadonlyMap<string, number>): Promise<void> {
  await pool.query({
    name: 'calls-add',
    text: `INSERT INTO call_minutes AS c (environment_id, minute, calls)
      SELECT environment_id, date_trunc('minute', now()), calls
      FROM unnest($1::uuid[], $2::bigint[]) AS counted (environment_id, calls) ORDER BY 1
      ON CONFLICT (environment_id, minute) DO UPDATE SET calls = c.calls + excluded.calls`,
    values: [[...counts.keys()], [...counts.values()]],
  })
}

interface CallsRef extends Range {
  readonly environmentId: string
}

export interface MinuteOfCalls {
  readonly at: Date
  readonly calls: number
}

export interface CallStatistics extends CallsRef, Dated {
  readonly minutes: readonly MinuteOfCalls[]
}

/** The minutes of the range that have calls, in order. A minute counts as a whole when the range touches it. */
export async function readCalls(pool: Pool, { environmentId, from, to }: CallsRef): Promise<MinuteOfCalls[]> {
  const { rows } = await pool.query<{ at: Date; calls: string }>({
    name: 'calls-read',
    text: `SELECT minute AS at, calls FROM call_minutes
      WHERE environment_id = $1 AND minute >= date_trunc('minute', $2::timestamptz) AND minute < $3 ORDER BY minute`,
    values: [environmentId, from, to],
  })
  return rows.map(({ at, calls }) => ({ at, calls: Number(calls) }))
}

/** Removes a bounded number of old minutes. Returns how many. */
export const purgeCalls = (pool: Pool): Promise<number> =>
  purge(pool, 'call_minutes', `minute < now() - make_interval(days => ${MINUTES_KEPT_DAYS})`)
