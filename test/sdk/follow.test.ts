import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createServerKey } from '../../src/callers/keys.ts'
import { EndedTokens } from '../../src/sdk/ended-tokens.ts'
import { createTokenVerifier, type EndedAccess, type FollowOptions, type TierwayError } from '../../src/sdk/server.ts'
import { type Game, startGame } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'
import { type Mutation, newOperator, payload, type Operator as Support, support } from '../support/desk.ts'

// A verifier that follows the logins that end, with a real service, and connections that break.

/** Two seconds are promised; the rest is for a busy machine. */
const WITHIN_MS = 3_000

let game: Game
let operator: Operator
let desk: Support
let key: string

beforeAll(async () => {
  game = await startGame()
  operator = await startOperator()
  desk = await newOperator(game.app.pool, game.projectId)
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  key = (await createServerKey(game.app.pool, game.environmentId)).key
})
afterAll(async () => {
  await operator?.close()
  await game?.stop()
})

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

interface Login {
  readonly token: string
  readonly refreshToken: string
  readonly playerId: string
  readonly loginId: string
}

let players = 0

async function logIn(player = `player ${++players}`): Promise<Login> {
  const { accessToken: token, refreshToken } = (await game.login({ player })).body
  const { sub = '', jti = '' } = decodeJwt(token)
  return { token, refreshToken, playerId: sub, loginId: jti.split('.')[0] ?? '' }
}

const logOut = ({ refreshToken }: Login) =>
  game.request('POST', '/sdk/v1/authorization/logout', {
    body: JSON.stringify({ refreshToken }),
    headers: { 'x-sdk-key': game.sdkKey },
  })

const act = async (mutation: Mutation, { playerId }: Login) =>
  payload(await support(game, desk.key, mutation, { playerId, reason: 'test' }))

/** A verifier with what its following heard. The following ends with the test. */
function verifierOf({ url = game.baseUrl, environmentId = game.environmentId } = {}) {
  const verifier = createTokenVerifier({ url, environmentId })
  const ended: EndedAccess[] = []
  const errors: TierwayError[] = []
  const follow = (options: Partial<FollowOptions> = {}) => {
    const ending = new AbortController()
    open.push(() => ending.abort())
    return verifier.follow({
      ...{ key, signal: ending.signal, onEnded: (one) => ended.push(one), onError: (error) => errors.push(error) },
      ...options,
    })
  }
  /** The player's id, or the code of the refusal. */
  const verdict = ({ token }: Pick<Login, 'token'>): Promise<string> =>
    verifier.verify(token).then(
      ({ playerId }) => playerId,
      ({ code }) => code,
    )
  return { verifier, ended, errors, follow, verdict }
}

async function proxied() {
  const proxy = await startTcpProxy(() => game.baseUrl)
  open.push(() => proxy.close())
  return proxy
}

/** An HTTP server of the test: what is between the service and a game server. */
async function listen(respond: (request: IncomingMessage, response: ServerResponse, attempt: number) => void) {
  let attempts = 0
  const server = createServer((request, response) => {
    attempts += 1
    respond(request, response, attempts)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, attempts: () => attempts }
}

const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const current = (id: string) =>
  `id: ${id}\nevent: current\ndata: ${JSON.stringify({ environmentId: game.environmentId })}\n\n`

describe('a verifier that follows', () => {
  it('refuses the tokens of logins that end, within two seconds, and those that had ended before', async () => {
    const [before, login, other] = [await logIn(), await logIn('twice'), await logIn('twice')]
    await logOut(before)
    const { verifier, ended, follow, verdict } = verifierOf()
    expect([await verdict(before), verifier.isFollowing, verifier.followedMsAgo]).toEqual([
      ...[before.playerId, false, null],
    ])
    await follow()
    expect([await verdict(before), await verdict(login), verifier.isFollowing]).toEqual([
      ...['login_ended', login.playerId, true],
    ])
    expect(verifier.followedMsAgo).toBeLessThan(WITHIN_MS)
    await logOut(login)
    const elapsed = startStopwatch()
    await until('it is refused', async () => (await verdict(login)) === 'login_ended')
    expect(elapsed()).toBeLessThan(WITHIN_MS)
    // The player's other login goes on.
    expect(await verdict(other)).toBe(other.playerId)
    const { playerId, loginId } = login
    expect(ended.filter((one) => one.loginId === loginId)).toEqual([{ playerId, loginId, code: 'login_ended' }])
  })

  it('refuses the tokens of a player that is banned, until the ban is lifted, and of a deleted one', async () => {
    const login = await logIn()
    const { ended, follow, verdict } = verifierOf()
    await follow()
    const { playerId } = login
    for (const [mutation, expected] of [
      ['banPlayer', 'player_banned'],
      ['unbanPlayer', playerId],
      ['banPlayer', 'player_banned'],
      ['deletePlayer', 'player_deleted'],
    ] as const) {
      await act(mutation, login)
      const elapsed = startStopwatch()
      await until(`after ${mutation}`, async () => (await verdict(login)) === expected)
      expect(elapsed()).toBeLessThan(WITHIN_MS)
    }
    expect(ended.filter((one) => one.playerId === playerId && one.loginId === null).map(({ code }) => code)).toEqual([
      ...['player_banned', 'player_banned', 'player_deleted'],
    ])
  })

  it('goes on when a listener throws', async () => {
    const login = await logIn()
    const { follow, verdict } = verifierOf()
    const reported = console.error
    const reports: unknown[] = []
    console.error = (error) => reports.push(error)
    open.push(() => {
      console.error = reported
    })
    const fault = new Error('a fault of the game')
    await follow({
      onEnded: () => {
        throw fault
      },
    })
    await logOut(login)
    await until('it is refused', async () => (await verdict(login)) === 'login_ended')
    expect(reports).toContain(fault)
  })

  it('keeps what it knows while the feed is away, accepts other tokens, and misses nothing once it is back', async () => {
    const proxy = await proxied()
    const { verifier, errors, follow, verdict } = verifierOf({ url: proxy.baseUrl })
    const [known, missed] = [await logIn(), await logIn()]
    await logOut(known)
    await follow()
    await verdict(known)
    proxy.cut({ refuse: true })
    await until('it knows that the feed is away', () => !verifier.isFollowing && errors.length > 1)
    expect(errors[0]).toMatchObject({ name: 'TierwayError', code: 'network_error', retryable: true })
    await logOut(missed)
    const age = verifier.followedMsAgo
    await until('others know of the logout', async () => {
      const reference = verifierOf()
      await reference.follow()
      return (await reference.verdict(missed)) === 'login_ended'
    })
    expect([await verdict(known), await verdict(missed)]).toEqual(['login_ended', missed.playerId])
    expect(verifier.followedMsAgo).toBeGreaterThan(age ?? Number.POSITIVE_INFINITY)
    proxy.restore()
    await until('it is back', () => verifier.isFollowing)
    expect(await verdict(missed)).toBe('login_ended')
    expect(verifier.followedMsAgo).toBeLessThan(WITHIN_MS)
  })

  it('connects again from its last event, and not from half of one', async () => {
    const loginId = randomUUID()
    const entry = { loginId, playerId: randomUUID(), endedAt: new Date().toISOString() }
    const data = JSON.stringify({ environmentId: game.environmentId, logins: [entry], players: [] })
    const asked: unknown[] = []
    const server = await listen((request, response, attempt) => {
      asked.push(request.headers['last-event-id'])
      stream(response)
      if (attempt === 1) response.end(`${current('1-1')}id: 2-2\nevent: ended\ndata: ${data.slice(0, -9)}`)
      else if (attempt === 2) response.end(`: a comment\n\nevent: later\n\nid: 3-3\nevent: ended\ndata: ${data}\n\n`)
      else response.write(current('4-4'))
    })
    const { ended, follow, verifier } = verifierOf({ url: server.url })
    await follow()
    await until('three connections', () => asked.length === 3 && verifier.isFollowing)
    expect(asked).toEqual(['', '1-1', '3-3'])
    expect(ended.map((one) => one.loginId)).toEqual([loginId])
  })

  it('connects again when the feed is silent', async () => {
    const server = await listen((_request, response, attempt) => {
      stream(response).write(attempt === 1 ? current('1-1') : ': nothing more\n\n')
    })
    const { errors, follow, verifier } = verifierOf({ url: server.url })
    await follow({ silenceMs: 100 })
    await until('it has connected again', () => server.attempts() > 2)
    expect([errors[0]?.code, verifier.isFollowing]).toEqual(['timeout', false])
  })

  it('tries again after an overload, and when something else answers for the service', async () => {
    const server = await listen((_request, response, attempt) => {
      const answers = [
        () => response.writeHead(503).end(),
        () => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'),
        () => response.writeHead(401).end('of a proxy'),
        () => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
        () => stream(response).end('id: 1-1\nevent: ended\ndata: {"environmentId":7}\n\n'),
        () => stream(response).end('x'.repeat(2 ** 24 + 1)),
      ]
      const answer = answers[attempt - 1]
      if (answer) answer()
      else stream(response).write(current('1-1'))
    })
    const { errors, follow, verifier } = verifierOf({ url: server.url })
    await follow()
    expect(verifier.isFollowing).toBe(true)
    expect(errors.map(({ code }) => code)).toEqual([...Array(5).fill('invalid_answer'), 'network_error'])
  })
})

describe('the following of a verifier', () => {
  it('rejects when its key is refused', async () => {
    for (const refused of ['twsrv_unknown', game.platformKey]) {
      const { errors, follow } = verifierOf()
      await expect(follow({ key: refused })).rejects.toMatchObject({ code: 'invalid_token', status: 401 })
      expect(errors).toEqual([])
    }
  })

  it('rejects with a key of another environment, of which it would hear nothing', async () => {
    const { key: staging } = await createServerKey(game.app.pool, game.stagingId)
    const { ended, follow } = verifierOf()
    await expect(follow({ key: staging })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ path: 'key', message: expect.stringContaining('environment') }],
    })
    expect(ended).toEqual([])
  })

  it('ends when its key is revoked, says so, and can begin again with another key', async () => {
    const { id, key: revoked } = await createServerKey(game.app.pool, game.environmentId)
    const login = await logIn()
    const { verifier, errors, follow, verdict } = verifierOf()
    await follow({ key: revoked })
    await game.app.pool.query('UPDATE server_keys SET revoked_at = now() WHERE id = $1', [id])
    await until('it hears of it', () => errors.length > 0)
    expect(errors).toMatchObject([{ code: 'invalid_token', status: 401, retryable: false }])
    expect(verifier.isFollowing).toBe(false)
    await logOut(login)
    await follow()
    await until('it is refused', async () => (await verdict(login)) === 'login_ended')
  })

  it('ends with its signal, and rejects with its reason if nothing was known by then', async () => {
    const silent = await listen(() => undefined)
    const reason = new Error('the server stops')
    const pending = verifierOf({ url: silent.url })
    const ending = new AbortController()
    const following = pending.follow({ signal: ending.signal })
    await until('it has connected', () => silent.attempts() === 1)
    ending.abort(reason)
    await expect(following).rejects.toBe(reason)
    await expect(pending.follow({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)

    const { verifier, errors, follow } = verifierOf()
    const stop = new AbortController()
    await follow({ signal: stop.signal })
    stop.abort()
    await until('it has ended', () => !verifier.isFollowing)
    // Another may begin at once.
    await follow()
    expect([verifier.isFollowing, errors, pending.errors]).toEqual([true, [], []])
  })

  it('is one at a time', async () => {
    const { follow } = verifierOf()
    await follow()
    await expect(follow()).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('names every faulty option', async () => {
    const paths = ['key', 'onEnded', 'onError', 'silenceMs']
    const options = { key: 'two words', onEnded: 1, onError: 'log', silenceMs: 0 } as never
    await expect(
      createTokenVerifier({ url: game.baseUrl, environmentId: game.environmentId }).follow(options),
    ).rejects.toMatchObject({ code: 'invalid_request', details: paths.map((path) => ({ path })) })
  })
})

describe('the ended logins in memory', () => {
  const HOUR_MS = 3_600_000

  it('are forgotten an hour or two after the last token has expired, and not before', () => {
    const ended = new EndedTokens()
    const at = Date.UTC(2026, 10, 26, 10, 30)
    ended.add('login', 'login_ended', at)
    ended.forgetExpired(at + 25 * HOUR_MS)
    expect([ended.codeOf('login'), ended.size]).toEqual(['login_ended', 1])
    ended.forgetExpired(at + 26.5 * HOUR_MS)
    expect([ended.codeOf('login'), ended.size]).toEqual([undefined, 0])
  })

  it('are as many as allowed: of more, those that ended first are forgotten', () => {
    const ended = new EndedTokens(3)
    const at = Date.UTC(2026, 10, 26, 10)
    // They need not come in the order of their ends.
    for (const [id, hours] of [
      ['c', 2],
      ['a', 0],
      ['b', 1],
      ['d', 3],
      ['e', 2],
    ] as const)
      ended.add(id, 'login_ended', at + hours * HOUR_MS)
    expect(['a', 'b', 'c', 'd', 'e'].filter((id) => ended.codeOf(id) !== undefined)).toEqual(['c', 'd', 'e'])
    expect(ended.size).toBe(3)
  })

  it('have the last status of a player', () => {
    const ended = new EndedTokens()
    const now = Date.now()
    expect([ended.add('ann', 'player_banned', now - HOUR_MS), ended.add('ann', 'player_banned', now)]).toEqual([
      ...[true, false],
    ])
    ended.remove('ann')
    expect([ended.codeOf('ann'), ended.size]).toEqual([undefined, 0])
    ended.add('ann', 'player_banned', now)
    ended.add('ann', 'player_deleted', Number.NaN)
    expect([ended.codeOf('ann'), ended.size]).toEqual(['player_deleted', 1])
  })

  it('have a ban until its end, which may change', () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    open.push(() => vi.useRealTimers())
    const ended = new EndedTokens()
    const now = Date.now()
    ended.add('ann', 'player_banned', now, now + 1_000)
    vi.setSystemTime(now + 999)
    expect(ended.codeOf('ann')).toBe('player_banned')
    expect(ended.add('ann', 'player_banned', now, now + 2_000), 'told before').toBe(false)
    vi.setSystemTime(now + 1_999)
    expect(ended.codeOf('ann')).toBe('player_banned')
    vi.setSystemTime(now + 2_000)
    expect(ended.codeOf('ann')).toBeUndefined()
    expect(ended.add('ann', 'player_banned', now + 2_000, null), 'another ban').toBe(true)
    vi.setSystemTime(now + 20 * HOUR_MS)
    expect([ended.codeOf('ann'), ended.size]).toEqual(['player_banned', 1])
  })
})
