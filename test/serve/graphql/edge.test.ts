import { once } from 'node:events'
import { request } from 'node:http'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../../src/base/json.ts'
import { adjustWallet } from '../../../src/dev/adjust-wallet.ts'
import { BEGIN } from '../../harness/begin.ts'
import { gold, item, LIMITED, passNode, scenario, season, tier } from '../../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, type TestPlayer, times } from '../../harness/game.ts'
import {
  ADD_XP,
  askSocket,
  CLAIM,
  CLAIM_ALL,
  graphqlOf,
  outcomeOfGraphql,
  outcomeOfRest,
  PREMIUM,
  PROGRESS,
  plain,
  restOf,
  START,
} from '../../harness/surfaces.ts'

let game: Game
let locked: Game

const MAX_INT64 = 2n ** 63n - 1n
const place = { scenarioId: 'season', nodeId: 'pass' }
const JSON_BODY = { 'content-type': 'application/json' }
const RESPONSE_JSON = { ...JSON_BODY, accept: 'application/graphql-response+json' }
const TYPENAME = '{"query":"{ __typename }"}'
const clientSeason = scenario(
  [passNode(), { id: 'shop', type: 'shop', data: { offer: 9007199254740993n, sizes: [1, 2.5] } }],
  [
    { from: 'start', handle: 'onStart', to: 'pass' },
    { from: 'start', handle: 'onStart', to: 'shop' },
    { from: 'shop', handle: 'onBought', to: 'pass' },
  ],
)

beforeAll(async () => {
  game = await startGame({ ALLOWED_ORIGINS: 'https://dashboard.example.com' })
  locked = await startGame({ INTROSPECTION: 'false', GRAPHIQL: 'false' })
  await game.publish('season', season())
  await game.publish('shop', clientSeason)
})
afterAll(async () => {
  await game?.stop()
  await locked?.stop()
})

/** Sends a raw request, as a careless or hostile client can. */
async function send(
  { baseUrl }: Game,
  { method = 'POST', path = '/graphql', headers = {}, body }: RequestInit & { path?: string } = {},
) {
  const response = await fetch(`${baseUrl}${path}`, { method, headers, body })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

/** Sends a document over a WebSocket. */
const overSocket = (to: Game, token: string | null, query: string, variables?: Record<string, unknown>) =>
  askSocket(to, token === null ? {} : { authorization: `Bearer ${token}` }, query, variables)

const codeOf = (answer: GraphqlAnswer): string | undefined => answer.errors?.[0]?.extensions?.code

describe('the fields of GraphQL (contract 15)', () => {
  it('answer each mutation that took effect, also beside one that was refused', async () => {
    const player = await game.player()
    const query = `mutation {
      a: setStorage(input: { values: { color: "red" } }) { storage { key value } }
      b: addXp(input: { scenarioId: "season", nodeId: "pass", runId: "", amount: 0 }) { xp }
      c: setStorage(input: { values: { color: "blue" } }) { storage { key value } }
    }`
    const { data, errors } = await player.graphql(query)
    const stored = (value: string) => ({ storage: [{ key: 'color', value }] })
    expect(data).toEqual({ a: stored('"red"'), b: null, c: stored('"blue"') })
    expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'INVALID_REQUEST' } }])
  })

  it('have the data of nodes exactly', async () => {
    const { data } = await (await game.player()).graphql(START, { input: { scenarioId: 'shop' } })
    const shop = data.startRun.plan.entered.find(({ nodeId }: { nodeId: string }) => nodeId === 'shop')
    expect(shop.data).toEqual({ offer: '9007199254740993', sizes: [1, 2.5] })
  })

  it('claim with claimAll exactly what single claims over REST grant', async () => {
    const [one, two] = [await game.player(), await game.player()]
    const [runOne, runTwo] = [await one.start('season'), await two.start('season')]
    for (const [player, runId] of [
      [one, runOne],
      [two, runTwo],
    ] as const)
      await player.graphql(ADD_XP, { input: { ...place, runId, amount: '250', source: 'quest' } })
    const all = await two.graphql(CLAIM_ALL, { input: { ...place, runId: runTwo } })
    const single = []
    for (const level of [1, 2, 3]) {
      const { body } = await one.post('/sdk/v1/battlepass/claim', { ...place, runId: runOne, level, track: 'free' })
      single.push({ level, track: 'FREE', granted: plain(body.granted) })
    }
    expect(all.data.claimAll.claimed).toEqual(single)
    expect((await two.graphql(CLAIM_ALL, { input: { ...place, runId: runTwo } })).data.claimAll).toEqual({
      claimed: [],
    })
    const held = '{ me { wallet { currency balance } inventory { itemId amount } } }'
    expect((await two.graphql(held)).data).toEqual((await one.graphql(held)).data)
  })

  it('show the player with its wallet, its inventory and its ledger', async () => {
    const player = await game.player({ wallet: { gems: 5n, ash: MAX_INT64 } })
    await game.publish('gifts', season({ tiers: [tier(1, 'free', [item('hat', 2), item('cap', MAX_INT64), gold(1)])] }))
    const runId = await player.start('gifts')
    await player.graphql(CLAIM, { input: { scenarioId: 'gifts', nodeId: 'pass', runId, level: 1, track: 'FREE' } })
    const { data, errors } = await player.graphql(`{ me {
      id playerId status nickname avatarUrl region language createdAt identities { provider subject }
      wallet { currency balance } inventory { itemId amount }
      walletLedger { edges { node { currency amount balance cause reference occurredAt } } }
    } }`)
    expect(errors).toBeUndefined()
    expect(data.me).toMatchObject({
      id: `Player:${player.playerId}`,
      playerId: player.playerId,
      status: 'ACTIVE',
      nickname: null,
      identities: [],
      wallet: [
        { currency: 'ash', balance: String(MAX_INT64) },
        { currency: 'gems', balance: '5' },
        { currency: 'gold', balance: '1' },
      ],
      inventory: [
        { itemId: 'cap', amount: String(MAX_INT64) },
        { itemId: 'hat', amount: '2' },
      ],
    })
    expect(data.me.walletLedger.edges[0].node).toMatchObject({
      currency: 'gold',
      amount: '1',
      balance: '1',
      cause: 'TIER_CLAIM',
      reference: 'gifts/pass/free/1',
    })
    expect(data.me.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('page through a ledger without a gap or a duplicate, by 20 by default and by 200 at most', async () => {
    const player = await game.player()
    for (const index of times(30, (at) => at))
      await Promise.all(
        times(10, (at) =>
          game.app.service.run(adjustWallet(player, { currency: 'gold', amount: 1n, reference: `${index}/${at}` })),
        ),
      )
    const ledger = `query ($first: Int, $after: String, $last: Int, $before: String) {
      me { walletLedger(first: $first, after: $after, last: $last, before: $before) {
        edges { cursor node { id balance } } pageInfo { hasNextPage hasPreviousPage endCursor startCursor } } } }`
    const page = async (variables: Record<string, unknown>) =>
      (await player.graphql(ledger, variables)).data.me.walletLedger
    expect((await page({})).edges).toHaveLength(20)
    expect((await page({ first: 200 })).edges).toHaveLength(200)
    for (const first of [201, 2_000_000_000])
      expect((await player.graphql(ledger, { first })).errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    const seen: string[] = []
    for (let after: string | undefined, more = true; more; ) {
      const { edges, pageInfo } = await page({ first: 70, after })
      seen.push(...edges.map(({ node }: { node: { balance: string } }) => node.balance))
      after = pageInfo.endCursor
      more = pageInfo.hasNextPage
    }
    expect(seen).toEqual(times(300, (index) => String(300 - index)))
    expect((await page({ last: 2 })).edges.map(({ node }: { node: { balance: string } }) => node.balance)).toEqual([
      '2',
      '1',
    ])
  })

  it('publish, read and list scenarios as REST does, faults included', async () => {
    const publish = `mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) {
      scenario { scenarioId environment version definition publishedAt } } }`
    const send = async (scenarioId: string, definition: string, environment = 'production') =>
      outcomeOfGraphql(
        await game.graphql(game.platformKey, publish, {
          input: { environment, scenarioId, definition, reason: 'test' },
        }),
      )
    const put = async (scenarioId: string, definition: string, environment = 'production') =>
      outcomeOfRest(
        await game.request(
          'PUT',
          `/platform/v1/projects/${game.projectId}/scenarios/${scenarioId}?environment=${environment}`,
          { body: definition, headers: { authorization: `Bearer ${game.platformKey}` } },
        ),
      )
    const without = (outcome: unknown) =>
      JSON.parse(JSON.stringify(outcome).replaceAll(/"publishedAt":"[^"]+"/g, '"publishedAt":""'))
    const text = print(season({ more: LIMITED }))
    const [one, two] = [await put('by-rest', text), await send('by-graphql', `${text}\n`)]
    expect(without(two)).toEqual(without({ ok: { scenario: (one as { ok: unknown }).ok } }))
    expect(await send('by-graphql', text)).toEqual(two)

    const faulty = print({ name: '', start: 'nowhere', nodes: [{ id: 'a', type: 'battle-pass' }], edges: [{}] })
    const fault = await send('by-graphql', faulty)
    expect(fault).toEqual(await put('by-rest', faulty))
    expect((fault as { details: unknown[] }).details.length).toBeGreaterThan(4)
    expect(await send('by-graphql', text, 'nowhere')).toEqual(await put('by-rest', text, 'nowhere'))
    expect(await send('by-graphql', '{"name": "\ud800"}')).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'definition', message: 'must not contain NUL or a lone surrogate' }],
    })

    const read = `query ($version: Int) { scenario(environment: "production", scenarioId: "by-graphql", version: $version) {
      scenarioId environment version definition publishedAt } }`
    const { data } = await game.graphql(game.platformKey, read)
    const rest = await game.request(
      'GET',
      `/platform/v1/projects/${game.projectId}/scenarios/by-graphql?environment=production`,
      { headers: { authorization: `Bearer ${game.platformKey}` } },
    )
    expect(data.scenario).toEqual(rest.body)
    expect(codeOf(await game.graphql(game.platformKey, read, { version: 7 }))).toBe('NOT_FOUND')
    expect(codeOf(await game.graphql(game.platformKey, read, { version: 0 }))).toBe('INVALID_REQUEST')

    const list = `{ scenarios(environment: "production", first: 200) { edges { node { scenarioId version publishedAt } } } }`
    const listed = (await game.graphql(game.platformKey, list)).data.scenarios.edges.map(
      ({ node }: { node: { scenarioId: string } }) => node.scenarioId,
    )
    expect(listed).toEqual([...listed].sort())
    expect(listed).toEqual(expect.arrayContaining(['by-graphql', 'by-rest', 'season']))
  })

  it('give the same end of the stream to a player and to a platform key', async () => {
    const player = await game.player()
    const own = (await player.graphql('{ streamCursor }')).data.streamCursor
    const named = (await player.graphql('{ streamCursor(environment: "production") }')).data.streamCursor
    const platform = await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')
    expect(new Set([own, named, platform.data.streamCursor]).size).toBe(1)
    expect(codeOf(await game.graphql(game.platformKey, '{ streamCursor }'))).toBe('INVALID_REQUEST')
    expect(codeOf(await player.graphql('{ streamCursor(environment: "staging") }'))).toBe('FORBIDDEN')
    for (const name of ['', '\\u0000', 'x'.repeat(33)]) {
      const query = `{ streamCursor(environment: "${name}") }`
      const list = `{ scenarios(environment: "${name}") { edges { cursor } } }`
      for (const answer of [
        await player.graphql(query),
        await game.graphql(game.platformKey, query),
        await game.graphql(game.platformKey, list),
      ])
        expect([name, codeOf(answer)]).toEqual([name, 'INVALID_REQUEST'])
    }
  })
})

describe('the scalar Int64 (contract 10)', () => {
  const literal = (runId: string, amount: string) =>
    `mutation { addXp(input: { scenarioId: "season", nodeId: "pass", runId: "${runId}", amount: ${amount}, source: "" }) { xp } }`

  it('is a decimal string in results, and a string or an integer literal in inputs, exact over int64', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const add = async (amount: string) => (await player.graphql(literal(runId, amount))).data.addXp.xp
    expect(await add('9007199254740993')).toBe('9007199254740993')
    expect(await add('"1"')).toBe('9007199254740994')
    const { data } = await player.graphql(ADD_XP, { input: { ...place, runId, amount: 6, source: '' } })
    expect(data.addXp.xp).toBe('9007199254741000')
    expect(await add(String(MAX_INT64 - 9007199254741000n))).toBe(String(MAX_INT64))
    expect(codeOf(await player.graphql(literal(runId, '1')))).toBe('XP_LIMIT_EXCEEDED')
    const { body, text } = await player.post('/sdk/v1/battlepass/progress', place)
    expect([text.includes(`"xp":${MAX_INT64}`), body.level]).toEqual([true, 5])
  })

  it('refuses literals and variables that are not 64-bit integers as INVALID_REQUEST', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const literals = [
      '1.0',
      '1e3',
      '""',
      '" 1"',
      '"1 "',
      '"+1"',
      '"0x10"',
      '"1.0"',
      '"1e3"',
      '"01"',
      'true',
      'null',
      '[1]',
      '{}',
      'ONE',
      String(MAX_INT64 + 1n),
      `"${MAX_INT64 + 1n}"`,
      '-9223372036854775809',
      '1'.repeat(400),
    ]
    for (const junk of literals) {
      expect([junk, codeOf(await player.graphql(literal(runId, junk)))]).toEqual([junk, 'INVALID_REQUEST'])
    }
    const variables = [
      1.5,
      2 ** 53,
      '',
      ' 1',
      '+1',
      '1.0',
      '1e3',
      'ten',
      '٣',
      true,
      null,
      [],
      {},
      String(MAX_INT64 + 1n),
    ]
    for (const amount of variables) {
      const answer = await player.graphql(ADD_XP, { input: { ...place, runId, amount, source: '' } })
      expect([amount, codeOf(answer)]).toEqual([amount, 'INVALID_REQUEST'])
    }
    expect((await player.graphql(PROGRESS, place)).data.battlePass.xp).toBe('0')
  })
})

describe('an error of GraphQL (contract 10)', () => {
  it('is the error that REST answers, with its code in upper case', async () => {
    const [player, other, banned] = await Promise.all(times(3, () => game.player()))
    if (!player || !other || !banned) throw new Error('three players')
    const runId = await player.start('season')
    const othersRun = await other.start('season')
    const bannedRun = await banned.start('season')
    await game.app.pool.query("UPDATE players SET status = 'banned' WHERE id = $1", [banned.playerId])
    const xp = { ...place, runId, amount: 1, source: '' }
    const cases: [string, TestPlayer, Record<string, unknown>][] = [
      ['RUN_NOT_FOUND', player, { ...xp, runId: othersRun }],
      ['RUN_NOT_FOUND', player, { ...xp, runId: 'no such run' }],
      ['SCENARIO_NOT_FOUND', player, { ...xp, scenarioId: 'nowhere' }],
      ['NODE_NOT_FOUND', player, { ...xp, nodeId: 'nowhere' }],
      ['NODE_NOT_FOUND', player, { ...xp, nodeId: 'start' }],
      ['PLAYER_BANNED', banned, { ...xp, runId: bannedRun }],
    ]
    for (const [code, caller, input] of cases) {
      const [rest, graphql] = [await restOf(caller).addXp(input), await graphqlOf(caller).addXp(input)]
      expect(graphql).toEqual(rest)
      expect(graphql).toMatchObject({ code })
    }
    for (const query of ['{ me { id } }', '{ streamCursor }'])
      expect(codeOf(await banned.graphql(query))).toBe('PLAYER_BANNED')
    expect(await graphqlOf(banned).progress(place)).toEqual(await restOf(banned).progress(place))
    expect(await graphqlOf(player).run({ runId: othersRun })).toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  it('names all faults of an input at once, with the messages of REST', async () => {
    const player = await game.player()
    const input = { scenarioId: '', nodeId: 'n\0', runId: 'r'.repeat(129), amount: 0, source: 's'.repeat(65) }
    const [rest, graphql] = [await restOf(player).addXp(input), await graphqlOf(player).addXp(input)]
    expect(graphql).toEqual(rest)
    expect(graphql).toMatchObject({ code: 'INVALID_REQUEST', message: 'invalid request' })
    expect((graphql as { details: unknown[] }).details).toHaveLength(5)
  })

  it('names the path of an invalid variable, and of a missing or unknown member, over HTTP and over WebSocket, and repeats no other value', async () => {
    const token = game.platformKey
    const input = { playerId: 'a-secret', currency: 'gold', amount: '1.0', reason: 'r', idempotencyKey: 'k' }
    const credit = 'mutation ($input: CreditWalletInput!) { creditWallet(input: $input) { balance } }'
    const single =
      'mutation ($xp: Int64!) { creditWallet(input: { amount: $xp, playerId: "a", currency: "b", reason: "c", idempotencyKey: "d" }) { balance } }'
    const letter = { playerId: 'a-secret', reason: 'r', idempotencyKey: 'k' }
    const message = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { player { id } } }'
    const audit = 'query ($from: DateTime) { auditLog(from: $from) { edges { cursor } } }'
    const events =
      'query ($types: [EventType!]) { events(environment: "production", types: $types) { edges { cursor } } }'
    const cases = [
      ['amount', credit, { input }],
      ['reason', credit, { input: { ...input, amount: '1', reason: null } }],
      ['reason', credit, { input: { ...input, amount: '1', reason: { at: ' at "currency"' } } }],
      ['amuont', credit, { input: { ...input, amount: '1', amuont: 1 } }],
      ['amount', credit, { input: { ...input, amount: undefined } }],
      ['rewards[1].boost.minutes', message, { input: { ...letter, rewards: [{}, { boost: { percent: 5 } }] } }],
      ['amount', single, { xp: '1.0' }],
      ['amount', single, {}],
      ['input', credit, {}],
      ['amount', credit.replaceAll('$input', '$all'), { all: input }],
      ['from', audit.replaceAll('$from', '$since'), { since: 'yesterday' }],
      ['from', audit, { from: 'yesterday' }],
      ['from', audit, { from: '9999-12-31T23:59:59-01:00' }],
      ['types[1]', events, { types: ['CROSSING', 'none'] }],
    ] as const
    for (const [path, query, variables] of cases) {
      const response = await send(game, {
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      })
      expect([path, response.status]).toEqual([path, 200])
      for (const { errors } of [JSON.parse(response.text), await overSocket(game, token, query, variables)]) {
        expect(errors).toMatchObject([{ extensions: { code: 'INVALID_REQUEST', details: [{ path }] } }])
        // A variable that is not sent has the name of the document in its message.
        if (Object.keys(variables).length > 0) expect(errors[0].message).toContain(path)
        expect(JSON.stringify(errors)).not.toContain('a-secret')
      }
    }
  })

  it('has the location of an invalid literal in the document', async () => {
    const credit = (amount: string) =>
      `mutation { creditWallet(input: {playerId: "p", currency: "c", reason: "r", idempotencyKey: "k", amount: ${amount}}) { balance } }`
    const store = (values: string) =>
      `mutation { setPlayerStorage(input: {playerId: "p", reason: "r", values: ${values}}) { player { id } } }`
    const bad = ['"ten"', '1.5', '9223372036854775808', 'TEN'].map((literal) => [credit(literal), literal] as const)
    for (const [query, literal] of [...bad, ...['"{"', '"[]"', '[]', '1'].map((one) => [store(one), one] as const)]) {
      const { errors } = await game.graphql(game.platformKey, query)
      const locations = [{ line: 1, column: query.lastIndexOf(`: ${literal}}`) + 3 }]
      expect([literal, errors]).toMatchObject([literal, [{ locations, extensions: { code: 'INVALID_REQUEST' } }]])
    }
  })

  it('is the error of REST for every invalid text and number in every input', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const bad: unknown[] = ['', '\0', 'a\0b', '\ud800', '\udfff!', 'x'.repeat(129), '😀'.repeat(129)]
    const base = { ...place, runId }
    const [rest, graphql] = [restOf(player), graphqlOf(player)]
    const inputs: [keyof typeof rest, Record<string, unknown>, string[]][] = [
      ['start', { scenarioId: 'season' }, ['scenarioId']],
      ['run', { runId }, ['runId']],
      ['progress', place, ['scenarioId', 'nodeId']],
      ['addXp', { ...base, amount: 1, source: 'q' }, ['scenarioId', 'nodeId', 'runId']],
      ['claim', { ...base, level: 1, track: 'free' }, ['scenarioId', 'nodeId', 'runId']],
      ['premium', base, ['scenarioId', 'nodeId', 'runId']],
      ['cross', { ...base, handle: 'onX' }, ['scenarioId', 'nodeId', 'runId', 'handle']],
    ]
    for (const [call, input, fields] of inputs) {
      for (const field of fields) {
        for (const value of bad) {
          const sent = { ...input, [field]: value } as never
          const [one, two] = [await rest[call](sent), await graphql[call](sent)]
          expect([call, field, value, two]).toEqual([call, field, value, one])
          expect(two).toMatchObject({ code: 'INVALID_REQUEST' })
        }
      }
    }
    for (const amount of [0, -1, -MAX_INT64 - 1n]) {
      const sent = { ...base, amount, source: 'q' }
      expect(await graphql.addXp(sent)).toEqual(await rest.addXp(sent))
    }
    for (const level of [-1]) {
      const sent = { ...base, level, track: 'free' }
      expect(await graphql.claim(sent)).toEqual(await rest.claim(sent))
    }
    // GraphQL itself refuses values that its scalars cannot hold, with the same code.
    for (const sent of [
      { ...base, amount: MAX_INT64 + 1n, source: 'q' },
      { ...base, amount: 1, source: 5 as never },
    ]) {
      expect(await rest.addXp(sent)).toMatchObject({ code: 'INVALID_REQUEST' })
      expect(await graphql.addXp(sent)).toMatchObject({ code: 'INVALID_REQUEST' })
    }
    for (const level of [2 ** 31, 1.5, '1']) {
      const sent = { ...base, level, track: 'free' }
      expect(await rest.claim(sent)).toMatchObject({ code: 'INVALID_REQUEST' })
      expect(await graphql.claim(sent)).toMatchObject({ code: 'INVALID_REQUEST' })
    }
    for (const idempotencyKey of ['', 'k'.repeat(256), '\0']) {
      const sent = { ...base, idempotencyKey }
      expect(await graphql.premium(sent)).toEqual(await rest.premium(sent))
    }
    expect(await graphql.progress(place)).toMatchObject({ ok: { xp: '0', premiumOwned: false, claimedTiers: [] } })
  })

  it('has only a request id when it is unexpected, under which the log has the cause', async () => {
    const told: { level: number; path?: string; requestId?: string; err?: { message: string } }[] = []
    const broken = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) }))
    try {
      await broken.publish('season', season())
      const player = await broken.player()
      const runId = await player.start('season')
      await broken.app.pool.query('DROP TABLE wallet_ledger, wallets, xp_ledger CASCADE')
      const input = { ...place, runId, amount: 1, source: '' }
      const answers = [
        await player.graphql('{ me { id wallet { balance } } }'),
        await player.graphql('{ me { id walletLedger { edges { cursor } } } }'),
        await player.graphql(ADD_XP, { input }),
        await player.graphql(PREMIUM, { input: { ...place, runId } }),
        await overSocket(broken, player.token, ADD_XP, { input }),
        await overSocket(broken, player.token, '{ me { wallet { balance } } }'),
      ]
      for (const answer of answers) {
        expect(answer.errors).toHaveLength(1)
        expect(answer.errors?.[0]).toMatchObject({ message: 'internal error', extensions: { code: 'INTERNAL_ERROR' } })
        expect(JSON.stringify(answer)).not.toMatch(/relation|wallets|xp_ledger|prisma|stack|\.ts|42P01/i)
        const requestId = answer.errors?.[0]?.extensions.requestId
        const line = told.find((one) => one.requestId === requestId)
        expect(line).toMatchObject({ level: 50, path: expect.stringMatching(/^\/graphql (me|addXp|purchasePremium)/) })
        expect(line?.err?.message).toMatch(/does not exist/)
      }
    } finally {
      await broken.stop()
    }
  })

  it('has a request id under which the log has the unavailable field and the cause', async () => {
    const told: Record<string, unknown>[] = []
    const alone = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) }))
    const held = await alone.app.pool.connect()
    try {
      await held.query(BEGIN)
      await held.query('LOCK TABLE projects')
      const answer = await alone.graphql(alone.platformKey, '{ project { name } }')
      const { code, requestId } = answer.errors?.[0]?.extensions ?? {}
      expect(code).toBe('UNAVAILABLE')
      const line = told.find((one) => one.requestId === requestId)
      expect(line).toMatchObject({ level: 40, path: '/graphql project', msg: 'unavailable' })
      expect(line?.cause).toMatch(/timeout/)
    } finally {
      await held.query('ROLLBACK')
      held.release()
      await alone.stop()
    }
  })
})

describe('the limits of requests, over HTTP and WebSocket', () => {
  const deep = (levels: number) => `{ ${'a { '.repeat(levels - 1)}a${' }'.repeat(levels - 1)} }`
  const fragments = `{ me { ...A } } ${times(12, (index) => `fragment ${String.fromCharCode(65 + index)} on Player { ...${String.fromCharCode(66 + index)} }`).join(' ')} fragment M on Player { id }`
  const spread = (name: string) => `...${name} `.repeat(12)
  const manySpreads = `{ project { ${spread('A')} } } fragment A on Project { ${spread('B')} } fragment B on Project { ${spread('C')} } fragment C on Project { ${spread('D')} } fragment D on Project { id }`
  const refused: Record<string, string> = {
    'a depth over 10': deep(11),
    'a depth of 3,000': deep(400),
    'a depth hidden in fragments': fragments,
    '16 aliases': `{ ${times(16, (index) => `a${index}: me { id }`).join(' ')} }`,
    '51 directives': `{ me { id ${'@include(if: true) '.repeat(51)} } }`,
    'over 1,000 tokens': `{ me { ${'id '.repeat(1000)} } }`,
    'fragments that multiply when they are expanded': manySpreads,
    'a document that does not parse': '{ me { id ',
    'an empty document': '',
    'an unknown field': '{ me { nothing } }',
    'a cycle of fragments': '{ me { ...A } } fragment A on Player { ...B } fragment B on Player { ...A }',
    'a document without an operation': 'fragment A on Player { id }',
    'a subscription without its field': 'subscription { playerCreated @skip(if: true) { cursor } }',
    'a subscription without the field of a fragment':
      'subscription { ...A } fragment A on Subscription { playerCreated @skip(if: true) { cursor } }',
  }

  for (const [what, query] of Object.entries(refused)) {
    it(`refuse ${what}`, async () => {
      const player = await game.player()
      const http = await player.graphql(query)
      expect([what, codeOf(http)]).toEqual([what, 'INVALID_REQUEST'])
      expect(http.data ?? null).toBeNull()
      const socket = await overSocket(game, player.token, query)
      expect([what, codeOf(socket)]).toEqual([what, 'INVALID_REQUEST'])
    })
  }

  it('accept documents within them', async () => {
    const player = await game.player()
    const within = [
      `{ ${times(15, (index) => `a${index}: me { id }`).join(' ')} }`,
      `{ me { id ${'@include(if: true) '.repeat(1)} } }`,
      `{ me { ${'id '.repeat(300)} } }`,
    ]
    for (const query of within) {
      expect((await player.graphql(query)).errors).toBeUndefined()
      expect((await overSocket(game, player.token, query)).errors).toBeUndefined()
    }
  })

  it('refuse a batch of operations', async () => {
    const player = await game.player()
    const one = { query: START, variables: { input: { scenarioId: 'season' } } }
    const answer = await send(game, {
      headers: { 'content-type': 'application/json', authorization: `Bearer ${player.token}` },
      body: JSON.stringify([one, one]),
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(await runsOf(player)).toBe(0)
  })

  it('refuse a body over 1 MiB with 413, with or without a Content-Length, and accept one of 1 MiB', async () => {
    const player = await game.player()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${player.token}` }
    const query = '{ me { playerId } }'
    const padded = (bytes: number) => {
      const body = JSON.stringify({ query })
      return body + ' '.repeat(bytes - body.length)
    }
    expect((await send(game, { headers, body: padded(1_048_576) })).status).toBe(200)
    const over = await send(game, { headers, body: padded(1_048_577) })
    expect([over.status, JSON.parse(over.text).errors[0].extensions.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const chunked = async (...chunks: readonly (string | Buffer)[]) => {
      const sent = request(`${game.baseUrl}/graphql`, { method: 'POST', headers })
      for (const chunk of chunks) sent.write(chunk)
      const [response] = await once(sent.end(), 'response')
      let text = ''
      for await (const chunk of response) text += chunk
      return [response.statusCode, text]
    }
    const body = padded(100)
    const whole = await chunked(body)
    expect(whole).toEqual([200, JSON.stringify({ data: { me: { playerId: player.playerId } } })])
    expect(await chunked(body.slice(0, 7), body.slice(7))).toEqual(whole)
    expect(await chunked(padded(1_048_576))).toEqual(whole)
    const refused = [413, '{"errors":[{"message":"payload too large","extensions":{"code":"PAYLOAD_TOO_LARGE"}}]}']
    expect(await chunked(padded(1_048_577))).toEqual(refused)
    expect(await chunked(body, padded(2_000_000))).toEqual(refused)
  })

  it('refuse a body that is not UTF-8 as REST does', async () => {
    const { token } = await game.player()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const body = Buffer.from('{"query":"{ __typename }","operationName":"\xff"}', 'latin1')
    const rest = await send(game, { path: '/sdk/v1/battlepass/progress', headers, body })
    const graphql = await send(game, { headers, body })
    const { error: message, code, details } = JSON.parse(rest.text)
    expect([rest.status, details]).toEqual([400, [{ path: '', message: 'the body must be valid UTF-8' }]])
    expect([graphql.status, JSON.parse(graphql.text)]).toEqual([
      rest.status,
      { errors: [{ message, extensions: { code: code.toUpperCase(), details } }] },
    ])
  })

  it('refuse an invalid Host as REST does', async () => {
    for (const host of ['[', 'a b', '%%%', 'localhost:99999', 'a/b', 'a@b']) {
      const sent = request(`${game.baseUrl}/graphql?query=%7B__typename%7D`, { headers: { host } })
      const [response] = await once(sent.end(), 'response')
      let text = ''
      for await (const chunk of response) text += chunk
      expect([host, response.statusCode, text]).toEqual([
        host,
        400,
        '{"errors":[{"message":"invalid request","extensions":{"code":"INVALID_REQUEST","details":[{"path":"host","message":"must be the name or address of a host"}]}}]}',
      ])
    }
  })

  it.each([
    ['variables', '{bad'],
    ['extensions', '{bad'],
    ['variables', '5'],
  ])('refuse a GET whose %s are %s as an invalid request', async (name, value) => {
    const path = `/graphql?${new URLSearchParams({ query: '{ project { id } }', [name]: value })}`
    const { status, text } = await send(game, {
      method: 'GET',
      path,
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    const [error] = JSON.parse(text).errors
    expect([status, error.extensions.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(error.extensions.details[0].path).toBe(name)
  })

  it.each<[title: string, sent: Parameters<typeof send>[1], status: number, code: string, path: string]>([
    ['PUT', { method: 'PUT', body: '{}' }, 405, 'METHOD_NOT_ALLOWED', ''],
    [
      'a mutation by GET',
      { method: 'GET', path: '/graphql?query=mutation{logout{success}}' },
      405,
      'METHOD_NOT_ALLOWED',
      'query',
    ],
    [
      'plain text',
      { headers: { 'content-type': 'text/plain' }, body: '{}' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Type',
    ],
    [
      'UTF-16',
      { headers: { 'content-type': 'application/json; charset=utf-16' }, body: '{}' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Type',
    ],
    [
      'Accept: text/css',
      { headers: { ...JSON_BODY, accept: 'text/css' }, body: TYPENAME },
      406,
      'NOT_ACCEPTABLE',
      'Accept',
    ],
    [
      'Accept of weight 0',
      { headers: { ...JSON_BODY, accept: '*/*;q=0' }, body: TYPENAME },
      406,
      'NOT_ACCEPTABLE',
      'Accept',
    ],
    [
      'a subscription without event streams',
      { headers: { ...JSON_BODY, accept: 'application/json' }, body: '{"query":"subscription { events { cursor } }"}' },
      406,
      'NOT_ACCEPTABLE',
      'Accept',
    ],
    ['a fault of JSON', { headers: JSON_BODY, body: '{"query": x}' }, 400, 'INVALID_REQUEST', ''],
    ['a batch', { headers: JSON_BODY, body: `[${TYPENAME}]` }, 400, 'INVALID_REQUEST', ''],
    [
      'an unknown member',
      { headers: JSON_BODY, body: '{"query":"{ me { id } }","more":1}' },
      400,
      'INVALID_REQUEST',
      'more',
    ],
    ['a query of another type', { headers: JSON_BODY, body: '{"query":7}' }, 400, 'INVALID_REQUEST', 'query'],
    ['no query', { headers: RESPONSE_JSON, body: '{}' }, 400, 'INVALID_REQUEST', 'query'],
    ['a fault of syntax', { headers: RESPONSE_JSON, body: '{"query":"{ me {"}' }, 400, 'INVALID_REQUEST', 'query'],
    ['an unknown field', { headers: RESPONSE_JSON, body: '{"query":"{ nothing }"}' }, 400, 'INVALID_REQUEST', 'query'],
    [
      'a wrong literal',
      { headers: RESPONSE_JSON, body: '{"query":"{ player(id: 1.5) { id } }"}' },
      400,
      'INVALID_REQUEST',
      'query',
    ],
    [
      'an unknown operation',
      { headers: RESPONSE_JSON, body: '{"query":"query A { me { id } }","operationName":"B"}' },
      400,
      'INVALID_REQUEST',
      'operationName',
    ],
  ])('answer %s with a code, the place and an id', async (_title, sent, status, code, path) => {
    const answer = await send(game, sent)
    const { errors } = JSON.parse(answer.text)
    expect([answer.status, errors[0].extensions.code]).toEqual([status, code])
    expect(answer.headers.get('x-request-id')).toBeTruthy()
    expect(errors[0].extensions).not.toHaveProperty('originalError')
    if (sent?.method !== 'PUT')
      expect(errors[0].extensions.details).toEqual([{ path, message: expect.stringMatching(/./) }])
  })

  it('heed the weights of Accept', async () => {
    const typeFor = async (accept: string) =>
      (await send(game, { headers: { ...JSON_BODY, accept }, body: TYPENAME })).headers.get('content-type')
    expect(await typeFor('application/json;q=0, */*')).toContain('application/graphql-response+json')
    expect(await typeFor('application/json;q=0.1, application/graphql-response+json;q=0.9')).toContain(
      'application/graphql-response+json',
    )
    expect(await typeFor('*/*, application/graphql-response+json;q=0')).toContain('application/json')
  })

  it('refuse mutations that a web page could send without a preflight: form, multipart, text, GET', async () => {
    const player = await game.player()
    const query = 'mutation { startRun(input: { scenarioId: "season" }) { runId } }'
    const form = new FormData()
    form.set('operations', JSON.stringify({ query }))
    form.set('map', '{}')
    const authorization = `Bearer ${player.token}`
    const attempts: (RequestInit & { path?: string })[] = [
      {
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ query }),
      },
      { headers: { authorization }, body: form },
      { headers: { authorization, 'content-type': 'text/plain' }, body: JSON.stringify({ query }) },
      { headers: { authorization, 'content-type': 'application/graphql' }, body: query },
      { headers: { authorization, 'content-type': '' }, body: JSON.stringify({ query }) },
      { method: 'GET', path: `/graphql?${new URLSearchParams({ query })}`, headers: { authorization } },
      {
        method: 'PUT',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      },
    ]
    for (const attempt of attempts) {
      const { status } = await send(game, attempt)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    }
    expect(await runsOf(player)).toBe(0)
  })

  async function runsOf({ playerId }: TestPlayer): Promise<number> {
    const { rows } = await game.app.pool.query('SELECT count(*)::int AS runs FROM runs WHERE player_id = $1', [
      playerId,
    ])
    return rows[0].runs
  }
})

describe('CORS', () => {
  const preflight = (server: Game, origin: string) =>
    send(server, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  const query = (server: Game, origin: string) =>
    send(server, {
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ __typename }' }),
    })

  it('allows a listed origin, without credentials', async () => {
    const origin = 'https://dashboard.example.com'
    for (const { headers } of [await preflight(game, origin), await query(game, origin)]) {
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-allow-credentials')).not.toBe('true')
      expect(headers.get('vary')?.toLowerCase()).toContain('origin')
    }
  })

  it('allows no other origin, also when none is listed', async () => {
    for (const server of [game, locked]) {
      for (const origin of ['https://evil.example', 'null', 'https://dashboard.example.com.evil.example']) {
        for (const { headers } of [await preflight(server, origin), await query(server, origin)]) {
          expect([origin, headers.get('access-control-allow-origin')]).toEqual([origin, null])
          expect(headers.get('access-control-allow-credentials')).not.toBe('true')
        }
      }
    }
  })
})

describe('introspection and GraphiQL', () => {
  const INTROSPECTION = '{ __schema { types { name } } }'

  it('show the schema when introspection is on', async () => {
    expect((await game.graphql(null, INTROSPECTION)).data.__schema.types.length).toBeGreaterThan(10)
  })

  it('show and suggest nothing of the schema with INTROSPECTION=false, over HTTP and WebSocket', async () => {
    const hidden = [
      INTROSPECTION,
      '{ __type(name: "Player") { fields { name } } }',
      '{ mee { id } }',
      'mutation { addX { xp } }',
      '{ me { walet { balance } } }',
      'mutation { addXp(inputt: 1) { xp } }',
      'mutation { addXp(input: { scenarioIdd: "x" }) { xp } }',
      'query ($a: AddXpInpu!) { __typename }',
      'mutation { claimTier(input: { track: fre }) { error } }',
    ]
    const unknownTrack = { input: { ...place, runId: 'x', track: 'fre' } }
    for (const answer of [
      await locked.graphql(null, CLAIM, unknownTrack),
      await overSocket(locked, null, CLAIM, unknownTrack),
    ])
      expect(JSON.stringify(answer)).not.toMatch(/did you mean/i)
    for (const query of hidden) {
      for (const answer of [await locked.graphql(null, query), await overSocket(locked, null, query)]) {
        expect([query, codeOf(answer)]).toEqual([query, 'INVALID_REQUEST'])
        expect(JSON.stringify(answer)).not.toMatch(/did you mean/i)
        expect(answer.data ?? null).toBeNull()
      }
    }
    expect((await locked.graphql(null, '{ __typename }')).data).toEqual({ __typename: 'Query' })
  })

  it('have a GraphiQL page that loads nothing from another host', async () => {
    const page = await send(game, { method: 'GET', headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')?.startsWith('text/html')]).toEqual([200, true])
    expect(page.text).toContain('Tierway')
    // Tags, styles and imports of the page that name another host.
    const loaded = page.text.matchAll(
      /(?:<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?|@import\s+["']?|url\(["']?|import\(["']|\bfrom ?["'])(?:https?:)?\/\/[^"')\s]+/gi,
    )
    expect([...loaded].map(([text]) => text)).toEqual([])
  })

  it('have no page with GRAPHIQL=false', async () => {
    const page = await send(locked, { method: 'GET', headers: { accept: 'text/html' } })
    expect(page.status).toBeGreaterThanOrEqual(400)
    expect(page.text).not.toMatch(/<html|graphiql/i)
  })
})
