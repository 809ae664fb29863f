import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSample, perMinute, ratesOf } from '../../console/src/live/rates.ts'
import { createPlatformKey } from '../../src/auth/keys.ts'
import { startBrowser, withoutChromium } from '../support/browser.ts'
import { type ConsoleStage, startConsole, watch } from '../support/console.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { season } from '../support/definitions.ts'
import { times } from '../support/game.ts'
import { createWorld, post, type Service, startService, stopService, type World } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** The events that are in the page. */
const rows = (page: Page) => page.getByRole('region', { name: 'Events, the latest first' }).getByRole('listitem')

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the live page`, () => {
  let stage: ConsoleStage

  beforeAll(async () => {
    stage = await startConsole({ players: 40 })
  })
  afterAll(() => stage?.stop())

  /** A player that has begun the season. */
  async function newPlayer() {
    const player = await stage.game.player()
    const runId = await player.start('season-1')
    const addXp = (amount: number, source = 'match') =>
      player.post('/sdk/v1/battlepass/xp', { scenarioId: 'season-1', runId, nodeId: 'pass', amount, source })
    return { ...player, addXp }
  }

  it('shows events as they happen, the latest first, each with its player and its data', async () => {
    const opened = await stage.open('/env/production/live')
    const { page } = opened
    await page.getByText('Live', { exact: true }).and(page.getByRole('status')).waitFor()
    const player = await newPlayer()
    await player.addXp(600, 'boss')
    const first = rows(page).filter({ hasText: 'Level 1 → 2 (boss)' })
    await first.waitFor()
    await first.getByRole('button').click()
    await page.getByRole('dialog').getByText('"source": "boss"').waitFor()
    await page.keyboard.press('Escape')
    await opened.check('live')
    await first.getByRole('link', { name: player.playerId }).click()
    await page.waitForURL(`**/players/${player.playerId}`)
    await opened.close()
  })

  it('is filtered by handle, player and scenario, and the address keeps the filters', async () => {
    const [one, other] = [await newPlayer(), await newPlayer()]
    await one.addXp(10)
    await other.addXp(600)
    await one.addXp(600)
    const opened = await stage.open(`/env/production/live?handle=onLevelUp&player=${one.playerId}`, {
      role: 'viewer',
    })
    const { page } = opened
    await rows(page).waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.getByLabel('Player').fill('')
    await page.getByRole('link', { name: other.playerId }).waitFor()
    expect(new URL(page.url()).search).toBe('?handle=onLevelUp')
    await page.getByLabel('Scenario').fill('none')
    await page.getByText('No events in production match these filters').waitFor()
    await opened.check('live-nothing')
    await opened.close()
  })

  it('waits while it is paused or read, says how many events wait, and then shows them', async () => {
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
    await close()
  })

  it('has few rows in the page, however many events there are, and stands still for a reader', async () => {
    const opened = await stage.open('/env/production/live', { width: 390, dark: true })
    const { page } = opened
    await rows(page).first().waitFor()
    const players = await Promise.all(times(20, newPlayer))
    for (const round of times(10, (index) => index)) await Promise.all(players.map((one) => one.addXp(600 + round)))
    await rows(page).filter({ hasText: 'Level' }).first().waitFor()
    expect(await rows(page).count()).toBeLessThan(60)
    await page.getByRole('region', { name: 'Events, the latest first' }).hover()
    await page.mouse.wheel(0, 2_000)
    await page.getByRole('button', { name: /^Resume/ }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await opened.check('live-390-dark')
    await opened.close()
  })
})

describe.skipIf(withoutChromium !== '')(`${withoutChromium}the live page, through a service that is killed`, () => {
  let database: TestDatabase
  let world: World
  let service: Service
  let proxy: TcpProxy
  let browser: Browser

  beforeAll(async () => {
    database = await createDatabase()
    world = await createWorld(database.url)
    await world.publish('season-1', season())
    service = await startService(world.env)
    proxy = await startTcpProxy(() => service.baseUrl)
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await proxy?.close()
    await stopService(service)
    await world?.close()
    await database?.drop()
  })

  it('shows every event once, and says that it was away and what it caught up', async () => {
    const { rows: found } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [
      world.environmentId,
    ])
    const { key } = await createPlatformKey(world.pool, found[0].project_id, 'admin')
    const context = await browser.newContext()
    const { page } = watch(context, await context.newPage())
    await page.goto(`${proxy.baseUrl}/console/env/production/live?handle=onLevelUp`)
    await page.getByLabel('Platform key').fill(key)
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live', { exact: true }).and(page.getByRole('status')).waitFor()

    const players = await Promise.all(times(4, () => world.player('season-1')))
    const levelUp = async (at: Service, level: number) => {
      for (const { token, runId } of players) {
        const body = { scenarioId: 'season-1', runId, nodeId: 'pass', amount: 100 + level, source: `round-${level}` }
        expect((await post(at, '/sdk/v1/battlepass/xp', token, body)).status).toBe(200)
      }
    }
    await levelUp(service, 1)
    await page.getByText('(round-1)').nth(3).waitFor()

    await stopService(service)
    await page.getByText('The connection was lost at').waitFor()
    // What happens while the page is away, on an instance that it cannot reach.
    const other = await startService(world.env)
    await levelUp(other, 2)
    await stopService(other)
    service = await startService(world.env)

    await page.getByText('without a gap: 4 events were caught up.').waitFor()
    await levelUp(service, 3)
    await page.getByText('(round-3)').nth(3).waitFor()
    proxy.cut()
    await levelUp(service, 4)
    await page.getByText('(round-4)').nth(3).waitFor()
    const counts = await Promise.all([1, 2, 3, 4].map((round) => page.getByText(`(round-${round})`).count()))
    expect(counts).toEqual([4, 4, 4, 4])
    await until('nothing waits', async () => (await rows(page).count()) === 16)
    await context.close()
  })
})

describe('rates a minute', () => {
  const sample = (at: number, total: number) => ({ at: at * 1000, xpGrants: total, logins: 0, levelUps: 0 })

  it('are those of the last minute, and nothing before a second sample', () => {
    const one = addSample([], sample(0, 100))
    expect(perMinute(one, 'xpGrants')).toBeNull()
    const samples = [5, 10, 60, 65, 120].reduce((list, at) => addSample(list, sample(at, 100 + at)), one)
    expect(perMinute(samples, 'xpGrants')).toBe(60)
    expect(ratesOf(samples, 'xpGrants').map(Math.round)).toEqual([60, 60, 60, 60, 60])
  })

  it('begin anew with a new day, whose totals begin at nothing', () => {
    const samples = addSample([sample(0, 100), sample(5, 110)], sample(10, 2))
    expect(perMinute(samples, 'xpGrants')).toBeNull()
    expect(addSample(samples, sample(15, 4)).length).toBe(2)
  })
})
