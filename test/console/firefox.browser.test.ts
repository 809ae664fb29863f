import type { Browser } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ConsoleService, startConsoleService } from '../harness/console.ts'
import { type FirefoxPage, openFirefox, startFirefox, withoutFirefox } from '../harness/firefox.ts'
import type { TestPlayer } from '../harness/game.ts'

/** A page has been read when it has asked for nothing for so long. */
const IDLE_MS = 100
/** For how long a page may be wider than its window after a change of the window. */
const FIT_MS = 10_000

describe.skipIf(withoutFirefox !== '')(`${withoutFirefox}the console in Firefox`, () => {
  let service: ConsoleService
  let browser: Browser
  let player: TestPlayer & { readonly runId: string }
  let opened: FirefoxPage

  beforeAll(async () => {
    ;[service, browser] = await Promise.all([startConsoleService({ players: 40 }), startFirefox()])
    const { game } = service
    const made = await game.player({ wallet: { gems: 5_000n } })
    await game.app.pool.query(`UPDATE players SET nickname = 'Firefly' WHERE id = $1`, [made.playerId])
    player = { ...made, runId: await made.start('season-1') }
    await addXp(120)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.stop()
  })
  beforeEach(async () => {
    opened = await openFirefox(browser)
  })
  afterEach(async () => {
    expect(opened.complaints).toEqual([])
    await opened.close()
  })

  const addXp = (amount: number, source = 'match') =>
    player.post('/sdk/v1/battlepass/xp', {
      ...{ scenarioId: 'season-1', runId: player.runId, nodeId: 'pass' },
      ...{ amount, source },
    })

  /** Follows a link that signs in, and then waits for the title of the page. */
  async function follow(path: string, title: string): Promise<void> {
    await opened.page.goto(`${service.game.baseUrl}/console${path}#token=${await service.token()}`)
    await opened.says(title, 'h1')
  }

  it('signs in by a link, and has the figures of today', async () => {
    await follow('', 'Today')
    const { page, says } = opened
    expect(page.url()).toBe(`${service.game.baseUrl}/console/env/production/today`)
    await says('ada@studio.example', '.person')
    await says('All is well')
    await says('120', 'dl')
    const figures = await page.$$eval('dl > div', (cards) =>
      cards.map((card) => [
        card.querySelector('dt')?.firstChild?.textContent,
        card.querySelector('dd > span')?.textContent,
      ]),
    )
    expect(Object.fromEntries(figures)).toMatchObject({ Players: '1', Xp: '120', Claims: '0' })
  })

  it('finds a player and credits a currency', async () => {
    await follow('/env/production/today', 'Today')
    const { page, click, fill, says } = opened
    await click('link', 'Players')
    await says('Players', 'h1')
    await fill('Find', 'irefl')
    await page.keyboard.press('Enter')
    await says('1 player')
    await click('link', 'Firefly', 'table')
    await says('Firefly', 'h1')
    await says('6,000', 'table')
    await click('button', 'Credit')
    await fill('Currency', 'gems', 'dialog')
    await fill('Amount', '500', 'dialog')
    await says('gems: 6,000 → 6,500.', 'dialog')
    await fill('Reason', 'lost after a crash, ticket 4711', 'dialog')
    await click('button', 'Credit', 'dialog')
    await says('Row of the audit log', 'dialog')
    await page.keyboard.press('Escape')
    await says('6,500', 'table')
    const { rows } = await service.game.app.pool.query(
      `SELECT balance::int FROM wallets WHERE player_id = $1 AND currency = 'gems'`,
      [player.playerId],
    )
    expect(rows).toEqual([{ balance: 6_500 }])
  })

  it('opens a scenario as a graph, as a table and as JSON, and reviews a change that was made in the table', async () => {
    await follow('/env/production/scenarios', 'Designer')
    const { page, click, fill, says } = opened
    await click('link', 'season-1', 'main')
    await page.waitForSelector('.react-flow__node')
    await click('link', 'Table')
    await page.waitForSelector('[aria-label="Level 3, free rewards"]')
    await fill('Level 3, free rewards', '90 gold')
    await says('No faults: it can be published')
    await says('draft based on version 1')
    await click('link', 'JSON')
    await says('"start"', '.cm-content')
    await click('link', 'Review and publish')
    await says('The free tier of level 3 grants 90 gold instead of 65 gold.')
  })

  it('shows an event that happens while the live page is open', async () => {
    await follow('/env/production/live', 'Live')
    await opened.says('Live', '[role=status]')
    await addXp(700, 'dragon')
    await opened.says('(dragon)', 'main li')
  })

  it('has no page that is wider than its window, at 1280 and at 390 pixels', async () => {
    // Its level is a row of the player's timeline.
    await addXp(700)
    await follow('/env/production/today', 'Today')
    const { page, says } = opened
    const wide: string[] = []
    for (const [path, title] of [
      ['/env/production/today', 'Today'],
      ['/env/production/live', 'Live'],
      ['/env/production/battle-pass', 'Battle pass'],
      ['/env/production/players', 'Players'],
      [`/env/production/players/${player.playerId}`, 'Firefly'],
      ['/env/production/scenarios/season-1/table', 'season-1'],
      ['/env/production/scenarios/season-1/json', 'season-1'],
      ['/env/production/calendar', 'Calendar'],
      ['/env/production/grants', 'Grants'],
      ['/env/production/providers', 'Providers'],
      ['/env/production/roles', 'Roles'],
    ] as const) {
      await page.goto(`${service.game.baseUrl}/console${path}`)
      await says(title, 'h1')
      await page.waitForNetworkIdle({ idleTime: IDLE_MS })
      await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null)
      for (const width of [1280, 390]) {
        await page.setViewport({ width, height: 900 })
        // Scroll bars and charts follow a new width some frames later.
        await page
          .waitForFunction(
            (wanted) =>
              innerWidth === wanted && document.documentElement.scrollWidth <= document.documentElement.clientWidth,
            { timeout: FIT_MS },
            width,
          )
          .catch(() => wide.push(`${path} at ${width}`))
      }
    }
    expect(wide).toEqual([])
  })
})
