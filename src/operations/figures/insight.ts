import type { Pool } from 'pg'
import type { Reader } from '../../db/replica.ts'
import type { Dated } from '../../declare/range.ts'
import { type InsightRef, type LevelInsight, readLevels } from './read-insight.ts'

/** Three of the fields need the levels, so each request reads the levels once. */
export interface Insight extends InsightRef, Dated {
  readonly read: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>
  readonly levels: () => Promise<LevelInsight[]>
}

export function openInsight(ref: InsightRef, { asOf, read: readFrom }: Reader): Insight {
  const read: Insight['read'] = (work) => readFrom(({ pool }) => work(pool))
  let levels: Promise<LevelInsight[]> | undefined
  return {
    ...ref,
    asOf,
    read,
    levels() {
      levels ??= read((pool) => readLevels(pool, ref))
      return levels
    },
  }
}
