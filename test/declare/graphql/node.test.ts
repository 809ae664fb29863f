import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { Client, fetchExchange } from '@urql/core'
import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache'
import { type IntrospectionType, introspectionFromSchema } from 'graphql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { print } from '../../../src/base/json.ts'
import { MAX_NODE_IDS } from '../../../src/base/limits.ts'
import { createServerKey } from '../../../src/callers/keys.ts'
import { createProject } from '../../../src/callers/projects.ts'
import { storeLevels } from '../../../src/operations/figures/store-levels.ts'
import { schema } from '../../../src/schema.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame } from '../../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../../harness/operator.ts'
import { until } from '../../harness/until.ts'
import { type LoggedIn, logIn, newOperator, type Operator, obey } from '../../support/desk.ts'

let game: Game
let webhook: Webhook
let player: LoggedIn
let stranger: Operator
let ids: ReadonlyMap<string, string>

/** A selection that has an object of each `Node` type. */
const WAYS: Readonly<Record<string, string>> = {
  AlertWebhook: 'alertWebhooks(environment: "production") { ID }',
  ScenarioDraft: 'scenarioDrafts(environment: "production") { ID }',
  AuditLogEntry: 'auditLog(last: 1) { nodes { ID } }',
  BattlePass: 'player(id: "PLAYER") { passes { ID } }',
  Boost: 'boosts(environment: "production") { nodes { ID } }',
  CompleteEvent: 'events(environment: "production", handles: ["onComplete"]) { nodes { ID } }',
  Currency: 'currencies(environment: "production") { nodes { ID } }',
  Environment: 'environments { ID }',
  GrantJob: 'grantJobs(environment: "production") { nodes { ID } }',
  GrantJobEvent: 'events(environment: "production", types: [GRANT_JOB_CHANGED]) { nodes { ID } }',
  HandleCrossedEvent: 'events(environment: "production", handles: ["onStart"]) { nodes { ID } }',
  InboxMessage: 'player(id: "PLAYER") { inbox { nodes { ID } } }',
  InboxReceivedEvent: 'events(environment: "production", types: [INBOX_RECEIVED]) { nodes { ID } }',
  InventoryItem: 'player(id: "PLAYER") { inventory { ID } }',
  Item: 'items(environment: "production") { nodes { ID } }',
  LevelUpEvent: 'events(environment: "production", handles: ["onLevelUp"]) { nodes { ID } }',
  LoginLogEntry: 'player(id: "PLAYER") { loginLog { nodes { ID } } }',
  MaxLevelEvent: 'events(environment: "production", handles: ["onMaxLevel"]) { nodes { ID } }',
  PlatformKey: 'platformKeys { nodes { ID } }',
  Player: 'player(id: "PLAYER") { ID }',
  PlayerBoost: 'player(id: "PLAYER") { boosts { ID } }',
  PlayerNote: 'player(id: "PLAYER") { notes { nodes { ID } } }',
  PlayerCreatedEvent: 'events(environment: "production", types: [PLAYER_CREATED]) { nodes { ID } }',
  PremiumPurchaseEvent: 'events(environment: "production", handles: ["onPremiumPurchase"]) { nodes { ID } }',
  Project: 'project { ID }',
  Run: 'player(id: "PLAYER") { runs(first: 1) { nodes { ID } } }',
  RunCancelledEvent: 'events(environment: "production", types: [RUN_CANCELLED]) { nodes { ID } }',
  TiersClaimedEvent: 'events(environment: "production", types: [TIERS_CLAIMED]) { nodes { ID } }',
  XpLimitedEvent: 'events(environment: "production", types: [XP_LIMITED]) { nodes { ID } }',
  Scenario: 'scenarios(environment: "production") { nodes { ID } }',
  ScheduledPublication: 'scheduledPublications(environment: "production") { ID }',
  ScenarioVersion: 'scenario(environment: "production", scenarioId: "a/season ☃") { ID }',
  SeasonEvent: 'events(environment: "production", types: [SEASON_ENDED]) { nodes { ID } }',
  SeasonSettledEvent: 'events(environment: "production", types: [SEASON_SETTLED]) { nodes { ID } }',
  Segment: 'segments(environment: "production") { ID }',
  SharedView: 'sharedViews(page: PLAYERS) { ID }',
  SdkKey: 'sdkKeys { nodes { ID } }',
  ServerKey: 'serverKeys { nodes { ID } }',
  Wallet: 'player(id: "PLAYER") { wallet { ID } }',
  WalletEntry: 'player(id: "PLAYER") { walletLedger { nodes { ID } } }',
  XpEntry: 'player(id: "PLAYER") { passes { xpLedger { nodes { ID } } } }',
}

const TYPES = schema.getPossibleTypes(schema.getType('Node') as never).map(({ name }) => name)
/** Events that are no player's. */
const NOBODYS = ['GrantJobEvent', 'SeasonEvent']
/** The types that a player can read. */
const OWN = [
  ...TYPES.filter((name) => name.endsWith('Event') && !NOBODYS.includes(name)),
  'BattlePass',
  'InboxMessage',
  'InventoryItem',
  'Player',
  'PlayerBoost',
  'Run',
]
  .concat('Wallet', 'WalletEntry', 'XpEntry')
  .sort()

/** A season of the player that has ended, with a tier that was not claimed. */
async function endSeason(): Promise<void> {
  const publish = (endsAt: string) => game.publish('ended', season({ more: { endsAt, atEnd: 'grant' } }))
  await publish('2097-01-01T00:00:00Z')
  const place = { scenarioId: 'ended', nodeId: 'pass', runId: await player.start('ended') }
  await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 100 })
  await publish('2020-01-01T00:00:00Z')
  await storeLevels(game.app.pool, { settledMs: 0 })
  await until('the season is settled', async () => {
    const { rows } = await game.app.pool.query("SELECT FROM events WHERE type IN ('season.settled', 'season.closed')")
    return rows.length === 2
  })
}

const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }'
const read = (credentials: string | null, id: string) => game.graphql(credentials, NODE, { id })
const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }'
const readAll = (credentials: string | null, ids: readonly string[]) => game.graphql(credentials, NODES, { ids })

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
  const { pool } = game.app
  const other = await createProject(pool, { name: 'Other', environments: ['production'] })
  stranger = await newOperator(pool, other.projectId, 'admin')
  await createServerKey(pool, game.environmentId)
  const xp = { sources: { limited: { max: 0 } } }
  await game.publish(encodeURIComponent('a/season ☃'), season({ more: { xp } }))
  await game.publish('claiming', season({ more: { autoClaim: 'always' } }))
  player = await logIn(game, 'ada')
  const scenarioId = 'a/season ☃'
  const runId = await player.start(scenarioId)
  const place = { scenarioId, nodeId: 'pass' }
  const act = (mutation: string, input: string) =>
    game.graphql(
      game.platformKey,
      `mutation { ${mutation}(input: { playerId: "${player.playerId}", reason: "x", ${input} }) { player { id } } }`,
    )
  await act('sendMessage', 'rewards: [{ itemId: "hat", amount: 1 }], idempotencyKey: "m"')
  await act('addPlayerNote', 'text: "t", idempotencyKey: "n"')
  await act('creditWallet', 'currency: "gems", amount: 100000, idempotencyKey: "a"')
  await act('grantPlayerBoost', 'percent: 1, minutes: 60, idempotencyKey: "b"')
  await player.post('/sdk/v1/battlepass/premium', { ...place, runId })
  await player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 100_000 })
  const { data, errors } = await player.graphql(
    'mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level } } }',
    { input: { ...place, runId } },
  )
  expect(errors).toBeUndefined()
  expect(data.claimAll.claimed.length).toBeGreaterThan(0)
  await player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 1, source: 'limited' })
  const claiming = { scenarioId: 'claiming', nodeId: 'pass', runId: await player.start('claiming') }
  await player.post('/sdk/v1/battlepass/xp', { ...claiming, amount: 1 })
  await game.graphql(
    game.platformKey,
    `mutation { createBoost(input: { environment: "production", name: "x", percent: 1, reason: "x",
      startsAt: "2098-01-01T00:00:00Z", endsAt: "2099-01-01T00:00:00Z" }) { boost { id } } }`,
  )
  await act('cancelRun', `runId: "${runId}"`)
  const asOperator = (input: string) =>
    game.graphql(
      game.platformKey,
      `mutation { ${input.replace('(', '(input: { environment: "production", reason: "x", ')} } ) { auditEntry { id } } }`,
    )
  await asOperator('createSegment(name: "all", filter: {}')
  await asOperator('createAlertWebhook(name: "all", format: SLACK, url: "http://127.0.0.1:1/"')
  await game.graphql(
    game.platformKey,
    `mutation { createScenarioDraft(input: { environment: "production", scenarioId: "x", name: "x", definition: "",
      baseVersion: 0 }) { draft { id } } }`,
  )
  await game.graphql(
    game.platformKey,
    'mutation { shareView(input: { page: PLAYERS, name: "x", query: "" }) { auditEntry { id } } }',
  )
  await asOperator(
    `createGrantJob(to: { playerIds: ["${player.playerId}"] }, message: { language: "en", title: "x" }, idempotencyKey: "a"`,
  )
  await endSeason()
  await game.graphql(
    game.platformKey,
    'mutation ($input: SchedulePublicationInput!) { schedulePublication(input: $input) { auditEntry { id } } }',
    {
      input: {
        ...{ environment: 'production', scenarioId, publishAt: '2099-01-01T00:00:00Z', reason: 'x' },
        definition: print(season()),
      },
    },
  )
  const found = new Map<string, string>()
  for (const [name, way] of Object.entries(WAYS)) {
    const document = `{ ${way.replaceAll('PLAYER"', `${player.playerId}"`).replaceAll('ID }', 'nodeId: id __typename }')} }`
    const answer = await game.graphql(game.platformKey, document)
    const id = new RegExp(`"nodeId":"([^"]+)","__typename":"${name}"`).exec(JSON.stringify(answer))?.[1]
    if (id !== undefined) found.set(name, id)
  }
  ids = found
})
afterAll(async () => {
  await webhook.close()
  await game.stop()
})

describe('global ids (contract 12)', () => {
  it('exist in this game for every `Node` type, and are unique', () => {
    expect(Object.keys(WAYS).sort()).toEqual([...TYPES].sort())
    expect([...ids.keys()].sort()).toEqual([...TYPES].sort())
    expect(new Set(ids.values()).size).toBe(ids.size)
  })

  it('return their object to an operator of its project', async () => {
    for (const [name, id] of ids)
      expect(await read(game.platformKey, id)).toEqual({ data: { node: { __typename: name, id } } })
  })

  it('return to a player its own objects only', async () => {
    const other = await logIn(game, 'grace')
    for (const [name, id] of ids) {
      const { data, errors } = await read(player.token, id)
      if (OWN.includes(name)) expect(data).toEqual({ node: { __typename: name, id } })
      else {
        // An event that is not the player's is absent.
        const code = NOBODYS.includes(name) ? undefined : 'FORBIDDEN'
        expect([name, data, errors?.[0]?.extensions.code]).toEqual([name, { node: null }, code])
      }
      const theirs = await read(other.token, id)
      expect([name, theirs.data]).toEqual([name, { node: null }])
      // The answer does not reveal that another player has the object.
      if (OWN.includes(name)) expect(theirs.errors).toBeUndefined()
    }
  })

  it('are refused to a banned or deleted player with PLAYER_BANNED or PLAYER_DELETED', async () => {
    for (const [mutation, code] of [
      ['banPlayer', 'PLAYER_BANNED'],
      ['deletePlayer', 'PLAYER_DELETED'],
    ] as const) {
      const other = await logIn(game, `nobody-${mutation}`)
      const input = { playerId: other.playerId, reason: 'z' }
      const { errors: faults } = await game.graphql(
        game.platformKey,
        `mutation ($input: ${mutation.replace(/^./, (first) => first.toUpperCase())}Input!) {
          ${mutation}(input: $input) { player { id } } }`,
        { input },
      )
      expect(faults).toBeUndefined()
      const own = `Player:${other.playerId}`
      const asked = [...ids].filter(([name]) => OWN.includes(name))
      for (const [name, id] of [...asked, ['itself', own] as const, ['nothing', 'Event:x'] as const]) {
        const { data, errors } = await read(other.token, id)
        expect([name, data, errors?.map(({ extensions }) => extensions.code)]).toEqual([name, { node: null }, [code]])
      }
      const { data, errors } = await readAll(other.token, [own, `Player:${player.playerId}`, 'Event:x'])
      expect(data).toEqual({ nodes: [null, null, null] })
      expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual(
        [0, 1, 2].map((at) => [['nodes', at], code]),
      )
    }
  })

  it('return null to another project, and INVALID_TOKEN without credentials', async () => {
    for (const [name, id] of ids) {
      expect([name, await read(stranger.key, id)]).toEqual([name, { data: { node: null } }])
      expect((await read(null, id)).errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
    }
  })

  it('return null for objects that do not exist, and INVALID_REQUEST when they are malformed', async () => {
    const nobody = '01a1fdf8-9d0a-7128-b5b0-6f4e0fc4d981'
    for (const id of [`Player:${nobody}`, `Run:${player.playerId}/${nobody}`, 'Scenario:production/none', 'Event:x'])
      expect(await read(game.platformKey, id)).toEqual({ data: { node: null } })
    const wrong = ['', 'Player', 'Player:', 'Player:x', nobody, 'Query:1', `Run:${nobody}`, 'Scenario:%', 'Scenario:a/']
    for (const id of [...wrong, 'Scenario:a/%00', 'ScenarioVersion:production/a/-1', `Wallet:${nobody}/%ED%A0%80`]) {
      const { errors } = await read(game.platformKey, id)
      expect([id, errors?.[0]?.extensions]).toEqual([
        id,
        { code: 'INVALID_REQUEST', details: [{ path: 'id', message: 'must be an id that this service gave' }] },
      ])
    }
  })

  describe('in a list', () => {
    const nobody = '01a1fdf8-9d0a-7128-b5b0-6f4e0fc4d981'
    const refused = { code: 'FORBIDDEN' }

    it('return their objects in the order of the list, the same one twice, and null for a missing one', async () => {
      const [first = '', second = ''] = [ids.get('Run'), ids.get('Player')]
      const upper = `Player:${player.playerId.toUpperCase()}`
      const asked = [second, `Player:${nobody}`, first, second, `Run:${player.playerId}/${nobody}`, upper]
      const { data, errors } = await readAll(game.platformKey, asked)
      expect(errors).toBeUndefined()
      const [ada, run] = [
        { __typename: 'Player', id: second },
        { __typename: 'Run', id: first },
      ]
      expect(data.nodes).toEqual([ada, null, run, ada, null, ada])
      expect((await readAll(game.platformKey, [])).data).toEqual({ nodes: [] })
    })

    it('return every kind of object, as one by one', async () => {
      const { data, errors } = await readAll(game.platformKey, [...ids.values()])
      expect(errors).toBeUndefined()
      expect(data.nodes).toEqual([...ids].map(([__typename, id]) => ({ __typename, id })))
    })

    it('return to a player its own objects, and to another project none', async () => {
      const other = await logIn(game, 'grace')
      for (const [caller, isOwner] of [
        [player.token, true],
        [other.token, false],
      ] as const) {
        const { data, errors } = await readAll(caller, [...ids.values()])
        const own = [...ids].map(([__typename, id]) =>
          isOwner && OWN.includes(__typename) ? { __typename, id } : null,
        )
        expect(data.nodes).toEqual(own)
        // What a player never reads is refused at its place.
        const places = [...ids.keys()].flatMap((name, at) =>
          OWN.includes(name) || NOBODYS.includes(name) ? [] : [{ path: ['nodes', at], extensions: refused }],
        )
        expect(errors).toHaveLength(places.length)
        expect(errors).toMatchObject(places)
      }
      expect(await readAll(stranger.key, [...ids.values()])).toEqual({ data: { nodes: [...ids].map(() => null) } })
      expect((await readAll(null, [...ids.values()])).errors?.[0]?.extensions.code).toBe('INVALID_TOKEN')
    })

    it('are refused together when some are malformed or there are more than 100: nothing is read', async () => {
      const asked = [`Player:${player.playerId}`, 'Player:x', `Player:${nobody}`, nobody]
      const faults = (await readAll(game.platformKey, asked)).errors?.[0]?.extensions
      const message = 'must be an id that this service gave'
      expect(faults).toEqual({
        code: 'INVALID_REQUEST',
        details: [
          { path: 'ids[1]', message },
          { path: 'ids[3]', message },
        ],
      })
      const many = Array<string>(MAX_NODE_IDS).fill(`Player:${player.playerId}`)
      expect((await readAll(game.platformKey, many)).data.nodes).toHaveLength(100)
      expect((await readAll(game.platformKey, [...many, 'x'])).errors?.[0]?.extensions).toEqual({
        code: 'INVALID_REQUEST',
        details: [{ path: 'ids', message: 'must have at most 100 elements' }],
      })
    })

    it('take as many statements for 100 players as for 2, with what is selected of them', async () => {
      const { pool } = game.app
      const { rows } = await pool.query<{ id: string }>(
        `INSERT INTO players (environment_id, id, nickname)
         SELECT $1, gen_random_uuid(), 'player ' || n FROM generate_series(1, 100) n RETURNING id`,
        [game.environmentId],
      )
      const players = rows.map(({ id }) => id)
      const text = `query ($ids: [ID!]!) {
        nodes(ids: $ids) { id ... on Player { nickname environment status lastLoginAt wallet { currency } } }
      }`
      const statementsFor = async (some: readonly string[]) => {
        const seen = vi.spyOn(pg.Client.prototype, 'query')
        try {
          const asked = some.map((id) => `Player:${id}`)
          const { data, errors } = await game.graphql(game.platformKey, text, { ids: asked })
          expect(errors).toBeUndefined()
          expect(data.nodes.map(({ id }: { id: string }) => id)).toEqual(asked)
          expect(data.nodes[0]).toMatchObject({ nickname: 'player 1', environment: 'production', status: 'ACTIVE' })
          return seen.mock.calls.filter((call) => JSON.stringify(call).includes(some[1] ?? '')).length
        } finally {
          seen.mockRestore()
        }
      }
      const forTwo = await statementsFor(players.slice(0, 2))
      expect(forTwo).toBeGreaterThan(1)
      expect(await statementsFor(players)).toBe(forTwo)
      // Lists of the tests below begin with the latest players.
      await pool.query('DELETE FROM players WHERE id = ANY($1)', [players])
    })
  })

  it('are accepted by inputs in place of plain ids, with the same target in the audit log', async () => {
    const key = ids.get('PlatformKey') ?? ''
    const { data } = await game.graphql(
      game.platformKey,
      'mutation ($input: CreatePlatformKeyInput!) { createPlatformKey(input: $input) { platformKey { id keyId } } }',
      { input: { role: 'VIEWER', reason: 'x' } },
    )
    const { platformKey } = data.createPlatformKey
    const revoke = (id: string) =>
      game.graphql(
        game.platformKey,
        'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { platformKey { id } } }',
        { input: { id, reason: 'y' } },
      )
    expect((await revoke(platformKey.id)).data.revokePlatformKey).toEqual({ platformKey: { id: platformKey.id } })
    expect((await revoke(key.replace('Platform', 'Sdk'))).errors?.[0]?.extensions.details).toEqual([
      { path: 'id', message: 'must be an id' },
    ])
    const ban = (field: string, playerId: string) =>
      game.graphql(
        game.platformKey,
        `mutation ($id: ID!) { ${field}(input: { playerId: $id, reason: "z" }) { player { id status } } }`,
        { id: playerId },
      )
    const id = ids.get('Player') ?? ''
    expect((await ban('banPlayer', id)).data.banPlayer.player).toEqual({ id, status: 'BANNED' })
    expect((await ban('unbanPlayer', player.playerId)).data.unbanPlayer.player).toEqual({ id, status: 'ACTIVE' })
    const { data: log } = await game.graphql(
      game.platformKey,
      'query ($target: String) { auditLog(target: $target, first: 2) { nodes { action target } } }',
      { target: player.playerId },
    )
    expect(log.auditLog.nodes.map(({ action }: { action: string }) => action)).toEqual(['player.unban', 'player.ban'])
    expect((await game.graphql(game.platformKey, `{ player(id: "${id}") { playerId } }`)).data).toEqual({
      player: { playerId: player.playerId },
    })
  })

  it('let Apollo Client store each object once, without configured keys', async () => {
    const cache = new InMemoryCache()
    const headers = { authorization: `Bearer ${game.platformKey}` }
    const client = new ApolloClient({ cache, link: new HttpLink({ uri: `${game.baseUrl}/graphql`, headers }) })
    for (const way of Object.values(WAYS)) {
      const selection = way.replace('player(id: "PLAYER") {', `player(id: "${player.playerId}") { id`)
      const document = `{ ${selection.replaceAll('passes {', 'passes { id').replaceAll('ID', 'id')} }`
      await client.query({ query: gql(document) })
    }
    const list = gql('{ players(environment: "production") { nodes { id status } } }')
    const id = `Player:${player.playerId}`
    const shown = (): unknown =>
      client.readQuery<{ players: { nodes: { id: string; status: string }[] } }>({ query: list })?.players.nodes
    await client.query({ query: list })
    expect(shown()).toContainEqual({ __typename: 'Player', id, status: 'ACTIVE' })
    const ban = gql('mutation ($id: ID!) { banPlayer(input: { playerId: $id, reason: "z" }) { player { id status } } }')
    await client.mutate({ mutation: ban, variables: { id } })
    // The list has changed in the cache, without another request.
    expect(shown()).toContainEqual({ __typename: 'Player', id, status: 'BANNED' })
    const kept = cache.extract()
    for (const [name, one] of ids) expect(Object.keys(kept)).toContain(`${name}:${one}`)
    await game.graphql(
      game.platformKey,
      `mutation { unbanPlayer(input: { playerId: "${id}", reason: "z" }) { player { id } } }`,
    )
  })

  it("let urql's Graphcache store each object once, without warnings when it knows the types without ids", async () => {
    const introspection = introspectionFromSchema(schema)
    const isValue = (type: IntrospectionType) =>
      type.kind === 'OBJECT' && !type.fields.some(({ name }) => name === 'id')
    const values = introspection.__schema.types.filter(isValue).map(({ name }) => [name, () => null])
    const warnings: string[] = []
    const client = new Client({
      url: `${game.baseUrl}/graphql`,
      preferGetMethod: false,
      fetchOptions: { headers: { authorization: `Bearer ${game.platformKey}` } },
      exchanges: [
        cacheExchange({
          schema: introspection as unknown as NonNullable<CacheExchangeOpts['schema']>,
          keys: Object.fromEntries(values),
          logger: (severity, message) => {
            if (severity !== 'debug') warnings.push(message)
          },
        }),
        fetchExchange,
      ],
    })
    const ask = async (document: string) => {
      const { data, error } = await client.query(document, {}).toPromise()
      expect([document, error]).toEqual([document, undefined])
      return data
    }
    const everything = `player(id: "${player.playerId}") { id status environment identities { provider subject }
      wallet { id balance } walletLedger { nodes { id amount } pageInfo { endCursor } } inventory { id amount }
      passes { id claims { level granted { currency amount } } xpLedger { nodes { id } } } storage { key value }
      runs { nodes { id status } } loginLog { nodes { id attempts { status } } }
      events { nodes { id ... on LevelUpEvent { toLevel } } } }`
    await ask(`{ ${everything} }`)
    const list = '{ players(environment: "production") { nodes { id status } } }'
    const id = `Player:${player.playerId}`
    expect((await ask(list)).players.nodes).toContainEqual({ id, status: 'ACTIVE' })
    const ban = 'mutation ($id: ID!) { banPlayer(input: { playerId: $id, reason: "z" }) { player { id status } } }'
    expect((await client.mutation(ban, { id }).toPromise()).error).toBeUndefined()
    // The list has changed in the cache, without another request.
    const kept = await client.query(list, {}, { requestPolicy: 'cache-only' }).toPromise()
    expect(kept.data.players.nodes).toContainEqual({ id, status: 'BANNED' })
    expect(warnings).toEqual([])
    await game.graphql(
      game.platformKey,
      `mutation { unbanPlayer(input: { playerId: "${id}", reason: "z" }) { player { id } } }`,
    )
  })
})
