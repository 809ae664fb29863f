import type { Pool, QueryResult } from 'pg'

// The table `ended_access`, in which triggers note each login that ends, and each change of a player's status.

/** A login that has ended, or a player whose status has changed. */
export interface EndedRow {
  readonly environmentId: string
  readonly playerId: string
  /** The login that has ended. Null for the player itself. */
  readonly loginId: string | null
  /** The status of the player when the row was read, for its access tokens. Null for a player that is no more. */
  readonly status: 'active' | 'banned' | 'deleted' | null
  /** When the ban ends, in milliseconds since 1970. Null for a ban without an end, and for other statuses. */
  readonly bannedUntil: number | null
  /** The time at which it ended, in milliseconds since 1970: that of the beginning of its transaction. */
  readonly endedAt: number
}

/**
 * How far a reader has come. A transaction can commit long after others with later ids: at the time `at`, all before `xid`
 * had ended.
 */
export interface Place {
  readonly xid: bigint
  readonly at: Date
}

export interface EndedPage {
  readonly rows: readonly EndedRow[]
  readonly place: Place
  readonly isLast: boolean
}

/** The status of the player `p` for access tokens that it has, in SQL: a ban ends by time, and one of logins leaves them. */
export const ACCESS_STATUS =
  "CASE WHEN p.status = 'banned' AND (p.ban_until <= now() OR p.ban_kind = 'login') THEN 'active' ELSE p.status END"

/** The family id of rows that stand for the whole player. */
const NO_FAMILY = '00000000-0000-0000-0000-000000000000'
const PAGE = 2_000

type Key = readonly [xid: string, environmentId: string, playerId: string, familyId: string]

/**
 * Reads the rows of this transaction and later ones, of all environments or of one, in pages: a bounded number of rows is
 * in memory, and each statement is short. A row that is committed meanwhile is in a page, or is found from the last place.
 */
export async function* readEnded(pool: Pool, from: bigint, environmentId?: string): AsyncGenerator<EndedPage, void> {
  let after: Key = [String(from), NO_FAMILY, NO_FAMILY, NO_FAMILY]
  /** Where all is read that this reading can find. */
  let end: Place | undefined
  for (;;) {
    const { horizon, now, rows } = await readPage(pool, after, environmentId)
    end ??= { xid: BigInt(horizon), at: now }
    const last = rows.at(-1)
    const isLast = rows.length < PAGE || !last
    // A later row may come with a transaction that runs.
    const isBehind = !isLast && BigInt(last.key[0]) < end.xid
    yield { rows: rows.map(({ row }) => row), place: isBehind ? { ...end, xid: BigInt(last.key[0]) } : end, isLast }
    if (isLast) return
    after = last.key
  }
}

async function readPage(pool: Pool, after: Key, environmentId: string | undefined) {
  // Literals, so that Postgres plans for few rows. For a parameter it would expect a third of the table. The values came
  // from Postgres, or are numbers.
  const key = after.map((part) => `'${part}'`).join(', ')
  const isWanted = environmentId === undefined ? 'true' : `e.environment_id = '${environmentId}'`
  const results = (await pool.query(
    // While the statistics do not know of many new rows, Postgres would sort all of them for each page.
    `SET LOCAL enable_sort = off;
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, clock_timestamp() AS now, (
        SELECT coalesce(json_agg(json_build_array(xid::text, environment_id, player_id, family_id, ended_at, status, until)), '[]')
        FROM (
          SELECT e.xid, e.environment_id, e.player_id, e.family_id, floor(extract(epoch FROM e.ended_at) * 1000) AS ended_at,
            p.status, CASE WHEN p.status = 'banned' THEN p.until END AS until
          FROM ended_access e LEFT JOIN LATERAL (
            SELECT ${ACCESS_STATUS} AS status, floor(extract(epoch FROM p.ban_until) * 1000) AS until
            FROM players p WHERE p.environment_id = e.environment_id AND p.id = e.player_id LIMIT 1
          ) p ON true
          WHERE (e.xid, e.environment_id, e.player_id, e.family_id) > (${key}) AND ${isWanted}
          ORDER BY e.xid, e.environment_id, e.player_id, e.family_id LIMIT ${PAGE}
        ) r
      ) AS found`,
  )) as unknown as readonly QueryResult<{ horizon: string; now: Date; found: readonly Found[] }>[]
  const page = results.at(-1)?.rows[0]
  if (!page) throw new Error('a query without FROM has one row')
  return {
    ...page,
    rows: page.found.map(([xid, environmentId, playerId, familyId, endedAt, status, bannedUntil]) => {
      const loginId = familyId === NO_FAMILY ? null : familyId
      const row: EndedRow = { environmentId, playerId, loginId, status, bannedUntil, endedAt }
      return { key: [xid, environmentId, playerId, familyId] as const, row }
    }),
  }
}

type Found = readonly [...Key, endedAt: number, status: EndedRow['status'], bannedUntil: number | null]

/**
 * The transaction from which a reader continues after an outage, or on another instance. The database may have become a
 * standby that lagged, which gives ids again that the place has passed. So rows count, too, that ended later than ten
 * minutes before the place. 0, for all rows, without a place.
 */
export async function startAfter(pool: Pool, place: Place | null): Promise<bigint> {
  if (place === null) return 0n
  // The sum keeps Postgres from walking the primary key up to the first late row.
  const { rows } = await pool.query<{ horizon: string; earliest: string | null }>(
    `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, min(e.xid + 0)::text AS earliest
      FROM ended_access e WHERE e.ended_at > '${place.at.toISOString()}'::timestamptz - interval '10 minutes'`,
  )
  const [row] = rows
  if (!row || BigInt(row.horizon) < place.xid) return 0n
  const earliest = row.earliest === null ? place.xid : BigInt(row.earliest)
  return earliest < place.xid ? earliest : place.xid
}

/** A place as the text that a client keeps. */
export const placeText = ({ xid, at }: Place): string => `${xid}-${at.getTime()}`

/** The place of a text. Null for any other text, so that its client gets all rows. */
export function parsePlace(text: string): Place | null {
  const [, xid, at] = /^(\d{1,18})-(\d{1,14})$/.exec(text) ?? []
  return xid === undefined || at === undefined ? null : { xid: BigInt(xid), at: new Date(Number(at)) }
}
