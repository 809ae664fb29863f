import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { settleDue } from '../../src/game/seasons/settle-seasons.ts'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import type { Command } from '../../src/transactions/command.ts'
import { Desk, death, newKey } from '../grants/jobs.ts'
import { item, passNode, scenario } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'
import { until } from '../harness/until.ts'
import { at, enter, game, startPassGame, stopPassGame } from './pass-game.ts'
import { job, readSettlement, settle } from './settle.ts'

// Random seasons from their first xp to the next season: players play, claim and buy, operators give to all of them and
// take it back, the season ends, claims close, edits move that, and all jobs die again and again. Each wallet has what the
// rules allow, no more and no less.

const LIVES = atScale(30, 6)
const PLAYERS = 6
const LEVELS = 5
const PRICE = 950
const START = '/sdk/v1/scenarios/start'

beforeAll(startPassGame)
afterAll(stopPassGame)

const level = fc.integer({ min: 1, max: LEVELS })
const claims = fc.array(fc.tuple(level, fc.constantFrom('free', 'premium')), { maxLength: 3 })
const player = fc.record({
  xp: fc.array(fc.integer({ min: 1, max: 220 }), { maxLength: 3 }),
  buys: fc.boolean(),
  early: claims,
  late: claims,
  /** Which season it starts once the first has ended, each at once. */
  comes: fc.array(fc.constantFrom('first', 'second'), { maxLength: 4 }),
})
const rules = fc.record({
  atEnd: fc.constantFrom('lose', 'grant'),
  autoClaim: fc.constantFrom('never', 'always'),
  percent: fc.integer({ min: 1, max: 100 }),
  most: fc.option(fc.integer({ min: 1, max: 300 })),
  premium: fc.boolean(),
  /** What stars become: nothing, gold at a rate, or they stay. */
  stars: fc.constantFrom('expire', '7:3', '1:4', 'stay'),
  hasMedal: fc.boolean(),
  edits: fc.integer({ min: 0, max: 2 }),
  /** After how many players the job at the end dies, each time. */
  deaths: fc.array(fc.integer({ min: 0, max: PLAYERS }), { maxLength: 4 }),
  /** Gold for all players, while they play or while the season is settled. */
  grants: fc.array(
    fc.record({
      gold: fc.integer({ min: 1, max: 50 }),
      when: fc.constantFrom('playing', 'settling'),
      deaths: fc.array(death, { maxLength: 3 }),
      isUndone: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
})
const life = fc.record({ rules, players: fc.array(player, { minLength: PLAYERS, maxLength: PLAYERS }) })
type Rules = typeof rules extends fc.Arbitrary<infer R> ? R : never
type Grant = Rules['grants'][number]
type Player = typeof player extends fc.Arbitrary<infer P> ? P : never

const OPEN = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }
const ENDED = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z', claimUntil: '2099-01-01T00:00:00Z' }
const closed = (day: number) => ({ ...ENDED, claimUntil: `2020-03-0${day}T00:00:00Z` })

const levels = times(LEVELS, (index) => index * 100)
const tiers = times(LEVELS, (index): Json[] => [
  {
    level: index + 1,
    track: 'free',
    rewards: [
      { currency: 'gold', amount: index + 1 },
      { currency: 'stars', amount: 3 },
    ],
  },
  { level: index + 1, track: 'premium', rewards: [item('skin')] },
]).flat()

function seasonOf(
  { atEnd, autoClaim, percent, most, premium, stars, hasMedal }: Rules,
  next: string,
  dates: object,
): Json {
  const conversion = stars === 'expire' ? { currency: 'stars' } : { currency: 'stars', to: 'gold', rate: stars }
  const carry = { xpPercent: percent, xpMax: most, premium }
  const convert = stars === 'stay' ? [] : [conversion]
  const more = { ...dates, atEnd, autoClaim, next: { scenarioId: next, carry, convert } }
  const nodes: Json[] = [
    passNode('pass', { levels, tiers, price: { currency: 'gems', amount: PRICE }, more: more as never }),
    { id: 'medal', type: 'reward', data: { rewards: [item('medal')] } },
  ]
  const edges = [{ from: 'start', handle: 'onStart', to: 'pass' }]
  return scenario(nodes, hasMedal ? [...edges, { from: 'pass', handle: 'onSeasonEnd', to: 'medal' }] : edges)
}

/** What the rules allow a player to have in the end. */
function expected({ atEnd, autoClaim, percent, most, premium, stars, hasMedal, grants }: Rules, one: Player) {
  const xp = one.xp.reduce((sum, amount) => sum + amount, 0)
  const reached = Math.min(LEVELS, 1 + Math.floor(xp / 100))
  const earned = times(reached, (index) => index + 1).flatMap((number) =>
    one.buys ? [`${number} free`, `${number} premium`] : [`${number} free`],
  )
  const asked = [...one.early, ...one.late].map(([number, track]) => `${number} ${track}`)
  const own = earned.filter((tier) => asked.includes(tier))
  const hasPlayed = xp > 0 || one.buys
  // Level 1 needs no xp: a claim alone begins the pass.
  const hasPass = hasPlayed || own.length > 0
  const isAll = (atEnd === 'grant' && hasPass) || (autoClaim === 'always' && hasPlayed)
  const claimed = isAll ? earned : own
  const free = claimed.filter((tier) => tier.endsWith('free')).map((tier) => Number.parseInt(tier, 10))
  const won = free.length * 3
  const [gives = 0, per = 1] = stars.split(':').map(Number)
  const given = grants.reduce((sum, grant) => sum + (grant.isUndone ? 0 : grant.gold), 0)
  const gold =
    given + free.reduce((sum, number) => sum + number, 0) + (stars.includes(':') ? Math.floor((won * gives) / per) : 0)
  const left = stars === 'stay' ? won : 0
  const carried =
    hasPass && one.comes.length > 0 ? Math.min(most ?? Number.MAX_SAFE_INTEGER, Math.floor((xp * percent) / 100)) : 0
  return {
    wallet: { gold, stars: left, gems: one.buys ? 0 : PRICE },
    skins: claimed.filter((tier) => tier.endsWith('premium')).length,
    medals: hasMedal && hasPass ? 1 : 0,
    next: { xp: carried, premiumOwned: one.comes.length > 0 && one.buys && premium },
  }
}

it('leaves each player with what the rules allow, through random lives of seasons', async () => {
  const lives = fc.sample(life, LIVES)
  for (const [index, { rules, players }] of lives.entries()) {
    const [first, second] = [`life-${index}`, `life-${index}-next`]
    const publish = async (dates: object): Promise<void> => {
      const { status, text } = await game.publish(first, seasonOf(rules, second, dates))
      expect(status, text).toBe(200)
    }
    await game.publish(
      second,
      scenario(
        [passNode('pass', { levels, tiers: [], more: OPEN })],
        [{ from: 'start', handle: 'onStart', to: 'pass' }],
      ),
    )
    await publish(OPEN)
    const entered = await Promise.all(players.map(() => enter(first, { wallet: { gems: BigInt(PRICE) } })))
    const ids = entered.map(({ player }) => player.playerId)
    const give = (when: Grant['when']) =>
      rules.grants.filter((grant) => grant.when === when).map((grant) => giveAll(ids, grant))
    const playing = give('playing')
    const played = await Promise.all(
      players.map(async (one, number) => {
        const pass = entered[number] as (typeof entered)[number]
        const calls = one.xp.map((amount) => () => pass.xp(amount))
        if (one.buys) calls.splice(Math.floor(calls.length / 2), 0, () => pass.premium())
        for (const call of calls) expect((await call()).status).toBe(200)
        for (const [tier, track] of one.early) await pass.claim(tier, track)
        return { one, pass }
      }),
    )

    await Promise.all(playing)
    await publish(ENDED)
    const coming = played.flatMap(({ one, pass }) => [
      ...one.comes.map((which) => pass.player.post(START, { scenarioId: which === 'first' ? first : second })),
      ...one.late.map(([number, track]) => pass.claim(number, track)),
    ])
    for (const { status } of await Promise.all(coming)) expect(status).toBe(200)

    await publish(closed(1))
    await Promise.all([end(first, rules, publish), ...give('settling')])
    const found = await Promise.all(
      played.map(async ({ pass }) => {
        const { wallet, items } = await pass.holdings()
        const { xp, premiumOwned } = await at(pass.player, second, '').progress()
        const amounts = {
          gold: Number(wallet.gold ?? 0),
          stars: Number(wallet.stars ?? 0),
          gems: Number(wallet.gems ?? 0),
        }
        return {
          wallet: amounts,
          skins: Number(items.skin ?? 0),
          medals: Number(items.medal ?? 0),
          next: { xp, premiumOwned },
        }
      }),
    )
    expect(found, JSON.stringify({ rules, players })).toEqual(players.map((one) => expected(rules, one)))
  }
})

/** Gives gold to all players with a job that dies, and takes it back with another one. */
async function giveAll(playerIds: string[], { gold, deaths, isUndone }: Grant): Promise<void> {
  const desk = new Desk(game, game.platformKey, randomUUID())
  const jobId = await desk.create({ to: { playerIds }, give: { rewards: [{ currency: 'gold', amount: gold }] } })
  expect(await desk.survives(jobId, deaths)).toMatchObject({ granted: playerIds.length, failed: 0 })
  if (!isUndone) return
  const { job: undo } = await desk.must('undoGrantJob', { jobId, idempotencyKey: newKey() })
  expect(await desk.survives(undo.jobId, deaths)).toMatchObject({ granted: playerIds.length, failed: 0 })
}

/** Runs the job at the end, which dies and begins again, against edits of the season. */
async function end(first: string, { deaths, edits }: Rules, publish: (dates: object) => Promise<void>): Promise<void> {
  if (!(await readSettlement(first))) return
  await storeLevels(game.app.pool, { settledMs: 0 })
  for (const [index, after] of deaths.entries()) {
    let left = after
    const dying = async <Outcome>(command: Command<Outcome>): Promise<Outcome> => {
      if (command.player && left === 0) throw new Error('the instance has died')
      if (command.player) left -= 1
      return game.app.service.run(command)
    }
    // Nobody releases what a dead instance holds.
    await game.app.pool.query('UPDATE season_settlements SET held_until = now() WHERE finished_at IS NULL')
    const edit = index < edits ? publish(closed(index + 2)) : Promise.resolve()
    await Promise.all([settleDue(job(dying)).catch(() => undefined), settleDue(job()), edit])
  }
  await game.app.pool.query('UPDATE season_settlements SET held_until = now() WHERE finished_at IS NULL')
  await settle(first)
  await until('it is settled for good', async () => (await readSettlement(first)).finishedAt !== null)
}
