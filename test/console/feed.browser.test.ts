import type { Page, WebSocket } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CatchUp } from '../../console/src/events/catch-up.ts'
import { createdNickname, describeEvent } from '../../console/src/events/describe.ts'
import type { GameEvent } from '../../console/src/events/feed.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { sharedBrowser, withoutChromium } from '../harness/browser.ts'
import { type ConsolePage, isCleared, STEP_MS, watch } from '../harness/console.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  startService,
  stopService,
  type World,
  type WorldPlayer,
} from '../harness/service.ts'
import { numberEvents } from '../harness/settled.ts'
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts'

const rows = (page: Page) => page.getByRole('region', { name: 'Events, the latest first' }).getByRole('listitem')

describe.skipIf(withoutChromium !== '')(`${withoutChromium}a feed of events`, () => {
  let database: TestDatabase
  let world: World
  let service: Service
  let proxy: TcpProxy
  let projectId: string
  let kept: Page | undefined
  let opened: ConsolePage | undefined
  let round = 0

  beforeAll(async () => {
    await buildService()
    database = await createDatabase()
    world = await createWorld(database.url)
    await world.publish('season-1', season())
    const { rows: found } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [
      world.environmentId,
    ])
    projectId = found[0].project_id
    service = await startService(world.env)
    proxy = await startTcpProxy(() => service.baseUrl)
  })
  afterEach(async () => {
    if (!opened || (opened.page === kept && (await isCleared(kept, proxy.baseUrl)))) return
    if (opened.page === kept) kept = undefined
    await opened.close()
  })
  afterAll(async () => {
    await kept?.context().close()
    await proxy?.close()
    await stopService(service)
    await world?.close()
    await database?.drop()
  })

  /** The live page of level-ups, signed in with a new key. */
  async function open(script = ''): Promise<{ page: Page; keyId: string }> {
    const { key, id } = await createPlatformKey(world.pool, projectId, 'admin')
    if (script === '') kept ??= await newPage()
    const page = (script === '' ? kept : undefined) ?? (await newPage(script))
    opened = watch(page)
    await page.goto(`${proxy.baseUrl}/console/env/production/live?handle=onLevelUp`)
    await page.getByLabel('Platform key').fill(key)
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await isLive(page)
    return { page, keyId: id }
  }

  async function newPage(script = ''): Promise<Page> {
    const context = await (await sharedBrowser()).newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(STEP_MS)
    // The clock of this computer is ten minutes ahead of the service's.
    await page.addInitScript('{ const now = Date.now; Date.now = () => now() + 600_000 }')
    await page.addInitScript(script)
    return page
  }

  const isLive = (page: Page) => page.getByText('Live', { exact: true }).and(page.getByRole('status')).waitFor()

  /** Raises each player by one level. Returns the text that these events have in the page. */
  async function levelUp(players: readonly WorldPlayer[], at: Service = service): Promise<string> {
    round += 1
    for (const { token, runId } of players) {
      const body = { scenarioId: 'season-1', runId, nodeId: 'pass', amount: 100 + round, source: `round-${round}` }
      expect((await post(at, '/sdk/v1/battlepass/xp', token, body)).status).toBe(200)
    }
    return `(round-${round})`
  }

  const newPlayers = () => Promise.all(times(4, () => world.player('season-1')))

  it('shows every event once when the service is killed, and names the outage and the number of missed events', async () => {
    const { page } = await open()
    const players = await newPlayers()
    const texts = [await levelUp(players)]
    await page
      .getByText(texts[0] as string)
      .nth(3)
      .waitFor()
    await stopService(service)
    await page.getByText('The connection was lost at').waitFor()
    // These events happen while the page is disconnected, on an instance that it cannot reach.
    const other = await startService(world.env)
    texts.push(await levelUp(players, other))
    service = other
    await page.getByText(/^Back after \d+ s, without a gap: 4 events were caught up\./).waitFor()
    // These events are live: they were not missed.
    texts.push(await levelUp(players))
    await page
      .getByText(texts[2] as string)
      .nth(3)
      .waitFor()
    await page.getByText('4 events were caught up').waitFor()
    proxy.cut()
    texts.push(await levelUp(players))
    await page
      .getByText(texts[3] as string)
      .nth(3)
      .waitFor()
    for (const text of texts) expect(await page.getByText(text).count()).toBe(4)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    expect(await page.getByText('Back after').count()).toBe(0)
  })

  it('shows no event twice after a proxy has closed its socket normally (1000)', async () => {
    const { page } = await open()
    const players = await newPlayers()
    const first = await levelUp(players)
    await page.getByText(first).nth(3).waitFor()
    proxy.closeSockets(1000)
    await page.getByText('Back after').waitFor()
    const second = await levelUp(players)
    await page.getByText(second).nth(3).waitFor()
    for (const text of [first, second]) expect(await page.getByText(text).count()).toBe(4)
  })

  it('says so when the number of missed events cannot be read, and shows them', async () => {
    const { page } = await open()
    const players = await newPlayers()
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('ConsoleLatestEvents') ? route.abort() : route.fallback(),
    )
    proxy.cut()
    const text = await levelUp(players)
    await page
      .getByText(/^Back after \d+ s, without a gap\. How many events were caught up could not be read\./)
      .waitFor()
    await page.getByText(text).nth(3).waitFor()
    expect(await page.getByText(text).count()).toBe(4)
  })

  it('detects a dead connection at once when the browser is online again', async () => {
    // Disables the pings, whose timer has this delay.
    const { page } = await open(
      '{ const set = setTimeout; window.setTimeout = (f, ms) => (ms === 10_000 ? 0 : set(f, ms)) }',
    )
    const players = await newPlayers()
    proxy.freezeSockets()
    const text = await levelUp(players)
    await page.evaluate("dispatchEvent(new Event('online'))")
    await page.getByText('4 events were caught up').waitFor()
    await page.getByText(text).nth(3).waitFor()
    expect(await page.getByText(text).count()).toBe(4)
  })

  it('detects a dead connection by its pings', async () => {
    const { page } = await open()
    const players = await newPlayers()
    proxy.freezeSockets()
    const text = await levelUp(players)
    await page.getByText('4 events were caught up').waitFor()
    await page.getByText(text).nth(3).waitFor()
    expect(await page.getByText(text).count()).toBe(4)
  })

  it('reads the list again when its last event has expired (CURSOR_EXPIRED), says so, and goes on', async () => {
    const { page } = await open()
    const players = await newPlayers()
    const subscribes = new Map<WebSocket, number>()
    page.on('websocket', (socket) =>
      socket.on('framesent', ({ payload }) => {
        if (String(payload).includes('"subscribe"')) subscribes.set(socket, (subscribes.get(socket) ?? 0) + 1)
      }),
    )
    const gone = await levelUp(players)
    await page.getByText(gone).nth(3).waitFor()
    await stopService(service)
    await page.getByText('The connection was lost at').waitFor()
    const other = await startService(world.env)
    await levelUp(players, other)
    const last = await levelUp(players, other)
    await stopService(other)
    // Deletes events as retention does. The killed instance may have left some without positions.
    await numberEvents(world.pool)
    await world.pool.query(
      'DELETE FROM events WHERE position <= (SELECT position - 4 FROM streams WHERE environment_id = $1)',
      [world.environmentId],
    )
    service = await startService(world.env)
    await page.getByText('The service no longer has the last event that was shown').waitFor()
    await page.getByText(last).nth(3).waitFor()
    expect(await rows(page).count()).toBe(4)
    // A second attempt that still waits would start now.
    await page.evaluate("dispatchEvent(new Event('online'))")
    const next = await levelUp(players)
    await page.getByText(next).nth(3).waitFor()
    await isLive(page)
    expect(await rows(page).count()).toBe(8)
    // The refused subscription, and the one that goes on. On a slow machine the socket may have been replaced meanwhile.
    expect([...subscribes.values()].at(-1)).toBeLessThanOrEqual(2)
    // The browser reports the failed connections.
    opened?.complaints.splice(0)
    await opened?.check('live-gap')
  })

  it('shows the end of the id of a player whose nickname cannot be read, and the nickname later', async () => {
    const { page } = await open()
    const players = await newPlayers()
    const [{ playerId = '' } = {}] = players
    await world.pool.query('UPDATE players SET nickname = $1 WHERE id = $2', ['Ada of the feed', playerId])
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('ConsolePlayerNames') ? route.abort() : route.fallback(),
    )
    const failed = page.waitForEvent('requestfailed')
    const text = await levelUp(players)
    await page.getByText(text).nth(3).waitFor()
    await failed
    const row = rows(page)
      .filter({ hasText: text })
      .filter({ hasText: playerId.slice(-8) })
    await row.getByRole('link', { name: `…${playerId.slice(-8)}`, exact: true }).waitFor()
    // How long ago it was is counted by the clock of the service.
    await row.getByText(/^(just now|\d\d seconds ago|1 minute ago)$/).waitFor()
    await page.unroute('**/graphql')
    // It is asked for again half a minute later, once a row needs it.
    await page.evaluate('{ const now = Date.now; Date.now = () => now() + 30_000 }')
    await levelUp(players)
    await row.getByRole('link', { name: `Ada of the feed …${playerId.slice(-8)}`, exact: true }).waitFor()
  })

  it('leads back to the sign-in page when its access has ended', async () => {
    const { page, keyId } = await open()
    const [player] = await newPlayers()
    // This page reads nothing else meanwhile.
    await page.goto(`${proxy.baseUrl}/console/env/production/players/${player?.playerId}/events`)
    await isLive(page)
    await world.pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [keyId])
    await page.getByText('Your session has ended.').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  it('starts once an unreachable service is back', async () => {
    const { page } = await open()
    await newPlayers()
    proxy.cut({ refuse: true })
    await page.getByLabel('Show').selectOption('runs started')
    await page.getByText('The connection was lost at').waitFor()
    await page.getByText('The figures could not be read.').waitFor()
    proxy.restore()
    await rows(page).filter({ hasText: 'Run started' }).nth(3).waitFor()
    await isLive(page)
    // No event had been shown, so none was missed.
    expect(await page.getByText('Back after').count()).toBe(0)
  })
})

describe('the number of events that a feed missed', () => {
  it('counts the events up to the end of the stream at its return, in either order of the answers', () => {
    const early = new CatchUp(2_000, 'b')
    early.endAt('d')
    for (const cursor of ['c', 'd', 'e']) early.add(cursor)
    expect(early.resumption).toEqual({ awayMs: 2_000, caughtUp: 2, isDone: true })
    const late = new CatchUp(2_000, 'b')
    for (const cursor of ['c', 'd', 'e']) late.add(cursor)
    expect(late.resumption).toEqual({ awayMs: 2_000, caughtUp: 3, isDone: false })
    late.endAt('d')
    expect(late.resumption).toEqual({ awayMs: 2_000, caughtUp: 2, isDone: true })
  })

  it('is null when the end of the stream could not be read', () => {
    const catchUp = new CatchUp(2_000, 'b')
    for (const cursor of ['c', 'd']) catchUp.add(cursor)
    catchUp.giveUp()
    catchUp.add('e')
    expect(catchUp.resumption).toEqual({ awayMs: 2_000, caughtUp: null, isDone: true })
  })

  it('is 0 when the last event was shown already, or when there is none', () => {
    for (const end of ['b', undefined]) {
      const catchUp = new CatchUp(1_000, 'b')
      catchUp.endAt(end)
      catchUp.add('c')
      expect(catchUp.resumption).toEqual({ awayMs: 1_000, caughtUp: 0, isDone: true })
    }
  })
})

describe('the text of an event', () => {
  const said = (event: Readonly<Record<string, unknown>>) =>
    describeEvent({ type: 'CROSSING', handle: null, nodeId: 'pass', data: {}, byClient: false, ...event } as GameEvent)

  it('has the nickname of a new player, which needs no other request', () => {
    const created = { type: 'PLAYER_CREATED', data: { nickname: 'Ada', provider: null } } as unknown as GameEvent
    expect(createdNickname(created)).toBe('Ada')
    expect(createdNickname({ ...created, data: { nickname: null, provider: null } })).toBeUndefined()
    expect(createdNickname({ ...created, type: 'CROSSING' })).toBeUndefined()
  })

  it('says what a player reached, bought or was granted', () => {
    expect(said({ handle: 'onLevelUp', data: { fromLevel: 4, toLevel: 6, source: 'match' } })).toBe(
      'Level 4 → 6 (match)',
    )
    expect(said({ handle: 'onMaxLevel', data: { level: 100, source: null } })).toBe('Top level 100 reached')
    expect(
      said({ handle: 'onPremiumPurchase', data: { price: { currency: 'gems', amount: '9007199254740993' } } }),
    ).toBe('Premium bought for 9,007,199,254,740,993 gems')
    const limited = {
      source: 'match',
      limitedBy: 'source.perDay',
      limit: '500',
      asked: '9007199254740993',
      granted: '7',
    }
    expect(said({ type: 'XP_LIMITED', data: limited })).toBe(
      'Limit of xp per day, of the source: 7 of 9,007,199,254,740,993 granted, limit 500 (match)',
    )
    expect(said({ handle: 'onComplete' })).toBe('pass completed: every tier claimed')
    expect(said({ handle: 'onComplete', nodeId: 'l5', data: { level: 5, track: 'free' } })).toBe(
      'l5: level 5 claimed (free)',
    )
    const granted = [
      { amount: '1500', currency: 'gold' },
      { amount: '1', itemId: 'sword' },
    ]
    expect(said({ handle: 'onComplete', nodeId: 'gift', data: { granted } })).toBe(
      'gift: 1,500 gold, 1 × sword granted',
    )
    expect(said({ handle: 'onStart', nodeId: 'start' })).toBe('Run started')
    expect(said({ type: 'SEASON_SETTLED', data: { tiers: 1, failed: 0, granted } })).toBe(
      'pass: 1 unclaimed tier granted (1,500 gold, 1 × sword)',
    )
    expect(said({ type: 'SEASON_SETTLED', data: { tiers: 0, failed: 2, granted: [] } })).toBe(
      'pass: 0 unclaimed tiers granted, 2 did not fit',
    )
    expect(said({ type: 'TIERS_CLAIMED', data: { claimed: [{ level: 1, track: 'free', granted }] } })).toBe(
      'pass: 1 tier claimed by itself (1,500 gold, 1 × sword)',
    )
    expect(said({ type: 'SEASON_ENDING' })).toBe('pass: the season is about to end')
  })

  it('covers events of players, runs and the game client, and survives unknown data', () => {
    expect(said({ type: 'PLAYER_CREATED', data: { nickname: null } })).toBe('New player')
    expect(said({ type: 'PLAYER_CREATED', data: { nickname: 'Ada' } })).toBe('New player Ada')
    expect(said({ type: 'RUN_CANCELLED', data: { cause: 'definition_changed' } })).toBe(
      'Run cancelled: definition changed',
    )
    expect(said({ handle: 'onComplete', nodeId: 'quest', byClient: true })).toBe(
      'quest: onComplete (by the game client)',
    )
    expect(said({ handle: 'onWin', nodeId: 'duel', data: null })).toBe('duel: onWin')
    expect(said({ handle: 'onComplete', data: { granted: [null] } })).toBe('pass: nothing more to grant')
  })
})
