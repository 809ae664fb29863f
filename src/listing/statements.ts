import pg from 'pg'
import { idsAround } from '../ids.ts'
import type { Status } from '../players/standing.ts'

// The SQL of lists of players. Whatever a plan rests on stands in the text, since statements are planned without their
// parameters: how many are of a region or above a level decides which index is of use.

export const PLAYER_SORTS = ['created', 'last login', 'level'] as const
export type PlayerSort = (typeof PLAYER_SORTS)[number]
export const DIRECTIONS = ['descending', 'ascending'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** A battle pass: a node of a scenario. */
export interface PassPlace {
  readonly scenarioId: string
  readonly nodeId: string
}

/** Which players a list has. Ends of time are left out of it, beginnings are not; levels are in it at both ends. */
export interface PlayerFilter {
  readonly environmentId: string
  readonly status?: Status | null
  readonly region?: string | null
  readonly language?: string | null
  readonly createdFrom?: Date | null
  readonly createdTo?: Date | null
  readonly lastLoginFrom?: Date | null
  readonly lastLoginTo?: Date | null
  /** The pass of which the following are. They are of players who have begun it. */
  readonly pass?: PassPlace | null
  readonly premium?: boolean | null
  readonly levelFrom?: number | null
  readonly levelTo?: number | null
}

/** A place in a list: a player, and by what it is sorted beside its id. Null for a list by id, and for no login. */
export interface PlayerPlace {
  readonly id: string
  readonly at: string | null
}

/** A page of a list of players. The newest, the last to log in or the highest come first unless it is said otherwise. */
export interface PlayerPage {
  /** The place behind which the page begins. */
  readonly after: PlayerPlace | null
  readonly limit: number
  readonly sortBy?: PlayerSort
  readonly direction?: Direction
}

/** The parts of a list that are in order one behind the other. Who has never logged in comes last in either direction. */
export type Part = PlayerSort | 'never logged in'

export const partsOf = ({ after, sortBy = 'created' }: PlayerPage): readonly Part[] => {
  if (sortBy !== 'last login') return [sortBy]
  return after !== null && after.at === null ? ['never logged in'] : ['last login', 'never logged in']
}

export const literal = (text: string): string => pg.escapeLiteral(text)
const uuid = (id: string): string => `${literal(id)}::uuid`
const END_OF_TIME = new Date('9999-12-31T00:00:00Z')
/** Nothing is older than 1970, and Postgres does not read every year that JavaScript writes. */
const bounded = (at: Date): Date => {
  if (at.getTime() < 0) return new Date(0)
  return at > END_OF_TIME ? END_OF_TIME : at
}
const moment = (at: Date): string => `${literal(bounded(at).toISOString())}::timestamptz`

/** As they stand in the database, whatever a caller says that it is. */
const STATUSES = { active: 'active', banned: 'banned', deleted: 'deleted' } as const satisfies Record<Status, Status>

/** The ids that players of the filter's times have, of the column `id`. */
function ofTimes({ createdFrom, createdTo, lastLoginTo }: PlayerFilter, id: string): string[] {
  // Nobody logs in before it is created.
  const ends = [createdTo, lastLoginTo].flatMap((at) => (at ? [bounded(at)] : []))
  const ids = idsAround(
    createdFrom ? bounded(createdFrom) : null,
    ends.sort((a, b) => a.getTime() - b.getTime())[0] ?? null,
  )
  // Ids are in the order of time, but for the clocks that made them.
  return [...(ids.first ? [`${id} >= ${uuid(ids.first)}`] : []), ...(ids.last ? [`${id} < ${uuid(ids.last)}`] : [])]
}

/** What is asked of the row of `players` itself, which `player` names. */
export function ofPlayers(filter: PlayerFilter, player: string): string[] {
  const { environmentId, status, region, language, createdFrom, createdTo } = filter
  return [
    `${player}.environment_id = ${uuid(environmentId)}`,
    ...(status ? [`${player}.status = '${STATUSES[status]}'`] : []),
    ...(region ? [`${player}.region = ${literal(region)}`] : []),
    ...(language ? [`${player}.language = ${literal(language)}`] : []),
    ...(createdFrom ? [`${player}.created_at >= ${moment(createdFrom)}`] : []),
    ...(createdTo ? [`${player}.created_at < ${moment(createdTo)}`] : []),
    ...ofTimes(filter, `${player}.id`),
  ]
}

function ofPass(filter: PlayerFilter): string[] {
  const { environmentId, pass, premium, levelFrom, levelTo } = filter
  if (!pass) throw new Error('a list by what players have on a pass names the pass')
  return [
    `s.environment_id = ${uuid(environmentId)}`,
    `s.scenario_id = ${literal(pass.scenarioId)}`,
    `s.node_id = ${literal(pass.nodeId)}`,
    ...(premium === true ? ['s.premium_owned'] : []),
    ...(premium === false ? ['NOT s.premium_owned'] : []),
    ...(isGiven(levelFrom) ? [`s.level >= ${levelFrom}`] : []),
    ...(isGiven(levelTo) ? [`s.level <= ${levelTo}`] : []),
    ...ofTimes(filter, 's.player_id'),
  ]
}

function ofLogins(filter: PlayerFilter): string[] {
  const { environmentId, lastLoginFrom, lastLoginTo } = filter
  return [
    `l.environment_id = ${uuid(environmentId)}`,
    ...(lastLoginFrom ? [`l.logged_in_at >= ${moment(lastLoginFrom)}`] : []),
    ...(lastLoginTo ? [`l.logged_in_at < ${moment(lastLoginTo)}`] : []),
    ...ofTimes(filter, 'l.player_id'),
  ]
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined

/** How each part is sorted: by which columns, and the first of them as a text that reads back as it was. */
const KEYS: Readonly<Record<Part, { at: string; read?: (at: string) => string; text: string; id: string }>> = {
  created: { at: '', text: 'NULL', id: 'p.id' },
  'never logged in': { at: '', text: 'NULL', id: 'p.id' },
  'last login': {
    at: 'l.logged_in_at',
    read: (at) => `${literal(at)}::timestamptz`,
    text: `to_char(l.logged_in_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    id: 'l.player_id',
  },
  level: { at: 's.level', read: (at) => `${literal(at)}::int`, text: 's.level::text', id: 's.player_id' },
}

/** Where a list looks: among all players, or among those of `found`, whose ids are known. */
export interface Among {
  readonly found?: string
  readonly also?: readonly string[]
}

/** The rows `id`, `at` and `nickname` of a part of a list, in its order. */
export function selectPart(
  filter: PlayerFilter,
  { after, limit, direction = 'descending' }: PlayerPage,
  part: Part,
  { found, also = [] }: Among = {},
): string {
  const { at, read, text, id } = KEYS[part]
  const [order, beyond] = direction === 'descending' ? ['DESC', '<'] : ['ASC', '>']
  const hasPass = part === 'level' || isGiven(filter.premium) || isGiven(filter.levelFrom) || isGiven(filter.levelTo)
  const hasLogin = part === 'last login' || Boolean(filter.lastLoginFrom ?? filter.lastLoginTo)
  const isBehind = after !== null && (part !== 'never logged in' || after.at === null)
  // Said of each table, as Postgres does not carry a bound from one to another, and would read an index from its start.
  const ids = [
    id,
    ...(id === 'p.id' ? [...(hasPass ? ['s.player_id'] : []), ...(hasLogin ? ['l.player_id'] : [])] : []),
  ]
  const place = !isBehind
    ? []
    : read && after.at !== null
      ? [`(${at}, ${id}) ${beyond} (${read(after.at)}, ${uuid(after.id)})`]
      : ids.map((column) => `${column} ${beyond} ${uuid(after.id)}`)
  const where = [
    ...ofPlayers(filter, 'p'),
    ...(hasPass ? ofPass(filter) : []),
    ...(hasLogin ? ofLogins(filter) : []),
    // A range of logins leaves nobody of these.
    ...(part === 'never logged in'
      ? ['NOT EXISTS (SELECT FROM last_logins n WHERE n.environment_id = p.environment_id AND n.player_id = p.id)']
      : []),
    ...place,
    ...also,
  ]
  const joined = [
    ...(hasPass ? [join('passes', 's', found)] : []),
    ...(hasLogin ? [join('last_logins', 'l', found)] : []),
  ]
  return `SELECT ${id} AS id, ${text} AS at, p.nickname FROM ${playersOf(filter, found)} ${joined.join(' ')}
    WHERE ${where.join(' AND ')} ORDER BY ${at === '' ? '' : `${at} ${order}, `}${id} ${order} LIMIT ${limit}`

  function join(table: string, alias: string, found: string | undefined): string {
    const own = `${alias}.environment_id = p.environment_id AND ${alias}.player_id = p.id`
    if (found === undefined) return `JOIN ${table} ${alias} ON ${own}`
    const of = alias === 's' ? ofPass(filter) : ofLogins(filter)
    // Looked up one by one: a plan that goes through the whole table looks cheaper to whoever does not know how few they are.
    return `CROSS JOIN LATERAL (SELECT * FROM ${table} ${alias} WHERE ${[own, ...of].join(' AND ')} LIMIT 1) ${alias}`
  }
}

function playersOf({ environmentId }: PlayerFilter, found: string | undefined): string {
  if (found === undefined) return 'players p'
  return `(${found}) f CROSS JOIN LATERAL (
    SELECT * FROM players p WHERE p.environment_id = ${uuid(environmentId)} AND p.id = f.id LIMIT 1) p`
}
