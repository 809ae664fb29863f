import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type LevelUp,
  memoryStorage,
  Outbox,
  type Storage,
  Tierway,
  TierwayError,
  type TierwayOptions,
} from '../../src/client/index.ts'
import { cursorAt } from '../events/cursors.ts'
import { auditBooks } from '../harness/audit.ts'
import { gold, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { AUDIENCE, startIssuer } from '../harness/issuer.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { describeWays } from './ways.ts'

// The client library against the service: sessions, exact values, errors, events (contract 1, 2, 4, 6).

let game: Game
let operator: Operator
let players = 0
/** The levels of a long season. */
const STEPS = 61

beforeAll(async () => {
  game = await startGame()
  operator = await startOperator()
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  await game.publish('season-1', season({ levels: [0, 100, 200, 300], price: { currency: 'gold', amount: 10 } }))
  await game.publish(
    'tour',
    scenario(
      [
        passNode('pass', { tiers: [tier(2, 'free', [gold(7)])] }),
        { id: 'level-2', type: 'battle-pass-level', data: { levelNumber: 2, passNodeId: 'pass' } },
        { id: 'hello', type: 'popup', data: { title: 'Hello', big: 2n ** 60n } },
        { id: 'bye', type: 'popup', data: {} },
        { id: 'prize', type: 'reward', data: { rewards: [gold(2n ** 55n)] } },
      ],
      [
        { from: 'start', handle: 'onStart', to: 'hello' },
        { from: 'start', handle: 'onStart', to: 'pass' },
        { from: 'start', handle: 'onStart', to: 'level-2' },
        { from: 'hello', handle: 'onComplete', to: 'prize' },
        { from: 'prize', handle: 'onComplete', to: 'bye' },
        { from: 'level-2', handle: 'onComplete', to: 'bye' },
      ],
    ),
  )
  const levels = times(STEPS, (index) => index * 10)
  await game.publish(
    'long',
    scenario(
      [
        passNode('pass', { levels, tiers: [2, 3, 4].map((level) => tier(level, 'free', [gold(1)])) }),
        ...[2, 3, 4].map((levelNumber) => ({
          id: `level-${levelNumber}`,
          type: 'battle-pass-level',
          data: { levelNumber, passNodeId: 'pass' },
        })),
        { id: 'shop', type: 'popup', data: {} },
        { id: 'counter', type: 'popup', data: {} },
      ],
      [
        ...['pass', 'level-2', 'level-3', 'level-4', 'shop'].map((to) => ({ from: 'start', handle: 'onStart', to })),
        { from: 'shop', handle: 'onClick', to: 'counter' },
      ],
    ),
  )
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await operator.close()
  await game.stop()
})

const connect = (options: Partial<TierwayOptions> = {}) =>
  new Tierway({ baseUrl: game.baseUrl, sdkKey: game.sdkKey, ...options })

async function signedIn(options: Partial<TierwayOptions> = {}): Promise<Tierway> {
  players += 1
  const tierway = connect(options)
  await tierway.login({ customData: { player: `client ${players}` }, nickname: 'Ada', region: 'eu', language: 'en' })
  return tierway
}

describe('a client', () => {
  it('logs in, adds xp and reports level-ups', async () => {
    const tierway = await signedIn()
    expect(await tierway.player()).toMatchObject({ playerId: tierway.playerId, nickname: 'Ada', wallet: [] })

    const played = await tierway.scenario('season-1').start()
    const pass = played.battlePass('pass')
    expect(await pass.progress()).toEqual({ level: 1, xp: 0n, premiumOwned: false, claimedTiers: [] })
    const heard: LevelUp[] = []
    pass.on('onLevelUp', (levelUp) => heard.push(levelUp))
    const answer = await pass.addXp(120n, { source: 'match' })
    expect(answer).toMatchObject({ level: 2, xp: 120n, leveledUp: true })
    expect(heard).toEqual([
      { nodeId: 'pass', handle: 'onLevelUp', fromLevel: 1, toLevel: 2, xp: 120n, source: 'match' },
    ])
  })
})

describe('a scenario session (contract 1: it supplies the ids)', () => {
  it('calls the listeners with what a pass claims for the player by itself', async () => {
    const nodes = [
      passNode('pass', { levels: [0, 100], tiers: [tier(2, 'free', [gold(7)])], more: { autoClaim: 'always' } }),
      { id: 'cup', type: 'popup', data: {} },
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'pass', handle: 'onComplete', to: 'cup' },
    ]
    await game.publish('by-itself', scenario(nodes, edges))
    const session = await (await signedIn()).scenario('by-itself').start()
    const seen: string[] = []
    session.on('crossed', ({ handle }) => seen.push(handle))
    session.on('entered', ({ nodeId }) => seen.push(`entered ${nodeId}`))
    session.on('granted', ({ rewards }) => seen.push(...rewards.map(({ amount, currency }) => `${amount} ${currency}`)))
    const pass = session.battlePass('pass')
    await pass.addXp(100)
    const all = ['onLevelUp', 'onMaxLevel', 'onComplete', 'entered cup', '7 gold']
    expect(seen).toEqual(all)
    // The tier is claimed, and nothing is reported twice.
    expect(await pass.claim(2, 'free')).toMatchObject({ success: true, alreadyClaimed: true })
    await session.refresh()
    expect(seen).toEqual(all)
  })

  it('knows the run, its active nodes and its last plan, and merges the plan of each call', async () => {
    const tierway = await signedIn()
    const tour = await tierway.scenario('tour').start()
    expect(tour).toMatchObject({ scenarioId: 'tour', status: 'active', isResumed: false })
    expect(tour.active.map(({ nodeId }) => nodeId).sort()).toEqual(['hello', 'level-2', 'pass'])
    expect(tour.active.find(({ nodeId }) => nodeId === 'hello')?.data).toEqual({ title: 'Hello', big: 2n ** 60n })

    const entered: string[] = []
    const granted: bigint[] = []
    const crossed: string[] = []
    tour.on('entered', ({ nodeId }) => entered.push(nodeId))
    tour.on('granted', ({ rewards }) => granted.push(...rewards.map(({ amount }) => amount)))
    tour.on('crossed', ({ nodeId, handle }) => crossed.push(`${nodeId} ${handle}`))
    const plan = await tour.cross('hello', 'onComplete')
    expect(plan).toEqual(tour.plan)
    expect(entered).toEqual(['prize', 'bye'])
    expect(granted).toEqual([2n ** 55n])
    expect(crossed).toEqual(['hello onComplete', 'prize onComplete'])
    expect(tour.active.map(({ nodeId }) => nodeId).sort()).toEqual(['bye', 'level-2', 'pass'])

    const merged = [...tour.active].sort((a, b) => a.nodeId.localeCompare(b.nodeId))
    await tour.refresh()
    expect([...tour.active].sort((a, b) => a.nodeId.localeCompare(b.nodeId))).toEqual(merged)

    const again = await tierway.scenario('tour').start()
    expect(again).toMatchObject({ runId: tour.runId, isResumed: true, status: 'active' })
    expect(again.active.map(({ nodeId }) => nodeId).sort()).toEqual(['bye', 'level-2', 'pass'])
  })

  it('claims the tier of a level node, and reports its onComplete once (contract 6)', async () => {
    const tour = await (await signedIn()).scenario('tour').start()
    const heard: string[] = []
    const level = tour.level('level-2')
    level.onComplete(({ nodeId }) => heard.push(nodeId))
    expect(await level.claim('free')).toMatchObject({ success: false, error: 'level not reached' })
    await tour.battlePass('pass').addXp(100)
    expect(heard).toEqual([])
    expect(await level.claim('free')).toMatchObject({ success: true, granted: [{ amount: 7n }] })
    expect(heard).toEqual(['level-2'])
    expect(tour.active.map(({ nodeId }) => nodeId).sort()).toEqual(['bye', 'hello', 'pass'])
    expect(await level.claim('free')).toMatchObject({ success: true, alreadyClaimed: true, granted: [{ amount: 7n }] })
    expect(heard).toEqual(['level-2'])
  })

  it('reports onComplete of a level node once, even if its tier was claimed on the pass before (contract 6)', async () => {
    const tour = await (await signedIn()).scenario('tour').start()
    const heard: string[] = []
    const level = tour.level('level-2')
    level.onComplete(({ nodeId }) => heard.push(nodeId))
    await tour.battlePass('pass').addXp(100)
    expect(await tour.battlePass('pass').claim(2, 'free')).toMatchObject({ success: true, alreadyClaimed: false })
    expect(heard).toEqual([])
    for (const _ of ['first', 'again']) {
      expect(await level.claim('free')).toMatchObject({ success: true, alreadyClaimed: true })
      expect(heard).toEqual(['level-2'])
    }
    expect(tour.active.map(({ nodeId }) => nodeId).sort()).toEqual(['bye', 'hello', 'pass'])
  })

  it('reports each crossing once while it follows the events, from any device', async () => {
    const tierway = await signedIn()
    const here = await tierway.scenario('season-1').start()
    const there = await tierway.scenario('season-1').start()
    const heard: string[] = []
    here.battlePass('pass').on('onLevelUp', ({ toLevel, xp, source }) => heard.push(`${toLevel} ${xp} ${source}`))
    await here.battlePass('pass').addXp(100n, { source: 'before' })
    const stop = here.follow()
    await here.battlePass('pass').addXp(100n, { source: 'here' })
    await there.battlePass('pass').addXp(100n, { source: 'there' })
    await until('all are heard', () => heard.length >= 3)
    expect(heard).toEqual(['2 100 before', '3 200 here', '4 300 there'])
    stop()
  })

  it('learns by refresh that another device has gone on, or that the run has ended', async () => {
    const tierway = await signedIn()
    const here = await tierway.scenario('tour').start()
    const there = await tierway.scenario('tour').start()
    await there.cross('hello', 'onComplete')
    await here.refresh()
    expect(here.active.map(({ nodeId }) => nodeId).sort()).toEqual(['bye', 'level-2', 'pass'])
    const ended: string[] = []
    here.on('ended', ({ status }) => ended.push(status))
    await game.app.pool.query(`UPDATE runs SET status = 'cancelled' WHERE id = $1`, [here.runId])
    await here.refresh()
    await here.refresh()
    expect([here.status, ended]).toEqual(['cancelled', ['cancelled']])
  })

  it('reports that its run was cancelled while it follows the events', async () => {
    await game.publish('fleeting', { name: 'S', start: 'old', nodes: [{ id: 'old', type: 'popup' }], edges: [] })
    const tierway = await signedIn()
    const here = await tierway.scenario('fleeting').start()
    const ended: string[] = []
    here.on('ended', ({ status }) => ended.push(status))
    const stop = here.follow()
    await here.refresh()
    await game.publish('fleeting', { name: 'S', start: 'new', nodes: [{ id: 'new', type: 'popup' }], edges: [] })
    const next = await tierway.scenario('fleeting').start()
    expect(next.runId).not.toBe(here.runId)
    await until('it has ended', () => ended.length > 0)
    expect(ended).toEqual(['cancelled'])
    stop()
  })

  it('reports the errors of listeners, and no call fails because of them', async () => {
    const pass = (await (await signedIn()).scenario('season-1').start()).battlePass('pass')
    const reported: unknown[] = []
    const { console } = globalThis
    const original = console.error
    console.error = (error: unknown) => reported.push(error)
    try {
      pass.on('onLevelUp', () => {
        throw new Error('mine')
      })
      pass.on('onLevelUp', () => Promise.reject(new Error('mine, too')))
      expect(await pass.addXp(100)).toMatchObject({ level: 2 })
      await until('both are reported', () => reported.length === 2)
    } finally {
      console.error = original
    }
  })
})

describeWays('following a session', () => {
  /** Two devices of one player, and what the first one hears. */
  async function twoDevices() {
    const tierway = await signedIn()
    const here = await tierway.scenario('long').start()
    const there = await tierway.scenario('long').start()
    const heard: string[] = []
    here.on('crossed', (crossing) => {
      const { handle, toLevel } = crossing as LevelUp
      heard.push(handle === 'onLevelUp' ? `level ${toLevel}` : `${crossing.nodeId} ${handle}`)
    })
    return { tierway, here, there, heard }
  }
  const levelsTo = (last: number) => times(last - 1, (index) => `level ${index + 2}`)
  const inOrder = (heard: readonly string[]) =>
    [...heard].sort((a, b) => Number(a.split(' ')[1]) - Number(b.split(' ')[1]))

  it('is counted: two followers hear each crossing once, until both have stopped', async () => {
    const { here, there, heard } = await twoDevices()
    const first = here.follow()
    const second = here.follow()
    await here.battlePass('pass').addXp(10)
    await there.battlePass('pass').addXp(10)
    await until('both are heard', () => heard.length >= 2)
    first()
    first()
    await there.battlePass('pass').addXp(10)
    await until('the second follower hears', () => heard.length >= 3)
    second()
    await here.battlePass('pass').addXp(10)
    expect(heard).toEqual(levelsTo(5))
    const third = here.follow()
    await here.battlePass('pass').addXp(10)
    await there.battlePass('pass').addXp(10)
    await until('the third follower hears', () => heard.length >= 6)
    third()
    expect(heard).toEqual(levelsTo(7))
  })

  it('begins, stops and begins again in one step, as in the strict mode of React, and hears each crossing once', async () => {
    const { here, there, heard } = await twoDevices()
    here.follow()()
    const stop = here.follow()
    await here.battlePass('pass').addXp(10)
    await there.battlePass('pass').addXp(10)
    await until('both are heard', () => heard.length >= 2)
    stop()
    // The stream goes on: nothing of another device is missed in between.
    const again = here.follow()
    await there.battlePass('pass').addXp(10)
    await until('the next one is heard', () => heard.length >= 3)
    again()
    await here.battlePass('pass').addXp(10)
    expect(heard).toEqual(levelsTo(5))
  })

  it("loses no crossing of the session's own calls, and tells none twice, while followers come and go", async () => {
    const { here, there, heard } = await twoDevices()
    let isOver = false
    const toggle = async (shortestMs: number) => {
      while (!isOver) {
        const stop = here.follow()
        await new Promise((resolve) => setTimeout(resolve, shortestMs * Math.random()))
        stop()
        await new Promise((resolve) => setTimeout(resolve, shortestMs * Math.random()))
      }
    }
    const toggling = Promise.all([toggle(4), toggle(15), toggle(40)])
    const levelUps = async () => {
      for (const _ of times(STEPS - 1, String)) await here.battlePass('pass').addXp(10)
    }
    const clicks = async () => {
      for (const _ of times(STEPS - 1, String)) await here.cross('shop', 'onClick')
    }
    await Promise.all([levelUps(), clicks()])
    isOver = true
    await toggling
    const steps = heard.filter((step) => step.startsWith('level '))
    expect(inOrder(steps)).toEqual(levelsTo(STEPS))
    expect(heard.filter((step) => step === 'shop onClick')).toHaveLength(STEPS - 1)
    expect(there.status).toBe('active')
  })

  it('hears each crossing of several devices once while one follower stays', async () => {
    const { here, there, heard } = await twoDevices()
    const stay = here.follow()
    // A call waits until the stream has begun.
    await here.battlePass('pass').addXp(10)
    const play = async (device: typeof here) => {
      for (const _ of times(20, String)) {
        const stop = here.follow()
        await device.battlePass('pass').addXp(10)
        stop()
      }
    }
    await Promise.all([play(here), play(there)])
    await until('all are heard', () => heard.length >= 41)
    stay()
    expect(heard).toEqual(levelsTo(42))
  })

  it('tells onComplete once for each of several claims that are made at once', async () => {
    for (const isFollowed of [false, true]) {
      const { here, heard } = await twoDevices()
      await here.battlePass('pass').addXp(40)
      heard.length = 0
      const stop = isFollowed ? here.follow() : undefined
      await Promise.all([2, 3, 4].map((level) => here.level(`level-${level}`).claim('free')))
      stop?.()
      await until('all are heard', () => heard.length >= 3)
      expect([...heard].sort()).toEqual(['level-2 onComplete', 'level-3 onComplete', 'level-4 onComplete'])
    }
  })

  it('tells the crossings of a repeated call once, also when it is repeated while it follows', async () => {
    const { here, there, heard } = await twoDevices()
    const call = { idempotencyKey: 'match 1' }
    await here.battlePass('pass').addXp(10, call)
    await here.battlePass('pass').addXp(10, call)
    const stop = here.follow()
    await here.battlePass('pass').addXp(10, call)
    await there.battlePass('pass').addXp(10)
    await until('the other device is heard', () => heard.length >= 2)
    stop()
    await here.refresh()
    expect(heard).toEqual(levelsTo(3))
  })

  it('tells what a claim granted once when it is repeated with its key', async () => {
    const { here } = await twoDevices()
    const pass = here.battlePass('pass')
    await pass.addXp(40)
    const granted: number[] = []
    here.on('granted', ({ rewards }) => granted.push(rewards.length))
    for (const _ of ['first', 'again']) {
      const claim = await pass.claim(2, 'free', { idempotencyKey: 'match 1' })
      expect(claim).toMatchObject({ success: true, alreadyClaimed: false })
      expect((await pass.claimAll({ idempotencyKey: 'match 2' })).claimed.map(({ level }) => level)).toEqual([3, 4])
    }
    expect(granted).toEqual([1, 2])
  })

  it('ends with an error for each follower when the login ends, and can begin again', async () => {
    const { tierway, here, heard } = await twoDevices()
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push((error as TierwayError).code)
    here.follow({ onError })
    here.follow({ onError })
    await here.battlePass('pass').addXp(10)
    await tierway.logout()
    await until('both know', () => errors.length === 2)
    expect(errors).toEqual(['signed_out', 'signed_out'])
    await tierway.login({ customData: { player: `client ${players}` } })
    const stop = here.follow({ onError })
    await here.battlePass('pass').addXp(10)
    await until('both are heard', () => heard.length >= 2)
    stop()
    expect([heard, errors.length]).toEqual([levelsTo(3), 2])
  })
})

describe('exact values (contract 2.2: 64-bit integers)', () => {
  it('carry xp as bigint both ways, up to 2^63 - 1', async () => {
    const pass = (await (await signedIn()).scenario('season-1').start()).battlePass('pass')
    expect((await pass.addXp(9_007_199_254_740_993n)).xp).toBe(9_007_199_254_740_993n)
    expect((await pass.addXp(1)).xp).toBe(9_007_199_254_740_994n)
    const rest = 2n ** 63n - 1n - 9_007_199_254_740_994n
    expect((await pass.addXp(rest)).xp).toBe(2n ** 63n - 1n)
    expect((await pass.progress()).xp).toBe(2n ** 63n - 1n)
    await expect(pass.addXp(1)).rejects.toMatchObject({ code: 'xp_limit_exceeded', status: 409 })
  })

  it('carry 64-bit integers of customData to the webhook', async () => {
    await connect().login({ customData: { player: 'steam', steamId: 76_561_198_000_000_001n } })
    expect(operator.hits.at(-1)?.customData).toBe('{"player":"steam","steamId":76561198000000001}')
  })

  it('read storage as values or byte for byte', async () => {
    const { storage } = await signedIn()
    await storage.set({ settings: { music: 0.5, id: 2n ** 62n }, 'a "key"\\': [1, '}{'], __proto__x: null })
    expect(await storage.get(['settings', 'missing'])).toEqual({ settings: { music: 0.5, id: 2n ** 62n } })
    await storage.setRaw({ exact: ' {"b": 1.0, "a":\t1e3, "b": "x,]}\\""} ', odd: '[1 , 2]' })
    expect(await storage.getRaw(['exact', 'odd'])).toEqual({
      exact: '{"b": 1.0, "a":\t1e3, "b": "x,]}\\""}',
      odd: '[1 , 2]',
    })
    expect(Object.keys(await storage.getRaw()).sort()).toEqual(['__proto__x', 'a "key"\\', 'exact', 'odd', 'settings'])
    await expect(storage.setRaw({ bad: '1},"x":{' })).rejects.toThrow(SyntaxError)
    await storage.delete(['exact'])
    expect(await storage.getRaw(['exact'])).toEqual({})
  })

  it('list the keys of a storage page by page', async () => {
    const { storage } = await signedIn()
    expect(await storage.list()).toEqual({ keys: [], next: null })
    await storage.setRaw({ b: '[1,  2]', a: '1', '\u{1f600}': 'null' })
    expect(await storage.list({ first: 2 })).toEqual({
      keys: [
        { key: 'a', bytes: 1 },
        { key: 'b', bytes: 7 },
      ],
      next: 'b',
    })
    expect(await storage.list({ after: 'b' })).toEqual({ keys: [{ key: '\u{1f600}', bytes: 4 }], next: null })
    await expect(storage.list({ first: 201 })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ path: 'first', message: 'must be 1 to 200' }],
    })
  })
})

describe('errors', () => {
  it.each<readonly [string, unknown, readonly string[]]>([
    ['no options', undefined, ['baseUrl', 'sdkKey']],
    ['no settings', {}, ['baseUrl', 'sdkKey']],
    ['settings that are missing', { baseUrl: undefined, sdkKey: null }, ['baseUrl', 'sdkKey']],
    ['a path', { baseUrl: '/game', sdkKey: 'k' }, ['baseUrl']],
    ['a URL without a host', { baseUrl: 'https://', sdkKey: 'k' }, ['baseUrl']],
    ['another scheme', { baseUrl: 'ftp://play.example.com', sdkKey: 'k' }, ['baseUrl']],
    ['a key that no header carries', { baseUrl: 'http://a', sdkKey: 'twsdk_…' }, ['sdkKey']],
    ['odd times', { baseUrl: 'http://a', sdkKey: 'k', timeoutMs: Number.NaN, retries: -1 }, ['timeoutMs', 'retries']],
  ])('of a client that is made with %s name each faulty option', (_what, options, paths) => {
    expect(() => new Tierway(options as TierwayOptions)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        status: 0,
        details: paths.map((path) => ({ path, message: expect.stringMatching(/^must be /) })),
      }),
    )
  })

  it('name numbers and keys that would not arrive as they are, before anything is sent', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
    const outbox = new Outbox(tierway)
    const calls: readonly (readonly [path: string, call: () => Promise<unknown>])[] = [
      ['amount', () => pass.addXp(2 ** 60)],
      ['amount', () => pass.addXp(Number.NaN)],
      ['amount', () => outbox.addXp(pass, 2 ** 60)],
      ['amount', () => outbox.addXp(pass, 1.5)],
      ['level', () => pass.claim(2 ** 53, 'free')],
      ['values.score', () => tierway.storage.set({ score: 2 ** 60 })],
      ['first', () => tierway.storage.list({ first: Infinity })],
      ['customData.steamId', () => tierway.link({ customData: { steamId: 76_561_198_000_000_000 } })],
      ['customData.steamId', () => connect().login({ customData: { steamId: 76_561_198_000_000_000 } })],
      ...['', ' blank ', 'größe', 'two\nlines', 'x'.repeat(256)].flatMap((idempotencyKey) => [
        ['idempotencyKey', () => pass.addXp(1, { idempotencyKey })] as const,
        ['idempotencyKey', () => pass.claimAll({ idempotencyKey })] as const,
        ['idempotencyKey', () => pass.buyPremium({ idempotencyKey })] as const,
      ]),
    ]
    for (const [path, call] of calls) {
      const details = [{ path, message: expect.stringMatching(/^must be /) }]
      await expect(call()).rejects.toMatchObject({ code: 'invalid_request', status: 0, outcomeUnknown: false, details })
    }
    expect([await outbox.size(), (await pass.progress()).xp, await tierway.storage.get()]).toEqual([0, 0n, {}])
    outbox.close()
  })

  it('are typed, and name every fault of a request', async () => {
    const tierway = await signedIn()
    const run = await tierway.scenario('season-1').start()
    const error = await run
      .battlePass('pass')
      .addXp(0, { source: 'x'.repeat(65) })
      .catch((thrown: unknown) => thrown)
    expect(TierwayError.is(error)).toBe(true)
    expect(error).toMatchObject({
      name: 'TierwayError',
      status: 400,
      code: 'invalid_request',
      retryable: false,
      outcomeUnknown: false,
    })
    const { details, requestId } = error as TierwayError
    expect(details.map(({ path }) => path).sort()).toEqual(['amount', 'source'])
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(String(error)).toMatch(/^TierwayError: invalid request: amount must be .*; source must be /)
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'invalid_request', requestId })
    await expect(tierway.scenario('nothing').start()).rejects.toMatchObject({ code: 'scenario_not_found', status: 404 })
    await expect(run.battlePass('nothing').claimAll()).rejects.toMatchObject({ code: 'node_not_found' })
    await expect(run.cross('pass', 'onLevelUp')).rejects.toMatchObject({ code: 'handle_is_server_owned', status: 403 })
  })

  it.each([
    ['AbortController', {}],
    ['atob', {}],
    ['performance', {}],
    ['fetch', {}],
    ['TextDecoder', { WebSocket: undefined }],
  ])('name what the platform lacks when a client is made: %s', (name, besides) => {
    const made = () => {
      for (const [lacking, value] of Object.entries({ ...besides, [name]: undefined })) vi.stubGlobal(lacking, value)
      try {
        return connect()
      } catch (error) {
        return error
      } finally {
        vi.unstubAllGlobals()
      }
    }
    const message = 'is missing on this platform: load a polyfill first'
    expect(made()).toMatchObject({ code: 'invalid_request', details: [{ path: name, message }] })
  })

  it('come instead of a player without an id', async () => {
    const pair = JSON.stringify({ accessToken: `a.${btoa('{"iat":1,"exp":2}')}.c`, refreshToken: 'r' })
    const tierway = connect({ fetch: async () => new Response(pair), retries: 0 })
    await expect(tierway.loginGuest()).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(tierway.playerId).toBeNull()
  })

  it('of a login have a code for each cause (contract 7.1)', async () => {
    operator.answer((_hit, response) => void response.writeHead(403).end())
    await expect(connect().login({ customData: {} })).rejects.toMatchObject({
      code: 'custom_auth_rejected',
      status: 401,
    })
    operator.answer(({ customData }, response) => {
      response.writeHead(200).end(JSON.stringify({ subject: JSON.parse(customData).player }))
    })
    const stranger = new Tierway({ baseUrl: game.baseUrl, sdkKey: 'twsdk_unknown' })
    await expect(stranger.login({ customData: {} })).rejects.toMatchObject({ code: 'invalid_sdk_key' })
    await expect(connect().player()).rejects.toMatchObject({ code: 'signed_out', status: 401 })
  })

  it('of an aborted call are the reason of its signal', async () => {
    const tierway = await signedIn()
    const reason = new Error('the player left')
    await expect(tierway.player({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const away = new Tierway({ baseUrl: 'http://127.0.0.1:9', sdkKey: 'k', retries: 1_000 })
    const ending = new AbortController()
    const call = away.login({ customData: {} }, { signal: ending.signal })
    setTimeout(() => ending.abort(reason), 20)
    await expect(call).rejects.toBe(reason)
  })

  it('do not say that the outcome is unknown when no connection was made', async () => {
    const away = new Tierway({ baseUrl: 'http://127.0.0.1:9', sdkKey: 'k', retries: 0 })
    await expect(away.login({ customData: {} })).rejects.toMatchObject({
      code: 'network_error',
      status: 0,
      retryable: true,
      outcomeUnknown: false,
    })
  })
})

describe('linked identities (contract 4.2)', () => {
  it('lead to the same player', async () => {
    const tierway = await signedIn()
    await tierway.link({ customData: { player: 'the same on a console' } })
    const other = connect()
    await other.login({ customData: { player: 'the same on a console' } })
    expect(other.playerId).toBe(tierway.playerId)
    await expect((await signedIn()).link({ customData: { player: 'the same on a console' } })).rejects.toMatchObject({
      code: 'identity_already_linked',
    })
  })
})

describe('sign-in without a webhook', () => {
  const accounts = async () => {
    const issuer = await startIssuer()
    const oidc = { studio: { enabled: true, issuer: issuer.url, audiences: [AUDIENCE] } }
    const set = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
      body: JSON.stringify({ environment: 'production', authProviders: { oidc, device: { enabled: true } } }),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect(set.status).toBe(200)
    return issuer
  }

  it('keeps a guest through a logout, a new page and the link of an account', async () => {
    const issuer = await accounts()
    const storage = memoryStorage()
    const tierway = connect({ storage })
    // Two presses make one guest.
    await Promise.all([tierway.loginGuest({ nickname: 'Guest' }), tierway.loginGuest()])
    const { playerId } = tierway
    await tierway.linkOidc({ provider: 'studio', idToken: await issuer.token({ sub: 'client' }) })
    await tierway.logout()
    const again = connect({ storage })
    await again.loginGuest()
    expect(again.playerId).toBe(playerId)
    const elsewhere = connect()
    await elsewhere.loginOidc({ provider: 'studio', idToken: await issuer.token({ sub: 'client' }) })
    await elsewhere.linkGuest()
    expect(elsewhere.playerId).toBe(playerId)
    expect((await elsewhere.player()).identities.map(({ provider }) => provider)).toEqual([
      'device',
      'device',
      'oidc:studio',
    ])
    const other = connect()
    await other.loginGuest({ deviceId: 'another-device-0123456789abcdef01234567' })
    expect(other.playerId).not.toBe(playerId)
    await issuer.close()
  })

  it('lists and removes identities, but not the last one, and changes the profile', async () => {
    const issuer = await accounts()
    const tierway = await signedIn()
    await tierway.linkOidc({ provider: 'studio', idToken: await issuer.token({ sub: 'to remove' }) })
    const [custom, oidc] = await tierway.identities()
    expect([custom?.provider, oidc?.provider, oidc?.subject]).toEqual(['custom', 'oidc:studio', 'to remove'])
    await tierway.unlink({ provider: 'oidc:studio', subject: 'to remove' })
    expect((await tierway.identities()).map(({ provider }) => provider)).toEqual(['custom'])
    await expect(tierway.unlink({ provider: 'custom', subject: custom?.subject ?? '' })).rejects.toMatchObject({
      code: 'last_identity',
    })
    await tierway.update({ nickname: 'Grace', language: 'fr' })
    expect(await tierway.player()).toMatchObject({ nickname: 'Grace', region: 'eu', language: 'fr' })
    await issuer.close()
  })

  it('switches to the player that a link meets, ends a lost device, takes the data along and asks for the deletion', async () => {
    await game.setAccountPolicy({ linkTickets: true })
    const issuer = await accounts()
    const account = async () => ({ provider: 'studio', idToken: await issuer.token({ sub: 'of two players' }) })
    const lost = connect()
    await lost.loginOidc({ ...(await account()), deviceName: 'Lost phone', nickname: 'Ada' })
    const tierway = connect()
    await tierway.loginGuest({ deviceName: 'New phone' })
    const guest = tierway.playerId
    const refused: unknown = await tierway.linkOidc(await account()).catch((error: unknown) => error)
    if (!TierwayError.is(refused)) throw refused
    expect(refused).toMatchObject({ code: 'identity_already_linked', details: [] })
    const { ticket = '' } = refused.facts.conflict ?? {}
    const seen: unknown[] = []
    tierway.on('signedOut', ({ why }) => seen.push(why))
    tierway.on('signedIn', ({ playerId }) => seen.push(playerId))
    await tierway.switchPlayer({ ticket, deviceName: 'New phone' })
    expect(seen).toEqual(['replaced', lost.playerId])
    expect(tierway.playerId).not.toBe(guest)
    await expect(tierway.switchPlayer({ ticket })).rejects.toMatchObject({ code: 'ticket_rejected' })

    const [current, other] = await tierway.sessions()
    expect([current?.device, current?.isCurrent, other?.device]).toEqual(['New phone', true, 'Lost phone'])
    expect(await tierway.endSessions(other?.sessionId ?? '')).toBe(1)
    expect(await tierway.endSessions('others')).toBe(0)
    const lines = (await tierway.exportData()).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ kind: 'profile', id: tierway.playerId, nickname: 'Ada' }),
    )
    const deleteAt = await tierway.deletePlayer()
    expect(Date.parse(deleteAt)).toBeGreaterThan(Date.now() + 13 * 86_400_000)
    expect(tierway.playerId).toBeNull()
    await tierway.loginOidc(await account())
    expect(tierway.playerId).toBe(lost.playerId)
    expect(await tierway.endSessions('all')).toBe(1)
    expect(tierway.playerId).toBeNull()
    await issuer.close()
  })

  it('makes no new guest while the storage cannot be read', async () => {
    const issuer = await accounts()
    let isBroken = true
    const kept = memoryStorage()
    const get = (key: string) => {
      if (isBroken && key.endsWith(':device')) throw new Error('locked')
      return kept.get(key)
    }
    const tierway = connect({ storage: { ...kept, get } })
    await expect(tierway.loginGuest()).rejects.toThrow('locked')
    expect(tierway.playerId).toBeNull()
    isBroken = false
    await tierway.loginGuest()
    expect(tierway.playerId).not.toBeNull()
    await issuer.close()
  })

  it('does not repeat a login with a nonce, whose answer was lost, and says why a token is rejected', async () => {
    const issuer = await accounts()
    let calls = 0
    const lossy: TierwayOptions['fetch'] = async (url, request) => {
      calls += 1
      await (await fetch(url, request as RequestInit)).text()
      throw new TypeError('connection lost')
    }
    const sent = { provider: 'studio', idToken: await issuer.token({ nonce: 'once' }), nonce: 'once' }
    await expect(connect({ fetch: lossy }).loginOidc(sent)).rejects.toMatchObject({ code: 'network_error' })
    expect(calls).toBe(1)
    await expect(connect().loginOidc(sent)).rejects.toMatchObject({
      code: 'id_token_rejected',
      details: [{ path: 'nonce', message: 'was used before' }],
    })
    for (const call of ['loginGoogle', 'loginApple'] as const)
      await expect(connect()[call](sent)).rejects.toMatchObject({ code: 'sign_in_disabled' })
    const tierway = await signedIn()
    for (const call of ['linkGoogle', 'linkApple'] as const)
      await expect(tierway[call](sent)).rejects.toMatchObject({ code: 'sign_in_disabled' })
    await issuer.close()
  })
})

describeWays('events (contract 6)', () => {
  it('arrive live and in order, and go on from a cursor', async () => {
    const tierway = await signedIn()
    const pass = (await tierway.scenario('season-1').start()).battlePass('pass')
    const ending = new AbortController()
    const events = tierway.events({ handles: ['onLevelUp', 'onMaxLevel'], signal: ending.signal })
    const first = events.next()
    let isHeard = false
    void first.then(() => {
      isHeard = true
    })
    // Without a cursor the first event is the next one: the test makes calls until it arrives.
    await until('an event is heard', async () => {
      await pass.addXp(100)
      return isHeard
    })
    const { value } = await first
    expect(value).toMatchObject({
      type: 'CROSSING',
      nodeId: 'pass',
      scenarioId: 'season-1',
      playerId: tierway.playerId,
    })
    ending.abort()
    expect(await events.next()).toMatchObject({ done: true })

    const later = await signedIn()
    const played = (await later.scenario('season-1').start()).battlePass('pass')
    await played.addXp(150n, { source: 'a' })
    const heard = []
    // A cursor is a position in the stream of all players: another player receives its own events from there.
    for await (const event of later.events({ after: value?.cursor })) {
      heard.push(event)
      if (event.handle === 'onLevelUp') break
    }
    expect(heard.map(({ type, handle }) => handle ?? type)).toEqual(['PLAYER_CREATED', 'onStart', 'onLevelUp'])
    expect(heard.at(-1)?.data).toEqual({ fromLevel: 1, toLevel: 2, xp: 150n, source: 'a' })
  })

  it('reject a cursor of another stream, and one whose next event was removed, with cursor_expired', async () => {
    const expired = { code: 'cursor_expired', retryable: false }
    const elsewhere = (await signedIn()).events({ after: cursorAt(game.stagingId, 1n) })
    await expect(elsewhere.next()).rejects.toMatchObject(expired)

    const other = await startGame()
    try {
      await other.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
      const tierway = await signedIn({ baseUrl: other.baseUrl, sdkKey: other.sdkKey })
      await settled(other.app.pool)
      await other.app.pool.query('DELETE FROM events')
      const late = tierway.events({ after: cursorAt(other.environmentId, 0n) })
      await expect(late.next()).rejects.toMatchObject(expired)
    } finally {
      await other.stop()
    }
  })

  it('reject a malformed cursor with invalid_request', async () => {
    const tierway = await signedIn()
    await expect(tierway.events({ after: 'nonsense' }).next()).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('events of a platform that has no WebSocket', () => {
  afterEach(() => void vi.unstubAllGlobals())

  it('fail with no_stream when fetch gives no body to read, or nothing decodes it', async () => {
    vi.stubGlobal('WebSocket', undefined)
    const storage = memoryStorage()
    await signedIn({ storage })
    const whole: TierwayOptions['fetch'] = async (url, init) => {
      const response = await fetch(url, init)
      if (!response.headers.get('content-type')?.includes('event-stream')) return response
      return Object.create(response, { body: { value: null }, ok: { value: true } })
    }
    const tierway = connect({ storage, fetch: whole })
    await expect(tierway.events({ after: undefined }).next()).rejects.toMatchObject({ code: 'no_stream' })
    const streaming = connect({ storage })
    vi.stubGlobal('TextDecoder', undefined)
    const after = cursorAt(game.environmentId, 0n)
    await expect(streaming.events({ after }).next()).rejects.toMatchObject({ code: 'no_stream' })
  })
})

describe('a storage that reports the changes of other tabs', () => {
  /** The storage of one of several tabs, which is notified of the changes of the others. */
  function openTab(kept: Storage, tabs: Set<(key: string) => void>): Storage {
    let hear: (key: string) => void = () => undefined
    const tell = (key: string) => {
      for (const other of tabs) if (other !== hear) other(key)
    }
    return {
      ...kept,
      set: (key, value) => [kept.set(key, value), tell(key)],
      remove: (key) => [kept.remove(key), tell(key)],
      watch(key, changed) {
        hear = (name) => name === key && changed()
        tabs.add(hear)
      },
    }
  }

  it('signs a tab out after a logout in another', async () => {
    const [kept, tabs, heard] = [memoryStorage(), new Set<(key: string) => void>(), [] as string[]]
    const first = await signedIn({ storage: openTab(kept, tabs) })
    const second = connect({ storage: openTab(kept, tabs) })
    second.on('signedOut', ({ why }) => heard.push(why))
    expect(await second.restore()).toBe(true)
    // The same player, with other tokens: that is no logout.
    await first.login({ customData: { player: `client ${players}` } })
    expect(await second.player()).toMatchObject({ playerId: first.playerId })
    expect(heard).toEqual([])

    await first.logout()
    await until('the other tab hears of it', () => heard.length > 0)
    await expect(second.player()).rejects.toMatchObject({ code: 'signed_out' })
    await second.login({ customData: { player: 'somebody else' } })
    await first.restore()
    expect([heard, first.playerId]).toEqual([['logout'], null])
  })
})
