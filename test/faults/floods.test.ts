import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { approve, type Operator, startOperator } from '../harness/operator.ts'
import { until } from '../harness/until.ts'

const PROGRESS = '/sdk/v1/battlepass/progress'
const pass = { scenarioId: 'season', nodeId: 'pass' }

let game: Game

beforeAll(async () => {
  game = await startGame()
  expect((await game.publish('season', season())).status).toBe(200)
})
afterAll(() => game?.stop())

async function isAlive(): Promise<void> {
  expect((await fetch(`${game.baseUrl}/livez`)).status).toBe(200)
}

/** A connection, and the bytes that it received. */
async function open(): Promise<{ socket: Socket; heard: () => string }> {
  const { hostname, port } = new URL(game.baseUrl)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  // A connection can be cut by a reset.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return { socket, heard: () => text }
}

const request = (method: string, path: string, headers: Record<string, string> = {}, body = '') =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: game.example',
    ...Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(body) }).map((header) => header.join(': ')),
    '',
    body,
  ].join('\r\n')

const answersIn = (text: string): number => text.split('HTTP/1.1 ').length - 1

describe('a flood of 20,000 messages on one WebSocket', () => {
  const ping = '{"type":"ping"}'
  const operation = (id: number) =>
    JSON.stringify({ id: `${id}`, type: 'subscribe', payload: { query: '{ __typename }' } })
  it.each([
    ['pings of the protocol', (socket: WebSocket) => socket.send(ping)],
    ['pings of WebSocket itself', (socket: WebSocket) => socket.ping()],
    ['operations', (socket: WebSocket, index: number) => socket.send(operation(index))],
    [
      'refused subscriptions',
      (socket: WebSocket, index: number) => socket.send(operation(index).replace('{ __', '{ none_')),
    ],
  ])('does not block other calls: ten are answered before a tenth of the %s', async (_kind, send) => {
    const messages = 20_000
    const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    const acknowledged = once(socket, 'message')
    socket.send(JSON.stringify({ type: 'connection_init' }))
    await acknowledged
    let answered = 0
    const count = (): void => {
      answered += 1
    }
    socket.on('message', count).on('pong', count)
    for (let index = 0; index < messages; index += 1) send(socket, index)
    for (const _ of times(10, () => 0)) await isAlive()
    expect(answered).toBeLessThan(messages / 10)
    socket.terminate()
  })
})

describe('pipelined requests', () => {
  it('are answered in their order', async () => {
    const { socket, heard } = await open()
    const paths = times(9, (index) => (index % 2 === 0 ? '/livez' : `/none-${index}`))
    socket.write(paths.map((path) => request('GET', path)).join(''))
    await until('all are answered', () => answersIn(heard()) === paths.length)
    expect([...heard().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(
      paths.map((path) => (path === '/livez' ? '200' : '404')),
    )
    socket.destroy()
  })

  it('take no effect before the request ahead of them is answered', async () => {
    let release = (): void => undefined
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = false
    const webhook: Operator = await startOperator(async (hit, response) => {
      asked = true
      await isReleased
      await approve({ subject: 'ada' })(hit, response)
    })
    const { url, secret } = webhook
    expect((await game.setProviders({ default: { enabled: true, url, secret } })).status).toBe(200)
    const player = await game.player()
    const runId = await player.start('season')
    const { socket, heard } = await open()
    const xp = { ...pass, runId, amount: 150, source: 'match' }
    const login = request(
      'POST',
      '/sdk/v1/authorization/custom',
      { 'X-SDK-Key': game.sdkKey },
      JSON.stringify({ customData: {} }),
    )
    const grant = request(
      'POST',
      '/sdk/v1/battlepass/xp',
      { Authorization: `Bearer ${player.token}` },
      JSON.stringify(xp),
    )
    socket.write(login + grant)
    await until('the webhook is asked', () => asked)
    for (const _ of times(5, () => 0)) expect((await player.post(PROGRESS, pass)).body.xp).toBe(0)
    expect(heard()).toBe('')
    release()
    await until('both are answered', () => answersIn(heard()) === 2)
    expect(heard().indexOf('accessToken')).toBeLessThan(heard().lastIndexOf('HTTP/1.1 '))
    expect((await player.post(PROGRESS, pass)).body.xp).toBe(150)
    socket.destroy()
    await webhook.close()
  })

  it('end the connection when there are thousands: few are answered, and other calls do not wait', async () => {
    const { socket, heard } = await open()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(request('GET', '/livez').repeat(10_000))
    await isAlive()
    await closed
    expect(answersIn(heard())).toBeLessThan(1_000)
    await isAlive()
  })

  it('end the connection when there are thousands with bodies, each refused at once', async () => {
    const { socket, heard } = await open()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(request('POST', PROGRESS, { 'Content-Type': 'application/json' }, '{"a":1}').repeat(10_000))
    await isAlive()
    await closed
    expect(answersIn(heard())).toBeLessThan(1_000)
  })

  it('end the connection when the client does not read the answers', async () => {
    const connections = await Promise.all(times(20, open))
    for (const { socket } of connections) socket.pause()
    await until('all are cut', () => {
      const alive = connections.filter(({ socket }) => !socket.destroyed)
      // A client that does not read notices the end when it writes.
      for (const { socket } of alive) socket.write(request('GET', '/openapi.json').repeat(500))
      return alive.length === 0
    })
    await isAlive()
  })

  it('have at most one answer in memory while the client does not read', async () => {
    const accepted: Socket[] = []
    const take = (message: unknown) => accepted.push((message as { socket: Socket }).socket)
    subscribe('net.server.socket', take)
    const { socket } = await open()
    socket.pause()
    const isOwn = ({ remotePort }: Socket) => remotePort === socket.localPort
    await until('the service has accepted it', () => accepted.some(isOwn))
    unsubscribe('net.server.socket', take)
    const atService = accepted.find(isOwn) ?? expect.fail()
    const read = request('GET', '/openapi.json')
    const { length } = await (await fetch(`${game.baseUrl}/openapi.json`)).text()
    let asked = 0
    let quiet = 0
    await until('the network buffers are full', () => {
      if (atService.bytesWritten >= asked * length) {
        socket.write(read)
        asked += 1
        quiet = 0
      } else quiet += 1
      return quiet === 20
    })
    expect(atService.writableLength).toBeGreaterThan(0)
    socket.write(read.repeat(500))
    for (const _ of times(10, () => 0)) await isAlive()
    expect(atService.writableLength).toBeLessThan(2 * length)
    socket.destroy()
  })
})
