import type { Pool } from 'pg'
import { isUuid } from '../limits.ts'
import {
  literal,
  ofPlayers,
  type Part,
  type PlayerFilter,
  type PlayerPage,
  type PlayerPlace,
  type PlayerSort,
  partsOf,
  selectPart,
} from './statements.ts'

/** How a nickname was looked for. */
export const NICKNAME_SEARCHES = ['anywhere', 'prefix'] as const
export type NicknameSearch = (typeof NICKNAME_SEARCHES)[number]

export interface PlayerSearch extends PlayerFilter {
  /** A player's id, bare or as GraphQL has it, a part of a nickname in any letter case, or a subject. */
  readonly text: string | null
  /** The text is a subject of this provider, such as `custom`, and nothing else. */
  readonly provider?: string | null
}

// A search for a name goes two ways: through the list in its order, asking each player for its name, which soon fills a
// page with a name that many have; or by the index of names, whose players are then put in order, which is quick while
// they are few. Both are bounded, so that no search ends in a timeout.

/** How many players of a list are looked at before the index of names is asked, and after it. */
const FIRST_LOOK = 800
const LAST_LOOK = 20_000
/** How many players with the name are put in order. */
const SORTED_NAMES = 3_000
/** How many players with the name are looked at to count them. */
const COUNTED_NAMES = 30_000
/** What an index has of nicknames that it has no room for, and how much of that surely is the beginning of the whole. */
const LONG = 'fold_name(left(n.nickname, 128))'
const LONG_START = 24
/** The most that is counted of a list. */
export const MAX_COUNT = 10_000

/** The beginning of a player's id in GraphQL. */
const GLOBAL_ID = 'Player:'

/** What the index of parts of nicknames is made of: pieces of three letters or digits. */
const PIECE = /[\p{L}\p{N}]{3}/u

/**
 * How a text is looked for in nicknames: anywhere in them where this database has the index for it and the text has three
 * letters or digits in a row, else at their beginning.
 */
export async function nicknameSearchOf(pool: Pool, text: string): Promise<NicknameSearch> {
  if (!PIECE.test(text)) return 'prefix'
  const { rows } = await pool.query<{ has_index: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('players_search_name_idx') AND indisvalid) AS has_index`,
  )
  return rows[0]?.has_index ? 'anywhere' : 'prefix'
}

/** A page of what a search finds. */
export interface FoundPlayers {
  /** Where the players are in the order of the list. */
  readonly places: readonly PlayerPlace[]
  /** Where the page ended before it was full and before the list ended: more may be found behind it. */
  readonly stoppedAt: PlayerPlace | null
}

export async function searchPlayers(pool: Pool, search: PlayerSearch, page: PlayerPage): Promise<FoundPlayers> {
  const find = await finderOf(pool, search)
  const places: PlayerPlace[] = []
  for (const part of partsOf(page)) {
    if (places.length === page.limit) break
    const found = await find({ ...page, limit: page.limit - places.length }, part)
    places.push(...found.places)
    if (found.stoppedAt) return { places, stoppedAt: found.stoppedAt }
  }
  return { places, stoppedAt: null }
}

export interface PlayerCount {
  /** How many were counted: up to one more than `MAX_COUNT`. */
  readonly count: number
  /** Whether these are all. */
  readonly isExact: boolean
}

/** How many players a list has: one by level has those who have begun the pass. */
export async function countPlayers(
  pool: Pool,
  search: PlayerSearch,
  sortBy: PlayerSort = 'created',
): Promise<PlayerCount> {
  const part = sortBy === 'level' ? 'level' : 'created'
  const all = (count: number): PlayerCount => ({ count, isExact: count <= MAX_COUNT })

  const { premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo } = search
  const isOfMore = [premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo].some((asked) => (asked ?? null) !== null)
  // Names are found among players who are all of the list, unless something else is asked of them.
  const most = isOfMore || sortBy === 'level' ? COUNTED_NAMES : MAX_COUNT
  const { asked, found, isOne } = await candidatesOf(pool, search, most)
  const list = (limit: number): string =>
    selectPart(search, { after: null, limit }, part, { ...(found !== undefined && { found }) })
  if (!asked || !isOne) {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (${list(MAX_COUNT + 1)}) q`,
    )
    return all(rows[0]?.count ?? 0)
  }
  const { rows: named } = await pool.query<{ count: number; names: number }>(
    `WITH ${asked.join(', ')} SELECT (SELECT count(*) FROM (${list(MAX_COUNT + 1)}) q)::int AS count,
       (SELECT count(*) FROM named)::int AS names`,
  )
  const { count = 0, names = 0 } = named[0] ?? {}
  if (count > MAX_COUNT || names <= most) return all(count)
  // Many have the name, and few of those that were looked at are in the list. A short list is looked through.
  const { rows: listed } = await pool.query<{ count: number; looked: number }>(
    `WITH ${asked[0]} SELECT (count(*) FILTER (WHERE ${isOne}))::int AS count, count(*)::int AS looked
     FROM (${selectPart(search, { after: null, limit: LAST_LOOK }, part)}) q`,
  )
  const { count: met = 0, looked = 0 } = listed[0] ?? {}
  return looked < LAST_LOOK ? all(met) : { count: Math.max(count, met), isExact: false }
}

/** Players who may be what is searched for: in SQL, what stands before the statement, and the ids. */
interface Candidates {
  readonly asked?: readonly string[]
  /** Undefined for all players. */
  readonly found?: string
  /** Whether a row `q` of a list is one of them. */
  readonly isOne?: string
}

async function candidatesOf(pool: Pool, search: PlayerSearch, most: number): Promise<Candidates> {
  const { environmentId, text, provider = null } = search
  if (text === null) return {}
  const environment = `${literal(environmentId)}::uuid`
  const bySubject = `SELECT i.player_id AS id FROM identities i WHERE i.environment_id = ${environment} AND i.subject = ${literal(text)}`
  if (provider !== null) return { found: `${bySubject} AND i.provider = ${literal(provider)}` }
  // Studios may call their players by such ids, too.
  const id = text.startsWith(GLOBAL_ID) ? text.slice(GLOBAL_ID.length) : text
  const exact = isUuid(id) ? `SELECT ${literal(id)}::uuid AS id UNION ${bySubject}` : bySubject
  const found = `SELECT id FROM named UNION (${exact})`
  const among = ofPlayers(search, 'n').join(' AND ')
  if ((await nicknameSearchOf(pool, text)) === 'anywhere') {
    const pattern = `(SELECT pattern FROM asked)`
    return {
      asked: [
        // What the text has of the signs of patterns stands for itself.
        `asked AS MATERIALIZED (
          SELECT '%' || regexp_replace(search_name(${literal(text)}), '([\\\\%_])', '\\\\\\1', 'g') || '%' AS pattern)`,
        `named AS MATERIALIZED (
          SELECT n.id FROM players n WHERE ${among} AND search_name(n.nickname) LIKE ${pattern} LIMIT ${most + 1})`,
      ],
      found,
      isOne: `(search_name(q.nickname) LIKE ${pattern} OR q.id IN (${exact}))`,
    }
  }
  // By ranges of bytes, which the index serves whatever the plan.
  const named = (player: string): string => `fold_name(${player}.nickname) ~>=~ (SELECT low FROM asked)
    AND fold_name(${player}.nickname) ~<~ (SELECT high FROM asked)`
  return {
    asked: [
      // Folded once, not for each player.
      `asked AS MATERIALIZED (
        SELECT fold_name(${literal(text)}) AS low, fold_name(${literal(`${text}\u{10ffff}`)}) AS high)`,
      `named AS MATERIALIZED (
         (SELECT n.id FROM players n WHERE ${among} AND octet_length(n.nickname) <= 512 AND ${named('n')}
          ORDER BY fold_name(n.nickname) USING ~<~ LIMIT ${most + 1})
         UNION ALL
         (SELECT n.id FROM players n WHERE ${among} AND octet_length(n.nickname) > 512 AND ${named('n')}
            AND ${LONG} ~>=~ (SELECT left(low, ${LONG_START}) FROM asked)
            AND ${LONG} ~<~ (SELECT left(low, ${LONG_START}) || chr(1114111) FROM asked)
          ORDER BY ${LONG} USING ~<~ LIMIT ${most + 1}))`,
    ],
    found,
    isOne: `((${named('q')}) OR q.id IN (${exact}))`,
  }
}

type Find = (page: PlayerPage, part: Part) => Promise<FoundPlayers>

async function finderOf(pool: Pool, search: PlayerSearch): Promise<Find> {
  const { asked, found, isOne } = await candidatesOf(pool, search, SORTED_NAMES)
  const among = found === undefined ? {} : { found }
  const all = (places: PlayerPlace[]): FoundPlayers => ({ places, stoppedAt: null })
  if (!asked || !isOne)
    return async (page, part) => all((await readIf(pool, 'true', selectPart(search, page, part, among))) ?? [])

  // In one statement, so that a page ends where it was looked at.
  const look = async (page: PlayerPage, part: Part, limit: number): Promise<FoundPlayers> => {
    const { rows } = await pool.query<{ places: PlayerPlace[]; last: PlayerPlace | null }>(
      `WITH ${asked[0]}, list AS MATERIALIZED (${selectPart(search, { ...page, limit }, part)}),
         met AS MATERIALIZED (SELECT q.id, q.at FROM list q WHERE ${isOne} LIMIT ${page.limit})
       SELECT (SELECT coalesce(json_agg(${PLACE}), '[]') FROM met q) AS places,
         CASE WHEN (SELECT count(*) FROM met) < ${page.limit} THEN (
           SELECT ${PLACE} FROM list q OFFSET ${limit - 1} LIMIT 1
         ) END AS last`,
    )
    const { places = [], last = null } = rows[0] ?? {}
    return { places, stoppedAt: last }
  }
  return async (page, part) => {
    const begun = await look(page, part, FIRST_LOOK)
    if (begun.stoppedAt === null) return begun
    const isFew = `(SELECT count(*) FROM named) <= ${SORTED_NAMES}`
    const sorted = await readIf(pool, isFew, selectPart(search, page, part, among), `WITH ${asked.join(', ')}`)
    return sorted ? all(sorted) : look(page, part, LAST_LOOK)
  }
}

const PLACE = `json_build_object('id', q.id, 'at', q.at)`

async function readIf(pool: Pool, condition: string, list: string, beginning = ''): Promise<PlayerPlace[] | null> {
  const { rows } = await pool.query<{ found: PlayerPlace[] | null }>(
    `${beginning} SELECT CASE WHEN ${condition} THEN (
       SELECT coalesce(json_agg(${PLACE}), '[]') FROM (${list}) q
     ) END AS found`,
  )
  return rows[0]?.found ?? null
}
