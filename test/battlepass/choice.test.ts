import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { claimTier } from '../../src/game/battlepass/claim-tier.ts'
import { gold, item, type PassOptions, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { startInstance, times } from '../harness/game.ts'
import { CLAIM_ALL } from '../harness/surfaces.ts'
import { support } from '../support/desk.ts'
import { CLAIM, claimRefused, enter, everything, game, startPassGame, stopPassGame } from './pass-game.ts'
import { settle } from './settle.ts'

// Tiers of which the player picks one of several rewards.

const PICK = { choice: [[item('skin-red')], [item('skin-blue'), gold(5)]] }
const TIERS = [tier(1, 'free', [gold(10), PICK]), tier(1, 'premium', [PICK]), tier(2, 'free', [gold(20)])]
const GOLD = (amount: number) => ({ amount, currency: 'gold', itemId: null })
const SKIN = (itemId: string) => ({ amount: 1, currency: null, itemId })
const claimed = (...granted: object[]) => ({ success: true, alreadyClaimed: false, error: null, granted })

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
async function begin(options: PassOptions = {}, wallet = {}, nodes?: Json) {
  count += 1
  const id = `choice-${count}`
  const { status, text } = await game.publish(id, nodes ?? season({ tiers: TIERS, ...options }))
  expect(status, text).toBe(200)
  return enter(id, { wallet })
}
type Pass = Awaited<ReturnType<typeof begin>>

const pick = async ({ player, place, runId }: Pass, choice: unknown, more: object = {}, headers = {}) =>
  (await player.post(CLAIM, { ...place, runId, level: 1, track: 'free', choice, ...more }, headers)).body

async function claimAll({ player, place, runId }: Pass) {
  const query = CLAIM_ALL.replace('claimed {', 'error claimed {')
  const { data, errors } = await player.graphql(query, { input: { ...place, runId } })
  expect(errors).toBeUndefined()
  const { error, claimed } = data.claimAll
  return [error, ...claimed.map(({ level, track }: { level: number; track: string }) => `${level} ${track}`)]
}

describe('a tier with a choice', () => {
  it('grants its rewards and the option that the player names, and says so to every repeat', async () => {
    const pass = await begin()
    const grants = claimed(GOLD(10), SKIN('skin-blue'), GOLD(5))
    expect(await pick(pass, 1)).toEqual(grants)
    for (const choice of [0, 1, 7, null]) expect(await pick(pass, choice)).toEqual({ ...grants, alreadyClaimed: true })
    expect(await pass.holdings()).toEqual({ wallet: { gold: '15' }, items: { 'skin-blue': '1' } })
  })

  it('is not claimed without one of its options, and other tiers with none', async () => {
    const pass = await begin()
    const before = await everything(pass.player)
    for (const [choice, more, error] of [
      [null, {}, 'choice required'],
      [undefined, {}, 'choice required'],
      [2, {}, 'choice not found'],
      [0, { track: 'premium' }, 'premium required'],
      [0, { level: 2 }, 'level not reached'],
      [0, { level: 9 }, 'tier not found'],
    ] as const)
      expect(await pick(pass, choice, more)).toEqual(claimRefused(error))
    expect(await everything(pass.player)).toEqual(before)
    await pass.xp(100)
    // The player has chosen from another version of the tier.
    expect(await pick(pass, 0, { level: 2 })).toEqual(claimRefused('choice not found'))
    expect(await pick(pass, null, { level: 2 })).toEqual(claimed(GOLD(20)))
    const { status } = await pass.player.post(CLAIM, {
      ...pass.place,
      runId: pass.runId,
      level: 1,
      track: 'free',
      choice: -1,
    })
    expect(status).toBe(400)
  })

  it('is checked before the limit of balances', async () => {
    const pass = await begin({}, { gold: 2n ** 63n - 6n })
    expect(await pick(pass, null)).toEqual(claimRefused('choice required'))
    expect(await pick(pass, 1)).toEqual(claimRefused('balance limit exceeded'))
    expect(await pass.holdings()).toMatchObject({ items: {} })
  })

  it('grants one option, whichever of two instances is asked at once', async () => {
    const other = await startInstance(game.databaseUrl, {})
    const pass = await begin()
    const call = (choice: number, at: number) => {
      const { app } = at % 2 === 0 ? game : other
      const input = { ...pass.place, runId: pass.runId, level: 1, track: 'free' as const, choice }
      return app.service.run(claimTier({ environmentId: game.environmentId, playerId: pass.player.playerId }, input))
    }
    const answers = await Promise.all(times(8, (at) => call(at % 2, Math.floor(at / 2))))
    expect(answers.filter(({ alreadyClaimed }) => !alreadyClaimed)).toHaveLength(1)
    expect(new Set(answers.map(({ granted }) => print(granted))).size).toBe(1)
    expect(Object.keys((await pass.holdings()).items)).toHaveLength(1)
    await other.stop()
  })

  it('has one key for each choice', async () => {
    const pass = await begin()
    const key = { 'idempotency-key': 'pick' }
    expect(await pick(pass, 0, {}, key)).toEqual(claimed(GOLD(10), SKIN('skin-red')))
    expect(await pick(pass, 0, {}, key)).toEqual(claimed(GOLD(10), SKIN('skin-red')))
    expect(await pick(pass, 1, {}, key)).toMatchObject({ code: 'idempotency_key_reused' })
  })

  it('is left to the player by claimAll and by a pass that claims for its players', async () => {
    const pass = await begin({ more: { autoClaim: 'always' } })
    expect(await claimAll(pass)).toEqual(['CHOICE_REQUIRED'])
    await pass.xp(100)
    expect((await pass.progress()).claimedTiers).toEqual([{ level: 2, track: 'free' }])
    expect(await claimAll(pass)).toEqual(['CHOICE_REQUIRED'])
    await pick(pass, 0)
    expect(await claimAll(pass)).toEqual(['PREMIUM_REQUIRED'])
    const plain = await begin()
    await plain.xp(100)
    expect(await claimAll(plain)).toEqual([null, '2 FREE'])
  })

  it('is one of a level node and of bonus tiers, too, each time anew', async () => {
    const bonus = { every: 100, rewards: [PICK] }
    const levelNode = { levelNumber: 2, passNodeId: 'pass', rewards: { free: [PICK] } }
    const pass = await begin(
      {},
      {},
      scenario(
        [
          passNode('pass', { tiers: [], more: { beyond: bonus } }),
          { id: 'two', type: 'battle-pass-level', data: levelNode },
        ],
        [],
      ),
    )
    await pass.xp(600)
    const two = { nodeId: 'two', level: null }
    expect(await pick(pass, null, two)).toEqual(claimRefused('choice required'))
    expect(await pick(pass, 0, two)).toEqual(claimed(SKIN('skin-red')))
    expect(await pick(pass, null, { track: 'bonus' })).toEqual(claimRefused('choice required'))
    expect(await pick(pass, 1, { track: 'bonus' })).toEqual(claimed(SKIN('skin-blue'), GOLD(5)))
    expect(await pick(pass, 0, { track: 'bonus', level: 2 })).toEqual(claimed(SKIN('skin-red')))
  })

  it('is the first option at the end of a season that grants what was earned', async () => {
    const open = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z', atEnd: 'grant' }
    const pass = await begin({ more: open })
    await pass.xp(100)
    await game.publish(
      pass.place.scenarioId,
      season({ tiers: TIERS, more: { ...open, endsAt: '2020-02-01T00:00:00Z' } }),
    )
    expect(await settle(pass.place.scenarioId)).toMatchObject({ tiers: 2, failed: 0 })
    expect(await pass.holdings()).toEqual({ wallet: { gold: '30' }, items: { 'skin-red': '1' } })
  })

  it('is named by support when it grants the tier', async () => {
    const pass = await begin()
    const input = { playerId: pass.player.playerId, ...pass.place, level: 1, track: 'FREE', reason: 'test' }
    const grant = (more: object) => support(game, game.platformKey, 'grantTier', { ...input, ...more })
    for (const [choice, key] of [
      [null, 'a'],
      [2, 'b'],
    ] as const)
      expect(await grant({ choice, idempotencyKey: key })).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(await grant({ choice: 1, idempotencyKey: 'c' })).toHaveProperty('ok')
    expect((await pass.holdings()).items).toEqual({ 'skin-blue': '1' })
  })
})
