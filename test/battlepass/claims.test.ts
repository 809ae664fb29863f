import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { CLAIM_ALL } from '../harness/surfaces.ts'
import { CLAIM, claimRefused, enter, game, PAST, startPassGame, stopPassGame } from './pass-game.ts'

beforeAll(startPassGame)
afterAll(stopPassGame)

const reward = (id: string, ...rewards: Json[]): Json => ({ id, type: 'reward', data: { rewards } })
const START = { from: 'start', handle: 'onStart', to: 'pass' }
const goldOf = (amount: number) => ({ amount, currency: 'gold', itemId: null })

/** A player in a run of a new scenario. */
async function begin(scenarioId: string, definition: Json) {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
  return enter(scenarioId)
}
type Pass = Awaited<ReturnType<typeof enter>>

async function claimAll({ player, place, runId }: Pass) {
  const { data, errors } = await player.graphql(CLAIM_ALL.replace('claimed {', 'error claimed {'), {
    input: { ...place, runId },
  })
  expect(errors).toBeUndefined()
  return data.claimAll
}

describe('the granted rewards of a claim (contract 12)', () => {
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
    const pass = await begin('whole', scenario(nodes, edges))
    await pass.xp(100)
    expect((await pass.claim(1, 'free')).body.granted).toEqual([goldOf(1)])
    const { body: last } = await pass.claim(2, 'free')
    expect(last).toEqual({
      success: true,
      alreadyClaimed: false,
      error: null,
      granted: [goldOf(2), cup, goldOf(50)],
    })
    expect((await pass.claim(2, 'free')).body).toEqual({ ...last, alreadyClaimed: true })
  })

  it('include those of reward nodes in claimAll', async () => {
    const pass = await begin('whole-all', scenario(nodes, edges))
    await pass.xp(100)
    const { claimed, error } = await claimAll(pass)
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
    const pass = await begin('node-after-pass', scenario(nodes, edges))
    const { player, place, runId } = pass
    expect((await pass.claim(1, 'free')).body.granted).toEqual([goldOf(1)])
    const onNode = (more: object) => player.post(CLAIM, { ...place, runId, nodeId: 'first', track: 'free', ...more })
    const paid = {
      alreadyClaimed: true,
      granted: [goldOf(1), { amount: 1, currency: null, itemId: 'hat' }, goldOf(50)],
    }
    const first = await onNode({ idempotencyKey: 'node' })
    expect(first.body).toMatchObject({ success: true, error: null, ...paid })
    expect((await onNode({ idempotencyKey: 'node' })).text).toBe(first.text)
    // A call that pays nothing shows the original grant.
    expect((await onNode({})).body).toMatchObject({ alreadyClaimed: true, granted: [goldOf(1)] })
    expect(await pass.holdings()).toEqual({ wallet: { gold: '51' }, items: { hat: '1' } })
  })
})

describe('claimAll without an open tier (contract 12)', () => {
  it.each([
    ['season closed', season({ levels: [0], more: PAST })],
    ['level not reached', season({ levels: [10, 20], tiers: [tier(1, 'free')] })],
    ['premium required', season({ levels: [0], tiers: [tier(1, 'premium')] })],
  ])('answers with the error %s', async (error, definition) => {
    expect(await claimAll(await begin(`closed ${error}`, definition))).toEqual({
      claimed: [],
      error: error.toUpperCase().replaceAll(' ', '_'),
    })
  })

  it('answers without an error when every tier is claimed or the pass has no tiers', async () => {
    const pass = await begin('all-done', season({ levels: [0], tiers: [tier(1, 'free')] }))
    expect((await claimAll(pass)).claimed).toHaveLength(1)
    expect(await claimAll(pass)).toEqual({ claimed: [], error: null })
    expect(await claimAll(await begin('no-tiers', season({ levels: [0], tiers: [] })))).toEqual({
      claimed: [],
      error: null,
    })
  })
})

describe('a definition (contract 12)', () => {
  it('can have a price of 0, which changes no balance, and tiers without rewards', async () => {
    const definition = season({
      levels: [0],
      price: { currency: 'gems', amount: 0 },
      tiers: [{ level: 1, track: 'free' }, tier(1, 'premium', [])],
    })
    const pass = await begin('given', definition)
    expect((await pass.premium()).body).toMatchObject({ success: true, error: null })
    for (const track of ['free', 'premium'])
      expect((await pass.claim(1, track)).body).toMatchObject({ success: true, granted: [] })
    expect(await pass.ledger()).toEqual([])
  })

  it('can have no tiers and no edges', async () => {
    const pass = { id: 'pass', type: 'battle-pass', data: { levels: [{ level: 1, xp: 0 }] } }
    const bare = await begin('bare', { name: 'Bare', start: 'pass', nodes: [pass] })
    expect((await bare.xp(5)).body.xp).toBe(5)
    expect((await bare.claim(1, 'free')).body).toEqual(claimRefused('tier not found'))
  })
})
