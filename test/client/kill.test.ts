import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage, Tierway } from '../../src/client/index.ts'
import { auditBooks } from '../harness/audit.ts'
import { inPage, type Site, sharedBrowser, startSite, withoutChromium } from '../harness/browser.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { type HttpProxy, startHttpProxy } from '../harness/http-proxy.ts'
import { type Service, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

// A game continues while the service is killed and started again: its xp counts once (contract 4.1).

const PLAYERS = 5
/** The least calls of a game, which reach the last level, and its calls before each kill. */
const CALLS = 50
const CALLS_BETWEEN = 15

let world: World
let proxy: HttpProxy
let service: Service
/** The site that serves a game to a browser. */
let site: Site
let page: Page | undefined
/** Whether the kills are over: until then, every game goes on. */
let isOver = false
let played: Promise<Awaited<ReturnType<typeof playHere>>[]>
let playedInPage: ReturnType<typeof playInPage> | undefined

const env = () => ({ ...world.env, ALLOWED_ORIGINS: site.origin })

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season-1', season())
  site = await startSite()
  service = await startService(env())
  proxy = await startHttpProxy(() => service.baseUrl)
  page = withoutChromium === '' ? await (await sharedBrowser()).newPage() : undefined
  await page?.goto(site.page)
  const calls = times(PLAYERS, () => 0)
  played = Promise.all(
    calls.map((_, index) =>
      playHere(() => {
        calls[index] = (calls[index] ?? 0) + 1
      }),
    ),
  )
  playedInPage = page && playInPage(page)
  // A failure is reported by the test of the game.
  for (const playing of [played, playedInPage]) playing?.catch(() => undefined)
  const made = async () => [...calls, ...(page ? [await page.evaluate<number>('globalThis.made ?? 0')] : [])]
  for (let kill = 1; kill <= 2; kill += 1) {
    const before = await made()
    await until('every game has gone on', async () =>
      (await made()).every((count, index) => count > (before[index] ?? 0) + CALLS_BETWEEN),
    )
    await stopService(service)
    service = await startService(env())
  }
  isOver = true
  await page?.evaluate('globalThis.isOver = true')
})
afterAll(async () => {
  await page?.close()
  await proxy?.close()
  await site?.close()
  await stopService(service)
  await world?.close()
})

/** A login as the library keeps it, without the studio's webhook. */
async function newLogin() {
  const { token: accessToken, playerId } = await world.player('season-1')
  return { accessToken, refreshToken: 'unused', playerId, receivedAt: Date.now(), lifetimeMs: 86_400_000 }
}

/** A game with the client library in this process. */
async function playHere(onCall: () => void): Promise<{ levels: number[]; live: number[] }> {
  const storage = memoryStorage()
  const tierway = new Tierway({ baseUrl: proxy.baseUrl, sdkKey: 'unused', storage, retries: 100 })
  await storage.set(`${tierway.keep.prefix}:login`, JSON.stringify(await newLogin()))
  const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
  const levels: number[] = []
  pass.on('onLevelUp', ({ toLevel }) => levels.push(toLevel))
  const live: number[] = []
  const ending = new AbortController()
  const hearing = (async () => {
    const options = { handles: ['onLevelUp'], signal: ending.signal }
    for await (const { data } of tierway.events(options)) live.push(data.toLevel as number)
  })()
  for (let xp = 1n; !isOver || xp <= BigInt(CALLS); xp += 1n) {
    expect((await pass.addXp(10n, { source: 'match' })).xp).toBe(xp * 10n)
    onCall()
  }
  await until('all level-ups are heard live', () => live.at(-1) === 5)
  ending.abort()
  await hearing
  return { levels, live }
}

/** The same game in a page of a browser. */
async function playInPage(page: Page): Promise<{ levels: number[]; xp: string; made: number }> {
  return inPage(
    page,
    `const storage = memoryStorage()
    const tierway = new Tierway({ baseUrl: given.baseUrl, sdkKey: 'unused', storage, retries: 100 })
    await storage.set(tierway.keep.prefix + ':login', JSON.stringify(given.login))
    const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
    const levels = []
    pass.on('onLevelUp', ({ toLevel }) => levels.push(toLevel))
    for (globalThis.made = 0; !globalThis.isOver || made < given.calls; globalThis.made += 1)
      await pass.addXp(10n, { source: 'match' })
    return { levels, xp: String((await pass.progress()).xp), made }`,
    { baseUrl: proxy.baseUrl, login: await newLogin(), calls: CALLS },
  )
}

describe('a game whose service is killed twice', () => {
  it('has every call counted once, and receives every level-up once', async () => {
    for (const { levels, live } of await played) {
      expect(levels).toEqual([2, 3, 4, 5])
      expect(live).toEqual(levels.slice(-live.length))
    }
    await playedInPage?.catch(() => undefined)
    await auditBooks(world.pool)
  })

  describe.skipIf(withoutChromium !== '')(`${withoutChromium}in Chromium`, () => {
    it('has every call counted once, and receives every level-up once', async () => {
      const { made = 0, ...result } = (await playedInPage) ?? {}
      expect(result).toEqual({ levels: [2, 3, 4, 5], xp: String(10 * made) })
    })
  })
})
