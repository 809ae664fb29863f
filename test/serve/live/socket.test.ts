import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { generateTokenKey, type TokenKey } from '../../../src/callers/tokens.ts'
import { expiringToken } from '../../harness/expiring-token.ts'
import { type Game, startGame, type TestPlayer } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'

const PROTOCOL = 'graphql-transport-ws'
const ORIGIN = 'https://dashboard.example.com'

let game: Game
let key: TokenKey
let player: TestPlayer

beforeAll(async () => {
  key = await generateTokenKey()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([key]), ALLOWED_ORIGINS: ORIGIN })
  player = await game.player()
})
afterAll(() => game?.stop())

interface OpenOptions extends ClientOptions {
  readonly path?: string
  readonly protocols?: string[]
}

function connect({ baseUrl }: Game, { path = '/graphql', protocols = [PROTOCOL], ...options }: OpenOptions = {}) {
  return new WebSocket(`${baseUrl.replace('http', 'ws')}${path}`, protocols, options)
}

/** Opens a socket and sends connection_init. */
async function open(server: Game, params: Record<string, unknown> = {}): Promise<WebSocket> {
  const socket = connect(server)
  await once(socket, 'open')
  const answered = once(socket, 'message')
  socket.send(JSON.stringify({ type: 'connection_init', payload: params }))
  expect(JSON.parse(String((await answered)[0]))).toEqual({ type: 'connection_ack' })
  return socket
}

async function closing(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = await once(socket, 'close')
  return { code, reason: String(reason) }
}

/** The status of a handshake: 101 when it is accepted. */
async function handshake(server: Game, options: OpenOptions): Promise<number | undefined> {
  const socket = connect(server, options)
  socket.on('error', () => undefined)
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      resolve(response.statusCode)
    })
    socket.once('open', () => {
      socket.terminate()
      resolve(101)
    })
  })
}

const tokenFor = (lifeMs: number): Promise<string> =>
  expiringToken(key, { ...player, projectId: game.projectId }, lifeMs)

const sockets = async (): Promise<number> => (await game.app.metrics.sockets.get()).values[0]?.value ?? 0

describe('a socket', () => {
  it('is closed with 4408 without connection_init', async () => {
    const socket = connect(game)
    expect((await closing(socket)).code).toBe(4408)
  })

  it('is closed with 4401 when it subscribes before connection_init', async () => {
    const socket = connect(game)
    await once(socket, 'open')
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: '{ __typename }' } }))
    expect((await closing(socket)).code).toBe(4401)
  })

  it('is closed with 4403 for invalid credentials', async () => {
    const tokens = [
      'Bearer junk',
      `Bearer ${player.token}x`,
      'Bearer twplat_junk',
      player.token,
      '',
      `Bearer ${await tokenFor(-2000)}`,
    ]
    for (const authorization of tokens) {
      const socket = connect(game)
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } }))
      expect([authorization, (await closing(socket)).code]).toEqual([authorization, 4403])
    }
  })

  it('without credentials answers INVALID_TOKEN, and stays open', async () => {
    const socket = await open(game)
    const received: string[] = []
    socket.on('message', (data) => received.push(String(data)))
    for (const id of ['1', '2']) {
      socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query: 'subscription { events { cursor } }' } }))
      await until('it is answered and ended', () => received.length === 2)
      const [answer, end] = received.splice(0)
      expect(answer).toContain('"INVALID_TOKEN"')
      expect(JSON.parse(end ?? '')).toEqual({ id, type: 'complete' })
    }
    socket.terminate()
  })

  it('is closed with 4403 when its token expires (decisions 1)', async () => {
    const token = await tokenFor(2000)
    const socket = await open(game, { authorization: `Bearer ${token}` })
    socket.send(
      JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { events { cursor } }' } }),
    )
    expect(await closing(socket)).toEqual({ code: 4403, reason: 'token expired' })
    await until(
      'the subscription has ended',
      async () => (await game.app.metrics.subscriptions.get()).values[0]?.value === 0,
    )
  })

  it('stays open after documents that do not parse and unknown fields', async () => {
    const socket = await open(game, { authorization: `Bearer ${player.token}` })
    for (const query of ['{', '', '{ nothing }', `{ ${'a { '.repeat(30)} id ${'}'.repeat(31)}`]) {
      const answered = once(socket, 'message')
      socket.send(JSON.stringify({ id: 'q', type: 'subscribe', payload: { query } }))
      const { type, payload } = JSON.parse(String((await answered)[0]))
      expect([query, type, payload[0].extensions.code]).toEqual([query, 'error', 'INVALID_REQUEST'])
    }
    const answered = once(socket, 'message')
    socket.send(JSON.stringify({ id: 'q', type: 'subscribe', payload: { query: '{ me { playerId } }' } }))
    expect(JSON.parse(String((await answered)[0])).payload.data.me.playerId).toBe(player.playerId)
    socket.terminate()
  })

  it('is closed with 4400 for a message outside the protocol', async () => {
    for (const text of ['junk', '{}', '{"type":"nothing"}', '[]']) {
      const socket = await open(game)
      socket.send(text)
      expect((await closing(socket)).code).toBe(4400)
    }
  })
})

describe('a message over a socket', () => {
  it('can have 64 KiB, and closes the socket with 1009 beyond', async () => {
    const message = (bytes: number) => {
      const text = JSON.stringify({ type: 'ping', payload: { pad: '' } })
      return JSON.stringify({ type: 'ping', payload: { pad: 'x'.repeat(bytes - text.length) } })
    }
    const socket = await open(game)
    const answered = once(socket, 'message')
    socket.send(message(64 * 1024))
    expect(JSON.parse(String((await answered)[0])).type).toBe('pong')
    socket.send(message(64 * 1024 + 1))
    expect((await closing(socket)).code).toBe(1009)
  })
})

describe('the handshake', () => {
  it('is refused with 403 for a foreign origin, and accepted for that of the service, a listed one, or none', async () => {
    const status = (origin?: string) => handshake(game, origin === undefined ? {} : { headers: { origin } })
    for (const foreign of ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://127.0.0.1:1'])
      expect([foreign, await status(foreign)]).toEqual([foreign, 403])
    for (const known of [undefined, ORIGIN, game.baseUrl]) expect([known, await status(known)]).toEqual([known, 101])
  })

  it('is not offered on any other path, where the request is served without it', async () => {
    for (const [path, status] of [
      ['/graphqlx', 404],
      ['/graphql/x', 404],
      ['/sdk/v1/battlepass/xp', 405],
    ] as const)
      expect([path, await handshake(game, { path })]).toEqual([path, status])
    expect(await handshake(game, { path: '/graphql?x=1' })).toBe(101)
  })

  it('is refused, or closed with 4406, for any other subprotocol', async () => {
    for (const protocols of [['graphql-ws'], ['junk'], []]) {
      const socket = connect(game, { protocols })
      const refused = new Promise((resolve) => socket.once('error', () => resolve('refused')))
      expect(['refused', 4406]).toContain(await Promise.race([refused, closing(socket).then(({ code }) => code)]))
    }
  })
})

describe('open sockets', () => {
  it('are counted until they are closed, whether they were accepted or not', async () => {
    await until('no socket of an earlier test is left', async () => (await sockets()) === 0)
    const held = [await open(game), await open(game, { authorization: `Bearer ${player.token}` }), connect(game)]
    await until('three sockets are counted', async () => (await sockets()) === 3)
    const refused = connect(game)
    await once(refused, 'open')
    refused.send(JSON.stringify({ type: 'connection_init', payload: { authorization: 'Bearer junk' } }))
    await closing(refused)
    for (const socket of held) socket.terminate()
    await until('no socket is left', async () => (await sockets()) === 0)
  })

  it('are closed with 1001 when the service stops, and streams of events end', async () => {
    const stopping = await startGame()
    const someone = await stopping.player()
    const authorization = `Bearer ${someone.token}`
    const socket = await open(stopping, { authorization })
    socket.send(
      JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { events { cursor } }' } }),
    )
    const idle = await open(stopping)
    const stream = await fetch(`${stopping.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization },
      body: JSON.stringify({ query: 'subscription { events { cursor } }' }),
    })
    await until(
      'both subscriptions are open',
      async () => (await stopping.app.metrics.subscriptions.get()).values[0]?.value === 2,
    )
    const closed = Promise.all([closing(socket), closing(idle)])
    const started = Date.now()
    const [stopped, text] = [stopping.stop(), stream.text()]
    expect((await closed).map(({ code }) => code)).toEqual([1001, 1001])
    expect(await text).toContain('event: complete')
    await stopped
    expect(Date.now() - started).toBeLessThan(8_000)
  })

  it('without any request do not delay the stop of the service', async () => {
    const stopping = await startGame()
    const ahead = connectTcp(Number(new URL(stopping.baseUrl).port), '127.0.0.1').on('error', () => undefined)
    await once(ahead, 'connect')
    // The service accepts this connection after the one before.
    await stopping.request('GET', '/livez')
    const started = performance.now()
    await stopping.stop()
    expect(performance.now() - started).toBeLessThan(8_000)
    ahead.destroy()
  })
})
