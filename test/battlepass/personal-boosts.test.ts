import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { MAX_BOOST_MINUTES, MAX_BOOST_PERCENT } from '../../src/base/limits.ts'
import { newId } from '../../src/db/ids.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { claimTier } from '../../src/game/battlepass/claim-tier.ts'
import { bonusOf } from '../../src/game/battlepass/decide.ts'
import { lengthened, playerBoosts } from '../../src/game/boosts/player-boosts.ts'
import type { Boost } from '../../src/game/boosts/stored.ts'
import type { RewardBoost } from '../../src/game/definition/definition.ts'
import { gold, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Instance, startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { payload, support } from '../support/desk.ts'
import { CLAIM, enter, game, MAX_INT64, startPassGame, stopPassGame } from './pass-game.ts'
import { settle } from './settle.ts'

// Boosts of one player, which are rewards, or come from support.

let there: Instance

beforeAll(async () => {
  await startPassGame()
  there = await startInstance(game.databaseUrl, {})
})
afterAll(async () => {
  await there.stop()
  await stopPassGame()
})

const MINUTE = 60_000
const boost = (percent: number, minutes: number): Json => ({ boost: { percent, minutes } })

let count = 0
async function publish(definition: Json, scenarioId = `personal-${++count}`): Promise<string> {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
  return scenarioId
}
type Pass = Awaited<ReturnType<typeof enter>>
const begin = async (definition: Json, wallet = {}) => enter(await publish(definition), { wallet })
const refOf = ({ player: { playerId } }: Pass) => ({ environmentId: game.environmentId, playerId })

async function boostsOf({ player }: Pass) {
  const { rows } = await game.app.pool.query(
    'SELECT id, percent, starts_at, ends_at, reference FROM player_boosts WHERE player_id = $1 ORDER BY percent',
    [player.playerId],
  )
  return rows.map(({ id, percent, starts_at: from, ends_at: to, reference }) => {
    return { id, percent, minutes: (to.getTime() - from.getTime()) / MINUTE, reference, endsAt: to as Date }
  })
}
const lengths = async (pass: Pass) => (await boostsOf(pass)).map(({ percent, minutes }) => [percent, minutes])

async function bonusesOf({ player }: Pass) {
  const { rows } = await game.app.pool.query('SELECT bonus::int FROM xp_ledger WHERE player_id = $1 ORDER BY id', [
    player.playerId,
  ])
  return rows.map(({ bonus }) => bonus)
}

const act = async (
  mutation: 'grantPlayerBoost' | 'endPlayerBoost' | 'deletePlayer' | 'resetTier',
  pass: Pass,
  input = {},
) =>
  payload(await support(game, game.platformKey, mutation, { playerId: pass.player.playerId, reason: 'test', ...input }))

describe('the boosts of a player, by their rule', () => {
  it('give the bonus that a model of remaining minutes gives, for any claims and xp in any order', () => {
    const minutes = fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: MAX_BOOST_MINUTES }))
    const claims = fc.record({ percent: fc.constantFrom(5, 50, 600), minutes })
    const steps = fc.array(
      fc.record({ wait: fc.integer({ min: 0, max: 60 }), claim: fc.option(claims), amount: fc.bigInt(0n, 1_000n) }),
      { maxLength: 30 },
    )
    const others = fc.bigInt(0n, 700n)
    fc.assert(
      fc.property(steps, others, (made, ofScenario) => {
        let now = Date.now()
        const held: (RewardBoost & { startsAt: Date; endsAt: Date })[] = []
        const left = new Map<number, number>()
        const shared = [{ percent: ofScenario, startsAt: 0, endsAt: 1e15, sources: [], audience: 'everybody' }] as const
        for (const { wait, claim, amount } of made) {
          now += wait * MINUTE
          for (const [percent, minutes] of left) left.set(percent, Math.max(minutes - wait, 0))
          if (claim) {
            const { before, ...times } = lengthened(held, claim, new Date(now))
            if (before) held.splice(held.indexOf(before), 1)
            held.push({ ...claim, ...times })
            left.set(claim.percent, Math.min((left.get(claim.percent) ?? 0) + claim.minutes, MAX_BOOST_MINUTES))
          }
          const own = held.map(({ percent, startsAt, endsAt }): Boost => {
            const at = { startsAt: startsAt.getTime(), endsAt: endsAt.getTime() }
            return { ...at, percent: BigInt(percent), sources: [], audience: 'everybody' }
          })
          const boosting = { boosts: [...shared, ...own], now: new Date(now) }
          const sent = { amount, source: '', origin: 'client' } as const
          const running = [...left].filter(([, minutes]) => minutes > 0)
          const sum = running.reduce((all, [percent]) => all + BigInt(percent), ofScenario)
          const percent = sum < BigInt(MAX_BOOST_PERCENT) ? sum : BigInt(MAX_BOOST_PERCENT)
          expect(bonusOf({ premiumXpPercent: null }, { premiumOwned: false }, sent, boosting)).toBe(
            (amount * percent) / 100n,
          )
        }
      }),
    )
  })
})

describe('a personal boost as a reward', () => {
  const SEASON = season({ levels: [0], tiers: [tier(1, 'free', [gold(1), boost(100, 60)])] })

  it('is granted once by a claim, which answers it, and gives more of each xp in all scenarios', async () => {
    const pass = await begin(SEASON)
    const other = await publish(season())
    await pass.xp(10)
    const first = await pass.claim(1, 'free', { 'idempotency-key': 'one' })
    expect(first.text).toBe(
      '{"success":true,"alreadyClaimed":false,"error":null,"granted":[{"amount":1,"currency":"gold","itemId":null}],"boosts":[{"percent":100,"minutes":60}]}',
    )
    expect((await pass.claim(1, 'free', { 'idempotency-key': 'one' })).text).toBe(first.text)
    expect((await pass.claim(1, 'free')).body).toEqual({ ...first.body, alreadyClaimed: true })
    const reference = `${pass.place.scenarioId}/pass/free/1`
    expect(await boostsOf(pass)).toMatchObject([{ percent: 100, minutes: 60, reference }])
    expect((await pass.xp(10)).body.xp).toBe(30)
    const { player } = pass
    const elsewhere = { scenarioId: other, nodeId: 'pass', runId: await player.start(other) }
    const { body } = await player.post('/sdk/v1/battlepass/xp', { ...elsewhere, amount: 7, source: 'x' })
    expect(body.xp).toBe(14)
    expect(await bonusesOf(pass)).toEqual([null, 10, 7])

    await act('resetTier', pass, { ...pass.place, level: 1, track: 'free' })
    await pass.claim(1, 'free')
    expect(await lengths(pass)).toEqual([[100, 120]])
  })

  it('stands beside the rewards of a plan, and of several claims, and nowhere without one', async () => {
    const gift = { id: 'gift', type: 'reward', data: { rewards: [boost(50, 5), gold(3)] } }
    const tiers = [tier(2, 'free', [boost(60, 1)]), tier(1, 'free', [gold(1)])]
    const pass = await begin(
      scenario(
        [passNode('pass', { levels: [0, 10, 20], tiers }), gift],
        [
          { from: 'start', handle: 'onStart', to: 'pass' },
          { from: 'pass', handle: 'onLevelUp', to: 'gift' },
        ],
      ),
    )
    const run = async () => (await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })).body
    expect((await run()).plan).not.toHaveProperty('boosts')
    const { plan } = (await pass.xp(10)).body
    expect(plan).toMatchObject({ granted: [{ amount: 3 }], boosts: [{ percent: 50, minutes: 5 }] })
    expect((await run()).plan).toEqual(plan)
    const { data } = await pass.player.graphql(
      `mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed {
         level granted { amount currency itemId } boosts { percent minutes } } } }`,
      { input: { ...pass.place, runId: pass.runId } },
    )
    expect(data.claimAll.claimed).toEqual([
      { level: 1, granted: [{ amount: '1', currency: 'gold', itemId: null }], boosts: null },
      { level: 2, granted: [], boosts: [{ percent: 60, minutes: 1 }] },
    ])
  })

  it('is told as the own one among those that run', async () => {
    const pass = await begin(SEASON)
    const { player, place } = pass
    const read = async () => (await player.post('/sdk/v1/battlepass/season', place)).body.boosts
    const view = async () => (await player.post('/sdk/v1/scenarios/view', { scenarioId: place.scenarioId })).body
    expect(await read()).toEqual([])
    await pass.claim(1, 'free')
    const endsAt = (await boostsOf(pass))[0]?.endsAt ?? new Date(0)
    const shown = { percent: 100, endsAt: endsAt.toISOString(), audience: 'everybody', sources: [], personal: true }
    expect(await read()).toMatchObject([shown])
    const [{ state, tiers }] = (await view()).passes
    expect(state.boosts).toMatchObject([shown])
    expect(tiers[0].rewards[1]).toMatchObject({ amount: 1, boost: { percent: 100, minutes: 60 } })
    const { data } = await player.graphql('{ me { boosts { percent endsAt reference } } }')
    expect(data.me.boosts).toEqual([
      { percent: 100, endsAt: endsAt.toISOString(), reference: `${place.scenarioId}/pass/free/1` },
    ])
  })

  const TIERS = [tier(1, 'free', [{ choice: [[gold(1)], [boost(10, 5), boost(20, 5)]] }])]
  const MADE: Readonly<Record<string, [Json, (pass: Pass) => Promise<unknown>, Json[]]>> = {
    'an option of a choice': [
      season({ levels: [0], tiers: TIERS }),
      ({ player, place, runId }) => player.post(CLAIM, { ...place, runId, level: 1, track: 'free', choice: 1 }),
      [
        [10, 5],
        [20, 5],
      ],
    ],
    'what comes with premium at once': [
      season({ price: null, more: { premium: { price: { currency: 'gems', amount: 1 }, instant: [boost(30, 5)] } } }),
      (pass) => pass.premium(),
      [[30, 5]],
    ],
    'a bonus tier, and several of one percentage': [
      season({
        levels: [0],
        tiers: [],
        more: { beyond: { every: 10, max: 3, rewards: [boost(40, 5), boost(40, 2)] } },
      }),
      async (pass) => {
        await pass.xp(10)
        await pass.claim(1, 'bonus')
      },
      [[40, 7]],
    ],
    'a reward node, and a tier that is claimed with the xp that reaches it': [
      scenario(
        [
          passNode('pass', {
            levels: [0, 10],
            tiers: [tier(2, 'free', [boost(60, 1)])],
            more: { autoClaim: 'always' },
          }),
          { id: 'gift', type: 'reward', data: { rewards: [boost(50, 5)] } },
        ],
        [
          { from: 'start', handle: 'onStart', to: 'pass' },
          { from: 'pass', handle: 'onLevelUp', to: 'gift' },
        ],
      ),
      // It is not for the xp that brings it.
      async (pass) => expect((await pass.xp(10)).body.xp).toBe(10),
      [
        [50, 5],
        [60, 1],
      ],
    ],
  }
  it.each(Object.keys(MADE))('is %s', async (name) => {
    const [definition, call, expected] = MADE[name] as (typeof MADE)[string]
    const pass = await begin(definition, { gems: 1n })
    await call(pass)
    expect(await lengths(pass)).toEqual(expected)
  })

  it('is summed in the event of the end of a season', async () => {
    const rewards = [boost(100, 60)]
    const of = (endsAt: string) =>
      season({
        levels: [0],
        tiers: [tier(1, 'free', rewards), tier(1, 'premium', rewards)],
        more: { endsAt, atEnd: 'grant' },
      })
    const pass = await begin(of('2099-01-01T00:00:00Z'), { gems: 950n })
    await pass.premium()
    await publish(of('2020-01-01T00:00:00Z'), pass.place.scenarioId)
    await settle(pass.place.scenarioId)
    const { data } = await game.graphql(
      game.platformKey,
      `{ events(environment: "production", playerId: "${pass.player.playerId}", types: [SEASON_SETTLED], first: 9) { nodes { data } } }`,
    )
    const granted = [{ amount: '2', currency: null, itemId: null, boost: { percent: 100, minutes: 60 } }]
    expect(data.events.nodes).toMatchObject([{ data: { tiers: 2, failed: 0, granted } }])
    expect(await lengths(pass)).toEqual([[100, 120]])
  })

  it('adds up exactly when two instances claim several at once', async () => {
    const levels = times(6, (index) => index + 1)
    const tiers = levels.map((level) => tier(level, 'free', [boost(level % 2 === 0 ? 10 : 25, level)]))
    const pass = await begin(season({ levels: levels.map((level) => level - 1), tiers }))
    await pass.xp(10)
    const claim = ({ app }: Pick<Instance, 'app'>, level: number) => {
      const input = { ...pass.place, runId: pass.runId, level, track: 'free', idempotencyKey: null } as const
      return app.service.run(claimTier(refOf(pass), input))
    }
    // Each tier twice, once on either instance.
    const results = await Promise.all(levels.flatMap((level) => [claim(game, level), claim(there, level)]))
    expect(results.filter(({ alreadyClaimed }) => !alreadyClaimed)).toHaveLength(6)
    expect(await lengths(pass)).toEqual([
      [10, 12],
      [25, 9],
    ])
  })

  it('is for each xp that is sent after the answer of the claim, on two instances', async () => {
    const pass = await begin(SEASON)
    const sent: { readonly id: string; readonly isAfter: boolean }[] = []
    let isAnswered = false
    const give = async ({ app }: Pick<Instance, 'app'>) => {
      const entryId = newId()
      sent.push({ id: entryId, isAfter: isAnswered })
      const input = { ...pass.place, runId: pass.runId, amount: 10n, source: '' }
      await app.service.run(addXp(refOf(pass), input, { origin: 'client', entryId }))
    }
    await give(game)
    await give(there)
    const claimed = pass.claim(1, 'free').then(() => {
      isAnswered = true
    })
    const lines = [game, there].map(async (instance) => {
      for (let left = 3; left > 0; ) {
        if (isAnswered) left -= 1
        await give(instance)
      }
    })
    await Promise.all([claimed, ...lines])
    const { rows } = await game.app.pool.query(
      'SELECT id, bonus::int FROM xp_ledger WHERE player_id = $1 AND id = ANY ($2)',
      [pass.player.playerId, sent.flatMap(({ id, isAfter }) => (isAfter ? [id] : []))],
    )
    expect(rows).toHaveLength(6)
    expect(new Set(rows.map(({ bonus }) => bonus))).toEqual(new Set([10]))
    expect((await bonusesOf(pass)).slice(0, 2)).toEqual([null, null])
  })

  it('gives at most the limit of boosts together with those of the environment', async () => {
    const pass = await begin(season())
    const { errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { id } } }',
      {
        input: {
          ...{ environment: 'production', name: 'x', reason: 'x', percent: 600, scenarios: [pass.place.scenarioId] },
          ...{ startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' },
        },
      },
    )
    expect(errors).toBeUndefined()
    await act('grantPlayerBoost', pass, { percent: 50, minutes: 5, idempotencyKey: 'a' })
    await pass.xp(1)
    await act('grantPlayerBoost', pass, { percent: 700, minutes: 5, idempotencyKey: 'b' })
    await pass.xp(1)
    expect(await bonusesOf(pass)).toEqual([6, 10])
  })
})

describe('support', () => {
  it('gives a boost once for a key, makes it longer, and cuts it 30 days from now', async () => {
    const pass = await begin(season())
    const input = { percent: 20, minutes: MAX_BOOST_MINUTES - 10, idempotencyKey: 'one' }
    await Promise.all(times(3, () => act('grantPlayerBoost', pass, input)))
    const [before] = await boostsOf(pass)
    expect(before).toMatchObject({ percent: 20, minutes: MAX_BOOST_MINUTES - 10 })
    expect(before?.reference).toMatch(/^support\/[0-9a-f-]{36}$/)
    await act('grantPlayerBoost', pass, { ...input, idempotencyKey: 'two' })
    const [after] = await boostsOf(pass)
    expect(after?.id).toBe(before?.id)
    expect(after?.minutes).toBeGreaterThanOrEqual(MAX_BOOST_MINUTES)
    expect(after?.endsAt.getTime()).toBeLessThan(Date.now() + (MAX_BOOST_MINUTES + 1) * MINUTE)
    const { rows } = await game.app.pool.query(
      `SELECT before::json, after::json FROM audit_log WHERE target = $1 AND action = 'player.grant_boost' ORDER BY id`,
      [pass.player.playerId],
    )
    const shown = (boost = before) => ({ boostId: boost?.id, percent: 20, endsAt: boost?.endsAt.toISOString() })
    expect(rows).toEqual([
      { before: null, after: shown() },
      { before: shown(), after: shown(after) },
    ])
  })

  it('ends a boost at once, on every instance', async () => {
    const pass = await begin(season())
    const give = async () => {
      const input = { ...pass.place, runId: pass.runId, amount: 10n, source: '' }
      await there.app.service.run(addXp(refOf(pass), input))
    }
    const { boost: given } = await act('grantPlayerBoost', pass, { percent: 20, minutes: 5, idempotencyKey: 'a' })
    await give()
    expect(await act('endPlayerBoost', pass, { boostId: given.boostId.toUpperCase() })).toMatchObject({ changed: true })
    expect(await act('endPlayerBoost', pass, { boostId: given.boostId })).toMatchObject({ changed: false })
    await give()
    expect(await bonusesOf(pass)).toEqual([2, null])
    expect(await boostsOf(pass)).toEqual([])
  })
})

describe('the boosts of a player', () => {
  it('are read by many calls at once, each at a moment of its own', async () => {
    const pass = await begin(season())
    await act('grantPlayerBoost', pass, { percent: 20, minutes: 5, idempotencyKey: 'a' })
    const query = '{ me { boosts { percent } } }'
    const answers = await Promise.all(times(60, () => game.graphql(pass.player.token, query)))
    expect(answers).toEqual(times(60, () => ({ data: { me: { boosts: [{ percent: 20 }] } } })))
  })

  it('are removed once they have ended, without a new version of the player', async () => {
    const pass = await begin(season())
    await act('grantPlayerBoost', pass, { percent: 20, minutes: 5, idempotencyKey: 'a' })
    await act('grantPlayerBoost', pass, { percent: 30, minutes: 5, idempotencyKey: 'b' })
    const set = (percent: number, ago: string) =>
      game.app.pool.query(
        `UPDATE player_boosts SET starts_at = now() - interval '9 days', ends_at = now() - $3::interval
         WHERE player_id = $1 AND percent = $2`,
        [pass.player.playerId, percent, ago],
      )
    await set(20, '2 days')
    const version = async () =>
      (await game.app.pool.query('SELECT version FROM player_versions WHERE player_id = $1', [pass.player.playerId]))
        .rows[0].version
    const before = await version()
    await until('nothing is left to remove', async () => (await playerBoosts.purge(game.app.pool)) === 0)
    expect([await lengths(pass), await version()]).toEqual([[[30, 5]], before])
    // Another session that takes a running one away is noticed.
    await game.app.pool.query('DELETE FROM player_boosts WHERE player_id = $1', [pass.player.playerId])
    expect(await version()).not.toBe(before)
    await pass.xp(10)
    expect(await bonusesOf(pass)).toEqual([null])
  })

  it('give nothing that passes the total of int64: the call is refused', async () => {
    const pass = await begin(season())
    await pass.xp(MAX_INT64 - 10n)
    await act('grantPlayerBoost', pass, { percent: 100, minutes: 5, idempotencyKey: 'a' })
    expect(await pass.xp(6)).toMatchObject({ status: 409, body: { error: 'xp limit exceeded' } })
  })
})
