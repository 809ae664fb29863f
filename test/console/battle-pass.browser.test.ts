import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rangeBefore, rangeFault, rangeOf } from '../../console/src/battlepass/ranges.ts'
import { findStall } from '../../console/src/battlepass/stall.ts'
import { stepsOf, stepTimeText } from '../../console/src/battlepass/steps.ts'
import { xpOverTime } from '../../console/src/battlepass/xp-over-time.ts'
import { MAX_INT64 } from '../../src/base/json.ts'
import { demoSeason } from '../../src/dev/season.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'
import { until } from '../harness/until.ts'

const LEVELS = `query Levels($from: DateTime!) {
  battlePassInsight(environment: "production", scenarioId: "season-1", nodeId: "pass", from: $from) {
    levels { level players reached }
  }
}`

interface Level {
  readonly level: number
  readonly players: number
  readonly reached: number
}

let stage: ConsoleStage

beforeAll(async () => {
  if (withoutChromium === '') stage = await startConsole({ players: 150 })
})
afterAll(() => stage?.stop())

async function levelsTold(): Promise<readonly Level[]> {
  const from = new Date(Date.now() - 90 * 86_400_000).toISOString()
  const { data } = await stage.game.graphql(stage.game.platformKey, LEVELS, { from })
  return data.battlePassInsight.levels
}

async function select(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await stage.game.app.pool.query(sql, values)).rows
}

const levelsOf = (definition: string): unknown => {
  const { nodes } = JSON.parse(definition) as { nodes: { type: string; data: { levels: unknown } }[] }
  return nodes.find(({ type }) => type === 'battle-pass')?.data.levels
}

/** The cells of a table of the page, row by row. */
async function cellsOf(page: Page, caption: string): Promise<string[][]> {
  const table = page.getByRole('table', { name: caption })
  await table.getByRole('row').nth(1).waitFor()
  return table.locator('tbody tr').evaluateAll(TEXTS_OF_CELLS)
}

const TEXTS_OF_CELLS = (rows: Element[]) =>
  rows.map((row) => [...row.querySelectorAll('td, th')].map((cell) => cell.textContent))

const NAMES_AND_NUMBERS = (figures: Element[]) =>
  figures.map((figure) => {
    const [name, value] = [...figure.querySelectorAll('dt, dd')]
    return [name?.textContent ?? '', Number.parseInt((value?.textContent ?? '').replace(/,/g, ''), 10)] as const
  })

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the figures of a battle pass`, () => {
  it('equal what SQL counts in the books, and name the level where most players stop', async () => {
    const opened = await stage.open('/env/production/battle-pass?range=90d')
    const { page } = opened
    await page.getByText('Players of the pass').waitFor()
    const [books] = await select(
      `SELECT count(*)::int AS players, count(*) FILTER (WHERE premium_owned)::int AS premium,
         count(*) FILTER (WHERE completed)::int AS completed,
         (SELECT count(*)::int FROM tier_claims WHERE scenario_id = 'season-1') AS claims,
         (SELECT count(*)::int FROM wallet_ledger WHERE reference = 'season-1/pass' AND amount < 0) AS sold
       FROM passes WHERE scenario_id = 'season-1'`,
    )
    expect(books?.sold).toBeGreaterThan(0)
    const shown = await page.locator('dl.figures div').evaluateAll(NAMES_AND_NUMBERS)
    expect(Object.fromEntries(shown)).toMatchObject({
      'Players of the pass': books?.players,
      'Began in this time': books?.players,
      'With premium': books?.premium,
      'Premium sold in this time': books?.sold,
      'Granted, minus revoked': Number(books?.premium) - Number(books?.sold),
      'Claims in this time': books?.claims,
      Completed: books?.completed,
    })

    const steps = await select(
      `SELECT levels.level::text, count(*) FILTER (WHERE p.xp >= levels.xp)::text AS reached,
         count(*) FILTER (WHERE p.xp >= levels.xp AND (next IS NULL OR p.xp < next))::text AS there
       FROM passes p, (
         SELECT (l ->> 'level')::int AS level, (l ->> 'xp')::int AS xp,
           lead((l ->> 'xp')::int) OVER (ORDER BY (l ->> 'xp')::int) AS next
         FROM json_array_elements($1::json) l
       ) levels WHERE scenario_id = 'season-1' GROUP BY levels.level ORDER BY levels.level`,
      [JSON.stringify(levelsOf(demoSeason()))],
    )
    const cells = await cellsOf(page, 'From level to level')
    expect(cells.map(([level, reached, , , there]) => ({ level, reached, there }))).toEqual(steps)

    const stall = findStall(await levelsTold())
    await page.getByText(`Players stop most at level ${stall?.level}.`).waitFor()
    await opened.check('battle-pass')

    await page.getByRole('link', { name: 'Xp', exact: true }).click()
    const sources = await select(
      `SELECT source, to_char(sum(amount), 'FM999,999,999') AS xp, to_char(count(*), 'FM999,999') AS grants
       FROM xp_ledger WHERE scenario_id = 'season-1' GROUP BY source ORDER BY sum(amount) DESC`,
    )
    const shares = await cellsOf(page, 'Xp by source in all')
    expect(shares.map(([source, xp, , grants]) => ({ source, xp, grants }))).toEqual(sources)

    await page.getByRole('link', { name: 'Premium', exact: true }).click()
    const sales = await select(
      `SELECT currency, count(*)::text AS purchases, to_char(-sum(amount), 'FM999,999,999') AS revenue
       FROM wallet_ledger WHERE reference = 'season-1/pass' AND amount < 0 GROUP BY currency`,
    )
    expect(await cellsOf(page, 'Sales of premium, by currency')).toEqual(sales.map((row) => Object.values(row)))
    await opened.close()
  })

  it('are led by the steps from level to level, each with the players who are still there', async () => {
    const { page, close } = await stage.open('/env/production/battle-pass?range=90d')
    const levels = await levelsTold()
    const [first, second] = levels
    if (!first || !second) throw new Error('the season has levels')
    const row = page.getByRole('table', { name: 'From level to level' }).getByRole('row').nth(1)
    await row.waitFor()
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      String(first.level),
      String(first.reached),
      '100 %',
      `${((second.reached / first.reached) * 100).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`,
      String(first.players),
      String(first.reached),
      '500',
    ])
    await row.getByRole('link').click()
    await page.waitForURL('**/players?scenario=season-1&pass=pass&from=1&to=1')
    const rows = page.getByRole('table').getByRole('row')
    await until('the players are listed', async () => (await rows.count()) === first.players + 1)
    await close()
  })

  it('are available as a table and as a CSV file beside each chart', async () => {
    const { page, close } = await stage.open('/env/production/battle-pass?range=90d')
    const levels = await levelsTold()
    const title = 'Players who have reached a level'
    await page.getByRole('button', { name: `Table of ${title}` }).click()
    const table = page.getByRole('table', { name: title })
    expect(await table.getByRole('row').nth(3).textContent()).toContain(String(levels[2]?.reached))
    const charts = await page.locator('figure').count()
    expect(await page.getByRole('button', { name: /^Table of / }).count()).toBe(charts)
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: `CSV of ${title}` }).click()
    const saved = await saving
    expect(saved.suggestedFilename()).toBe('players-who-have-reached-a-level.csv')
    const [head, first] = (await readFile(await saved.path(), 'utf8')).split('\r\n')
    expect([head, first]).toEqual([
      // With a mark of UTF-8, by which spreadsheets know it.
      '\ufeffLevel,reached it,of them with premium',
      expect.stringMatching(new RegExp(`^1,${levels[0]?.reached},`)),
    ])
    await close()
  })

  it('can be read by keyboard, point by point', async () => {
    const { page, close } = await stage.open('/env/production/battle-pass?range=90d')
    const levels = await levelsTold()
    const chart = page.getByRole('application', { name: 'Players at each level' })
    await chart.locator('canvas').waitFor()
    await chart.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await page.getByText(`2: at the level ${levels[1]?.players}`).waitFor()
    await close()
  })

  it('can be compared with an earlier period, which the URL keeps', async () => {
    const opened = await stage.open('/env/production/battle-pass')
    const { page } = opened
    await page.getByLabel('Compare with').selectOption('the same time before')
    await page.getByLabel('Time', { exact: true }).selectOption('Last 30 days')
    await page
      .getByText(/before: \d/)
      .first()
      .waitFor()
    expect(new URL(page.url()).search).toBe('?compare=before&range=30d')
    await page.reload()
    await page
      .getByText(/before: \d/)
      .first()
      .waitFor()
    await page.getByText(/30 days\. Compared with .*, 30 days\. .* Today is not over/).waitFor()
    await page.getByRole('link', { name: 'Claims' }).click()
    expect(new URL(page.url()).search).toBe('?compare=before&range=30d&view=claims')
    await page.getByRole('button', { name: 'Table of Claimed tiers by day' }).click()
    const days = await page.getByRole('table', { name: 'Claimed tiers by day' }).getByRole('row').allTextContents()
    expect([days.length, days.at(-1)]).toEqual([31, expect.stringContaining('(not over)')])
    await opened.check('battle-pass-compared')

    await page.getByLabel('Time', { exact: true }).selectOption('From … to …')
    const to = await page.getByLabel('To, included (UTC)').inputValue()
    await page.getByLabel('From (UTC)').fill('2097-01-01')
    await page.getByText('This is after the last day.').waitFor()
    await page.getByLabel('From (UTC)').fill(to)
    await page.getByText(`${to}. Compared with`).waitFor()
    await opened.close()
  })

  it('are replaced by a message when nobody has played, or there is no scenario', async () => {
    const { game } = stage
    const empty = await stage.open('/env/staging/battle-pass')
    await empty.page.getByText('There is no scenario in staging yet').waitFor()
    await empty.check('battle-pass-empty')
    await empty.close()
    const made = await game.graphql(
      game.platformKey,
      'mutation Clone($input: CloneScenarioInput!) { cloneScenario(input: $input) { scenario { version } } }',
      {
        input: {
          environment: 'production',
          scenarioId: 'season-1',
          toEnvironment: 'production',
          toScenarioId: 'new',
          reason: 'test',
        },
      },
    )
    expect(made.errors).toBeUndefined()
    const fresh = await stage.open('/env/production/battle-pass/new')
    await fresh.page.getByText('Nobody has played this pass yet').waitFor()
    await fresh.close()
  })

  it.each<[string, object, RegExp]>([
    [
      'announced',
      { announcedAt: '2020-01-01T00:00:00Z', startsAt: '2097-01-01T00:00:00Z' },
      /is announced, and has not/,
    ],
    [
      'ending',
      // In December, clocks of this zone are five hours behind UTC.
      {
        endingHours: 8_760,
        endsAt: { at: `${new Date().getUTCFullYear()}-12-31T23:00`, timeZone: 'America/New_York' },
      },
      /is about to end\. It ends .*-01-01 04:00/,
    ],
    [
      'ended',
      { endsAt: '2020-01-01T00:00:00Z', claimUntil: '2097-01-01T00:00:00Z' },
      /ended 2020-01-01 00:00.*; tiers can be claimed until 2097-01-01 00:00/,
    ],
    ['closed', { endsAt: '2020-01-01T00:00:00Z' }, /The season ended 2020-01-01 00:00( UTC)?\.$/],
  ])('stand beside the place where the season is: %s', async (phase, more, text) => {
    await stage.game.publish(phase, season({ more: more as never }))
    const { page, close } = await stage.open(`/env/production/battle-pass/${phase}`)
    await page.getByRole('status').filter({ hasText: text }).waitFor()
    await close()
  })

  it('say what happened at the end of the season', async () => {
    const { game } = stage
    const dates = (endsAt: string) => season({ more: { atEnd: 'grant', endsAt } })
    await game.publish('settled', dates('2097-01-01T00:00:00Z'))
    const player = await game.player()
    const at = { scenarioId: 'settled', nodeId: 'pass', runId: await player.start('settled') }
    await player.post('/sdk/v1/battlepass/xp', { ...at, amount: 250, source: 'match' })
    const { page, close } = await stage.open('/env/production/battle-pass/settled')
    await page.getByText(/The end is settled for each player 2097-01-01 00:00/).waitFor()
    await game.publish('settled', dates('2020-01-01T00:00:00Z'))
    await storeLevels(game.app.pool, { settledMs: 0 })
    await until('it is settled', async () => {
      const { rows } = await game.app.pool.query('SELECT FROM season_settlements WHERE finished_at IS NOT NULL')
      return rows.length > 0
    })
    await page.reload()
    await page.getByText(/The end was settled until .*: 1 player, 3 unclaimed tiers granted\./).waitFor()
    await close()
  })

  it('have what was sold apart from what was granted, with the revenue by currency', async () => {
    const { game } = stage
    await game.publish('sold', season())
    const [buyer, friend] = await Promise.all([game.player({ wallet: { gems: 950n } }), game.player()])
    const runId = await buyer.start('sold')
    const bought = await buyer.post('/sdk/v1/battlepass/premium', { scenarioId: 'sold', nodeId: 'pass', runId })
    expect(bought.body.success).toBe(true)
    const place = { playerId: friend.playerId, scenarioId: 'sold', nodeId: 'pass', reason: 'test' }
    const granted = await game.graphql(
      game.platformKey,
      'mutation ($input: GrantPremiumInput!) { grantPremium(input: $input) { auditEntry { id } } }',
      { input: place },
    )
    expect(granted.errors).toBeUndefined()
    const opened = await stage.open('/env/production/battle-pass/sold?view=premium')
    const { page } = opened
    const sales = page.getByRole('table', { name: 'Sales of premium, by currency' })
    await sales.waitFor()
    expect(await sales.getByRole('row').allTextContents()).toEqual(['CurrencyPurchasesRevenue', 'gems1950'])
    const card = (name: string) => page.locator('dl.figures > div', { hasText: name }).locator('dd')
    expect(await card('Premium sold in this time').textContent()).toBe('1')
    expect(await card('Granted, minus revoked').textContent()).toBe('1')
    await opened.check('battle-pass-premium')
    await opened.close()
  })

  it('fit a screen of 390 pixels in dark mode, for a viewer', async () => {
    const opened = await stage.open('/env/production/battle-pass/season-1/pass?range=30d', {
      width: 390,
      dark: true,
      role: 'viewer',
    })
    const { page } = opened
    await page.locator('canvas').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('battle-pass-390-dark')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the xp of a pass with rules`, () => {
  it('is shown by origin, and as far as limits held it back, exact', async () => {
    const { game } = stage
    await game.publish('limited', season({ more: { xp: { sources: { match: { max: 100 } } } } }))
    const player = await game.player()
    const at = { scenarioId: 'limited', nodeId: 'pass', runId: await player.start('limited') }
    const sent = { ...at, amount: MAX_INT64, source: 'match' }
    await player.post('/sdk/v1/battlepass/xp', sent)
    await game.app.service.run(addXp(player, { ...at, amount: 2n ** 54n + 1n, source: 'quest' }, { origin: 'server' }))

    const opened = await stage.open('/env/production/battle-pass/limited?view=xp')
    const { page } = opened
    const held = page.getByRole('table', { name: 'Xp that limits held back, by source' })
    await held.waitFor()
    expect(await held.getByRole('row').allTextContents()).toEqual(['SourceCallsXp', 'match19,223,372,036,854,775,707'])
    await page.getByText('servers: 18,014,398,509,481,985').waitFor()
    await page.getByText('clients: 100').waitFor()
    const outliers = page.getByRole('table', { name: 'Players with the most xp in a day' })
    await outliers.getByRole('link', { name: player.playerId.slice(-8) }).waitFor()
    expect(await outliers.getByRole('row').allTextContents()).toEqual([
      'PlayerXpTimes the medianGrants',
      ` …${player.playerId.slice(-8)}18,014,398,509,482,08512`,
    ])
    await opened.check('battle-pass-limited')
    await opened.close()

    const narrow = await stage.open('/env/production/battle-pass/limited?view=xp', {
      width: 390,
      dark: true,
      role: 'viewer',
    })
    await narrow.page.getByText('servers: 18,014,398,509,481,985').waitFor()
    expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await narrow.check('battle-pass-limited-390-dark')
    await narrow.close()
  })
})

describe('the steps from level to level', () => {
  it('have who went on, and the xp of the current version where it has both levels', () => {
    const level = (level: number, players: number, reached: number) => ({ level, players, reached, reachedInRange: 0 })
    const steps = stepsOf(
      [level(1, 60, 100), level(2, 40, 40), level(3, 0, 0), level(9, 0, 0)],
      [
        { level: 1, xp: 0n },
        { level: 2, xp: 100n },
        { level: 3, xp: 250n },
      ],
    )
    expect(steps.map(({ share, wentOn, xp }) => [share, wentOn, xp])).toEqual([
      [1, { players: 40, share: 0.4 }, 100n],
      [0.4, { players: 0, share: 0 }, 150n],
      [0, { players: 0, share: null }, null],
      [0, null, null],
    ])
    expect(stepsOf([], [])).toEqual([])
    expect([null, 0, 0.03, 0.49, 0.98, 1.26, 12].map(stepTimeText)).toEqual([
      ...['–', 'under 1 h', '1 h', '12 h', '24 h', '30 h', '12 days'],
    ])
  })
})

describe('a range of days', () => {
  const now = Date.parse('2026-11-28T10:20:00Z')
  const none = { from: null, to: null }
  const range = (name: string, custom: { from: string | null; to: string | null } = none) => {
    const { from, to } = rangeOf(name, custom, now)
    return [from.slice(0, 13), to.slice(0, 13)]
  }

  it('has whole days in UTC, the last one included, and none in common with the time before', () => {
    expect(range('1d')).toEqual(['2026-11-28T00', '2026-11-29T00'])
    expect(range('7d')).toEqual(['2026-11-22T00', '2026-11-29T00'])
    expect(rangeBefore(rangeOf('7d', none, now))).toEqual({
      from: '2026-11-15T00:00:00.000Z',
      to: '2026-11-22T00:00:00.000Z',
    })
    expect(range('custom', { from: '2026-11-01', to: '2026-11-03' })).toEqual(['2026-11-01T00', '2026-11-04T00'])
    expect(range('custom', { from: 'x', to: '2026-11-03' })).toEqual(['2026-10-28T00', '2026-11-04T00'])
    expect(range('24h')).toEqual(['2026-11-27T11', '2026-11-28T11'])
  })

  it('is refused when it ends before it begins, or is too long', () => {
    const fault = (from: string, to: string) => rangeFault(rangeOf('custom', { from, to }, now))
    expect(fault('2026-11-03', '2026-11-03')).toBeUndefined()
    expect(fault('2026-11-04', '2026-11-03')).toBe('This is after the last day.')
    expect(fault('2025-01-01', '2026-11-03')).toBe('A range has at most 366 days.')
  })
})

describe('the level where most players stop', () => {
  it('is the one with the largest share of players that stop, among levels with enough players', () => {
    const levels = [100, 90, 45, 40, 1, 0].map((reached, index) => ({ level: index + 1, reached }))
    expect(findStall(levels)).toEqual({ level: 4, players: 39, share: 39 / 40 })
    expect(findStall(levels.slice(0, 4))).toEqual({ level: 2, players: 45, share: 0.5 })
    expect(findStall([{ level: 1, reached: 5 }])).toBeUndefined()
    expect(findStall([])).toBeUndefined()
  })
})

describe('xp over time', () => {
  const at = (hour: string) => `2026-11-2${hour}:00:00.000Z`

  it('has every hour or day of the range, with the xp of each source at its own time', () => {
    const match = { source: 'match', times: [{ startsAt: at('1T00'), xp: '5' }] }
    const quest = {
      source: 'quest',
      times: [
        { startsAt: at('0T00'), xp: '2' },
        { startsAt: at('2T00'), xp: '7' },
      ],
    }
    expect(xpOverTime([match, quest], { from: at('0T09'), to: at('2T10'), by: 'DAY' })).toEqual({
      starts: [at('0T00'), at('1T00'), at('2T00')].map(Date.parse),
      values: [
        [0, 5, 0],
        [2, 0, 7],
      ],
    })
    expect(xpOverTime([match], { from: at('0T23'), to: at('1T01'), by: 'HOUR' })).toEqual({
      starts: [at('0T23'), at('1T00')].map(Date.parse),
      values: [[0, 5]],
    })
    expect(xpOverTime([match], { from: at('1T00'), to: at('1T00'), by: 'DAY' }).starts).toEqual([])
  })
})
