import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { Desk } from '../grants/jobs.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { claimRefused, enter, game, handles, MAX_INT64, startPassGame, stopPassGame } from './pass-game.ts'

// Passes that claim tiers for their players (`autoClaim`).

const ALWAYS = { autoClaim: 'always' }
/** A reward in an answer. */
const given = (reward: Json) => ({ currency: null, itemId: null, ...(reward as object) })

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
async function begin(more: object = ALWAYS, options: Parameters<typeof season>[0] = {}, wallet = { gems: 950n }) {
  count += 1
  const id = `auto-${count}`
  const { status, text } = await game.publish(id, season({ ...options, more: more as never }))
  expect(status, text).toBe(200)
  return enter(id, { wallet })
}
type Pass = Awaited<ReturnType<typeof begin>>

async function claimed({ player }: Pass): Promise<string[]> {
  const { rows } = await game.app.pool.query(
    `SELECT level || ' ' || track AS tier FROM tier_claims WHERE player_id = $1 ORDER BY level, track`,
    [player.playerId],
  )
  return rows.map(({ tier }) => tier)
}

describe('a pass that claims for its players', () => {
  it('claims the tiers that xp reaches, and answers the xp as any pass', async () => {
    const pass = await begin()
    const { status, body } = await pass.xp(250)
    expect([status, body]).toMatchObject([200, { level: 3, xp: 250, leveledUp: true, maxLevel: false }])
    expect(await claimed(pass)).toEqual(['1 free', '2 free', '3 free'])
    expect((await pass.holdings()).wallet.gold).toBe('60')
    expect(await pass.ledger()).toMatchObject([
      { amount: '10', reason: 'tier_claim', reference: expect.stringMatching(/pass\/free\/1$/) },
      { amount: '20', reason: 'tier_claim' },
      { amount: '30', reason: 'tier_claim' },
    ])
    await pass.xp(10)
    expect((await pass.holdings()).wallet.gold).toBe('60')
    // A claim of the player answers what was granted.
    expect((await pass.claim(3, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
  })

  it('does so with xp of servers and operators', async () => {
    const pass = await begin()
    const { scenarioId, nodeId } = pass.place
    const input = { scenarioId, nodeId, runId: pass.runId, source: 'match' }
    await game.app.service.run(addXp(pass.player, { ...input, amount: 100n }, { origin: 'server' }))
    const { data, errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: GrantXpInput!) { grantXp(input: $input) { result { level } walletEntries { amount cause } } }',
      {
        input: {
          ...{ playerId: pass.player.playerId, scenarioId, nodeId, amount: '100', source: 'gift' },
          ...{ idempotencyKey: 'one', reason: 'test' },
        },
      },
    )
    expect(errors).toBeUndefined()
    expect(data.grantXp).toEqual({ result: { level: 3 }, walletEntries: [{ amount: '30', cause: 'TIER_CLAIM' }] })
    expect(await claimed(pass)).toEqual(['1 free', '2 free', '3 free'])
  })

  it('claims past premium tiers with the purchase, and later ones with xp', async () => {
    const pass = await begin()
    await pass.xp(150)
    await pass.premium()
    expect(await claimed(pass)).toEqual(['1 free', '1 premium', '2 free', '2 premium'])
    await pass.xp(50)
    expect((await claimed(pass)).slice(4)).toEqual(['3 free', '3 premium'])
  })

  it.each([
    [
      'support',
      (playerId: string, place: object) =>
        game.graphql(
          game.platformKey,
          'mutation ($input: GrantPremiumInput!) { grantPremium(input: $input) { changed } }',
          {
            input: { ...place, playerId, reason: 'test' },
          },
        ),
    ],
    [
      'a grant job',
      (playerId: string, premium: object) => new Desk(game).give({ to: { playerIds: [playerId] }, give: { premium } }),
    ],
  ])('claims past premium tiers when %s gives premium, once', async (_, give) => {
    const pass = await begin()
    await pass.xp(150)
    for (const _again of [1, 2]) await give(pass.player.playerId, pass.place)
    expect(await claimed(pass)).toEqual(['1 free', '1 premium', '2 free', '2 premium'])
    const { data } = await pass.player.graphql('{ events(types: [TIERS_CLAIMED], first: 9) { nodes { data } } }')
    const tiers = data.events.nodes.map(({ data }: { data: { claimed: { level: number }[] } }) => data.claimed.length)
    expect(tiers).toEqual([2, 2])
  })

  it('completes the level nodes of claimed tiers, also those that are entered later', async () => {
    const levelNode = (levelNumber: number) => {
      return { id: `level-${levelNumber}`, type: 'battle-pass-level', data: { passNodeId: 'pass', levelNumber } }
    }
    const nodes = [
      passNode('pass', { levels: [0, 100, 200], tiers: times(3, (n) => tier(n + 1, 'free')), more: ALWAYS }),
      ...[levelNode(2), levelNode(1), levelNode(3)],
      { id: 'cup', type: 'reward', data: { rewards: [item('cup')] } },
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'pass', handle: 'onLevelUp', to: 'level-2' },
      { from: 'level-2', handle: 'onComplete', to: 'level-1' },
      { from: 'level-1', handle: 'onComplete', to: 'cup' },
      { from: 'cup', handle: 'onComplete', to: 'level-3' },
    ]
    const { status, text } = await game.publish('auto-levels', scenario(nodes, edges))
    expect(status, text).toBe(200)
    const pass = await enter('auto-levels')
    const { plan } = (await pass.xp(100)).body
    expect(plan).toMatchObject({
      crossed: [
        { nodeId: 'pass', handle: 'onLevelUp' },
        { nodeId: 'level-2', handle: 'onComplete' },
        { nodeId: 'level-1', handle: 'onComplete' },
        { nodeId: 'cup', handle: 'onComplete' },
      ],
      granted: [given(gold(10)), given(gold(20)), given(item('cup'))],
    })
    const run = async () => (await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })).body
    expect((await run()).active.map(({ nodeId }: { nodeId: string }) => nodeId)).toEqual(['pass', 'level-3'])
    await pass.xp(10)
    expect(await pass.holdings()).toEqual({ wallet: { gold: '30' }, items: { cup: '1' } })
  })

  it('repeats nothing with a repeated key, nor with calls at once', async () => {
    const pass = await begin()
    const headers = { 'idempotency-key': 'once' }
    const key = { ...pass.place, runId: pass.runId, amount: 150, source: 'test', idempotencyKey: 'once' }
    const answers = await Promise.all(times(8, () => pass.player.post('/sdk/v1/battlepass/xp', key, headers)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    await Promise.all(times(20, () => pass.xp(10)))
    expect(await claimed(pass)).toEqual(['1 free', '2 free', '3 free', '4 free'])
    expect((await pass.holdings()).wallet.gold).toBe('100')
  })

  it('leaves a tier that a balance cannot take, and counts the xp', async () => {
    const tiers = [tier(1, 'free', [gold(5)]), tier(2, 'free', [item('hat')])]
    const pass = await begin(ALWAYS, { levels: [0, 100], tiers }, { gems: 950n, gold: MAX_INT64 } as never)
    expect((await pass.xp(100)).body).toMatchObject({ level: 2, xp: 100 })
    expect(await claimed(pass)).toEqual(['2 free'])
    expect((await pass.claim(1, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
  })

  it('completes with the last tier, and pays what this leads to once', async () => {
    const nodes = [
      passNode('pass', { levels: [0, 100], tiers: [tier(1, 'free'), tier(2, 'free')], more: ALWAYS }),
      { id: 'cup', type: 'reward', data: { rewards: [item('cup')] } },
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'pass', handle: 'onComplete', to: 'cup' },
    ]
    await game.publish('auto-whole', scenario(nodes, edges))
    const pass = await enter('auto-whole')
    const cup = { nodeId: 'cup', type: 'reward', data: { rewards: [item('cup')] } }
    const plan = {
      ...{ runId: pass.runId, status: 'active' },
      crossed: [
        { nodeId: 'pass', handle: 'onLevelUp' },
        { nodeId: 'pass', handle: 'onMaxLevel' },
        { nodeId: 'pass', handle: 'onComplete' },
        { nodeId: 'cup', handle: 'onComplete' },
      ],
      entered: [cup],
      granted: [given(gold(10)), given(gold(20)), given(item('cup'))],
    }
    expect((await pass.xp(100)).body).toEqual({ level: 2, xp: 100, leveledUp: true, maxLevel: true, plan })
    expect((await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })).body.plan).toEqual(plan)
    expect((await pass.xp(100)).body.plan).toBeNull()
    expect(await pass.holdings()).toEqual({ wallet: { gold: '30' }, items: { cup: '1' } })
    expect(await handles(pass.player)).toEqual(plan.crossed.map(({ nodeId, handle }) => `${nodeId} ${handle}`))
  })

  it('reports its claims in the plan of xp of servers and of a purchase, over GraphQL, and in one event a call', async () => {
    const nodes = [
      passNode('pass', {
        levels: [0, 100],
        tiers: [tier(1, 'free'), tier(2, 'premium', [item('crown')])],
        more: ALWAYS,
      }),
      { id: 'cup', type: 'reward', data: { rewards: [item('cup')] } },
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'pass', handle: 'onComplete', to: 'cup' },
    ]
    expect((await game.publish('auto-reports', scenario(nodes, edges))).status).toBe(200)
    const [one, two] = [await enter('auto-reports'), await enter('auto-reports', { wallet: { gems: 950n } })]

    const { key } = await createServerKey(game.app.pool, game.environmentId)
    const grants = [one, two].map(({ player: { playerId }, place }) => {
      return { player: { playerId }, ...place, amount: 50, source: 'match' }
    })
    const { results } = await fetch(`${game.baseUrl}/server/v1/battlepass/xp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ grants, idempotencyKey: 'match' }),
    }).then((answer) => answer.json() as never)
    // The xp itself crosses nothing.
    expect(results).toMatchObject(
      [one, two].map(({ runId }) => {
        return { plan: { runId, status: 'active', crossed: [], entered: [], granted: [given(gold(10))] } }
      }),
    )

    const { data } = await one.player.graphql(
      `mutation ($input: AddXpInput!) { addXp(input: $input) { plan {
         crossed { nodeId handle } entered { nodeId } granted { amount currency itemId } } } }`,
      { input: { ...one.place, runId: one.runId, amount: '50', source: 'match' } },
    )
    const completed = [
      { nodeId: 'pass', handle: 'onComplete' },
      { nodeId: 'cup', handle: 'onComplete' },
    ]
    expect(data.addXp.plan).toEqual({
      crossed: ['onLevelUp', 'onMaxLevel'].map((handle) => ({ nodeId: 'pass', handle })).concat(completed),
      entered: [{ nodeId: 'cup' }],
      granted: [{ amount: '1', currency: null, itemId: 'cup' }],
    })

    // Every tier that is open without premium is claimed, so the xp itself completes the pass.
    expect((await two.xp(50)).body.plan).toMatchObject({ granted: [given(item('cup'))] })
    const bought = await two.premium('buy')
    expect(bought.body).toEqual({
      success: true,
      error: null,
      plan: {
        ...{ runId: two.runId, status: 'active' },
        crossed: [{ nodeId: 'pass', handle: 'onPremiumPurchase' }],
        entered: [],
        granted: [given(item('crown'))],
      },
    })
    expect((await two.premium('buy')).text).toBe(bought.text)

    const { data: told } = await two.player.graphql(
      `{ events(types: [TIERS_CLAIMED], first: 9) { nodes { type nodeId runId handle data
         ... on TiersClaimedEvent { playerId claimed { level track granted { amount currency itemId } } } } } }`,
    )
    const at = { type: 'TIERS_CLAIMED', nodeId: 'pass', runId: two.runId, handle: null, playerId: two.player.playerId }
    const [first, second] = [
      { level: 1, granted: [{ amount: '10', currency: 'gold', itemId: null }] },
      { level: 2, granted: [{ amount: '1', currency: null, itemId: 'crown' }] },
    ]
    expect(told.events.nodes).toEqual([
      { ...at, claimed: [{ ...first, track: 'FREE' }], data: { claimed: [{ ...first, track: 'free' }] } },
      { ...at, claimed: [{ ...second, track: 'PREMIUM' }], data: { claimed: [{ ...second, track: 'premium' }] } },
    ])
  })

  it('claims nothing for players of a pass without it', async () => {
    for (const more of [{}, { autoClaim: 'never' }, { autoClaim: null }]) {
      const pass = await begin(more)
      await pass.xp(250)
      await pass.premium()
      expect(await claimed(pass)).toEqual([])
      const { data } = await pass.player.graphql('{ events(types: [TIERS_CLAIMED], first: 1) { nodes { id } } }')
      expect(data.events.nodes).toEqual([])
    }
  })
})
