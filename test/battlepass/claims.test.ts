import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { CLAIM_ALL } from '../harness/surfaces.ts'

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const reward = (id: string, ...rewards: Json[]): Json => ({ id, type: 'reward', data: { rewards } })
const START = { from: 'start', handle: 'onStart', to: 'pass' }
const goldOf = (amount: number) => ({ amount, currency: 'gold', itemId: null })

async function enter(scenarioId: string, definition: Json) {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
  const player = await game.player()
  const runId = await player.start(scenarioId)
  const place = { scenarioId, nodeId: 'pass', runId }
  return {
    player,
    place,
    xp: (amount: number) => player.post('/sdk/v1/battlepass/xp', { ...place, amount }),
    claim: async (level: number, track = 'free') =>
      (await player.post('/sdk/v1/battlepass/claim', { ...place, level, track })).body,
    claimAll: () => claimAll(player, place),
  }
}

async function claimAll(player: TestPlayer, place: object) {
  const document = CLAIM_ALL.replace('claimed {', 'error claimed {')
  const { data, errors } = await player.graphql(document, { input: place })
  expect(errors).toBeUndefined()
  return data.claimAll
}

describe('the granted rewards of a claim (decisions 11.6)', () => {
  const nodes = [
    passNode('pass', { levels: [0, 100], tiers: [tier(1, 'free', [gold(1)]), tier(2, 'free', [gold(2)])] }),
    reward('cup', item('cup')),
    reward('purse', gold(50)),
  ]
  const edges = [
    START,
    { from: 'pass', handle: 'onComplete', to: 'cup' },
    { from: 'cup', handle: 'onComplete', to: 'purse' },
  ]
  const cup = { amount: 1, currency: null, itemId: 'cup' }

  it('are those of the tier, then those of reward nodes that its crossing led to, also in repeats', async () => {
    const { xp, claim } = await enter('whole', scenario(nodes, edges))
    await xp(100)
    expect((await claim(1)).granted).toEqual([goldOf(1)])
    const last = await claim(2)
    expect(last).toEqual({
      success: true,
      alreadyClaimed: false,
      error: null,
      granted: [goldOf(2), cup, goldOf(50)],
    })
    expect(await claim(2)).toEqual({ ...last, alreadyClaimed: true })
  })

  it('include those of reward nodes in claimAll', async () => {
    const { xp, claimAll: all } = await enter('whole-all', scenario(nodes, edges))
    await xp(100)
    const { claimed, error } = await all()
    expect(error).toBeNull()
    expect(
      claimed.map(({ granted }: { granted: { amount: string }[] }) => granted.map(({ amount }) => amount)),
    ).toEqual([['1'], ['2', '1', '50']])
  })
})

describe('a claim on a level node after the claim on its pass', () => {
  it('has what it pays itself in `granted`, after the original grant, and so have repeats with its key', async () => {
    const nodes = [
      passNode('pass', { levels: [0], tiers: [tier(1, 'free', [gold(1)])] }),
      { id: 'first', type: 'battle-pass-level', data: { levelNumber: 1, passNodeId: 'pass' } },
      reward('hat', item('hat')),
      reward('purse', gold(50)),
    ]
    const edges = [
      START,
      { from: 'first', handle: 'onComplete', to: 'hat' },
      { from: 'hat', handle: 'onComplete', to: 'purse' },
    ]
    const { player, place, claim } = await enter('node-after-pass', scenario(nodes, edges))
    expect((await claim(1)).granted).toEqual([goldOf(1)])
    const onNode = (more: object) =>
      player.post('/sdk/v1/battlepass/claim', { ...place, nodeId: 'first', track: 'free', ...more })
    const paid = {
      alreadyClaimed: true,
      granted: [goldOf(1), { amount: 1, currency: null, itemId: 'hat' }, goldOf(50)],
    }
    const first = await onNode({ idempotencyKey: 'node' })
    expect(first.body).toMatchObject({ success: true, error: null, ...paid })
    expect((await onNode({ idempotencyKey: 'node' })).text).toBe(first.text)
    // A call that pays nothing shows the original grant.
    expect((await onNode({})).body).toMatchObject({ alreadyClaimed: true, granted: [goldOf(1)] })
    const { wallet, inventory } = (await player.post('/sdk/v1/player/get', {})).body
    expect([wallet, inventory]).toEqual([[{ currency: 'gold', balance: 51 }], [{ itemId: 'hat', amount: 1 }]])
  })
})

describe('claimAll without an open tier (decisions 11.7)', () => {
  const past = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
  it.each([
    ['season closed', season({ levels: [0], more: past })],
    ['level not reached', season({ levels: [10, 20], tiers: [tier(1, 'free')] })],
    ['premium required', season({ levels: [0], tiers: [tier(1, 'premium')] })],
  ])('answers with the error %s', async (error, definition) => {
    const { claimAll: all } = await enter(`closed ${error}`, definition)
    expect(await all()).toEqual({ claimed: [], error: error.toUpperCase().replaceAll(' ', '_') })
  })

  it('answers without an error when every tier is claimed or the pass has no tiers', async () => {
    const { claimAll: all } = await enter('all-done', season({ levels: [0], tiers: [tier(1, 'free')] }))
    expect((await all()).claimed).toHaveLength(1)
    expect(await all()).toEqual({ claimed: [], error: null })
    const bare = await enter('no-tiers', season({ levels: [0], tiers: [] }))
    expect(await bare.claimAll()).toEqual({ claimed: [], error: null })
  })
})

describe('a definition (decisions 11.9)', () => {
  it('can have a price of 0, which changes no balance, and tiers without rewards', async () => {
    const definition = season({
      levels: [0],
      price: { currency: 'gems', amount: 0 },
      tiers: [{ level: 1, track: 'free' }, tier(1, 'premium', [])],
    })
    const { player, place, claim } = await enter('given', definition)
    const bought = await player.post('/sdk/v1/battlepass/premium', place)
    expect(bought.body).toMatchObject({ success: true, error: null })
    for (const track of ['free', 'premium'])
      expect(await claim(1, track)).toEqual({ success: true, alreadyClaimed: false, error: null, granted: [] })
    const { rows } = await game.app.pool.query('SELECT count(*)::int FROM wallet_ledger WHERE player_id = $1', [
      player.playerId,
    ])
    expect(rows[0].count).toBe(0)
  })

  it('can have no tiers and no edges', async () => {
    const pass = { id: 'pass', type: 'battle-pass', data: { levels: [{ level: 1, xp: 0 }] } }
    const { xp, claim } = await enter('bare', { name: 'Bare', start: 'pass', nodes: [pass] })
    expect((await xp(5)).body.xp).toBe(5)
    expect((await claim(1)).error).toBe('tier not found')
  })
})
