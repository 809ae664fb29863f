import type { Pool } from 'pg'
import { purge } from '../db/purge.ts'
import { ACCESS_TOKEN_SECONDS } from './tokens.ts'

/**
 * Access that ended recently: by a logout, a reused refresh token, support, a ban or a deletion, on any instance or by
 * hand in psql. Read from Postgres once a second, so that no signal can be lost.
 */
export interface EndedAccess {
  /**
   * The ids of the logins that had ended at the last read. Their access tokens end with them. Access tokens of a deleted
   * player do not: a call with one of them answers that the player is deleted.
   */
  readonly logins: Pick<ReadonlySet<string>, 'has' | 'size'>
  /** Calls `listener` after each read with the players whose access ended since the previous one. */
  onLook(listener: (playerIds: readonly string[]) => Promise<void>): void
  /** Reads for the first time, and from then on every second. */
  start(): Promise<void>
  close(): void
}

export interface EndedAccessOptions {
  readonly pool: Pool
  /** Milliseconds between two reads. Default: 1,000. */
  readonly lookMs?: number
  /** Called when the database could not be read. The next read tries again. */
  readonly onError?: (error: unknown) => void
  /** Called with the database's clock at each read, and how long the read took in milliseconds. */
  readonly onClock?: (now: Date, roundTripMs: number) => void
  /** Called at the first successful read after failed ones, with the length of the outage. */
  readonly onBack?: (milliseconds: number) => void
}

/** An access token expires at most a day after its login has ended. The rest allows for clocks that differ. */
const KEPT_SECONDS = ACCESS_TOKEN_SECONDS + 3_600
/** The family id of rows that stand for the whole player. */
const NO_FAMILY = '00000000-0000-0000-0000-000000000000'

export function createEndedAccess({
  pool,
  lookMs = 1_000,
  onError = () => {},
  onClock = () => {},
  onBack = () => {},
}: EndedAccessOptions): EndedAccess {
  /** Ended logins with the time when they were read, in milliseconds since 1970, oldest first. */
  const logins = new Map<string, number>()
  const listeners: ((playerIds: readonly string[]) => Promise<void>)[] = []
  /** All transactions before this one had ended at the last read. Null before the first read. */
  let horizon: bigint | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  /** The last successful read by the database's clock, and the time since which no read has succeeded. */
  let lookedAt: Date | null = null
  let awaySince: number | null = null

  async function read(): Promise<readonly string[]> {
    // After an outage the database may be a standby that lagged: its transaction ids continue from an earlier one.
    const missed = awaySince === null ? null : lookedAt
    const began = performance.now()
    let ended = await readEnded(pool, horizon, missed)
    onClock(ended.now, performance.now() - began)
    if (horizon === null || ended.horizon < horizon) {
      await readAll()
      ended = await readEnded(pool, ended.horizon, null)
    }
    keep(ended.familyIds)
    horizon = ended.horizon
    lookedAt = ended.now
    const oldest = Date.now() - KEPT_SECONDS * 1_000
    for (const [familyId, readAt] of logins) {
      if (readAt > oldest) break
      logins.delete(familyId)
    }
    return ended.playerIds
  }

  /** Reads all ended logins of the table in pages, so that each statement is short. */
  async function readAll(): Promise<void> {
    let last: RowKey | null = null
    do {
      const page = await readPage(pool, last)
      keep(page.familyIds)
      last = page.last
    } while (last !== null)
  }

  function keep(familyIds: readonly string[]): void {
    const now = Date.now()
    for (const familyId of familyIds) if (!logins.has(familyId)) logins.set(familyId, now)
  }

  async function look(): Promise<void> {
    try {
      const playerIds = await read()
      if (awaySince !== null) onBack(performance.now() - awaySince)
      awaySince = null
      notify(playerIds)
    } catch (error) {
      awaySince ??= performance.now()
      onError(error)
      notify([])
    } finally {
      if (!isClosed) timer = setTimeout(look, lookMs).unref()
    }
  }

  /** Listeners may be slow. The next read does not wait for them. */
  function notify(playerIds: readonly string[]): void {
    for (const listener of listeners) listener(playerIds).catch(onError)
  }

  return {
    logins,
    onLook: (listener) => listeners.push(listener),
    start: look,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

interface Ended {
  /** The oldest transaction that was running. */
  readonly horizon: bigint
  readonly now: Date
  readonly playerIds: readonly string[]
  readonly familyIds: readonly string[]
}

/** Matches the rows of logins, except those of deleted players. Costs one index lookup for each row. */
const IS_LOGIN = `e.family_id <> '${NO_FAMILY}' AND (
    SELECT p.status FROM players p WHERE p.environment_id = e.environment_id AND p.id = e.player_id
  ) IS DISTINCT FROM 'deleted'`

/**
 * Reads the access that ended in transactions which were running at the previous read or began after it. `missed` is
 * the time of the last read before an outage: access that ended later than ten minutes before that time is read again.
 * Without a previous read this finds nothing: the caller then reads the whole table.
 */
async function readEnded(pool: Pool, since: bigint | null, missed: Date | null): Promise<Ended> {
  // A literal, so that Postgres plans for few rows. For a parameter it would expect a third of the table.
  const isNew = since === null ? 'false' : `e.xid >= ${since}`
  const isMissed = missed === null ? 'false' : `e.ended_at > $1::timestamptz - interval '10 minutes'`
  const { rows } = await pool.query<{ horizon: string; now: Date; player_ids: string[]; family_ids: string[] }>({
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, clock_timestamp() AS now,
        ARRAY (SELECT DISTINCT e.player_id FROM ended_access e WHERE ${isNew} OR ${isMissed}) AS player_ids,
        ARRAY (SELECT e.family_id FROM ended_access e WHERE (${isNew} OR ${isMissed}) AND ${IS_LOGIN}) AS family_ids`,
    values: missed === null ? [] : [missed],
  })
  const [row] = rows
  if (!row) throw new Error('a query without FROM has one row')
  return { horizon: BigInt(row.horizon), now: row.now, playerIds: row.player_ids, familyIds: row.family_ids }
}

/** A row by its primary key. */
type RowKey = readonly [xid: string, environmentId: string, playerId: string, familyId: string]

const PAGE = 10_000

/** The logins of a page of rows after a given row, and the last row of the page; null when no row follows. */
async function readPage(pool: Pool, after: RowKey | null): Promise<{ familyIds: string[]; last: RowKey | null }> {
  // A literal for the same reason as in `readEnded`. The values came from Postgres.
  const key = (after ?? ['-1', NO_FAMILY, NO_FAMILY, NO_FAMILY]).map((part) => `'${part}'`).join(', ')
  const { rows } = await pool.query<[...RowKey, isLogin: boolean]>({
    text: `SELECT e.xid, e.environment_id, e.player_id, e.family_id, ${IS_LOGIN} FROM ended_access e
      WHERE (e.xid, e.environment_id, e.player_id, e.family_id) > (${key})
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
