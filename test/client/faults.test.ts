import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { TierwayError } from '../../src/client/error.ts'
import {
  type BattlePassSession,
  memoryStorage,
  Outbox,
  type ScenarioSession,
  type Storage,
  Tierway,
  type TierwayOptions,
} from '../../src/client/index.ts'
import { auditBooks } from '../harness/audit.ts'
import { gold, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { type HttpProxy, type Mishap, startHttpProxy } from '../harness/http-proxy.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { SEED } from '../harness/seed.ts'
import { settled } from '../harness/settled.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'
import { describeWays } from './ways.ts'

// The client library on a bad network: each call counts once, and no login is lost (contract 4.1, 5).

let game: Game
let operator: Operator
let proxy: HttpProxy
let players = 0

const REFRESH = '/sdk/v1/authorization/refresh'
const XP = '/sdk/v1/battlepass/xp'
const DAY_MS = 86_400_000
const TOP = 30

beforeAll(async () => {
  game = await startGame()
  operator = await startOperator()
  proxy = await startHttpProxy(() => game.baseUrl)
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  await game.publish('season-1', season())
  const levels = times(TOP, (index) => index * 100)
  const tiers = times(TOP, (index) => tier(index + 1, index % 3 === 0 ? 'premium' : 'free', [gold(index + 1)]))
  await game.publish(
    'random',
    scenario(
      [
        passNode('pass', { levels, tiers, price: { currency: 'gold', amount: 30 } }),
        { id: 'level-5', type: 'battle-pass-level', data: { levelNumber: 5, passNodeId: 'pass' } },
        { id: 'shop', type: 'popup', data: {} },
        { id: 'prize', type: 'reward', data: { rewards: [gold(1)], repeat: 'always' } },
      ],
      [
        { from: 'start', handle: 'onStart', to: 'pass' },
        { from: 'start', handle: 'onStart', to: 'level-5' },
        { from: 'start', handle: 'onStart', to: 'shop' },
        { from: 'shop', handle: 'onClick', to: 'prize' },
      ],
    ),
  )
})
afterEach(() => {
  proxy.mishap = () => undefined
  vi.restoreAllMocks()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await proxy.close()
  await operator.close()
  await game.stop()
})

const connect = (options: Partial<TierwayOptions> = {}) =>
  new Tierway({ baseUrl: proxy.baseUrl, sdkKey: game.sdkKey, ...options })

async function signedIn(options: Partial<TierwayOptions> = {}): Promise<Tierway> {
  players += 1
  const tierway = connect(options)
  await tierway.login({ customData: { player: `faults ${players}` } })
  return tierway
}

const passOf = async (tierway: Tierway): Promise<BattlePassSession> =>
  (await tierway.scenario('season-1').start()).battlePass('pass')

function once(path: string, mishap: Mishap): void {
  let isDone = false
  proxy.mishap = (called) => {
    if (isDone || called !== path) return undefined
    isDone = true
    return mishap
  }
}

async function callsOf(path: string, act: () => Promise<unknown>): Promise<number> {
  const count = () => proxy.seen.filter((seen) => seen === path).length
  const before = count()
  await act()
  return count() - before
}

const loginKey = ({ keep }: Tierway) => `${keep.prefix}:login`

/** Changes a stored login, and returns clients that restore it, like tabs of one browser. */
async function reopened(edit: (login: Record<string, unknown>) => object, tabs = 1) {
  const storage = memoryStorage()
  const tierway = await signedIn({ storage })
  const login = JSON.parse(String(await storage.get(loginKey(tierway))))
  await storage.set(loginKey(tierway), JSON.stringify({ ...login, ...edit(login) }))
  const signedOut: string[] = []
  const clients = times(tabs, () => connect({ storage }))
  for (const client of clients) client.on('signedOut', ({ why }) => signedOut.push(why))
  return { storage, clients, signedOut, playerId: tierway.playerId, login, key: loginKey(tierway) }
}

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) | 0
    return (state >>> 0) / 2 ** 32
  }
}

describe('a call on a bad network', () => {
  it.each([
    'lost',
    'unanswered',
    'cut',
    'doubled',
    'delayed',
    'refused',
    'captured',
    'hollow',
    'maintained',
    'nulled',
    'blank',
  ] as const)('is retried with its key and counts once: %s', async (mishap) => {
    const pass = await passOf(await signedIn())
    once(XP, mishap)
    expect((await pass.addXp(10)).xp).toBe(10n)
    expect((await pass.progress()).xp).toBe(10n)
  })

  it('rejects with an unknown outcome after its retries, and counts once when repeated with its key', async () => {
    const tierway = await signedIn({ retries: 1 })
    const pass = await passOf(tierway)
    proxy.mishap = (path) => (path === XP ? 'unanswered' : undefined)
    const call = { idempotencyKey: 'mine', source: 'match' }
    await expect(pass.addXp(10, call)).rejects.toMatchObject({
      code: 'network_error',
      retryable: true,
      outcomeUnknown: true,
    })
    proxy.mishap = () => undefined
    expect((await pass.addXp(10, call)).xp).toBe(10n)
    await expect(pass.addXp(11, call)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
      outcomeUnknown: false,
    })
  })

  it('names the key of a change that failed, by which its repeat counts once', async () => {
    const tierway = await signedIn({ retries: 0 })
    const pass = await passOf(tierway)
    const failed = async (call: Promise<unknown>) => {
      const error: unknown = await call.catch((thrown: unknown) => thrown)
      if (!TierwayError.is(error)) throw error
      return error
    }
    once(XP, 'unanswered')
    const { idempotencyKey, outcomeUnknown } = await failed(pass.addXp(10))
    expect([idempotencyKey, outcomeUnknown]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), true])
    expect((await pass.addXp(10, { idempotencyKey: idempotencyKey as string })).xp).toBe(10n)
    expect((await pass.addXp(5)).xp).toBe(15n)
    once('/graphql', 'unanswered')
    const claim = await failed(pass.claimAll({ idempotencyKey: 'all' }))
    expect(JSON.parse(JSON.stringify(claim))).toMatchObject({ idempotencyKey: 'all' })
    once('/sdk/v1/player/get', 'unanswered')
    expect((await failed(tierway.player())).idempotencyKey).toBeNull()
  })

  it('rejects after its timeout', async () => {
    const pass = await passOf(await signedIn())
    proxy.mishap = (path) => (path === XP ? 'hung' : undefined)
    await expect(pass.addXp(10, { timeoutMs: 50, retries: 1 })).rejects.toMatchObject({
      code: 'timeout',
      outcomeUnknown: true,
    })
  })

  it('waits as long as a 429 says, and its outcome is known', async () => {
    const pass = await passOf(await signedIn())
    once(XP, 'limited')
    const started = performance.now()
    expect((await pass.addXp(10)).xp).toBe(10n)
    // Timers may be a millisecond early.
    expect(performance.now() - started).toBeGreaterThanOrEqual(999)
    proxy.mishap = (path) => (path === XP ? 'limited' : undefined)
    await expect(pass.addXp(10, { retries: 0 })).rejects.toMatchObject({
      code: 'rate_limited',
      status: 429,
      outcomeUnknown: false,
    })
  })

  it('knows the outcome of a 503 that says that nothing was done, unless an earlier attempt may have arrived', async () => {
    const pass = await passOf(await signedIn())
    proxy.mishap = (path) => (path === XP ? 'undone' : undefined)
    const undone = { code: 'unavailable', status: 503, retryable: true }
    await expect(pass.addXp(10, { retries: 1 })).rejects.toMatchObject({ ...undone, outcomeUnknown: false })
    let asked = 0
    proxy.mishap = (path) => (path === XP ? (asked++ === 0 ? 'unanswered' : 'undone') : undefined)
    await expect(pass.addXp(10, { retries: 1 })).rejects.toMatchObject({ ...undone, outcomeUnknown: true })
  })

  it('is not retried after a refusal, or after the service has retried the webhook', async () => {
    const pass = await passOf(await signedIn())
    expect(await callsOf(XP, () => expect(pass.addXp(0)).rejects.toMatchObject({ status: 400 }))).toBe(1)
    const path = '/sdk/v1/authorization/custom'
    const away = () => connect().login({ customData: { player: 'x' }, provider: 'nobody' })
    expect(await callsOf(path, () => expect(away()).rejects.toMatchObject({ code: 'custom_auth_disabled' }))).toBe(1)
    operator.answer((_hit, response) => void response.writeHead(500).end())
    const down = () => connect().login({ customData: { player: 'x' } })
    expect(await callsOf(path, () => expect(down()).rejects.toMatchObject({ code: 'custom_auth_unavailable' }))).toBe(1)
    operator.answer(({ customData }, response) => {
      response.writeHead(200).end(JSON.stringify({ subject: JSON.parse(customData).player }))
    })
  })

  it('is retried when GraphQL answers that the service is unavailable', async () => {
    const pass = await passOf(await signedIn())
    await pass.addXp(100)
    once('/graphql', 'away')
    expect((await pass.claimAll()).claimed).toHaveLength(2)
    proxy.mishap = (path) => (path === '/graphql' ? 'away' : undefined)
    await expect(pass.claimAll({ retries: 1 })).rejects.toMatchObject({ code: 'unavailable', outcomeUnknown: true })
  })

  it('returns what claim-all granted when the first answer is lost', async () => {
    const pass = await passOf(await signedIn())
    await pass.addXp(100)
    let calls = 0
    proxy.mishap = (path) => {
      if (path !== '/graphql') return undefined
      calls += 1
      return calls === 1 ? 'unanswered' : undefined
    }
    const { claimed } = await pass.claimAll()
    expect(claimed.map(({ level, granted }) => [level, granted[0]?.amount])).toEqual([
      [1, 10n],
      [2, 20n],
    ])
  })
})

describe('an answer that did not come from the service', () => {
  const FOREIGN = ['captured', 'hollow', 'maintained', 'nulled', 'blank'] as const

  /** Every call of the library, and whether it changes something. */
  const CALLS: readonly (readonly [name: string, isChange: boolean, call: (given: Given) => Promise<unknown>])[] = [
    ['login', false, ({ tierway }) => tierway.login({ customData: { player: 'nobody' } })],
    ['link', true, ({ tierway }) => tierway.link({ customData: { player: 'nobody' } })],
    ['player', false, ({ tierway }) => tierway.player()],
    ['start', true, ({ tierway }) => tierway.scenario('season-1').start()],
    ['refresh', false, ({ pass }) => pass.session.refresh()],
    ['cross', true, ({ pass }) => pass.session.cross('hello', 'onComplete')],
    ['progress', false, ({ pass }) => pass.progress()],
    ['addXp', true, ({ pass }) => pass.addXp(10)],
    ['claim', true, ({ pass }) => pass.claim(1, 'free')],
    ['claim of a level node', true, ({ pass }) => pass.session.level('level').claim('free')],
    ['claimAll', true, ({ pass }) => pass.claimAll()],
    ['buyPremium', true, ({ pass }) => pass.buyPremium()],
    ['storage.get', false, ({ tierway }) => tierway.storage.get()],
    ['storage.getRaw', false, ({ tierway }) => tierway.storage.getRaw()],
    ['storage.list', false, ({ tierway }) => tierway.storage.list()],
    ['storage.set', true, ({ tierway }) => tierway.storage.set({ a: 1 })],
    ['storage.setRaw', true, ({ tierway }) => tierway.storage.setRaw({ a: '1' })],
    ['storage.delete', true, ({ tierway }) => tierway.storage.delete(['a'])],
  ]
  interface Given {
    readonly tierway: Tierway
    readonly pass: BattlePassSession
  }

  it.each(CALLS)('is never taken for the result of a call: %s', async (_name, isChange, call) => {
    const tierway = await signedIn({ retries: 0 })
    const given = { tierway, pass: await passOf(tierway) }
    const { playerId } = tierway
    for (const mishap of FOREIGN) {
      proxy.mishap = () => mishap
      const error = await call(given).catch((thrown: unknown) => thrown)
      expect([mishap, error]).toEqual([
        mishap,
        expect.objectContaining({ code: 'invalid_answer', status: 200, retryable: true, outcomeUnknown: isChange }),
      ])
    }
    proxy.mishap = () => 'blocked'
    await expect(call(given)).rejects.toMatchObject({ code: 'invalid_answer', status: 403, outcomeUnknown: isChange })
    expect(tierway.playerId).toBe(playerId)
    proxy.mishap = () => undefined
    await tierway.player()
  })

  it('does not touch the login: it is neither stored nor a reason to sign out', async () => {
    const { clients, signedOut, storage, key, login } = await reopened(() => ({ accessToken: 'a.b.c' }))
    const [tierway] = clients as [Tierway]
    for (const mishap of [...FOREIGN, 'blocked'] as const) {
      proxy.mishap = (path) => (path === REFRESH ? mishap : undefined)
      await expect(tierway.player({ retries: 0 })).rejects.toMatchObject({ code: 'invalid_answer' })
      expect(JSON.parse(String(await storage.get(key)))).toMatchObject({ refreshToken: login.refreshToken })
    }
    expect(signedOut).toEqual([])
    proxy.mishap = () => undefined
    await tierway.player()
  })

  it('leaves the xp of an outbox in the storage until the service answers', async () => {
    const tierway = await signedIn({ retries: 0 })
    const pass = await passOf(tierway)
    const outbox = new Outbox(tierway)
    const heard: unknown[] = []
    outbox.on('sent', ({ answer }) => heard.push(answer.xp))
    outbox.on('refused', ({ error }) => heard.push(error))
    for (const mishap of [...FOREIGN, 'blocked'] as const) {
      proxy.mishap = (path) => (path === XP ? mishap : undefined)
      await outbox.addXp(pass, 1)
      await expect(outbox.flush()).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    expect([await outbox.size(), heard]).toEqual([6, []])
    proxy.mishap = () => undefined
    await until('all is sent', async () => (await outbox.size()) === 0)
    expect(heard).toEqual([1n, 2n, 3n, 4n, 5n, 6n])
    outbox.close()
  })

  it('that was stored as a login, as by an earlier version, counts as no login', async () => {
    const { clients, storage, key } = await reopened(() => ({}))
    for (const stored of ['{}', '5', '[]', '{"playerId":"","receivedAt":1,"lifetimeMs":86400000}']) {
      await storage.set(key, stored)
      expect([stored, await connect({ storage }).restore()]).toEqual([stored, false])
    }
    expect(clients).toHaveLength(1)
  })

  it('does not end a stream of events, and none of it is lost', async () => {
    const tierway = await signedIn()
    const pass = await passOf(tierway)
    let calls = 0
    proxy.mishap = (path) => {
      if (path !== '/graphql') return undefined
      calls += 1
      return calls === 2 ? 'maintained' : calls === 3 ? 'captured' : undefined
    }
    const events = tierway.events({ handles: ['onLevelUp'] })
    const first = events.next()
    await until('the cursor is known', () => calls >= 2)
    await pass.addXp(100)
    expect((await first).value).toMatchObject({ handle: 'onLevelUp', data: { xp: 100n } })
    await events.return(undefined)
  })
})

describe('three hundred calls of random seasons, through a network that loses, cuts, delays and duplicates', () => {
  const MISHAPS: readonly Mishap[] = [
    'lost',
    'unanswered',
    'cut',
    'doubled',
    'delayed',
    'refused',
    'captured',
    'hollow',
    'blank',
  ]
  const PLAYERS = 6
  const CALLS = 50

  it('leave exact books, and report each crossing once', async () => {
    const mishaps = random(SEED)
    proxy.mishap = () => (mishaps() < 0.25 ? MISHAPS[Math.floor(mishaps() * MISHAPS.length)] : undefined)
    await Promise.all(times(PLAYERS, (index) => play(random(SEED + index))))
    expect(proxy.seen.length).toBeGreaterThan(PLAYERS * CALLS)
  })

  async function play(next: () => number): Promise<void> {
    const tierway = await signedIn({ retries: 50 })
    const run = await tierway.scenario('random').start()
    const pass = run.battlePass('pass')
    let xp = 0n
    let clicks = 0n
    let spent = 0n
    const granted = new Map<string, bigint>()
    const stored: Record<string, number> = {}
    const heard: string[] = []
    run.on('crossed', ({ nodeId, handle }) => heard.push(`${nodeId} ${handle}`))
    const note = (level: number, track: string, rewards: readonly { readonly amount: bigint }[]) =>
      granted.set(`${track} ${level}`, rewards[0]?.amount ?? 0n)

    const moves: readonly (() => Promise<unknown>)[] = [
      async () => {
        const amount = BigInt(1 + Math.floor(next() * 120))
        xp += amount
        expect((await pass.addXp(amount, { source: 'match' })).xp).toBe(xp)
      },
      async () => {
        const level = 1 + Math.floor(next() * TOP)
        const track = level % 3 === 1 ? 'premium' : 'free'
        const claim = await pass.claim(level, track)
        if (claim.success) note(level, track, claim.granted)
      },
      async () => {
        for (const { level, track, granted } of (await pass.claimAll()).claimed) note(level, track, granted)
      },
      async () => {
        const claim = await run.level('level-5').claim('free')
        if (claim.success) note(5, 'free', claim.granted)
      },
      async () => {
        const { success } = await pass.buyPremium()
        if (success) spent = 30n
      },
      async () => {
        await run.cross('shop', 'onClick')
        clicks += 1n
      },
      async () => {
        const key = `key-${Math.floor(next() * 5)}`
        stored[key] = Math.floor(next() * 1_000)
        await tierway.storage.set({ [key]: stored[key] })
      },
    ]
    for (let call = 0; call < CALLS; call += 1)
      await moves[next() < 0.4 ? 0 : 1 + Math.floor(next() * (moves.length - 1))]?.()

    const progress = await pass.progress()
    expect(progress.xp).toBe(xp)
    expect(progress.claimedTiers.map(({ level, track }) => `${track} ${level}`).sort()).toEqual(
      [...granted.keys()].sort(),
    )
    const earned = [...granted.values()].reduce((sum, amount) => sum + amount, clicks)
    const { wallet } = await tierway.player()
    expect(wallet.find(({ currency }) => currency === 'gold')?.balance ?? 0n).toBe(earned - spent)
    expect(await tierway.storage.get()).toEqual(stored)
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query<{ crossing: string }>(
      `SELECT node_id || ' ' || handle AS crossing FROM events
       WHERE player_id = $1 AND handle <> 'onStart' ORDER BY position`,
      [tierway.playerId],
    )
    expect([...heard].sort()).toEqual(rows.map(({ crossing }) => crossing).sort())
    await expectMerged(run)
  }

  /** The state that the session has merged from plans equals that of the service. */
  async function expectMerged(run: ScenarioSession): Promise<void> {
    const merged = run.active.map(({ nodeId }) => nodeId).sort()
    await run.refresh()
    expect(merged).toEqual(run.active.map(({ nodeId }) => nodeId).sort())
  }
})

describe('a login', () => {
  it('is refreshed before its token expires, once for all calls', async () => {
    const { clients, playerId } = await reopened(() => ({ receivedAt: Date.now() - DAY_MS + 30_000 }))
    const [tierway] = clients as [Tierway]
    const calls = await callsOf(REFRESH, () => Promise.all(times(20, () => tierway.player())))
    expect(calls).toBe(1)
    expect(await callsOf(REFRESH, () => tierway.player())).toBe(0)
    expect(tierway.playerId).toBe(playerId)
  })

  it('is refreshed once for all calls whose token was refused', async () => {
    const { clients } = await reopened(() => ({ accessToken: 'a.b.c' }))
    const [tierway] = clients as [Tierway]
    expect(await callsOf(REFRESH, () => Promise.all(times(20, () => tierway.player())))).toBe(1)
  })

  it.each(['unanswered', 'cut', 'doubled', 'refused', 'limited', 'captured', 'hollow', 'maintained', 'blank'] as const)(
    'survives a refresh that is %s',
    async (mishap) => {
      const { clients, signedOut } = await reopened(() => ({ accessToken: 'a.b.c' }))
      once(REFRESH, mishap)
      await clients[0]?.player()
      expect(signedOut).toEqual([])
    },
  )

  it('is not lost when the network fails', async () => {
    const { clients, signedOut, storage, key } = await reopened(() => ({ accessToken: 'a.b.c' }))
    const [tierway] = clients as [Tierway]
    for (const mishap of ['lost', 'refused', 'captured'] as const) {
      proxy.mishap = (path) => (path === REFRESH ? mishap : undefined)
      await expect(tierway.player({ retries: 0 })).rejects.toMatchObject({ retryable: true })
    }
    expect(signedOut).toEqual([])
    expect(await storage.get(key)).toContain('refreshToken')
    proxy.mishap = () => undefined
    await tierway.player()
  })

  it('keeps using a token that is still valid when a refresh fails', async () => {
    const { clients } = await reopened(() => ({ receivedAt: Date.now() - DAY_MS + 30_000 }))
    const [tierway] = clients as [Tierway]
    proxy.mishap = (path) => (path === REFRESH ? 'refused' : undefined)
    await tierway.player()
    expect(await callsOf(REFRESH, () => tierway.player())).toBe(0)
  })

  it('ends when the service refuses its refresh token, and reports it once', async () => {
    const { clients, signedOut, storage, key } = await reopened(() => ({ accessToken: 'a.b.c', refreshToken: 'gone' }))
    const [tierway] = clients as [Tierway]
    const calls = await Promise.allSettled(times(5, () => tierway.player()))
    for (const call of calls) expect(call).toMatchObject({ reason: { code: 'signed_out', status: 401 } })
    expect([signedOut, await storage.get(key), tierway.playerId]).toEqual([['expired'], null, null])
  })

  it('is shared by tabs that refresh at once, and no tab is signed out', async () => {
    const { clients, signedOut, storage, key } = await reopened(() => ({ accessToken: 'a.b.c' }), 5)
    await Promise.all(clients.map((tab) => tab.player()))
    await Promise.all(clients.map((tab) => tab.player()))
    expect(signedOut).toEqual([])
    const kept = JSON.parse(String(await storage.get(key)))
    expect(await callsOf(REFRESH, () => connect({ storage }).player())).toBe(0)
    expect(kept.accessToken).not.toBe('a.b.c')
  })

  it('is adopted from the storage by a tab whose own refresh token is used up', async () => {
    const { clients, signedOut } = await reopened(() => ({ accessToken: 'a.b.c' }), 2)
    const [first, late] = clients as [Tierway, Tierway]
    await late.restore()
    await first.player()
    // As if ten seconds had passed: the service would treat the old token as stolen.
    await game.app.pool.query(
      `UPDATE refresh_tokens SET rotated_at = rotated_at - interval '1 minute' WHERE rotated_at IS NOT NULL`,
    )
    expect(await callsOf(REFRESH, () => late.player())).toBe(0)
    expect(signedOut).toEqual([])
  })

  it('ends in all tabs when one tab logs out, or logs in another player', async () => {
    const { clients, signedOut } = await reopened((login) => ({ ...login, accessToken: 'a.b.c' }), 3)
    const [first, second, third] = clients as [Tierway, Tierway, Tierway]
    await Promise.all(clients.map((tab) => tab.restore()))
    await first.logout()
    expect(signedOut).toEqual(['logout'])
    await expect(second.player()).rejects.toMatchObject({ code: 'signed_out' })
    await first.login({ customData: { player: 'somebody else' } })
    await expect(third.player()).rejects.toMatchObject({ code: 'signed_out' })
    expect(signedOut).toEqual(['logout', 'logout', 'replaced'])
  })

  it('ends, here and on the service, when another player logs in, and the listeners hear both in order', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const first = tierway.playerId
    const { refreshToken } = JSON.parse(String(await storage.get(loginKey(tierway))))
    const heard: unknown[] = []
    // A page that has not read its storage yet signs the stored player out, too.
    const page = connect({ storage })
    page.on('signedOut', ({ why }) => heard.push([why, page.playerId]))
    page.on('signedIn', ({ playerId }) => heard.push([playerId, page.playerId]))
    await page.login({ customData: { player: 'the next one' } })
    const second = page.playerId
    expect(second).not.toBe(first)
    expect(heard).toEqual([
      ['replaced', null],
      [second, second],
    ])
    await until('the former login is over', async () => {
      const body = JSON.stringify({ refreshToken })
      const headers = { 'x-sdk-key': game.sdkKey }
      return (await game.request('POST', REFRESH, { body, headers })).status === 401
    })
    await page.login({ customData: { player: 'the next one' } })
    expect(heard.slice(2)).toEqual([[second, second]])
    expect((await page.player()).playerId).toBe(second)
  })

  it('of one player never makes a call of another, whose login came during an exchange of tokens', async () => {
    const { clients, storage, key } = await reopened(() => ({ accessToken: 'a.b.c' }))
    const [tierway] = clients as [Tierway]
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let isHeld = false
    proxy.mishap = (path) => {
      if (path !== REFRESH || isHeld) return undefined
      isHeld = true
      return { after: () => held }
    }
    const late = tierway.storage.set({ score: 1 })
    const ended = expect(late).rejects.toMatchObject({ code: 'signed_out' })
    await until('the exchange has begun', () => isHeld)
    await tierway.login({ customData: { player: 'at the same device' } })
    const { playerId } = tierway
    expect(await tierway.storage.get()).toEqual({})
    release()
    await ended
    expect(await tierway.storage.get()).toEqual({})
    expect([tierway.playerId, JSON.parse(String(await storage.get(key))).playerId]).toEqual([playerId, playerId])
  })

  it('is the last one that is stored, although the storage was still busy with the one before', async () => {
    const storage = memoryStorage()
    const set = storage.set.bind(storage)
    let isBusy = true
    storage.set = async (name, value) => {
      const wait = isBusy ? 200 : 0
      isBusy = false
      await new Promise((resolve) => setTimeout(resolve, wait))
      await set(name, value)
    }
    const tierway = connect({ storage })
    await Promise.all(['one', 'two'].map((name) => tierway.login({ customData: { player: `a change: ${name}` } })))
    expect(JSON.parse(String(await storage.get(loginKey(tierway)))).playerId).toBe(tierway.playerId)
  })

  it('ends on the device at once without a network, and on the service when there is one', async () => {
    const tierway = await signedIn({ retries: 0 })
    proxy.mishap = () => 'lost'
    await tierway.logout()
    await expect(tierway.player()).rejects.toMatchObject({ code: 'signed_out' })
    proxy.mishap = () => undefined

    const storage = memoryStorage()
    const other = await signedIn({ storage })
    const { refreshToken } = JSON.parse(String(await storage.get(loginKey(other))))
    await other.logout()
    const { status } = await game.request('POST', REFRESH, {
      body: JSON.stringify({ refreshToken }),
      headers: { 'x-sdk-key': game.sdkKey },
    })
    expect(status).toBe(401)
  })

  it.each([
    ['twenty years ahead', -20 * 365 * DAY_MS],
    ['back', DAY_MS],
  ])('is refreshed once, and not lost, after the clock of the device was set %s', async (_which, sinceNow) => {
    const { clients, signedOut } = await reopened(() => ({ receivedAt: Date.now() + sinceNow }))
    const [tierway] = clients as [Tierway]
    expect(await callsOf(REFRESH, () => tierway.player())).toBe(1)
    expect(await callsOf(REFRESH, () => tierway.player())).toBe(0)
    expect(signedOut).toEqual([])
  })

  it('works in memory when the storage is broken', async () => {
    const broken: Storage = {
      get: () => 'no json',
      set: () => Promise.reject(new Error('full')),
      remove() {
        throw new Error('denied')
      },
    }
    const tierway = await signedIn({ storage: broken })
    await tierway.player()
    await tierway.logout()
    await expect(tierway.player()).rejects.toMatchObject({ code: 'signed_out' })
  })

  it('works in memory when a method of the storage hangs', async () => {
    const hang = () => new Promise<never>(() => undefined)
    await Promise.all(
      (['get', 'set', 'remove'] as const).map(async (method) => {
        const tierway = connect({ storage: { ...memoryStorage(), [method]: hang } })
        await expect(tierway.player()).rejects.toMatchObject({ code: 'signed_out' })
        await tierway.login({ customData: { player: `a storage whose ${method} hangs` } })
        await tierway.player()
        await tierway.logout()
        await expect(tierway.player()).rejects.toMatchObject({ code: 'signed_out' })
      }),
    )
  })

  it('is kept in a full storage that has room for one login', async () => {
    const { storage, key, login } = await reopened(() => ({ accessToken: 'a.b.c' }))
    const set = storage.set.bind(storage)
    storage.set = async (name, value) => {
      if ((await storage.get(name)) !== null) throw new Error('the quota is used up')
      await set(name, value)
    }
    await connect({ storage }).player()
    const kept = JSON.parse(String(await storage.get(key)))
    expect(kept.refreshToken).not.toBe(login.refreshToken)
    expect(await callsOf(REFRESH, () => connect({ storage }).player())).toBe(0)
  })

  it('notifies listeners, which can call the client', async () => {
    const tierway = connect()
    const heard: unknown[] = []
    tierway.on('signedIn', async ({ playerId }) => {
      heard.push(playerId)
      heard.push((await tierway.player()).playerId)
    })
    await tierway.login({ customData: { player: 'a listener' } })
    await until('the listener has called', () => heard.length === 2)
    expect(heard).toEqual([tierway.playerId, tierway.playerId])
  })
})

describe('a session of a player who is no longer signed in', () => {
  it('makes no call for another player: each rejects with signed_out, until its own player is back', async () => {
    const tierway = await signedIn()
    const name = `faults ${players}`
    const started = await passOf(tierway)
    const opened = tierway.scenario('season-1').open(started.session.runId).battlePass('pass')
    const outbox = new Outbox(tierway)
    await tierway.login({ customData: { player: 'the next one' } })
    const errors: unknown[] = []
    started.session.follow({ onError: (error) => errors.push(error) })
    for (const pass of [started, opened])
      for (const call of [
        () => pass.progress(),
        () => pass.season(),
        () => pass.addXp(5),
        () => pass.claim(1, 'free'),
        () => pass.claimAll(),
        () => pass.buyPremium(),
        () => pass.session.refresh(),
        () => pass.session.cross('hello', 'onComplete'),
        () => outbox.addXp(pass, 5),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'signed_out', status: 401 })
    await until('it no longer follows', () => errors.length > 0)
    expect(errors).toMatchObject([{ code: 'signed_out' }])
    await tierway.login({ customData: { player: name } })
    expect((await started.addXp(5)).xp).toBe(5n)
    await outbox.addXp(opened, 5)
    await outbox.flush()
    expect((await opened.progress()).xp).toBe(10n)
    outbox.close()
  })
})

describe('an outbox', () => {
  it('sends xp that was earned offline in order and exactly once, also after the page was closed', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage, retries: 0 })
    const pass = await passOf(tierway)
    proxy.mishap = () => 'lost'
    const closed = new Outbox(tierway)
    for (const amount of [1, 2, 3]) await closed.addXp(pass, amount, { source: `match ${amount}` })
    expect(await closed.size()).toBe(3)
    await expect(closed.flush()).rejects.toMatchObject({ code: 'network_error' })
    closed.close()

    // The next page. The first answer is lost once more.
    once(XP, 'unanswered')
    const later = connect({ storage, retries: 0 })
    const outbox = new Outbox(later)
    const sent: string[] = []
    outbox.on('sent', ({ xp, answer }) => sent.push(`${xp.source} ${xp.amount} ${answer.xp}`))
    await until('all is sent', async () => (await outbox.size()) === 0)
    expect(sent).toEqual(['match 1 1 1', 'match 2 2 3', 'match 3 3 6'])
    expect((await pass.progress()).xp).toBe(6n)
    outbox.close()
  })

  it('sends xp in the order in which it was earned, although the clock was set back in between', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage, retries: 0 })
    const pass = await passOf(tierway)
    proxy.mishap = (path) => (path === XP ? 'lost' : undefined)
    const ahead = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + DAY_MS)
    const closed = new Outbox(tierway)
    const first = closed.addXp(pass, 1)
    ahead.mockRestore()
    await first
    closed.close()

    const outbox = new Outbox(tierway)
    const sent: bigint[] = []
    outbox.on('sent', ({ xp }) => sent.push(xp.amount))
    await outbox.addXp(pass, 2)
    await outbox.addXp(pass, 3)
    proxy.mishap = () => undefined
    await until('all is sent', () => sent.length === 3)
    expect(sent).toEqual([1n, 2n, 3n])
    outbox.close()
  })

  it('accepts xp for a known run in a game that starts offline', async () => {
    const storage = memoryStorage()
    const { runId } = await (await signedIn({ storage })).scenario('season-1').start()
    proxy.mishap = () => 'lost'
    const tierway = connect({ storage, retries: 0 })
    await tierway.restore()
    const season = tierway.scenario('season-1').open(runId)
    const outbox = new Outbox(tierway)
    const levels: (number | null)[][] = []
    season.battlePass('pass').on('onLevelUp', ({ fromLevel, toLevel }) => levels.push([fromLevel, toLevel]))
    await outbox.addXp(season.battlePass('pass'), 100)
    proxy.mishap = () => undefined
    await until('it is sent', async () => (await outbox.size()) === 0)
    expect(levels).toEqual([[null, 2]])
    await season.refresh()
    expect(season.active.map(({ nodeId }) => nodeId)).toEqual(['pass'])
    outbox.close()
  })

  it('reports the level-ups of sent xp to the session', async () => {
    const tierway = await signedIn()
    const pass = await passOf(tierway)
    await pass.progress()
    const levels: string[] = []
    pass.on('onLevelUp', ({ fromLevel, toLevel, source }) => levels.push(`${fromLevel} to ${toLevel} by ${source}`))
    const outbox = new Outbox(tierway)
    await outbox.addXp(pass, 250n, { source: 'match' })
    await outbox.flush()
    expect(levels).toEqual(['1 to 3 by match'])
    outbox.close()
  })

  it('makes each entry count once when several tabs send it', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const pass = await passOf(tierway)
    proxy.mishap = (path) => (path === XP ? 'lost' : undefined)
    const tabs = times(4, () => new Outbox(connect({ storage, retries: 0 })))
    const own = new Outbox(tierway)
    await Promise.all(times(20, () => own.addXp(pass, 5)))
    proxy.mishap = () => undefined
    await Promise.all([own, ...tabs].map((outbox) => outbox.flush().catch(() => undefined)))
    await until('all is sent', async () => (await own.size()) === 0)
    expect((await pass.progress()).xp).toBe(100n)
    for (const outbox of [own, ...tabs]) outbox.close()
  })

  it('passes over what it cannot read, reports it once, and leaves it in the storage', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const pass = await passOf(tierway)
    const odd = ['no json', '{}', 'null', '[1]', '{"key":"k","amount":1.5}', '']
    const places = odd.map((_text, index) => `${tierway.keep.prefix}:xp:000${index}`)
    for (const [index, place] of places.entries()) await storage.set(place, odd[index] ?? '')
    const outbox = new Outbox(tierway)
    const unreadable: string[] = []
    outbox.on('unreadable', ({ storageKey, text }) => unreadable.push(`${storageKey} ${text}`))
    await outbox.addXp(pass, 7)
    await outbox.addXp(pass, 8)
    await outbox.flush()
    expect(await outbox.size()).toBe(0)
    expect((await pass.progress()).xp).toBe(15n)
    expect(unreadable).toEqual(places.map((place, index) => `${place} ${odd[index]}`))
    expect(await Promise.all(places.map((place) => storage.get(place)))).toEqual(odd)
    outbox.close()
  })

  it('sends many grants soon after the network is back, although no event says that it is', async () => {
    const tierway = await signedIn({ retries: 0 })
    const pass = await passOf(tierway)
    proxy.mishap = (path) => (path === XP ? 'lost' : undefined)
    const outbox = new Outbox(tierway)
    await Promise.all(times(100, () => outbox.addXp(pass, 1)))
    await expect(outbox.flush()).rejects.toMatchObject({ code: 'network_error' })
    proxy.mishap = () => undefined
    await until('all is sent', async () => (await outbox.size()) === 0)
    expect((await pass.progress()).xp).toBe(100n)
    outbox.close()
  })

  it('drops entries that are refused or too old to be safe, reports them, and goes on', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const run = await tierway.scenario('season-1').start()
    proxy.mishap = () => 'lost'
    const outbox = new Outbox(tierway)
    const refused: unknown[] = []
    outbox.on('refused', ({ xp, error }) => refused.push([xp.source, error.code, error.outcomeUnknown]))
    await outbox.addXp(run.battlePass('pass'), 1, { source: 'ended' })
    await outbox.addXp(run.battlePass('pass'), 1, { source: 'old' })
    const places = [...((await storage.keys?.(tierway.keep.prefix)) ?? [])].filter((place) => place.includes(':xp:'))
    const old = places.sort().at(-1) ?? ''
    const entry = JSON.parse(String(await storage.get(old)))
    await storage.set(old, JSON.stringify({ ...entry, triedAt: Date.now() - 7 * DAY_MS }))
    await game.app.pool.query(`UPDATE runs SET status = 'cancelled' WHERE id = $1`, [run.runId])
    const next = await game.app.pool.query('SELECT 1')
    expect(next.rowCount).toBe(1)
    proxy.mishap = () => undefined
    await until('both are given up', () => refused.length === 2)
    expect(refused).toEqual([
      ['ended', 'run_not_active', false],
      ['old', 'timeout', true],
    ])
    const pass = await passOf(tierway)
    await outbox.addXp(pass, 4)
    await until('the next is sent', async () => (await outbox.size()) === 0)
    expect((await pass.progress()).xp).toBe(4n)
    outbox.close()
  })

  it("keeps a player's xp for that player", async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const name = `faults ${players}`
    const pass = await passOf(tierway)
    const outbox = new Outbox(tierway)
    proxy.mishap = () => 'lost'
    await outbox.addXp(pass, 9)
    await tierway.logout({ retries: 0 })
    await expect(outbox.addXp(pass, 9)).rejects.toMatchObject({ code: 'signed_out' })
    proxy.mishap = () => undefined
    await tierway.login({ customData: { player: 'not the one who earned it' } })
    await outbox.flush()
    expect(await outbox.size()).toBe(0)
    await tierway.login({ customData: { player: name } })
    await until('it is sent', async () => (await outbox.size()) === 0)
    expect((await pass.progress()).xp).toBe(9n)
    outbox.close()
  })

  it('does not send xp of one player as another, who logs in just before it is sent', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const name = `faults ${players}`
    const pass = await passOf(tierway)
    const set = storage.set.bind(storage)
    let isChanged = false
    storage.set = async (key, value) => {
      await set(key, value)
      if (isChanged || !key.includes(':xp:') || value.includes('"triedAt":null')) return
      isChanged = true
      await tierway.login({ customData: { player: 'the sister' } })
    }
    const outbox = new Outbox(tierway)
    const refused: unknown[] = []
    outbox.on('refused', ({ error }) => refused.push(error))
    await outbox.addXp(pass, 9)
    await until('the sister has logged in', async () => isChanged && tierway.playerId !== null)
    await outbox.flush().catch(() => undefined)
    await tierway.login({ customData: { player: name } })
    await until('it is sent', async () => (await outbox.size()) === 0)
    expect([(await pass.progress()).xp, refused]).toEqual([9n, []])
    outbox.close()
  })

  it('needs a storage that lists its keys, and rejects xp that it cannot store', async () => {
    const { keys: _, ...unlisted } = memoryStorage()
    expect(() => new Outbox(connect({ storage: unlisted }))).toThrow(TypeError)
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const pass = await passOf(tierway)
    const outbox = new Outbox(tierway)
    storage.set = () => {
      throw new Error('the quota is used up')
    }
    await expect(outbox.addXp(pass, 1)).rejects.toThrow('quota')
    outbox.close()
  })
})

describeWays('events', () => {
  it('end when the login ends on the service', async () => {
    const storage = memoryStorage()
    const tierway = await signedIn({ storage })
    const { refreshToken } = JSON.parse(String(await storage.get(loginKey(tierway))))
    const next = tierway.events().next()
    const ended = expect(next).rejects.toMatchObject({ code: 'signed_out' })
    await until('the stream is open', () => proxy.seen.at(-1) === '/graphql')
    await game.request('POST', '/sdk/v1/authorization/logout', {
      body: JSON.stringify({ refreshToken }),
      headers: { 'x-sdk-key': game.sdkKey },
    })
    await ended
    expect(tierway.playerId).toBe(null)
  })

  it('of a player end when another one logs in', async () => {
    const tierway = await signedIn()
    const next = tierway.events().next()
    const ended = expect(next).rejects.toMatchObject({ code: 'signed_out' })
    await until('the stream is open', () => proxy.seen.at(-1) === '/graphql')
    await tierway.login({ customData: { player: 'another listener' } })
    await ended
    expect((await tierway.player()).playerId).toBe(tierway.playerId)
  })

  it('have no gap and no repeat when connections break', async () => {
    const tierway = await signedIn()
    const pass = await passOf(tierway)
    const heard: bigint[] = []
    const ending = new AbortController()
    // The list has the calls of other tests, too.
    const asked = () => proxy.seen.filter((path) => path === '/graphql').length
    const askedBefore = asked()
    const hearing = (async () => {
      for await (const { data } of tierway.events({ handles: ['onLevelUp'], signal: ending.signal })) {
        heard.push(data.xp as bigint)
        if (heard.length === 3) return
      }
    })()
    // The first call reads the end of the stream, the second one follows it.
    await until('the stream is open', () => asked() >= askedBefore + 2)
    for (const _ of times(3, String)) {
      await pass.addXp(100)
      proxy.cut()
    }
    await hearing
    expect(heard).toEqual([100n, 200n, 300n])
    ending.abort()
  })
})

describe('a socket for events', () => {
  beforeEach(() => void vi.stubGlobal('WebSocket', WebSocket))
  afterEach(() => void vi.unstubAllGlobals())

  /** A player whose events over HTTP are counted. */
  async function counted() {
    let streams = 0
    const tierway = await signedIn({
      fetch: (url, request) => {
        if (request.headers.accept === 'text/event-stream') streams += 1
        return fetch(url, request)
      },
    })
    return { tierway, pass: await passOf(tierway), streams: () => streams }
  }
  /** Loses every socket, and all other calls if `what` is `all`. Returns how many sockets were lost. */
  function lose(what: 'sockets' | 'all'): () => number {
    let sockets = 0
    proxy.mishap = (_path, method) => {
      if (method === 'GET') sockets += 1
      return method === 'GET' || what === 'all' ? 'lost' : undefined
    }
    return () => sockets
  }

  it('is not needed: events come over HTTP where the network lets no socket through', async () => {
    const { tierway, pass, streams } = await counted()
    const lost = lose('sockets')
    const events = tierway.events({ handles: ['onLevelUp'] })
    const first = events.next()
    await until('they come over HTTP', () => streams() > 0)
    await pass.addXp(100)
    expect((await first).value).toMatchObject({ handle: 'onLevelUp', data: { xp: 100n } })
    await events.return(undefined)
    // The next stream of the same client does not try a socket first.
    const before = lost()
    const after = tierway.events({ handles: ['onLevelUp'] })
    const second = after.next()
    await until('it is open', () => streams() > 1)
    expect(lost()).toBe(before)
    await pass.addXp(100)
    expect((await second).value).toMatchObject({ data: { xp: 200n } })
    await after.return(undefined)
  })

  it('is still used after there was no network at all', async () => {
    const { tierway, pass, streams } = await counted()
    const before = proxy.seen.filter((path) => path === '/graphql').length
    const events = tierway.events({ handles: ['onLevelUp'] })
    const first = events.next()
    // The first call reads the end of the stream, the second one is the socket.
    await until('it is open', () => proxy.seen.filter((path) => path === '/graphql').length >= before + 2)
    const lost = lose('all')
    proxy.cut()
    await until('it was tried several times', () => lost() > 3)
    proxy.mishap = () => undefined
    await pass.addXp(100)
    expect((await first).value).toMatchObject({ data: { xp: 100n } })
    expect(streams()).toBe(0)
    await events.return(undefined)
  })

  it('that carries nothing more is replaced, and no event is lost', async () => {
    const wire = await startTcpProxy(() => game.baseUrl)
    try {
      const tierway = await signedIn({ baseUrl: wire.baseUrl })
      const pass = (await tierway.scenario('random').start()).battlePass('pass')
      // Signs of life are looked for a hundred times as often.
      const { setInterval } = globalThis
      vi.stubGlobal('setInterval', (beat: () => void, ms: number) => setInterval(beat, ms / 100))
      const events = tierway.events({ handles: ['onLevelUp'] })
      const first = events.next()
      let isHeard = false
      void first.then(() => {
        isHeard = true
      })
      await until('the socket is open', async () => {
        await pass.addXp(100)
        return isHeard
      })
      const heard = (await first).value?.data.xp
      wire.freezeSockets()
      const second = events.next()
      await pass.addXp(200)
      expect((await second).value?.data.xp).toBeGreaterThan(heard as bigint)
      await events.return(undefined)
    } finally {
      await wire.close()
    }
  })
})
