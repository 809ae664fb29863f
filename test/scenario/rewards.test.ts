import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { auditBooks } from '../harness/audit.ts'
import { gold, LIMITED, passNode, scenario } from '../harness/definitions.ts'
import {
  type Game,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { graphqlOf, restOf, type Surface } from '../harness/surfaces.ts'
import { auditRows, codeOf, newOperator, type Operator, payload, support } from '../support/desk.ts'

// How often a reward node pays: players cannot make it pay at will (contract 12).

let game: Game
/** A second instance on the same database. */
let other: Instance
let operator: Operator

beforeAll(async () => {
  const shared = await generateKeys()
  game = await startGame(shared)
  other = await startInstance(game.databaseUrl, shared)
  operator = await newOperator(game.app.pool, game.projectId)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await other.stop()
  await game.stop()
})

const edge = (from: string, handle: string, to: string): Json => ({ from, handle, to })
const popup = (id: string): Json => ({ id, type: 'popup' })
const reward = (id: string, amount: number, repeat?: string): Json => ({
  id,
  type: 'reward',
  data: { rewards: [gold(amount)], ...(repeat !== undefined && { repeat }) },
})
const START = edge('start', 'onStart', 'a')

async function publish(scenarioId: string, nodes: readonly Json[], edges: readonly Json[]): Promise<void> {
  const { status, text } = await game.publish(scenarioId, scenario(nodes, edges))
  expect(status, text).toBe(200)
}

async function goldOf({ playerId }: TestPlayer): Promise<number> {
  const { rows } = await game.app.pool.query('SELECT balance FROM wallets WHERE player_id = $1', [playerId])
  return Number(rows[0]?.balance ?? 0)
}

/** Ends the player's run as support does, so that the next start begins a new one. */
async function endRun({ playerId }: TestPlayer, runId: string): Promise<void> {
  payload(await support(game, operator.key, 'cancelRun', { playerId, runId, reason: 'test' }))
}

const surfaces: Readonly<Record<string, (player: TestPlayer) => Surface>> = { REST: restOf, GraphQL: graphqlOf }

describe.each(Object.entries(surfaces))(
  'a reward node that a client can reach by itself, over %s',
  (name, surfaceOf) => {
    const clicks = `clicks ${name}`
    const nodes = (repeat?: string) => [popup('a'), reward('prize', 5, repeat), popup('next')]
    const edges = [START, edge('a', 'onClick', 'prize'), edge('prize', 'onComplete', 'next')]

    async function click(player: TestPlayer, runId: string, scenarioId = clicks) {
      const outcome = await surfaceOf(player).cross({ scenarioId, runId, nodeId: 'a', handle: 'onClick' })
      return 'ok' in outcome
        ? (outcome.ok as { plan: { granted: Json[]; entered: { nodeId: string }[] } }).plan
        : outcome
    }

    it('pays once when its handle is crossed three times, and leads on each time', async () => {
      await publish(clicks, nodes(), edges)
      const player = await game.player()
      const runId = await player.start(clicks)
      const granted = []
      for (const _ of times(3, String)) {
        const plan = await click(player, runId)
        expect(plan).toMatchObject({ entered: [{ nodeId: 'prize' }, { nodeId: 'next' }] })
        granted.push('granted' in plan ? plan.granted.length : -1)
      }
      expect([granted, await goldOf(player)]).toEqual([[1, 0, 0], 5])
      await settled(game.app.pool)
      const { rows } = await game.app.pool.query(
        `SELECT data FROM events WHERE player_id = $1 AND node_id = 'prize' ORDER BY position`,
        [player.playerId],
      )
      expect(rows.map(({ data }) => JSON.parse(data).granted.length)).toEqual([1, 0, 0])
    })

    it('pays once over all runs and versions', async () => {
      await publish(clicks, nodes(), edges)
      const player = await game.player()
      for (const amount of [5, 7, 9]) {
        await publish(clicks, [popup('a'), reward('prize', amount), popup('next')], edges)
        const runId = await player.start(clicks)
        await click(player, runId)
        await endRun(player, runId)
      }
      expect(await goldOf(player)).toBe(5)
    })

    it.each([
      ['never', 5],
      ['run', 10],
      ['always', 30],
    ])('pays as data.repeat says: %s', async (repeat, expected) => {
      const scenarioId = `${clicks} ${repeat}`
      await publish(scenarioId, nodes(repeat), edges)
      const player = await game.player()
      for (const _ of times(2, String)) {
        const runId = await player.start(scenarioId)
        for (const __ of times(3, String)) await click(player, runId, scenarioId)
        await endRun(player, runId)
      }
      expect(await goldOf(player)).toBe(expected)
    })

    it('pays once when two hundred crossings race', async () => {
      const scenarioId = `${clicks} race`
      await publish(scenarioId, nodes(), edges)
      const player = await game.player()
      const runId = await player.start(scenarioId)
      const plans = await Promise.all(times(200, () => click(player, runId, scenarioId)))
      expect(plans.filter((plan) => 'granted' in plan && plan.granted.length > 0)).toHaveLength(1)
      expect(await goldOf(player)).toBe(5)
    })
  },
)

describe('a reward node', () => {
  it('pays once over all starts, also as the start node and behind another reward node', async () => {
    await publish(
      'gift',
      [reward('gift', 3), reward('more', 4)],
      [edge('start', 'onStart', 'gift'), edge('gift', 'onComplete', 'more')],
    )
    const atOnce = { name: 'At once', start: 'gift', nodes: [reward('gift', 10)], edges: [] }
    expect((await game.publish('at-once', atOnce)).status).toBe(200)
    const player = await game.player()
    for (const _ of times(3, String)) for (const scenarioId of ['gift', 'at-once']) await player.start(scenarioId)
    expect(await goldOf(player)).toBe(17)
    // Each start was a new run.
    const { rows } = await game.app.pool.query('SELECT count(*)::int FROM runs WHERE player_id = $1', [player.playerId])
    expect(rows[0].count).toBe(6)
  })

  it('pays once when twenty starts race on two instances, in one run and in twenty', async () => {
    const gift = [reward('gift', 3), popup('a')]
    await publish('stays', gift, [edge('start', 'onStart', 'gift'), START])
    await publish('ends', [reward('gift', 4)], [edge('start', 'onStart', 'gift')])
    const player = await game.player()
    const start = async (baseUrl: string, scenarioId: string) => {
      const headers = { authorization: `Bearer ${player.token}` }
      const body = JSON.stringify({ scenarioId })
      const response = await fetch(`${baseUrl}/sdk/v1/scenarios/start`, { method: 'POST', headers, body })
      expect(response.status).toBe(200)
      return (await response.json()) as { runId: string; resumed: boolean; plan: { granted: Json[] } }
    }
    for (const [scenarioId, runs] of [
      ['stays', 1],
      // Each run ends at once.
      ['ends', 20],
    ] as const) {
      const begun = await Promise.all(times(20, (index) => start((index % 2 === 0 ? game : other).baseUrl, scenarioId)))
      const paid = begun.filter(({ resumed, plan }) => !resumed && plan.granted.length > 0)
      expect([new Set(begun.map(({ runId }) => runId)).size, paid.length]).toEqual([runs, 1])
    }
    expect(await goldOf(player)).toBe(7)
  })

  it('pays each time when only handles of the service lead to it', async () => {
    const levels = times(6, (index) => index * 100)
    await publish(
      'climb',
      [passNode('a', { levels, tiers: [] }), reward('bonus', 2)],
      [START, edge('a', 'onLevelUp', 'bonus')],
    )
    const player = await game.player()
    const runId = await player.start('climb')
    for (const _ of times(3, String)) {
      const { body } = await player.post('/sdk/v1/battlepass/xp', {
        scenarioId: 'climb',
        nodeId: 'a',
        runId,
        amount: 100,
      })
      expect(body.plan.granted).toEqual([{ amount: 2, currency: 'gold', itemId: null }])
    }
    expect(await goldOf(player)).toBe(6)
  })

  it('pays once when handles of a client and of the service lead to it', async () => {
    const levels = times(4, (index) => index * 100)
    await publish(
      'both',
      [passNode('a', { levels, tiers: [] }), popup('b'), reward('bonus', 2)],
      [START, edge('start', 'onStart', 'b'), edge('a', 'onLevelUp', 'bonus'), edge('b', 'onClick', 'bonus')],
    )
    const player = await game.player()
    const runId = await player.start('both')
    const xp = () => player.post('/sdk/v1/battlepass/xp', { scenarioId: 'both', nodeId: 'a', runId, amount: 100 })
    const cross = () =>
      player.post('/sdk/v1/scenarios/cross', { scenarioId: 'both', nodeId: 'b', runId, handle: 'onClick' })
    const grants = []
    for (const call of [xp, cross, xp, cross]) grants.push((await call()).body.plan.granted.length)
    expect([grants, await goldOf(player)]).toEqual([[1, 0, 0, 0], 2])
  })

  it('pays once when one call leads to it twice', async () => {
    await publish(
      'twice',
      [passNode('a', { levels: [0, 100], tiers: [] }), reward('bonus', 2, 'run')],
      [START, edge('a', 'onLevelUp', 'bonus'), edge('a', 'onMaxLevel', 'bonus')],
    )
    const player = await game.player()
    const runId = await player.start('twice')
    const { body } = await player.post('/sdk/v1/battlepass/xp', {
      scenarioId: 'twice',
      nodeId: 'a',
      runId,
      amount: 100,
    })
    expect([body.plan.granted.length, await goldOf(player)]).toEqual([1, 2])
  })

  it('has its repeat rule in a notice of validateScenario, and stays valid', async () => {
    const nodes = [
      passNode('a', { tiers: [], more: LIMITED }),
      popup('b'),
      reward('started', 1),
      reward('behind', 1),
      reward('clicked', 1),
      reward('levelled', 1),
      reward('said', 1, 'run'),
    ]
    const edges = [
      START,
      edge('start', 'onStart', 'b'),
      edge('start', 'onStart', 'started'),
      edge('started', 'onComplete', 'behind'),
      edge('b', 'onClick', 'clicked'),
      edge('b', 'onClick', 'said'),
      edge('a', 'onLevelUp', 'levelled'),
    ]
    const { data } = await game.graphql(
      operator.key,
      `query ($input: ValidateScenarioInput!) { validateScenario(input: $input) { valid faults { path } notices { path message } } }`,
      { input: { environment: 'production', definition: print(scenario(nodes, edges)) } },
    )
    const once = 'pays each player once, over all runs and versions; clients can reach it by themselves'
    expect(data.validateScenario).toEqual({
      valid: true,
      faults: [],
      notices: [
        { path: 'nodes[3]', message: once },
        { path: 'nodes[4]', message: once },
        { path: 'nodes[5]', message: once },
        { path: 'nodes[6]', message: 'pays each time that it is entered; only the service leads to it' },
        {
          path: 'nodes[7]',
          message: 'pays once in each run, as data.repeat says; clients can reach it by themselves',
        },
      ],
    })
  })

  it('is a fault when data.repeat is an unknown word', () => {
    const parsed = parseDefinition(print(scenario([reward('r', 1, 'sometimes')], [])))
    expect(parsed).toEqual({
      ok: false,
      faults: [{ path: 'nodes[1].data.repeat', message: 'must be one of never, run, always' }],
    })
  })
})

describe('resetReward', () => {
  const nodes = [popup('a'), reward('prize', 5), reward('daily', 1, 'run')]
  const edges = [START, edge('a', 'onClick', 'prize'), edge('a', 'onClick', 'daily')]

  it('lets a node pay the player again, and is in the audit log', async () => {
    await publish('reset', nodes, edges)
    const player = await game.player()
    const other = await game.player()
    const cross = async (who: TestPlayer) => {
      const runId = await who.start('reset')
      return who.post('/sdk/v1/scenarios/cross', { scenarioId: 'reset', nodeId: 'a', runId, handle: 'onClick' })
    }
    for (const who of [player, other, player, other]) await cross(who)
    const input = { playerId: player.playerId, scenarioId: 'reset', nodeId: 'prize', reason: 'a bug ate it' }
    expect(payload(await support(game, operator.key, 'resetReward', input)).changed).toBe(true)
    expect(payload(await support(game, operator.key, 'resetReward', input)).changed).toBe(false)
    for (const who of [player, other, player, other]) await cross(who)
    expect([await goldOf(player), await goldOf(other)]).toEqual([11, 6])
    const daily = { ...input, nodeId: 'daily' }
    expect(payload(await support(game, operator.key, 'resetReward', daily)).changed).toBe(true)
    await cross(player)
    expect(await goldOf(player)).toBe(12)
    const rows = await auditRows(game.app.pool, game.projectId, player.playerId)
    const at = { scenarioId: 'reset', nodeId: 'prize' }
    expect(rows.filter(({ action }) => action === 'player.reset_reward').slice(0, 2)).toMatchObject([
      { before: { ...at, payments: 1 }, after: { ...at, payments: 0 }, reason: 'a bug ate it', actor: operator.actor },
      { before: { ...at, payments: 0 }, after: { ...at, payments: 0 } },
    ])
  })

  it('refuses an unknown scenario, an unknown node and a node that is not a reward node', async () => {
    await publish('reset', nodes, edges)
    const { playerId } = await game.player()
    for (const [at, code] of [
      [{ scenarioId: 'none', nodeId: 'prize' }, 'SCENARIO_NOT_FOUND'],
      [{ scenarioId: 'reset', nodeId: 'none' }, 'NODE_NOT_FOUND'],
      [{ scenarioId: 'reset', nodeId: 'a' }, 'NODE_NOT_FOUND'],
    ] as const) {
      expect(codeOf(await support(game, operator.key, 'resetReward', { playerId, ...at, reason: 'test' }))).toBe(code)
    }
  })
})
