import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { latencyStep } from '../../../src/accounts/login/log/latency.ts'
import { createSdkKey } from '../../../src/callers/keys.ts'
import { createProject } from '../../../src/callers/projects.ts'
import { foldChanges, rollUpHours } from '../../../src/operations/figures/fold.ts'
import { auditBooks } from '../../harness/audit.ts'
import { type Game, startGame, times } from '../../harness/game.ts'
import { approve, type Operator, startOperator, status } from '../../harness/operator.ts'
import { until } from '../../harness/until.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Wide enough around now that an hour may end between two reads. */
const NOW = { from: new Date(Date.now() - 2 * HOUR_MS), to: new Date(Date.now() + 6 * HOUR_MS) }

const FIGURES =
  '{ logins outcomes { outcome logins rate } attempts { attempts logins } attemptsPerLogin latency { mean p50 p90 p95 p99 } }'
const QUERY = `query ($environment: String!, $provider: String, $from: DateTime, $to: DateTime, $by: InsightStep! = HOUR) {
  loginStatistics(environment: $environment, provider: $provider, from: $from, to: $to) {
    from to total ${FIGURES} providers { provider figures ${FIGURES} } times(by: $by) { startsAt figures ${FIGURES} } } }`
const NONE = { logins: 0, outcomes: [], attempts: [], attemptsPerLogin: null, latency: null }

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
  operator = await startOperator()
  const provider = { enabled: true, url: operator.url, secret: operator.secret }
  await game.setProviders({ default: provider, studio: provider, off: { ...provider, enabled: false } })
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await operator?.close()
  await game?.stop()
})

async function read(variables: object = NOW, credentials = game.platformKey) {
  const answer = await game.graphql(credentials, QUERY, { environment: 'production', ...variables })
  return { ...answer.data?.loginStatistics, errors: answer.errors }
}

const outcomesOf = ({ outcomes }: { outcomes: { outcome: string; logins: number }[] }) =>
  Object.fromEntries(outcomes.map(({ outcome, logins }) => [outcome.toLowerCase(), logins]))

describe('login statistics', () => {
  it('count each webhook login once, by provider, outcome and attempts', async () => {
    const login = (provider: string) => game.login({ player: 'ada' }, { provider })
    for (const _ of times(3, (index) => index)) expect((await login('default')).status).toBe(200)
    expect((await login('studio')).status).toBe(200)
    operator.answer(status(403))
    for (const _ of times(2, (index) => index)) expect((await login('default')).status).toBe(401)
    operator.answer(status(500))
    expect((await login('studio')).status).toBe(503)
    operator.answer(approve('[]'))
    expect((await login('default')).status).toBe(502)
    operator.answer(approve({ subject: 'ada', data: { '': 1 } }))
    expect((await login('default')).body.error).toBe('custom auth invalid data')
    operator.answer(approve({ subject: 'eve' }))
    expect((await login('default')).status).toBe(200)
    await game.app.pool.query(
      "UPDATE players SET status = 'banned' WHERE id = (SELECT player_id FROM identities WHERE subject = 'eve')",
    )
    expect((await login('default')).status).toBe(403)

    const { total, providers, times: hours } = await read()
    expect(outcomesOf(total)).toEqual({
      ok: 5,
      custom_auth_rejected: 2,
      custom_auth_unavailable: 1,
      custom_auth_invalid_response: 1,
      custom_auth_invalid_data: 1,
      player_banned: 1,
    })
    expect(total.logins).toBe(11)
    expect(total.outcomes[0]).toEqual({ outcome: 'OK', logins: 5, rate: 5 / 11 })
    expect(total.attempts).toEqual([
      { attempts: 1, logins: 10 },
      { attempts: 3, logins: 1 },
    ])
    expect(total.attemptsPerLogin).toBeCloseTo(13 / 11, 10)
    expect(total.latency).toEqual(
      Object.fromEntries(['mean', 'p50', 'p90', 'p95', 'p99'].map((name) => [name, expect.any(Number)])),
    )
    expect(
      providers.map(({ provider, figures }: { provider: string; figures: { logins: string } }) => [
        provider,
        figures.logins,
      ]),
    ).toEqual([
      ['default', 9],
      ['studio', 2],
    ])
    expect(outcomesOf(providers[1].figures)).toEqual({ custom_auth_unavailable: 1, ok: 1 })
    const ofHours = hours.map(({ figures }: { figures: { logins: string } }) => Number(figures.logins))
    expect(ofHours.reduce((sum: number, logins: number) => sum + logins, 0)).toBe(11)
  })

  it('match the login log, without links and without logins that called no webhook', async () => {
    operator.answer(approve({ subject: 'grace' }))
    const before = (await read()).total
    const player = await game.player()
    expect((await game.link(player.token, {}, { provider: 'studio' })).status).toBe(204)
    for (const provider of ['off', 'google', 'nobody', 'x'.repeat(500), '\n', 'É']) {
      expect((await game.login({}, { provider })).status).toBe(401)
    }
    expect((await game.login({}, { sdkKey: 'twsdk_none' })).status).toBe(401)
    const { total } = await read()
    expect(total).toEqual(before)

    const { rows: log } = await game.app.pool.query(
      "SELECT provider, outcome, count(*)::int, sum(milliseconds)::int AS ms FROM login_log WHERE operation = 'login' GROUP BY 1, 2 ORDER BY 1, 2",
    )
    const { rows: counted } = await game.app.pool.query(
      "SELECT node_id AS provider, detail AS outcome, sum(count)::int AS count, sum(amount)::int AS ms FROM insight WHERE measure = 'login' GROUP BY 1, 2 ORDER BY 1, 2",
    )
    expect(counted).toEqual(log)
    const { rows: names } = await game.app.pool.query(
      "SELECT DISTINCT node_id FROM insight WHERE scenario_id = '' ORDER BY 1",
    )
    expect(names.map(({ node_id }) => node_id)).toEqual(['default', 'studio'])
  })

  it('are the same before, during and after folding', async () => {
    const before = await read()
    const [, ...seen] = await Promise.all([foldChanges(game.app.pool), ...times(20, () => read())])
    for (const statistics of [...seen, await read()]) expect(statistics).toEqual(before)
  })

  it('can be read for one provider, and are empty for one without logins or an unknown one', async () => {
    const all = await read()
    const studio = await read({ ...NOW, provider: 'studio' })
    expect(studio.total).toEqual(all.providers[1].figures)
    expect(studio.providers).toEqual([all.providers[1]])
    for (const provider of ['off', 'nobody'])
      expect(await read({ ...NOW, provider })).toMatchObject({ total: NONE, providers: [] })
  })

  it('stay when a provider is removed', async () => {
    const before = await read()
    const provider = { enabled: true, url: operator.url, secret: operator.secret }
    await game.setProviders({ default: provider })
    expect(await read()).toEqual(before)
  })
})

describe('the range of login statistics', () => {
  /** The sixth hour of a day two months ago. */
  const HOUR = (Math.floor(Date.now() / DAY_MS) - 60) * DAY_MS + 5 * HOUR_MS
  const at = (hours: number): string => new Date(HOUR + hours * HOUR_MS).toISOString()
  /** Old logins in a separate environment: some around one hour, then one in each hour of the month after it. */
  const LOGINS: { readonly hour: number; readonly ms: number }[] = [
    ...times(100, (index) => ({ hour: 0, ms: index + 1 })),
    { hour: 1, ms: 7 },
    { hour: -1, ms: 9 },
    { hour: -1, ms: 3_000 },
    ...times(31 * 24, (index) => ({ hour: 48 + index, ms: (index * 37) % 9_000 })),
  ]
  const loginsOf = (from: number, to: number) => LOGINS.filter(({ hour }) => hour >= from && hour < to)

  beforeAll(async () => {
    const latencies = LOGINS.map(({ ms }) => ms)
    await game.app.pool.query(
      `INSERT INTO insight_changes
       SELECT $1, '', 'old', m, date_trunc(CASE m WHEN 'login' THEN 'hour' ELSE 'day' END, at, 'UTC'), step, 'ok', 1, ms
       FROM unnest(array['login', 'login_day']) m, unnest($2::timestamptz[], $3::int[], $4::int[]) l(at, step, ms)`,
      [game.stagingId, LOGINS.map(({ hour }) => at(hour)), latencies.map(latencyStep), latencies],
    )
    await foldChanges(game.app.pool)
  })
  const readOld = (variables: object) => read({ environment: 'staging', ...variables })
  const loginsByTime = (shown: { startsAt: string; figures: { logins: number } }[]) =>
    shown.map(({ startsAt, figures }) => [startsAt, figures.logins])

  it('includes the hour of `from` and excludes that of `to`, with percentiles at most 5 % off', async () => {
    const { from, to, total, times: hours } = await readOld({ from: at(0), to: at(1) })
    expect([from, to]).toEqual([at(0), at(1)])
    expect(total).toMatchObject({ logins: 100, latency: { mean: 51 } })
    for (const [name, exact] of Object.entries({ p50: 50, p90: 90, p95: 95, p99: 99 })) {
      expect(Math.abs(total.latency[name] - exact), name).toBeLessThanOrEqual(exact * 0.05)
    }
    expect(hours).toEqual([{ startsAt: at(0), figures: total }])
  })

  it('is widened to whole hours and lists every hour, also those without logins', async () => {
    const { from, to, total, times: hours } = await readOld({ from: at(-0.5), to: at(2.25) })
    expect([from, to]).toEqual([at(-1), at(3)])
    expect(total.logins).toBe(103)
    expect(loginsByTime(hours)).toEqual([
      [at(-1), 2],
      [at(0), 100],
      [at(1), 1],
      [at(2), 0],
    ])
    expect(hours[3].figures).toEqual(NONE)
    expect(hours[0].figures.latency).toMatchObject({ mean: 1505, p50: 9 })
  })

  it('has the same logins by hour, by day and in total, wherever it begins and ends', async () => {
    for (const [from, to] of [
      [-29, -5],
      [-5, 19],
      [-1, 43],
      [0, 48],
      [40, 50],
      [43, 67],
      [44, 67 + 24],
      [60, 200],
      [67, 67 + 168],
    ] as const) {
      const those = loginsOf(from, to)
      const byHour = await readOld({ from: at(from), to: at(to) })
      const byDay = await readOld({ from: at(from), to: at(to), by: 'DAY' })
      expect([byHour.total.logins, byDay.total], `${from} to ${to}`).toEqual([those.length, byHour.total])
      expect(loginsByTime(byHour.times)).toEqual(
        times(to - from, (index) => [at(from + index), loginsOf(from + index, from + index + 1).length]),
      )
      const days = new Map(byDay.times.map(({ startsAt: day }: { startsAt: string }) => [day, 0]))
      for (const { hour } of those) {
        const day = `${at(hour).slice(0, 10)}T00:00:00.000Z`
        days.set(day, Number(days.get(day)) + 1)
      }
      expect(loginsByTime(byDay.times)).toEqual([...days])
      const mean = Math.round(those.reduce((sum, { ms }) => sum + ms, 0) / those.length)
      if (those.length > 0) expect(byDay.total.latency.mean).toBe(mean)
    }
  })

  it('is widened to whole days more than 90 days ago, with the same counts after the roll-up of hours', async () => {
    const first = Math.floor(Date.now() / DAY_MS) * DAY_MS - 100 * DAY_MS
    const ago = (hours: number): string => new Date(first + hours * HOUR_MS).toISOString()
    const logins = [0, 0, 5, 23, 24, 47, 60].map((hour) => ago(hour))
    await game.app.pool.query(
      `INSERT INTO insight_totals
       SELECT $1, '', 'ancient', m, date_trunc(CASE m WHEN 'login_day' THEN 'day' ELSE 'hour' END, at, 'UTC'),
         CASE m WHEN 'attempts' THEN 2 ELSE 7 END, CASE m WHEN 'attempts' THEN '' ELSE 'ok' END, count(*),
         CASE m WHEN 'attempts' THEN 0 ELSE 7 * count(*) END
       FROM unnest(array['login', 'login_day', 'attempts']) m, unnest($2::timestamptz[]) at GROUP BY 4, 5`,
      [game.stagingId, logins],
    )
    const ask = (from: number, to: number) => readOld({ provider: 'ancient', from: ago(from), to: ago(to), by: 'DAY' })
    const before = await ask(1.5, 30)
    expect([before.from, before.to, before.total.logins]).toEqual([ago(0), ago(48), 6])
    expect(before.total.attempts).toEqual([{ attempts: 2, logins: 6 }])
    expect(loginsByTime(before.times)).toEqual([
      [ago(0), 4],
      [ago(24), 2],
    ])
    // This range crosses from whole days into hours.
    const recent = await ask(5, 11 * 24 + 0.5)
    expect([recent.from, recent.to, recent.total.logins]).toEqual([ago(0), ago(11 * 24 + 1), 7])

    // The roll-up does nothing while folding holds the lock.
    await until('hours are gone', async () => {
      await rollUpHours(game.app.pool)
      const { rows } = await game.app.pool.query(
        `SELECT measure, count(*)::int FROM insight_totals WHERE node_id = 'ancient' GROUP BY 1 ORDER BY 1`,
      )
      return isDeepStrictEqual(
        rows,
        ['attempts', 'login_day'].map((measure) => ({ measure, count: 3 })),
      )
    })
    expect(await ask(1.5, 30)).toEqual(before)
    expect(await ask(5, 11 * 24 + 0.5)).toEqual(recent)
    const { errors } = await readOld({ from: ago(0), to: ago(24) })
    const details = [{ path: 'by', message: 'must be DAY for what is more than 90 days ago' }]
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', details })
  })

  it('defaults to the day before `to`, and `to` defaults to now', async () => {
    const old = await readOld({ to: at(1) })
    expect([old.from, old.to, old.total.logins, old.times.length]).toEqual([at(-23), at(1), 102, 24])
    const { from, to, total } = await readOld({})
    expect(total.logins).toBe(0)
    expect(Date.parse(to) - Date.parse(from)).toBeOneOf([24 * HOUR_MS, 25 * HOUR_MS])
    expect(Date.parse(to)).toBeGreaterThan(Date.now() - HOUR_MS)
  })

  it('spans up to 31 days by day and seven days by hour, also at the limits of dates', async () => {
    const month = await readOld({ from: at(48), to: at(48 + 31 * 24), by: 'DAY' })
    expect([month.total.logins, month.times.length]).toEqual([744, 32])
    const week = { from: at(48), to: at(48 + 7 * 24) }
    expect((await readOld(week)).times).toHaveLength(7 * 24)
    const { errors } = await readOld({ ...week, to: at(48 + 7 * 24 + 1) })
    const details = [{ path: 'by', message: 'must be DAY for more than 7 days' }]
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', details })
    for (const to of ['0000-01-02T00:00:00Z', '9999-12-31T23:59:59Z']) {
      expect(await readOld({ to, by: 'DAY' }), to).toMatchObject({ total: NONE, errors: undefined })
    }
  })

  it.each([
    ['reversed', { from: at(1), to: at(0) }, 'must be before to'],
    ['empty', { from: at(0), to: at(0) }, 'must be before to'],
    ['in the future', { from: '9999-01-01T00:00:00Z' }, 'must be before to'],
    [
      'a millisecond over 31 days',
      { from: at(0), to: new Date(HOUR + 31 * 24 * HOUR_MS + 1).toISOString() },
      'must be at most 31 days before to',
    ],
    ['two thousand years long', { from: '0001-01-01T00:00:00Z' }, 'must be at most 31 days before to'],
  ])('is refused when it is %s', async (_what, range, message) => {
    const { errors } = await readOld(range)
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', details: [{ path: 'from', message }] })
  })

  it('is reported together with every other fault', async () => {
    const { errors } = await readOld({ environment: '', provider: 'x'.repeat(33), from: at(1), to: at(0) })
    const paths = errors?.[0]?.extensions.details?.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(['environment', 'provider', 'from'])
  })
})

describe('access to login statistics', () => {
  it('covers neither another environment nor another project', async () => {
    const other = await createProject(game.app.pool, { name: 'Other', environments: ['elsewhere'] })
    const sdkKey = (await createSdkKey(game.app.pool, other.environments.get('elsewhere') ?? '')).key
    expect((await game.login({}, { sdkKey })).status).toBe(401)
    expect((await read({ environment: 'elsewhere' })).errors?.[0]?.extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
    expect((await read({ environment: 'staging' })).total).toEqual(NONE)
  })
})
