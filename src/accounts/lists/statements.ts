import pg from 'pg'
import { idsAround } from '../../db/ids.ts'
import type { Level } from '../../game/definition/definition.ts'
import type { Status } from '../../players/player-status.ts'

// The SQL of lists of players. No statement reads more than a given number of rows: it takes them from one index, the
// source, and looks each of them up in the other tables by key. Its time depends on that number alone, not on the
// planner's estimates. Values are literals, since statements are planned without their parameters.

export const PLAYER_SORTS = ['created', 'last login', 'level'] as const
export type PlayerSort = (typeof PLAYER_SORTS)[number]
export const DIRECTIONS = ['descending', 'ascending'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** A battle pass: a node of a scenario. */
export interface ListedPass {
  readonly scenarioId: string
  readonly nodeId: string
  /** Its levels by the current version; null when that has no such pass. */
  readonly levels: readonly Level[] | null
}

/** The filter of a list. Times include their start and exclude their end; levels include both. */
export interface PlayerFilter {
  readonly environmentId: string
  readonly status?: Status | null
  /** Whether deleted players are left out where no status is asked for. */
  readonly isPresent?: boolean
  readonly region?: string | null
  readonly language?: string | null
  readonly createdFrom?: Date | null
  readonly createdTo?: Date | null
  readonly lastLoginFrom?: Date | null
  readonly lastLoginTo?: Date | null
  /** The pass of the following filters. They match players who have begun it. */
  readonly pass?: ListedPass | null
  readonly premium?: boolean | null
  readonly levelFrom?: number | null
  readonly levelTo?: number | null
}

export interface ListPosition {
  readonly id: string
  /** The value that the list is sorted by. Null for a list by id, and for a player without a login. */
  readonly at: string | null
}

/** A page of a list of players. Default: the newest, the latest login or the highest level first. */
export interface PlayerPage {
  /** The page begins after this position. */
  readonly after: ListPosition | null
  readonly limit: number
  readonly sortBy?: PlayerSort
  readonly direction?: Direction
}

/** The consecutive parts of a list. Players who never logged in come last in either direction. */
export type Part = PlayerSort | 'never logged in'

export const partsOf = (
  { after, sortBy = 'created' }: PlayerPage,
  { lastLoginFrom, lastLoginTo }: PlayerFilter,
): readonly Part[] => {
  if (sortBy !== 'last login') return [sortBy]
  if (lastLoginFrom || lastLoginTo) return after !== null && after.at === null ? [] : ['last login']
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

/** The conditions of a status. A ban ends by time: few banned players have one that has ended. */
const ENDED_BAN = "p.status = 'banned' AND p.ban_until <= now()"
const OF_STATUS: Readonly<Record<Status, readonly string[]>> = {
  active: [`(p.status = 'active' OR ${ENDED_BAN})`],
  banned: ["p.status = 'banned'", '(p.ban_until IS NULL OR p.ban_until > now())'],
  deleted: ["p.status = 'deleted'"],
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined

/** `p` are players, `s` their passes, `l` their last logins, and `f` the ids that a search has found. */
type Alias = 'p' | 's' | 'l' | 'f'
const TABLES = { p: 'players', s: 'passes', l: 'last_logins' } as const
const ID: Readonly<Record<Alias, string>> = { p: 'p.id', s: 's.player_id', l: 'l.player_id', f: 'f.id' }

interface Condition {
  readonly alias: 'p' | 's' | 'l'
  readonly sql: string
}

/** The stored level of a player. For some seconds after an edit of the levels, it is that of the version before. */
const LEVEL = 'coalesce(s.current_level, s.level)'

/**
 * The xp at these levels by the current version, in SQL. It leaves out players whose stored level is not the current
 * one yet, so that no player is listed under a level that it does not have.
 */
function xpAt(levels: readonly Level[], { levelFrom, levelTo }: PlayerFilter): string[] {
  const first = isGiven(levelFrom) && levelFrom > 0 ? levels.find(({ level }) => level >= levelFrom) : null
  const next = isGiven(levelTo) ? levels.find(({ level }) => level > levelTo) : undefined
  return [
    ...(first ? [`s.xp >= ${first.xp}`] : []),
    ...(first === undefined ? ['false'] : []),
    ...(next ? [`s.xp < ${next.xp}`] : []),
  ]
}

type Order = 'id' | 'login' | 'level'
/** The columns of an index before the ids, by order. */
const INDEXED: Readonly<Record<Order, readonly string[]>> = { id: [], login: ['l.logged_in_at'], level: [LEVEL] }

/** The rows of an index, or of a search. */
export interface Source {
  readonly alias: Alias
  /** The order of the index among the rows that meet its condition. The result of a search has no order. */
  readonly order: Order | null
  /** A condition that all of its rows meet. */
  readonly meets: Condition | null
  /** Its rows, in SQL. Default: the table of its alias. */
  readonly rows?: string
  /** It has every player of the list's range. */
  readonly isAll?: boolean
}

export interface Searched {
  readonly source: Source
  readonly condition: Condition
}

/** The sort columns of a part, the first of them as a text that can be read back. */
interface Key {
  readonly alias: 's' | 'l' | null
  readonly order: Order
  readonly at: string
  readonly read: (at: string) => string
  readonly text: string
}
const BY_ID: Key = { alias: null, order: 'id', at: '', read: () => '', text: 'NULL' }
const KEYS: Readonly<Record<Part, Key>> = {
  created: BY_ID,
  'never logged in': BY_ID,
  'last login': {
    alias: 'l',
    order: 'login',
    at: 'l.logged_in_at',
    read: (at) => `${literal(at)}::timestamptz`,
    text: `to_char(l.logged_in_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  },
  level: { alias: 's', order: 'level', at: LEVEL, read: (at) => `${literal(at)}::int`, text: `${LEVEL}::text` },
}

/** A part of a list: the conditions on its players, and the indexes that contain some of them. */
export class ListPart {
  private readonly filter: PlayerFilter
  private readonly part: Part
  private readonly conditions: readonly Condition[]
  /** The indexes to search, those with the fewest expected players first. */
  readonly sources: readonly Source[]

  constructor(filter: PlayerFilter, part: Part, searched: Searched | null) {
    const { status, region, language, createdFrom, createdTo, lastLoginFrom, lastLoginTo, premium } = filter
    const { pass, levelFrom, levelTo } = filter
    const sources: Source[] = []
    const conditions: Condition[] = []
    const ask = (alias: Condition['alias'], sql: readonly string[], order: Order | null = null) => {
      if (sql.length === 0) return
      const condition = { alias, sql: sql.join(' AND ') }
      conditions.push(condition)
      if (order) sources.push({ alias, order, meets: condition })
    }
    this.filter = filter
    this.part = part
    if (searched) {
      sources.push(searched.source)
      conditions.push(searched.condition)
    }
    if (status) {
      // The index has the status alone.
      const [first = '', ...others] = OF_STATUS[status]
      ask('p', [first], status === 'active' ? null : 'id')
      ask('p', others)
    } else if (filter.isPresent) ask('p', ["p.status <> 'deleted'"])
    const levels = [
      ...(isGiven(levelFrom) ? [`${LEVEL} >= ${levelFrom}`] : []),
      ...(isGiven(levelTo) ? [`${LEVEL} <= ${levelTo}`] : []),
    ]
    ask('s', levels, 'level')
    if (pass?.levels) ask('s', xpAt(pass.levels, filter))
    const logins = [
      ...(lastLoginFrom ? [`l.logged_in_at >= ${moment(lastLoginFrom)}`] : []),
      ...(lastLoginTo ? [`l.logged_in_at < ${moment(lastLoginTo)}`] : []),
    ]
    ask('l', logins, 'login')
    if (premium === true) ask('s', ['s.premium_owned'], 'id')
    if (premium === false) ask('s', ['NOT s.premium_owned'])
    if (region) ask('p', [`p.region = ${literal(region)}`], 'id')
    if (language) ask('p', [`p.language = ${literal(language)}`], 'id')
    const created = [
      ...(createdFrom ? [`p.created_at >= ${moment(createdFrom)}`] : []),
      ...(createdTo ? [`p.created_at < ${moment(createdTo)}`] : []),
    ]
    ask('p', created)
    const everybody = { alias: 'p', order: 'id', meets: null, isAll: this.idsOf('p.id').length === 0 } as const
    // A range of creation times limits the ids.
    if (!everybody.isAll) sources.push(everybody)
    const hasPass = isGiven(premium) || levels.length > 0 || part === 'level'
    if (hasPass && levels.length === 0)
      sources.push({ alias: 's', order: 'level', meets: null, isAll: part === 'level' })
    if (part === 'last login' && logins.length === 0) {
      sources.push({ alias: 'l', order: 'login', meets: null, isAll: !createdFrom })
    }
    if (everybody.isAll) sources.push(everybody)
    this.sources = sources
    this.conditions = conditions
  }

  get ordered(): Source {
    const { order } = KEYS[this.part]
    return this.sources.find((source) => source.order === order) as Source
  }

  /** Whether all rows of a source are in the list. */
  isWhole({ alias, meets, isAll }: Source): boolean {
    const { part, conditions } = this
    if (part === 'never logged in' || (alias === 'p' && !meets && !isAll)) return false
    return conditions.every((condition) => condition === meets) && (part !== 'level' || alias === 's')
  }

  /** The first `most` rows of a source, after a position of the list when the source has the list's order. */
  private take(source: Source, most: number, page: PlayerPage | null): string {
    const { alias, order, meets, rows } = source
    if (order === null || alias === 'f') return `(${rows}) ${alias}`
    const where = [
      ...this.baseOf(alias),
      ...(meets ? [meets.sql] : []),
      ...(order === 'id' ? this.idsOf(ID[alias]) : []),
      ...(order === 'login' ? this.loginsOf() : []),
      ...(page ? this.behind(page, ID[alias]) : []),
    ]
    // Without an order, the planner would scan the table where it expects many rows.
    const sorted = page ? this.orderOf(page, ID[alias]) : [...INDEXED[order], ID[alias]].join(', ')
    return `(SELECT * FROM ${TABLES[alias]} ${alias} WHERE ${where.join(' AND ')} ORDER BY ${sorted} LIMIT ${most}) ${alias}`
  }

  /** The number of rows of a source, counted up to one more than `most`. */
  countOf(source: Source, most: number): string {
    return `(SELECT count(*) FROM ${this.take(source, most + 1, null)})`
  }

  /** The matches among the first `most` rows of a source, counted up to `limit`. */
  countList(source: Source, most: number, limit: number): string {
    return `(SELECT count(*) FROM (SELECT FROM ${this.join(source, this.take(source, most, null))} LIMIT ${limit}) q)`
  }

  /** The page from all rows of a source, which are sorted. */
  selectAll(source: Source, page: PlayerPage, most: number): string {
    return this.select(
      source,
      page,
      this.join(source, this.take(source, most, null), this.behind(page, ID[source.alias])),
    )
  }

  /** The matches among the next `most` rows of the source in the order of the list. */
  selectNext(page: PlayerPage, most: number): string {
    const source = this.ordered
    return this.select(source, page, this.join(source, this.take(source, most, page)))
  }

  /** The position of the last row that `selectNext` examines; no row when there are fewer than `most`. */
  selectStop(page: PlayerPage, most: number): string {
    const { alias } = this.ordered
    return `SELECT ${ID[alias]} AS id, ${KEYS[this.part].text} AS at FROM ${this.take(this.ordered, most, page)}
      ORDER BY ${this.orderOf(page, ID[alias])} OFFSET ${most - 1}`
  }

  private select(source: Source, page: PlayerPage, from: string): string {
    const id = ID[source.alias]
    return `SELECT ${id} AS id, ${KEYS[this.part].text} AS at FROM ${from}
      ORDER BY ${this.orderOf(page, id)} LIMIT ${page.limit}`
  }

  /** The FROM of a statement: the rows of a source, each looked up in the other tables, that meet all conditions. */
  private join(source: Source, rows: string, further: readonly string[] = []): string {
    const { part, conditions } = this
    const left = conditions.filter((condition) => condition !== source.meets)
    const id = ID[source.alias]
    const others = (['p', 's', 'l'] as const).filter(
      (alias) => alias !== source.alias && (alias === KEYS[part].alias || left.some((asked) => asked.alias === alias)),
    )
    const joined = others.map((alias) => {
      const where = [...this.baseOf(alias), `${ID[alias]} = ${id}`]
      // The limit forces one lookup by key for each row: the planner can neither begin with this table nor use another
      // index, which may have many matching rows.
      return `CROSS JOIN LATERAL (SELECT * FROM ${TABLES[alias]} ${alias} WHERE ${where.join(' AND ')} LIMIT 1) ${alias}`
    })
    const where = [
      ...left.map(({ sql }) => sql),
      ...(part === 'never logged in'
        ? [
            `(SELECT n.player_id FROM last_logins n WHERE ${this.environment('n')} AND n.player_id = ${id} LIMIT 1) IS NULL`,
          ]
        : []),
      ...further,
    ]
    return `${rows} ${joined.join(' ')} ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`}`
  }

  private environment(alias: string): string {
    return `${alias}.environment_id = ${uuid(this.filter.environmentId)}`
  }

  private baseOf(alias: 'p' | 's' | 'l'): string[] {
    if (alias !== 's') return [this.environment(alias)]
    const { pass } = this.filter
    if (!pass) throw new Error('a list by values of a pass must name the pass')
    return [
      this.environment(alias),
      `s.scenario_id = ${literal(pass.scenarioId)}`,
      `s.node_id = ${literal(pass.nodeId)}`,
    ]
  }

  /**
   * No player logs in before it is created, and ids are in the order of time, except for differences between clocks.
   */
  private idsOf(id: string): string[] {
    const { createdFrom, createdTo, lastLoginTo } = this.filter
    const ends = [createdTo, lastLoginTo].filter((at) => at instanceof Date).map(bounded)
    const end = ends.sort((a, b) => a.getTime() - b.getTime())[0] ?? null
    const { first, last } = idsAround(createdFrom ? bounded(createdFrom) : null, end)
    return [...(first ? [`${id} >= ${uuid(first)}`] : []), ...(last ? [`${id} < ${uuid(last)}`] : [])]
  }

  private loginsOf(): string[] {
    const { createdFrom } = this.filter
    return createdFrom ? [`l.logged_in_at >= ${moment(createdFrom)}`] : []
  }

  private behind({ after, direction }: PlayerPage, id: string): string[] {
    const { part } = this
    if (after === null || (part === 'never logged in' && after.at !== null)) return []
    const beyond = direction === 'ascending' ? '>' : '<'
    const { at, read } = KEYS[part]
    if (at === '' || after.at === null) return [`${id} ${beyond} ${uuid(after.id)}`]
    return [`(${at}, ${id}) ${beyond} (${read(after.at)}, ${uuid(after.id)})`]
  }

  private orderOf({ direction }: PlayerPage, id: string): string {
    const order = direction === 'ascending' ? 'ASC' : 'DESC'
    const { at } = KEYS[this.part]
    return `${at === '' ? '' : `${at} ${order}, `}${id} ${order}`
  }
}
