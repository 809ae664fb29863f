import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countPlayers, MAX_COUNT, type PlayerSearch, searchPlayers } from '../../src/accounts/lists/search-players.ts'
import { DIRECTIONS, type ListPosition, PLAYER_SORTS, type PlayerPage } from '../../src/accounts/lists/statements.ts'
import { type Game, startGame } from '../harness/game.ts'
import { openPool } from '../harness/sql.ts'
import { newOperator, type Operator } from '../support/desk.ts'

// Lists of more players than are examined for a page.

interface Known {
  readonly id: string
  readonly nickname: string
  readonly status: string
  readonly region: string | null
  readonly language: string
  readonly createdAt: Date
  readonly loggedInAt: Date | null
  readonly level: number
  readonly premium: boolean
}

/** More than are sorted as a whole, and more than twice as many as are examined for a page. */
const COUNT = 25_000
const PIECE = 5_000
const MINUTE = 60_000
const PASS = {
  scenarioId: 'season',
  nodeId: 'pass',
  levels: Array.from({ length: 99 }, (_, index) => ({ level: index + 1, xp: BigInt(index + 1) * 10n })),
}
const START = Date.now() - COUNT * MINUTE

let game: Game
let operator: Operator
/** The newest first. */
let known: Known[]

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
  const pool = openPool(game.databaseUrl)
  for (let from = 1; from <= COUNT; from += PIECE) {
    const values = [game.environmentId, from, from + PIECE - 1, new Date(START)]
    const made = `generate_series($2::int, $3::int) n, LATERAL (SELECT $4::timestamptz + n * interval '1 minute' AS at) a, LATERAL (
      SELECT (lpad(to_hex((extract(epoch FROM a.at) * 1000)::bigint), 12, '0') || '7000a000000000000000')::uuid AS id) i`
    await pool.query(
      `INSERT INTO players (environment_id, id, nickname, status, region, language, created_at)
       SELECT $1, i.id, CASE WHEN n <= 30 THEN 'Ancient ' ELSE 'Crowd ' END || n, CASE WHEN n % 700 = 3 THEN 'banned' ELSE 'active' END,
         (ARRAY['eu', 'us', NULL])[1 + n % 3], CASE WHEN n % 900 = 1 THEN 'ja' ELSE 'en' END, a.at
       FROM ${made}`,
      values,
    )
    await pool.query(
      `INSERT INTO last_logins (environment_id, player_id, logged_in_at)
       SELECT $1, i.id, a.at + (n * 37) % 1000 * interval '1 hour' FROM ${made} WHERE n % 400 > 0`,
      values,
    )
    await pool.query(
      `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, level, xp, premium_owned)
       SELECT $1, i.id, 'season', 'pass', n * 7919 % 100, n * 7919 % 100 * 10, n > 5 FROM ${made}`,
      values,
    )
  }
  await pool.query('ANALYZE')
  const { rows } = await pool.query(
    `SELECT p.id, p.nickname, p.status, p.region, p.language, p.created_at AS "createdAt", l.logged_in_at AS "loggedInAt",
       s.level, s.premium_owned AS premium
     FROM players p JOIN passes s ON s.player_id = p.id LEFT JOIN last_logins l ON l.player_id = p.id ORDER BY p.id DESC`,
  )
  known = rows
  await pool.end()
})
afterAll(() => game?.stop())

const searchOf = (asked: Partial<PlayerSearch>): PlayerSearch => ({
  environmentId: game.environmentId,
  text: null,
  pass: PASS,
  ...asked,
})

async function all(search: PlayerSearch, page: Partial<PlayerPage>): Promise<string[]> {
  const found: string[] = []
  for (let after: ListPosition | null = null; ; ) {
    const { positions, stoppedAt } = await searchPlayers(game.app.pool, search, { ...page, after, limit: 900 })
    expect(positions.length).toBeLessThanOrEqual(900)
    found.push(...positions.map(({ id }) => id))
    after = stoppedAt ?? (positions.length === 900 ? (positions.at(-1) ?? null) : null)
    if (!after) return found
  }
}

const at = (minutes: number) => new Date(START + minutes * MINUTE)
const loggedIn = ({ loggedInAt }: Known) => loggedInAt?.getTime() ?? Number.NaN
const FILTERS: readonly [string, Partial<PlayerSearch>, (player: Known) => boolean][] = [
  ['all players', {}, () => true],
  ['active players of a region', { status: 'active', region: 'us' }, (p) => p.status === 'active' && p.region === 'us'],
  [
    'banned players of a language',
    { status: 'banned', language: 'en' },
    (p) => p.status === 'banned' && p.language === 'en',
  ],
  [
    'players with a rare language in a region',
    { language: 'ja', region: 'us' },
    (p) => p.language === 'ja' && p.region === 'us',
  ],
  ['players without premium, who are all old', { premium: false }, ({ premium }) => !premium],
  [
    'premium owners at a level',
    { premium: true, levelFrom: 50, levelTo: 50 },
    ({ premium, level }) => premium && level === 50,
  ],
  [
    'players at high levels with a late login',
    { levelFrom: 90, lastLoginFrom: at(COUNT - 600) },
    (player) => player.level >= 90 && loggedIn(player) >= at(COUNT - 600).getTime(),
  ],
  [
    'players created within a day with no login after that day',
    { createdFrom: at(5_000), createdTo: at(6_440), lastLoginTo: at(6_440) },
    (p) => p.createdAt >= at(5_000) && p.createdAt < at(6_440) && loggedIn(p) < at(6_440).getTime(),
  ],
  [
    'players with a common name at low levels',
    { text: 'rowd', levelTo: 1 },
    ({ nickname, level }) => nickname.startsWith('C') && level <= 1,
  ],
  [
    'players with a common name and without premium',
    { text: 'crowd', premium: false },
    ({ nickname, premium }) => nickname.startsWith('C') && !premium,
  ],
  [
    'players with a rare name in a region',
    { text: 'NCIENT', region: 'eu' },
    (p) => p.nickname.startsWith('A') && p.region === 'eu',
  ],
  [
    'banned players by the prefix of a common name',
    { text: 'cr', status: 'banned' },
    (p) => p.nickname[0] === 'C' && p.status === 'banned',
  ],
]

describe('a list of many players', () => {
  it.each(FILTERS)('has exactly %s, in every order', async (_what, asked, isOne) => {
    const expected = known.filter((player) => isOne(player))
    const place: Record<string, (player: Known) => number | null> = {
      created: () => 0,
      'last login': ({ loggedInAt }) => loggedInAt?.getTime() ?? null,
      level: ({ level }) => level,
    }
    for (const sortBy of PLAYER_SORTS)
      for (const direction of DIRECTIONS) {
        const sign = direction === 'ascending' ? 1 : -1
        const sorted = [...expected].sort((a, b) => {
          const [x, y] = [place[sortBy]?.(a) ?? null, place[sortBy]?.(b) ?? null]
          if ((x === null) !== (y === null)) return x === null ? 1 : -1
          return sign * ((x ?? 0) - (y ?? 0) || (a.id < b.id ? -1 : 1))
        })
        expect(await all(searchOf(asked), { sortBy, direction })).toEqual(sorted.map(({ id }) => id))
      }
  })

  it.each(FILTERS)('counts exactly, or gives a lower bound without an index: %s', async (_what, asked, isOne) => {
    const expected = known.filter((player) => isOne(player)).length
    const most = Math.min(expected, MAX_COUNT)
    // No index leads to players without premium, so a limited number of rows is examined.
    const isLowerBound = asked.premium === false
    for (const sortBy of PLAYER_SORTS) {
      const counted = await countPlayers(game.app.pool, searchOf(asked), sortBy)
      if (!isLowerBound) expect(counted).toEqual({ count: most, isExact: expected <= MAX_COUNT })
      else {
        expect(counted.isExact).toBe(false)
        expect(counted.count).toBeLessThanOrEqual(most)
      }
    }
  })

  it.each<[string, Partial<PlayerSearch>, (player: Known) => boolean]>([
    ['all players', {}, () => true],
    ['a rare language', { language: 'ja' }, ({ language }) => language === 'ja'],
    ['a rare name', { text: 'ancient' }, ({ nickname }) => nickname.startsWith('A')],
    ['a common name', { text: 'crowd' }, ({ nickname }) => nickname.startsWith('C')],
    ['a level in a region', { levelTo: 0, region: 'us' }, ({ level, region }) => level === 0 && region === 'us'],
  ])('counts up to a limit: %s', async (_what, asked, isOne) => {
    const count = known.filter((player) => isOne(player)).length
    const expected = { count: Math.min(count, MAX_COUNT), isExact: count <= MAX_COUNT }
    expect(await countPlayers(game.app.pool, searchOf(asked))).toEqual(expected)
  })

  it('has pages that are not full when few players match, and says that more may follow', async () => {
    const query = `query ($after: String) {
      players(environment: "production", filter: { scenarioId: "season", nodeId: "pass", premium: false }, first: 50, after: $after) {
        edges { cursor node { playerId } } pageInfo { hasNextPage endCursor } totalCount totalCountIsExact
      } }`
    const pages: string[][] = []
    for (let after: string | null = null; ; ) {
      const { data, errors } = await game.graphql(operator.key, query, { after })
      expect(errors).toBeUndefined()
      const { edges, pageInfo, totalCount, totalCountIsExact } = data.players
      expect([totalCount <= 5, totalCountIsExact]).toEqual([true, false])
      pages.push(edges.map(({ node }: { node: { playerId: string } }) => node.playerId))
      after = pageInfo.endCursor
      if (!pageInfo.hasNextPage) break
    }
    expect(pages).toEqual([[], [], known.slice(-5).map(({ id }) => id)])
  })

  it('is exported completely when few players match', async () => {
    const { scenarioId, nodeId } = PASS
    const asked = new URLSearchParams({ environment: 'production', scenarioId, nodeId, premium: 'false' })
    const url = `${game.baseUrl}/platform/v1/projects/${game.projectId}/players.ndjson?${asked}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${operator.key}` } })
    const lines = (await response.text()).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).playerId)).toEqual(known.slice(-5).map(({ id }) => id))
  })
})
