import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { decideXp, newPass } from '../../src/game/battlepass/decide.ts'
import type { XpOrigin } from '../../src/game/battlepass/xp-limits.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { enter, everything, game, MAX_INT64, premiumRefused, startPassGame, stopPassGame } from './pass-game.ts'

// What premium brings besides its track: more of each xp (`xpPercent`), and rewards with the purchase (`instant`).

type More = Readonly<Record<string, Json>>

const GEMS = { currency: 'gems', amount: 950 }
const withPremium = (premium: More, more: More = {}) => ({
  price: null,
  more: { premium: { price: GEMS, ...premium }, ...more },
})

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
async function publish(definition: Json, scenarioId = `extras-${++count}`): Promise<string> {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
  return scenarioId
}

async function begin(premium: More, more: More = {}, wallet: Record<string, bigint> = { gems: 950n }) {
  return enter(await publish(season(withPremium(premium, more))), { wallet })
}
type Pass = Awaited<ReturnType<typeof begin>>

/** A player who owns premium of a new season. */
async function own(premium: More, more: More = {}): Promise<Pass> {
  const pass = await begin(premium, more)
  expect((await pass.premium()).body.success).toBe(true)
  return pass
}

const rowsOf = async (text: string, { player }: Pass) => (await game.app.pool.query(text, [player.playerId])).rows

const entriesOf = async (pass: Pass) =>
  (await rowsOf('SELECT amount, bonus, asked, limited_by FROM xp_ledger WHERE player_id = $1 ORDER BY id', pass)).map(
    ({ amount, bonus, asked, limited_by }) => [amount, bonus, asked, limited_by],
  )

async function support(mutation: string, pass: Pass, more: object = {}) {
  const name = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}`
  const { data, errors } = await game.graphql(
    game.platformKey,
    `mutation ($input: ${name}Input!) { ${mutation}(input: $input) { auditEntry { action } } }`,
    { input: { playerId: pass.player.playerId, ...pass.place, reason: 'test', ...more } },
  )
  expect(errors).toBeUndefined()
  return data[mutation]
}

describe('the bonus of an owner of premium, by its rule', () => {
  const nodeOf = (xpPercent: number, more: More = {}): PassNode => {
    const parsed = parseDefinition(print(scenario([passNode('pass', withPremium({ xpPercent }, more))], [])))
    const node = parsed.ok ? parsed.definition.nodes.get('pass') : undefined
    if (node?.type !== 'battle-pass') throw new Error(`not a pass: ${JSON.stringify(parsed)}`)
    return node
  }
  const call = fc.record({
    amount: fc.oneof(fc.bigInt(1n, 300n), fc.bigInt(1n, 2n ** 50n)),
    origin: fc.constantFrom<XpOrigin>('client', 'server', 'operator'),
    isOwner: fc.boolean(),
  })
  const calls = fc.array(call, { maxLength: 30 })
  const percent = fc.integer({ min: 1, max: 1_000 })
  const at = new Date('2026-12-01T12:00:00Z')

  it('is the percentage of each call, rounded down, and nothing for others and for xp of operators', () => {
    fc.assert(
      fc.property(percent, calls, (xpPercent, all) => {
        const node = nodeOf(xpPercent)
        let pass = newPass(node)
        let total = 0n
        for (const { amount, origin, isOwner } of all) {
          const decision = decideXp(node, { ...pass, premiumOwned: isOwner }, { amount, origin, source: 'match' }, at)
          if (decision.kind === 'refused') throw new Error(decision.reason)
          const { granted, bonus } = decision
          expect(granted).toBe(amount)
          if (!isOwner || origin === 'operator') expect(bonus).toBe(0n)
          // The largest number of whole xp that is not more than the percentage.
          else {
            expect(bonus * 100n <= amount * BigInt(xpPercent)).toBe(true)
            expect((bonus + 1n) * 100n > amount * BigInt(xpPercent)).toBe(true)
          }
          total += granted + bonus
          expect([decision.xp, decision.next.xp]).toEqual([total, total])
          pass = decision.next
        }
      }),
    )
  })

  it('comes on top of what limits grant, and counts towards none of them', () => {
    const limits = fc.record({ max: fc.integer({ min: 0, max: 200 }), perSeason: fc.integer({ min: 0, max: 2_000 }) })
    fc.assert(
      fc.property(percent, calls, limits, fc.constantFrom('clip', 'refuse'), (xpPercent, all, limits, over) => {
        const [limited, plain] = [
          nodeOf(xpPercent, { xp: { ...limits, over } }),
          nodeOf(1, { xp: { ...limits, over } }),
        ]
        let pass = { ...newPass(limited), premiumOwned: true }
        let other = newPass(plain)
        for (const { amount, origin } of all) {
          const sent = { amount, origin, source: 'match' }
          const [decision, expected] = [decideXp(limited, pass, sent, at), decideXp(plain, other, sent, at)]
          // Premium changes neither what is refused nor what is granted, whatever it brought before.
          expect(decision.kind).toBe(expected.kind)
          if (decision.kind === 'added' && expected.kind === 'added') {
            expect([decision.granted, decision.limited]).toEqual([expected.granted, expected.limited])
            if (decision.granted === 0n) expect(decision.bonus).toBe(0n)
          }
          if ('next' in decision) pass = { ...decision.next, premiumOwned: true }
          if ('next' in expected) other = expected.next
          expect(pass.xpCounts).toEqual(other.xpCounts)
        }
      }),
    )
  })
})

describe('xp of an owner of premium', () => {
  it('is more by the percentage from the purchase on, with an answer of the usual shape', async () => {
    const pass = await begin({ xpPercent: 20 })
    await pass.xp(99)
    await pass.premium()
    const { status, body } = await pass.xp(99)
    expect([status, body]).toEqual([
      200,
      { level: 3, xp: 217, leveledUp: true, maxLevel: false, plan: expect.anything() },
    ])
    // A fifth of 4 is less than one xp.
    expect((await pass.xp(4)).body).toEqual({ level: 3, xp: 221, leveledUp: false, maxLevel: false, plan: null })
    expect(await entriesOf(pass)).toEqual([
      ['99', null, null, null],
      ['118', '19', null, null],
      ['4', null, null, null],
    ])
    expect((await pass.crossings()).at(-1)).toMatchObject({ handle: 'onLevelUp', data: { toLevel: 3, xp: 217 } })
  })

  it('is more from servers too, and exactly what an operator gives', async () => {
    const pass = await own({ xpPercent: 1_000 })
    const { scenarioId, nodeId } = pass.place
    const input = { scenarioId, nodeId, runId: pass.runId, source: 'match' }
    await game.app.service.run(addXp(pass.player, { ...input, amount: 3n }, { origin: 'server' }))
    await support('grantXp', pass, { amount: '50', source: 'gift', idempotencyKey: 'gift' })
    expect((await pass.progress()).xp).toBe(83)
    expect(await entriesOf(pass)).toEqual([
      ['33', '30', null, null],
      ['50', null, null, null],
    ])
  })

  it('is added once for a key, also by calls at once', async () => {
    const pass = await own({ xpPercent: 50 })
    const headers = { 'idempotency-key': 'once' }
    const answers = await Promise.all(times(8, () => pass.xp(31, headers)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect((await pass.xp(31, headers)).body.xp).toBe(46)
    // Each call rounds by itself.
    await Promise.all(times(10, () => pass.xp(1)))
    expect((await pass.progress()).xp).toBe(56)
  })

  it('is clipped before the bonus: the ledger has what was sent, and the bonus of what was granted', async () => {
    const pass = await own({ xpPercent: 20 }, { xp: { perSeason: 150 } })
    const answers = [await pass.xp(100), await pass.xp(100), await pass.xp(100)]
    expect(answers.map(({ body }) => body.xp)).toEqual([120, 180, 180])
    expect(await entriesOf(pass)).toEqual([
      ['120', '20', null, null],
      ['60', '10', '100', 'pass.perSeason'],
      ['0', null, '100', 'pass.perSeason'],
    ])
    const { data } = await game.graphql(
      game.platformKey,
      `{ player(id: "${pass.player.playerId}") { passes { xp xpLedger { nodes { amount bonus asked limitedBy } } } } }`,
    )
    expect(data.player.passes).toEqual([
      {
        xp: '180',
        xpLedger: {
          nodes: [
            { amount: '0', bonus: '0', asked: '100', limitedBy: 'pass.perSeason' },
            { amount: '60', bonus: '10', asked: '100', limitedBy: 'pass.perSeason' },
            { amount: '120', bonus: '20', asked: '100', limitedBy: null },
          ],
        },
      },
    ])
  })

  it('is refused over a limit without a bonus, and fits a limit that it exceeds with the bonus alone', async () => {
    const pass = await own({ xpPercent: 100 }, { xp: { max: 60, over: 'refuse' } })
    const refused = await pass.xp(61)
    expect([refused.status, refused.body.error]).toEqual([409, 'xp limit reached'])
    expect((await pass.progress()).xp).toBe(0)
    expect((await pass.xp(60)).body.xp).toBe(120)
    expect(await entriesOf(pass)).toEqual([['120', '60', null, null]])
  })

  it('is refused when the bonus alone passes int64, and changes nothing then', async () => {
    const pass = await begin({ xpPercent: 20 })
    await pass.xp(MAX_INT64 - 12n)
    await pass.premium()
    const before = await everything(pass.player)
    const { status, body } = await pass.xp(11)
    expect([status, body.error, body.code]).toEqual([409, 'xp limit exceeded', 'xp_limit_exceeded'])
    expect(await everything(pass.player)).toEqual(before)
    expect((await pass.xp(10)).text).toContain(`"xp":${MAX_INT64},`)
  })

  it('reaches tiers with its bonus, which a pass that claims for its players grants', async () => {
    const pass = await own({ xpPercent: 100 }, { autoClaim: 'always' })
    expect((await pass.xp(100)).body).toMatchObject({ level: 3, xp: 200 })
    const { body } = await pass.player.post('/sdk/v1/battlepass/progress', pass.place)
    expect(body.claimedTiers).toHaveLength(6)
    expect(await pass.holdings()).toMatchObject({
      wallet: { gold: '60' },
      items: { 'skin-1': '1', 'skin-2': '1', 'skin-3': '1' },
    })
  })

  it('completes a pass whose last level it reaches with its bonus alone', async () => {
    const options = { ...withPremium({ xpPercent: 20 }), levels: [0, 120], tiers: [tier(1, 'free')] }
    const pass = await enter(await publish(season(options)), { wallet: { gems: 950n } })
    await pass.premium()
    await pass.claim(1, 'free')
    expect((await pass.xp(100)).body).toMatchObject({ xp: 120, maxLevel: true })
    expect((await pass.crossings()).map(({ handle }) => handle)).toEqual([
      ...['onPremiumPurchase', 'onLevelUp', 'onMaxLevel', 'onComplete'],
    ])
  })

  it('follows an edit from the next call on, and ends with the ownership', async () => {
    const pass = await own({ xpPercent: 20 })
    expect((await pass.xp(10)).body.xp).toBe(12)
    await publish(season(withPremium({ xpPercent: 50 })), pass.place.scenarioId)
    expect((await pass.xp(10)).body.xp).toBe(27)
    await support('revokePremium', pass)
    expect((await pass.xp(10)).body.xp).toBe(37)
    await support('grantPremium', pass)
    expect((await pass.xp(10)).body.xp).toBe(52)
    await publish(season(withPremium({})), pass.place.scenarioId)
    expect((await pass.xp(10)).body.xp).toBe(62)
  })

  it('is in the data that a player takes along', async () => {
    const pass = await own({ xpPercent: 20 })
    await pass.xp(100)
    await pass.xp(1)
    const { text } = await pass.player.post('/sdk/v1/player/export', {})
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.filter(({ kind }) => kind === 'xp')).toMatchObject([
      { amount: 120, bonus: 20 },
      { amount: 1, bonus: null },
    ])
  })
})

describe('what the purchase of premium grants at once', () => {
  const INSTANT = { instant: [gold(500), { currency: 'gems', amount: 50 }, item('banner', 2)] }

  it('is granted once, with the price in one transaction, and its place in the ledger', async () => {
    const pass = await begin(INSTANT)
    expect((await pass.premium('buy')).body).toMatchObject({ success: true, error: null })
    expect((await pass.premium('buy')).body).toMatchObject({ success: true, error: null })
    expect((await pass.premium('again')).body).toEqual(premiumRefused('premium already owned'))
    expect(await pass.holdings()).toEqual({ wallet: { gems: '50', gold: '500' }, items: { banner: '2' } })
    const entry = { reason: 'premium_purchase', reference: `${pass.place.scenarioId}/pass` }
    expect(await pass.ledger()).toEqual([
      { currency: 'gems', amount: '-950', balance: '0', ...entry },
      { currency: 'gold', amount: '500', balance: '500', ...entry },
      { currency: 'gems', amount: '50', balance: '50', ...entry },
    ])
  })

  it('is granted to one of many purchases at once', async () => {
    const pass = await begin(INSTANT, {}, { gems: 9_500n })
    const answers = await Promise.all(times(10, (index) => pass.premium(`buy-${index}`)))
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    expect(new Set(answers.filter(({ body }) => !body.success).map(({ body }) => body.error))).toEqual(
      new Set(['premium already owned']),
    )
    expect(await pass.holdings()).toEqual({ wallet: { gems: '8600', gold: '500' }, items: { banner: '2' } })
  })

  it('comes with premium for nothing, too', async () => {
    const pass = await begin({ price: { currency: 'gems', amount: 0 }, instant: [gold(5)] }, {}, {})
    expect((await pass.premium()).body.success).toBe(true)
    expect((await pass.ledger()).map(({ currency, amount }) => [currency, amount])).toEqual([['gold', '5']])
  })

  it('is not granted by a purchase that is refused', async () => {
    const pass = await begin(INSTANT, {}, { gems: 949n })
    expect((await pass.premium()).body).toEqual(premiumRefused('insufficient funds'))
    expect(await pass.holdings()).toEqual({ wallet: { gems: '949' }, items: {} })
  })

  it('may use the room that the price leaves, and not one more', async () => {
    const instant = (amount: number) => ({ instant: [{ currency: 'gems', amount }] })
    const fitting = await begin(instant(950), {}, { gems: MAX_INT64 })
    expect((await fitting.premium()).body.success).toBe(true)
    expect((await fitting.holdings()).wallet.gems).toBe(String(MAX_INT64))
    const passing = await begin(instant(951), {}, { gems: MAX_INT64 })
    const before = await everything(passing.player)
    expect((await passing.premium('k')).body).toEqual(premiumRefused('balance limit exceeded'))
    expect(await everything(passing.player)).toEqual(before)
  })

  it('refuses the purchase with items that do not fit, and together with the rewards behind it', async () => {
    const edges = [
      { from: 'start', handle: 'onStart', to: 'gift' },
      { from: 'pass', handle: 'onPremiumPurchase', to: 'thanks' },
    ]
    const nodes = (instant: Json[], thanks: Json) => [
      passNode('pass', withPremium({ instant })),
      { id: 'gift', type: 'reward', data: { rewards: [item('banner', MAX_INT64 - 10n)] } },
      { id: 'thanks', type: 'reward', data: { rewards: [thanks] } },
    ]
    const enterWith = async (instant: Json[], thanks: Json) =>
      enter(await publish(scenario(nodes(instant, thanks), edges)), { wallet: { gems: 950n } })
    for (const [instant, thanks] of [
      [11, 1],
      [6, 5],
    ] as const) {
      const pass = await enterWith([item('banner', instant)], item('banner', thanks))
      const before = await everything(pass.player)
      expect((await pass.premium()).body).toEqual(premiumRefused('balance limit exceeded'))
      expect(await everything(pass.player)).toEqual(before)
    }
    const pass = await enterWith([item('banner', 6)], item('banner', 4))
    expect((await pass.premium()).body).toMatchObject({
      success: true,
      plan: { granted: [{ itemId: 'banner', amount: 4 }] },
    })
    expect((await pass.holdings()).items.banner).toBe(String(MAX_INT64))
  })

  it('is neither given nor taken by support', async () => {
    const pass = await begin(INSTANT)
    await support('grantPremium', pass)
    expect(await pass.holdings()).toEqual({ wallet: { gems: '950' }, items: {} })
    expect((await pass.premium()).body).toEqual(premiumRefused('premium already owned'))
    await support('revokePremium', pass)
    await pass.premium()
    await support('revokePremium', pass)
    expect(await pass.holdings()).toEqual({ wallet: { gems: '50', gold: '500' }, items: { banner: '2' } })
  })

  it('is granted before the tiers that the purchase claims', async () => {
    const pass = await begin({ instant: [gold(MAX_INT64 - 30n)] }, { autoClaim: 'always' })
    await pass.xp(100)
    expect((await pass.premium()).body.success).toBe(true)
    expect(await pass.holdings()).toEqual({
      wallet: { gems: '0', gold: String(MAX_INT64) },
      items: { 'skin-1': '1', 'skin-2': '1' },
    })
  })

  it('makes its currencies and items known to the environment', async () => {
    const instant = [{ currency: 'instant-coins', amount: 1 }, item('instant-hat')]
    const scenarioId = await publish(season(withPremium({ instant })))
    const { data } = await game.graphql(
      game.platformKey,
      `{ currencies(environment: "production", first: 200) { nodes { name scenarioIds } }
        items(environment: "production", first: 200) { nodes { itemId scenarioIds } } }`,
    )
    expect(data.currencies.nodes).toContainEqual({ name: 'instant-coins', scenarioIds: [scenarioId] })
    expect(data.items.nodes).toContainEqual({ itemId: 'instant-hat', scenarioIds: [scenarioId] })
  })
})
