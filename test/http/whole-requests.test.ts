import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import fc from 'fast-check'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createReader, takeWholeRequests } from '../../src/http/whole-requests.ts'
import { season } from '../support/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../support/game.ts'
import { until } from '../support/until.ts'

const ORIGIN = 'https://dashboard.example.com'
const PROGRESS = '/sdk/v1/battlepass/progress'
const PLACE = '{"scenarioId":"season","nodeId":"pass"}'

const read = (text: string) => createReader(new Socket())(Buffer.from(text, 'latin1'))

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

describe('the reader of whole requests', () => {
  it('reads a whole plain request, with the fields that Node reads', () => {
    const text = `${head(
      'POST /sdk/v1/player/get HTTP/1.1',
      'Host: game.example',
      'Connection: Keep-Alive',
      'X-Request-Id: a b  c',
      'content-length: 2',
    )}{}`
    const { method, httpVersion, url, headers, body } = read(text) ?? expect.fail('was not read')
    expect({ method, httpVersion, url, headers, body: body.toString() }).toEqual({
      method: 'POST',
      httpVersion: '1.1',
      url: '/sdk/v1/player/get',
      headers: { host: 'game.example', connection: 'Keep-Alive', 'x-request-id': 'a b  c', 'content-length': '2' },
      body: '{}',
    })
  })

  it('reads each request of a connection with its own head and body', () => {
    const next = createReader(new Socket())
    const seen = ['a {}', 'a []', 'b []', 'a {}', 'b {}'].map((call) => {
      const [id, sent] = call.split(' ')
      const text = head('POST / HTTP/1.1', 'Host: game.example', `X-Request-Id: ${id}`, 'Content-Length: 2') + sent
      const { headers, body } = next(Buffer.from(text)) ?? expect.fail('was not read')
      return `${headers['x-request-id']} ${body}`
    })
    expect(seen).toEqual(['a {}', 'a []', 'b []', 'a {}', 'b {}'])
  })

  const host = 'Host: game.example'
  const two = 'Content-Length: 2'
  it.each([
    ['has an incomplete head', `POST / HTTP/1.1\r\n${host}\r\n${two}\r\n{}`],
    ['has an incomplete body', `${head('POST / HTTP/1.1', host, two)}{`],
    ['is followed by another', `${head('POST / HTTP/1.1', host, two)}{}P`],
    ['is not a POST', `${head('PUT / HTTP/1.1', host, two)}{}`],
    ['has a lower-case method', `${head('post / HTTP/1.1', host, two)}{}`],
    ['is of another version of HTTP', `${head('POST / HTTP/1.0', host, two)}{}`],
    ['has an absolute URL', `${head('POST http://game.example/ HTTP/1.1', host, two)}{}`],
    ['has a query', `${head('POST /a?b=c HTTP/1.1', host, two)}{}`],
    ['has an escape in its path', `${head('POST /%61 HTTP/1.1', host, two)}{}`],
    ['has two spaces in its first line', `${head('POST  / HTTP/1.1', host, two)}{}`],
    ['begins with an empty line', `\r\n${head('POST / HTTP/1.1', host, two)}{}`],
    ['has no host', `${head('POST / HTTP/1.1', two)}{}`],
    ['has two hosts', `${head('POST / HTTP/1.1', host, 'host: other.example', two)}{}`],
    ['has no length', head('POST / HTTP/1.1', host)],
    ['has two lengths', `${head('POST / HTTP/1.1', host, two, two)}{}`],
    ['has a signed length', `${head('POST / HTTP/1.1', host, 'Content-Length: +2')}{}`],
    ['has a length that begins with zero', `${head('POST / HTTP/1.1', host, 'Content-Length: 02')}{}`],
    ['has a length in hexadecimal', `${head('POST / HTTP/1.1', host, 'Content-Length: 0x2')}{}`],
    ['has a list as its length', `${head('POST / HTTP/1.1', host, 'Content-Length: 2, 2')}{}`],
    ['has a transfer coding', `${head('POST / HTTP/1.1', host, two, 'Transfer-Encoding: identity')}{}`],
    ['has chunks', `${head('POST / HTTP/1.1', host, 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`],
    ['expects an answer before its body', `${head('POST / HTTP/1.1', host, two, 'Expect: 100-continue')}{}`],
    ['asks for another protocol', `${head('POST / HTTP/1.1', host, two, 'Upgrade: h2c')}{}`],
    ['closes its connection', `${head('POST / HTTP/1.1', host, two, 'Connection: close')}{}`],
    ['has other options of its connection', `${head('POST / HTTP/1.1', host, two, 'Connection: keep-alive, te')}{}`],
    ['closes its connection to a proxy', `${head('POST / HTTP/1.1', host, two, 'Proxy-Connection: close')}{}`],
    ['has a space before a colon', `${head('POST / HTTP/1.1', `${host}`, 'A : b', two)}{}`],
    ['has a space before a name', `${head('POST / HTTP/1.1', host, ' A: b', two)}{}`],
    ['has a value over two lines', `${head('POST / HTTP/1.1', host, 'A: b\r\n c', two)}{}`],
    ['has a line that ends without a carriage return', `${head('POST / HTTP/1.1', host, 'A: b\nC: d', two)}{}`],
    ['has a value that begins with two spaces', `${head('POST / HTTP/1.1', host, 'A:  b', two)}{}`],
    ['has a value that ends with a space', `${head('POST / HTTP/1.1', host, 'A: b ', two)}{}`],
    ['has a tab in a value', `${head('POST / HTTP/1.1', host, 'A: b\tc', two)}{}`],
    ['has a value beyond ASCII', `${head('POST / HTTP/1.1', host, 'A: é', two)}{}`],
    ['has an empty value', `${head('POST / HTTP/1.1', host, 'A: ', two)}{}`],
    ['has a header that Node reads as a list', `${head('POST / HTTP/1.1', host, 'Set-Cookie: a', two)}{}`],
    ['has the header __proto__', `${head('POST / HTTP/1.1', host, '__proto__: a', two)}{}`],
    ['has a head over 4 KiB', `${head('POST / HTTP/1.1', host, `A: ${'a'.repeat(4100)}`, two)}{}`],
  ])('does not read a request that %s', (_what, text) => {
    expect(read(text)).toBeNull()
  })

  it('reads a random request only where Node reads the same one, and nothing after it', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    /** The requests and errors that Node reads from these bytes, before they end. */
    const readByNode = (bytes: Buffer): Promise<object[]> =>
      new Promise((resolve) => {
        const found: object[] = []
        const take = (request: IncomingMessage): void => {
          const { method, url, headers } = request
          let body = ''
          request.setEncoding('latin1').on('data', (chunk: string) => {
            body += chunk
          })
          request.on('end', () => found.push({ method, url, headers: { ...headers }, body }))
        }
        const refuse = (error: NodeJS.ErrnoException) => found.push({ error: error.code })
        server.on('request', take).on('clientError', refuse)
        const client = connect(port, '127.0.0.1', () => client.end(bytes))
        server.once('connection', (served: Socket) =>
          served.once('end', () => {
            setImmediate(() => {
              served.destroy()
              server.off('request', take).off('clientError', refuse)
              resolve(found)
            })
          }),
        )
      })
    const name = fc.oneof(
      fc.constantFrom('Host', 'Content-Length', 'Connection', 'Accept', 'Cookie', 'Set-Cookie', 'Age', 'TE', 'Date'),
      fc.stringMatching(/^[\w-]{1,12}$/),
    )
    const value = fc.oneof(
      fc.constantFrom('0', '2', '3', '02', 'keep-alive', 'close', 'Keep-Alive', 'chunked', 'game.example'),
      fc.stringMatching(/^[ -~]{0,20}$/),
    )
    const separator = fc.constantFrom(...times(20, () => ': '), ':', ':  ', ' : ')
    const end = fc.constantFrom(...times(20, () => '\r\n'), '\n', '\r', ' \r\n')
    const line = fc.tuple(name, separator, value, end).map((parts) => parts.join(''))
    const request = fc
      .tuple(
        fc.constantFrom(...times(9, () => 'POST'), 'GET', 'PUT'),
        fc.oneof(fc.constant(PROGRESS), fc.stringMatching(/^\/[!-~]{0,9}$/)),
        fc.array(line, { maxLength: 4 }),
        fc.constantFrom(...times(9, () => 'Host: a\r\nContent-Length: 2\r\n'), 'Host: b\r\n', ''),
        fc.constantFrom(...times(9, () => '{}'), '', '{', '{}POST'),
      )
      .map(
        ([method, path, lines, framing, body]) =>
          `${method} ${path} HTTP/1.1\r\n${lines.join('')}${framing}\r\n${body}`,
      )
    let readHere = 0
    await fc.assert(
      fc.asyncProperty(request, async (text) => {
        const here = read(text)
        if (!here) return
        readHere += 1
        const { method, url, headers, body } = here
        expect(await readByNode(Buffer.from(text, 'latin1'))).toEqual([
          { method, url, headers, body: body.toString('latin1') },
        ])
      }),
      { numRuns: 2000 },
    )
    server.close()
    expect(readHere).toBeGreaterThan(200)
  })
})

let game: Game
let player: TestPlayer
let bare: TestPlayer

beforeAll(async () => {
  game = await startGame({ ALLOWED_ORIGINS: ORIGIN })
  await game.publish('season', season())
  player = await game.player()
  bare = await game.player()
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

/** Node ignores this header. The service leaves a request with it to Node. */
const BY_NODE = 'TE: trailers'

/** An answer without its date and ids, which differ between two answers to one request. */
const comparable = (answer: string): string =>
  answer.replace(/^Date: .*\r$/m, 'Date').replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')

describe('an answer', () => {
  const json = 'Content-Type: application/json'
  const bearer = () => `Authorization: Bearer ${bare.token}`
  const query = (document: string, variables: object = {}) => JSON.stringify({ query: document, variables })
  const READ = 'query ($id: String!) { battlePass(scenarioId: "season", nodeId: $id) { level xp } }'
  const read = (id: string, ...headers: string[]) => ['/graphql', query(READ, { id }), bearer(), json, ...headers]
  /** The requests, and a part of each answer. */
  const cases: Record<string, readonly [part: string, request: () => string[]]> = {
    'a success': ['200 OK', () => [PROGRESS, PLACE, bearer()]],
    'a success with a request id': ['x-request-id: mine', () => [PROGRESS, PLACE, bearer(), 'X-Request-Id: mine']],
    'a success for a page of an allowed origin': [
      `access-control-allow-origin: ${ORIGIN}`,
      () => [PROGRESS, PLACE, bearer(), `Origin: ${ORIGIN}`],
    ],
    'a success for a page of another origin': [
      '200 OK',
      () => [PROGRESS, PLACE, bearer(), 'Origin: https://else.example'],
    ],
    'text beyond ASCII': [
      Buffer.from('{"ключ":"🎮"}').toString('latin1'),
      () => ['/sdk/v1/storage/get', '{"keys":["ключ"]}', bearer()],
    ],
    'a success without a body': ['204 No Content', () => ['/sdk/v1/storage/delete', '{"keys":["none"]}', bearer()]],
    'every fault of a body': [
      '"path":"nodeId","message":"is required"',
      () => ['/sdk/v1/battlepass/xp', '{"amount":-1}', bearer()],
    ],
    'a body that is not JSON': ['the body must be JSON', () => [PROGRESS, '{', bearer()]],
    'an empty body': ['the body must be JSON', () => [PROGRESS, '', bearer()]],
    'a call without a token': ['"invalid token"', () => [PROGRESS, PLACE]],
    'an invalid token': ['"invalid token"', () => [PROGRESS, PLACE, 'Authorization: Bearer x']],
    'an unknown path': ['404 Not Found', () => ['/nowhere', '{}']],
    'a path that takes no POST': ['allow: GET', () => ['/livez', '{}']],
    'an invalid host': ['"path":"host"', () => [PROGRESS, PLACE, bearer(), 'Host: a/b']],
    'a login without a key': ['"invalid sdk key"', () => ['/sdk/v1/authorization/custom', '{"customData":"x"}']],
    'a query': ['"data":{"battlePass":{"level":1', () => read('pass')],
    'a query for a page of an allowed origin': [
      `access-control-allow-origin: ${ORIGIN}`,
      () => read('pass', `Origin: ${ORIGIN}`),
    ],
    'a query with another media type': [
      'application/graphql-response+json',
      () => read('pass', 'Accept: application/graphql-response+json'),
    ],
    'a query with a fault': ['"path":"nodeId"', () => read('')],
    'a query without a variable': ['of required type', () => ['/graphql', query(READ), bearer(), json]],
    'a query without a token': ['INVALID_TOKEN', () => ['/graphql', query(READ, { id: 'pass' }), json]],
    'a query to an invalid host': ['INVALID_REQUEST', () => read('pass', 'Host: [')],
    'a document with a fault': ['Cannot query field', () => ['/graphql', query('{ nothing }'), bearer(), json]],
    'a query that is not JSON': ['line 1, column 2', () => ['/graphql', '{', bearer(), json]],
  }

  beforeAll(async () => {
    const values = { values: { ключ: '🎮' } }
    expect((await bare.post('/sdk/v1/storage/set', values)).status).toBe(204)
    // Yoga answers the first operation of a document, which Node reads, and validates the document then.
    const [path = '', body = '', ...headers] = read('pass')
    const client = await open()
    expect(await client.ask(post(path, body, ...headers))).toContain('200 OK')
    client.socket.destroy()
  })

  it.each(Object.keys(cases))('has the same bytes when Node reads the request: %s', async (name) => {
    const [part, request] = cases[name] ?? expect.fail()
    const [path = '', body = '', ...headers] = request()
    const here = await open()
    const byNode = await open()
    // A connection whose request was handed over to Node stays with Node.
    for (const _ of [1, 2]) {
      const expected = comparable(await byNode.ask(post(path, body, ...headers, BY_NODE)))
      expect(expected).toContain(part)
      expect(comparable(await here.ask(post(path, body, ...headers)))).toBe(expected)
    }
    here.socket.destroy()
    byNode.socket.destroy()
  })

  it('has the same bytes when Node reads the request: a whole body above the limit', async () => {
    const strict = await startGame({ MAX_BODY_BYTES: '1024' })
    const { token } = await strict.player()
    for (const path of [PROGRESS, '/graphql']) {
      const here = await open(strict.baseUrl)
      const byNode = await open(strict.baseUrl)
      const sent = [path, ' '.repeat(2000), `Authorization: Bearer ${token}`, json] as const
      const expected = comparable(await byNode.ask(post(...sent, BY_NODE)))
      expect(expected).toMatch(/^HTTP\/1\.1 413 /)
      expect(comparable(await here.ask(post(...sent)))).toBe(expected)
    }
    await strict.stop()
  })
})

it.each(['a\r\nset-cookie: b=c', 'a\nb', 'a\rb', 'a\0b', 'a\u{1f600}'])(
  'an answer with the header value %j is not written, as Node refuses it',
  (value) => {
    const socket = new Socket()
    const written = vi.spyOn(socket, 'write')
    const bytes = Buffer.from(`${head('POST / HTTP/1.1', 'Host: a', 'Content-Length: 2')}{}`)
    const request = createReader(socket)(bytes) ?? expect.fail()
    expect(() => request.answer(200, ['x-name', value], 'body')).toThrow(/Invalid character in header content/)
    expect(written).not.toHaveBeenCalled()
  },
)

describe('a connection', () => {
  const call = (...headers: string[]) => post(PROGRESS, PLACE, `Authorization: Bearer ${player.token}`, ...headers)
  const SUCCESS = /^HTTP\/1\.1 200 OK\r\n/

  it('carries calls for both readers in turn', async () => {
    const client = await open()
    for (const text of [call(), call(), call(BY_NODE), call(), call('X-Tabbed: a\tb'), call()])
      expect(await client.ask(text)).toMatch(SUCCESS)
    client.socket.destroy()
  })

  it.each([
    ['the service', []],
    ['Node', [BY_NODE]],
  ])('keeps no listener of its calls when %s reads them, and causes no warning', async (reader, headers) => {
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    const sockets: (Socket & { parser?: unknown })[] = []
    const take = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
    process.on('warning', warn)
    subscribe('net.server.socket', take)
    const bearer = `Authorization: Bearer ${player.token}`
    const query = JSON.stringify({ query: '{ me { storage(keys: ["1"]) { key } } }' })
    // Node reads the first request with a document.
    const first = await open()
    await first.ask(post('/graphql', query, bearer, 'Content-Type: application/json'))
    first.socket.destroy()
    const client = await open()
    const callAll = async (key: number) => {
      for (const [path, body] of [
        ['/sdk/v1/storage/get', `{"keys":["${key}"]}`],
        ['/sdk/v1/storage/set', `{"values":{"${key}":1}}`],
        ['/graphql', query],
        [PROGRESS, PLACE],
      ] as const) {
        const answer = await client.ask(post(path, body, bearer, 'Content-Type: application/json', ...headers))
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
    expect(Boolean(socket.parser)).toBe(reader === 'Node')
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

  it('that reads its answer slowly while the service stops has the whole answer, and no later call runs', async () => {
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    const length = 30_000_000
    const ran: string[] = []
    const server = createServer()
    const whole = takeWholeRequests(
      server,
      async (request) => {
        ran.push(request.url)
        request.answer(200, ['content-length', String(length)], Buffer.alloc(length))
      },
      () => undefined,
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    client.write(post('/first', '{}'))
    await until('the first call has run', () => ran.length === 1)
    const closed = new Promise((resolve) => server.close(resolve))
    for (const _ of times(12, Number)) whole.closeIdle()
    await new Promise((resolve) => client.write(post('/late', '{}'), resolve))
    let received = 0
    client.on('data', (chunk) => {
      received += chunk.length
    })
    client.resume()
    await once(client, 'close')
    await closed
    process.off('warning', warn)
    expect(ran).toEqual(['/first'])
    expect(received).toBeGreaterThan(length)
    expect(warnings).toEqual([])
  })
})
