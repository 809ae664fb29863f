import type { Pool } from 'pg'
import { isUuid } from '../../declare/shape.ts'
import {
  ListPart,
  type ListPosition,
  literal,
  type PlayerFilter,
  type PlayerPage,
  type PlayerSort,
  partsOf,
  type Searched,
  type Source,
} from './statements.ts'

// A page is found in up to three steps. First, a few rows are examined in the order of the list: most pages are full
// then. If few of them match, each filter with an index is tried: if it leaves few players, these are sorted as a
// whole. Otherwise further rows are examined in the order of the list, up to a limit. A page that is not full then says
// where it stopped.

export const NICKNAME_SEARCHES = ['anywhere', 'prefix'] as const
export type NicknameSearch = (typeof NICKNAME_SEARCHES)[number]

export interface PlayerSearch extends PlayerFilter {
  /** A player's id, plain or as in GraphQL, a part of a nickname in any letter case, or a subject. */
  readonly text: string | null
  /** When given, the text is a subject of this provider, such as `custom`. */
  readonly provider?: string | null
}

export interface FoundPlayers {
  readonly positions: ListPosition[]
  /** The position where the search stopped before the page was full: more players may follow. Null when none follow. */
  readonly stoppedAt: ListPosition | null
}

export interface PlayerCount {
  readonly count: number
  readonly isExact: boolean
}

/** Rows that are examined in the order of the list before a filter is tried. */
const FIRST_ROWS = 300
/** The most rows that are examined for a page, and for a count. */
export const MAX_ROWS = 10_000
/** The most players that are sorted as a whole: those with a name, and those of another filter. */
const FEW_NAMED = 10_000
const FEW = 20_000
export const MAX_COUNT = 10_000
/**
 * The indexed expression for nicknames that are too long for the index, and the number of its first characters that are
 * certainly the beginning of the folded name.
 */
const LONG = 'fold_name(left(n.nickname, 128))'
const LONG_START = 24

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

export async function searchPlayers(pool: Pool, search: PlayerSearch, page: PlayerPage): Promise<FoundPlayers> {
  const text = await textOf(pool, search)
  const positions: ListPosition[] = []
  for (const part of partsOf(page, search)) {
    const list = new ListPart(search, part, text?.searched ?? null)
    const found = await findPart(pool, list, text, { ...page, limit: page.limit - positions.length })
    positions.push(...found.positions)
    if (found.stoppedAt || positions.length === page.limit) return { positions, stoppedAt: found.stoppedAt }
  }
  return { positions, stoppedAt: null }
}

async function findPart(pool: Pool, list: ListPart, text: Text | null, page: PlayerPage): Promise<FoundPlayers> {
  if (text?.isFew) return { positions: (await collect(pool, list, text, page)) ?? [], stoppedAt: null }
  const begun = await follow(pool, list, text, page, FIRST_ROWS)
  if (!begun.stoppedAt) return begun
  const isLikelyFull = begun.positions.length * MAX_ROWS >= page.limit * FIRST_ROWS
  const collected = isLikelyFull ? null : await collect(pool, list, text, page)
  if (collected) return { positions: collected, stoppedAt: null }
  const rest = { ...page, after: begun.stoppedAt, limit: page.limit - begun.positions.length }
  const { positions, stoppedAt } = await follow(pool, list, text, rest, MAX_ROWS - FIRST_ROWS)
  return { positions: [...begun.positions, ...positions], stoppedAt }
}

/** The matches among the next rows in the order of the list, and the last of these rows if the page is not full. */
async function follow(
  pool: Pool,
  list: ListPart,
  text: Text | null,
  page: PlayerPage,
  most: number,
): Promise<FoundPlayers> {
  const { rows } = await pool.query<{ positions: ListPosition[]; stopped_at: ListPosition | null }>(
    `${withAll(text?.asked, `page AS MATERIALIZED (${list.selectNext(page, most)})`)}
     SELECT (SELECT coalesce(json_agg(page), '[]') FROM page) AS positions,
       CASE WHEN (SELECT count(*) FROM page) < ${page.limit}
         THEN (SELECT row_to_json(stop) FROM (${list.selectStop(page, most)}) stop) END AS stopped_at`,
  )
  const { positions = [], stopped_at: stoppedAt = null } = rows[0] ?? {}
  return { positions, stoppedAt }
}

/** The page from the first source with few rows, sorted as a whole. Null when there is no such source. */
async function collect(
  pool: Pool,
  list: ListPart,
  text: Text | null,
  page: PlayerPage,
): Promise<ListPosition[] | null> {
  const sources = list.sources.filter((source) => !source.isAll && source !== list.ordered)
  if (sources.length === 0) return null
  const pages = sources.map(
    (source) => `WHEN ${isFew(list, source)} THEN (
      SELECT coalesce(json_agg(q), '[]') FROM (${list.selectAll(source, page, FEW)}) q)`,
  )
  const { rows } = await pool.query<{ positions: ListPosition[] | null }>(
    `${withAll(text?.asked, text?.named(FEW_NAMED + 1))} SELECT CASE ${pages.join('\n')} END AS positions`,
  )
  return rows[0]?.positions ?? null
}

function isFew(list: ListPart, source: Source): string {
  const few = source.alias === 'f' ? FEW_NAMED : FEW
  return `${list.countOf(source, few)} <= ${few}`
}

/** Counts the players of a list. A list by level has only players who have begun the pass. */
export async function countPlayers(
  pool: Pool,
  search: PlayerSearch,
  sortBy: PlayerSort = 'created',
): Promise<PlayerCount> {
  const text = await textOf(pool, search)
  const list = new ListPart(search, sortBy === 'level' ? 'level' : 'created', text?.searched ?? null)
  const enough = MAX_COUNT + 1
  const whole = list.sources.find((source) => list.isWhole(source))
  const counts = list.sources.map(
    (source) => `WHEN ${isFew(list, source)} THEN ARRAY[${list.countList(source, FEW, enough)}, 1]`,
  )
  const some = list.sources.find(({ alias }) => alias !== 'f') ?? list.ordered
  const { rows } = await pool.query<{ counted: [string, string] }>(
    `${withAll(text?.asked, text?.named(Math.max(FEW_NAMED, MAX_COUNT) + 1))} SELECT ${
      whole
        ? `ARRAY[${list.countList(whole, enough, enough)}, 1]`
        : `CASE ${counts.join('\n')} ELSE ARRAY[${list.countList(some, MAX_ROWS, enough)}, 0] END`
    } AS counted`,
  )
  const [count, isExact] = (rows[0]?.counted ?? []).map(Number)
  return { count: Math.min(count ?? 0, MAX_COUNT), isExact: isExact === 1 && (count ?? 0) <= MAX_COUNT }
}

const withAll = (...tables: readonly (string | undefined)[]): string => {
  const given = tables.filter((table) => table !== undefined)
  return given.length === 0 ? '' : `WITH ${given.join(', ')}`
}

interface Text {
  /** Tables for the WITH of a statement: the folded text, and a number of players whose names match it. */
  readonly asked?: string
  readonly named: (most: number) => string | undefined
  readonly searched: Searched
  /** The text is only a subject, so few players match. */
  readonly isFew: boolean
}

async function textOf(pool: Pool, { environmentId, text, provider = null }: PlayerSearch): Promise<Text | null> {
  if (text === null) return null
  const environment = `${literal(environmentId)}::uuid`
  const ofSubject = `SELECT i.player_id AS id FROM identities i WHERE i.environment_id = ${environment} AND i.subject = ${literal(text)}`
  const searched = (ids: string, sql: string): Searched => {
    const condition = { alias: 'p', sql } as const
    return { source: { alias: 'f', order: null, meets: condition, rows: ids }, condition }
  }
  if (provider !== null) {
    const ids = `${ofSubject} AND i.provider = ${literal(provider)}`
    return { named: () => undefined, searched: searched(ids, 'true'), isFew: true }
  }
  const ofEnvironment = `n.environment_id = ${environment}`
  // The global id names the same player.
  const id = text.replace(/^Player:/, '')
  // A studio's subject may look like an id, too.
  const exact = isUuid(id)
    ? `SELECT n.id FROM players n WHERE ${ofEnvironment} AND n.id = ${literal(id)}::uuid UNION ${ofSubject}`
    : ofSubject
  const ids = `SELECT id FROM named UNION (${exact})`
  if ((await nicknameSearchOf(pool, text)) === 'anywhere') {
    const pattern = `(SELECT pattern FROM asked)`
    return {
      // Wildcards in the text are escaped.
      asked: `asked AS MATERIALIZED (
        SELECT '%' || regexp_replace(search_name(${literal(text)}), '([\\\\%_])', '\\\\\\1', 'g') || '%' AS pattern)`,
      named: (most) => `named AS MATERIALIZED (
        SELECT n.id FROM players n WHERE ${ofEnvironment} AND search_name(n.nickname) LIKE ${pattern} LIMIT ${most})`,
      searched: searched(ids, `(search_name(p.nickname) LIKE ${pattern} OR p.id IN (${exact}))`),
      isFew: false,
    }
  }
  // Ranges of bytes, which the index serves under any plan.
  const isNamed = (player: string): string => `fold_name(${player}.nickname) ~>=~ (SELECT low FROM asked)
    AND fold_name(${player}.nickname) ~<~ (SELECT high FROM asked)`
  return {
    // Folded once, not for each player.
    asked: `asked AS MATERIALIZED (
      SELECT fold_name(${literal(text)}) AS low, fold_name(${literal(`${text}\u{10ffff}`)}) AS high)`,
    named: (most) => `named AS MATERIALIZED (
       (SELECT n.id FROM players n WHERE ${ofEnvironment} AND octet_length(n.nickname) <= 512 AND ${isNamed('n')}
        ORDER BY fold_name(n.nickname) USING ~<~ LIMIT ${most})
       UNION ALL
       (SELECT n.id FROM players n WHERE ${ofEnvironment} AND octet_length(n.nickname) > 512 AND ${isNamed('n')}
          AND ${LONG} ~>=~ (SELECT left(low, ${LONG_START}) FROM asked)
          AND ${LONG} ~<~ (SELECT left(low, ${LONG_START}) || chr(1114111) FROM asked)
        ORDER BY ${LONG} USING ~<~ LIMIT ${most}))`,
    searched: searched(ids, `((${isNamed('p')}) OR p.id IN (${exact}))`),
    isFew: false,
  }
}
