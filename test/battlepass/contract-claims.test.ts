import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import {
  CLAIM,
  CLAIMS_ONLY,
  claimRefused,
  enter,
  everything,
  FUTURE,
  game,
  handles,
  MAX_INT64,
  PAST,
  startPassGame,
  stopPassGame,
} from './pass-game.ts'

beforeAll(startPassGame)
afterAll(stopPassGame)

const goldReward = (amount: number) => ({ amount, currency: 'gold', itemId: null })
const itemReward = (itemId: string, amount = 1) => ({ amount, currency: null, itemId })

describe('a claim (contract 4.1: idempotent on the server)', () => {
  it('grants into wallet and inventory with a ledger row for each balance', async () => {
    await game.publish(
      'bundle',
      season({ tiers: [tier(1, 'free', [gold(5), item('hat', 2), gold(7), item('hat', 3)])] }),
    )
    const pass = await enter('bundle')
    const { status, body } = await pass.claim(1, 'free')
    const granted = [goldReward(5), itemReward('hat', 2), goldReward(7), itemReward('hat', 3)]
    expect([status, body]).toEqual([200, { success: true, alreadyClaimed: false, error: null, granted }])
    expect(await pass.holdings()).toEqual({ wallet: { gold: '12' }, items: { hat: '5' } })
    const cause = { currency: 'gold', reason: 'tier_claim', reference: 'bundle/pass/free/1' }
    expect(await pass.ledger()).toEqual([
      { ...cause, amount: '5', balance: '5' },
      { ...cause, amount: '7', balance: '12' },
    ])
  })

  it('is refused with the business errors in the documented order, and then writes nothing', async () => {
    const tiers = [1, 5].flatMap((level) => [tier(level, 'free'), tier(level, 'premium')])
    await game.publish('claim-order', season({ tiers }))
    const pass = await enter('claim-order')
    const refusal = async (level: number, track: string) => {
      const before = await everything(pass.player)
      const { status, body } = await pass.claim(level, track, { 'idempotency-key': 'again' })
      expect(status).toBe(200)
      expect(await everything(pass.player)).toEqual(before)
      return body
    }
    expect(await refusal(1, 'premium')).toEqual(claimRefused('premium required'))
    expect(await refusal(5, 'premium')).toEqual(claimRefused('level not reached'))
    await game.publish('claim-order', season({ tiers, more: PAST }))
    expect(await refusal(5, 'premium')).toEqual(claimRefused('season closed'))
    expect(await refusal(3, 'premium')).toEqual(claimRefused('tier not found'))
    expect(await refusal(0, 'free')).toEqual(claimRefused('tier not found'))
    expect(await refusal(2 ** 31 - 1, 'free')).toEqual(claimRefused('tier not found'))
  })

  it.each([
    ['before the season', FUTURE, 'season closed'],
    ['after endsAt, which claimUntil defaults to', PAST, 'season closed'],
    ['after claimUntil', { ...PAST, claimUntil: '2020-03-01T00:00:00Z' }, 'season closed'],
    ['between endsAt and claimUntil', CLAIMS_ONLY, null],
  ])('is open up to claimUntil: %s', async (name, more, error) => {
    const scenarioId = `claims ${name}`
    await game.publish(scenarioId, season({ more }))
    const pass = await enter(scenarioId)
    expect((await pass.claim(1, 'free')).body).toMatchObject({ success: error === null, error })
  })

  it('answers a repeat with the original grant, also after the definition changed and the season closed', async () => {
    await game.publish('history', season())
    const pass = await enter('history')
    await pass.xp(100)
    await pass.claim(2, 'free')
    const repeated = { success: true, alreadyClaimed: true, error: null, granted: [goldReward(20)] }
    const changes: Json[] = [
      season(),
      season({ tiers: [tier(2, 'free', [gold(9999)])] }),
      season({ levels: [0, 5000] }),
      season({ tiers: [] }),
      season({ more: PAST }),
      season({ levels: [0], tiers: [], more: FUTURE }),
    ]
    for (const definition of changes) {
      await game.publish('history', definition)
      expect((await pass.claim(2, 'free')).body).toEqual(repeated)
    }
    expect((await pass.holdings()).wallet).toEqual({ gold: '20' })
    expect(await pass.ledger()).toHaveLength(1)
  })

  it.each([
    ['a balance', [gold(1)], { wallet: { gold: MAX_INT64 } }],
    ['a balance, by two rewards together', [gold(MAX_INT64), gold(1)], {}],
    ['an item, by two rewards together', [item('hat', MAX_INT64), item('hat')], {}],
  ])('refuses rewards that overflow %s and writes nothing', async (name, rewards, options) => {
    const scenarioId = `full ${name}`
    await game.publish(scenarioId, season({ tiers: [tier(1, 'free', rewards)] }))
    const pass = await enter(scenarioId, options)
    const before = await everything(pass.player)
    expect((await pass.claim(1, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })

  it('refuses rewards that overflow the amount of an item, and reaches 2^63-1 exactly', async () => {
    const tiers = [
      tier(1, 'free', [item('hat', MAX_INT64 - 1n)]),
      tier(2, 'free', [item('hat', 2)]),
      tier(3, 'free', [item('hat')]),
    ]
    await game.publish('hats', season({ tiers }))
    const pass = await enter('hats')
    await pass.xp(400)
    expect((await pass.claim(1, 'free')).text).toContain('"amount":9223372036854775806,')
    expect((await pass.claim(2, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect((await pass.claim(3, 'free')).body.success).toBe(true)
    expect((await pass.holdings()).items).toEqual({ hat: MAX_INT64.toString() })
  })

  it('is refused when a reward node behind it overflows a balance, and writes nothing', async () => {
    const nodes = [
      passNode('pass', { levels: [0], tiers: [tier(1, 'free', [gold(1)])] }),
      { id: 'trophy', type: 'reward', data: { rewards: [gold(1)] } },
    ]
    await game.publish('room', scenario(nodes, [{ from: 'pass', handle: 'onComplete', to: 'trophy' }]))
    const pass = await enter('room', { wallet: { gold: MAX_INT64 - 1n } })
    const before = await everything(pass.player)
    expect((await pass.claim(1, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('onComplete of a pass (contract 6)', () => {
  const onComplete = { nodeId: 'pass', handle: 'onComplete', data: {} }

  it('is crossed once, when the last free tier is claimed at the top level, and not again with premium', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.xp(400)
    for (const level of [1, 2, 3, 4]) await pass.claim(level, 'free')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.claim(5, 'free')
    expect((await pass.crossings()).at(-1)).toEqual(onComplete)
    await pass.premium()
    for (const level of [1, 2, 3, 4, 5]) await pass.claim(level, 'premium')
    await pass.claim(5, 'free')
    await pass.xp(1)
    expect((await handles(pass.player)).filter((handle) => handle === 'pass onComplete')).toHaveLength(1)
  })

  it('waits for the premium tiers when premium is owned', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.premium()
    await pass.xp(400)
    for (const level of [1, 2, 3, 4, 5]) await pass.claim(level, 'free')
    for (const level of [1, 2, 3, 4]) await pass.claim(level, 'premium')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.claim(5, 'premium')
    expect((await pass.crossings()).at(-1)).toEqual(onComplete)
  })

  it('is crossed by the xp that reaches the top level when all tiers are claimed before', async () => {
    await game.publish('early', season({ tiers: [tier(1, 'free'), tier(2, 'free')] }))
    const pass = await enter('early')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await pass.claim(2, 'free')
    const { body } = await pass.xp(300)
    expect(body.plan.crossed.map(({ handle }: { handle: string }) => handle)).toEqual([
      'onLevelUp',
      'onMaxLevel',
      'onComplete',
    ])
  })

  it('is crossed at the new top level when the season is extended after the old one was reached', async () => {
    const tiers = [tier(1, 'free'), tier(2, 'free')]
    await game.publish('extended', season({ levels: [0, 100], tiers }))
    const pass = await enter('extended')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await game.publish('extended', season({ levels: [0, 100, 200], tiers }))
    await pass.claim(2, 'free')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.xp(100)
    expect(await handles(pass.player)).toEqual([
      'pass onLevelUp',
      'pass onMaxLevel',
      'pass onLevelUp',
      'pass onComplete',
    ])
  })

  it('is crossed by the next xp when an edit removes the last unclaimed tier', async () => {
    await game.publish('shortened', season({ levels: [0, 100], tiers: [tier(1, 'free'), tier(2, 'free')] }))
    const pass = await enter('shortened')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await game.publish('shortened', season({ levels: [0, 100], tiers: [tier(1, 'free')] }))
    await pass.xp(1)
    expect((await handles(pass.player)).at(-1)).toBe('pass onComplete')
  })
})

describe('a level node (contract 3: a claim is accepted once the level is reached)', () => {
  const levelNode = (id: string, levelNumber: Json, more: Record<string, Json> = {}): Json => ({
    id,
    type: 'battle-pass-level',
    data: { levelNumber, passNodeId: 'pass', ...more },
  })

  beforeAll(async () => {
    const nodes = [
      passNode(),
      levelNode('two', 2),
      levelNode('three', '3'),
      levelNode('four', 4, { rewards: { free: [item('banner')], premium: [gold(44)] } }),
      levelNode('half', 4, { rewards: { free: [item('banner')] } }),
      { id: 'party', type: 'popup', data: {} },
    ]
    const edges = [{ from: 'two', handle: 'onComplete', to: 'party' }]
    const { status } = await game.publish('levels', scenario(nodes, edges))
    expect(status).toBe(200)
  })

  it.each([
    ['two', 2],
    ['three', 3],
  ])('answers with the progress of its pass, and adds xp to it: %s', async (nodeId, level) => {
    const pass = await enter('levels')
    const node = pass.on(nodeId)
    expect((await node.claim(null, 'free')).body).toEqual(claimRefused('level not reached'))
    expect((await node.xp((level - 1) * 100)).body).toMatchObject({ level, leveledUp: true })
    expect(await node.progress()).toEqual(await pass.progress())
    expect((await node.claim(null, 'free')).body).toMatchObject({ success: true, granted: [goldReward(level * 10)] })
    expect(await pass.progress()).toMatchObject({ level, claimedTiers: [{ level, track: 'free' }] })
  })

  it.each([
    ['two', 1],
    ['two', 3],
    ['three', 2],
  ])('refuses another level than its own: %s, %i', async (nodeId, level) => {
    const { status, body } = await (await enter('levels')).on(nodeId).claim(level, 'free')
    expect([status, body.error]).toEqual([400, 'invalid request'])
    expect(body.details.map(({ path }: { path: string }) => path)).toEqual(['level'])
  })

  it('accepts its own level, null and no level', async () => {
    const pass = await enter('levels')
    await pass.xp(400)
    const { place, runId, player } = pass.on('two')
    const bodies = [{ level: 2 }, { level: null }, {}].map((more) => ({ ...place, runId, track: 'free', ...more }))
    for (const [index, body] of bodies.entries()) {
      const answer = await player.post(CLAIM, body)
      expect(answer.body).toMatchObject({ success: true, alreadyClaimed: index > 0, granted: [goldReward(20)] })
    }
  })

  it('differs from its pass, where a claim without a level is 400', async () => {
    const pass = await enter('levels')
    const { status, body } = await pass.claim(null, 'free')
    expect([status, body.details]).toEqual([400, [{ path: 'level', message: 'is required' }]])
  })

  it.each(['pass', 'half', 'four'])(
    'defines the rewards of its tier, also for claims on other nodes: %s',
    async (nodeId) => {
      const pass = await enter('levels', { wallet: { gems: 950n } })
      await pass.xp(400)
      await pass.premium()
      expect((await pass.on(nodeId).claim(4, 'free')).body.granted).toEqual([itemReward('banner')])
      expect((await pass.on(nodeId).claim(4, 'premium')).body.granted).toEqual([goldReward(44)])
      expect((await pass.on(nodeId).claim(3, 'free')).body).toMatchObject(
        nodeId === 'pass' ? { granted: [goldReward(30)] } : { error: 'invalid request' },
      )
    },
  )

  it('shares its claims with the pass in both directions', async () => {
    const pass = await enter('levels')
    await pass.xp(400)
    await pass.on('two').claim(2, 'free')
    expect((await pass.claim(2, 'free')).body).toMatchObject({ alreadyClaimed: true, granted: [goldReward(20)] })
    await pass.claim(4, 'free')
    expect((await pass.on('four').claim(4, 'free')).body).toMatchObject({
      alreadyClaimed: true,
      granted: [itemReward('banner')],
    })
    expect(await pass.holdings()).toEqual({ wallet: { gold: '20' }, items: { banner: '1' } })
  })

  it('crosses onComplete once, at its first successful claim, and enters the next node (contract 6)', async () => {
    const pass = await enter('levels', { wallet: { gems: 950n } })
    const node = pass.on('two')
    await node.claim(2, 'free')
    expect(await pass.crossings()).toEqual([])
    await pass.xp(100)
    await node.claim(2, 'free')
    await node.claim(2, 'free')
    await pass.premium()
    await node.claim(2, 'premium')
    const completed = (await pass.crossings()).filter(({ nodeId }) => nodeId === 'two')
    expect(completed).toEqual([{ nodeId: 'two', handle: 'onComplete', data: { level: 2, track: 'free' } }])
    const { body } = await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })
    expect(body.active.map(({ nodeId }: { nodeId: string }) => nodeId)).toContain('party')
  })

  it('crosses onComplete also when the tier was claimed on the pass before', async () => {
    const pass = await enter('levels')
    await pass.xp(100)
    await pass.claim(2, 'free')
    expect(await handles(pass.player)).toEqual(['pass onLevelUp'])
    expect((await pass.on('two').claim(2, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
    expect(await handles(pass.player)).toEqual(['pass onLevelUp', 'two onComplete'])
  })

  it('refuses a track that neither its pass nor a level node has', async () => {
    const nodes = [passNode('pass', { tiers: [tier(1, 'free')] }), levelNode('own', 1), levelNode('again', '1')]
    await game.publish('sparse', scenario(nodes, []))
    const pass = await enter('sparse', { nodeId: 'own' })
    expect((await pass.claim(1, 'premium')).body).toEqual(claimRefused('tier not found'))
    expect((await pass.on('again').claim(1, 'premium')).body).toEqual(claimRefused('tier not found'))
    expect((await pass.claim(1, 'free')).body.success).toBe(true)
    expect((await pass.on('pass').claim(1, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
  })

  it('adds a tier that the pass does not list; claim, claimAll and onComplete count it (contract 12)', async () => {
    const nodes = [
      passNode('pass', { levels: [0, 100], tiers: [tier(2, 'free')] }),
      levelNode('one', 1, { rewards: { free: [gold(1)], premium: [gold(2)] } }),
      levelNode('gift', 2, { rewards: { premium: [] } }),
    ]
    await game.publish('union', scenario(nodes, []))
    const pass = await enter('union', { wallet: { gems: 950n } })
    await pass.xp(100)
    expect((await pass.claim(1, 'premium')).body).toEqual(claimRefused('premium required'))
    expect((await pass.claim(2, 'free')).body.success).toBe(true)
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    expect((await pass.claim(1, 'free')).body).toMatchObject({ success: true, granted: [goldReward(1)] })
    expect((await handles(pass.player)).at(-1)).toBe('pass onComplete')

    const other = await enter('union', { wallet: { gems: 950n } })
    await other.xp(100)
    await other.premium()
    const { data } = await other.player.graphql(
      `mutation ($input: ClaimAllInput!) {
        claimAll(input: $input) { claimed { level track granted { currency amount } } error }
      }`,
      { input: { ...other.place, runId: other.runId } },
    )
    const granted = (amount: number) => [{ currency: 'gold', amount: String(amount) }]
    expect(data.claimAll).toEqual({
      claimed: [
        { level: 1, track: 'FREE', granted: granted(1) },
        { level: 1, track: 'PREMIUM', granted: granted(2) },
        { level: 2, track: 'FREE', granted: granted(20) },
        { level: 2, track: 'PREMIUM', granted: [] },
      ],
      error: null,
    })
    expect((await handles(other.player)).at(-1)).toBe('pass onComplete')
  })
})

describe('an edit of the definition (contract 2.1: state is per node)', () => {
  it('raises the level with lower thresholds, and the next xp crosses the gained levels once', async () => {
    await game.publish('easier', season())
    const pass = await enter('easier')
    await pass.xp(100)
    await game.publish('easier', season({ levels: [0, 10, 20, 30, 1000] }))
    expect(await pass.progress()).toMatchObject({ level: 4, xp: 100 })
    expect((await pass.claim(4, 'free')).body.success).toBe(true)
    expect((await pass.xp(1)).body).toMatchObject({ level: 4, leveledUp: true })
    expect((await pass.xp(1)).body).toMatchObject({ level: 4, leveledUp: false, plan: null })
    const levels = (await pass.crossings()).map(({ data }) => [data.fromLevel, data.toLevel])
    expect(levels).toEqual([
      [1, 2],
      [2, 4],
    ])
  })

  it('lowers the level with higher thresholds, keeps claimed tiers, and crosses no level a second time', async () => {
    await game.publish('harder', season())
    const pass = await enter('harder')
    await pass.xp(300)
    await pass.claim(3, 'free')
    await game.publish('harder', season({ levels: [0, 1000, 2000, 3000, 4000] }))
    expect(await pass.progress()).toEqual({
      level: 1,
      xp: 300,
      premiumOwned: false,
      claimedTiers: [{ level: 3, track: 'free' }],
    })
    expect((await pass.claim(2, 'free')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.claim(3, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
    expect((await pass.xp(2000)).body).toEqual({ level: 3, xp: 2300, leveledUp: false, maxLevel: false, plan: null })
    expect((await pass.xp(1700)).body).toMatchObject({ level: 5, leveledUp: true, maxLevel: true })
    const levels = (await pass.crossings()).filter(({ handle }) => handle === 'onLevelUp')
    expect(levels.map(({ data }) => [data.fromLevel, data.toLevel])).toEqual([
      [1, 4],
      [4, 5],
    ])
  })

  it('that moves the top level does not cross onMaxLevel a second time', async () => {
    await game.publish('taller', season({ levels: [0, 100] }))
    const pass = await enter('taller')
    await pass.xp(100)
    await game.publish('taller', season({ levels: [0, 100, 200] }))
    expect((await pass.xp(1)).body).toMatchObject({ level: 2, maxLevel: false })
    expect((await pass.xp(99)).body).toMatchObject({ level: 3, maxLevel: true, leveledUp: true })
    expect((await handles(pass.player)).filter((handle) => handle === 'pass onMaxLevel')).toHaveLength(1)
  })

  it('changes the price and rewards from the next call on', async () => {
    await game.publish('sale', season({ price: null, tiers: [tier(1, 'free')] }))
    const pass = await enter('sale', { wallet: { gold: 5n } })
    expect((await pass.premium()).body.error).toBe('premium not available')
    const tiers = [tier(1, 'free', [gold(77)])]
    await game.publish('sale', season({ price: { currency: 'gold', amount: 5 }, tiers }))
    expect((await pass.premium()).body.success).toBe(true)
    expect((await pass.claim(1, 'free')).body.granted).toEqual([goldReward(77)])
  })
})
