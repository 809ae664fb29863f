import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage, Tierway } from '../../src/client/index.ts'
import { auditBooks } from '../harness/audit.ts'
import { inPage, type Site, startBrowser, startSite, withoutChromium } from '../harness/browser.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { type HttpProxy, startHttpProxy } from '../harness/http-proxy.ts'
import { type Service, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

// A game continues while the service is killed and started again: its xp counts once (spec 4.1).

const PLAYERS = 5
const CALLS = 60

let world: World
let proxy: HttpProxy
let service: Service
/** The site that serves a game to a browser. */
let site: Site

const env = () => ({ ...world.env, ALLOWED_ORIGINS: site.origin })

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season-1', season())
  site = await startSite()
  service = await startService(env())
  proxy = await startHttpProxy(() => service.baseUrl)
})
afterAll(async () => {
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

/** Kills the service and starts it again, twice, while a game makes its calls. */
async function killTwice(made: () => number | Promise<number>, calls: number): Promise<void> {
  for (const share of [0.3, 0.6]) {
    await until('calls are made', async () => (await made()) > calls * share)
    await stopService(service)
    service = await startService(env())
  }
}

describe('a game whose service is killed twice', () => {
  it('has every call counted once, and receives every level-up once', async () => {
    let calls = 0
    const play = async () => {
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
      for (let xp = 1n; xp <= BigInt(CALLS); xp += 1n) {
        expect((await pass.addXp(10n, { source: 'match' })).xp).toBe(xp * 10n)
        calls += 1
      }
      expect(levels).toEqual([2, 3, 4, 5])
      await until('all level-ups are heard live', () => live.at(-1) === 5)
      expect(live).toEqual(levels.slice(-live.length))
      ending.abort()
      await hearing
    }
    const playing = Promise.all(times(PLAYERS, play))
    await killTwice(() => calls, PLAYERS * CALLS)
    await playing
    expect(calls).toBe(PLAYERS * CALLS)
    await auditBooks(world.pool)
  })

  describe.skipIf(withoutChromium !== '')(`${withoutChromium}in Chromium`, () => {
    it('has every call counted once, and receives every level-up once', async () => {
      const browser = await startBrowser()
      try {
        const page = await browser.newPage()
        await page.goto(site.page)
        const given = { baseUrl: proxy.baseUrl, login: await newLogin(), calls: 4 * CALLS }
        const playing = inPage(
          page,
          `const storage = memoryStorage()
          const tierway = new Tierway({ baseUrl: given.baseUrl, sdkKey: 'unused', storage, retries: 100 })
          await storage.set(tierway.keep.prefix + ':login', JSON.stringify(given.login))
          const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
          const levels = []
          pass.on('onLevelUp', ({ toLevel }) => levels.push(toLevel))
          for (globalThis.made = 0; made < given.calls; globalThis.made += 1) await pass.addXp(10n, { source: 'match' })
          return { levels, xp: String((await pass.progress()).xp) }`,
          given,
        )
        await killTwice(() => page.evaluate('globalThis.made ?? 0'), given.calls)
        expect(await playing).toEqual({ levels: [2, 3, 4, 5], xp: String(10 * given.calls) })
        await auditBooks(world.pool)
      } finally {
        await browser.close()
      }
    })
  })
})
