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

/** How nicknames were searched. */
export const NICKNAME_SEARCHES = ['anywhere', 'prefix'] as const
export type NicknameSearch = (typeof NICKNAME_SEARCHES)[number]

export interface PlayerSearch extends PlayerFilter {
  /** A player's id, plain or as in GraphQL, a part of a nickname in any letter case, or a subject. */
  readonly text: string | null
  /** With it the text is a subject of this provider, such as `custom`. */
  readonly provider?: string | null
}

// A search for a name can go two ways: along the list, checking each player's name, which soon fills a page when many
// have the name; or by the index of names, sorting the players found, which is quick while they are few. Both are
// bounded, so that no search ends in a timeout.

/** Players of the list whose name is checked, before and after the index of names is tried. */
const FIRST_LOOK = 800
const LAST_LOOK = 20_000
/** The most players with the name that are sorted. */
const SORTED_NAMES = 3_000
/** The most players with the name that are counted. */
const COUNTED_NAMES = 30_000
/**
 * The indexed expression for nicknames that are too long for the index, and the length of it that is certainly a
 * beginning of the folded name.
 */
const LONG = 'fold_name(left(n.nickname, 128))'
const LONG_START = 24
/** The highest count of a list. */
export const MAX_COUNT = 10_000

/** The beginning of a player's id in GraphQL. */
const GLOBAL_ID = 'Player:'

/** The index of parts of nicknames consists of pieces of three letters or digits. */
const PIECE = /[\p{L}\p{N}]{3}/u

/**
 * How nicknames are searched for a text: anywhere in them when this database has the index for it and the text has
 * three letters or digits in a row, otherwise at their beginning.
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
  /** The places of the players, in the order of the list. */
  readonly places: readonly PlayerPlace[]
  /** The place where the search stopped before the page was full and before the list ended: more players may follow. */
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
  /** The counted players: at most one more than `MAX_COUNT`. */
  readonly count: number
  /** Whether the count is complete. */
  readonly isExact: boolean
}

/** Counts the players of a list. A list by level has the players who have begun the pass. */
export async function countPlayers(
  pool: Pool,
  search: PlayerSearch,
  sortBy: PlayerSort = 'created',
): Promise<PlayerCount> {
  const part = sortBy === 'level' ? 'level' : 'created'
  const all = (count: number): PlayerCount => ({ count, isExact: count <= MAX_COUNT })

  const { premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo } = search
  const isOfMore = [premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo].some((asked) => (asked ?? null) !== null)
  // Without filters on other tables, everyone with the name is in the list.
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
  // Many players have the name, and few of those that were checked are in the list. A short list is searched as a
  // whole.
  const { rows: listed } = await pool.query<{ count: number; looked: number }>(
    `WITH ${asked[0]} SELECT (count(*) FILTER (WHERE ${isOne}))::int AS count, count(*)::int AS looked
     FROM (${selectPart(search, { after: null, limit: LAST_LOOK }, part)}) q`,
  )
  const { count: met = 0, looked = 0 } = listed[0] ?? {}
  return looked < LAST_LOOK ? all(met) : { count: Math.max(count, met), isExact: false }
}

/** Players who may match a search, in SQL. */
interface Candidates {
  readonly asked?: readonly string[]
  /** Undefined for all players. */
  readonly found?: string
  /** A condition on a row `q` of a list. */
  readonly isOne?: string
}

async function candidatesOf(pool: Pool, search: PlayerSearch, most: number): Promise<Candidates> {
  const { environmentId, text, provider = null } = search
  if (text === null) return {}
  const environment = `${literal(environmentId)}::uuid`
  const bySubject = `SELECT i.player_id AS id FROM identities i WHERE i.environment_id = ${environment} AND i.subject = ${literal(text)}`
  if (provider !== null) return { found: `${bySubject} AND i.provider = ${literal(provider)}` }
  // A studio's subject may look like an id, too.
  const id = text.startsWith(GLOBAL_ID) ? text.slice(GLOBAL_ID.length) : text
  const exact = isUuid(id) ? `SELECT ${literal(id)}::uuid AS id UNION ${bySubject}` : bySubject
  const found = `SELECT id FROM named UNION (${exact})`
  const among = ofPlayers(search, 'n').join(' AND ')
  if ((await nicknameSearchOf(pool, text)) === 'anywhere') {
    const pattern = `(SELECT pattern FROM asked)`
    return {
      asked: [
        // Wildcards in the text are escaped.
        `asked AS MATERIALIZED (
          SELECT '%' || regexp_replace(search_name(${literal(text)}), '([\\\\%_])', '\\\\\\1', 'g') || '%' AS pattern)`,
        `named AS MATERIALIZED (
          SELECT n.id FROM players n WHERE ${among} AND search_name(n.nickname) LIKE ${pattern} LIMIT ${most + 1})`,
      ],
      found,
      isOne: `(search_name(q.nickname) LIKE ${pattern} OR q.id IN (${exact}))`,
    }
  }
  // Ranges of bytes, which the index serves under any plan.
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

  // One statement, so that a page ends exactly where the search stopped.
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
