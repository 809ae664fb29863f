import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_INT64 } from '../../src/base/json.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { foldChanges, rollUpHours } from '../../src/operations/figures/fold.ts'
import { recountStanding } from '../../src/operations/figures/recount.ts'
import { auditBooks } from '../harness/audit.ts'
import { passNode, scenario, season, tier as tierOf } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { newOperator, random, support } from '../support/desk.ts'

// The figures of a battle pass for dashboards. The audit at the end compares the figures of all tests with the books.

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const INSIGHT = `query ($scenarioId: String!, $nodeId: String = "pass", $environment: String = "production",
    $from: DateTime, $to: DateTime, $by: InsightStep! = HOUR, $sources: Int! = 20) {
  battlePassInsight(environment: $environment, scenarioId: $scenarioId, nodeId: $nodeId, from: $from, to: $to) {
    from to
    levels { level players premium reached reachedPremium conversion reachedInRange premiumInRange }
    days { startsAt players newPlayers premium sold claims completed }
    sales { currency purchases amount times { startsAt purchases amount } }
    xp(by: $by, sources: $sources) { source grants xp times { startsAt grants xp } }
    xpByOrigin(by: $by) { origin grants xp times { startsAt grants xp } }
    clippedXp(by: $by, sources: $sources) { source calls xp }
    tiers { level track reached entitled claimed unclaimed claimedInRange }
    completion { players atTopLevel completed rate }
  }
}`

type Variables = Record<string, unknown>

// biome-ignore lint/suspicious/noExplicitAny: tests look into every figure.
async function insight(variables: Variables, key = game.platformKey): Promise<any> {
  const { data, errors } = await game.graphql(key, INSIGHT, variables)
  expect(errors).toBeUndefined()
  return data.battlePassInsight
}

async function refused(variables: Variables, key = game.platformKey): Promise<unknown> {
  const { errors = [] } = await game.graphql(key, INSIGHT, variables)
  return errors.map(({ extensions: { code, details } }) => (details ? [code, details] : code))[0]
}

interface Playing {
  readonly player: TestPlayer
  xp(amount: number | bigint, source?: string): Promise<unknown>
  claim(level: number, track?: 'free' | 'premium'): Promise<unknown>
  buy(): Promise<unknown>
}

/** A player in the run of a scenario, with gems for its premium. */
async function play(scenarioId: string): Promise<Playing> {
  const player = await game.player({ wallet: { gems: 950n } })
  const runId = await player.start(scenarioId)
  const at = { scenarioId, nodeId: 'pass', runId }
  async function call(what: string, more: Variables) {
    const { status, body } = await player.post(`/sdk/v1/battlepass/${what}`, { ...at, ...more })
    expect([status, body.success ?? true], JSON.stringify(body)).toEqual([200, true])
    return body
  }
  return {
    player,
    xp: (amount, source = 'match') => call('xp', { amount, source }),
    claim: (level, track = 'free') => call('claim', { level, track }),
    buy: () => call('premium', {}),
  }
}

/** Adds up all changes that the service has not added up yet. */
async function settle(): Promise<void> {
  await until('all is added up', async () => {
    await foldChanges(game.app.pool)
    const { rows } = await game.app.pool.query('SELECT FROM insight_changes LIMIT 1')
    return rows.length === 0
  })
}

/** Moves all figures of a scenario back by some days. */
async function passDays(scenarioId: string, days: number): Promise<void> {
  await settle()
  const { pool } = game.app
  // In two steps over distant dates, so that no row collides with another on the way.
  for (const interval of [`${24 * (1000 + days)} hours`, `-${24 * 1000} hours`]) {
    await pool.query('UPDATE insight_totals SET bucket = bucket - $2::interval WHERE scenario_id = $1', [
      scenarioId,
      interval,
    ])
  }
  await pool.query('UPDATE passes SET active_on = active_on - $2::int WHERE scenario_id = $1', [scenarioId, days])
  await pool.query(
    `UPDATE xp_ledger SET created_at = created_at - make_interval(hours => 24 * $2::int) WHERE scenario_id = $1`,
    [scenarioId, days],
  )
}

const dayStart = (daysAgo = 0): string =>
  `${new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`

describe('the figures of a battle pass', () => {
  test('have levels, premium, the claim funnel, days, xp and completion as soon as the calls are answered', async () => {
    await game.publish('whole', season({ levels: [0, 100, 200] }))
    const [ada, ben, eve, gil] = await Promise.all(times(4, () => play('whole')))
    if (!ada || !ben || !eve || !gil) throw new Error('four play')
    await ada.xp(50)
    await ben.xp(120, 'quest')
    await ben.buy()
    await ben.claim(1)
    await eve.buy()
    await eve.xp(150)
    await eve.xp(75, 'quest')
    for (const level of [1, 2, 3]) {
      await eve.claim(level)
      await eve.claim(level, 'premium')
    }

    const told = await insight({ scenarioId: 'whole' })
    expect(told.levels).toEqual(
      [
        { ...at(1), players: 1, premium: 0, reached: 3, reachedPremium: 2, conversion: 2 / 3, premiumInRange: 1 },
        { ...at(2), players: 1, premium: 1, reached: 2, reachedPremium: 2, conversion: 1, premiumInRange: 1 },
        { ...at(3), players: 1, premium: 1, reached: 1, reachedPremium: 1, conversion: 1, premiumInRange: 0 },
      ].map((level) => ({ ...level, reachedInRange: level.reached })),
    )
    expect(told.tiers).toEqual(
      [
        { ...tier(1, 'FREE'), reached: 3, entitled: 3, claimed: 2, unclaimed: 1 },
        { ...tier(1, 'PREMIUM'), reached: 3, entitled: 2, claimed: 1, unclaimed: 1 },
        { ...tier(2, 'FREE'), reached: 2, entitled: 2, claimed: 1, unclaimed: 1 },
        { ...tier(2, 'PREMIUM'), reached: 2, entitled: 2, claimed: 1, unclaimed: 1 },
        { ...tier(3, 'FREE'), reached: 1, entitled: 1, claimed: 1, unclaimed: 0 },
        { ...tier(3, 'PREMIUM'), reached: 1, entitled: 1, claimed: 1, unclaimed: 0 },
      ].map((row) => ({ ...row, claimedInRange: row.claimed })),
    )
    expect(told.completion).toEqual({ players: 3, atTopLevel: 1, completed: 1, rate: 1 / 3 })
    expect(told.xp.map(({ times, ...source }: { times: unknown[] }) => source)).toEqual([
      { source: 'match', grants: 2, xp: '200' },
      { source: 'quest', grants: 2, xp: '195' },
    ])
    // Six whole days and the current day.
    expect([told.days.length, told.from]).toEqual([7, told.days[0].startsAt])
    const sum = (key: string) =>
      told.days.reduce((total: number, day: Record<string, number>) => total + (day[key] ?? 0), 0)
    expect(['players', 'newPlayers', 'premium', 'sold', 'claims', 'completed'].map(sum)).toEqual([3, 3, 2, 2, 7, 1])
    const sold = { purchases: 2, amount: '1900' }
    expect(told.sales).toEqual([{ currency: 'gems', ...sold, times: [{ startsAt: dayStart(), ...sold }] }])

    // Adding up does not change the figures.
    await settle()
    const settled = await insight({ scenarioId: 'whole', from: told.from, to: told.to })
    expect(settled).toEqual(told)
  })

  test('follow revocations and resets by support', async () => {
    await game.publish('taken', season({ levels: [0, 100, 200] }))
    const owner = await newOperator(game.app.pool, game.projectId)
    const ida = await play('taken')
    const { playerId } = ida.player
    await ida.xp(210)
    await ida.claim(1)
    await ida.claim(2)
    const pass = { playerId, scenarioId: 'taken', nodeId: 'pass', reason: 'asked for' }
    await support(game, owner.key, 'grantPremium', pass)
    await support(game, owner.key, 'revokePremium', pass)
    await support(game, owner.key, 'resetTier', { ...pass, level: 2, track: 'free' })

    const before = await insight({ scenarioId: 'taken' })
    expect(before.tiers.map((row: { claimed: number }) => row.claimed)).toEqual([1, 0, 0, 0, 0, 0])
    expect(before.levels[2]).toMatchObject({ players: 1, premium: 0, premiumInRange: 0 })

    await support(game, owner.key, 'grantPremium', pass)
    await support(game, owner.key, 'resetPass', pass)
    const after = await insight({ scenarioId: 'taken' })
    expect(after.levels.map((row: { players: number }) => row.players)).toEqual([1, 0, 0])
    // The reset takes premium away at the level where it was counted: the top.
    expect(after.levels.map((row: { premiumInRange: number }) => row.premiumInRange)).toEqual([0, 0, 0])
    expect(after.tiers.every((row: { claimed: number }) => row.claimed === 0)).toBe(true)
    expect(after.completion).toEqual({ players: 1, atTopLevel: 0, completed: 0, rate: 0 })
    expect(after.xp.map(({ source, xp }: Record<string, string>) => [source, xp])).toEqual([
      ['match', '210'],
      ['support:reset', '-210'],
    ])
    // A player who plays again on the same day is counted once.
    await ida.xp(10)
    const again = await insight({ scenarioId: 'taken' })
    expect(again.days.reduce((total: number, day: { players: number }) => total + day.players, 0)).toBe(1)
  })

  test('have xp by origin, exact, whose sum is the xp of all sources', async () => {
    await game.publish('origins', season({ levels: [0, 100, 200] }))
    const owner = await newOperator(game.app.pool, game.projectId)
    const { player, xp } = await play('origins')
    const place = { scenarioId: 'origins', nodeId: 'pass' }
    const zero = { grants: 0, xp: '0', times: [] }
    expect((await insight({ scenarioId: 'origins' })).xpByOrigin).toEqual(
      ['CLIENT', 'SERVER', 'OPERATOR', 'SEASON'].map((origin) => ({ origin, ...zero })),
    )

    const sent = { ...place, runId: await player.start('origins'), amount: 2n ** 62n + 1n, source: 'match' }
    await game.app.service.run(addXp(player, sent, { origin: 'server' }))
    expect((await insight({ scenarioId: 'origins' })).xpByOrigin).toMatchObject([
      zero,
      { grants: 1, xp: '4611686018427387905' },
      zero,
      zero,
    ])
    await passDays('origins', 2)
    await xp(7)
    await xp(8, 'quest')
    const reason = 'lost in a crash'
    const { playerId } = player
    await support(game, owner.key, 'grantXp', { ...place, playerId, amount: '5', reason, idempotencyKey: 'k' })
    await support(game, owner.key, 'resetPass', { ...place, playerId, reason })
    for (const by of ['HOUR', 'DAY']) {
      const told = await insight({ scenarioId: 'origins', by })
      expect(told.xpByOrigin).toMatchObject([
        { origin: 'CLIENT', grants: 2, xp: '15', times: [{ xp: '15' }] },
        { origin: 'SERVER', grants: 1, xp: '4611686018427387905', times: [{ grants: 1, xp: '4611686018427387905' }] },
        { origin: 'OPERATOR', grants: 2, xp: '-4611686018427387920', times: [{ grants: 2 }] },
        { origin: 'SEASON', ...zero },
      ])
      const sum = (of: { xp: string }[]) => of.reduce((total, { xp }) => total + BigInt(xp), 0n)
      expect([sum(told.xpByOrigin), sum(told.xp)]).toEqual([0n, 0n])
    }
    await settle()
    expect((await insight({ scenarioId: 'origins', from: dayStart(0) })).xpByOrigin[1]).toEqual({
      origin: 'SERVER',
      ...zero,
    })
  })

  test('have the xp that limits held back, by source, and count no refused call', async () => {
    const sources = { match: { max: 10 }, quest: { perDay: 3 }, ad: { max: 5 } }
    const rules = (over: 'clip' | 'refuse') => season({ more: { xp: { sources, over } } })
    await game.publish('clipped', rules('clip'))
    const { player, xp } = await play('clipped')
    await xp(10)
    expect((await insight({ scenarioId: 'clipped' })).clippedXp).toEqual([])
    await xp(MAX_INT64)
    await xp(11)
    await xp(5, 'quest')
    await xp(5, 'quest')
    await xp(6, 'ad')
    await xp(100, 'not listed')
    const all = [
      { source: 'match', calls: 2, xp: String(MAX_INT64 - 10n + 1n) },
      { source: 'quest', calls: 2, xp: '7' },
      { source: 'ad', calls: 1, xp: '1' },
    ]
    expect((await insight({ scenarioId: 'clipped' })).clippedXp).toEqual(all)
    expect((await insight({ scenarioId: 'clipped', sources: 1 })).clippedXp).toEqual([
      all[0],
      { source: null, calls: 3, xp: '8' },
    ])

    await game.publish('clipped', rules('refuse'))
    const sent = { scenarioId: 'clipped', nodeId: 'pass', runId: await player.start('clipped'), amount: 6 }
    expect((await player.post('/sdk/v1/battlepass/xp', { ...sent, source: 'ad' })).status).toBe(409)
    await settle()
    expect((await insight({ scenarioId: 'clipped', by: 'DAY' })).clippedXp).toEqual(all)
  })

  test('have the players with the most xp in a day, against the median, without xp from operators', async () => {
    const OUTLIERS = `query ($to: DateTime) {
      battlePassInsight(environment: "production", scenarioId: "outliers", nodeId: "pass", to: $to) {
        xpOutliers { from to players median top { player { id playerId } grants xp timesMedian } }
      }
    }`
    const read = async (to: string | null = null) => {
      const { data, errors } = await game.graphql(game.platformKey, OUTLIERS, { to })
      expect(errors).toBeUndefined()
      const { players, median, top } = data.battlePassInsight.xpOutliers
      return [
        players,
        median,
        top.map(({ player, ...rest }: Variables & { player: Variables }) => [player.playerId, rest]),
      ]
    }
    await game.publish('outliers', season())
    expect(await read()).toEqual([0, null, []])
    const [ada, ben, eve] = await Promise.all(times(3, () => play('outliers')))
    if (!ada || !ben || !eve) throw new Error('three play')
    await ada.xp(10)
    await ben.xp(20)
    await eve.xp(MAX_INT64 - 30n)
    await eve.xp(10)
    const owner = await newOperator(game.app.pool, game.projectId)
    const given = { playerId: ada.player.playerId, scenarioId: 'outliers', nodeId: 'pass', reason: 'lost' }
    await support(game, owner.key, 'grantXp', { ...given, amount: '500', idempotencyKey: 'k' })
    const first = String(MAX_INT64 - 20n)
    expect(await read()).toEqual([
      3,
      '20',
      [
        [eve.player.playerId, { grants: 2, xp: first, timesMedian: Number(first) / 20 }],
        [ben.player.playerId, { grants: 1, xp: '20', timesMedian: 1 }],
        [ada.player.playerId, { grants: 1, xp: '10', timesMedian: 0.5 }],
      ],
    ])
    await passDays('outliers', 2)
    await ben.xp(4)
    expect(await read()).toEqual([1, '4', [[ben.player.playerId, { grants: 1, xp: '4', timesMedian: 1 }]]])
    expect((await read(new Date(Date.now() - 47 * 3_600_000).toISOString()))[0]).toBe(3)
  })

  test('count a tier that support grants before it is reached, with no negative number of unclaimed tiers', async () => {
    await game.publish('given', season({ levels: [0, 100] }))
    const owner = await newOperator(game.app.pool, game.projectId)
    const kim = await play('given')
    await kim.xp(1)
    const { playerId } = kim.player
    await support(game, owner.key, 'grantTier', {
      ...{
        playerId,
        scenarioId: 'given',
        nodeId: 'pass',
        level: 2,
        track: 'FREE',
        reason: 'won it',
        idempotencyKey: 'k',
      },
    })
    const { tiers } = await insight({ scenarioId: 'given' })
    expect(tiers[2]).toMatchObject({ level: 2, track: 'FREE', reached: 0, claimed: 1, unclaimed: 0 })
  })

  test('include the tiers that level nodes add (contract 12)', async () => {
    const data = { levelNumber: 2, passNodeId: 'pass', rewards: { free: [] } }
    const nodes = [passNode('pass', { tiers: [tierOf(1, 'free')] }), { id: 'two', type: 'battle-pass-level', data }]
    await game.publish('brought', scenario(nodes, []))
    const player = await game.player()
    const place = { scenarioId: 'brought', nodeId: 'pass', runId: await player.start('brought') }
    await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 100 })
    const { tiers } = await insight({ scenarioId: 'brought' })
    expect(tiers).toMatchObject([
      { level: 1, track: 'FREE', claimed: 0, unclaimed: 1 },
      { level: 2, track: 'FREE', claimed: 0, unclaimed: 1 },
    ])
  })

  test('show levels at the end of the range, and count each player once a day', async () => {
    await game.publish('days', season({ levels: [0, 100, 200, 300] }))
    const lou = await play('days')
    const max = await play('days')
    await lou.xp(110)
    await lou.xp(10)
    await max.xp(20)
    await passDays('days', 3)
    await lou.buy()
    await lou.xp(100)
    await passDays('days', 2)
    await max.xp(100)

    const whole = await insight({ scenarioId: 'days', from: dayStart(6), to: dayStart(-1), by: 'DAY' })
    const days = whole.days.map(({ startsAt, players, newPlayers, premium }: Variables) => [
      startsAt,
      players,
      newPlayers,
      premium,
    ])
    expect(days).toEqual([
      [dayStart(6), 0, 0, 0],
      [dayStart(5), 2, 2, 0],
      [dayStart(4), 0, 0, 0],
      [dayStart(3), 0, 0, 0],
      [dayStart(2), 1, 0, 1],
      [dayStart(1), 0, 0, 0],
      [dayStart(0), 1, 0, 0],
    ])
    expect(whole.xp).toEqual([
      {
        source: 'match',
        grants: 5,
        xp: '340',
        times: [
          { startsAt: dayStart(5), grants: 3, xp: '140' },
          { startsAt: dayStart(2), grants: 1, xp: '100' },
          { startsAt: dayStart(0), grants: 1, xp: '100' },
        ],
      },
    ])

    // A range that ends before the later calls.
    const first = await insight({ scenarioId: 'days', from: dayStart(6), to: dayStart(4) })
    expect(first.levels.map((row: { players: number }) => row.players)).toEqual([1, 1, 0, 0])
    expect(first.levels.map((row: { reachedInRange: number }) => row.reachedInRange)).toEqual([2, 1, 0, 0])
    expect(first.completion.players).toBe(2)
    // Three days later, one of the two has premium and a higher level.
    const second = await insight({ scenarioId: 'days', from: dayStart(4), to: dayStart(1) })
    expect(second.levels.map((row: { players: number }) => row.players)).toEqual([1, 0, 1, 0])
    expect(second.levels.map((row: { reachedInRange: number }) => row.reachedInRange)).toEqual([0, 0, 1, 0])
    expect(second.levels.map((row: { premiumInRange: number }) => row.premiumInRange)).toEqual([0, 1, 0, 0])
    expect(second.levels.map((row: { conversion: number }) => row.conversion)).toEqual([0.5, 1, 1, null])
    // The end is not in the range.
    const third = await insight({ scenarioId: 'days', from: dayStart(4), to: dayStart(2) })
    expect(third.levels.map((row: { premium: number }) => row.premium)).toEqual([0, 0, 0, 0])
    // A range before the first call.
    const none = await insight({ scenarioId: 'days', from: dayStart(20), to: dayStart(10) })
    expect(none.completion).toEqual({ players: 0, atTopLevel: 0, completed: 0, rate: null })
    expect(none.xp).toEqual([])
    expect(none.tiers).toHaveLength(8)
  })

  test('keep a hundred sources of an hour apart, and lose no xp of other sources', async () => {
    await game.publish('sources', season())
    const pat = await play('sources')
    const names = times(130, (index) => `source-${String(index).padStart(3, '0')}`)
    await Promise.all(names.slice(0, 60).map((name) => pat.xp(2, name)))
    await settle()
    await Promise.all(names.slice(60).map((name) => pat.xp(1, name)))
    await settle()
    // One of the first sixty sources, which keeps its own row.
    await pat.xp(1000, 'source-000')
    await settle()
    const { xp } = await insight({ scenarioId: 'sources', sources: 100 })
    const { rows } = await game.app.pool.query(
      "SELECT bucket, count(*)::int AS sources FROM insight_totals WHERE scenario_id = 'sources' AND measure = 'xp' GROUP BY bucket",
    )
    for (const { sources } of rows) expect(sources).toBeLessThanOrEqual(101)
    const sums = xp.map((row: { xp: string; grants: number }) => [Number(row.xp), row.grants])
    const total = sums.reduce(
      ([a, b]: number[], [c, d]: number[]) => [(a ?? 0) + (c ?? 0), (b ?? 0) + (d ?? 0)],
      [0, 0],
    )
    expect(total).toEqual([60 * 2 + 70 + 1000, 131])
    expect(xp[0]).toMatchObject({ source: 'source-000' })

    // The largest sources by name, the others as one.
    const { xp: three } = await insight({ scenarioId: 'sources', sources: 3 })
    expect(three.map((row: { source: string | null }) => row.source)).toEqual([
      'source-000',
      expect.anything(),
      expect.anything(),
      null,
    ])
    // The audit compares sources with the ledger, which has all names. Here both get one source.
    await game.app.pool.query("UPDATE xp_ledger SET source = 'other' WHERE scenario_id = 'sources'")
    await settle()
    await game.app.pool.query(
      `WITH gone AS (DELETE FROM insight_totals WHERE scenario_id = 'sources' AND measure = 'xp' RETURNING *)
       INSERT INTO insight_totals SELECT environment_id, scenario_id, node_id, measure, bucket, level, 'other', sum(count), sum(amount)
       FROM gone GROUP BY 1, 2, 3, 4, 5, 6`,
    )
  })

  test('count each day that the range touches as a whole, for xp, too', async () => {
    await game.publish('noon', season())
    const uma = await play('noon')
    await uma.xp(7)
    await passDays('noon', 2)
    await game.app.pool.query(
      `UPDATE insight_totals SET bucket = date_trunc('day', bucket, 'UTC') + interval '22 hours'
       WHERE scenario_id = 'noon' AND measure = 'xp'`,
    )
    await game.app.pool.query(
      `UPDATE xp_ledger SET created_at = date_trunc('day', created_at, 'UTC') + interval '22 hours' WHERE scenario_id = 'noon'`,
    )
    const noon = dayStart(2).replace('T00', 'T12')
    const { xp, days } = await insight({ scenarioId: 'noon', from: dayStart(2), to: noon, by: 'DAY' })
    expect([days[0].players, xp]).toEqual([
      1,
      [{ source: 'match', grants: 1, xp: '7', times: [{ startsAt: dayStart(2), grants: 1, xp: '7' }] }],
    ])
    // With hours, only those that the range touches count.
    expect((await insight({ scenarioId: 'noon', from: dayStart(2), to: noon })).xp).toEqual([])
  })

  test('keep days for ever and hours for 90 days', async () => {
    await game.publish('ancient', season())
    const ann = await play('ancient')
    for (const source of ['match', 'quest']) await ann.xp(5, source)
    await passDays('ancient', 100)
    await ann.xp(3)
    await settle()
    const { pool } = game.app
    // Two more hours of that day. One is its first hour.
    await pool.query(
      `INSERT INTO insight_totals
       SELECT environment_id, scenario_id, node_id, measure, date_trunc('day', bucket, 'UTC') + hour, level, detail, count, amount
       FROM insight_totals, unnest(array[interval '0', '23 hours']) hour
       WHERE scenario_id = 'ancient' AND measure = 'xp' AND bucket < now() - interval '90 days'
       ON CONFLICT (environment_id, scenario_id, node_id, measure, bucket, level, detail)
       DO UPDATE SET count = 2, amount = 2 * excluded.amount`,
    )
    const range = { scenarioId: 'ancient', from: dayStart(101), to: dayStart(-1), by: 'DAY' }
    const before = await insight(range)
    expect(before.xp.map(({ xp, times }: { xp: string; times: unknown[] }) => [xp, times.length])).toEqual([
      ['18', 2],
      ['15', 1],
    ])
    const hours = async () => {
      const { rows } = await pool.query(
        `SELECT count(*)::int FROM insight_totals WHERE scenario_id = 'ancient' AND measure = 'xp'`,
      )
      return rows[0].count
    }
    expect(await hours()).toBeGreaterThan(3)
    // A call that meets the lock of folding does nothing, so it is repeated.
    await until('hours are days', async () => (await rollUpHours(pool)) === 0 && (await hours()) === 3)
    expect(await insight(range)).toEqual(before)
    const details = [{ path: 'by', message: 'must be DAY for what is more than 90 days ago' }]
    expect(await refused({ ...range, to: dayStart(99), by: 'HOUR' })).toEqual(['INVALID_REQUEST', details])
    expect((await insight({ ...range, from: dayStart(1), by: 'HOUR' })).xp[0].xp).toBe('3')
    // The audit compares hours with the ledger. Here both get the first hour of the day.
    await pool.query(
      `UPDATE xp_ledger SET created_at = date_trunc('day', created_at, 'UTC')
       WHERE scenario_id = 'ancient' AND created_at < now() - interval '90 days'`,
    )
    await pool.query(
      `UPDATE insight_totals SET count = 1, amount = 5
       WHERE scenario_id = 'ancient' AND measure = 'xp' AND bucket < now() - interval '90 days'`,
    )
  })

  test('have at most 2^63-1 as the sum of xp', async () => {
    await game.publish('vast', season())
    const most = 9_000_000_000_000_000_000n
    for (const { xp } of await Promise.all(times(2, () => play('vast')))) await xp(most, 'cheat')
    expect((await insight({ scenarioId: 'vast' })).xp[0]).toMatchObject({ xp: String(MAX_INT64), grants: 2 })
  })

  /** Counts again after an edit, as the service does within seconds. */
  const recount = async (scenarioId: string): Promise<void> =>
    until(`${scenarioId} is counted`, async () => {
      await recountStanding(game.app.pool, { settledMs: 0 })
      const { rows } = await game.app.pool.query(
        'SELECT FROM scenarios WHERE id = $1 AND counted_version = version AND version > 1',
        [scenarioId],
      )
      return rows.length === 1
    })

  const levelsOf = async (scenarioId: string, range = {}): Promise<unknown> =>
    (await insight({ scenarioId, ...range })).levels.map((row: { players: number }) => row.players)

  test('follow an edit that moves levels without a call of a player, and keep earlier days', async () => {
    await game.publish('moved', season({ levels: [0, 100, 200] }))
    const [ann, bob, cal] = await Promise.all(times(3, () => play('moved')))
    if (!ann || !bob || !cal) throw new Error('three play')
    await ann.xp(60)
    await bob.xp(150)
    await bob.buy()
    await passDays('moved', 2)
    await game.publish('moved', season({ levels: [0, 50, 100] }))
    // A player who plays before the recount is still counted once.
    await bob.xp(10)
    await cal.xp(70)
    await recount('moved')
    const { levels, tiers } = await insight({ scenarioId: 'moved' })
    expect(levels).toMatchObject([
      { level: 1, players: 0, reached: 3 },
      { level: 2, players: 2, premium: 0, reached: 3 },
      { level: 3, players: 1, premium: 1, reached: 1 },
    ])
    expect(tiers.find(({ level }: { level: number }) => level === 3)).toMatchObject({ entitled: 1, unclaimed: 1 })
    expect(await levelsOf('moved', { from: dayStart(5), to: dayStart(1) })).toEqual([1, 1, 0])
    await ann.xp(45)
    expect(await levelsOf('moved')).toEqual([0, 1, 2])

    await game.publish('moved', season({ levels: [0, 1000, 2000] }))
    await recount('moved')
    expect(await levelsOf('moved')).toEqual([3, 0, 0])
    expect(
      (await bob.player.post('/sdk/v1/battlepass/progress', { scenarioId: 'moved', nodeId: 'pass' })).body.level,
    ).toBe(1)
    await recountStanding(game.app.pool, { settledMs: 0 })
    expect(await levelsOf('moved')).toEqual([3, 0, 0])
  })

  test('count an edit once while twelve players play and three recounts race', async () => {
    const steps = [100, 10, 40, 400, 25]
    await game.publish('busy', season({ levels: [0, 100, 200] }))
    const all = await Promise.all(times(12, () => play('busy')))
    let isOver = false
    const playing = all.map(async ({ xp }) => {
      while (!isOver) await xp(3)
    })
    try {
      for (const step of steps) {
        await game.publish('busy', season({ levels: [0, step, 2 * step] }))
        // The running calls with the old definition have ended then.
        for (const _ of times(2, () => 0)) await Promise.all(all.map(({ xp }) => xp(1)))
        await Promise.all(times(3, () => recountStanding(game.app.pool, { settledMs: 0 })))
      }
    } finally {
      isOver = true
      await Promise.all(playing)
    }
    await recount('busy')
    expect((await insight({ scenarioId: 'busy' })).levels[0].reached).toBe(12)
    await auditBooks(game.app.pool)
  })

  test('are recounted later when a stop of the service aborts a recount', async () => {
    await game.publish('stopped', season({ levels: [0, 100, 200] }))
    await (await play('stopped')).xp(60)
    await game.publish('stopped', season({ levels: [0, 50, 100] }))
    const { pool } = game.app
    const blocker = await pool.connect()
    const ended = new AbortController()
    try {
      await blocker.query('BEGIN; LOCK TABLE passes IN ACCESS EXCLUSIVE MODE')
      // The service recounts each second, too. While it does, this call does nothing.
      const counting = (async () => {
        while ((await recountStanding(pool, { settledMs: 0, signal: ended.signal })) === 0);
      })()
      await until('it counts', async () => {
        const { rows } = await pool.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%width_bucket%'
             AND datname = current_database() AND pid <> pg_backend_pid()`,
        )
        return rows.length > 0
      })
      ended.abort()
      await expect(counting).rejects.toThrow()
    } finally {
      await blocker.query('ROLLBACK')
      blocker.release()
    }
    await recount('stopped')
    expect(await levelsOf('stopped')).toEqual([0, 1, 0])
  })

  test('show a removed level that has a player and a removed tier that has a claim', async () => {
    await game.publish('edited', season({ levels: [0, 100, 200] }))
    const sam = await play('edited')
    await sam.xp(250)
    await sam.claim(3)
    await game.publish(
      'edited',
      scenario([passNode('pass', { levels: [0, 500] })], [{ from: 'start', handle: 'onStart', to: 'pass' }]),
    )
    const { levels, tiers } = await insight({ scenarioId: 'edited' })
    expect(levels.map((row: { level: number; players: number }) => [row.level, row.players])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
    ])
    expect(tiers.filter((row: { claimed: number }) => row.claimed > 0)).toMatchObject([
      { level: 3, track: 'FREE', claimed: 1 },
    ])
  })
})

describe('figures compared with the books', () => {
  test('agree while twelve players write, four workers add up and one caller reads', async () => {
    await game.publish('crowd', season())
    const { pool } = game.app
    const crowd = await Promise.all(times(12, () => play('crowd')))
    const dice = random(7)
    let playing = true
    const folding = times(4, async () => {
      while (playing) await foldChanges(pool)
    })
    const seen: number[] = []
    const reading = (async () => {
      while (playing) {
        const { completion, levels } = await insight({ scenarioId: 'crowd' })
        // Each player is counted at exactly one level.
        expect(levels.reduce((total: number, row: { players: number }) => total + row.players, 0)).toBe(
          completion.players,
        )
        seen.push(completion.players)
      }
    })()
    await Promise.all(
      crowd.map(async ({ xp, buy }, index) => {
        for (const _ of times(15, () => 0)) await xp(Math.floor(dice() * 60) + 1)
        if (index % 2 === 0) await buy()
      }),
    )
    playing = false
    await Promise.all([...folding, reading])
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    const { levels, completion } = await insight({ scenarioId: 'crowd' })
    expect([completion.players, levels[0].reachedPremium]).toEqual([12, 6])
    await auditBooks(pool)
  })
})

describe('battlePassInsight', () => {
  const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString()

  test.each([
    ['a range that ends before it begins', { from: days(0), to: days(-1) }, ['from', 'must be before to']],
    ['an empty range', { from: dayStart(1), to: dayStart(1) }, ['from', 'must be before to']],
    ['a range of more than a year', { from: days(-367), to: days(0) }, ['from', 'must be at most 366 days before to']],
    ['hours of more than a month', { from: days(-32), to: days(0) }, ['by', 'must be DAY for more than 31 days']],
    ['no sources', { sources: 0 }, ['sources', 'must be 1 to 100']],
    ['too many sources', { sources: 101 }, ['sources', 'must be 1 to 100']],
    ['a scenario without a name', { scenarioId: '' }, ['scenarioId', 'must be 1 to 128 characters']],
  ])('refuses %s and names the argument', async (_, variables, [path, message]) => {
    await game.publish('asked', season())
    expect(await refused({ scenarioId: 'asked', ...variables })).toEqual(['INVALID_REQUEST', [{ path, message }]])
  })

  test('names every invalid argument at once', async () => {
    const [code, details] = (await refused({ scenarioId: '', nodeId: '', from: days(1), to: days(0) })) as [
      string,
      unknown[],
    ]
    expect([code, details.length]).toEqual(['INVALID_REQUEST', 3])
  })

  test.each([
    ['an unknown scenario', { scenarioId: 'nowhere' }, 'SCENARIO_NOT_FOUND'],
    ['an unknown node', { nodeId: 'nowhere' }, 'NODE_NOT_FOUND'],
    ['a node that is not a pass', { nodeId: 'start' }, 'NODE_NOT_FOUND'],
    ['an unknown environment', { environment: 'nowhere' }, 'ENVIRONMENT_NOT_FOUND'],
  ])('answers with an error for %s', async (_, variables, code) => {
    await game.publish('asked', season())
    expect(await refused({ scenarioId: 'asked', ...variables })).toBe(code)
  })
})

test('a failure that repeats each second is not logged each second', async () => {
  const told: string[] = []
  const alone = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(line) }))
  try {
    await alone.app.pool.query('ALTER TABLE insight_changes RENAME TO gone')
    await until('it has failed', () => told.length > 0)
    const first = performance.now()
    await until('it has failed again and again', () => performance.now() - first > 3_500)
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('figures could not be added up; each second tries again')
  } finally {
    await alone.stop()
  }
})

const at = (level: number) => ({ level })
const tier = (level: number, track: 'FREE' | 'PREMIUM') => ({ level, track })
