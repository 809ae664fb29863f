import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Client, createClient } from 'graphql-ws'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ConfigError, readConfig } from '../../../src/base/config.ts'
import { ConnectionLimits, readConnectionLimits } from '../../../src/base/rate-limits/connection-limits.ts'
import { type Game, startGame } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'

const SUBSCRIBE = 'subscription { events(environment: "production") { cursor } }'

describe('CONNECTION_LIMITS', () => {
  it('changes only the limits that it names', () => {
    expect(readConfig({ CONNECTION_LIMITS: 'sockets=5, connections = off' }).connectionLimits).toEqual({
      connections: null,
      sockets: 5,
      caller_sockets: 5_000,
      caller_subscriptions: 20_000,
    })
    expect(Object.values(readConfig({ CONNECTION_LIMITS: 'off' }).connectionLimits)).toEqual([null, null, null, null])
  })

  it('is refused with every fault', () => {
    expect(() => readConfig({ CONNECTION_LIMITS: 'sockets=1,sockets=2,streams=3,connections=0' })).toThrow(ConfigError)
    const faults: string[] = []
    readConnectionLimits('sockets=1,sockets=2,streams=3,connections=0', faults)
    expect(faults).toHaveLength(3)
  })
})

it('a limit counts each holder separately, releases once and forgets idle holders', () => {
  const refused: string[] = []
  const settings = { ...readConnectionLimits(null, []), sockets: 2 }
  const limits = new ConnectionLimits({ settings, onLimited: (name) => refused.push(name) })
  const [first, second] = [limits.hold('sockets', 'ada'), limits.hold('sockets', 'ada')]
  expect(limits.hold('sockets', 'ada')).toBeUndefined()
  expect(limits.hold('sockets', 'grace')).toBeDefined()
  first?.()
  first?.()
  expect(limits.hold('sockets', 'ada')).toBeDefined()
  expect(limits.hold('sockets', 'ada')).toBeUndefined()
  expect(refused).toEqual(['sockets', 'sockets'])
  second?.()
  expect(limits.size).toBe(2)
})

let game: Game
let key: string
const clients: Client[] = []

async function start(limits: string, env: Record<string, string> = {}): Promise<void> {
  game = await startGame({ CONNECTION_LIMITS: limits, TRUSTED_PROXIES: '1', ...env })
  key = await game.key('viewer')
}

/** Opens a socket from an address. Resolves once the socket is acknowledged or closed. */
async function openSocket(token: string, address = '198.51.100.1') {
  let closed: { code: number; reason: string } | undefined
  let socket: WebSocket | undefined
  const client = createClient({
    url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: class extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { headers: { 'x-forwarded-for': address } })
        socket = this
      }
    },
    connectionParams: { authorization: `Bearer ${token}` },
    lazy: false,
    retryAttempts: 0,
    onNonLazyError: () => undefined,
  })
  clients.push(client)
  client.on('closed', (event) => {
    closed = event as { code: number; reason: string }
  })
  let isOpen = false
  client.on('connected', () => {
    isOpen = true
  })
  await until('the socket is acknowledged or closed', () => isOpen || closed !== undefined)
  return { client, isOpen, socket, closed: closed && { code: closed.code, reason: closed.reason } }
}

/** The HTTP status of an opening handshake: 101 for a socket, which is closed again. */
async function handshake(address = '198.51.100.1'): Promise<number | undefined> {
  const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: { 'x-forwarded-for': address },
  })
  socket.on('error', () => undefined)
  return new Promise((resolve) => {
    socket.once('upgrade', ({ statusCode }) => resolve(statusCode))
    socket.once('open', () => socket.terminate())
    socket.once('unexpected-response', (_request, { statusCode }) => {
      resolve(statusCode)
      socket.terminate()
    })
  })
}

/** Opens a stream of server-sent events and reads its first answer. */
async function openStream(token: string, address = '198.51.100.1') {
  const gone = new AbortController()
  const response = await fetch(`${game.baseUrl}/graphql`, {
    method: 'POST',
    signal: gone.signal,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-forwarded-for': address,
    },
    body: JSON.stringify({ query: SUBSCRIBE }),
  })
  const reader = response.body?.getReader()
  let text = ''
  while (reader && !text.includes(':\n') && !text.includes('event: next')) {
    const { value, done } = await reader.read()
    if (done) break
    text += Buffer.from(value).toString()
  }
  return { text, isOpen: !text.includes('SUBSCRIPTION_LIMIT_EXCEEDED'), close: () => gone.abort() }
}

const openSubscriptions = async () => Number(/^tierway_subscriptions (\d+)/m.exec(await metrics())?.[1])
const metrics = async () => (await fetch(`${game.baseUrl}/metrics`)).text()

describe('a connection limit that is reached', () => {
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose()
    await game?.stop()
  })

  it('refuses WebSockets of an address with 429, and its event streams, until one closes', async () => {
    await start('sockets=2')
    const first = await openSocket(key)
    const stream = await openStream(key)
    expect([first.isOpen, stream.isOpen]).toEqual([true, true])
    expect((await openSocket(key)).isOpen).toBe(false)
    expect(await handshake()).toBe(429)
    expect((await openStream(key)).text).toContain('SUBSCRIPTION_LIMIT_EXCEEDED')
    expect((await openSocket(key, '198.51.100.2')).isOpen).toBe(true)
    expect(await handshake('198.51.100.2')).toBe(101)
    stream.close()
    await until('the stream is counted off', async () => (await openSubscriptions()) === 0)
    expect((await openSocket(key)).isOpen).toBe(true)
    expect(await metrics()).toMatch(/^tierway_connection_limited_total\{limit="sockets"\} 3$/m)
  })

  it('closes sockets of a caller with 1013 and refuses its event streams, but not those of other callers', async () => {
    await start('caller_sockets=2')
    const first = await openSocket(key, '198.51.100.1')
    expect((await openSocket(key, '198.51.100.2')).isOpen).toBe(true)
    const third = await openSocket(key, '198.51.100.3')
    expect(third.closed).toEqual({ code: 1013, reason: 'too many sockets of this caller' })
    expect((await openStream(key)).text).toContain('SUBSCRIPTION_LIMIT_EXCEEDED')
    const player = await game.player()
    expect((await openSocket(player.token)).isOpen).toBe(true)
    await first.client.dispose()
    await until('there is room again', async () => (await openSocket(key)).isOpen)
  })

  it('refuses subscriptions of a caller, over its sockets and streams together, until one ends', async () => {
    await start('caller_subscriptions=2')
    const stream = await openStream(key)
    const { client } = await openSocket(key)
    const second = client.iterate({ query: SUBSCRIBE })
    void second.next()
    await until('the second is open', async () => (await openSubscriptions()) === 2)
    const { client: other } = await openSocket(key)
    const refused = async () => (await other.iterate({ query: SUBSCRIBE }).next()).value?.errors?.[0]
    expect(await refused()).toMatchObject({
      message: 'subscription limit exceeded',
      extensions: {
        code: 'SUBSCRIPTION_LIMIT_EXCEEDED',
        details: [{ path: '', message: 'too many are open: subscriptions of a player or platform key' }],
      },
    })
    expect((await openStream(await game.key('viewer'))).isOpen).toBe(true)
    stream.close()
    await until('the stream is counted off', async () => (await openSubscriptions()) === 2)
    expect((await openStream(key)).isOpen).toBe(true)
  })

  it('closes connections of an address until others close', async () => {
    await start('connections=3', { TRUSTED_PROXIES: '0' })
    const { hostname, port } = new URL(game.baseUrl)
    const open: Socket[] = []
    const openOne = async (): Promise<boolean> => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      open.push(socket)
      const heard = Promise.race([once(socket, 'data').catch(() => undefined), once(socket, 'close')])
      socket.write('GET /livez HTTP/1.1\r\nHost: game.example\r\n\r\n')
      await heard
      return !socket.destroyed && socket.bytesRead > 0
    }
    // Connections of the test itself, which made the key, count as well.
    await until('the limit is reached', async () => !(await openOne()))
    for (const socket of open.splice(0)) socket.destroy()
    await until('there is room again', openOne)
    for (const socket of open) socket.destroy()
  })
})
