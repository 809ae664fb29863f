import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { partsOf, placeOf, spanOf, ticksOf } from '../../console/src/calendar/timeline.ts'
import { print } from '../../src/base/json.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'

describe('the places on a timeline', () => {
  const span = { from: Date.parse('2030-01-01'), to: Date.parse('2030-04-11') }

  it('are within the span, whatever the ends are', () => {
    expect(placeOf(span, null, null)).toEqual({ left: 0, width: 100 })
    expect(placeOf(span, Date.parse('2029-01-01'), Date.parse('2030-01-11'))).toEqual({ left: 0, width: 10 })
    expect(placeOf(span, Date.parse('2030-04-01'), null)).toEqual({ left: 90, width: 10 })
    expect(placeOf(span, Date.parse('2031-01-01'), null)).toBeNull()
    expect(placeOf(span, null, Date.parse('2029-12-31'))).toBeNull()
  })

  it('begin at the asked day, or a quarter before today', () => {
    const now = Date.parse('2030-06-15T10:00:00Z')
    expect(spanOf('2030-01-01', 30, now)).toEqual({ from: Date.parse('2030-01-01'), to: Date.parse('2030-01-31') })
    expect(spanOf('soon', 40, now).from).toBe(Date.parse('2030-06-05'))
    expect(ticksOf(span).map((at) => new Date(at).getUTCDate())).toEqual([1, 1, 1, 1])
  })

  it('of a season are those of its phases, from the beginning where it has no start', () => {
    const ended = { phase: 'ENDED', startsAt: '2030-02-01T00:00:00Z' }
    expect(partsOf([ended])).toEqual([
      { phase: 'RUNNING', from: null, to: Date.parse(ended.startsAt) },
      { phase: 'ENDED', from: Date.parse(ended.startsAt), to: null },
    ])
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the calendar`, () => {
  let stage: ConsoleStage
  beforeAll(async () => {
    stage = await startConsole({ players: 5 })
    const at = (days: number) => new Date(Math.floor(Date.now() / 86_400_000 + days) * 86_400_000).toISOString()
    await stage.game.publish(
      'winter',
      season({
        more: {
          ...{ announcedAt: at(-20), startsAt: at(-10), endingHours: 72, endsAt: at(20), claimUntil: at(27) },
          next: { scenarioId: 'spring' },
        },
      }),
    )
    await stage.game.publish('spring', season({ more: { startsAt: at(22), endsAt: at(60) } }))
    const { errors } = await stage.game.graphql(
      stage.game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { id } } }',
      {
        input: {
          ...{ environment: 'production', name: 'double weekend', percent: 100, reason: 'test' },
          ...{ startsAt: at(3), endsAt: at(5), scenarios: ['winter'] },
        },
      },
    )
    expect(errors).toBeUndefined()
    const planned = await stage.game.graphql(
      stage.game.platformKey,
      'mutation ($input: SchedulePublicationInput!) { schedulePublication(input: $input) { publication { id } } }',
      {
        input: {
          ...{ environment: 'production', scenarioId: 'summer', publishAt: at(30), reason: 'test' },
          definition: print(season({ more: { startsAt: at(60), endsAt: at(90) } })),
        },
      },
    )
    expect(planned.errors).toBeUndefined()
  })
  afterAll(() => stage?.stop())

  it('shows seasons and boosts on one line of time, in words, and what does not fit together', async () => {
    const opened = await stage.open('/env/production/calendar')
    const { page } = opened
    await page.getByRole('link', { name: 'winter · pass' }).waitFor()
    await page.getByText('+100 % · double weekend').waitFor()
    await page.getByText(/Between winter and its next season nothing takes xp/).waitFor()
    await page.getByRole('table', { name: 'What happens, by time' }).getByText('winter, pass: claims only').waitFor()
    await opened.check('calendar')
    await page.getByLabel('Shows').selectOption('365')
    await page.getByRole('link', { name: 'summer · pass (planned)' }).waitFor()
    await page.getByText('summer, pass: running, as planned').waitFor()
    await page.getByRole('button', { name: 'Later' }).click()
    await page.getByRole('button', { name: 'Later' }).click()
    await page.getByText('Nothing lies in this time').waitFor()
    await page.getByRole('button', { name: 'Today' }).click()
    await page.getByRole('link', { name: 'winter · pass' }).click()
    await page.getByRole('heading', { name: 'Battle pass' }).waitFor()
    await opened.close()
  })

  it('fits a screen of 390 pixels in dark mode, for a viewer', async () => {
    const opened = await stage.open('/env/production/calendar', { width: 390, dark: true, role: 'viewer' })
    const { page } = opened
    await page.getByRole('link', { name: 'winter · pass' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('calendar-390-dark')
    await opened.close()
  })
})
