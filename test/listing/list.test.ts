import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlayer } from '../../src/players/create-player.ts'
import { season } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { logIn, newOperator, type Operator, obey, payload, support } from '../support/desk.ts'

// The filters and orders of a list of players.

interface Known {
  readonly id: string
  readonly nickname: string
  readonly region: string | null
  readonly language: string | null
  readonly createdAt: Date
  readonly loggedInAt: Date | null
  readonly level: number | null
  readonly premium: boolean
}

const COUNT = 60
const HOUR = 3_600_000
/** After the creation of all players, since no player logs in earlier. */
const START = Math.ceil(Date.now() / HOUR) * HOUR
const PASS = { scenarioId: 'season', nodeId: 'pass' }
/** The xp of the levels from 1 on. */
const LEVELS = [100, 200, 300, 400, 500, 600, 700, 800]

let game: Game
let webhook: Webhook
let viewer: Operator
let operator: Operator
/** The newest first. */
let known: Known[]

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  const { pool } = game.app
  viewer = await newOperator(pool, game.projectId, 'viewer')
  operator = await newOperator(pool, game.projectId)
  expect((await game.publish('season', season({ levels: LEVELS }))).status).toBe(200)
  expect(
    (await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })).status,
  ).toBe(200)
  const made: Known[] = []
  for (let n = 0; n < COUNT; n += 1) {
    const { playerId: id } = await game.app.service.run(createPlayer(game.environmentId, `Knight ${n}`))
    const player: Known = {
      id,
      nickname: `Knight ${n}`,
      region: n % 3 === 0 ? 'eu' : n % 3 === 1 ? 'us' : null,
      language: n % 2 === 0 ? 'pt-BR' : 'en',
      createdAt: new Date(Date.now() - (COUNT - n) * 1000),
      // Some players log in at the same moment, some never.
      loggedInAt: n % 5 === 0 ? null : new Date(START + ((n * 7) % 20) * HOUR),
      level: n % 4 === 0 ? null : (n * 3) % 9,
      premium: n % 4 !== 0 && n % 7 === 0,
    }
    made.push(player)
    await pool.query('UPDATE players SET region = $2, language = $3, created_at = $4 WHERE id = $1', [
      id,
      player.region,
      player.language,
      player.createdAt,
    ])
    if (player.loggedInAt)
      await pool.query('INSERT INTO last_logins VALUES ($1, $2, $3)', [game.environmentId, id, player.loggedInAt])
    if (player.level !== null)
      await pool.query(
        `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, level, xp, premium_owned)
         VALUES ($1, $2, 'season', 'pass', $3, $3 * 100, $4), ($1, $2, 'season', 'other', 8, 0, true)`,
        [game.environmentId, id, player.level, player.premium],
      )
  }
  known = made.reverse()
})
afterAll(async () => {
  await webhook?.close()
  await game?.stop()
})

const ENUMS = (game: Game, viewer: Operator) =>
  game.graphql(
    viewer.key,
    '{ a: __type(name: "PlayerSort") { enumValues { name } } b: __type(name: "SortDirection") { enumValues { name } } }',
  )

/** The name of an enum value in the schema, in any letter case and without underscores. */
async function named(value: string): Promise<string> {
  const { data } = await ENUMS(game, viewer)
  const names = [...data.a.enumValues, ...data.b.enumValues].map(({ name }: { name: string }) => name)
  return names.find((name: string) => name.replaceAll('_', '').toLowerCase() === value.toLowerCase()) ?? value
}

type Asked = Record<string, unknown>

const FIELDS = `edges { cursor node { playerId lastLoginAt } } pageInfo { hasNextPage endCursor }
  totalCount totalCountIsExact nicknameSearch`
const QUERY = `query ($search: String, $filter: PlayerFilterInput, $sort: PlayerSortInput, $first: Int, $after: String) {
  players(environment: "production", search: $search, filter: $filter, sort: $sort, first: $first, after: $after) {
    ${FIELDS} } }`

async function ask({ sortBy, direction, search, first, after, ...filter }: Asked): Promise<GraphqlAnswer> {
  const sort = {
    ...(sortBy !== undefined && { by: await named(String(sortBy)) }),
    ...(direction !== undefined && { direction: await named(String(direction)) }),
  }
  return game.graphql(viewer.key, QUERY, { search, filter, sort, first, after })
}

async function all(asked: Asked, first = 7): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = null; ; ) {
    const { data, errors }: GraphqlAnswer = await ask({ ...asked, first, after })
    expect(errors).toBeUndefined()
    const { edges, pageInfo, totalCount, totalCountIsExact } = data.players
    ids.push(...edges.map(({ node }: { node: { playerId: string } }) => node.playerId))
    after = pageInfo.endCursor
    if (pageInfo.hasNextPage) continue
    expect([totalCount, totalCountIsExact]).toEqual([ids.length, true])
    return ids
  }
}

const idsOf = (players: readonly Known[]): string[] => players.map(({ id }) => id)
const faultsOf = ({ errors }: GraphqlAnswer) =>
  (errors?.[0]?.extensions.details as { path: string }[] | undefined)?.map(({ path }) => path)

describe('filters of a list of players', () => {
  const at = (hours: number) => new Date(START + hours * HOUR)
  const loggedIn = ({ loggedInAt }: Known) => loggedInAt?.getTime() ?? Number.NaN
  const middle = () => known[30]?.createdAt as Date
  it.each<[string, () => Asked, (player: Known) => boolean]>([
    ['a region', () => ({ region: 'eu' }), ({ region }) => region === 'eu'],
    ['a language', () => ({ language: 'pt-BR' }), ({ language }) => language === 'pt-BR'],
    ['an unknown region', () => ({ region: "mars' --" }), () => false],
    ['a creation at or after a moment', () => ({ createdFrom: middle() }), ({ createdAt }) => createdAt >= middle()],
    ['a creation before a moment', () => ({ createdTo: middle() }), ({ createdAt }) => createdAt < middle()],
    [
      'a last login at or after a moment',
      () => ({ lastLoginFrom: at(7) }),
      (player) => loggedIn(player) >= at(7).getTime(),
    ],
    [
      'a last login within a range',
      () => ({ lastLoginFrom: at(7), lastLoginTo: at(14) }),
      (player) => loggedIn(player) >= at(7).getTime() && loggedIn(player) < at(14).getTime(),
    ],
    ['premium', () => ({ ...PASS, premium: true }), ({ premium }) => premium],
    ['no premium', () => ({ ...PASS, premium: false }), ({ premium, level }) => level !== null && !premium],
    [
      'levels',
      () => ({ ...PASS, levelFrom: 3, levelTo: 6 }),
      ({ level }) => level !== null && level >= 3 && level <= 6,
    ],
    ['a pass without a condition', () => PASS, () => true],
    [
      'several conditions',
      () => ({ ...PASS, region: 'eu', levelFrom: 1, lastLoginFrom: at(3), search: 'NIGHT' }),
      (player) => player.region === 'eu' && (player.level ?? 0) >= 1 && loggedIn(player) >= at(3).getTime(),
    ],
  ])('find exactly the players with %s, newest first', async (_what, asked, isOne) => {
    const expected = known.filter((player) => isOne(player))
    expect(await all(asked())).toEqual(idsOf(expected))
  })

  it('are refused with every fault at once', async () => {
    const moment = new Date()
    const faulty = {
      ...{ createdFrom: moment, createdTo: moment, lastLoginFrom: moment, lastLoginTo: moment },
      ...{ premium: true, levelFrom: 5, levelTo: 4, after: 'x' },
    }
    expect(faultsOf(await ask(faulty))?.sort()).toEqual([
      'after',
      ...['createdTo', 'lastLoginTo', 'levelTo', 'nodeId', 'scenarioId'].map((name) => `filter.${name}`),
    ])
    expect(faultsOf(await ask({ sortBy: 'level', nodeId: 'pass' }))).toEqual(['filter.scenarioId'])
    expect(faultsOf(await ask({ sortBy: 'level' }))).toEqual(['filter.scenarioId', 'filter.nodeId'])
    expect(faultsOf(await ask({ levelTo: -1, ...PASS }))).toEqual(['filter.levelTo'])
  })

  it('accept moments from year 1 to year 9999', async () => {
    const [first, last] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z']
    expect(await all({ createdFrom: first, createdTo: last }, 100)).toEqual(idsOf(known))
    expect(await all({ lastLoginTo: first })).toEqual([])
  })
})

describe('sorting of players', () => {
  const by = (key: (player: Known) => number | null, sign: 1 | -1) => (a: Known, b: Known) => {
    const [x, y] = [key(a), key(b)]
    const ids = a.id < b.id ? -1 : 1
    if (x === null || y === null) return x === y ? sign * ids : x === null ? 1 : -1
    return sign * (x - y || ids)
  }
  const signs = { ascending: 1, descending: -1 } as const
  it.each(['ascending', 'descending'] as const)(
    'is by creation, last login and level, %s, on pages of any size',
    async (direction) => {
      const sign = signs[direction]
      const logins = [...known].sort(by(({ loggedInAt }) => loggedInAt?.getTime() ?? null, sign))
      const levels = known.filter(({ level }) => level !== null).sort(by(({ level }) => level, sign))
      const created = sign === -1 ? known : [...known].reverse()
      for (const size of [5, 60]) {
        expect(await all({ sortBy: 'created', direction }, size)).toEqual(idsOf(created))
        expect(await all({ sortBy: 'lastLogin', direction }, size)).toEqual(idsOf(logins))
        expect(await all({ sortBy: 'level', direction, ...PASS }, size)).toEqual(idsOf(levels))
      }
      expect(await all({ sortBy: 'lastLogin', direction, search: 'night' })).toEqual(idsOf(logins))
      expect(await all({ sortBy: 'level', direction, search: 'kn', ...PASS })).toEqual(idsOf(levels))
    },
  )

  it('refuses cursors of another order and forged cursors', async () => {
    const cursors = new Map<string, string>()
    for (const sortBy of ['created', 'lastLogin', 'level'])
      cursors.set(sortBy, (await ask({ sortBy, ...PASS, first: 1 })).data.players.pageInfo.endCursor)
    for (const [sortBy] of cursors)
      for (const [other, after] of cursors)
        expect([sortBy, other, faultsOf(await ask({ sortBy, ...PASS, after }))]).toEqual([
          sortBy,
          other,
          sortBy === other ? undefined : ['after'],
        ])
    const forged = (text: string) => Buffer.from(text).toString('base64url')
    const [id] = idsOf(known)
    for (const text of [`2026-13-01T00:00:00.000000Z~${id}`, `x~${id}`, `2026-01-01T00:00:00.000000Z~x`, '~'])
      expect(faultsOf(await ask({ sortBy: 'lastLogin', after: forged(`player-by-login:${text}`) }))).toEqual(['after'])
    for (const text of [`99999999~${id}`, `-1~${id}`, `~${id}`])
      expect(faultsOf(await ask({ sortBy: 'level', ...PASS, after: forged(`player-by-level:${text}`) }))).toEqual([
        'after',
      ])
  })
})

describe('filters and orders as arguments of the list, as in the release before', () => {
  const askOld = (args: string): Promise<GraphqlAnswer> =>
    game.graphql(viewer.key, `{ players(environment: "production", ${args}) { ${FIELDS} } }`)
  const pass = 'scenarioId: "season", nodeId: "pass"'

  it.each<[string, Asked]>([
    ['region: "eu", first: 4', { region: 'eu', first: 4 }],
    [`${pass}, premium: false, levelTo: 5, search: "night"`, { ...PASS, premium: false, levelTo: 5, search: 'night' }],
    [
      `${pass}, sortBy: LEVEL, direction: ASCENDING, first: 9`,
      { ...PASS, sortBy: 'level', direction: 'ascending', first: 9 },
    ],
    ['sortBy: LAST_LOGIN, status: ACTIVE', { sortBy: 'lastLogin', status: 'ACTIVE' }],
  ])('find the same players, with the same cursors: %s', async (args, asked) => {
    const now = await ask(asked)
    expect(now.data.players.edges.length).toBeGreaterThan(1)
    expect(await askOld(args)).toEqual(now)
  })

  it('are deprecated, with their place of today, and have faults where they are', async () => {
    const { data } = await game.graphql(
      viewer.key,
      '{ __type(name: "Query") { fields { name args(includeDeprecated: true) { name deprecationReason } } } }',
    )
    const { args } = data.__type.fields.find(({ name }: { name: string }) => name === 'players')
    const reasons = args.flatMap(({ deprecationReason: reason }: { deprecationReason: string | null }) => reason ?? [])
    expect([reasons.length, ...reasons]).toEqual(
      expect.arrayContaining([14, 'Use filter.region.', 'Use filter.levelTo.', 'Use sort.by.', 'Use sort.direction.']),
    )
    expect(faultsOf(await askOld('premium: true'))).toEqual(['scenarioId', 'nodeId'])
    expect(faultsOf(await askOld(`${pass}, levelFrom: 5, levelTo: 4`))).toEqual(['levelTo'])
  })

  it('are refused beside the part that has them now, whichever of its members it has', async () => {
    const { errors } = await askOld(
      'filter: { status: ACTIVE }, region: "eu", status: BANNED, sort: {}, sortBy: CREATED',
    )
    expect(errors?.[0]?.extensions.details).toEqual([
      { path: 'status', message: 'must not be given with filter: use filter.status' },
      { path: 'region', message: 'must not be given with filter: use filter.region' },
      { path: 'sortBy', message: 'must not be given with sort: use sort.by' },
    ])
    // Null counts as absent, as everywhere.
    expect((await askOld('filter: { region: "eu" }, region: null, sortBy: CREATED')).errors).toBeUndefined()
  })
})

describe('a search by id', () => {
  it('accepts plain ids and node ids, of players of the environment only', async () => {
    const { id } = known[7] as Known
    const { data } = await game.graphql(viewer.key, 'query ($id: ID!) { player(id: $id) { id } }', { id })
    expect(data.player.id).not.toBe(id)
    for (const search of [id, data.player.id]) expect([search, await all({ search })]).toEqual([search, [id]])
    const elsewhere = (await game.app.service.run(createPlayer(game.stagingId, null))).playerId
    for (const search of [elsewhere, `Player:${elsewhere}`, `Run:${id}`, 'Player:'])
      expect([search, await all({ search })]).toEqual([search, []])
  })
})

describe('a search for nicknames', () => {
  const how = async (search: string | null) =>
    (await ask({ search, first: 1 })).data.players.nicknameSearch?.toLowerCase()

  it('says whether it searched anywhere in nicknames or for a prefix', async () => {
    expect([await how('nig'), await how('ni'), await how('a-b'), await how(null)]).toEqual([
      'anywhere',
      'prefix',
      'prefix',
      undefined,
    ])
  })

  it('searches for a prefix without the index, and anywhere once the index is created', async () => {
    const { pool } = game.app
    await pool.query('DROP INDEX players_search_name_idx')
    expect([await how('nig'), await all({ search: 'night' }), await all({ search: 'knight 5' })]).toEqual([
      'prefix',
      [],
      idsOf(known.filter(({ nickname }) => nickname.startsWith('Knight 5'))),
    ])
    const { rows } = await pool.query('SELECT enable_nickname_search() AS enabled')
    expect([rows[0].enabled, await how('nig'), await all({ search: 'night' })]).toEqual([
      true,
      'anywhere',
      idsOf(known),
    ])
  })
})

describe('the last login of a player', () => {
  const lastOf = async (id: string) =>
    (await game.graphql(viewer.key, 'query ($id: ID!) { player(id: $id) { lastLoginAt } }', { id })).data.player
      .lastLoginAt

  it('is the time of its latest login, also after two at once, and is erased by deletePlayer', async () => {
    const { playerId } = await logIn(game, 'late')
    const first = new Date(await lastOf(playerId))
    expect(Math.abs(Date.now() - first.getTime())).toBeLessThan(60_000)
    await Promise.all([1, 2].map(() => logIn(game, 'late')))
    expect(new Date(await lastOf(playerId)).getTime()).toBeGreaterThan(first.getTime())
    payload(await support(game, operator.key, 'deletePlayer', { playerId, reason: 'asked for' }))
    expect(await lastOf(playerId)).toBeNull()
  })
})
