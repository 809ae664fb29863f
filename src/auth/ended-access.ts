import type { Pool } from 'pg'
import { purge } from '../db/purge.ts'
import { ACCESS_TOKEN_SECONDS } from './tokens.ts'

/**
 * Whose access ended lately, by a logout, a reused refresh token, support, a ban or a deletion: on any instance, or by a
 * person in psql. Read from Postgres once a second, so that no signal can be lost.
 */
export interface EndedAccess {
  /**
   * Whether a login has ended, as of the last look. Its access tokens end with it. Those of a deleted player do not: their
   * calls are told that the player is deleted.
   */
  readonly isEnded: (familyId: string | null) => boolean
  /** Calls `listener` after each look with the players whose access ended since the look before. */
  onLook(listener: (playerIds: readonly string[]) => Promise<void>): void
  /** Looks for the first time, and from then on each second. */
  start(): Promise<void>
  close(): void
}

export interface EndedAccessOptions {
  readonly pool: Pool
  /** Milliseconds between two looks; 1,000 unless given. */
  readonly lookMs?: number
  /** Called when the database could not be read. The next look tries again. */
  readonly onError?: (error: unknown) => void
  /** Called at the first look that succeeds after some that failed for so long. */
  readonly onBack?: (milliseconds: number) => void
}

/** An access token is good for a day after its login has ended. The rest is for clocks that differ. */
const KEPT_SECONDS = ACCESS_TOKEN_SECONDS + 3_600
/** Stands where a login would, in rows about the whole player. */
const NO_FAMILY = '00000000-0000-0000-0000-000000000000'

export function createEndedAccess({
  pool,
  lookMs = 1_000,
  onError = () => {},
  onBack = () => {},
}: EndedAccessOptions): EndedAccess {
  /** Logins that ended, and when that was read, in milliseconds since 1970. In the order of these. */
  const families = new Map<string, number>()
  const listeners: ((playerIds: readonly string[]) => Promise<void>)[] = []
  /** Transactions before this one had ended at the last look. Null before the first. */
  let horizon: bigint | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  /** Since when no look has succeeded. */
  let awaySince: number | null = null

  async function read(): Promise<readonly string[]> {
    const since = horizon
    let ended = await readEnded(pool, since)
    // Another database has taken the place of this one, such as a promoted standby: its transactions count anew.
    if (since !== null && ended.horizon < since) ended = await readEnded(pool, null)
    horizon = ended.horizon
    const now = Date.now()
    for (const familyId of ended.familyIds) families.set(familyId, now)
    for (const [familyId, readAt] of families) {
      if (readAt > now - KEPT_SECONDS * 1_000) break
      families.delete(familyId)
    }
    return ended.playerIds
  }

  async function look(): Promise<void> {
    let playerIds: readonly string[] = []
    try {
      playerIds = await read()
      if (awaySince !== null) onBack(performance.now() - awaySince)
      awaySince = null
    } catch (error) {
      awaySince ??= performance.now()
      onError(error)
    }
    await Promise.all(listeners.map((listener) => listener(playerIds)))
    if (!isClosed) timer = setTimeout(look, lookMs).unref()
  }

  return {
    isEnded: (familyId) => familyId !== null && families.has(familyId),
    onLook: (listener) => listeners.push(listener),
    start: look,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

interface Ended {
  /** The oldest transaction that was under way. */
  readonly horizon: bigint
  readonly playerIds: readonly string[]
  readonly familyIds: readonly string[]
}

/** What ended in transactions that were under way at a look, or began after it. Without one: all that may still count. */
async function readEnded(pool: Pool, since: bigint | null): Promise<Ended> {
  const [name, isDue] =
    since === null ? ['all', `ended_at > now() - make_interval(secs => $1::float8)`] : ['since', 'xid >= $1::bigint']
  const { rows } = await pool.query<{ horizon: string; player_ids: string[]; family_ids: string[] }>({
    name: `ended-access-${name}`,
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
        ARRAY (SELECT DISTINCT player_id FROM ended_access WHERE ${isDue}) AS player_ids,
        ARRAY (SELECT family_id FROM ended_access e WHERE ${isDue} AND family_id <> '${NO_FAMILY}' AND NOT EXISTS (
          SELECT FROM players p
          WHERE p.environment_id = e.environment_id AND p.id = e.player_id AND p.status = 'deleted'
        )) AS family_ids`,
    values: [since === null ? KEPT_SECONDS : String(since)],
  })
  const [row] = rows
  if (!row) throw new Error('a query without FROM has one row')
  return { horizon: BigInt(row.horizon), playerIds: row.player_ids, familyIds: row.family_ids }
}

/** Removes rows that no instance needs. */
export const purgeEndedAccess = (pool: Pool): Promise<number> =>
  purge(pool, 'ended_access', `ended_at < now() - interval '${KEPT_SECONDS} seconds'`)
