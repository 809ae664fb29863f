import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeOf, compare, daysAt } from '../../console/src/today/compare.ts'
import { lengthText, seasonClock } from '../../console/src/today/season-clock.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('figures of today', () => {
  const now = Date.parse('2030-06-15T10:20:00Z')
  const days = daysAt(now)
  const at = (day: string, hour: number, value: number) => ({
    at: Date.parse(`2030-06-${day}T00:00:00Z`) + hour * HOUR_MS,
    value,
  })

  it('are those of the day in UTC, compared with yesterday and a week ago by the last full hour', () => {
    expect(days).toEqual({
      today: Date.parse('2030-06-15'),
      yesterday: Date.parse('2030-06-14'),
      lastWeek: Date.parse('2030-06-08'),
      to: Date.parse('2030-06-15T11:00:00Z'),
      hours: 10,
    })
    const compared = compare(
      [
        ...[at('15', 0, 5), at('15', 9, 7), at('15', 10, 100)],
        ...[at('14', 9, 4), at('14', 10, 50), at('14', 23, 1)],
        ...[at('08', 0, 8), at('08', 10, 9), at('07', 3, 1_000), at('09', 3, 1_000)],
      ],
      days,
    )
    expect(compared).toMatchObject({ total: 112, byNow: 12, yesterday: 4, lastWeek: 8 })
    expect([compared.course.length, compared.course.at(0), compared.course.at(-1)]).toEqual([11, 5, 112])
    expect([compared.courseBefore.length, compared.courseBefore.at(-1)]).toEqual([24, 55])
  })

  it('say nothing of a change from zero', () => {
    expect([changeOf(12, 8), changeOf(4, 8), changeOf(8, 8), changeOf(3, 0)]).toEqual([0.5, -0.5, 0, null])
    expect(daysAt(Date.parse('2030-06-15T00:59:59Z'))).toMatchObject({
      hours: 0,
      to: Date.parse('2030-06-15T01:00:00Z'),
    })
  })
})

describe('the clock of a season', () => {
  const phases = [
    { phase: 'ANNOUNCED', startsAt: '2030-05-25T00:00:00Z' },
    { phase: 'RUNNING', startsAt: '2030-06-01T00:00:00Z' },
    { phase: 'ENDING', startsAt: '2030-06-28T00:00:00Z' },
    { phase: 'ENDED', startsAt: '2030-07-01T00:00:00Z' },
    { phase: 'CLOSED', startsAt: '2030-07-08T00:00:00Z' },
  ]

  it.each([
    ['2030-05-20T00:00:00Z', 'is announced in 5 days', null],
    ['2030-05-31T20:00:00Z', 'starts in 4 hours', null],
    ['2030-06-01T00:00:00Z', 'ends in 30 days', [1, 30]],
    ['2030-06-29T12:00:00Z', 'ends in 1 day', [29, 30]],
    ['2030-07-01T00:00:00Z', 'claims close in 7 days', null],
    ['2030-07-08T00:00:00Z', null, null],
  ])('says what comes next, and the day, at %s', (at, next, day) => {
    const clock = seasonClock(phases, Date.parse(at))
    expect([clock.next, clock.day && [clock.day.of, clock.day.all]]).toEqual([next, day])
  })

  it('ends a season whose claims close with its end, instead of closing claims that nobody has heard of', () => {
    const withoutClaims = phases.filter(({ phase }) => phase !== 'ENDED')
    const clock = seasonClock(withoutClaims, Date.parse('2030-06-08T12:00:00Z'))
    expect([clock.next, clock.day?.of, clock.day?.all]).toEqual(['ends in 29 days', 8, 37])
  })

  it('gives lengths by their largest unit', () => {
    expect([DAY_MS * 12, HOUR_MS, 119_000, 4_000].map(lengthText)).toEqual([
      '12 days',
      '1 hour',
      '1 minute',
      '1 minute',
    ])
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}Today`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole({ players: 40 })
    const { game } = stage
    const at = (days: number) => new Date(Math.floor(Date.now() / DAY_MS + days) * DAY_MS).toISOString()
    const dates = { startsAt: at(-10), endsAt: at(20), claimUntil: at(27), next: { scenarioId: 'spring' } }
    await game.publish('winter', season({ levels: [0, 100], more: dates }))
    const boost = { name: 'double weekend', percent: 100, startsAt: at(3), endsAt: at(5), scenarios: ['winter'] }
    const planned = await game.graphql(
      game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { id } } }',
      { input: { environment: 'production', reason: 'test', ...boost } },
    )
    expect(planned.errors).toBeUndefined()
    for (const _ of [1, 2]) {
      const player = await game.player({ wallet: { gems: 950n } })
      const node = { scenarioId: 'winter', nodeId: 'pass', runId: await player.start('winter') }
      expect((await player.post('/sdk/v1/battlepass/xp', { ...node, amount: 120, source: 'match' })).status).toBe(200)
      expect((await player.post('/sdk/v1/battlepass/premium', node)).body.success).toBe(true)
    }
  })
  afterAll(() => stage?.stop())

  it('is the first page: seasons with their clocks, figures as SQL counts them in the books, what comes next and what changed', async () => {
    const opened = await stage.open('/')
    const { page } = opened
    await page.waitForURL('**/env/production/today')
    const seasons = page.getByRole('listitem').filter({ hasText: 'winter' }).first()
    await seasons.getByText('day 11 of 30, ends in').waitFor()
    const { rows } = await stage.game.app.pool.query(
      `SELECT count(DISTINCT (player_id, scenario_id))::int AS players, sum(amount)::int AS xp,
         (SELECT -sum(amount)::int FROM wallet_ledger WHERE amount < 0 AND created_at >= today) AS sales
       FROM xp_ledger, date_trunc('day', now(), 'UTC') AS today WHERE created_at >= today GROUP BY today`,
    )
    const card = (name: RegExp) => page.locator('dl > div').filter({ hasText: name })
    expect(rows[0]).toEqual({ players: 2, xp: 240, sales: 1900 })
    await card(/^Players/)
      .getByText('2', { exact: true })
      .waitFor()
    await card(/^Xp/).getByText('240', { exact: true }).waitFor()
    await card(/^Sales in gems/)
      .getByText('1,900', { exact: true })
      .waitFor()
    await page.getByText('All is well').waitFor()
    const next = page.getByRole('table', { name: 'What comes next' })
    await next.getByText('double weekend: 100 % more xp').waitFor()
    const changed = page.getByRole('list', { name: 'What changed, the latest first' })
    await changed
      .getByRole('listitem')
      .filter({ hasText: /Publish a scenario\s+winter/ })
      .waitFor()
    await opened.check('today')
    await seasons.getByRole('link').click()
    await page.waitForURL('**/battle-pass/winter/pass')
    await opened.close()
  })

  it('names what is wrong, and leads to it', async () => {
    const { game } = stage
    await game.app.pool.query(
      `INSERT INTO insight_changes (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
       VALUES ($1, '', 'custom', 'login', date_trunc('hour', now(), 'UTC'), 0, 'custom_auth_unavailable', 30, 0)`,
      [game.environmentId],
    )
    const opened = await stage.open('/env/production/today', { role: 'viewer', width: 390, dark: true })
    const { page } = opened
    const problem = page.getByRole('link', { name: /^Logins through custom fail: 30 of 30/ })
    await problem.waitFor()
    await page.getByText('This needs the role admin.').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('today-390-dark')
    await problem.click()
    await page.waitForURL('**/env/production/providers')
    await opened.close()
  })
})
