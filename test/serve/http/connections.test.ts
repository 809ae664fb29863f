import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openServer } from '../../../src/serve/http/server.ts'
import type { WayIn } from '../../../src/serve/http/way-in.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'

const PROGRESS = '/sdk/v1/battlepass/progress'
const PLACE = '{"scenarioId":"season","nodeId":"pass"}'

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

let game: Game
let player: TestPlayer

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  player = await game.player()
})
afterAll(() => game?.stop())

interface Client {
  readonly socket: Socket
  /** The next answer, as raw text. */
  answer(): Promise<string>
  ask(bytes: string): Promise<string>
}

/** A client that sends raw bytes. */
async function open(baseUrl = game.baseUrl): Promise<Client> {
  const { hostname, port } = new URL(baseUrl)
  const client = connect(Number(port), hostname).setNoDelay(true)
  await once(client, 'connect')
  let come = ''
  let wake = (): void => undefined
  client
    .setEncoding('latin1')
    .on('data', (chunk: string) => {
      come += chunk
      wake()
    })
    .on('error', () => undefined)
    .on('close', () => wake())
  async function answer(): Promise<string> {
    for (;;) {
      const end = come.indexOf('\r\n\r\n')
      const [, length = '0'] = /^content-length: (\d+)\r$/im.exec(come.slice(0, end + 2)) ?? []
      const whole = end + 4 + Number(length)
      if (end >= 0 && come.length >= whole) {
        const text = come.slice(0, whole)
        come = come.slice(whole)
        return text
      }
      if (client.closed) expect.fail(`closed after ${come}`)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    socket: client,
    answer,
    ask(bytes) {
      client.write(bytes, 'latin1')
      return answer()
    },
  }
}

/** The bytes of a request with these headers, which can have another Host. */
function post(path: string, body: string, ...headers: string[]): string {
  const bytes = Buffer.from(body).toString('latin1')
  const host = headers.some((header) => header.startsWith('Host: ')) ? [] : ['Host: game.example']
  return `${head(`POST ${path} HTTP/1.1`, ...host, ...headers, `Content-Length: ${bytes.length}`)}${bytes}`
}

describe('a connection', () => {
  const call = (...headers: string[]) => post(PROGRESS, PLACE, `Authorization: Bearer ${player.token}`, ...headers)
  const SUCCESS = /^HTTP\/1\.1 200 OK\r\n/

  it('keeps no listener of its calls, and causes no warning', async () => {
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    const sockets: Socket[] = []
    const take = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
    process.on('warning', warn)
    subscribe('net.server.socket', take)
    const bearer = `Authorization: Bearer ${player.token}`
    const query = JSON.stringify({ query: '{ me { storage(keys: ["1"]) { key } } }' })
    const client = await open()
    const callAll = async (key: number) => {
      for (const [path, body] of [
        ['/sdk/v1/storage/get', `{"keys":["${key}"]}`],
        ['/sdk/v1/storage/set', `{"values":{"${key}":1}}`],
        ['/graphql', query],
        [PROGRESS, PLACE],
      ] as const) {
        const answer = await client.ask(post(path, body, bearer, 'Content-Type: application/json'))
        expect(answer).toMatch(/^HTTP\/1\.1 20[04] /)
        expect(answer).not.toContain('errors')
      }
    }
    await callAll(0)
    const socket = sockets.find(({ remotePort }) => remotePort === client.socket.localPort) ?? expect.fail()
    const listeners = () => socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0)
    const before = listeners()
    for (const index of times(12, (at) => at + 1)) await callAll(index)
    // The listeners of a call are removed when its answer is written, which the client can notice first.
    await until('they are as few as before', () => listeners() <= before)
    client.socket.destroy()
    unsubscribe('net.server.socket', take)
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })

  it('has pipelined calls answered in order', async () => {
    for (const before of [0, 1, 3]) {
      const client = await open()
      for (const _ of times(before, () => 0)) await client.ask(call())
      const id = (index: number) => call(`X-Request-Id: call-${index}`)
      // One that is read at once, then two in one write, while it is answered.
      client.socket.write(id(0))
      client.socket.write(id(1) + id(2))
      for (const index of [0, 1, 2]) expect(await client.answer()).toContain(`x-request-id: call-${index}`)
      expect(await client.ask(id(3))).toContain('call-3')
      client.socket.destroy()
    }
  })

  it('can carry a call in two parts, wherever it is cut', async () => {
    const text = call()
    const cuts = [1, 5, 30, text.indexOf('\r\n\r\n') + 2, text.indexOf('\r\n\r\n') + 4, text.length - 1]
    await Promise.all(
      cuts.map(async (cut) => {
        const client = await open()
        expect(await client.ask(call())).toMatch(SUCCESS)
        client.socket.write(text.slice(0, cut))
        await new Promise(setImmediate)
        expect(await client.ask(text.slice(cut))).toMatch(SUCCESS)
        expect(await client.ask(call())).toMatch(SUCCESS)
        client.socket.destroy()
      }),
    )
  })

  it('is closed after the answer to a call that asks for it', async () => {
    const client = await open()
    expect(await client.ask(call())).toMatch(SUCCESS)
    const closed = once(client.socket, 'close')
    expect(await client.ask(call('Connection: close'))).toMatch(/^Connection: close\r$/m)
    await closed
  })

  it('is closed when its client ends it', async () => {
    const client = await open()
    expect(await client.ask(call())).toMatch(SUCCESS)
    const closed = once(client.socket, 'close')
    client.socket.end()
    await closed
  })

  it('is answered with an error for bytes that are not a request, and closed', async () => {
    for (const before of [0, 1]) {
      const client = await open()
      for (const _ of times(before, () => 0)) await client.ask(call())
      expect(await client.ask('no request\r\n\r\n')).toContain('the request must be HTTP')
      await once(client.socket, 'close')
    }
  })

  it('is closed when the service stops, after the answer to its call if it has one', async () => {
    const stopping = await startGame()
    const { token } = await stopping.player()
    const pool = new Pool({ connectionString: stopping.databaseUrl })
    const bearer = `Authorization: Bearer ${token}`
    const [idle, silent, busy] = [
      await open(stopping.baseUrl),
      await open(stopping.baseUrl),
      await open(stopping.baseUrl),
    ]
    const closed = Promise.all([once(idle.socket, 'close'), once(silent.socket, 'close')])
    expect(await idle.ask(post('/sdk/v1/player/get', '{}', bearer))).toContain('200 OK')
    const lock = await pool.connect()
    await lock.query('BEGIN; LOCK TABLE player_storage IN ACCESS EXCLUSIVE MODE')
    const answer = busy.ask(post('/sdk/v1/storage/set', '{"values":{"a":1}}', bearer))
    await until('the call waits', async () => {
      const { rows } = await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
      return rows.length > 0
    })
    const stopped = stopping.app.stop()
    await closed
    await lock.query('COMMIT')
    lock.release()
    expect(await answer).toMatch(/^HTTP\/1\.1 204 /)
    await once(busy.socket, 'close')
    await stopped
    await pool.end()
  })

  it('that reads its answer slowly while the service stops has the whole answer, and its next call, too', async () => {
    const length = 30_000_000
    const served: unknown[] = []
    const unread = () => expect.fail()
    const server = openServer({
      wayIn: { serveError: unread, serveExpectation: unread } as unknown as WayIn,
      serve: (request, response) => {
        served.push(request.url)
        response.end(request.url === '/long' ? Buffer.alloc(length) : 'short')
      },
    })
    const client = connect(await server.listen(0, '127.0.0.1'), '127.0.0.1').pause()
    client.write(post('/long', '{}'))
    await until('the answer has begun', () => served.length === 1)
    const closed = server.close()
    await new Promise((resolve) => client.write(post('/short', '{}'), resolve))
    let received = 0
    let end = ''
    client.on('data', (chunk: Buffer) => {
      received += chunk.length
      end = (end + chunk.toString('latin1')).slice(-1_000)
    })
    client.resume()
    await once(client, 'close')
    await closed
    expect(received).toBeGreaterThan(length)
    expect(end).toMatch(/connection: close\r\n.*short$/is)
  })
})
