import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { carriedXp, converted } from '../../src/game/definition/next-season.ts'
import { gold, item, type PassOptions, passNode, scenario, tier } from '../harness/definitions.ts'
import { startInstance, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { at, enter, game, handles, MAX_INT64, startPassGame, stopPassGame, supported } from './pass-game.ts'
import { settle } from './settle.ts'

// What follows a season: the next one, with what players take along, and currencies that end.

const START = '/sdk/v1/scenarios/start'
const OPEN = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }
const ENDED = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z', claimUntil: '2099-01-01T00:00:00Z' }
const CLOSED = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
const LEVELS = [0, 100, 200, 300, 400]

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
function newIds<const Names extends readonly string[]>(...names: Names): { readonly [Index in keyof Names]: string } {
  count += 1
  return names.map((name) => `${name}-${count}`) as never
}

interface Rewarded extends PassOptions {
  /** Rewards of a node behind a handle of the pass. */
  readonly behind?: { readonly [handle: string]: Json }
}

async function publish(id: string, more: object, { behind = {}, ...options }: Rewarded = {}): Promise<void> {
  const nodes = Object.entries(behind).map(([handle, reward]) => ({
    ...{ id: `after-${handle}`, type: 'reward' },
    data: { rewards: [reward] },
  }))
  const edges = Object.keys(behind).map((handle) => ({ from: 'pass', handle, to: `after-${handle}` }))
  const definition = scenario(
    [passNode('pass', { levels: LEVELS, ...options, more: more as never }), ...nodes],
    [{ from: 'start', handle: 'onStart', to: 'pass' }, ...edges],
  )
  const { status, text } = await game.publish(id, definition)
  expect(status, text).toBe(200)
}

type Pass = Awaited<ReturnType<typeof enter>>
const refOf = ({ player: { playerId } }: Pass) => ({ environmentId: game.environmentId, playerId })
const start = async ({ player }: Pass, scenarioId: string, idempotencyKey?: string) =>
  (await player.post(START, { scenarioId, idempotencyKey })).body
const progress = async ({ player, runId }: Pass, scenarioId: string) => at(player, scenarioId, runId).progress()
const xpOf = async ({ player }: Pass, scenarioId: string) => {
  const { rows } = await game.app.pool.query(
    'SELECT amount::int, source, origin, reference FROM xp_ledger WHERE player_id = $1 AND scenario_id = $2 ORDER BY id',
    [player.playerId, scenarioId],
  )
  return rows
}
const ledgerOf = async ({ player }: Pass) => {
  const { rows } = await game.app.pool.query(
    `SELECT currency, amount::text, balance::text, reason, reference FROM wallet_ledger
     WHERE player_id = $1 AND reason = 'season_end' ORDER BY id`,
    [player.playerId],
  )
  return rows
}
const settledOf = async ({ player }: Pass) => {
  await settled(game.app.pool)
  const { rows } = await game.app.pool.query(
    `SELECT data FROM events WHERE player_id = $1 AND type = 'season.settled' ORDER BY position`,
    [player.playerId],
  )
  return rows.map(({ data }) => JSON.parse(data))
}

describe('the season that follows', () => {
  it('is started with the one that has ended, and the answer names its run', async () => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two } }
    await publish(two, OPEN)
    await publish(one, { ...OPEN, ...next })
    const pass = await enter(one)
    expect(await start(pass, one)).toEqual({ runId: pass.runId, resumed: true, plan: expect.anything() })

    await publish(one, { ...ENDED, ...next })
    const first = await start(pass, one)
    expect(first).toEqual({
      ...{ runId: pass.runId, resumed: true, plan: expect.anything() },
      next: {
        ...{ scenarioId: two, runId: expect.any(String), resumed: false },
        plan: expect.objectContaining({ crossed: [{ nodeId: 'start', handle: 'onStart' }] }),
      },
    })
    const { runId } = first.next
    expect((await start(pass, one)).next).toMatchObject({ runId, resumed: true })
    expect(await start(pass, two)).toMatchObject({ runId, resumed: true })
    expect((await at(pass.player, two, runId).xp(100)).body).toMatchObject({ level: 2 })
    // Claims of the season that has ended go on.
    expect((await pass.claim(1, 'free')).body).toMatchObject({ success: true })
  })

  it.each([
    ['has not ended', OPEN, OPEN],
    ['follows later', ENDED, { startsAt: '2098-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }],
    ['is over itself, and nothing follows it', ENDED, CLOSED],
  ])('is not started while the one before, or itself, %s', async (_when, before, after) => {
    const [one, two] = newIds('one', 'two')
    await publish(two, after)
    await publish(one, { ...before, next: { scenarioId: two, carry: { xpPercent: 100 } } })
    const pass = await enter(one)
    expect(await start(pass, one)).not.toHaveProperty('next')
    expect(await progress(pass, two)).toMatchObject({ xp: 0 })
  })

  it('is not started while it is not published, nor does a season follow itself', async () => {
    const [one, two] = newIds('one', 'two')
    await publish(one, { ...ENDED, next: { scenarioId: two } })
    await publish(two, ENDED)
    const own = scenario([passNode('pass', { levels: LEVELS, more: { ...ENDED, next: { scenarioId: two } } })], [])
    const refused = await game.publish(two, own)
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('a season does not follow itself')])
    const pass = await enter(one)
    expect(await start(pass, one)).not.toHaveProperty('next')
    expect(await start(pass, two)).not.toHaveProperty('next')
    await publish(two, OPEN)
    expect(await start(pass, one)).toHaveProperty('next.scenarioId', two)
  })

  it('is the one that runs now, for a player who has missed some', async () => {
    const [one, two, three] = newIds('one', 'two', 'three')
    const carry = { xpPercent: 100 }
    await publish(three, OPEN)
    await publish(two, { ...OPEN, next: { scenarioId: three, carry } })
    await publish(one, { ...OPEN, next: { scenarioId: two, carry } })
    const [away, here] = [await enter(one), await enter(one)]
    for (const pass of [away, here]) await pass.xp(250)
    await publish(one, { ...ENDED, next: { scenarioId: two, carry } })
    await start(here, one)
    await publish(two, { ...ENDED, next: { scenarioId: three, carry } })

    expect((await start(away, one)).next.scenarioId).toBe(three)
    expect((await start(here, one)).next.scenarioId).toBe(three)
    // Xp goes from one season to the next one, and no further.
    expect([await progress(away, two), await progress(away, three)]).toMatchObject([{ xp: 0 }, { xp: 0 }])
    expect([await progress(here, two), await progress(here, three)]).toMatchObject([{ xp: 250 }, { xp: 250 }])
  })
})

describe('what a player takes along', () => {
  const carry = { xpPercent: 50, xpMax: 150, premium: true }

  it.each([
    ['at the start of the season that has ended', 0],
    ['at the start of the next one', 1],
  ])('is given once, %s, with the levels that it reaches', async (_when, at) => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two, carry } }
    await publish(one, { ...OPEN, ...next })
    await publish(two, OPEN, { behind: { onLevelUp: gold(7) } })
    const [much, little, none] = [await enter(one, { wallet: { gems: 950n } }), await enter(one), await enter(one)]
    await much.premium()
    await much.xp(450)
    await little.xp(201)
    await publish(one, { ...ENDED, ...next })

    const id = [one, two][at] ?? ''
    const answer = await start(much, id)
    expect((answer.next ?? answer).plan.crossed).toEqual([
      { nodeId: 'start', handle: 'onStart' },
      { nodeId: 'pass', handle: 'onLevelUp' },
      { nodeId: 'after-onLevelUp', handle: 'onComplete' },
    ])
    for (const pass of [much, little, none, much, little]) for (const place of [one, two]) await start(pass, place)
    expect(await progress(much, two)).toMatchObject({ level: 2, xp: 150, premiumOwned: true })
    expect(await progress(little, two)).toMatchObject({ level: 2, xp: 100, premiumOwned: false })
    expect(await progress(none, two)).toMatchObject({ xp: 0, premiumOwned: false })
    expect(await xpOf(much, two)).toEqual([
      { amount: 150, source: 'season', origin: 'season', reference: `${one}/pass` },
    ])
    expect(await much.holdings()).toMatchObject({ wallet: { gold: '7' } })
    expect(await handles(little.player)).toEqual(['pass onLevelUp', 'pass onLevelUp', 'after-onLevelUp onComplete'])
    // What it had is still there.
    expect(await progress(much, one)).toMatchObject({ xp: 450, premiumOwned: true })
  })

  it('is found after forty ended ones, and a ring of ended ones leads nowhere', async () => {
    const chain = newIds(...times(40, (n) => `chain${n}`))
    const last = chain.at(-1) as string
    await publish(last, OPEN)
    for (const [n, id] of chain.slice(0, -1).entries())
      await publish(id, { ...ENDED, next: { scenarioId: chain[n + 1] } })
    const pass = await enter(chain[0] as string)
    expect((await start(pass, chain[0] as string)).next.scenarioId).toBe(last)
    await publish(last, { ...ENDED, next: { scenarioId: chain[5] } })
    expect(await start(pass, chain[0] as string)).not.toHaveProperty('next')
  })

  it('waits for the end of the season before, and comes with the next start', async () => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two, carry } }
    await publish(one, { ...OPEN, ...next })
    await publish(two, OPEN)
    const pass = await enter(one)
    await pass.xp(200)
    expect(await start(pass, two)).toMatchObject({ resumed: false })
    expect(await progress(pass, two)).toMatchObject({ xp: 0 })
    await publish(one, { ...ENDED, ...next })
    expect(await start(pass, two)).toMatchObject({
      resumed: true,
      plan: { crossed: [{ nodeId: 'pass', handle: 'onLevelUp' }] },
    })
    expect(await progress(pass, two)).toMatchObject({ xp: 100 })
  })

  it('follows an edit of the season before at once, on every instance', async () => {
    const [one, two] = newIds('one', 'two')
    await publish(two, OPEN)
    await publish(one, { ...ENDED, ...{ startsAt: OPEN.startsAt } })
    await publish(one, OPEN)
    const other = await startInstance(game.databaseUrl, {})
    const pass = await enter(one)
    await pass.xp(200)
    const elsewhere = () => other.app.service.run(startRun(refOf(pass), { scenarioId: two, idempotencyKey: null }))
    await elsewhere()
    await publish(one, { ...ENDED, next: { scenarioId: two, carry } })
    await elsewhere()
    expect(await progress(pass, two)).toMatchObject({ xp: 100 })
    await other.stop()
  })

  it('is not limited by rules of xp, and claims tiers where the pass claims by itself', async () => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two, carry: { xpPercent: 100 } } }
    await publish(one, { ...OPEN, ...next })
    await publish(two, { ...OPEN, autoClaim: 'always', xp: { from: 'server', others: false, perDay: 1 } })
    const pass = await enter(one)
    await pass.xp(200)
    await publish(one, { ...ENDED, ...next })
    expect((await start(pass, one)).next.plan).toMatchObject({
      crossed: [
        { nodeId: 'start', handle: 'onStart' },
        { nodeId: 'pass', handle: 'onLevelUp' },
      ],
      granted: [10, 20, 30].map((amount) => ({ amount, currency: 'gold', itemId: null })),
    })
    expect(await progress(pass, two)).toMatchObject({
      xp: 200,
      claimedTiers: [1, 2, 3].map((level) => ({ level, track: 'free' })),
    })
  })

  it('goes to the pass that is named, and is nothing where there is none', async () => {
    const [one, two] = newIds('one', 'two')
    await publish(one, OPEN)
    const pass = await enter(one)
    await pass.xp(200)
    await publish(two, OPEN)
    const to = (nodeId: string) => ({ ...ENDED, next: { scenarioId: two, nodeId, carry: { xpPercent: 100 } } })
    await publish(one, to('other'))
    expect(await start(pass, one)).not.toHaveProperty('next')
    await publish(one, to('pass'))
    expect(await start(pass, one)).toHaveProperty('next')
    expect(await progress(pass, two)).toMatchObject({ xp: 200 })
  })

  it('waits while the rewards behind its levels do not fit, and changes nothing until then', async () => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two, carry } }
    await publish(one, { ...OPEN, ...next })
    await publish(two, OPEN, { behind: { onLevelUp: gold(MAX_INT64) } })
    const pass = await enter(one, { wallet: { gold: 1n } })
    await pass.xp(200)
    await publish(one, { ...ENDED, ...next })
    expect(await start(pass, one)).toHaveProperty('next.resumed', false)
    expect([await progress(pass, two), await xpOf(pass, two)]).toMatchObject([{ xp: 0 }, []])
    await supported('debitWallet', {
      ...{ playerId: pass.player.playerId, currency: 'gold', amount: '1', idempotencyKey: 'room' },
    })
    await start(pass, one)
    expect(await progress(pass, two)).toMatchObject({ xp: 100 })
  })

  it('is given once to a player that starts twenty times at once, with and without keys, on two instances', async () => {
    const [one, two] = newIds('one', 'two')
    const next = { next: { scenarioId: two, carry } }
    await publish(one, { ...OPEN, ...next })
    await publish(two, OPEN)
    const passes = await Promise.all(times(5, () => enter(one)))
    await Promise.all(passes.map((pass) => pass.xp(200)))
    await publish(one, { ...ENDED, ...next })
    const other = await startInstance(game.databaseUrl, {})
    const starts = passes.flatMap((pass) =>
      times(20, (index) => {
        const scenarioId = index % 4 < 2 ? one : two
        const idempotencyKey = index % 3 === 0 ? `start-${index % 6}-${scenarioId}` : null
        return index % 2 === 0
          ? pass.player.post(START, { scenarioId, idempotencyKey }).then(({ status, text }) => ({ status, text }))
          : other.app.service
              .run(startRun(refOf(pass), { scenarioId, idempotencyKey }))
              .then(() => ({ status: 200, text: '' }))
      }),
    )
    for (const { status, text } of await Promise.all(starts)) expect(status, text).toBe(200)
    for (const pass of passes)
      expect([await progress(pass, two), await xpOf(pass, two)]).toMatchObject([{ xp: 100 }, [{ amount: 100 }]])
    const { rows } = await game.app.pool.query('SELECT count(*)::int AS runs FROM runs WHERE scenario_id = $1', [two])
    expect(rows[0].runs).toBe(passes.length)
    await other.stop()
  })

  it('is a part of the xp, never more than the limit, and rounded down', () => {
    const part = fc.record({
      xpPercent: fc.integer({ min: 0, max: 100 }),
      xpMax: fc.option(fc.bigInt(1n, MAX_INT64)),
      premium: fc.boolean(),
    })
    fc.assert(
      fc.property(part, fc.bigInt(0n, MAX_INT64), (carry, xp) => {
        const carried = carriedXp(carry, xp)
        const limit = carry.xpMax ?? MAX_INT64
        expect(carried <= limit && carried * 100n <= xp * BigInt(carry.xpPercent)).toBe(true)
        if (carried < limit) expect((carried + 1n) * 100n > xp * BigInt(carry.xpPercent)).toBe(true)
      }),
    )
  })
})

describe('currencies that end with a season', () => {
  const convert = [{ currency: 'stars' }, { currency: 'tickets', to: 'gold', rate: '3:10' }]

  it('expire or become another one once claims have closed, with rows in the ledger and one event', async () => {
    const [one] = newIds('one')
    await publish(one, { ...OPEN, next: { convert } })
    const wallet = { stars: 5n, tickets: 29n, gems: 1n }
    const [player, poor, stranger] = [await enter(one, { wallet }), await enter(one), await enter('season', { wallet })]
    for (const pass of [player, poor]) await pass.xp(1)
    await publish(one, { ...ENDED, next: { convert } })
    await publish(one, { ...CLOSED, next: { convert } })
    expect(await settle(one)).toMatchObject({ players: 2, tiers: 0, failed: 0 })

    for (const pass of [player, stranger]) {
      expect(await pass.holdings()).toEqual({ wallet: { gems: '1', gold: '8', stars: '0', tickets: '0' }, items: {} })
      expect(await ledgerOf(pass)).toEqual([
        { currency: 'stars', amount: '-5', balance: '0', reason: 'season_end', reference: `${one}/pass` },
        { currency: 'tickets', amount: '-29', balance: '0', reason: 'season_end', reference: `${one}/pass` },
        { currency: 'gold', amount: '8', balance: '8', reason: 'season_end', reference: `${one}/pass` },
      ])
      expect(await settledOf(pass)).toEqual([
        {
          ...{ tiers: 0, failed: 0, granted: [{ amount: 8, currency: 'gold', itemId: null }] },
          ended: [
            { amount: 5, currency: 'stars', itemId: null },
            { amount: 29, currency: 'tickets', itemId: null },
          ],
        },
      ])
    }
    expect([await ledgerOf(poor), await settledOf(poor)]).toEqual([[], []])
  })

  it('end after earned tiers are granted, and after the nodes behind onSeasonEnd have paid', async () => {
    const [one] = newIds('one')
    const options = { levels: [0, 100], tiers: [tier(1, 'free', [{ currency: 'stars', amount: 10 } as never])] }
    const behind = { onSeasonEnd: { currency: 'stars', amount: 5 } }
    const more = { atEnd: 'grant', next: { convert: [{ currency: 'stars', to: 'gold', rate: '1:5' }] } }
    await publish(one, { ...OPEN, ...more }, { ...options, behind })
    const pass = await enter(one)
    await pass.xp(1)
    await publish(one, { ...CLOSED, ...more }, { ...options, behind })
    await settle(one)
    expect((await pass.holdings()).wallet).toEqual({ gold: '3', stars: '0' })
  })

  it('stay where what they become would not fit, and are told as failed', async () => {
    const [one] = newIds('one')
    await publish(one, { ...OPEN, next: { convert } })
    const pass = await enter(one, { wallet: { gold: MAX_INT64, tickets: 10n, stars: 1n } })
    await pass.xp(1)
    await publish(one, { ...CLOSED, next: { convert } })
    expect(await settle(one)).toMatchObject({ failed: 1 })
    expect((await pass.holdings()).wallet).toEqual({ gold: String(MAX_INT64), tickets: '10', stars: '0' })
    expect((await settledOf(pass))[0]).toMatchObject({ failed: 1 })
  })

  it('become no more than their rate says, and no less than one less', () => {
    const size = fc.bigInt(1n, 999_999_999n)
    fc.assert(
      fc.property(size, size, fc.bigInt(0n, MAX_INT64), (gives, per, balance) => {
        const amount = converted({ currency: 'a', to: 'b', gives, per }, balance)
        expect(amount * per <= balance * gives && (amount + 1n) * per > balance * gives).toBe(true)
      }),
    )
  })
})

describe('onSeasonEnd', () => {
  it('is crossed once in an active run, once claims have closed, with what the player has reached', async () => {
    const [one] = newIds('one')
    const behind = { onSeasonEnd: item('diploma') }
    await publish(one, OPEN, { behind })
    const [player, runless, fresh] = [await enter(one), await enter(one), await enter(one)]
    for (const pass of [player, runless]) await pass.xp(100)
    await supported('cancelRun', { playerId: runless.player.playerId, runId: runless.runId })
    await publish(one, ENDED, { behind })
    await publish(one, CLOSED, { behind })
    await settle(one)
    await publish(one, OPEN, { behind })
    await publish(one, CLOSED, { behind })
    await settle(one)
    expect((await player.crossings()).slice(-2)).toEqual([
      { nodeId: 'pass', handle: 'onSeasonEnd', data: { level: 2, xp: 100, premiumOwned: false } },
      { nodeId: 'after-onSeasonEnd', handle: 'onComplete', data: expect.anything() },
    ])
    const items = [player, runless, fresh].map(async (pass) => (await pass.holdings()).items)
    expect(await Promise.all(items)).toEqual([{ diploma: '1' }, {}, {}])
  })

  it('waits while the rewards behind it do not fit', async () => {
    const [one] = newIds('one')
    const behind = { onSeasonEnd: gold(1) }
    await publish(one, OPEN, { behind })
    const pass = await enter(one, { wallet: { gold: MAX_INT64 } })
    await pass.xp(100)
    await publish(one, CLOSED, { behind })
    expect(await settle(one)).toMatchObject({ failed: 1 })
    expect((await pass.crossings()).map(({ handle }) => handle)).not.toContain('onSeasonEnd')
  })
})
