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
  /** A player's id, a part of a nickname in any letter case, or a subject. */
  readonly text: string | null
  /** The text is a subject of this provider, such as `custom`, and nothing else. */
  readonly provider?: string | null
}

/** Up to so many names are put in order. Of more of them, the first are soon met by looking through the list. */
const NAMES = 10_000
/** How many of a list are looked through for a beginning that many share. */
const PLAYERS = 20_000
/** The same for a part of a nickname, before an index is asked for all who have it. */
const FIRST_PLAYERS = 600
const ALL_NAMES = 2 ** 40
/** What an index has of nicknames that it has no room for, and how much of that surely is the beginning of the whole. */
const LONG = 'fold_name(left(n.nickname, 128))'
const LONG_START = 24
/** The most that is counted of a list. */
export const MAX_COUNT = 10_000

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

/** The places of the players that a search finds, in the order of the list. */
export async function searchPlayers(pool: Pool, search: PlayerSearch, page: PlayerPage): Promise<PlayerPlace[]> {
  const find = await finderOf(pool, search)
  const found: PlayerPlace[] = []
  for (const part of partsOf(page)) {
    if (found.length < page.limit) found.push(...(await find({ ...page, limit: page.limit - found.length }, part)))
  }
  return found
}

/** How many players a list has, up to one more than `MAX_COUNT`: one by level has those who have begun the pass. */
export async function countPlayers(pool: Pool, search: PlayerSearch, sortBy: PlayerSort = 'created'): Promise<number> {
  const page = { after: null, limit: MAX_COUNT + 1 }
  const { premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo } = search
  const isOfMore = [premium, levelFrom, levelTo, lastLoginFrom, lastLoginTo].some((asked) => (asked ?? null) !== null)
  // Names are found among players who are all of the list, unless something else is asked of them.
  const most = isOfMore || sortBy === 'level' ? ALL_NAMES : MAX_COUNT
  const { asked = [], found } = await candidatesOf(pool, search, most)
  const beginning = asked.length > 0 ? `WITH ${asked.join(', ')} ` : ''
  const list = selectPart(search, page, sortBy === 'level' ? 'level' : 'created', {
    ...(found !== undefined && { found }),
  })
  const { rows } = await pool.query<{ count: number }>(`${beginning}SELECT count(*)::int AS count FROM (${list}) q`)
  return rows[0]?.count ?? 0
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
  const exact = isUuid(text) ? `SELECT ${literal(text)}::uuid AS id UNION ${bySubject}` : bySubject
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

type Find = (page: PlayerPage, part: Part) => Promise<PlayerPlace[]>

async function finderOf(pool: Pool, search: PlayerSearch): Promise<Find> {
  const few = await candidatesOf(pool, search, NAMES)
  const { asked, found, isOne } = few
  if (found === undefined) return (page, part) => read(pool, selectPart(search, page, part))
  if (!asked || !isOne) return (page, part) => read(pool, selectPart(search, page, part, { found }))
  const looking = async (page: PlayerPage, part: Part, limit: number): Promise<PlayerPlace[]> => {
    const list = selectPart(search, { ...page, limit }, part)
    const matching = `SELECT q.id, q.at FROM (${list}) q WHERE ${isOne} LIMIT ${page.limit}`
    return read(pool, matching, `WITH ${asked[0]}`)
  }
  const ordering = async (page: PlayerPage, part: Part, most: number): Promise<PlayerPlace[] | null> => {
    const { asked = [], found = '' } = most === NAMES ? few : await candidatesOf(pool, search, most)
    const isFew = `(SELECT count(*) FROM named) <= ${most}`
    return readUnless(pool, selectPart(search, page, part, { found }), `WITH ${asked.join(', ')}`, isFew)
  }
  return async (page, part) => {
    const begun = await looking(page, part, FIRST_PLAYERS)
    if (begun.length === page.limit) return begun
    const ordered = await ordering(page, part, NAMES)
    if (ordered) return ordered
    const met = await looking(page, part, PLAYERS)
    // Unless all of them are far behind: then their names are put in order, however many they are.
    return met.length === page.limit ? met : ((await ordering(page, part, ALL_NAMES)) ?? [])
  }
}

const read = async (pool: Pool, list: string, beginning = ''): Promise<PlayerPlace[]> =>
  (await readUnless(pool, list, beginning, 'true')) ?? []

async function readUnless(
  pool: Pool,
  list: string,
  beginning: string,
  condition: string,
): Promise<PlayerPlace[] | null> {
  const { rows } = await pool.query<{ found: PlayerPlace[] | null }>(
    `${beginning} SELECT CASE WHEN ${condition} THEN (
       SELECT coalesce(json_agg(json_build_object('id', q.id, 'at', q.at)), '[]') FROM (${list}) q
     ) END AS found`,
  )
  return rows[0]?.found ?? null
}
