import pg from 'pg'
import { idsAround } from '../ids.ts'
import type { Status } from '../players/standing.ts'

// The SQL of lists of players. Values that decide the plan are literals, since statements are planned without their
// parameters: the number of players of a region or above a level decides which index helps.

export const PLAYER_SORTS = ['created', 'last login', 'level'] as const
export type PlayerSort = (typeof PLAYER_SORTS)[number]
export const DIRECTIONS = ['descending', 'ascending'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** A battle pass: a node of a scenario. */
export interface PassPlace {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The filter of a list. Times include their start and exclude their end; levels include both. */
export interface PlayerFilter {
  readonly environmentId: string
  readonly status?: Status | null
  readonly region?: string | null
  readonly language?: string | null
  readonly createdFrom?: Date | null
  readonly createdTo?: Date | null
  readonly lastLoginFrom?: Date | null
  readonly lastLoginTo?: Date | null
  /** The pass of the following filters. They match players who have begun it. */
  readonly pass?: PassPlace | null
  readonly premium?: boolean | null
  readonly levelFrom?: number | null
  readonly levelTo?: number | null
}

/** A place in a list: a player, and its sort key beside the id. Null for a list by id, and without a login. */
export interface PlayerPlace {
  readonly id: string
  readonly at: string | null
}

/** A page of a list of players. Default: the newest, the latest login or the highest level first. */
export interface PlayerPage {
  /** The page begins after this place. */
  readonly after: PlayerPlace | null
  readonly limit: number
  readonly sortBy?: PlayerSort
  readonly direction?: Direction
}

/** The consecutive parts of a list. Players who never logged in come last in either direction. */
export type Part = PlayerSort | 'never logged in'

export const partsOf = ({ after, sortBy = 'created' }: PlayerPage): readonly Part[] => {
  if (sortBy !== 'last login') return [sortBy]
  return after !== null && after.at === null ? ['never logged in'] : ['last login', 'never logged in']
}

export const literal = (text: string): string => pg.escapeLiteral(text)
const uuid = (id: string): string => `${literal(id)}::uuid`
const END_OF_TIME = new Date('9999-12-31T00:00:00Z')
/** No player is older than 1970, and Postgres does not read every year that JavaScript writes. */
const bounded = (at: Date): Date => {
  if (at.getTime() < 0) return new Date(0)
  return at > END_OF_TIME ? END_OF_TIME : at
}
const moment = (at: Date): string => `${literal(bounded(at).toISOString())}::timestamptz`

/** The values in the database, whatever a caller sends. */
const STATUSES = { active: 'active', banned: 'banned', deleted: 'deleted' } as const satisfies Record<Status, Status>

/** Bounds on the column `id` that follow from the filter's times. */
function ofTimes({ createdFrom, createdTo, lastLoginTo }: PlayerFilter, id: string): string[] {
  // No player logs in before it is created.
  const ends = [createdTo, lastLoginTo].flatMap((at) => (at ? [bounded(at)] : []))
  const ids = idsAround(
    createdFrom ? bounded(createdFrom) : null,
    ends.sort((a, b) => a.getTime() - b.getTime())[0] ?? null,
  )
  // Ids are in the order of time, except for differences between clocks.
  return [...(ids.first ? [`${id} >= ${uuid(ids.first)}`] : []), ...(ids.last ? [`${id} < ${uuid(ids.last)}`] : [])]
}

/** Conditions on the row of `players` that `player` names. */
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

/** The sort columns of each part, the first of them as a text that can be read back. */
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

/** Where a list looks: among all players, or among the ids of `found`. */
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
  // Repeated for each table: Postgres does not transfer a bound from one table to another, and would read an index from
  // its start.
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
    // A range of logins excludes all of these.
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
    // One lookup for each player: without knowing how few they are, the planner would prefer a scan of the whole table.
    return `CROSS JOIN LATERAL (SELECT * FROM ${table} ${alias} WHERE ${[own, ...of].join(' AND ')} LIMIT 1) ${alias}`
  }
}

function playersOf({ environmentId }: PlayerFilter, found: string | undefined): string {
  if (found === undefined) return 'players p'
  return `(${found}) f CROSS JOIN LATERAL (
    SELECT * FROM players p WHERE p.environment_id = ${uuid(environmentId)} AND p.id = f.id LIMIT 1) p`
}
