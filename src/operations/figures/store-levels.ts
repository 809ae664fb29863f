import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { PassNode } from '../../game/definition/definition.ts'
import {
  type FollowOptions,
  levelSql,
  levelValues,
  markDone,
  nextPublished,
  type Published,
  passesOf,
} from './published.ts'

/** Passes that one transaction looks at. Calls of their players wait for it. */
const ROWS = 1_000
/** A number that nothing else locks. */
const STORE_LOCK = 7_274_410_003

/** The pass of one player in the order of the index. */
interface Place {
  readonly level: number
  readonly playerId: string
}

interface Step {
  /** Null after the last pass. */
  readonly after: Place | null
  /** Passes that another session was writing. */
  readonly skipped: number
}

/**
 * Stores the level by the current version with each pass, for each scenario that was published since that was last done:
 * an edit moves players to other levels without a call, and lists are sorted by the stored level. Calls go on meanwhile
 * and store the level of their own players. Returns the number of scenarios that are done; what is left of another
 * follows in the next call.
 */
export async function storeLevels(pool: Pool, { settledMs, signal }: FollowOptions = {}): Promise<number> {
  let stored = 0
  for (;;) {
    const published = await nextPublished(pool, 'leveled_version', settledMs)
    if (!published || !(await storeOf(pool, published, signal))) return stored
    stored += 1
  }
}

/** False when something is left: it was aborted, another instance does this, or passes were being written. */
async function storeOf(pool: Pool, published: Published, signal: AbortSignal | undefined): Promise<boolean> {
  let skipped = 0
  for (const pass of passesOf(published.definition)) {
    for (let after: Place | null = { level: -1, playerId: NO_PLAYER }; after; ) {
      if (signal?.aborted) return false
      const step: Step | null = await storeNext(pool, published, pass, after)
      if (!step) return false
      skipped += step.skipped
      after = step.after
    }
  }
  if (skipped > 0) return false
  await markDone(pool, 'leveled_version', published)
  return true
}

const NO_PLAYER = '00000000-0000-0000-0000-000000000000'
const AT_PLACE = 'environment_id = $1 AND scenario_id = $2 AND node_id = $3'
const STORED = 'coalesce(current_level, level)'
const REACHED = levelSql('$4', '$5')

/** Stores the levels of the next passes. Null while another session does so. */
function storeNext(
  pool: Pool,
  { environmentId, scenarioId }: Published,
  pass: PassNode,
  after: Place,
): Promise<Step | null> {
  const values = [environmentId, scenarioId, pass.id, ...levelValues(pass)]
  return inTransaction(pool, async (client) => {
    const { rows: turns } = await client.query('SELECT pg_try_advisory_xact_lock($1) AS mine', [STORE_LOCK])
    if (!turns[0]?.mine) return null
    // Calls do not read the level that is stored here, so players keep their version. The order of the index is
    // certain without a sort.
    await client.query(`SET LOCAL tierway.keeps_versions = 'on'; SET LOCAL jit = off; SET LOCAL enable_sort = off`)
    const { rows } = await client.query<Place & { isStale: boolean }>({
      name: 'levels-next',
      text: `SELECT ${STORED} AS level, player_id AS "playerId", ${STORED} <> ${REACHED} AS "isStale" FROM passes
        WHERE ${AT_PLACE} AND (${STORED}, player_id) > ($6::int, $7::uuid)
        ORDER BY ${STORED}, player_id LIMIT ${ROWS}`,
      values: [...values, after.level, after.playerId],
    })
    const stale = rows.filter(({ isStale }) => isStale).map(({ playerId }) => playerId)
    const written = stale.length === 0 ? 0 : await writeLevels(client, [...values, stale])
    return { after: rows.length === ROWS ? (rows.at(-1) ?? null) : null, skipped: stale.length - written }
  })
}

/**
 * Writes the levels of the passes that no other session is writing: a call may wait for this transaction, so this
 * transaction waits for nobody. Returns how many it found.
 */
async function writeLevels(client: PoolClient, values: readonly unknown[]): Promise<number> {
  const { rowCount } = await client.query({
    name: 'levels-write',
    text: `UPDATE passes SET current_level = nullif(${REACHED}, level)
      WHERE ${AT_PLACE} AND player_id IN (
        SELECT player_id FROM passes WHERE ${AT_PLACE} AND player_id = ANY ($6::uuid[]) FOR NO KEY UPDATE SKIP LOCKED
      )`,
    values: [...values],
  })
  return rowCount ?? 0
}
