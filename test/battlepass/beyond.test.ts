import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { type BeyondState, convertXp, earnedTiers } from '../../src/game/battlepass/beyond.ts'
import { decideClaim, decideXp, newPass, type Pass as PassState } from '../../src/game/battlepass/decide.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { gold, item, type PassOptions, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { CLAIM_ALL } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'
import {
  CLAIM,
  claimRefused,
  enter,
  everything,
  game,
  handles,
  MAX_INT64,
  at as playAt,
  startPassGame,
  stopPassGame,
  XP,
} from './pass-game.ts'
import { readSettlement, settle } from './settle.ts'

// What xp above the top level brings (`beyond`): bonus tiers, or a currency. The top level of these passes takes 400 xp.

const OPEN = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }
const CLOSED = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
const BONUS = { every: 100, rewards: [gold(7)] }
const SEVEN = { amount: 7, currency: 'gold', itemId: null }
const granted = { success: true, alreadyClaimed: false, error: null, granted: [SEVEN] }

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
async function publish(beyond: Json, options: PassOptions = {}, id = `beyond-${++count}`): Promise<string> {
  const definition = season({ tiers: [], ...options, more: { beyond, ...options.more } })
  const { status, text } = await game.publish(id, definition)
  expect(status, text).toBe(200)
  return id
}
const begin = async (beyond: Json, options: PassOptions = {}, wallet: Record<string, bigint> = {}) =>
  enter(await publish(beyond, options), { wallet })
type Pass = Awaited<ReturnType<typeof begin>>

async function claimAll({ player, place, runId }: Pass) {
  const { data, errors } = await player.graphql(CLAIM_ALL.replace('claimed {', 'error claimed {'), {
    input: { ...place, runId },
  })
  expect(errors).toBeUndefined()
  const { error, claimed } = data.claimAll
  return { error, tiers: claimed.map(({ level, track }: { level: number; track: string }) => `${level} ${track}`) }
}

async function claimed(pass: Pass): Promise<string[]> {
  const { claimedTiers } = await pass.progress()
  return claimedTiers.map(({ level, track }: { level: number; track: string }) => `${level} ${track}`)
}

/** An action of support; answers why it was refused. */
async function support(mutation: string, pass: Pass, more: object = {}): Promise<string | null> {
  const name = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}`
  const { data, errors } = await game.graphql(
    game.platformKey,
    `mutation ($input: ${name}Input!) { ${mutation}(input: $input) { error } }`,
    { input: { playerId: pass.player.playerId, ...pass.place, reason: 'test', ...more } },
  )
  expect(errors).toBeUndefined()
  return data[mutation].error
}

const stateOf = async ({ player, place }: Pass): Promise<string | null> => {
  const { rows } = await game.app.pool.query(
    'SELECT beyond FROM passes WHERE player_id = $1 AND scenario_id = $2 AND node_id = $3',
    [player.playerId, place.scenarioId, place.nodeId],
  )
  return rows[0]?.beyond
}

function nodeOf(beyond: Json, more: { readonly [key: string]: Json } = {}): PassNode {
  const parsed = parseDefinition(print(scenario([passNode('pass', { tiers: [], more: { beyond, ...more } })], [])))
  const node = parsed.ok ? parsed.definition.nodes.get('pass') : undefined
  if (node?.type !== 'battle-pass') throw new Error(`not a pass: ${JSON.stringify(parsed)}`)
  return node
}

describe('bonus tiers', () => {
  it('are earned by each so much xp above the top level, and claimed once each', async () => {
    const pass = await begin(BONUS)
    await pass.xp(499)
    expect((await pass.claim(1, 'bonus')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.xp(101)).body).toEqual({ level: 5, xp: 600, leveledUp: false, maxLevel: true, plan: null })

    expect((await pass.claim(2, 'bonus')).body).toEqual(granted)
    expect((await pass.claim(1, 'bonus')).body).toEqual(granted)
    expect((await pass.claim(3, 'bonus')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.claim(2, 'bonus')).body).toEqual({ ...granted, alreadyClaimed: true })
    expect((await pass.holdings()).wallet).toEqual({ gold: '14' })
    expect(await pass.ledger()).toMatchObject([
      { amount: '7', reason: 'tier_claim', reference: `${pass.place.scenarioId}/pass/bonus/2` },
      { amount: '7', reason: 'tier_claim', reference: `${pass.place.scenarioId}/pass/bonus/1` },
    ])
    expect(await claimed(pass)).toEqual(['1 bonus', '2 bonus'])
  })

  it('have a track that any pass without them refuses as any other word, naming the tracks of the contract', async () => {
    const level = { id: 'two', type: 'battle-pass-level', data: { levelNumber: 2, passNodeId: 'pass' } }
    const converting = { beyond: { convert: { currency: 'gold', per: 100 } } }
    await game.publish('beyond-none', scenario([passNode('pass'), passNode('other', { more: converting }), level], []))
    const pass = await enter('beyond-none')
    const known = { ...pass.place, runId: pass.runId, level: 1 }
    const details = [{ path: 'track', message: 'must be one of free, premium' }]
    for (const sent of [
      known,
      { ...known, nodeId: 'other' },
      { ...known, nodeId: 'two', level: null },
      { ...known, level: null },
      { ...known, nodeId: 'nowhere' },
      { ...known, scenarioId: 'nowhere' },
      { ...known, runId: 'none' },
    ])
      for (const track of ['bonus', 'gold', 'BONUS']) {
        const { status, body } = await pass.player.post(CLAIM, { ...sent, track })
        expect([status, { ...body, requestId: '' }], `${track} ${JSON.stringify(sent)}`).toEqual([
          400,
          { error: 'invalid request', code: 'invalid_request', requestId: '', details },
        ])
      }
    const { errors } = await pass.player.graphql(
      'mutation ($input: ClaimTierInput!) { claimTier(input: $input) { error } }',
      { input: { ...known, track: 'BONUS' } },
    )
    expect(errors).toMatchObject([{ extensions: { code: 'INVALID_REQUEST', details } }])
  })

  it('are none above their number', async () => {
    const pass = await begin({ ...BONUS, max: 2 })
    await pass.xp(MAX_INT64)
    for (const [number, answer] of [
      [0, claimRefused('tier not found')],
      [2, granted],
      [3, claimRefused('tier not found')],
    ] as const)
      expect((await pass.claim(number, 'bonus')).body).toEqual(answer)
    const many = await begin(BONUS)
    await many.xp(MAX_INT64)
    expect((await many.claim(1_000, 'bonus')).body).toEqual(granted)
    expect((await many.claim(1_001, 'bonus')).body).toEqual(claimRefused('tier not found'))
  })

  it('are not tiers of a level node, which has those of its level', async () => {
    const level = { id: 'two', type: 'battle-pass-level', data: { levelNumber: 2, passNodeId: 'pass' } }
    const definition = scenario(
      [passNode('pass', { more: { beyond: BONUS } }), level],
      [{ from: 'start', handle: 'onStart', to: 'pass' }],
    )
    await game.publish('beyond-level', definition)
    const pass = await enter('beyond-level')
    await pass.xp(700)
    await pass.claim(2, 'bonus')
    expect((await pass.on('two').claim(null, 'bonus')).body).toEqual(claimRefused('tier not found'))
    expect((await pass.on('two').claim(null, 'free')).body).toMatchObject({ success: true, alreadyClaimed: false })
    expect(await support('resetTier', pass.on('two'), { level: 2, track: 'BONUS' })).toBe('TIER_NOT_FOUND')
    expect(await claimed(pass)).toEqual(['2 free', '2 bonus'])
  })

  it('need no premium, and do not count towards the completion of the pass', async () => {
    const tiers = [tier(5, 'free', [gold(1)])]
    const pass = await begin(BONUS, { tiers })
    await pass.xp(500)
    await pass.claim(5, 'free')
    expect(await handles(pass.player)).toEqual(['pass onLevelUp', 'pass onMaxLevel', 'pass onComplete'])
    const other = await begin(BONUS, { tiers })
    await other.xp(500)
    expect((await other.claim(1, 'bonus')).body).toEqual(granted)
    expect(await handles(other.player)).toEqual(['pass onLevelUp', 'pass onMaxLevel'])
  })

  it('are claimed once by calls at once, and a repeated key answers the same', async () => {
    const pass = await begin(BONUS)
    await pass.xp(500)
    const all = await Promise.all(times(10, () => pass.claim(1, 'bonus')))
    expect(all.filter(({ body }) => body.alreadyClaimed === false)).toHaveLength(1)
    const body = { ...pass.place, runId: pass.runId, level: 2, track: 'bonus', idempotencyKey: 'two' }
    const refused = await pass.player.post(CLAIM, body)
    expect(refused.body).toEqual(claimRefused('level not reached'))
    await pass.xp(100)
    const answers = await Promise.all(times(4, () => pass.player.post(CLAIM, body)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.body).toEqual(granted)
    expect((await pass.holdings()).wallet).toEqual({ gold: '14' })
  })

  it('are claimed by claimAll with the other tiers, by level and track', async () => {
    const pass = await begin(BONUS, { tiers: [tier(1, 'free'), tier(1, 'premium'), tier(5, 'free')] }, { gems: 950n })
    await pass.premium()
    await pass.xp(250)
    expect(await claimAll(pass)).toEqual({ error: null, tiers: ['1 FREE', '1 PREMIUM'] })
    await pass.xp(350)
    expect(await claimAll(pass)).toEqual({ error: null, tiers: ['1 BONUS', '2 BONUS', '5 FREE'] })
    expect(await claimAll(pass)).toEqual({ error: 'LEVEL_NOT_REACHED', tiers: [] })
    expect(await claimed(pass)).toEqual(['1 free', '1 premium', '1 bonus', '2 bonus', '5 free'])
    const last = await begin({ ...BONUS, max: 1 })
    await last.xp(5_000)
    await claimAll(last)
    expect(await claimAll(last)).toEqual({ error: null, tiers: [] })
  })

  it('are refused when the rewards do not fit, with nothing changed', async () => {
    const pass = await begin({ ...BONUS, perDay: 1 }, {}, { gold: MAX_INT64 })
    await pass.xp(600)
    const before = await everything(pass.player)
    expect((await pass.claim(1, 'bonus')).body).toEqual(claimRefused('balance limit exceeded'))
    expect(await claimAll(pass)).toEqual({ error: 'BALANCE_LIMIT_EXCEEDED', tiers: [] })
    expect(await everything(pass.player)).toEqual(before)
  })

  it('follow an edit: of the top level, of the xp that each takes, and of the rewards', async () => {
    const id = await publish(BONUS)
    const pass = await enter(id)
    await pass.xp(650)
    expect((await pass.claim(2, 'bonus')).body).toEqual(granted)
    // The top level moves up: what was claimed stays, and the first one is not earned any more.
    await publish(BONUS, { levels: [0, 100, 600] }, id)
    expect((await pass.claim(1, 'bonus')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.claim(2, 'bonus')).body).toEqual({ ...granted, alreadyClaimed: true })
    // It moves down, and each tier brings more.
    await publish({ every: 200, rewards: [item('chest')] }, { levels: [0, 50] }, id)
    const chest = { ...granted, granted: [{ amount: 1, currency: null, itemId: 'chest' }] }
    for (const number of [1, 3]) expect((await pass.claim(number, 'bonus')).body).toEqual(chest)
    expect((await pass.claim(4, 'bonus')).body).toEqual(claimRefused('level not reached'))
    // Without bonus tiers, a repeat still answers what was granted.
    await publish(null, {}, id)
    expect((await pass.claim(3, 'bonus')).body).toEqual({ ...chest, alreadyClaimed: true })
    expect((await pass.claim(4, 'bonus')).status).toBe(400)
  })

  it('are granted and reset by support, also those that are not earned', async () => {
    const pass = await begin({ ...BONUS, max: 3, perDay: 1 })
    await pass.xp(500)
    const give = (level: number) =>
      support('grantTier', pass, { level, track: 'BONUS', idempotencyKey: `grant ${level}` })
    for (const level of [1, 2, 3]) expect(await give(level)).toBe(null)
    expect(await give(4)).toBe('TIER_NOT_FOUND')
    expect(await support('resetTier', pass, { level: 1, track: 'BONUS' })).toBe(null)
    // Grants of support do not count for the day.
    expect((await pass.claim(1, 'bonus')).body).toEqual(granted)
    expect((await pass.holdings()).wallet).toEqual({ gold: '28' })
    expect(await support('resetPass', pass)).toBe(null)
    expect([await claimed(pass), await stateOf(pass)]).toEqual([[], null])
  })
})

describe('bonus tiers in figures and lists', () => {
  it('are counted by number, with those who claimed them', async () => {
    const pass = await begin(BONUS)
    const other = await enter(pass.place.scenarioId)
    for (const one of [pass, other]) await one.xp(700)
    await pass.claim(2, 'bonus')
    await other.xp(1)
    const insight = `query ($scenarioId: String!, $from: DateTime!, $to: DateTime!) {
      battlePassInsight(environment: "production", scenarioId: $scenarioId, nodeId: "pass", from: $from, to: $to) {
        tiers { level track reached entitled claimed unclaimed } } }`
    const from = new Date(Date.now() - 86_400_000).toISOString()
    const to = new Date(Date.now() + 86_400_000).toISOString()
    const read = async () => {
      const { data } = await game.graphql(game.platformKey, insight, { scenarioId: pass.place.scenarioId, from, to })
      return data.battlePassInsight.tiers
    }
    await until('the claim is counted', async () => (await read()).length > 0)
    expect(await read()).toEqual([{ level: 2, track: 'BONUS', reached: 2, entitled: 1, claimed: 1, unclaimed: 0 }])
  })

  it('name their currencies and items in the catalogue, as a conversion does', async () => {
    const id = await publish({ every: 5, rewards: [{ currency: 'beyond-stars', amount: 1 }, item('beyond-hat')] })
    const other = await publish({ convert: { currency: 'beyond-dust', per: 5 } })
    const { data } = await game.graphql(
      game.platformKey,
      `{ currencies(environment: "production", first: 200) { nodes { name scenarioIds } }
         items(environment: "production", first: 200) { nodes { itemId scenarioIds } } }`,
    )
    expect(data.currencies.nodes).toContainEqual({ name: 'beyond-stars', scenarioIds: [id] })
    expect(data.currencies.nodes).toContainEqual({ name: 'beyond-dust', scenarioIds: [other] })
    expect(data.items.nodes).toContainEqual({ itemId: 'beyond-hat', scenarioIds: [id] })
  })
})

describe('bonus tiers of a day', () => {
  it('are so many as the pass says; above it a claim is refused, and a repeat is not', async () => {
    const pass = await begin({ ...BONUS, perDay: 2 })
    await pass.xp(1_000)
    for (const number of [1, 5]) expect((await pass.claim(number, 'bonus')).body).toEqual(granted)
    expect((await pass.claim(2, 'bonus')).body).toEqual(claimRefused('daily limit reached'))
    expect((await pass.claim(9, 'bonus')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.claim(5, 'bonus')).body).toEqual({ ...granted, alreadyClaimed: true })
    expect(await claimAll(pass)).toEqual({ error: 'DAILY_LIMIT_REACHED', tiers: [] })
    expect((await pass.holdings()).wallet).toEqual({ gold: '14' })
  })

  it('are kept by calls at once, and claimAll claims the first of them', async () => {
    const pass = await begin({ ...BONUS, perDay: 3 })
    await pass.xp(1_400)
    const all = await Promise.all(times(10, (index) => pass.claim(index + 1, 'bonus')))
    expect(all.filter(({ body }) => body.success)).toHaveLength(3)
    expect(all.filter(({ body }) => body.error === 'daily limit reached')).toHaveLength(7)
    const other = await begin({ ...BONUS, perDay: 3 })
    await other.xp(1_400)
    await other.claim(2, 'bonus')
    expect(await claimAll(other)).toEqual({ error: null, tiers: ['1 BONUS', '3 BONUS'] })
  })

  it('begin anew with each day of the game, which the rules of xp move', () => {
    const utc = nodeOf({ ...BONUS, perDay: 1 })
    const tokyo = nodeOf({ ...BONUS, perDay: 1 }, { xp: { dayStartsAt: '04:00', timeZone: 'Asia/Tokyo' } })
    const claim = (node: PassNode, pass: PassState, level: number, now: string) => {
      const decision = decideClaim(node, pass, { level, track: 'bonus', offer: { rewards: [] } }, new Date(now))
      if (decision.kind !== 'granted') throw new Error(decision.kind)
      return decision
    }
    for (const [node, before, after] of [
      [utc, '2026-12-01T23:59:59.999Z', '2026-12-02T00:00:00Z'],
      [tokyo, '2026-12-01T18:59:59.999Z', '2026-12-01T19:00:00Z'],
    ] as const) {
      const first = claim(node, { ...newPass(node), xp: 2_000n }, 1, before)
      expect(first.isOverDay).toBe(false)
      expect(claim(node, first.next, 2, before).isOverDay).toBe(true)
      const second = claim(node, first.next, 2, after)
      expect(second.isOverDay).toBe(false)
      // The clock of another instance is behind: the day does not come back.
      expect(claim(node, second.next, 3, before).isOverDay).toBe(true)
    }
  })

  it('are counted with the pass, which keeps nothing without a limit', async () => {
    const pass = await begin(BONUS)
    await pass.xp(600)
    await pass.claim(1, 'bonus')
    expect(await stateOf(pass)).toBe(null)
    await publish({ ...BONUS, perDay: 1 }, {}, pass.place.scenarioId)
    await pass.claim(2, 'bonus')
    expect(JSON.parse((await stateOf(pass)) ?? '')).toMatchObject({ claims: { count: 1 } })
    await pass.xp(100)
    expect((await pass.claim(3, 'bonus')).body).toEqual(claimRefused('daily limit reached'))
  })
})

describe('bonus tiers of a pass that claims for its players', () => {
  it('are claimed as xp earns them, up to those of the day', async () => {
    const pass = await begin({ ...BONUS, perDay: 3 }, { more: { autoClaim: 'always' } })
    await pass.xp(550)
    expect(await claimed(pass)).toEqual(['1 bonus'])
    await pass.xp(10)
    expect((await pass.xp(1_000)).status).toBe(200)
    expect(await claimed(pass)).toEqual(['1 bonus', '2 bonus', '3 bonus'])
    expect((await pass.claim(4, 'bonus')).body).toEqual(claimRefused('daily limit reached'))
    expect((await pass.holdings()).wallet).toEqual({ gold: '21' })
  })
})

describe('bonus tiers at the end of a season', () => {
  it('are granted where the pass says so, without the limit of a day', async () => {
    const beyond = { ...BONUS, max: 4, perDay: 1 }
    const id = await publish(beyond, { more: { ...OPEN, atEnd: 'grant' } })
    const [some, below, most] = [await enter(id), await enter(id), await enter(id)]
    await some.xp(700)
    await some.claim(2, 'bonus')
    await below.xp(499)
    await most.xp(MAX_INT64)
    await publish(beyond, { more: { ...CLOSED, atEnd: 'grant' } }, id)
    await settle(id)
    expect(await claimed(some)).toEqual(['1 bonus', '2 bonus', '3 bonus'])
    expect(await claimed(below)).toEqual([])
    expect(await claimed(most)).toEqual(['1 bonus', '2 bonus', '3 bonus', '4 bonus'])
    expect((await some.ledger()).map(({ reason }) => reason)).toEqual(['tier_claim', 'season_end', 'season_end'])
    expect(await readSettlement(id)).toMatchObject({ players: 2, tiers: 6, failed: 0 })
  })

  it('are lost where the pass does not say so', async () => {
    const id = await publish(BONUS, { more: OPEN })
    const pass = await enter(id)
    await pass.xp(700)
    await publish(BONUS, { more: CLOSED }, id)
    expect((await pass.claim(1, 'bonus')).body).toEqual(claimRefused('season closed'))
    expect(await claimed(pass)).toEqual([])
  })
})

describe('a number of bonus tiers, by its rule', () => {
  it('is the xp above the top level by what each takes, rounded down, up to the limit', () => {
    const numbers = fc.record({ every: fc.bigInt(1n, 500n), max: fc.integer({ min: 1, max: 1_000 }) })
    const xps = fc.oneof(fc.bigInt(0n, 3_000n), fc.bigInt(MAX_INT64 - 5n, MAX_INT64))
    fc.assert(
      fc.property(numbers, xps, ({ every, max }, xp) => {
        const node = nodeOf({ every, max, rewards: [gold(1)] })
        const earned = BigInt(earnedTiers(node, xp))
        const above = xp < 400n ? 0n : xp - 400n
        expect(earned * every <= above).toBe(true)
        if (earned < BigInt(max)) expect((earned + 1n) * every > above).toBe(true)
      }),
    )
  })
})

describe('xp above the top level that becomes a currency', () => {
  const convert = (per: number | bigint, currency = 'gold'): Json => ({ convert: { currency, per } })

  it('does so with the call that brings it, and keeps the rest for the next one', async () => {
    const pass = await begin(convert(100))
    const id = pass.place.scenarioId
    expect((await pass.xp(390)).body).toMatchObject({ level: 4, xp: 390 })
    await pass.xp(159)
    expect((await pass.holdings()).wallet).toEqual({ gold: '1' })
    expect((await pass.xp(50)).body).toEqual({ level: 5, xp: 599, leveledUp: false, maxLevel: true, plan: null })
    expect((await pass.holdings()).wallet).toEqual({ gold: '1' })
    await pass.xp(1)
    expect((await pass.holdings()).wallet).toEqual({ gold: '2' })
    const entry = { currency: 'gold', amount: '1', reason: 'xp_conversion', reference: `${id}/pass` }
    expect(await pass.ledger()).toEqual([
      { ...entry, balance: '1' },
      { ...entry, balance: '2' },
    ])
    expect([await stateOf(pass), await claimed(pass)]).toEqual([null, []])
    expect((await pass.claim(1, 'bonus')).status).toBe(400)
  })

  it('counts xp of servers and of operators, and the bonus of premium', async () => {
    const pass = await begin(
      convert(10),
      { price: null, more: { premium: { price: { currency: 'gems', amount: 0 }, xpPercent: 50 } } },
      {},
    )
    const { scenarioId, nodeId } = pass.place
    await pass.xp(400)
    const input = { scenarioId, nodeId, runId: pass.runId, source: 'match' }
    await game.app.service.run(addXp(pass.player, { ...input, amount: 10n }, { origin: 'server' }))
    const { data } = await game.graphql(
      game.platformKey,
      'mutation ($input: GrantXpInput!) { grantXp(input: $input) { walletEntries { amount cause } } }',
      {
        input: {
          ...{ playerId: pass.player.playerId, scenarioId, nodeId, amount: '10', source: 'gift' },
          ...{ idempotencyKey: 'one', reason: 'test' },
        },
      },
    )
    expect(data.grantXp.walletEntries).toEqual([{ amount: '1', cause: 'XP_CONVERSION' }])
    await pass.premium()
    await pass.xp(20)
    expect((await pass.holdings()).wallet).toEqual({ gold: '5' })
  })

  it('counts xp that came along from the season before', async () => {
    const next = await publish(convert(10), {})
    const carry = { scenarioId: next, carry: { xpPercent: 100 } }
    const id = await publish(null, { more: { ...OPEN, next: carry } })
    const pass = await enter(id)
    await pass.xp(455)
    await publish(null, { more: { ...CLOSED, next: carry } }, id)
    const started = await pass.player.post('/sdk/v1/scenarios/start', { scenarioId: next })
    const there = playAt(pass.player, next, started.body.runId)
    expect((await there.progress()).xp).toBe(455)
    expect((await there.holdings()).wallet).toEqual({ gold: '5' })
    await there.xp(5)
    expect((await there.holdings()).wallet).toEqual({ gold: '6' })
  })

  it('is given once by a repeated call, and for all xp of calls at once', async () => {
    const pass = await begin(convert(100))
    await pass.xp(400)
    const body = { ...pass.place, runId: pass.runId, amount: 150, source: 'test', idempotencyKey: 'once' }
    const answers = await Promise.all(times(6, () => pass.player.post(XP, body)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect((await pass.holdings()).wallet).toEqual({ gold: '1' })
    await Promise.all(times(20, () => pass.xp(33)))
    // 150 and 660 xp.
    expect((await pass.holdings()).wallet).toEqual({ gold: '8' })
  })

  it('refuses xp whose currency would not fit, and changes nothing', async () => {
    const pass = await begin(convert(100), {}, { gold: MAX_INT64 - 1n })
    await pass.xp(400)
    await pass.xp(150)
    const before = await everything(pass.player)
    const { status, body } = await pass.xp(50)
    expect([status, body.error]).toEqual([409, 'balance limit exceeded'])
    expect(await everything(pass.player)).toEqual(before)
    expect((await pass.xp(49)).body.xp).toBe(599)
  })

  it('comes with the rewards behind the top level in one call, or not at all', async () => {
    const definition = scenario(
      [
        passNode('pass', { tiers: [], more: { beyond: convert(1) } }),
        { id: 'purse', type: 'reward', data: { rewards: [gold(5)] } },
      ],
      [
        { from: 'start', handle: 'onStart', to: 'pass' },
        { from: 'pass', handle: 'onMaxLevel', to: 'purse' },
      ],
    )
    await game.publish('beyond-purse', definition)
    const full = await enter('beyond-purse', { wallet: { gold: MAX_INT64 - 10n } })
    expect((await full.xp(406)).body.error).toBe('balance limit exceeded')
    expect((await full.xp(405)).body.plan.granted).toEqual([{ amount: 5, currency: 'gold', itemId: null }])
    expect((await full.holdings()).wallet).toEqual({ gold: String(MAX_INT64) })
  })

  it('counts xp from an edit on: what an edit has put above the top is not converted', async () => {
    const pass = await begin(null)
    const id = pass.place.scenarioId
    await pass.xp(1_000)
    await publish(convert(100), {}, id)
    await pass.xp(150)
    expect((await pass.holdings()).wallet).toEqual({ gold: '1' })
    // The rest of 50 is half of one, by either rule.
    await publish(convert(10), { levels: [0, 50] }, id)
    await pass.xp(4)
    expect((await pass.holdings()).wallet).toEqual({ gold: '1' })
    await pass.xp(1)
    expect((await pass.holdings()).wallet).toEqual({ gold: '2' })
    // The top level is above the player's xp: what it gains below is not converted.
    await publish(convert(10), { levels: [0, 2_000] }, id)
    await pass.xp(845)
    expect((await pass.holdings()).wallet).toEqual({ gold: '2' })
    await pass.xp(10)
    expect((await pass.holdings()).wallet).toEqual({ gold: '3' })
  })

  it('is the same however xp is split into calls', () => {
    const amounts = fc.array(fc.oneof(fc.bigInt(1n, 700n), fc.bigInt(1n, 2n ** 58n)), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(fc.oneof(fc.bigInt(1n, 500n), fc.bigInt(1n, MAX_INT64)), amounts, (per, all) => {
        const node = nodeOf(convert(per))
        let pass = newPass(node)
        let sum = 0n
        for (const amount of all) {
          const decision = decideXp(
            node,
            pass,
            { amount, source: '', origin: 'client' },
            new Date('2026-12-01T12:00:00Z'),
          )
          if (decision.kind === 'refused') throw new Error(decision.reason)
          for (const one of decision.converted) sum += one.amount
          pass = decision.next
          const above = pass.xp > 400n ? pass.xp - 400n : 0n
          expect(sum).toBe(above / per)
        }
      }),
    )
  })

  it('gives no more for an edit of `per`: each xp counts by the rule with which it came, at most', () => {
    const steps = fc.array(fc.record({ per: fc.bigInt(1n, 50n), amount: fc.bigInt(1n, 200n) }), { maxLength: 30 })
    fc.assert(
      fc.property(steps, (all) => {
        let state: BeyondState | null = null
        let xp = 400n
        let sum = 0n
        // In parts of the product of all numbers, so that the sum of shares is exact.
        let whole = 1n
        for (const { per } of all) whole *= per
        let shares = 0n
        for (const { per, amount } of all) {
          const result = convertXp(nodeOf(convert(per)), state, { from: xp, to: xp + amount })
          state = result.state
          xp += amount
          for (const one of result.rewards) sum += one.amount
          shares += (amount * whole) / per
          expect(sum * whole <= shares).toBe(true)
        }
      }),
      { numRuns: 50 },
    )
  })
})
