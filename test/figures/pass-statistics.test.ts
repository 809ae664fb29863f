import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { foldChanges, rollUpHours } from '../../src/operations/figures/fold.ts'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'
import { until } from '../harness/until.ts'

// The figures of all battle passes of an environment together.

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game.stop())

const QUERY = `query ($environment: String = "production", $scenarioId: String, $from: DateTime, $to: DateTime,
    $by: InsightStep! = HOUR) {
  battlePassStatistics(environment: $environment, scenarioId: $scenarioId, from: $from, to: $to, by: $by) {
    from to
    times { startsAt players newPlayers grants xp clipped claims completed premium sold }
    sales { currency purchases amount times { startsAt purchases amount } }
  }
}`

const HOUR_MS = 3_600_000
const hourAgo = (hours: number): string =>
  new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - hours * HOUR_MS).toISOString()
const dayAgo = (days: number): string =>
  `${new Date(Date.now() - days * 24 * HOUR_MS).toISOString().slice(0, 10)}T00:00:00.000Z`

const read = async (variables: Record<string, unknown> = {}) => {
  const { data, errors } = await game.graphql(game.platformKey, QUERY, variables)
  expect(errors).toBeUndefined()
  return data.battlePassStatistics
}

/** A player of a scenario who earns 120 xp, claims one tier and buys premium. */
async function play(scenarioId: string, price: 'gems' | 'gold' = 'gems'): Promise<void> {
  const player = await game.player({ wallet: { [price]: 950n } })
  const runId = await player.start(scenarioId)
  const at = { scenarioId, nodeId: 'pass', runId }
  for (const [call, more] of [
    ['xp', { amount: 120, source: 'match' }],
    ['claim', { level: 1, track: 'free' }],
    ['premium', {}],
  ] as const)
    expect((await player.post(`/sdk/v1/battlepass/${call}`, { ...at, ...more })).status).toBe(200)
}

/** Moves the figures of a scenario to another time, once all are added up. */
async function moveTo(scenarioId: string, at: string): Promise<void> {
  const { pool } = game.app
  await until('all is added up', async () => {
    await foldChanges(pool)
    return (await pool.query('SELECT FROM insight_changes LIMIT 1')).rows.length === 0
  })
  await pool.query('UPDATE insight_totals SET bucket = $2 WHERE scenario_id = $1', [scenarioId, at])
}

const NOTHING = {
  players: 0,
  newPlayers: 0,
  grants: 0,
  xp: '0',
  clipped: 0,
  claims: 0,
  completed: 0,
  premium: 0,
  sold: 0,
}
const ONE = { ...NOTHING, players: 1, newPlayers: 1, grants: 1, xp: '120', claims: 1, premium: 1, sold: 1 }

describe('battlePassStatistics', () => {
  beforeAll(async () => {
    const dear = { premium: { price: { currency: 'gold', amount: 900 } } }
    await game.publish('one', season({ levels: [0, 100] }))
    await game.publish('two', season({ levels: [0, 100], more: dear as never }))
    await game.publish('old', season({ levels: [0, 100] }))
    await Promise.all([play('one'), play('two', 'gold'), play('two', 'gold'), play('old')])
    await auditBooks(game.app.pool)
    await moveTo('old', hourAgo(26))
  })

  it('adds up every pass of the environment by hour, and what was sold by currency, as soon as calls are answered', async () => {
    const { times, sales, from, to } = await read({ from: hourAgo(27), to: hourAgo(-1) })
    expect([times.length, times[0].startsAt, from, to]).toEqual([28, hourAgo(27), hourAgo(27), hourAgo(-1)])
    const all = { ...NOTHING, players: 3, newPlayers: 3, grants: 3, xp: '360', claims: 3, premium: 3, sold: 3 }
    const found = times.filter((time: { players: number }) => time.players > 0)
    // The players may have played before and after the turn of an hour.
    expect(found[0]).toEqual({ startsAt: hourAgo(26), ...ONE })
    const sum = found.slice(1).reduce(
      (total: typeof all, time: typeof all) => ({
        ...Object.fromEntries(Object.keys(all).map((key) => [key, total[key as never] + time[key as never]])),
        xp: String(BigInt(total.xp) + BigInt(time.xp)),
      }),
      NOTHING,
    )
    expect(sum).toEqual(all)
    expect(sales.map(({ times: _, ...sale }: { times: unknown }) => sale)).toEqual([
      { currency: 'gems', purchases: 2, amount: '1900' },
      { currency: 'gold', purchases: 2, amount: '1800' },
    ])
    expect(sales[0].times[0]).toEqual({ startsAt: hourAgo(26), purchases: 1, amount: '950' })
  })

  it('counts days as a whole, of one scenario where it is named, and nothing of another environment', async () => {
    const { times } = await read({ scenarioId: 'old', from: dayAgo(3), to: hourAgo(-1), by: 'DAY' })
    expect(times).toHaveLength(4)
    expect(times.filter(({ players }: { players: number }) => players > 0)).toEqual([
      { startsAt: `${hourAgo(26).slice(0, 10)}T00:00:00.000Z`, ...ONE },
    ])
    expect((await read({ scenarioId: 'none' })).sales).toEqual([])
    const staging = await read({ environment: 'staging', from: hourAgo(30), to: hourAgo(-1) })
    expect([staging.sales, staging.times.every(({ players }: { players: number }) => players === 0)]).toEqual([
      [],
      true,
    ])
  })

  it('keeps hours for 14 days, and days for ever', async () => {
    await game.publish('past', season({ levels: [0, 100] }))
    await play('past')
    await moveTo('past', `${dayAgo(16).slice(0, 11)}15:00:00.000Z`)
    const range = { scenarioId: 'past', from: dayAgo(17), to: dayAgo(15), by: 'DAY' }
    const before = await read(range)
    expect(before.times[1]).toEqual({ startsAt: dayAgo(16), ...ONE })
    await until('hours are days', async () => {
      await rollUpHours(game.app.pool)
      const { rows } = await game.app.pool.query(
        `SELECT FROM insight_totals WHERE scenario_id = 'past' AND measure NOT LIKE 'xp%' AND measure <> 'standing'
           AND bucket <> $1`,
        [dayAgo(16)],
      )
      return rows.length === 0
    })
    expect(await read(range)).toEqual(before)
    const { rows } = await game.app.pool.query(
      `SELECT bucket FROM insight_totals WHERE scenario_id = 'past' AND measure = 'xp'`,
    )
    // Hours of xp are kept for 90 days.
    expect(rows[0].bucket.toISOString()).toBe(`${dayAgo(16).slice(0, 11)}15:00:00.000Z`)
  })

  const days = (count: number): string => new Date(Date.now() + count * 24 * HOUR_MS).toISOString()
  it.each([
    ['a range that ends before it begins', { from: days(0), to: days(-1) }, 'from', 'must be before to'],
    [
      'a range of more than a year',
      { from: days(-367), to: days(0), by: 'DAY' },
      'from',
      'must be at most 366 days before to',
    ],
    ['hours of long ago', { from: days(-16), to: days(-15) }, 'by', 'must be DAY for what is more than 14 days ago'],
    ['a scenario without a name', { scenarioId: '' }, 'scenarioId', 'must be 1 to 128 characters'],
  ])('refuses %s and names the argument', async (_, variables, path, message) => {
    const { errors = [] } = await game.graphql(game.platformKey, QUERY, variables)
    expect(errors[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path, message }] })
  })
})
