import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServerKey } from '../../../src/callers/keys.ts'
import { routes } from '../../../src/routes.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame, startInstance, type TestPlayer, times } from '../../harness/game.ts'
import { checkAnswer } from '../../harness/openapi.ts'
import { until } from '../../harness/until.ts'

const ORIGIN = 'https://dashboard.example.com'
const PROGRESS = '/sdk/v1/battlepass/progress'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const body = '{"scenarioId":"season","nodeId":"pass"}'

/** Paths for machines, beside the routes of the API. */
const MACHINES = [
  '/livez',
  '/readyz',
  '/metrics',
  '/.well-known/jwks.json',
  '/openapi.json',
  '/schemas/scenario.json',
  '/schema.graphql',
] as const
const PAGES = ['/docs', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/start.js'] as const

let game: Game
let player: TestPlayer

beforeAll(async () => {
  game = await startGame({ ALLOWED_ORIGINS: ORIGIN })
  await game.publish('season', season())
  player = await game.player()
})
afterAll(() => game?.stop())

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** Sends a request unchanged, without a URL parser. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  sent: string | Buffer = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(game.baseUrl, { method, path, headers }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
    call.on('error', reject).end(sent)
  })
}

/** The paths of all routes, with a value for each parameter. */
const PLACES = [...new Set(routes.map(({ path }) => path))].map((path) => ({
  path: path.replaceAll(/:\w+/g, 'x'),
  methods: routes.filter((route) => route.path === path).map(({ method }) => method),
}))

/** Expects an error in the form of the contract, with the request id of its header. */
function expectError({ status, headers, text }: Answer, kind: [status: number, error: string]): void {
  const answer = JSON.parse(text)
  expect([status, answer.error]).toEqual(kind)
  expect(answer.code).toBe(kind[1].replaceAll(' ', '_'))
  expect(answer.requestId).toBe(headers['x-request-id'])
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
  checkAnswer('GET', '/none', { status, headers: new Headers(), text, body: answer })
}

describe('CORS of REST', () => {
  const allowed = (headers: Answer['headers']) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /^access-control-|^vary$/.test(name)))
  const OPEN = {
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers':
      'date, etag, ratelimit, ratelimit-policy, retry-after, tierway-as-of, tierway-game-time, x-request-id',
    vary: 'origin',
  }

  it('lets a listed origin read every answer, also a refusal, without credentials', async () => {
    const authorization = `Bearer ${player.token}`
    for (const answer of [
      await send('POST', PROGRESS, { origin: ORIGIN, authorization }, body),
      await send('POST', PROGRESS, { origin: ORIGIN }, body),
      await send('GET', PROGRESS, { origin: ORIGIN }),
      await send('GET', '/nowhere', { origin: ORIGIN }),
      await send('GET', '/openapi.json', { origin: ORIGIN }),
    ])
      expect(allowed(answer.headers)).toEqual(OPEN)
  })

  it('answers the preflight of a listed origin with the allowed methods and headers', async () => {
    for (const { path, methods } of PLACES) {
      const { status, headers, text } = await send('OPTIONS', path, {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
      })
      expect([path, status, text]).toEqual([path, 204, ''])
      if (path.startsWith('/server/')) {
        expect(allowed(headers)).toEqual({ vary: 'origin' })
        continue
      }
      expect(allowed(headers)).toEqual({
        ...OPEN,
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers':
          'authorization, content-type, idempotency-key, if-match, if-none-match, traceparent, tracestate, x-operator, ' +
          'x-request-id, x-sdk-key',
        'access-control-max-age': '600',
      })
    }
  })

  it('allows no other origin, however it is written, and sends no headers to a caller without one', async () => {
    const others = ['https://evil.example', 'null', `${ORIGIN}.evil.example`, ORIGIN.toUpperCase(), `${ORIGIN}/`, '']
    for (const headers of [...others.map((origin) => ({ origin })), {}]) {
      expect(allowed((await send('POST', PROGRESS, headers)).headers)).toEqual({})
      // Caches keep the preflights of origins apart.
      for (const path of [PROGRESS, '/graphql', '/nowhere'])
        expect(allowed((await send('OPTIONS', path, headers)).headers)).toEqual({ vary: 'origin' })
    }
  })
})

describe('a call of game servers', () => {
  it('is refused from every origin, also a listed one and with a valid key, and allows none', async () => {
    const { key } = await createServerKey(game.app.pool, game.environmentId)
    for (const origin of [ORIGIN, game.baseUrl, 'null', '']) {
      const answer = await send('POST', '/server/v1/players/find', { origin, authorization: `Bearer ${key}` }, '{}')
      expectError(answer, [403, 'forbidden'])
      expect(JSON.parse(answer.text).details).toEqual([
        { path: 'Origin', message: expect.stringContaining('a browser cannot keep a server key secret') },
      ])
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })
})

describe('every path', () => {
  it.each(PLACES)('$path lists its methods for OPTIONS, and answers 405 to all others', async ({ path, methods }) => {
    const options = await send('OPTIONS', path)
    const listed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
    expect([options.status, options.text, options.headers.allow?.split(', ').sort()]).toEqual([204, '', listed])
    expect(options.headers['x-request-id']).toMatch(UUID)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      if (methods.includes(method as 'GET')) continue
      const answer = await send(method, path)
      expectError(answer, [405, 'method not allowed'])
      expect(answer.headers.allow).toBe(options.headers.allow)
    }
  })

  it.each(MACHINES)('%s allows GET and HEAD only, and says so for OPTIONS', async (path) => {
    const options = await send('OPTIONS', path)
    expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS'])
    const refused = await send('POST', path)
    expectError(refused, [405, 'method not allowed'])
    expect(refused.headers.allow).toBe(options.headers.allow)
  })

  it('/graphql names the same methods for OPTIONS and with a 405', async () => {
    for (const method of ['OPTIONS', 'PUT', 'HEAD'])
      expect((await send(method, '/graphql')).headers.allow).toBe('GET, POST, OPTIONS')
  })

  it.each([...MACHINES, ...PAGES])('%s answers HEAD with the headers of GET and no body', async (path) => {
    const [get, head] = [await send('GET', path), await send('HEAD', path)]
    expect([get.status, get.text.length > 0]).toEqual([200, true])
    expect([head.status, head.text]).toEqual([200, ''])
    expect(get.headers['content-length']).toBe(String(Buffer.byteLength(get.text)))
    const stable = ({ date: _, 'x-request-id': id, 'content-length': length, ...others }: Answer['headers']) => {
      expect(id).toMatch(UUID)
      // Metrics change between requests.
      return { ...others, length: path === '/metrics' ? '' : length }
    }
    expect(stable(head.headers)).toEqual(stable(get.headers))
  })

  it('of operators answers HEAD with the headers of GET and no body, also when it refuses', async () => {
    const path = `/platform/v1/projects/${game.projectId}/scenarios/season?environment=production`
    for (const headers of [{ authorization: `Bearer ${game.platformKey}` }, {}] as Record<string, string>[]) {
      const id = { ...headers, 'x-request-id': 'same' }
      const [get, head] = [await send('GET', path, id), await send('HEAD', path, id)]
      const { date: _, ...expected } = get.headers
      expect([head.status, head.text]).toEqual([get.status, ''])
      expect(head.headers).toMatchObject(expected)
    }
  })

  it('has one spelling: any other is 404, with its request id', async () => {
    for (const path of [
      '/nowhere',
      `${PROGRESS}/`,
      `/${PROGRESS}`,
      PROGRESS.toUpperCase(),
      PROGRESS.replace('/pro', '%2fpro'),
      '/livez/',
      '/platform/v1/projects//auth-providers',
      `/platform/v1/projects/${game.projectId}/scenarios/`,
      '/sdk/v1/%E0%A4%A',
      '/%',
      '/%00',
    ])
      expectError(await send('POST', path, { 'x-request-id': `of ${path.length}`.replace(' ', '-') }), [
        404,
        'not found',
      ])
    expectError(await send('OPTIONS', '/nowhere'), [404, 'not found'])
  })
})

describe('/schema.graphql', () => {
  it('is the schema of the package, public where introspection is, and otherwise for operators', async () => {
    const committed = await readFile(new URL('../../../schema.graphql', import.meta.url), 'utf8')
    const open = await fetch(`${game.baseUrl}/schema.graphql`)
    expect([open.status, (await open.text()) === committed]).toEqual([200, true])
    const closed = await startInstance(game.databaseUrl, { NODE_ENV: 'production' })
    try {
      const ask = (token?: string) =>
        fetch(`${closed.baseUrl}/schema.graphql`, { headers: token ? { authorization: `Bearer ${token}` } : {} })
      for (const token of [undefined, 'junk', player.token]) expect((await ask(token)).status).toBe(401)
      const answer = await ask(await game.key('viewer'))
      expect([answer.status, (await answer.text()) === committed]).toEqual([200, true])
    } finally {
      await closed.stop()
    }
  })
})

describe('the id of an answer', () => {
  const idOf = async (sent: string, path = PROGRESS) =>
    (await send('POST', path, { 'x-request-id': sent })).headers['x-request-id']

  it('is the one that the client sent, when it is valid, on any path', async () => {
    for (const path of [PROGRESS, '/nowhere', '/livez', '/docs'])
      for (const id of ['a', 'client-1:a.b_c', 'x'.repeat(128)]) expect(await idOf(id, path)).toBe(id)
  })

  it('is a new one otherwise', async () => {
    const ids = await Promise.all(['', 'has space', 'x'.repeat(129), '<script>', 'a,b', 'é'].map((id) => idOf(id)))
    for (const id of ids) expect(id).toMatch(UUID)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

/** A connection, and the chunks that it has received. */
interface Talk {
  readonly socket: Socket
  readonly chunks: string[]
  readonly ended: () => boolean
}

function talk(text: string): Talk {
  const { hostname, port } = new URL(game.baseUrl)
  const socket = connect(Number(port), hostname)
  const chunks: string[] = []
  let ended = false
  socket.on('data', (chunk) => chunks.push(chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.on('end', () => {
    ended = true
  })
  socket.on('close', () => {
    ended = true
  })
  socket.write(text, 'latin1')
  return { socket, chunks, ended: () => ended }
}

function parse(text: string): Answer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 2)]),
  )
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]), headers, text: rest.join('\r\n\r\n') }
}

const head = (line: string, ...headers: string[]): string => `${[line, ...headers].join('\r\n')}\r\n\r\n`

describe('a malformed request', () => {
  /** Complete requests, which are answered like any other. */
  const FAULTY: Record<string, [sent: string, path: string]> = {
    'a host with a space': [head('GET /livez HTTP/1.1', 'host: a b'), 'host'],
    'a host of percent signs': [head('GET /livez HTTP/1.1', 'host: %%%'), 'host'],
    'a bracket as its host': [head(`POST ${PROGRESS} HTTP/1.1`, 'host: [', 'content-length: 0'), 'host'],
    'a host with an impossible port': [head('GET /docs HTTP/1.1', 'host: localhost:99999'), 'host'],
    'a host with a path': [head('GET /livez HTTP/1.1', 'host: a/b'), 'host'],
    'a host with a user': [head('GET /livez HTTP/1.1', 'host: a@b'), 'host'],
    'an empty host': [head('GET /livez HTTP/1.1', 'host:'), 'host'],
    'no host': [head('GET /livez HTTP/1.1'), 'host'],
    'no host, for GraphQL': [head('GET /graphql HTTP/1.1'), 'host'],
    'two hosts': [head('GET /livez HTTP/1.1', 'host: a', 'Host: b'), 'host'],
    'the same host twice': [head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'host: a', 'content-length: 0'), 'host'],
    'two hosts, for GraphQL': [head('GET /graphql HTTP/1.1', 'host: a', 'host: b'), 'host'],
    'two hosts in HTTP/1.0': [head('GET /livez HTTP/1.0', 'host: a', 'host: b', 'connection: keep-alive'), 'host'],
    'two hosts, for a WebSocket': [
      head('GET /graphql HTTP/1.1', 'host: a', 'host: b', 'connection: upgrade', 'upgrade: websocket'),
      'host',
    ],
    'two credentials': [
      head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'authorization: Bearer a', 'Authorization: Bearer b'),
      'Authorization',
    ],
    'the same credential twice, for an open path': [
      head('GET /livez HTTP/1.1', 'host: a', 'authorization: Bearer a', 'authorization: Bearer a'),
      'Authorization',
    ],
    'two credentials, for GraphQL': [
      head('GET /graphql HTTP/1.1', 'host: a', 'authorization: Bearer a', 'authorization: Bearer b'),
      'Authorization',
    ],
    'an asterisk as its path': [head('OPTIONS * HTTP/1.1', 'host: a'), 'target'],
    'an invalid URL': [head('GET http://[/livez HTTP/1.1', 'host: a'), 'target'],
    'a URL of another scheme': [head('GET ftp://a/livez HTTP/1.1', 'host: a'), 'target'],
  }

  it.each(Object.entries(FAULTY))(
    'with %s is answered 400 as JSON with a request id, and the connection stays open',
    async (_what, [sent, path]) => {
      const { socket, chunks } = talk(sent)
      await until('it is answered', () => chunks.length > 0)
      const answer = parse(chunks.join(''))
      expectError(answer, [400, 'invalid request'])
      expect(JSON.parse(answer.text).details).toMatchObject([{ path }])
      expect(answer.headers['x-request-id']).toMatch(UUID)
      chunks.length = 0
      socket.write(head('GET /livez HTTP/1.1', 'host: a'))
      await until('the next request is answered', () => chunks.length > 0)
      expect(parse(chunks.join('')).status).toBe(200)
      socket.destroy()
    },
  )

  /** Not HTTP requests: the connection ends with the answer. */
  const BROKEN: Record<string, [sent: string, answer: [number, string]]> = {
    'an invalid request line': [head('garbage'), [400, 'invalid request']],
    'an unknown method': [head('FOO / HTTP/1.1', 'host: a'), [400, 'invalid request']],
    'an unknown version of HTTP': [head('GET / HTTP/9.9', 'host: a'), [400, 'invalid request']],
    'a space in the path': [head('GET /a b HTTP/1.1', 'host: a'), [400, 'invalid request']],
    'a header without a colon': [head('GET / HTTP/1.1', 'host: a', 'bad header'), [400, 'invalid request']],
    'a length that is not a number': [
      head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'content-length: x'),
      [400, 'invalid request'],
    ],
    'both a length and chunks': [
      head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'content-length: 5', 'transfer-encoding: chunked'),
      [400, 'invalid request'],
    ],
    'headers over the limit of Node': [
      head('GET / HTTP/1.1', 'host: a', `x: ${'x'.repeat(200_000)}`),
      [431, 'headers too large'],
    ],
    TLS: ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400, 'invalid request']],
  }

  it.each(Object.entries(BROKEN))(
    'with %s is answered as JSON with a request id, and the connection ends',
    async (_what, [sent, kind]) => {
      const { socket, chunks, ended } = talk(sent)
      await until('it has ended', ended)
      const answer = parse(chunks.join(''))
      expectError(answer, kind)
      expect(answer.headers).toMatchObject({
        connection: 'close',
        'cache-control': 'no-store',
        date: expect.any(String),
      })
      expect(answer.headers['x-request-id']).toMatch(UUID)
      socket.destroy()
    },
  )

  it('with invalid chunks is answered 400, and the connection ends', async () => {
    const authorization = `authorization: Bearer ${player.token}`
    const start = head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', authorization, 'transfer-encoding: chunked')
    const { chunks, ended } = talk(`${start}zz\r\n`)
    await until('it has ended', ended)
    expectError(parse(chunks.join('')), [400, 'invalid request'])
  })

  it('after a valid call is answered after that call', async () => {
    const call = head(
      `POST ${PROGRESS} HTTP/1.1`,
      'host: a',
      `authorization: Bearer ${player.token}`,
      `content-length: ${body.length}`,
    )
    const { chunks, ended } = talk(`${call}${body}garbage\r\n\r\n`)
    await until('it has ended', ended)
    const [first, second] = chunks.join('').split(/(?=HTTP\/1\.1 )/)
    expect(parse(first ?? '')).toMatchObject({ status: 200, text: expect.stringMatching(/^\{"level":1,/) })
    expectError(parse(second ?? ''), [400, 'invalid request'])
  })

  it('with an unknown expectation is answered 417', async () => {
    expectError(await send('POST', PROGRESS, { expect: 'miracles' }, body), [417, 'expectation failed'])
  })

  it('is counted by its status', async () => {
    const { values } = await game.app.metrics.requests.get()
    const statuses = values.filter(({ labels }) => labels.route === '*').map(({ labels }) => labels.status)
    expect(statuses).toEqual(expect.arrayContaining([400, 404, 417, 431]))
  })
})

describe('an unusual but valid request', () => {
  it('with an absolute URL, as proxies send it, is served', async () => {
    const { status, text } = await send(
      'POST',
      `http://tierway.example${PROGRESS}?a=1`,
      { authorization: `Bearer ${player.token}` },
      body,
    )
    expect([status, JSON.parse(text).level]).toEqual([200, 1])
  })

  it.each(['POST', 'GET'])('to GraphQL with an absolute URL is served by %s', async (method) => {
    const query = '{ project { id } }'
    const parameters = method === 'GET' ? `?${new URLSearchParams({ query })}` : ''
    const { status, text } = await send(
      method,
      `http://tierway.example/graphql${parameters}`,
      { authorization: `Bearer ${game.platformKey}`, 'content-type': 'application/json' },
      method === 'GET' ? '' : JSON.stringify({ query }),
    )
    expect([status, JSON.parse(text)]).toEqual([200, { data: { project: { id: `Project:${game.projectId}` } } }])
  })

  it('of HTTP/1.0 without a host is served', async () => {
    const { chunks, ended } = talk(head('GET /livez HTTP/1.0'))
    await until('it has ended', ended)
    expect(parse(chunks.join(''))).toMatchObject({ status: 200, text: '{"status":"live"}' })
  })

  it.each(['a_b', '[::1]:80', '127.0.0.1', 'xn--bcher-kva.example:4000'])('to the host %s is served', async (host) => {
    expect((await send('GET', '/livez', { host })).status).toBe(200)
  })
})

describe('an answer', () => {
  const CALLS: Record<string, (token: string) => string> = {
    'a call': (token) =>
      head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', `authorization: Bearer ${token}`, `content-length: ${body.length}`) +
      body,
    'a refused call': () => head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'content-length: 0'),
    'an unknown path': () => head('GET /nowhere HTTP/1.1', 'host: a'),
    'a preflight': () => head(`OPTIONS ${PROGRESS} HTTP/1.1`, 'host: a', `origin: ${ORIGIN}`),
    'a health check': () => head('GET /readyz HTTP/1.1', 'host: a'),
    'bytes that are not a request': () => head('garbage'),
  }

  it.each(Object.entries(CALLS))('to %s is sent in one write', async (_what, call) => {
    const { socket, chunks } = talk(call(player.token))
    await until('it is answered', () => chunks.length > 0)
    const { headers, text } = parse(chunks[0] ?? '')
    if (headers.allow === undefined) expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
    expect(headers['transfer-encoding']).toBeUndefined()
    socket.destroy()
  })
})

describe('a body that is not read', () => {
  it('prevents neither the answer nor the next call on the connection when it ends soon', async () => {
    const { socket, chunks } = talk(head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'content-length: 300000'))
    await until('it is refused', () => chunks.length > 0)
    expectError(parse(chunks.join('')), [401, 'invalid token'])
    chunks.length = 0
    socket.write(' '.repeat(300_000))
    socket.write(head('GET /livez HTTP/1.1', 'host: a'))
    await until('the next is answered', () => chunks.length > 0)
    expect(parse(chunks.join('')).status).toBe(200)
    socket.destroy()
  })

  it('closes its connection when it never ends', async () => {
    const talks = times(3, () => talk(head(`POST ${PROGRESS} HTTP/1.1`, 'host: a', 'content-length: 300000')))
    await until('all have ended', () => talks.every(({ ended }) => ended()))
    for (const { chunks } of talks) expectError(parse(chunks.join('')), [401, 'invalid token'])
  })
})

describe('a client that waits for 100 before it sends the body', () => {
  const bearer = () => `authorization: Bearer ${player.token}`
  const waiting = (path: string, length: number, ...headers: string[]) =>
    head(`POST ${path} HTTP/1.1`, 'host: a', 'expect: 100-continue', `content-length: ${length}`, ...headers)

  it.each<[what: string, sent: () => string, status: number]>([
    ['a call without a token', () => waiting(PROGRESS, body.length), 401],
    ['a body over the limit', () => waiting(PROGRESS, 5_000_000, bearer()), 413],
    ['a GraphQL body over the limit', () => waiting('/graphql', 5_000_000, 'content-type: application/json'), 413],
    ['a GraphQL body of another type', () => waiting('/graphql', 29, 'content-type: text/plain'), 415],
    ['a GraphQL body of no type', () => waiting('/graphql', 29), 415],
    [
      'a GraphQL answer of another type',
      () => waiting('/graphql', 29, 'content-type: application/json', 'accept: text/plain'),
      406,
    ],
    [
      'a compressed GraphQL body',
      () => waiting('/graphql', 29, 'content-type: application/json', 'content-encoding: gzip'),
      415,
    ],
    ['a GraphQL call to an invalid host', () => waiting('/graphql', 29).replace('host: a', 'host: a/b'), 400],
    ['a compressed body', () => waiting(PROGRESS, body.length, bearer(), 'content-encoding: gzip'), 415],
    ['an unknown path', () => waiting('/nowhere', body.length), 404],
    ['a wrong method', () => waiting('/livez', body.length), 405],
    ['an invalid host', () => waiting(PROGRESS, body.length).replace('host: a', 'host: a/b'), 400],
  ])('has the refusal as its only answer, for %s', async (_what, sent, status) => {
    const { chunks, ended } = talk(sent())
    await until('it has ended', ended)
    const answer = parse(chunks.join(''))
    expect([answer.status, chunks.join('').match(/HTTP\/1\.1 /g)]).toEqual([status, ['HTTP/1.1 ']])
    expect(answer.headers.connection).toBe('close')
  })

  it.each<[what: string, sent: () => string, body: string, answer: string]>([
    ['REST', () => waiting(PROGRESS, body.length, bearer()), body, '"level":1'],
    [
      'GraphQL',
      () => waiting('/graphql', 29, 'content-type: application/json'),
      '{"query":"{ __typename   }"}  ',
      '"Query"',
    ],
  ])('is asked for it once it is read, and its connection stays open, over %s', async (_what, sent, rest, part) => {
    for (const _ of [1, 2]) {
      const { socket, chunks } = talk(sent())
      await until('it is asked', () => chunks.length > 0)
      expect(chunks.join('')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(rest)
      await until('it is answered', () => chunks.join('').includes(part))
      expect(parse(chunks.slice(1).join(''))).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } })
      socket.destroy()
    }
  })
})

describe('a stop', () => {
  it('answers the calls of connections that were opened in the last moment, and closes them', async () => {
    const stopping = await startGame()
    const { token } = await stopping.player()
    const { hostname, port } = new URL(stopping.baseUrl)
    const bearer = `authorization: Bearer ${token}`
    const call = `${head('POST /sdk/v1/player/get HTTP/1.1', 'host: a', bearer, 'content-length: 2')}{}`
    const silent = connect(Number(port), hostname)
    const gone = once(silent, 'close')
    await once(silent, 'connect')
    // Not awaited: the service has accepted none of them when the stop begins.
    const sockets = times(20, () => connect(Number(port), hostname))
    const answers = sockets.map(async (socket) => {
      socket.write(call)
      let text = ''
      for await (const chunk of socket.setEncoding('latin1')) text += chunk
      return parse(text)
    })
    const stopped = stopping.app.stop()
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await gone
    await stopped
  })

  it('is told by the answers to calls that have begun before', async () => {
    const stopping = await startGame()
    const { token } = await stopping.player()
    const { hostname, port } = new URL(stopping.baseUrl)
    const pool = new Pool({ connectionString: stopping.databaseUrl })
    const lock = await pool.connect()
    try {
      const keys = '{"values":{"a":1}}'
      const socket = connect(Number(port), hostname).setEncoding('latin1')
      let text = ''
      socket.on('data', (chunk: string) => {
        text += chunk
      })
      const closed = once(socket, 'close')
      await lock.query('BEGIN; LOCK TABLE player_storage IN ACCESS EXCLUSIVE MODE')
      socket.write(
        `POST /sdk/v1/storage/set HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n` +
          `content-length: ${keys.length}\r\n\r\n${keys}`,
      )
      await until('the call waits', async () => {
        const { rows } = await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return rows.length > 0
      })
      const stopped = stopping.app.stop()
      await lock.query('COMMIT')
      await closed
      expect(parse(text)).toMatchObject({ status: 204, headers: { connection: 'close' } })
      await stopped
    } finally {
      lock.release()
      await pool.end()
    }
  })
})

describe('a compressed body', () => {
  it.each<[path: string, encoding: string]>([
    [PROGRESS, 'gzip'],
    [PROGRESS, 'BR'],
    [PROGRESS, 'identity, gzip'],
    ['/graphql', 'gzip'],
  ])('to %s is answered 415 with the name of its header: %s', async (path, encoding) => {
    const sent = path === '/graphql' ? '{"query":"{ __typename }"}' : body
    const call = (coding: string) => {
      const headers = { authorization: `Bearer ${player.token}`, 'content-type': 'application/json' }
      const length = String(Buffer.byteLength(sent))
      return send('POST', path, { ...headers, 'content-encoding': coding, 'content-length': length }, sent)
    }
    // Another reader may read a document that the service has run before.
    for (const _ of [1, 2]) {
      expect((await call('identity')).status).toBe(200)
      const { status, text } = await call(encoding)
      expect(status).toBe(415)
      expect(text).toMatch(/unsupported media type.*"path":"Content-Encoding","message":"must be absent/)
    }
  })
})

describe('a body that is no JSON', () => {
  const call = (type: string | undefined, sent: string | Buffer, path = PROGRESS) =>
    send(
      'POST',
      path,
      {
        authorization: `Bearer ${path.startsWith('/platform') ? game.platformKey : player.token}`,
        'content-length': String(Buffer.byteLength(sent)),
        ...(type !== undefined && { 'content-type': type }),
      },
      sent,
    )
  const form = 'scenarioId=season&nodeId=pass'
  const parts = '--x\r\ncontent-disposition: form-data; name="scenarioId"\r\n\r\nseason\r\n--x--\r\n'

  it.each<[type: string, sent: string | Buffer]>([
    ['application/x-www-form-urlencoded', form],
    ['application/x-www-form-urlencoded; charset=utf-8', form],
    ['multipart/form-data; boundary=x', parts],
    ['application/json; charset=utf-16', Buffer.from(body, 'utf16le')],
    ['application/json; charset="UTF-16LE"', Buffer.from(body, 'utf16le')],
    ['application/json;charset=utf-16', body],
    ['application/json; charset=iso-8859-1', Buffer.from('{"scenarioId":"\u00e9"}', 'latin1')],
  ])('is answered 415 with the name of its header: %s', async (type, sent) => {
    const answer = await call(type, sent)
    expectError(answer, [415, 'unsupported media type'])
    expect(JSON.parse(answer.text).details[0]).toEqual({
      path: 'Content-Type',
      message: 'the body must be JSON, in UTF-8',
    })
  })

  it('is answered 415 also where the body is text or lines', async () => {
    const platform = `/platform/v1/projects/${game.projectId}`
    for (const path of [`${platform}/player-lists?environment=production`, `${platform}/players.ndjson`])
      expectError(await call('text/csv; charset=utf-16', Buffer.from('a,b', 'utf16le'), path), [
        415,
        'unsupported media type',
      ])
  })

  it('is answered 400 with its fault where no other type is named', async () => {
    for (const type of [undefined, '', 'application/json', 'application/json; charset=UTF-8', 'text/plain'])
      expect(JSON.parse((await call(type, form)).text)).toMatchObject({
        code: 'invalid_request',
        details: [{ path: '' }],
      })
  })

  it('is told apart by its text: JSON is taken with every other type, too', async () => {
    for (const type of [
      undefined,
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      'text/plain; charset=iso-8859-1',
    ])
      expect([type, (await call(type, body)).status]).toEqual([type, 200])
  })
})

describe('a caller without access', () => {
  it('is refused and recorded in the audit log: a player on a path of operators, a platform key on one of players', async () => {
    const path = `/platform/v1/projects/${game.projectId.toUpperCase()}/auth-providers`
    expectError(await send('PUT', path, { authorization: `Bearer ${player.token}` }, '{}'), [401, 'invalid token'])
    expectError(await send('POST', '/sdk/v1/storage/set', { authorization: `Bearer ${game.platformKey}` }, '{}'), [
      401,
      'invalid token',
    ])
    const { rows } = await game.app.pool.query("SELECT action, target FROM audit_log WHERE action LIKE '%.denied'")
    expect(rows).toHaveLength(2)
    expect(rows).toEqual(
      expect.arrayContaining([
        { action: 'auth_providers.set.denied', target: 'providers' },
        { action: 'storage.set.denied', target: 'players' },
      ]),
    )
  })
})
