import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RawJson } from '../../src/base/json.ts'
import { Tierway } from '../../src/client/index.ts'
import { demoSeason, rankedSeason } from '../../src/dev/season.ts'
import { auditBooks } from '../harness/audit.ts'
import { inPage, type Site, sharedBrowser, startSite, withoutChromium } from '../harness/browser.ts'
import { type Game, startGame } from '../harness/game.ts'
import { type HttpProxy, startHttpProxy } from '../harness/http-proxy.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { buildService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

/** One more than the connections over HTTP that a browser makes to one host, for all tabs together. */
const TABS = 7

// The client library and the example game in a real browser, against the service over real sockets.

describe.skipIf(withoutChromium !== '')(`${withoutChromium}in Chromium`, () => {
  let game: Game
  let operator: Operator
  let browser: Browser
  let allowed: Site
  let stranger: Site
  let context: BrowserContext
  let faults: string[]
  let players = 0

  beforeAll(async () => {
    await buildService()
    allowed = await startSite()
    stranger = await startSite()
    game = await startGame({ ALLOWED_ORIGINS: allowed.origin })
    operator = await startOperator()
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    // The game says when a season takes no more xp from clients.
    await game.publish('season-1', new RawJson(rankedSeason()))
    await game.publish('open', new RawJson(demoSeason()))
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await context?.close()
    if (game) await auditBooks(game.app.pool)
    await operator?.close()
    await game?.stop()
    await allowed?.close()
    await stranger?.close()
  })
  beforeEach(async () => {
    context ??= await browser.newContext({ reducedMotion: 'reduce' })
    faults = []
  })
  // A context costs more than a page. What a test leaves in it is the storage.
  afterEach(async () => {
    await context.setOffline(false)
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await closeTabs()
    const page = await context.newPage()
    for (const address of [`${game.baseUrl}/livez`, allowed.page]) {
      await page.goto(address)
      await page.evaluate('localStorage.clear()')
    }
    await page.close()
  })

  async function closeTabs(): Promise<void> {
    for (const page of context.pages()) await page.close()
  }

  const newName = () => {
    players += 1
    return `player-${players}`
  }

  /** A tab. Its errors and the violations of its policy are faults. */
  async function newTab(address: string, tabs = context): Promise<Page> {
    const page = await tabs.newPage()
    page.on('console', (message) => {
      // No server has an icon; the game's page requests none.
      const isIcon = message.location().url.endsWith('/favicon.ico')
      // The game leaves a popup at every level-up. A cross after another one is refused, and the game goes on.
      const isLateCross = message.location().url.endsWith('/scenarios/cross') && message.text().includes('409')
      if (message.type() === 'error' && !isIcon && !isLateCross)
        faults.push(`${message.text()} ${message.location().url}`)
    })
    page.on('pageerror', (error) => faults.push(String(error)))
    await page.goto(address)
    return page
  }

  const openGame = (baseUrl = game.baseUrl, tabs = context) => newTab(`${baseUrl}/play`, tabs)

  async function logIn(page: Page, name = newName()): Promise<string> {
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Play a match' }).waitFor()
    return name
  }

  /** An empty page of the service's origin. */
  const openEmpty = (tabs = context) => newTab(`${game.baseUrl}/livez`, tabs)

  /** The state of a player in the service. */
  async function booksOf(name: string, scenarioId?: string) {
    const { tierway, pass } = await playerOf(name, scenarioId)
    return { ...(await pass.progress()), ...(await tierway.player()) }
  }

  async function playerOf(name: string, scenarioId = 'season-1') {
    const tierway = new Tierway(game)
    await tierway.login({ customData: { player: name } })
    return { tierway, pass: (await tierway.scenario(scenarioId).start()).battlePass('pass') }
  }

  const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? ''
  const levelOf = async (page: Page) => Number(await textOf(page, '#level'))
  const digitsOf = (text: string) => BigInt(text.replace(/\D/g, '') || 0)
  const seenXp = async (page: Page) => digitsOf(await textOf(page, '#xp'))
  /** The xp that matches have earned, by the log of the game. */
  async function earned(page: Page): Promise<bigint> {
    const lines = await page.locator('#log li').allTextContents()
    const matches = lines.flatMap((line) => /A match: (\d+) xp/.exec(line)?.[1] ?? [])
    return matches.reduce((sum, xp) => sum + BigInt(xp), 0n)
  }
  const play = async (page: Page, matches = 1) => {
    for (let match = 0; match < matches; match += 1) await page.getByRole('button', { name: 'Play a match' }).click()
  }

  describe('the example game', () => {
    it('is played from login to logout, and shows the state of the service', async () => {
      const page = await openGame()
      const name = await logIn(page)
      await page.getByText('You got 1,000 gems, 250 gold').waitFor()
      await until('a level is gained', async () => {
        await play(page)
        return (await levelOf(page)) >= 3
      })
      await page
        .getByRole('status')
        .filter({ hasText: /^Level \d+!$/ })
        .waitFor()
      await until('all matches are counted', async () => (await seenXp(page)) === (await earned(page)))
      expect(
        await page.getByRole('progressbar').evaluate((bar) => (bar as unknown as { value: number }).value > 0),
      ).toBe(true)

      await page.getByRole('button', { name: /^Level 1, free: .*Claim$/ }).click()
      await page.getByRole('button', { name: /^Level 1, free: .*Claimed$/ }).waitFor()
      expect(await page.getByRole('button', { name: /^Level 1, premium: / }).isDisabled()).toBe(true)
      await page.getByRole('button', { name: 'Buy premium for 950 gems' }).click()
      await page.getByRole('button', { name: 'Premium ✓' }).waitFor()
      await page.getByRole('button', { name: /^Claim all \(\d+\)$/ }).click()
      await page.getByRole('button', { name: 'Claim all', exact: true, disabled: true }).waitFor()
      expect(await page.getByRole('button', { name: /^Level 100, free: .*Locked$/ }).isDisabled()).toBe(true)

      const books = await booksOf(name)
      expect(books).toMatchObject({ xp: await seenXp(page), level: await levelOf(page), premiumOwned: true })
      expect(books.claimedTiers).toHaveLength(2 * books.level)
      const wallet = books.wallet.map(({ currency, balance }) => `${balance} ${currency}`)
      const chips = await page.locator('#wallet li').allTextContents()
      expect(chips.map((text) => text.replaceAll(',', ''))).toEqual(wallet)
      expect(await page.locator('#inventory li').allTextContents()).toEqual(['banner first light'])

      await page.reload()
      await until('it goes on', async () => (await seenXp(page)) === books.xp)
      expect(await page.locator('.cell[data-state=claimed]').count()).toBe(2 * books.level)
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Your name').waitFor()
      await page.reload()
      await page.getByLabel('Your name').waitFor()
      expect(faults).toEqual([])
    })

    it('says when the season takes no more xp of practice in a day', async () => {
      const page = await openGame()
      const name = await logIn(page)
      const { pass } = await playerOf(name)
      for (let match = 0; match < 10; match += 1) await pass.addXp(2_000n, { source: 'practice' })
      await play(page, 2)
      await page.getByRole('alert').filter({ hasText: 'Practice earns no more xp today.' }).waitFor()
      expect((await booksOf(name)).xp).toBe(20_000n)
      expect(faults).toEqual([])
    })

    it('keeps matches while it is switched offline, and sends them afterwards', async () => {
      const page = await openGame()
      const name = await logIn(page)
      await page.getByLabel('Offline').check()
      await play(page, 3)
      await page.getByText('3 matches wait to be sent.').waitFor()
      expect((await booksOf(name)).xp).toBe(0n)
      await page.getByRole('button', { name: 'Buy premium' }).click()
      await page.getByRole('alert').filter({ hasText: 'There is no connection.' }).waitFor()
      const sum = await earned(page)
      await page.getByLabel('Offline').uncheck()
      await until('all is counted', async () => (await seenXp(page)) === sum)
      expect((await booksOf(name)).xp).toBe(sum)
      expect(await textOf(page, '#outbox')).toBe('')
      expect(await textOf(page, '#alert')).toBe('')
      expect(faults).toEqual([])
    })

    it('can be played by keyboard alone', async () => {
      const page = await openGame()
      const name = newName()
      // The field has the focus.
      await page.getByLabel('Your name').waitFor()
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type(name)
      await page.keyboard.press('Enter')
      const focused = page.locator(':focus')
      await until('the game has the focus', async () => (await focused.textContent()) === 'Play a match')
      await until('tiers are open', async () => {
        await page.keyboard.press('Enter')
        return (await page.locator('.cell[data-state=claimable]').count()) >= 2
      })
      await until('a tier has the focus', async () => {
        await page.keyboard.press('Tab')
        return /^Level 1, free/.test((await focused.getAttribute('aria-label')) ?? '')
      })
      await page.keyboard.press('Space')
      await until('the next one has it', async () =>
        /^Level 2, free/.test((await focused.getAttribute('aria-label')) ?? ''),
      )
      expect((await booksOf(name)).claimedTiers).toEqual([{ level: 1, track: 'free' }])
    })

    it.each(['dark', 'light'] as const)(
      'has no serious violation by axe, and fits 390 pixels: %s',
      async (colorScheme) => {
        const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
        const phone = await browser.newContext({
          colorScheme,
          reducedMotion: 'reduce',
          viewport: { width: 390, height: 844 },
        })
        const page = await openGame(game.baseUrl, phone)
        const check = async () => {
          const found: string[] = await page.evaluate(`(async () => {
          ${axe}
          const { violations } = await axe.run()
          return violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ' ' + failureSummary))
        })()`)
          expect(found).toEqual([])
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
        }
        await page.getByLabel('Your name').waitFor()
        await check()
        await logIn(page)
        await play(page, 5)
        await page.getByRole('button', { name: /^Claim all \(/ }).waitFor()
        await page.getByRole('button', { name: /^Level 1, free: .*Claim$/ }).click()
        await page.getByRole('button', { name: /^Level 1, free: .*Claimed$/ }).waitFor()
        await page.getByLabel('Offline').check()
        await play(page)
        await page.getByText('A match waits to be sent.').waitFor()
        await check()
        await phone.close()
        expect(faults).toEqual([])
      },
    )

    it('shows the changes of one tab in another, and a logout in one ends both', async () => {
      const first = await openGame()
      await logIn(first)
      const second = await openGame()
      await second.getByRole('button', { name: 'Play a match' }).waitFor()
      await play(first, 3)
      await until('the other tab gains a level, too', async () => (await levelOf(second)) >= 2)
      await first.getByRole('button', { name: 'Log out' }).click()
      await first.getByLabel('Your name').waitFor()
      await second.getByLabel('Your name').waitFor()
    })

    it('is played in each of seven tabs, which all follow the player', async () => {
      const first = await openGame()
      const name = await logIn(first)
      const tabs = [first]
      for (let tab = 2; tab <= TABS; tab += 1) {
        const opened = await openGame()
        await opened.getByRole('button', { name: 'Play a match' }).waitFor()
        tabs.push(opened)
      }
      const last = tabs.at(-1) as Page
      await until('every tab gains a level', async () => {
        await play(last)
        return (await Promise.all(tabs.map(levelOf))).every((level) => level >= 2)
      })
      for (const tab of tabs) await play(tab)
      await until('every match counts', async () => {
        const sums = await Promise.all(tabs.map(earned))
        return (await booksOf(name)).xp === sums.reduce((sum, xp) => sum + xp, 0n)
      })
      expect(faults).toEqual([])
    })

    it('goes on after the service was unreachable, and counts every match once', async () => {
      const proxy: HttpProxy = await startHttpProxy(() => game.baseUrl)
      try {
        const page = await openGame(proxy.baseUrl)
        const name = await logIn(page)
        await play(page, 2)
        await until('it is counted', async () => (await seenXp(page)) === (await earned(page)))
        // An answer is lost, then everything is lost, then a proxy answers 503.
        proxy.mishap = (path) => (path.endsWith('/xp') ? 'unanswered' : 'lost')
        proxy.cut()
        await play(page, 2)
        await page.getByText('2 matches wait to be sent.').waitFor()
        const lost = proxy.seen.length
        await until('it was tried', () => proxy.seen.slice(lost).some((path) => path.endsWith('/xp')))
        proxy.mishap = () => 'refused'
        const refused = proxy.seen.length
        await until('it was tried again', () => proxy.seen.slice(refused).some((path) => path.endsWith('/xp')))
        await page.getByRole('button', { name: 'Buy premium' }).click()
        await page.getByRole('alert').filter({ hasText: 'The service cannot be reached.' }).waitFor()
        proxy.mishap = () => undefined
        const sum = await earned(page)
        await until('all is counted', async () => (await seenXp(page)) === sum)
        expect((await booksOf(name)).xp).toBe(sum)
        // An earlier attempt may still be under way, and can succeed now.
        await until('premium is bought', async () => {
          const buy = page.getByRole('button', { name: 'Buy premium' })
          if (await buy.isEnabled({ timeout: 100 }).catch(() => false))
            await buy.click({ timeout: 100 }).catch(() => {})
          return page.getByRole('button', { name: 'Premium ✓' }).isVisible()
        })
        expect((await booksOf(name)).wallet).toContainEqual({ currency: 'gems', balance: 50n })
        await until('a level is heard', async () => {
          await play(page)
          return /Level|Premium/.test(await textOf(page, '#toast')) && (await levelOf(page)) >= 3
        })
      } finally {
        await closeTabs()
        await proxy.close()
      }
    })
  })

  /**
   * Starts a program with a client that keeps its login for all tabs, and collects the logins that it reported as
   * ended.
   */
  const CONNECT = `
    const connect = () => {
      const tierway = new Tierway({ ...given, storage: kept() })
      globalThis.heard = []
      tierway.on('signedOut', ({ why }) => heard.push(why))
      return tierway
    }
    const tierway = globalThis.tierway ??= connect();`
  const connection = (more: object = {}) => ({ baseUrl: game.baseUrl, sdkKey: game.sdkKey, ...more })

  describe('the library', () => {
    it('follows seven sessions over one WebSocket, while calls go on', async () => {
      const page = await openEmpty()
      const sockets: string[] = []
      page.on('websocket', (socket) => sockets.push(socket.url()))
      const follow = `const tierway = new Tierway(given)
        await tierway.login({ customData: { player: given.name } })
        const sessions = []
        for (let count = 0; count < given.count; count += 1) sessions.push(await tierway.scenario('open').start())
        const heard = sessions.map(() => [])
        sessions.forEach((session, index) => {
          session.on('crossed', ({ handle, toLevel }) => heard[index].push(handle + ' ' + toLevel))
          session.follow()
        })
        const pass = sessions[0].battlePass('pass')
        const levels = []
        while (heard.some((crossings) => crossings.length < 3)) {
          const { leveledUp, level } = await pass.addXp(600n)
          if (leveledUp) levels.push('onLevelUp ' + level)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        return { levels, heard }`
      const given = connection({ name: newName(), count: TABS })
      const { levels, heard } = await inPage<{ levels: string[]; heard: string[][] }>(page, follow, given)
      expect(sockets).toEqual([`${game.baseUrl.replace('http', 'ws')}/graphql`])
      // The session that made the calls hears all of them; the others those after they began to follow.
      expect(heard[0]?.slice(0, 3)).toEqual(levels.slice(0, 3))
      for (const crossings of heard) expect(levels.join()).toContain(crossings.slice(0, 3).join())
      expect(faults).toEqual([])
    })

    it('keeps 64-bit integers exact in xp, storage and raw storage', async () => {
      const page = await openEmpty()
      const raw = '{ "b" : 1.0,\t"a":-9223372036854775808, "b": 1e3 , "c":"é"}'
      const found = await inPage<Record<string, unknown>>(
        page,
        `const tierway = new Tierway({ ...given, storage: kept() })
        await tierway.login({ customData: { player: given.name, steamId: 76561198000000001n } })
        const pass = (await tierway.scenario('open').start()).battlePass('pass')
        const first = await pass.addXp(9007199254740993n)
        const rest = await pass.addXp(2n ** 63n - 1n - 9007199254740993n)
        const more = await pass.addXp(1).catch((error) => error.code)
        const { xp } = await pass.progress()
        const values = { most: 2n ** 63n - 1n, least: -(2n ** 63n), beyond: 2n ** 70n, few: 7, list: [2n ** 53n + 1n, 'id 9007199254740993'] }
        await tierway.storage.set(values)
        const { storage } = tierway
        const read = await storage.get()
        await storage.setRaw({ raw: given.raw })
        return { first: first.xp, rest: rest.xp, more, xp, read, rawRead: await storage.getRaw(['raw', 'most']) }`,
        connection({ name: newName(), raw }),
      )
      expect(operator.hits.at(-1)?.customData).toContain('"steamId":76561198000000001}')
      expect(found).toMatchObject({
        first: 9_007_199_254_740_993n,
        rest: 2n ** 63n - 1n,
        more: 'xp_limit_exceeded',
        xp: 2n ** 63n - 1n,
      })
      expect(found.read).toEqual({
        most: 2n ** 63n - 1n,
        least: -(2n ** 63n),
        beyond: 2n ** 70n,
        few: 7,
        list: [2n ** 53n + 1n, 'id 9007199254740993'],
      })
      expect(found.rawRead).toEqual({ raw, most: '9223372036854775807' })
    })

    it.each([
      ['refused', `{ ...login, accessToken: login.accessToken.slice(0, -9) + 'forgotten' }`],
      ['expired', `{ ...login, receivedAt: login.receivedAt - login.lifetimeMs }`],
    ])('refreshes one login in two tabs at once, and signs no tab out: the token is %s', async (_what, stale) => {
      const name = newName()
      const tabs = [await openEmpty(), await openEmpty()]
      const [first = tabs[0] as Page] = tabs
      const login = `await tierway.login({ customData: { player: given.name } }); return tierway.playerId`
      const playerId = await inPage<string>(first, CONNECT + login, connection({ name }))
      const refreshToken = `JSON.parse(localStorage.getItem(tierway.keep.prefix + ':login')).refreshToken`
      const tokens = new Set<string>()
      // Neither refresh is answered before both tabs have asked, so that they collide.
      let held: (() => void)[] = []
      await context.route('**/authorization/refresh', async (route) => {
        await new Promise<void>((release) => {
          held.push(release)
          if (held.length < tabs.length) return
          for (const each of held) each()
          held = []
        })
        await route.continue()
      })
      for (let round = 0; round < 5; round += 1) {
        await inPage(
          first,
          `${CONNECT} const key = tierway.keep.prefix + ':login', login = JSON.parse(localStorage.getItem(key))
          localStorage.setItem(key, JSON.stringify(${stale}))`,
          connection(),
        )
        // Each tab starts again, with the stored login.
        for (const tab of tabs) {
          await tab.reload()
          await until('it has the login', () =>
            inPage<boolean>(tab, `${CONNECT} return tierway.restore()`, connection()),
          )
        }
        const call = `${CONNECT} const answers = await Promise.all([tierway.player(), tierway.player(), tierway.storage.get()])
          return [answers[0].playerId, answers[1].playerId, ...heard, ${refreshToken}]`
        const answers = await Promise.all(tabs.map((tab) => inPage<string[]>(tab, call, connection())))
        for (const [one, other, ...rest] of answers) expect([one, other, rest.length]).toEqual([playerId, playerId, 1])
        const kept = await inPage<string>(first, `${CONNECT} return ${refreshToken}`, connection())
        expect(tokens.has(kept)).toBe(false)
        tokens.add(kept)
      }
      const go = `${CONNECT} const pass = (await tierway.scenario('open').start()).battlePass('pass')
        return [String((await pass.addXp(1)).xp), heard.length]`
      expect(await inPage(tabs[1] as Page, go, connection())).toEqual(['1', 0])
      expect(await inPage(first, go, connection())).toEqual(['2', 0])
    })

    it('is signed out in every tab by a logout in one', async () => {
      const name = newName()
      const tabs = [await openEmpty(), await openEmpty()]
      const [first, second] = tabs as [Page, Page]
      await inPage(
        first,
        `${CONNECT} await tierway.login({ customData: { player: given.name } })`,
        connection({ name }),
      )
      await inPage(second, `${CONNECT} await tierway.player()`, connection())
      await inPage(first, `${CONNECT} await tierway.logout()`, connection())
      await until('the other tab hears of it', async () => (await second.evaluate('heard.length')) === 1)
      const call = `${CONNECT} return [...heard, await tierway.player().catch(({ code }) => code)]`
      expect(await inPage(second, call, connection())).toEqual(['logout', 'signed_out'])
      expect(await inPage(first, call, connection())).toEqual(['logout', 'signed_out'])

      // Another player in one tab does not become the player of the other tab.
      await inPage(
        second,
        `${CONNECT} await tierway.login({ customData: { player: given.name } })`,
        connection({ name }),
      )
      const third = await openEmpty()
      await inPage(third, `${CONNECT} await tierway.player()`, connection())
      const other = connection({ name: newName() })
      await inPage(second, `${CONNECT} await tierway.login({ customData: { player: given.name } })`, other)
      await until('the tab hears of that', async () => (await third.evaluate('heard.length')) === 1)
      expect(await inPage(third, call, connection())).toEqual(['replaced', 'signed_out'])
    })

    it('keeps xp that was earned offline when the page is closed, and counts each entry once', async () => {
      const name = newName()
      const begin = `${CONNECT} const outbox = globalThis.outbox ??= new Outbox(tierway);`
      const page = await openEmpty()
      await inPage(
        page,
        `${begin} await tierway.login({ customData: { player: given.name } })
        globalThis.pass = (await tierway.scenario('open').start()).battlePass('pass')
        await outbox.addXp(pass, 1); await outbox.flush()`,
        connection({ name }),
      )
      await context.setOffline(true)
      const queue = `${begin} for (const xp of [10n, 100n, 1000n]) await outbox.addXp(pass, xp, { source: 'tunnel' })
        return outbox.size()`
      expect(await inPage(page, queue, connection())).toBe(3)
      await page.close()
      expect((await booksOf(name, 'open')).xp).toBe(1n)

      await context.setOffline(false)
      // Two tabs find the stored entries, and send them.
      const tabs = await Promise.all([openEmpty(), openEmpty()])
      const send = `${begin} await outbox.flush(); return outbox.size()`
      expect(await Promise.all(tabs.map((tab) => inPage(tab, send, connection())))).toEqual([0, 0])
      expect((await booksOf(name, 'open')).xp).toBe(1_111n)

      // The browser reports that it is online again: no call is needed.
      const tab = tabs[0] as Page
      const start = `${begin} globalThis.pass = (await tierway.scenario('open').start()).battlePass('pass')`
      await inPage(tab, start, connection())
      await context.setOffline(true)
      await inPage(tab, `${begin} await outbox.addXp(pass, 10000n)`, connection())
      await context.setOffline(false)
      await until('it is counted', async () => (await booksOf(name, 'open')).xp === 11_111n)
      expect(await inPage(tab, `${begin} await outbox.flush(); return outbox.size()`, connection())).toBe(0)
    })

    it("counts xp whose answer was lost once, by the service's time, whatever the clock of the device says", async () => {
      const DAY_MS = 86_400_000
      const name = newName()
      const device = await browser.newContext()
      await device.addInitScript(`{
        const now = Date.now
        Date.now = () => now() + Number(globalThis.localStorage?.skew ?? 0)
      }`)
      /** A page that begins with another clock. */
      const reopened = async (skewMs: number) => {
        for (const page of device.pages()) await page.close()
        const page = await openEmpty(device)
        await page.evaluate(`localStorage.skew = ${skewMs}`)
        return page
      }
      const begin = `${CONNECT} const outbox = new Outbox(tierway), heard = [];
        outbox.on('sent', ({ xp }) => heard.push(['sent', String(xp.amount)]))
        outbox.on('refused', ({ xp, error }) => heard.push([error.code, String(xp.amount)]));`
      const queue = `${begin} if (!(await tierway.restore())) await tierway.login({ customData: { player: given.name } })
        const pass = (await tierway.scenario('open').start()).battlePass('pass')
        await outbox.addXp(pass, given.xp); await outbox.flush().catch(() => undefined); return outbox.size()`
      const send = `${begin} await tierway.restore(); await outbox.flush(); return heard`
      /** Adds xp, which counts, and loses the answer. */
      const loseAnswer = async (page: Page, xp: number) => {
        await device.route('**/battlepass/xp', async (route) => {
          await route.fetch()
          await route.abort()
        })
        expect(await inPage(page, queue, connection({ name, xp, retries: 0 }))).toBe(1)
        await device.unrouteAll({ behavior: 'wait' })
      }
      await loseAnswer(await reopened(0), 10)
      expect(await inPage(await reopened(30 * DAY_MS), send, connection())).toEqual([['sent', '10']])

      await loseAnswer(await reopened(0), 100)
      const page = await reopened(-30 * DAY_MS)
      // The service has forgotten the key meanwhile.
      await page.evaluate(`for (const key of Object.keys(localStorage).filter((key) => key.includes(':xp:'))) {
        const entry = JSON.parse(localStorage[key])
        localStorage[key] = JSON.stringify({ ...entry, triedAt: entry.triedAt - ${7 * DAY_MS} })
      }`)
      expect(await inPage(page, send, connection())).toEqual([['timeout', '100']])
      await device.close()
      expect((await booksOf(name, 'open')).xp).toBe(110n)
    })

    it('works in memory when the browser denies its storage, or the storage is full', async () => {
      const use = `const storage = kept()
        const tierway = new Tierway({ ...given, storage })
        await tierway.login({ customData: { player: given.name } })
        const pass = (await tierway.scenario('open').start()).battlePass('pass')
        const outbox = new Outbox(tierway)
        await outbox.addXp(pass, 5n)
        await outbox.flush()
        return [String((await pass.progress()).xp), tierway.playerId !== null]`
      // As when a browser blocks all cookies: reading a storage throws. The headless shell cannot block them.
      const denied = await browser.newContext()
      await denied.addInitScript(`for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches'])
        Object.defineProperty(window, name, { get() { throw new DOMException('Access is denied', 'SecurityError') } })`)
      const page = await newTab(`${game.baseUrl}/livez`, denied)
      const look = `(() => { try { return typeof localStorage } catch ({ name }) { return name } })()`
      expect(await page.evaluate(look)).toBe('SecurityError')
      expect(await inPage(page, use, connection({ name: newName() }))).toEqual(['5', true])
      const played = await openGame(game.baseUrl, denied)
      await logIn(played)
      await play(played, 3)
      await until('it is played', async () => (await seenXp(played)) === (await earned(played)))
      expect(faults).toEqual([])
      await denied.close()

      const full = await openEmpty()
      await full.evaluate(`for (let size = 2 ** 22; size >= 1; size /= 2) {
        try { for (;;) localStorage.setItem('x' + Math.random(), 'y'.repeat(size)) } catch {}
      }`)
      expect(await inPage(full, use, connection({ name: newName() }))).toEqual(['5', true])
    })
  })

  describe('a page of another origin', () => {
    const season = `const tierway = new Tierway(given)
      await tierway.login({ customData: { player: given.name } })
      const session = await tierway.scenario('open').start()
      const pass = session.battlePass('pass')
      const ending = new AbortController()
      const heard = []
      const hearing = (async () => {
        for await (const { handle, data } of tierway.events({ after: null, handles: ['onLevelUp'], signal: ending.signal })) {
          heard.push([handle, data.toLevel, String(data.xp)])
          ending.abort()
        }
      })()
      // Without a cursor the first event is the next one.
      while (heard.length === 0) await pass.addXp(600n, { idempotencyKey: 'match ' + Math.random() })
      await hearing
      const refused = await pass.addXp(0).catch(({ code, requestId }) => [code, typeof requestId])
      await tierway.storage.set({ a: 1 })
      const { claimed } = await pass.claimAll()
      return { heard: heard[0][0], refused, claimed: claimed.length > 0 }`

    it('that is allowed can use the whole library: keys, events and the ids of refusals', async () => {
      const page = await newTab(allowed.page)
      expect(await inPage(page, season, connection({ name: newName() }))).toEqual({
        heard: 'onLevelUp',
        refused: ['invalid_request', 'string'],
        claimed: true,
      })
    })

    it('that is not allowed gets a network_error that can be retried', async () => {
      const page = await newTab(stranger.page)
      const attempt = `const tierway = new Tierway({ ...given, retries: 1 })
        const error = await tierway.login({ customData: { player: given.name } }).catch((thrown) => thrown)
        return [TierwayError.is(error), error.code, error.status, error.retryable, tierway.playerId]`
      const expected = [true, 'network_error', 0, true, null]
      expect(await inPage(page, attempt, connection({ name: newName() }))).toEqual(expected)
    })
  })
})
