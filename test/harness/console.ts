import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Role } from '../../src/callers/roles.ts'
import { demoSeason } from '../../src/dev/season.ts'
import { seedSeason } from '../../src/dev/seed-season.ts'
import { publishScenario } from '../../src/operations/publishing/publish.ts'
import { sharedBrowser } from './browser.ts'
import { type Game, startGame } from './game.ts'
import { buildService } from './service.ts'

const ARTIFACTS = fileURLToPath(new URL('../../artifacts/console', import.meta.url))
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const DAY_MS = 86_400_000
/** `SCREENSHOTS=1` keeps a screenshot of each checked page in `artifacts/console/`. */
const hasScreenshots = process.env.SCREENSHOTS === '1'
/** The timeout of each step of a test, for what hangs. */
export const STEP_MS = 60_000

export type ConsoleRole = Role

/** A service whose environment `production` has players of the demo season. */
export interface ConsoleService {
  readonly game: Game
  /** A token for a person, as the sign-in page gets one. */
  token(role?: ConsoleRole, actor?: string): Promise<string>
  stop(): Promise<void>
}

/** The console in Chromium. */
export interface ConsoleStage extends ConsoleService {
  readonly browser: Browser
  /** Opens a page below /console that is signed in. */
  open(path: string, options?: OpenOptions): Promise<ConsolePage>
  /** A page with an empty storage, which nobody has opened yet. */
  blank(options?: OpenOptions): Promise<ConsolePage>
}

interface ConsoleOptions {
  /** How many players are seeded. */
  readonly players?: number
  readonly env?: Readonly<Record<string, string>>
}

interface OpenOptions {
  readonly role?: ConsoleRole
  /** The name of the person. */
  readonly actor?: string
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  readonly baseUrl?: string
}

export interface ConsolePage {
  readonly page: Page
  /** Errors that the page wrote to the console, and violations of its policy. */
  readonly complaints: string[]
  /** Expects no violations by axe and no complaints. */
  check(name: string): Promise<void>
  close(): Promise<void>
}

/** Pages of the worker's browser that wait to be used again, also by the next file. */
const idle: Page[] = []

/** Starts the service, without a browser. */
export async function startConsoleService({ players = 0, env = {} }: ConsoleOptions = {}): Promise<ConsoleService> {
  await buildService()
  const game = await startGame({ EVENT_RETENTION_DAYS: '365', ...env })
  const place = { environmentId: game.environmentId, scenarioId: 'season-1' }
  await publishScenario(game.app.pool, place, demoSeason())
  if (players > 0) {
    await seedSeason({
      url: game.databaseUrl,
      environmentId: game.environmentId,
      scenarioId: 'season-1',
      players,
      days: 30,
      eventRetentionDays: 365,
      seed: 1,
      until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
      // The players are then the same on each day of the week.
      firstWeekday: 4,
    })
  }
  return {
    game,
    async token(role = 'admin', actor = 'ada@studio.example') {
      const { data } = await game.graphql(
        game.platformKey,
        'mutation Token($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
        { input: { role: role.toUpperCase(), actor, reason: 'test' } },
      )
      return (data as { createOperatorToken: { token: string } }).createOperatorToken.token
    },
    stop: () => game.stop(),
  }
}

/** Starts the service and Chromium. */
export async function startConsole(options: ConsoleOptions = {}): Promise<ConsoleStage> {
  const service = await startConsoleService(options)
  const { game, token } = service
  const browser = await sharedBrowser()

  const blank: ConsoleStage['blank'] = async ({
    width = 1280,
    height = 900,
    dark = false,
    baseUrl = game.baseUrl,
  } = {}) => {
    const page = idle.pop() ?? (await newPage(browser))
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
    const opened = watch(page)
    return {
      ...opened,
      async close() {
        if (await isCleared(page, baseUrl)) idle.push(page)
        else await opened.close()
      },
    }
  }

  return {
    ...service,
    browser,
    blank,
    async open(path, { role = 'admin', actor, ...options } = {}) {
      const { baseUrl = game.baseUrl } = options
      const opened = await blank(options)
      await opened.page.goto(`${baseUrl}/console${path}#token=${await token(role, actor)}`)
      await opened.page.locator('h1').first().waitFor()
      return opened
    },
  }
}

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ timezoneId: 'Europe/Berlin', acceptDownloads: true })
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_MS)
  return page
}

/**
 * Replaces each text of the page by an element of its own, as a translation of the browser does, now and whenever one is
 * added. React then holds texts that are no longer in the page.
 */
export async function translate(page: Page): Promise<void> {
  await page.evaluate(`
    const translate = (root) => {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
      const found = root.nodeType === Node.TEXT_NODE ? [root] : []
      while (texts.nextNode()) found.push(texts.currentNode)
      for (const text of found) {
        const parent = text.parentElement
        if (!parent || text.data.trim() === '' || parent.closest('[translate=no], [data-translated]')) continue
        const font = document.createElement('font')
        font.dataset.translated = ''
        font.textContent = text.data
        text.replaceWith(font)
      }
    }
    const main = document.querySelector('main')
    translate(main)
    const added = (changes) => changes.flatMap(({ addedNodes }) => [...addedNodes])
    new MutationObserver((changes) => added(changes).forEach(translate)).observe(main, { childList: true, subtree: true })`)
}

/**
 * Clears the storage and the listeners of a page, so that it can be used again. False when that fails. A new page costs
 * two seconds of CPU time, since it compiles its scripts in a new process; a page that is used again costs a quarter.
 */
export async function isCleared(page: Page, baseUrl: string): Promise<boolean> {
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  try {
    await page.goto(`${baseUrl}/livez`)
    await page.evaluate('localStorage.clear(); sessionStorage.clear()')
    return true
  } catch {
    return false
  }
}

/** Collects the complaints of a page. */
export function watch(page: Page): ConsolePage {
  const complaints: string[] = []
  page.on('console', (message) => {
    const { url } = message.location()
    // The page that `isCleared` opened has no icon. Chromium can report that late, while the next page is open.
    if (url.endsWith('/favicon.ico')) return
    if (message.type() === 'error' || /Content Security Policy|TrustedHTML/.test(message.text()))
      complaints.push(`${message.text()} ${url}`.trim())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return {
    page,
    complaints,
    async check(name) {
      await page.locator('h1').first().waitFor()
      if (hasScreenshots) {
        await mkdir(ARTIFACTS, { recursive: true })
        await page.screenshot({ path: join(ARTIFACTS, `${name}.png`), fullPage: true })
      }
      expect(await violations(page)).toEqual([])
      expect(complaints).toEqual([])
    },
    close: () => page.context().close(),
  }
}

/** The violations that axe finds. Its script is run from outside, as the policy of the page refuses inline scripts. */
async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await readFile(AXE, 'utf8'))
  return page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; ')))",
  )
}
