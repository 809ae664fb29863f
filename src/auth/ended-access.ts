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
  /** The last look that succeeded, by the database's clock, and since when no look has succeeded. */
  let lookedAt: Date | null = null
  let awaySince: number | null = null

  async function read(): Promise<readonly string[]> {
    // What was away may come back as a standby that was behind: its transactions count on from an earlier one.
    const missed = awaySince === null ? null : lookedAt
    let ended = await readEnded(pool, horizon, missed)
    if (horizon === null || ended.horizon < horizon) {
      await readAll()
      ended = await readEnded(pool, ended.horizon, null)
    }
    keep(ended.familyIds)
    horizon = ended.horizon
    lookedAt = ended.now
    const oldest = Date.now() - KEPT_SECONDS * 1_000
    for (const [familyId, readAt] of families) {
      if (readAt > oldest) break
      families.delete(familyId)
    }
    return ended.playerIds
  }

  /** Reads all logins that the table has, some at a time: each statement is short, however many there are. */
  async function readAll(): Promise<void> {
    let last: Place | null = null
    do {
      const page = await readPage(pool, last)
      keep(page.familyIds)
      last = page.last
    } while (last !== null)
  }

  function keep(familyIds: readonly string[]): void {
    const now = Date.now()
    for (const familyId of familyIds) if (!families.has(familyId)) families.set(familyId, now)
  }

  async function look(): Promise<void> {
    try {
      const playerIds = await read()
      if (awaySince !== null) onBack(performance.now() - awaySince)
      awaySince = null
      tell(playerIds)
    } catch (error) {
      awaySince ??= performance.now()
      onError(error)
      tell([])
    } finally {
      if (!isClosed) timer = setTimeout(look, lookMs).unref()
    }
  }

  /** Listeners take their time. The next look does not wait for them. */
  function tell(playerIds: readonly string[]): void {
    for (const listener of listeners) listener(playerIds).catch(onError)
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
  readonly now: Date
  readonly playerIds: readonly string[]
  readonly familyIds: readonly string[]
}

/** Of a login alone, and not of a deleted player. One look into an index for each row. */
const IS_LOGIN = `e.family_id <> '${NO_FAMILY}' AND (
    SELECT p.status FROM players p WHERE p.environment_id = e.environment_id AND p.id = e.player_id
  ) IS DISTINCT FROM 'deleted'`

/**
 * What ended in transactions that were under way at a look, or began after it; also what ended from ten minutes before a
 * moment on, where one is given. Nothing without a look: that is to be read as a whole.
 */
async function readEnded(pool: Pool, since: bigint | null, missed: Date | null): Promise<Ended> {
  // In the text, so that Postgres plans for the few rows that it names: of any number it would expect a third of them.
  const isNew = since === null ? 'false' : `e.xid >= ${since}`
  const isMissed = missed === null ? 'false' : `e.ended_at > $1::timestamptz - interval '10 minutes'`
  const { rows } = await pool.query<{ horizon: string; now: Date; player_ids: string[]; family_ids: string[] }>({
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, now(),
        ARRAY (SELECT DISTINCT e.player_id FROM ended_access e WHERE ${isNew} OR ${isMissed}) AS player_ids,
        ARRAY (SELECT e.family_id FROM ended_access e WHERE (${isNew} OR ${isMissed}) AND ${IS_LOGIN}) AS family_ids`,
    values: missed === null ? [] : [missed],
  })
  const [row] = rows
  if (!row) throw new Error('a query without FROM has one row')
  return { horizon: BigInt(row.horizon), now: row.now, playerIds: row.player_ids, familyIds: row.family_ids }
}

/** A row by its primary key. */
type Place = readonly [xid: string, environmentId: string, playerId: string, familyId: string]

const PAGE = 10_000

/** The logins of the rows behind a place, and the last of these rows; null when none follows. */
async function readPage(pool: Pool, after: Place | null): Promise<{ familyIds: string[]; last: Place | null }> {
  // In the text for the same reason as above. The place is one that Postgres gave.
  const place = (after ?? ['-1', NO_FAMILY, NO_FAMILY, NO_FAMILY]).map((part) => `'${part}'`).join(', ')
  const { rows } = await pool.query<[...Place, isLogin: boolean]>({
    text: `SELECT e.xid, e.environment_id, e.player_id, e.family_id, ${IS_LOGIN} FROM ended_access e
      WHERE (e.xid, e.environment_id, e.player_id, e.family_id) > (${place})
      ORDER BY e.xid, e.environment_id, e.player_id, e.family_id LIMIT ${PAGE}`,
    rowMode: 'array',
  })
  const familyIds = rows.flatMap(([, , , familyId, isLogin]) => (isLogin ? [familyId] : []))
  const [xid, environmentId, playerId, familyId] = rows.at(-1) ?? []
  const isLast = rows.length < PAGE || !xid || !environmentId || !playerId || !familyId
  return { familyIds, last: isLast ? null : [xid, environmentId, playerId, familyId] }
}

/** Removes rows that no instance needs. */
export const purgeEndedAccess = (pool: Pool): Promise<number> =>
  purge(pool, 'ended_access', `ended_at < now() - interval '${KEPT_SECONDS} seconds'`)
