import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { gold, item, LIMITED, passNode, scenario, season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { graphqlOf, plain, restOf } from '../harness/surfaces.ts'

const MAX_INT64 = 2n ** 63n - 1n
const START = '/sdk/v1/scenarios/start'
const CROSS = '/sdk/v1/scenarios/cross'
const RUN = '/sdk/v1/scenarios/run'

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const edge = (from: string, handle: string, to: string): Json => ({ from, handle, to })
const popup = (id: string): Json => ({ id, type: 'popup', data: { title: id } })
const reward = (id: string, ...rewards: Json[]): Json => ({ id, type: 'reward', data: { rewards } })

const enteredStart = { nodeId: 'start', type: 'start', data: {} }
const enteredPopup = (nodeId: string) => ({ nodeId, type: 'popup', data: { title: nodeId } })
const enteredReward = (nodeId: string, ...rewards: unknown[]) => ({ nodeId, type: 'reward', data: { rewards } })
const goldReward = (amount: number) => ({ amount, currency: 'gold', itemId: null })
const itemReward = (itemId: string) => ({ amount: 1, currency: null, itemId })

async function publish(scenarioId: string, definition: Json): Promise<void> {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
}

async function enter(scenarioId: string, options: { wallet?: Record<string, bigint> } = {}) {
  const player = await game.player(options)
  const started = (await player.post(START, { scenarioId })).body
  const { runId } = started
  return {
    player,
    runId,
    started,
    cross: (nodeId: string, handle: string) => player.post(CROSS, { scenarioId, nodeId, runId, handle }),
    read: async () => (await player.post(RUN, { runId })).body,
  }
}

async function holdings({ playerId }: TestPlayer) {
  const { rows } = await game.app.pool.query(
    `SELECT currency AS name, balance::text AS amount FROM wallets WHERE player_id = $1
     UNION ALL SELECT item_id, amount::text FROM inventory WHERE player_id = $1`,
    [playerId],
  )
  return Object.fromEntries(rows.map(({ name, amount }) => [name, amount]))
}

async function written({ playerId }: TestPlayer) {
  await settled(game.app.pool)
  const tables = ['runs', 'wallets', 'wallet_ledger', 'inventory', 'events']
  const rows = tables.map(async (table) => {
    const result = await game.app.pool.query(`SELECT * FROM ${table} WHERE player_id = $1 ORDER BY 1, 2, 3`, [playerId])
    return [table, result.rows]
  })
  return Object.fromEntries(await Promise.all(rows))
}

describe('the start of a run', () => {
  it('enters the start node, crosses onStart and hands over the next node', async () => {
    await publish('hello', scenario([popup('a'), popup('b')], [edge('start', 'onStart', 'a')]))
    const { started } = await enter('hello')
    expect(started).toEqual({
      runId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      resumed: false,
      plan: {
        runId: started.runId,
        status: 'active',
        crossed: [{ nodeId: 'start', handle: 'onStart' }],
        entered: [enteredStart, enteredPopup('a')],
        granted: [],
      },
    })
  })

  it('resumes the active run with its last plan when it is repeated', async () => {
    const run = await enter('hello')
    const again = await run.player.post(START, { scenarioId: 'hello' })
    expect(again.body).toEqual({ ...run.started, resumed: true })
    const { body } = await run.cross('a', 'onComplete')
    expect(body.plan.status).toBe('completed')
  })

  it('begins a new run once the last one is completed', async () => {
    const run = await enter('hello')
    await run.cross('a', 'onComplete')
    const next = await run.player.post(START, { scenarioId: 'hello' })
    expect(next.body.resumed).toBe(false)
    expect(next.body.runId).not.toBe(run.runId)
    expect((await run.read()).status).toBe('completed')
  })

  it('at a client node crosses nothing, and hands the node over', async () => {
    await publish('direct', { name: 'Direct', start: 'a', nodes: [popup('a')], edges: [] })
    const { started, runId, read } = await enter('direct')
    const plan = { runId, status: 'active', crossed: [], entered: [enteredPopup('a')], granted: [] }
    expect(started.plan).toEqual(plan)
    expect(await read()).toEqual({
      runId,
      scenarioId: 'direct',
      status: 'active',
      active: [enteredPopup('a')],
      plan,
      cause: null,
    })
  })

  it('at a reward node grants its rewards once', async () => {
    const nodes = [reward('gift', gold(5)), popup('a')]
    await publish('gift', { name: 'Gift', start: 'gift', nodes, edges: [edge('gift', 'onComplete', 'a')] })
    const { started, player } = await enter('gift')
    expect(started.plan).toMatchObject({
      crossed: [{ nodeId: 'gift', handle: 'onComplete' }],
      entered: [enteredReward('gift', { currency: 'gold', amount: 5 }), enteredPopup('a')],
      granted: [goldReward(5)],
    })
    expect(await holdings(player)).toEqual({ gold: '5' })
    await player.post(START, { scenarioId: 'gift' })
    expect(await holdings(player)).toEqual({ gold: '5' })
  })

  it('is 404 for an unknown scenario and 409 when its rewards would overflow, and then leaves no run', async () => {
    const player = await game.player({ wallet: { gold: MAX_INT64 } })
    const unknown = await player.post(START, { scenarioId: 'nowhere' })
    expect([unknown.status, unknown.body.error]).toEqual([404, 'scenario not found'])
    const before = await written(player)
    const full = await player.post(START, { scenarioId: 'gift' })
    expect([full.status, full.body.error]).toEqual([409, 'balance limit exceeded'])
    expect(await written(player)).toEqual(before)
  })

  it('hands the data of a node over exactly as it was published', async () => {
    const data = '{"z": 1.0, "a": 12345678901234567890, "z2":{"2":1,"1":[1e3 , null]}}'
    const text = `{"name":"Raw","start":"a","nodes":[{"id":"a","type":"popup","data":${data}}],"edges":[]}`
    const path = `/platform/v1/projects/${game.projectId}/scenarios/raw?environment=production`
    await game.request('PUT', path, { body: text, headers: { authorization: `Bearer ${game.platformKey}` } })
    const player = await game.player()
    const started = await player.post(START, { scenarioId: 'raw' })
    expect(started.text).toContain(`"data":${data}`)
    expect((await player.post(START, { scenarioId: 'raw' })).text).toContain(`"data":${data}`)
    expect((await player.post(RUN, { runId: started.body.runId })).text).toContain(`"data":${data}`)
  })
})

describe('a crossing by a client', () => {
  beforeAll(async () => {
    const nodes = [popup('a'), popup('b'), popup('c'), reward('gift', gold(1)), passNode()]
    await publish(
      'walk',
      scenario(nodes, [
        edge('start', 'onStart', 'a'),
        edge('start', 'onStart', 'pass'),
        edge('a', 'onShow', 'b'),
        edge('a', 'onComplete', 'c'),
        edge('c', 'onComplete', 'gift'),
      ]),
    )
  })

  it('answers with the plan: handles crossed, nodes entered and rewards granted', async () => {
    const { cross, runId } = await enter('walk')
    expect((await cross('a', 'onShow')).body).toEqual({
      plan: {
        runId,
        status: 'active',
        crossed: [{ nodeId: 'a', handle: 'onShow' }],
        entered: [enteredPopup('b')],
        granted: [],
      },
    })
  })

  it('leaves the node active unless the handle is onComplete', async () => {
    const { cross, read } = await enter('walk')
    await cross('a', 'onShow')
    expect((await read()).active.map(({ nodeId }: { nodeId: string }) => nodeId)).toEqual(['a', 'pass', 'b'])
    await cross('a', 'onComplete')
    expect((await read()).active.map(({ nodeId }: { nodeId: string }) => nodeId)).toEqual(['pass', 'b', 'c'])
  })

  it('is 400 unless the handle is onComplete or on an edge of the node (contract 12)', async () => {
    const { cross, player } = await enter('walk')
    const before = await written(player)
    for (const handle of ['onSomething', 'on something', 'ünd', 'x'.repeat(64)]) {
      const { status, body } = await cross('a', handle)
      expect([status, body.details]).toEqual([
        400,
        [{ path: 'handle', message: 'must be `onComplete`, or stand on an edge of the node' }],
      ])
    }
    expect(await written(player)).toEqual(before)
    expect((await cross('a', 'onComplete')).status).toBe(200)
  })

  it('appears in events with byClient, and not in the typed subscriptions (contract 12)', async () => {
    const node = passNode('pass', { levels: [0], tiers: [{ level: 1, track: 'free', rewards: [gold(1)] }] })
    const edges = [edge('start', 'onStart', 'a'), edge('start', 'onStart', 'pass')]
    await publish('told', scenario([popup('a'), node], edges))
    const { cross, player, runId } = await enter('told')
    const after = (await game.graphql(player.token, '{ streamCursor }')).data.streamCursor
    const fields = '__typename nodeId handle byClient data'
    const all = game.subscribe(player.token, `subscription ($after: String) { events(after: $after) { ${fields} } }`, {
      after,
    })
    const typed = game.subscribe(
      player.token,
      `subscription ($after: String) { onComplete(after: $after) { ${fields} } }`,
      {
        after,
      },
    )
    await cross('a', 'onComplete')
    await player.post('/sdk/v1/battlepass/claim', {
      scenarioId: 'told',
      nodeId: 'pass',
      runId,
      level: 1,
      track: 'free',
    })
    const own = { __typename: 'HandleCrossedEvent', nodeId: 'a', handle: 'onComplete', byClient: true, data: {} }
    const ofPass = { __typename: 'CompleteEvent', nodeId: 'pass', handle: 'onComplete', byClient: false, data: {} }
    expect(await all.take(2)).toEqual([own, ofPass])
    expect(await typed.take(1)).toEqual([ofPass])
    await Promise.all([all.close(), typed.close()])
    const history = await game.graphql(player.token, `{ events(last: 2) { edges { node { ${fields} } } } }`)
    expect(history.data.events.edges.map(({ node: one }: { node: unknown }) => one)).toEqual([own, ofPass])
  })

  it.each([
    ['a handle of the pass', 'pass', 'onLevelUp'],
    ['completion of the pass', 'pass', 'onComplete'],
    ['an unknown handle of the pass', 'pass', 'onAnything'],
    ['the start', 'start', 'onStart'],
    ['a reward node', 'gift', 'onComplete'],
    ['a handle of the service on a node of the client', 'a', 'onLevelUp'],
    ['onMaxLevel on a node of the client', 'a', 'onMaxLevel'],
    ['onPremiumPurchase on a node of the client', 'a', 'onPremiumPurchase'],
    ['onStart on a node of the client', 'a', 'onStart'],
  ])('is 403 for nodes and handles of the service, and writes nothing: %s', async (_, nodeId, handle) => {
    const { cross, player } = await enter('walk')
    const before = await written(player)
    const { status, body } = await cross(nodeId, handle)
    expect([status, body.error, body.code]).toEqual([403, 'handle is server-owned', 'handle_is_server_owned'])
    expect(await written(player)).toEqual(before)
  })

  it('is 409 for a node that is not yet or no longer active', async () => {
    const { cross, player } = await enter('walk')
    const early = await cross('c', 'onComplete')
    expect([early.status, early.body.error, early.body.code]).toEqual([409, 'node not active', 'node_not_active'])
    await cross('a', 'onComplete')
    await cross('c', 'onComplete')
    const before = await written(player)
    for (const nodeId of ['a', 'c']) expect((await cross(nodeId, 'onComplete')).body.error).toBe('node not active')
    expect(await written(player)).toEqual(before)
    expect(await holdings(player)).toEqual({ gold: '1' })
  })

  it.each([
    ['an unknown node', { nodeId: 'nowhere' }, 404, 'node not found'],
    ['an unknown scenario', { scenarioId: 'nowhere' }, 404, 'scenario not found'],
    ['a run of another scenario', { scenarioId: 'hello' }, 404, 'run not found'],
    ['an invalid run id', { runId: 'nothing' }, 404, 'run not found'],
  ])('is refused for %s', async (_, change, status, error) => {
    const { player, runId } = await enter('walk')
    const answer = await player.post(CROSS, { scenarioId: 'walk', nodeId: 'a', runId, handle: 'onShow', ...change })
    expect([answer.status, answer.body.error]).toEqual([status, error])
  })

  it("is 404 in another player's run and 409 in a completed run", async () => {
    const mine = await enter('walk')
    const theirs = await enter('walk')
    const body = { scenarioId: 'walk', nodeId: 'a', handle: 'onShow' }
    expect((await mine.player.post(CROSS, { ...body, runId: theirs.runId })).body.error).toBe('run not found')
    await publish('short', scenario([popup('a')], [edge('start', 'onStart', 'a')]))
    const short = await enter('short')
    await short.cross('a', 'onComplete')
    const over = await short.cross('a', 'onComplete')
    expect([over.status, over.body.error]).toEqual([409, 'run not active'])
  })

  it('takes effect once when fifty arrive at once, and the others are 409', async () => {
    const { cross, player } = await enter('walk')
    await cross('a', 'onComplete')
    const answers = await Promise.all(times(50, () => cross('c', 'onComplete')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(49)
    expect(await holdings(player)).toEqual({ gold: '1' })
  })
})

describe('an idempotency key (contract 11)', () => {
  const prize = { id: 'prize', type: 'reward', data: { rewards: [gold(1)], repeat: 'always' } }
  const nodes = [popup('a'), prize, popup('end')]
  const edges = [
    edge('start', 'onStart', 'a'),
    edge('a', 'onClick', 'prize'),
    edge('a', 'onClick', 'a'),
    edge('a', 'onComplete', 'end'),
  ]

  it('gives a repeated crossing its first answer after the node was left, and is 422 for another handle', async () => {
    await publish('clicks', scenario(nodes, edges))
    const { player, runId, cross } = await enter('clicks')
    const leave = { scenarioId: 'clicks', nodeId: 'a', runId, handle: 'onComplete', idempotencyKey: 'leave' }
    const first = await player.post(CROSS, leave)
    expect(first.body.plan.entered).toEqual([enteredPopup('end')])
    expect((await player.post(CROSS, leave)).body).toEqual(first.body)
    expect((await cross('a', 'onComplete')).status).toBe(409)
    expect((await player.post(CROSS, { ...leave, handle: 'onClick' })).status).toBe(422)
  })

  it('gives repeated starts the first answer, also after the run has ended, and is 422 for another scenario', async () => {
    await publish('short', scenario([popup('a')], [edge('start', 'onStart', 'a')]))
    const player = await game.player()
    const start = { scenarioId: 'short', idempotencyKey: 'start' }
    const answers = await Promise.all(times(20, () => player.post(START, start)))
    const { body } = await player.post(START, start)
    for (const answer of answers) expect(answer.body).toEqual(body)
    expect(body.resumed).toBe(false)
    await player.post(CROSS, { scenarioId: 'short', nodeId: 'a', runId: body.runId, handle: 'onComplete' })
    expect((await player.post(START, start)).body).toEqual(body)
    const next = await player.post(START, { scenarioId: 'short' })
    expect(next.body.runId).not.toBe(body.runId)
    const other = await player.post(START, { ...start, scenarioId: 'clicks' })
    expect([other.status, other.body.error]).toEqual([422, 'idempotency key reused'])
  })
})

describe('reading a run', () => {
  it('answers with the active nodes and the last plan', async () => {
    const { cross, read, runId } = await enter('walk')
    const { plan } = (await cross('a', 'onComplete')).body
    const run = await read()
    expect(run).toEqual({
      runId,
      scenarioId: 'walk',
      status: 'active',
      active: [{ nodeId: 'pass', type: 'battle-pass', data: expect.anything() }, enteredPopup('c')],
      plan,
      cause: null,
    })
  })

  it('answers with the last plan that xp or a purchase caused', async () => {
    const { player, read, runId } = await enter('walk', { wallet: { gems: 950n } })
    const place = { scenarioId: 'walk', nodeId: 'pass', runId }
    const xp = await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 100, source: 'test' })
    expect((await read()).plan).toEqual(xp.body.plan)
    const premium = await player.post('/sdk/v1/battlepass/premium', place)
    expect((await read()).plan).toEqual(premium.body.plan)
    await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 1, source: 'test' })
    expect((await read()).plan).toEqual(premium.body.plan)
  })

  it('answers with the last plan that a claim caused', async () => {
    const levels = [
      { level: 1, xp: 0 },
      { level: 2, xp: 100 },
    ]
    const tiers = [1, 2].map((level) => ({ level, track: 'free', rewards: [gold(level)] }))
    const nodes: Json[] = [
      { id: 'pass', type: 'battle-pass', data: { levels, tiers } },
      { id: 'first', type: 'battle-pass-level', data: { levelNumber: 1, passNodeId: 'pass' } },
      reward('gift', gold(10)),
      popup('a'),
    ]
    const edges = [
      edge('start', 'onStart', 'pass'),
      edge('start', 'onStart', 'first'),
      edge('first', 'onComplete', 'gift'),
      edge('gift', 'onComplete', 'a'),
    ]
    await publish('claimed', scenario(nodes, edges))
    const { player, read, runId } = await enter('claimed')
    const claim = async (nodeId: string, level: number) =>
      (await player.post('/sdk/v1/battlepass/claim', { scenarioId: 'claimed', nodeId, runId, level, track: 'free' }))
        .body
    expect(await claim('first', 1)).toMatchObject({ success: true, granted: [goldReward(1), goldReward(10)] })
    const plan = {
      runId,
      status: 'active',
      crossed: [
        { nodeId: 'first', handle: 'onComplete' },
        { nodeId: 'gift', handle: 'onComplete' },
      ],
      entered: [enteredReward('gift', { currency: 'gold', amount: 10 }), enteredPopup('a')],
      granted: [goldReward(10)],
    }
    expect((await read()).plan).toEqual(plan)
    // A repeated claim and a refused one cross nothing.
    expect(await claim('pass', 1)).toMatchObject({ success: true, alreadyClaimed: true })
    expect(await claim('pass', 2)).toMatchObject({ success: false, error: 'level not reached' })
    expect((await read()).plan).toEqual(plan)
  })

  it('accepts the run id in upper case', async () => {
    const { player, runId } = await enter('walk')
    expect((await player.post(RUN, { runId: runId.toUpperCase() })).body.runId).toBe(runId)
  })

  it('shows active nodes as in the current version, without those that the version removed', async () => {
    await publish(
      'edited',
      scenario([popup('a'), popup('b')], [edge('start', 'onStart', 'a'), edge('start', 'onStart', 'b')]),
    )
    const { read, cross } = await enter('edited')
    const changed = { id: 'a', type: 'cutscene', data: { clip: 'new' } }
    await publish('edited', scenario([changed], [edge('start', 'onStart', 'a')]))
    expect((await read()).active).toEqual([{ nodeId: 'a', type: 'cutscene', data: { clip: 'new' } }])
    expect((await cross('b', 'onComplete')).body.error).toBe('node not found')
    expect((await cross('a', 'onComplete')).body.plan.status).toBe('completed')
  })
})

describe.each([
  ['REST', restOf],
  ['GraphQL', graphqlOf],
])('a start after an edit of the scenario, over %s (contract 12)', (name, surfaceOf) => {
  const step = (id: string): Json => scenario([popup(id)], [edge('start', 'onStart', id)])
  const runsOf = async ({ playerId }: TestPlayer, scenarioId: string) => {
    const { rows } = await game.app.pool.query(
      'SELECT status, cause, active FROM runs WHERE player_id = $1 AND scenario_id = $2 ORDER BY id',
      [playerId, scenarioId],
    )
    return rows
  }
  const cancelled = { status: 'cancelled', cause: 'definition changed', active: '[]' }

  it('cancels a run whose active nodes are all removed, and begins another', async () => {
    const scenarioId = `moved ${name}`
    await publish(scenarioId, step('old'))
    const { player, runId, started } = await enter(scenarioId)
    const surface = surfaceOf(player)
    await publish(scenarioId, step('new'))
    expect(await surface.start({ scenarioId })).toMatchObject({
      ok: { resumed: false, plan: { entered: [enteredStart, enteredPopup('new')] } },
    })
    expect(await surface.run({ runId })).toEqual({
      ok: plain({
        runId,
        scenarioId,
        status: 'cancelled',
        active: [],
        plan: started.plan,
        cause: 'definition changed',
      }),
    })
    expect(await runsOf(player, scenarioId)).toEqual([cancelled, { status: 'active', cause: null, active: '["new"]' }])
    const again = await surface.start({ scenarioId })
    expect(again).toMatchObject({ ok: { resumed: true } })

    const document = `query ($scenarioId: String!) { events(scenarioId: $scenarioId) { edges { node {
      type runId handle nodeId ... on RunCancelledEvent { cause } } } } }`
    const { data } = await player.graphql(document, { scenarioId })
    const ended = { type: 'RUN_CANCELLED', runId, handle: null, nodeId: null, cause: 'DEFINITION_CHANGED' }
    expect(data.events.edges.map(({ node }: { node: Json }) => node)).toMatchObject([
      { handle: 'onStart' },
      ended,
      { handle: 'onStart' },
    ])
  })

  it('forgets the stored answers about the cancelled run, so that an earlier key does not repeat its id', async () => {
    const [scenarioId, otherId] = [`keyed ${name}`, `other ${name}`]
    for (const id of [scenarioId, otherId]) await publish(id, step('old'))
    const surface = surfaceOf(await game.player())
    /** What a start answers: whether it resumes, and the node that the run has entered. */
    const start = async (idempotencyKey: string, id = scenarioId) => {
      const { ok } = (await surface.start({ scenarioId: id, idempotencyKey })) as {
        ok: { resumed: boolean; plan: { entered: { nodeId: string }[] } }
      }
      return [ok.resumed, ok.plan.entered.at(-1)?.nodeId]
    }
    const begunOld = [false, 'old']
    expect([await start('k1'), await start('k0', otherId)]).toEqual([begunOld, begunOld])
    await publish(scenarioId, step('new'))
    // The run is active until a start finds that nothing is left to do in it.
    expect(await start('k1')).toEqual(begunOld)
    expect(await start('k2')).toEqual([false, 'new'])
    expect(await start('k1')).toEqual([true, 'new'])
    expect(await start('k2')).toEqual([false, 'new'])
    expect(await start('k0', otherId)).toEqual(begunOld)
  })

  it('resumes a run that has an active node left, or none while the scenario has a pass', async () => {
    const scenarioId = `left ${name}`
    const both = [edge('start', 'onStart', 'a'), edge('start', 'onStart', 'b')]
    await publish(scenarioId, scenario([popup('a'), popup('b')], both))
    const { player, runId } = await enter(scenarioId)
    const surface = surfaceOf(player)
    await publish(scenarioId, { name: 'S', start: 'b', nodes: [popup('b')], edges: [] })
    expect(await surface.start({ scenarioId })).toMatchObject({ ok: { resumed: true } })
    expect((await player.post(START, { scenarioId })).body.runId).toBe(runId)

    const seasonId = `rests ${name}`
    const withPass = (...nodes: Json[]): Json => ({ name: 'S', start: 'a', nodes: [popup('a'), ...nodes], edges: [] })
    await publish(seasonId, withPass(passNode()))
    const resting = await enter(seasonId)
    expect((await resting.cross('a', 'onComplete')).body.plan.status).toBe('active')
    expect(await surfaceOf(resting.player).start({ scenarioId: seasonId })).toMatchObject({ ok: { resumed: true } })
    // Without the pass, nothing can happen in the run any more.
    await publish(seasonId, withPass())
    expect(await surfaceOf(resting.player).start({ scenarioId: seasonId })).toMatchObject({ ok: { resumed: false } })
    expect(await runsOf(resting.player, seasonId)).toMatchObject([cancelled, { status: 'active' }])
  })

  it('begins one new run for each of twenty players that start five times at once', async () => {
    const scenarioId = `crowd ${name}`
    await publish(scenarioId, step('old'))
    const players = await Promise.all(times(20, () => enter(scenarioId)))
    await publish(scenarioId, step('new'))
    const outcomes = await Promise.all(
      players.flatMap(({ player }) => times(5, () => surfaceOf(player).start({ scenarioId }))),
    )
    const begun = outcomes.filter((outcome) => 'ok' in outcome && !(outcome.ok as { resumed: boolean }).resumed)
    expect([outcomes.length, begun.length]).toEqual([100, 20])
    for (const { player } of players)
      expect(await runsOf(player, scenarioId)).toMatchObject([cancelled, { status: 'active', cause: null }])
  })

  it('changes nothing when its rewards would overflow', async () => {
    const scenarioId = `refused ${name}`
    await publish(scenarioId, step('old'))
    const { player } = await enter(scenarioId, { wallet: { gold: MAX_INT64 } })
    await publish(
      scenarioId,
      scenario(
        [reward('gift', gold(1)), popup('new')],
        [edge('start', 'onStart', 'gift'), edge('gift', 'onComplete', 'new')],
      ),
    )
    const before = await written(player)
    expect(await surfaceOf(player).start({ scenarioId })).toMatchObject({ code: 'BALANCE_LIMIT_EXCEEDED' })
    expect(await written(player)).toEqual(before)
  })
})

describe('reward nodes', () => {
  it('grant in chains, each with its ledger row and its event', async () => {
    const nodes = [popup('a'), reward('one', gold(1)), reward('two', item('hat'), gold(2)), popup('end')]
    const edges = [
      edge('start', 'onStart', 'a'),
      edge('a', 'onComplete', 'one'),
      edge('one', 'onComplete', 'two'),
      edge('two', 'onComplete', 'end'),
    ]
    await publish('chain', scenario(nodes, edges))
    const { cross, player, runId } = await enter('chain')
    expect((await cross('a', 'onComplete')).body.plan).toEqual({
      runId,
      status: 'active',
      crossed: ['a', 'one', 'two'].map((nodeId) => ({ nodeId, handle: 'onComplete' })),
      entered: [
        enteredReward('one', { currency: 'gold', amount: 1 }),
        enteredReward('two', { itemId: 'hat', amount: 1 }, { currency: 'gold', amount: 2 }),
        enteredPopup('end'),
      ],
      granted: [goldReward(1), itemReward('hat'), goldReward(2)],
    })
    expect(await holdings(player)).toEqual({ gold: '3', hat: '1' })
    const ledger = await game.app.pool.query(
      'SELECT amount::text, reason, reference FROM wallet_ledger WHERE player_id = $1 ORDER BY id',
      [player.playerId],
    )
    expect(ledger.rows).toEqual([
      { amount: '1', reason: 'reward_node', reference: `chain/one/${runId}` },
      { amount: '2', reason: 'reward_node', reference: `chain/two/${runId}` },
    ])
    await settled(game.app.pool)
    const events = await game.app.pool.query(
      "SELECT node_id, handle FROM events WHERE player_id = $1 AND type = 'crossing' ORDER BY position",
      [player.playerId],
    )
    expect(events.rows.map(({ node_id, handle }) => `${node_id} ${handle}`)).toEqual([
      'start onStart',
      'a onComplete',
      'one onComplete',
      'two onComplete',
    ])
  })

  it('are entered once per crossing when several paths lead to them', async () => {
    const nodes = [popup('a'), reward('left', gold(1)), reward('right', gold(10)), reward('end', gold(100))]
    const edges = [
      edge('start', 'onStart', 'a'),
      edge('a', 'onDone', 'left'),
      edge('a', 'onDone', 'right'),
      edge('left', 'onComplete', 'end'),
      edge('right', 'onComplete', 'end'),
    ]
    await publish('diamond', scenario(nodes, edges))
    const { cross, player } = await enter('diamond')
    const { plan } = (await cross('a', 'onDone')).body
    expect(plan.entered.map(({ nodeId }: { nodeId: string }) => nodeId)).toEqual(['left', 'right', 'end'])
    expect(await holdings(player)).toEqual({ gold: '111' })
    // Clients cross this handle, so these nodes pay once.
    expect((await cross('a', 'onDone')).body.plan).toMatchObject({ entered: plan.entered, granted: [] })
    expect(await holdings(player)).toEqual({ gold: '111' })
  })

  it('grant nothing when one node of a chain would overflow a balance', async () => {
    const nodes = [popup('a'), reward('one', gold(1)), reward('two', gold(1))]
    const edges = [edge('start', 'onStart', 'a'), edge('a', 'onComplete', 'one'), edge('one', 'onComplete', 'two')]
    await publish('brim', scenario(nodes, edges))
    const { cross, player } = await enter('brim', { wallet: { gold: MAX_INT64 - 1n } })
    const before = await written(player)
    const { status, body } = await cross('a', 'onComplete')
    expect([status, body.error]).toEqual([409, 'balance limit exceeded'])
    expect(await written(player)).toEqual(before)
  })
})

describe('completion of a run', () => {
  it('happens when the last active node completes, and shows in the plan and the run', async () => {
    const edges = [edge('start', 'onStart', 'a'), edge('start', 'onStart', 'b')]
    await publish('two', scenario([popup('a'), popup('b')], edges))
    const { cross, read } = await enter('two')
    expect((await cross('a', 'onComplete')).body.plan.status).toBe('active')
    expect((await cross('b', 'onComplete')).body.plan.status).toBe('completed')
    expect(await read()).toMatchObject({ status: 'completed', active: [] })
  })

  it('happens at the start of a scenario that has only a start node', async () => {
    await publish('nothing', scenario([], []))
    const { started } = await enter('nothing')
    expect(started.plan).toMatchObject({ status: 'completed', entered: [enteredStart] })
  })

  it('does not happen in a scenario with a pass, whose node stays active after onComplete (contract 6)', async () => {
    await publish('endless', season({ levels: [0], tiers: [{ level: 1, track: 'free', rewards: [gold(1)] }] }))
    const { player, runId, read } = await enter('endless')
    const place = { scenarioId: 'endless', nodeId: 'pass', runId }
    await player.post('/sdk/v1/battlepass/claim', { ...place, level: 1, track: 'free' })
    const run = await read()
    expect(run.plan.crossed).toEqual([{ nodeId: 'pass', handle: 'onComplete' }])
    expect(run).toMatchObject({ status: 'active', active: [{ nodeId: 'pass' }] })
    const xp = await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 1, source: 'after' })
    expect(xp.status).toBe(200)
  })
})

describe('publishing a scenario', () => {
  const place = (scenarioId: string, query = '?environment=production', projectId = game.projectId) =>
    `/platform/v1/projects/${projectId}/scenarios/${scenarioId}${query}`
  const headers = (key = game.platformKey) => ({ authorization: `Bearer ${key}` })
  const put = (path: string, definition: Json | string, key?: string) =>
    game.request('PUT', path, {
      body: typeof definition === 'string' ? definition : print(definition),
      headers: headers(key),
    })
  const get = (path: string, key?: string) => game.request('GET', path, { headers: headers(key) })

  it('answers with the published version, and a read answers the same', async () => {
    const sent = await put(place('plain'), season({ more: LIMITED }))
    expect([sent.status, sent.body]).toEqual([
      200,
      {
        scenarioId: 'plain',
        environment: 'production',
        version: 1,
        definition: JSON.parse(print(season({ more: LIMITED }))),
        publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ])
    expect((await get(place('plain'))).text).toBe(sent.text)
  })

  it('returns the definition byte for byte', async () => {
    const text =
      '{ "name":"Bytes",\n "start":"a", "extra": [1.0, 12345678901234567890, 1e3],"nodes":[{"id":"a","type":"x"}],"edges":[ ]}'
    const sent = await put(place('bytes'), text)
    expect(sent.text).toContain(`"definition":${text}`)
    expect((await get(place('bytes'))).text).toContain(`"definition":${text}`)
  })

  it('numbers versions, keeps old ones readable, and makes no new version of the current text', async () => {
    for (const amount of [1, 2, 3]) {
      const { body } = await put(place('versions'), scenario([reward('r', gold(amount))], []))
      expect(body.version).toBe(amount)
    }
    const current = await put(place('versions'), scenario([reward('r', gold(3))], []))
    expect(current.body.version).toBe(3)
    expect((await put(place('versions'), scenario([reward('r', gold(1))], []))).body.version).toBe(4)
    for (const version of [1, 2, 3, 4]) {
      const { status, body } = await get(place('versions', `?environment=production&version=${version}`))
      expect([status, body.version]).toEqual([200, version])
      expect(body.definition.nodes[1].data.rewards[0].amount).toBe(version === 4 ? 1 : version)
    }
    expect((await get(place('versions'))).body.version).toBe(4)
  })

  it('publishes in one environment only', async () => {
    await put(place('apart', '?environment=staging'), scenario([], []))
    expect((await get(place('apart'))).body.error).toBe('scenario not found')
    expect((await get(place('apart', '?environment=staging'))).body).toMatchObject({
      environment: 'staging',
      version: 1,
    })
  })

  it.each([
    ['empty', ''],
    ['not JSON', 'scenario'],
    ['a list', '[]'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['nested too deeply', `{"a":${'['.repeat(65)}${']'.repeat(65)}}`],
  ])('is 400 for a body that is %s', async (_, text) => {
    const { status, body } = await put(place('bad'), text)
    expect([status, body.error]).toEqual([400, 'invalid request'])
    expect(body.details).not.toEqual([])
  })

  it('is 404 in an unknown environment and 400 without a valid one', async () => {
    for (const query of ['?environment=nowhere', '?environment=Production', '?environment=production%20']) {
      for (const answer of [await get(place('plain', query)), await put(place('plain', query), season())])
        expect([answer.status, answer.body.error]).toEqual([404, 'environment not found'])
    }
    for (const query of ['', '?environment=', '?environment=%00', `?environment=${'x'.repeat(33)}`]) {
      for (const answer of [await get(place('plain', query)), await put(place('plain', query), season())]) {
        expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
        expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(['environment'])
      }
    }
  })

  it.each(['%00', 'x'.repeat(129)])('is 400 for an invalid scenario id: %s', async (scenarioId) => {
    for (const answer of [await get(place(scenarioId)), await put(place(scenarioId), season())]) {
      expect([answer.status, answer.body.details[0].path]).toEqual([400, 'scenarioId'])
    }
  })

  it('accepts a percent-encoded id, and decodes it', async () => {
    const sent = await put(place(encodeURIComponent('säson/1 %')), season({ more: LIMITED }))
    expect([sent.status, sent.body.scenarioId]).toEqual([200, 'säson/1 %'])
    expect((await get(place(encodeURIComponent('säson/1 %')))).text).toBe(sent.text)
  })

  it.each(['%E0%A4%A', '%ff', '..%2f..', '%'])('finds no scenario for an oddly encoded id: %s', async (scenarioId) => {
    expect((await get(place(scenarioId))).body.error).toBe('scenario not found')
  })

  it('refuses a publication with a version or another unknown parameter', async () => {
    const { status, body } = await put(place('refusing', '?environment=production&version=1&x=1'), scenario([], []))
    expect([status, body.details.map(({ path }: { path: string }) => path)]).toEqual([400, ['version', 'x']])
  })

  it('answers a read with 400 and every fault for an invalid version, and with 404 for an unknown one', async () => {
    const read = async (query: string) => {
      const { status, body } = await get(place('plain', query))
      return [status, body.details?.map(({ path }: { path: string }) => path).sort() ?? body.error]
    }
    for (const version of ['0', '-1', 'one', '1.0', '', '2147483648', '9'.repeat(30)])
      expect([version, await read(`?environment=production&version=${version}`)]).toEqual([version, [400, ['version']]])
    expect(await read('?version=one')).toEqual([400, ['environment', 'version']])
    for (const version of [999, 2 ** 31 - 1])
      expect(await read(`?environment=production&version=${version}`)).toEqual([404, 'not found'])
  })
})
