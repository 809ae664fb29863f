import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { choiceOf, filterOf, parametersOf } from '../../console/src/live/filters.ts'
import { addSample, perMinute, ratesOf } from '../../console/src/live/rates.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole, translate } from '../harness/console.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

const rows = (page: Page) => page.getByRole('region', { name: 'Events, the latest first' }).getByRole('listitem')

const isLive = (page: Page) => page.getByText('Live', { exact: true }).and(page.getByRole('status')).waitFor()

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the live page`, () => {
  let stage: ConsoleStage

  beforeAll(async () => {
    stage = await startConsole({ players: 40 })
  })
  afterAll(() => stage?.stop())

  /** A player that has begun the season. */
  async function newPlayer() {
    const player = await stage.game.player({ wallet: { gems: 5_000n } })
    const runId = await player.start('season-1')
    const node = { scenarioId: 'season-1', runId, nodeId: 'pass' }
    return {
      ...player,
      addXp: (amount: number, source = 'match') => player.post('/sdk/v1/battlepass/xp', { ...node, amount, source }),
      buyPremium: () => player.post('/sdk/v1/battlepass/premium', { ...node, idempotencyKey: 'once' }),
    }
  }

  it('shows events as they happen, the latest first, each with its player, its scenario and its data', async () => {
    const opened = await stage.open('/env/production/live')
    const { page } = opened
    await isLive(page)
    const player = await newPlayer()
    await player.addXp(600, 'boss')
    expect((await player.buyPremium()).status).toBe(200)
    await rows(page).first().filter({ hasText: 'premium-thanks: 1 × banner-first-light granted' }).waitFor()
    await rows(page).nth(1).filter({ hasText: 'Premium bought for 950 gems' }).waitFor()
    const levelUp = rows(page).nth(2).filter({ hasText: 'Level 1 → 2 (boss)' })
    await levelUp.getByRole('button').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('"source": "boss"').waitFor()
    expect(await dialog.getByText('__typename').count()).toBe(0)
    expect(await dialog.getByRole('link', { name: 'season-1' }).getAttribute('href')).toBe(
      '/console/env/production/scenarios/season-1',
    )
    await opened.check('live-event')
    await dialog.getByRole('link', { name: 'Only this player' }).click()
    await page.waitForURL(`**/live?player=${player.playerId}`)
    await rows(page).filter({ hasText: 'New player' }).waitFor()
    expect(
      await rows(page)
        .getByRole('link', { name: player.playerId.slice(-8) })
        .count(),
    ).toBe(await rows(page).count())
    await rows(page)
      .first()
      .getByRole('link', { name: player.playerId.slice(-8) })
      .click()
    await page.waitForURL(`**/players/${player.playerId}`)
    await opened.close()
  })

  it('goes on under a translation of the browser, which replaces texts by its own', async () => {
    const opened = await stage.open('/env/production/live')
    const { page } = opened
    await isLive(page)
    await translate(page)
    const player = await newPlayer()
    await player.addXp(600, 'one')
    await rows(page).filter({ hasText: 'Level 1 → 2 (one)' }).waitFor()
    await page.getByLabel('Show').selectOption('cancelledRuns')
    await page.getByText('No events match these filters').waitFor()
    await page.getByLabel('Show').selectOption('levelUps')
    await player.addXp(600, 'two')
    await rows(page).filter({ hasText: '(two)' }).waitFor()
    const premium = async () => {
      const text = await page.locator('dl > div', { hasText: 'Premium today' }).locator('dd').first().textContent()
      return Number(/\d+/.exec(text ?? '')?.[0])
    }
    await until('the figure is there', async () => (await premium()) >= 0)
    const before = await premium()
    expect((await player.buyPremium()).status).toBe(200)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    const own = rows(page).filter({ hasText: player.playerId.slice(-8) })
    await own.filter({ hasText: 'Premium bought for 950 gems' }).waitFor()
    await until('the figure is read again', async () => (await premium()) > before)
    await opened.close()
  })

  it('filters live events by kind, handle, scenario and player in the URL, also for a viewer', async () => {
    const [one, other] = [await newPlayer(), await newPlayer()]
    await one.addXp(10)
    await other.addXp(600)
    await one.addXp(600)
    const opened = await stage.open(`/env/production/live?handle=onLevelUp&player=${one.playerId}`, { role: 'viewer' })
    const { page } = opened
    await rows(page).waitFor()
    expect(await rows(page).count()).toBe(1)
    expect(await page.getByLabel('Show').inputValue()).toBe('levelUps')
    await page.getByLabel('Player').fill(` ${other.playerId}`)
    await rows(page)
      .getByRole('link', { name: other.playerId.slice(-8) })
      .waitFor()
    expect(new URL(page.url()).search).toBe(`?handle=onLevelUp&player=${other.playerId}`)

    await page.getByLabel('Show').selectOption('new players')
    await rows(page).filter({ hasText: 'New player' }).waitFor()
    expect(new URL(page.url()).search).toBe(`?player=${other.playerId}&type=PLAYER_CREATED`)
    await page.getByLabel('Show').selectOption('other handles …')
    await page.getByLabel('Handles').fill('onWin, onStart')
    await until('starts alone are shown', async () => (await rows(page).count()) === 1)
    await rows(page).filter({ hasText: 'Run started' }).waitFor()
    await page.getByLabel('Handles').fill('onWin')
    await page.getByText('No events match these filters').waitFor()
    await opened.check('live-nothing')

    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByLabel('Scenario').selectOption('season-1')
    await rows(page).nth(5).waitFor()
    expect(new URL(page.url()).search).toBe('?scenario=season-1')
    await page.reload()
    await rows(page).nth(5).waitFor()
    expect(await page.getByLabel('Scenario').inputValue()).toBe('season-1')
    await opened.close()
  })

  it('finds the player of its filter by a nickname, and asks which one is meant', async () => {
    const [one, other] = [await newPlayer(), await newPlayer()]
    const name = (nickname: string, { playerId }: { playerId: string }) =>
      stage.game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', [nickname, playerId])
    await name(`Zed ${'x'.repeat(60)}`, one)
    await name('Zed the second', other)
    const { page, close } = await stage.open('/env/production/live')
    await page.getByLabel('Player').fill('nobody at all')
    await page.getByText('No player has this nickname, id or subject.').waitFor()
    await page.getByLabel('Player').fill('Zed')
    await page.getByRole('group', { name: 'Which of them?' }).getByRole('button', { name: 'Zed the second' }).click()
    await page.waitForURL(`**/live?player=${other.playerId}`)
    await page.getByLabel('Player').fill('Zed x')
    await page.waitForURL(`**/live?player=${one.playerId}`)
    await rows(page)
      .first()
      .getByRole('link', { name: one.playerId.slice(-8) })
      .waitFor()
    await close()
  })

  it('names players by their nicknames, asked for once and together, and a long one moves no column', async () => {
    const players = await Promise.all(times(4, newPlayer))
    const nicknames = ['Yan Feed', 'Yan the second', `Yan ${'W'.repeat(60)}`]
    for (const [at, nickname] of nicknames.entries())
      await stage.game.app.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', [
        nickname,
        players[at]?.playerId,
      ])
    for (const player of players) await player.addXp(600, 'yan')
    const opened = await stage.open('/env/production/players')
    const { page } = opened
    const asked: string[][] = []
    page.on('request', (request) => {
      if (request.postData()?.includes('ConsolePlayerNames')) asked.push(request.postDataJSON().variables.ids)
    })
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    for (const [at, nickname] of nicknames.entries()) {
      const link = rows(page)
        .getByRole('link', { name: `${nickname} …${players[at]?.playerId.slice(-8)}` })
        .first()
      await link.waitFor()
      expect(await link.getAttribute('title')).toBe(`${nickname} ${players[at]?.playerId}`)
    }
    // The fourth has no nickname.
    await rows(page)
      .getByRole('link', { name: `…${players[3]?.playerId.slice(-8)}`, exact: true })
      .first()
      .waitFor()
    const places = await rows(page).evaluateAll((all) =>
      all
        .map((row) => [...row.querySelectorAll('a')].map((link) => link.getBoundingClientRect()))
        .filter(({ length }) => length === 2),
    )
    expect(places.length).toBeGreaterThan(4)
    for (const [player, scenario] of places) expect(player?.right).toBeLessThanOrEqual(scenario?.left ?? 0)
    await opened.check('live-names')
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('live-names-390')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('link', { name: 'Players', exact: true }).click()
    await page.getByRole('heading', { name: 'Players' }).waitFor()
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    await rows(page).getByRole('link', { name: 'Yan Feed' }).first().waitFor()
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.length).toBeLessThanOrEqual(2)
    expect(new Set(asked.flat()).size).toBe(asked.flat().length)
    await opened.close()
  })

  it('reports an invalid filter, and goes on with the next one', async () => {
    const opened = await stage.open('/env/production/live?player=nobody')
    const { page } = opened
    await page.getByRole('alert').filter({ hasText: 'Player: Must be an id.' }).waitFor()
    await page.getByText('Ended').and(page.getByRole('status')).waitFor()
    await opened.check('live-refused')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await isLive(page)
    await rows(page).first().waitFor()
    await opened.close()
  })

  it('says that an environment has no events, and shows the first one', async () => {
    const opened = await stage.open('/env/staging/live', { dark: true })
    const { page } = opened
    await page.getByText('No events in staging yet').waitFor()
    await opened.check('live-empty-dark')
    await stage.game.app.pool.query(FILL, [stage.game.stagingId, 1])
    await rows(page).filter({ hasText: 'Level 1 → 2' }).waitFor()
    await opened.close()
  })

  it('counts the events that arrive while it is paused, then shows them, and resumes with another filter', async () => {
    const player = await newPlayer()
    await player.addXp(600)
    const { page, close } = await stage.open(`/env/production/live?handle=onLevelUp&player=${player.playerId}`)
    await rows(page).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await player.addXp(600)
    await player.addXp(600)
    await page.getByRole('button', { name: 'Resume: 2 waiting' }).waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.getByRole('button', { name: 'Resume' }).click()
    await rows(page).nth(2).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByLabel('Show').selectOption('runs started')
    await rows(page).filter({ hasText: 'Run started' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await close()
  })

  it('moves from event to event by keyboard, and pauses while the focus is in the list', async () => {
    const player = await newPlayer()
    const opened = await stage.open('/env/production/live')
    const { page } = opened
    await rows(page).nth(10).waitFor()
    await page.getByRole('region', { name: 'Events, the latest first' }).focus()
    await page.keyboard.press('Tab')
    for (const key of ['ArrowDown', 'ArrowDown', 'End', 'ArrowUp', 'Home', 'ArrowDown']) await page.keyboard.press(key)
    await page.locator('li[aria-posinset="2"] button:focus').waitFor()
    const name = await page.locator('button:focus').textContent()
    // The browser reports scrolling in its next frame, which can come after the next key.
    await page.getByRole('region', { name: 'Events, the latest first' }).dispatchEvent('scroll')
    await player.addXp(600)
    await page.getByRole('button', { name: /^Resume: \d+ waiting/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: name ?? '' }).waitFor()
    await page.keyboard.press('Escape')
    // At the top, the list is live again.
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await rows(page).filter({ hasText: 'Level 1 → 2 (match)' }).first().waitFor()
    await opened.close()
  })

  it('computes rates from the totals of the service', async () => {
    const opened = await stage.open('/env/production/live')
    const { page } = opened
    const players = await Promise.all(times(4, newPlayer))
    await page.getByText(/^Levels, premium, claims and players are those of season-1, of all players\./).waitFor()
    const levels = page.getByRole('definition').and(page.locator('dt:has-text("Levels a minute") + dd'))
    // The rate is the growth since the first sample, which must not have these levels already.
    await levels.filter({ hasText: /^\d/ }).waitFor()
    await Promise.all(players.map((one) => one.addXp(600)))
    await levels.filter({ hasText: /^[1-9]/ }).waitFor()
    await levels.getByRole('img', { name: /^Between 0 and \d+ a minute/ }).waitFor()
    await opened.check('live')
    await opened.close()

    // Another season begins, which nobody plays yet, and one that has ended is published again.
    await stage.game.publish('season-2', season())
    await stage.game.publish('season-0', season({ more: { endsAt: '2020-01-01T00:00:00Z' } }))
    const both = await stage.open('/env/production/live')
    await both.page.getByText(/are those of season-2 \(no player yet\) and season-1, of all players; who/).waitFor()
    const today = both.page.getByRole('definition').and(both.page.locator('dt:has-text("Players today") + dd'))
    await today.getByText('2 seasons').waitFor()
    await until('both are added up', async () => Number.parseInt((await today.textContent()) ?? '', 10) >= 4)
    await both.page.getByLabel('Scenario').selectOption('season-2')
    await both.page.getByText(/are those of season-2 \(no player yet\), of all players\./).waitFor()
    await today.getByText('0 season-2').waitFor()
    await both.close()
  })

  it('has few rows in the document for any number of events, and keeps the scroll position', async () => {
    const opened = await stage.open('/env/production/live?handle=onLevelUp', { width: 390, dark: true })
    const { page } = opened
    await rows(page).first().waitFor()
    await stage.game.app.pool.query(FILL, [stage.game.environmentId, 5_200])
    await page.getByText(/^5,000 shown.*The page keeps the latest 5,000: \d+ older ones are not shown/).waitFor()
    expect(await rows(page).count()).toBeLessThan(60)
    const list = page.getByRole('region', { name: 'Events, the latest first' })
    await list.hover()
    await page.mouse.wheel(0, 2_000)
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    const tenth = () => rows(page).nth(10).getByRole('link').first().getAttribute('href')
    const before = await tenth()
    // More events arrive than are kept: the visible rows stay.
    await stage.game.app.pool.query(FILL, [stage.game.environmentId, 5_100])
    await page.getByRole('button', { name: 'Resume: 5,100 waiting' }).waitFor()
    await page.getByText('100 of those waiting will not be shown either').waitFor()
    expect(await tenth()).toBe(before)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('live-390-dark')
    await list.press('Home')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await opened.close()
  })
})

/** Inserts level-ups into the database, without the service. */
const FILL = `WITH moved AS (
    INSERT INTO streams AS s (environment_id, position, reached_at) VALUES ($1, $2, now())
    ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position, reached_at = now()
    RETURNING position
  )
  INSERT INTO events (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data)
  SELECT $1, position - $2 + n, 'crossing', 'onLevelUp', gen_random_uuid(), 'season-1', 'pass', gen_random_uuid(),
    format('{"fromLevel":%s,"toLevel":%s,"xp":"600","source":"match"}', n, n + 1)
  FROM moved, generate_series(1, $2::int) n`

describe('the parameters of the URL', () => {
  const search = (text: string) => new URLSearchParams(text)

  it('select a choice by its name, or typed handles', () => {
    expect(choiceOf(search(''))).toBe('all')
    expect(choiceOf(search('handle=onLevelUp'))).toBe('levelUps')
    expect(choiceOf(search('type=RUN_CANCELLED'))).toBe('cancelledRuns')
    expect(choiceOf(search('type=SEASON'))).toBe('seasons')
    expect(choiceOf(search('handle=onWin'))).toBe('handles')
    expect(choiceOf(search('handle='))).toBe('handles')
    expect(choiceOf(search('type=nonsense'))).toBe('all')
    expect(parametersOf('premium')).toEqual({ type: null, handle: 'onPremiumPurchase' })
    expect(parametersOf('newPlayers')).toEqual({ type: 'PLAYER_CREATED', handle: null })
    expect(parametersOf('handles')).toEqual({ type: null, handle: '' })
  })

  it('become the filter of the stream', () => {
    expect(filterOf('staging', search('handle= onWin,,onLose&player=p&scenario=s'))).toEqual({
      environment: 'staging',
      handles: ['onWin', 'onLose'],
      playerId: 'p',
      scenarioId: 's',
      types: undefined,
    })
    expect(filterOf('staging', search('type=PLAYER_CREATED&handle=')).handles).toBeUndefined()
  })
})

describe('rates per minute', () => {
  const sample = (at: number, total: number) => ({ at: at * 1000, calls: total, logins: 0, levelUps: 0 })

  it('cover the last minute, and are null before a second sample', () => {
    const one = addSample([], sample(0, 100))
    expect(perMinute(one, 'calls')).toBeNull()
    const samples = [5, 10, 60, 65, 120].reduce((list, at) => addSample(list, sample(at, 100 + at)), one)
    expect(perMinute(samples, 'calls')).toBe(60)
    expect(ratesOf(samples, 'calls').map(Math.round)).toEqual([60, 60, 60, 60, 60])
  })

  it('start again on a new day, when the totals start at 0', () => {
    const samples = addSample([sample(0, 100), sample(5, 110)], sample(10, 2))
    expect(perMinute(samples, 'calls')).toBeNull()
    expect(addSample(samples, sample(15, 4)).length).toBe(2)
  })
})
