import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectTcp, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { generateTokenKey, type TokenKey } from '../../../src/callers/tokens.ts'
import { createPlayer } from '../../../src/players/create-player.ts'
import { cursorAt, untimed } from '../../events/cursors.ts'
import { fill } from '../../events/fill.ts'
import { BEGIN } from '../../harness/begin.ts'
import { createDatabase } from '../../harness/database.ts'
import { season } from '../../harness/definitions.ts'
import { expiringToken } from '../../harness/expiring-token.ts'
import { type Game, startGame, type TestPlayer, times } from '../../harness/game.ts'
import { type Operator, startOperator } from '../../harness/operator.ts'
import { startProxy } from '../../harness/proxy.ts'
import { buildService, createWorld, startService, stopService } from '../../harness/service.ts'
import { pausedTime, startStopwatch } from '../../harness/stopwatch.ts'
import { until } from '../../harness/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
type Message = any

const EVENTS =
  'subscription ($environment: String, $after: String) { events(environment: $environment, after: $after) { cursor } }'
const production = { environment: 'production' }
const ORIGIN = 'https://dashboard.example.com'
/** Two seconds are promised; the rest is for a busy machine. */
const WITHIN_MS = 3_000

let game: Game
let key: TokenKey
let operator: Operator

beforeAll(async () => {
  key = await generateTokenKey()
  operator = await startOperator()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([key]), INTROSPECTION: 'false', ALLOWED_ORIGINS: ORIGIN })
  await game.publish('season', season())
  const { url, secret } = operator
  await game.setProviders({ default: { enabled: true, url, secret } })
})
afterAll(async () => {
  await game?.stop()
  await operator?.close()
})

/** A socket that stores each message that it receives. */
interface Talk {
  readonly socket: WebSocket
  /** All that was received so far. */
  readonly received: readonly Message[]
  readonly closed: Promise<{ code: number; reason: string; at: number }>
  send(message: object): void
  subscribe(id: string, query?: string, variables?: object): void
  /** The next message, or the next one with this id. */
  receive(id?: string): Promise<Message>
}

interface ConnectOptions extends ClientOptions {
  readonly path?: string
  readonly protocols?: string[]
}

function connect(
  { baseUrl }: { baseUrl: string },
  { path = '/graphql', protocols = ['graphql-transport-ws'], ...options }: ConnectOptions = {},
): Talk {
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}${path}`, protocols, options)
  const received: Message[] = []
  const taken = new Set<Message>()
  socket.on('message', (data) => received.push(JSON.parse(String(data))))
  socket.on('error', () => undefined)
  const closed = new Promise<{ code: number; reason: string; at: number }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason), at: performance.now() })),
  )
  const send = (message: object) => socket.send(JSON.stringify(message))
  return {
    socket,
    received,
    closed,
    send,
    subscribe: (id, query = EVENTS, variables = production) =>
      send({ id, type: 'subscribe', payload: { query, variables } }),
    async receive(id) {
      let message: Message
      await until(`a message ${id ?? ''}`, () => {
        message = received.find((one) => !taken.has(one) && (id === undefined || one.id === id))
        return message !== undefined
      })
      taken.add(message)
      return message
    },
  }
}

/** Opens a socket and sends connection_init. */
async function open(
  server: { baseUrl: string },
  params: Record<string, unknown> | string = {},
  options: ClientOptions = {},
): Promise<Talk> {
  const talk = connect(server, options)
  await once(talk.socket, 'open')
  const payload = typeof params === 'string' ? { authorization: `Bearer ${params}` } : params
  talk.send({ type: 'connection_init', payload })
  expect(await talk.receive()).toEqual({ type: 'connection_ack' })
  return talk
}

const tokenFor = (player: TestPlayer, lifeMs: number, { projectId } = game): Promise<string> =>
  expiringToken(key, { ...player, projectId }, lifeMs)

const subscriptionsOf = async ({ app }: Game): Promise<number> =>
  (await app.metrics.subscriptions.get()).values[0]?.value ?? 0
const socketsOf = async ({ app }: Game): Promise<number> => (await app.metrics.sockets.get()).values[0]?.value ?? 0

describe('a socket with credentials (contract 5)', () => {
  it('is closed with 4403 within a second of the expiry of its token', async () => {
    const token = await tokenFor(await game.player(), 3_000)
    const pausedBefore = pausedTime()
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const talk = await open(game, token)
    talk.subscribe('1', EVENTS, {})
    const { code, reason } = await talk.closed
    const late = Date.now() - exp * 1_000
    const paused = pausedTime() - pausedBefore
    expect([code, reason, late > -50, late < 1_000 + paused, late]).toEqual([4403, 'token expired', true, true, late])
  })

  it('is closed with 4403 when its token expires during a replay, which continues with another token', async () => {
    const server = await startGame({ TOKEN_KEYS: JSON.stringify([key]) })
    try {
      const player = await server.player()
      const after = cursorAt(server.environmentId, 0n)
      // The event of its creation, and far more than the network buffers.
      const count = 500
      await fill(server, count - 1, { bytes: 32_000, playerId: player.playerId })
      const lifeMs = 3_000
      const talk = await open(server, await tokenFor(player, lifeMs, server))
      const opened = performance.now()
      talk.subscribe('1', LONG, { after })
      talk.socket.once('message', () => talk.socket.pause())
      await until('it is paused', () => talk.socket.isPaused)
      await until('its token has ended', () => performance.now() - opened > lifeMs)
      talk.socket.resume()
      expect(await talk.closed).toMatchObject({ code: 4403, reason: 'token expired' })
      await until('nothing of it is left', async () => (await subscriptionsOf(server)) === 0)
      const heard = talk.received.filter(({ id }) => id === '1').map(({ payload }) => payload.data.events.cursor)
      expect([heard.length > 0, heard.length < count]).toEqual([true, true])
      const rest = server.subscribe(player.token, EVENTS, { after: heard.at(-1) })
      heard.push(...(await rest.take(count - heard.length)).map(({ cursor }) => cursor))
      expect(heard.map(untimed)).toEqual(times(count, (index) => cursorAt(server.environmentId, index + 1)))
      await rest.close()
    } finally {
      await server.stop()
    }
  })

  it('is closed with 4403 when they are invalid', async () => {
    const player = await game.player()
    const invalid = ['Bearer junk', `Bearer ${player.token}x`, 'Bearer twplat_junk', player.token, '']
    for (const authorization of [...invalid, `Bearer ${await tokenFor(player, -2000)}`]) {
      const talk = connect(game)
      await once(talk.socket, 'open')
      talk.send({ type: 'connection_init', payload: { authorization } })
      expect([authorization, (await talk.closed).code]).toEqual([authorization, 4403])
    }
  })

  it('answers INVALID_TOKEN without them, and stays open', async () => {
    const talk = await open(game)
    for (const id of ['1', '2']) {
      talk.subscribe(id)
      expect(JSON.stringify(await talk.receive(id))).toContain('"INVALID_TOKEN"')
      expect(await talk.receive(id)).toEqual({ id, type: 'complete' })
    }
    talk.socket.terminate()
  })

  it('stays open while the database is unreachable, and new ones are closed with 1013', async () => {
    const database = await createDatabase()
    const proxy = await startProxy(database.url)
    const server = await startGame({ DATABASE_URL: proxy.url })
    try {
      const held = await open(server, server.platformKey)
      held.subscribe('live')
      await until('it is open', async () => (await subscriptionsOf(server)) === 1)
      proxy.cut({ refuse: true })
      for (const payload of [{ authorization: `Bearer ${server.platformKey}` }, { sdkKey: server.sdkKey }]) {
        const talk = connect(server)
        await once(talk.socket, 'open')
        talk.send({ type: 'connection_init', payload })
        expect((await talk.closed).code).toBe(1013)
      }
      // Open sockets stay open, and their operations are answered.
      held.subscribe('1')
      expect((await held.receive('1')).payload.errors[0].extensions.code).toBe('UNAVAILABLE')
      proxy.restore()
      await until('the database is back', () =>
        server.app.service.run(createPlayer(server.environmentId, null)).then(
          () => true,
          () => false,
        ),
      )
      const { cursor } = (await held.receive('live')).payload.data.events
      expect(untimed(cursor)).toBe(cursorAt(server.environmentId, 1n))
    } finally {
      await server.stop()
      await proxy.close()
      await database.drop()
    }
  })
})

describe('a socket with many operations', () => {
  it('refuses the 101st with SUBSCRIPTION_LIMIT_EXCEEDED, keeps the others, and has room again when one ends', async () => {
    const player = await game.player()
    const talk = await open(game, player.token)
    for (const index of times(100, Number)) talk.subscribe(`s${index}`, EVENTS, {})
    await until('a hundred are open', async () => (await subscriptionsOf(game)) === 100)
    for (const [id, query] of [
      ['one more', EVENTS],
      ['a query', '{ me { playerId } }'],
    ]) {
      talk.subscribe(id ?? '', query, {})
      expect(await talk.receive(id)).toMatchObject({
        type: 'error',
        payload: [{ extensions: { code: 'SUBSCRIPTION_LIMIT_EXCEEDED' } }],
      })
    }
    // A refused operation does not count, and each socket has its own limit.
    const beside = await open(game, player.token)
    beside.subscribe('1', EVENTS, {})
    await until('one more is open', async () => (await subscriptionsOf(game)) === 101)
    await player.start('season')
    for (const index of times(100, Number)) expect((await talk.receive(`s${index}`)).type).toBe('next')

    talk.send({ id: 's7', type: 'complete' })
    await until('one has ended', async () => (await subscriptionsOf(game)) === 100)
    talk.subscribe('a query again', '{ me { playerId } }', {})
    expect((await talk.receive('a query again')).payload.data.me.playerId).toBe(player.playerId)
    expect(await talk.receive('a query again')).toEqual({ id: 'a query again', type: 'complete' })
    talk.subscribe('instead', EVENTS, {})
    await until('it is open', async () => (await subscriptionsOf(game)) === 101)
    for (const { socket } of [talk, beside]) socket.terminate()
    await until('none is left', async () => (await subscriptionsOf(game)) === 0)
  })

  it('leaves none behind when ids are completed and reused before the operations began', async () => {
    const before = await subscriptionsOf(game)
    const talk = await open(game, game.platformKey)
    const ids = times(10, String)
    for (const id of ids) {
      talk.subscribe(id)
      talk.send({ id, type: 'complete' })
      talk.subscribe(id)
    }
    await until('they have begun', async () => (await subscriptionsOf(game)) >= before + ids.length)
    talk.socket.terminate()
    await until('none is open', async () => (await subscriptionsOf(game)) === before, { deadlineMs: WITHIN_MS })
  })

  it('has a limit of operations in work, also when each is completed before it has begun', async () => {
    const before = await subscriptionsOf(game)
    const talk = await open(game, game.platformKey)
    const keys = await game.app.pool.connect()
    try {
      // Credentials are read from this table, so no operation begins meanwhile.
      await keys.query(BEGIN)
      await keys.query('LOCK TABLE platform_keys')
      for (const id of times(300, String)) {
        talk.subscribe(id)
        talk.send({ id, type: 'complete' })
      }
      talk.subscribe('one more', '{ __typename }')
      expect(await talk.receive('one more')).toMatchObject({
        type: 'error',
        payload: [{ extensions: { code: 'SUBSCRIPTION_LIMIT_EXCEEDED' } }],
      })
      await keys.query('COMMIT')
    } finally {
      keys.release()
    }
    // There is room again when they have ended.
    await until('another is answered', async () => {
      talk.subscribe('another', '{ __typename }')
      const { type } = await talk.receive('another')
      return type === 'next'
    })
    talk.socket.terminate()
    await until('none is open', async () => (await subscriptionsOf(game)) === before)
  })
})

describe('the limits of a document over a socket (contract 15)', () => {
  const selection = (fields: string) => [
    `{ me { ${fields} } }`,
    `mutation { startRun(input: { scenarioId: "season" }) { ${fields.replaceAll('id', 'runId')} } }`,
    `subscription { events { ${fields.replaceAll('id', 'cursor')} } }`,
  ]
  const deep = (root: string) => `${root} ${'{ a '.repeat(11)}${'}'.repeat(11)}`
  const refused: Record<string, string[]> = {
    'a depth over 10': ['query', 'mutation', 'subscription'].map(deep),
    '16 aliases': selection(times(16, (index) => `a${index}: id`).join(' ')),
    '51 directives': selection(`id ${'@include(if: true) '.repeat(51)}`),
    'over 1,000 tokens': selection('id '.repeat(1_000)),
    'an unknown field': selection('idd nothing'),
    'what does not parse': ['{', '', '}'],
    'introspection when it is off': [
      '{ __schema { types { name } } }',
      'mutation { __schema { types { name } } }',
      'subscription { __type(name: "Player") { name } }',
    ],
  }

  for (const [what, documents] of Object.entries(refused)) {
    it(`refuse ${what} in a query, a mutation and a subscription as over HTTP, and the socket stays open`, async () => {
      const player = await game.player()
      const talk = await open(game, player.token)
      talk.subscribe('live', EVENTS, {})
      for (const [index, document] of documents.entries()) {
        talk.subscribe(`q${index}`, document, {})
        const message = await talk.receive(`q${index}`)
        expect([document, message.type, message.payload[0].extensions.code]).toEqual([
          document,
          'error',
          'INVALID_REQUEST',
        ])
        const { errors } = await player.graphql(document)
        expect(message.payload.map((error: Message) => error.message)).toEqual(errors?.map(({ message: text }) => text))
        expect(JSON.stringify(message)).not.toMatch(/did you mean/i)
      }
      const { rows } = await game.app.pool.query('SELECT FROM runs WHERE player_id = $1', [player.playerId])
      expect(rows).toHaveLength(0)
      await player.start('season')
      expect((await talk.receive('live')).type).toBe('next')
      talk.socket.terminate()
    })
  }
})

describe('the service', () => {
  it('closes a socket with 4429 for a second connection_init, and with 4409 for an id that is in use', async () => {
    const twice = await open(game)
    twice.send({ type: 'connection_init' })
    expect((await twice.closed).code).toBe(4429)

    const player = await game.player()
    const double = await open(game, player.token)
    double.subscribe('1', EVENTS, {})
    double.subscribe('1', EVENTS, {})
    expect((await double.closed).code).toBe(4409)
    await until('nothing of it is left', async () => (await subscriptionsOf(game)) === 0)
  })

  it('answers pings, and ignores pongs and completes, before it acknowledges a socket', async () => {
    const talk = connect(game)
    await once(talk.socket, 'open')
    talk.send({ type: 'pong' })
    talk.send({ id: '1', type: 'complete' })
    talk.send({ type: 'ping', payload: { at: 1 } })
    expect(await talk.receive()).toEqual({ type: 'pong', payload: { at: 1 } })
    talk.send({ type: 'connection_init' })
    expect(await talk.receive()).toEqual({ type: 'connection_ack' })
    talk.subscribe('1', '{ __typename }')
    expect((await talk.receive('1')).payload.data).toEqual({ __typename: 'Query' })
    talk.socket.terminate()
  })

  it('closes a socket with 4401 for a subscription and 4429 for a second connection_init before the acknowledgement', async () => {
    const keys = await game.app.pool.connect()
    try {
      // Credentials are read from this table, so no socket is acknowledged meanwhile.
      await keys.query(BEGIN)
      await keys.query('LOCK TABLE platform_keys')
      const init = { type: 'connection_init', payload: { authorization: `Bearer ${game.platformKey}` } }
      const subscribe = { id: '1', type: 'subscribe', payload: { query: '{ __typename }' } }
      for (const [messages, code] of [
        [[subscribe], 4401],
        [[init, subscribe], 4401],
        [[init, init], 4429],
      ] as const) {
        const talk = connect(game)
        await once(talk.socket, 'open')
        for (const message of messages) talk.send(message)
        expect([(await talk.closed).code, talk.received]).toEqual([code, []])
      }
    } finally {
      await keys.query('ROLLBACK')
      keys.release()
    }
  })

  it('takes a message of 64 KiB, and closes a socket with 1009 for a longer one, also in fragments', async () => {
    const message = (bytes: number) => `{"type":"ping"${' '.repeat(bytes - 15)}}`
    const long = await open(game)
    long.socket.send(message(64 * 1024))
    expect(await long.receive()).toEqual({ type: 'pong' })
    long.socket.send(message(64 * 1024 + 1))
    expect((await long.closed).code).toBe(1009)

    const talk = await open(game)
    talk.socket.send('x'.repeat(40_000), { fin: false })
    talk.socket.send('x'.repeat(40_000), { fin: true })
    expect((await talk.closed).code).toBe(1009)
  })

  it.each(['authorization', 'Authorization', 'sdkKey'])(
    'closes a socket with 4400 whose `%s` is no text, instead of taking the caller for nobody',
    async (name) => {
      const talk = connect(game)
      await once(talk.socket, 'open')
      talk.send({ type: 'connection_init', payload: { [name]: 5 } })
      expect(await talk.closed).toMatchObject({ code: 4400, reason: `${name} must be a string` })
    },
  )

  it('closes a socket with 4400 for messages outside the protocol, that only servers send, or that are nested too deep', async () => {
    const messages = ['connection_ack', 'next', 'error'].map((type) => ({ id: '1', type, payload: [{ message: 'x' }] }))
    const foreign = ['junk', '{}', '{"type":"nothing"}', '[]']
    const texts = [...foreign, ...messages.map((message) => JSON.stringify(message)), nested(8_000)]
    for (const text of texts) {
      const talk = await open(game, game.platformKey)
      talk.socket.send(text)
      expect([text.slice(0, 30), await talk.closed]).toMatchObject([text.slice(0, 30), { code: 4400 }])
    }
    function nested(depth: number): string {
      return `{"type":"ping","payload":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
    }
  })

  it('agrees on no compression, also when the client offers it', async () => {
    const talk = connect(game, { perMessageDeflate: true })
    const [[response]] = await Promise.all([once(talk.socket, 'upgrade'), once(talk.socket, 'open')])
    expect(response.headers['sec-websocket-extensions']).toBeUndefined()
    expect(talk.socket.extensions).toBe('')
    talk.socket.terminate()
  })

  it('ends a replay with CURSOR_EXPIRED when its next events are removed, and with INTERNAL_ERROR without details when the database fails', async () => {
    const server = await startGame()
    try {
      for (const [statement, code] of [
        ['DELETE FROM events WHERE position <= 1100', 'CURSOR_EXPIRED'],
        ['ALTER TABLE events RENAME TO gone', 'INTERNAL_ERROR'],
      ] as const) {
        await fill(server, 1_200, { bytes: 16_000 })
        const { rows } = await server.app.pool.query('SELECT min(position) - 1 AS start FROM events')
        const talk = await open(server, server.platformKey)
        talk.subscribe('1', LONG, { ...production, after: cursorAt(server.environmentId, BigInt(rows[0].start)) })
        // After the first message: the connection buffers far less than the replay.
        talk.socket.once('message', () => talk.socket.pause())
        await until('it is paused', () => talk.socket.isPaused)
        await server.app.pool.query(statement)
        talk.socket.resume()
        const isEnd = ({ type }: Message) => type !== 'next' && type !== 'connection_ack'
        await until('it ends', () => talk.received.some(isEnd))
        expect(talk.received.filter(isEnd)).toMatchObject([
          { id: '1', type: 'error', payload: [{ extensions: { code } }] },
        ])
        expect(JSON.stringify(talk.received.find(isEnd))).not.toMatch(/relation|42P01|\.ts/)
        // The socket itself stays open.
        talk.subscribe('2', '{ __typename }')
        expect((await talk.receive('2')).payload.data).toEqual({ __typename: 'Query' })
        talk.socket.terminate()
      }
    } finally {
      await server.stop()
    }
  })
})

const PING = JSON.stringify({ type: 'ping', payload: { pad: 'x'.repeat(60_000) } })
/** A thousand pings of WebSockets, masked by zeros: making each while the service waits would take seconds. */
const PINGS = Buffer.concat(times(1_000, () => Buffer.from([0x89, 0x80 | 125, ...times(4 + 125, () => 0)])))
const connectionOf = (socket: WebSocket) => (socket as unknown as { readonly _socket: Socket })._socket
const LONG =
  'subscription ($environment: String, $after: String) { events(environment: $environment, after: $after) { cursor data } }'

describe('a handshake', () => {
  it.each<[what: string, headers: Record<string, string>, status: number, code: string]>([
    ['of another origin', { origin: 'https://evil.example' }, 403, 'FORBIDDEN'],
    ['of another version', { 'sec-websocket-version': '7' }, 400, 'INVALID_REQUEST'],
    ['without a key', { 'sec-websocket-key': 'short' }, 400, 'INVALID_REQUEST'],
  ])('%s is refused as other requests to GraphQL are, with an id', async (_what, headers, status, code) => {
    const call = request(`${game.baseUrl}/graphql`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        'x-request-id': 'mine',
        ...headers,
      },
    })
    const [response] = (await once(call.end(), 'response')) as [IncomingMessage]
    const answer = JSON.parse(Buffer.concat(await response.toArray()).toString())
    expect([response.statusCode, response.headers['x-request-id']]).toEqual([status, 'mine'])
    expect(answer.errors).toMatchObject([{ extensions: { code } }])
  })

  /** 101 when it is accepted. */
  const statusOf = (options: ConnectOptions): Promise<number | undefined> =>
    new Promise((resolve) => {
      const { socket } = connect(game, options)
      socket.once('unexpected-response', (_request, response) => {
        response.resume()
        resolve(response.statusCode)
      })
      socket.once('open', () => {
        socket.terminate()
        resolve(101)
      })
    })

  it('is refused with 403 for a foreign origin, and accepted for that of the service, a listed one, or none', async () => {
    const status = (origin?: string) => statusOf(origin === undefined ? {} : { headers: { origin } })
    for (const foreign of ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://127.0.0.1:1'])
      expect([foreign, await status(foreign)]).toEqual([foreign, 403])
    for (const known of [undefined, ORIGIN, game.baseUrl]) expect([known, await status(known)]).toEqual([known, 101])
  })

  it('is not offered on any other path, where the request is served without it', async () => {
    for (const [path, status] of [
      ['/graphqlx', 404],
      ['/graphql/x', 404],
      ['/sdk/v1/battlepass/xp', 405],
      ['/graphql?x=1', 101],
    ] as const)
      expect([path, await statusOf({ path })]).toEqual([path, status])
  })

  it('is refused, or closed with 4406, for any other subprotocol', async () => {
    for (const protocols of [['graphql-ws'], ['junk'], []]) {
      const talk = connect(game, { protocols })
      const refused = once(talk.socket, 'error').then(() => 'refused')
      expect(['refused', 4406]).toContain(await Promise.race([refused, talk.closed.then(({ code }) => code)]))
    }
  })

  it('that is refused leaves no connection open that keeps the service from stopping, also when the client does not close it', async () => {
    const server = await startGame()
    const { hostname, port } = new URL(server.baseUrl)
    const socket = connectTcp({ port: Number(port), host: hostname, allowHalfOpen: true })
    try {
      // A write to a closed connection causes a reset.
      socket.on('error', () => undefined)
      socket.resume()
      const answered = once(socket, 'end')
      const upgrade = 'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13'
      socket.write(
        `GET /graphql HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\n${upgrade}\r\n` +
          'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      )
      await answered
      let stopped = false
      void server.stop().then(() => {
        stopped = true
      })
      await until('the service has stopped', () => stopped)
    } finally {
      socket.destroy()
    }
  })

  it('does not crash the service when its client resets the connection', async () => {
    await buildService()
    const database = await createDatabase()
    const world = await createWorld(database.url)
    const service = await startService(world.env)
    try {
      const { hostname, port } = new URL(service.baseUrl)
      for (const [path, origin] of [
        ['/', 'https://evil.example'],
        ['/graphql', 'https://evil.example'],
        ['/graphql', service.baseUrl],
      ]) {
        const head = [
          `GET ${path} HTTP/1.1`,
          `host: ${hostname}:${port}`,
          `origin: ${origin}`,
          'connection: Upgrade',
          'upgrade: websocket',
          'sec-websocket-version: 13',
          'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
        ]
        await Promise.all(
          times(50, async () => {
            const socket = connectTcp(Number(port), hostname)
            socket.on('error', () => undefined)
            await once(socket, 'connect')
            socket.write(`${head.join('\r\n')}\r\n\r\n`, () => socket.resetAndDestroy())
            await once(socket, 'close')
          }),
        )
        const alive = await fetch(`${service.baseUrl}/livez`).then(
          ({ status }) => status,
          () => service.errors,
        )
        expect([path, alive, service.exit]).toEqual([path, 200, undefined])
      }
    } finally {
      await stopService(service)
      await world.close()
      await database.drop()
    }
  })
})

describe('open sockets', () => {
  it('are counted until they are closed, whether they were accepted or not', async () => {
    await until('no socket of an earlier test is left', async () => (await socketsOf(game)) === 0)
    const held = [await open(game), await open(game, (await game.player()).token), connect(game)]
    await until('three sockets are counted', async () => (await socketsOf(game)) === 3)
    const refused = connect(game)
    await once(refused.socket, 'open')
    refused.send({ type: 'connection_init', payload: { authorization: 'Bearer junk' } })
    await refused.closed
    for (const { socket } of held) socket.terminate()
    await until('no socket is left', async () => (await socketsOf(game)) === 0)
  })

  it('are closed with 1001 when the service stops, and streams of events end', async () => {
    const stopping = await startGame()
    const { token } = await stopping.player()
    const [busy, idle] = [await open(stopping, token), await open(stopping)]
    busy.subscribe('1', EVENTS, {})
    const stream = await fetch(`${stopping.baseUrl}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ query: EVENTS }),
    })
    await until('both subscriptions are open', async () => (await subscriptionsOf(stopping)) === 2)
    const started = performance.now()
    const [stopped, text] = [stopping.stop(), stream.text()]
    expect([(await busy.closed).code, (await idle.closed).code]).toEqual([1001, 1001])
    expect(await text).toContain('event: complete')
    await stopped
    expect(performance.now() - started).toBeLessThan(8_000)
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

describe.concurrent('a socket', () => {
  it('without connection_init is closed with 4408 after three seconds', async () => {
    const began = performance.now()
    const talk = connect(game)
    await once(talk.socket, 'open')
    const elapsed = startStopwatch()
    const { code, at } = await talk.closed
    expect([code, at - began > 2_500, elapsed() < 20_000]).toEqual([4408, true, true])
  })

  it('is pinged every twelve seconds, and stays open as long as it answers', async () => {
    const { token } = await game.player()
    const began = performance.now()
    const talk = await open(game, token)
    let pings = 0
    talk.socket.on('ping', () => {
      pings += 1
    })
    await until('the third ping', () => pings >= 3, { deadlineMs: 90_000 })
    // Due after 36 seconds. Any ping can be late on a busy machine, but none is much too early.
    expect(performance.now() - began).toBeGreaterThan(30_000)
    expect(talk.socket.readyState).toBe(WebSocket.OPEN)
    talk.socket.terminate()
  })

  it('that does not answer a ping is terminated when the next is due', async () => {
    const server = await startGame()
    try {
      const { token } = await server.player()
      const began = performance.now()
      const talk = await open(server, token, { autoPong: false })
      talk.subscribe('1', EVENTS, {})
      await until('it is open', async () => (await subscriptionsOf(server)) === 1)
      const elapsed = startStopwatch()
      const { code, at } = await talk.closed
      // Due after 24 seconds, and the next after 36.
      expect([code, at - began > 20_000, elapsed() < 34_000]).toEqual([1006, true, true])
      await until('nothing of it is left', async () => (await subscriptionsOf(server)) === 0)
      expect(await socketsOf(server)).toBe(0)
    } finally {
      await server.stop()
    }
  })

  it('that reads nothing for ten seconds is closed with 1013, and loses nothing when it continues from its cursor', async () => {
    const server = await startGame()
    try {
      const after = cursorAt(server.environmentId, 0n)
      const count = 500
      await fill(server, count, { bytes: 16_000 })
      const slow = await open(server, server.platformKey)
      slow.subscribe('1', LONG, { ...production, after })
      slow.subscribe('2', LONG, { ...production, after })
      slow.socket.once('message', () => slow.socket.pause())
      await until('it is paused', () => slow.socket.isPaused)
      const elapsed = startStopwatch()
      // Other sockets receive their events meanwhile.
      const quick = server.subscribe(server.platformKey, LONG, { ...production, after })
      expect(await quick.take(count)).toHaveLength(count)
      await quick.close()
      // It reads again, but too late: it receives the bytes that were sent, and then the close.
      await until('ten seconds have passed', () => elapsed() > 13_000)
      slow.socket.resume()
      expect(await slow.closed).toMatchObject({ code: 1013, reason: 'too slow' })
      await until('nothing of it is left', async () => (await subscriptionsOf(server)) === 0)
      for (const id of ['1', '2']) {
        const heard = slow.received
          .filter((message) => message.id === id)
          .map(({ payload }) => payload.data.events.cursor)
        expect(heard.length).toBeLessThan(count)
        const last = heard.at(-1) ?? after
        const rest = server.subscribe(server.platformKey, EVENTS, { ...production, after: last })
        heard.push(...(await rest.take(count - heard.length)).map(({ cursor }) => cursor))
        expect(heard.map(untimed)).toEqual(times(count, (index) => cursorAt(server.environmentId, index + 1)))
        await rest.close()
      }
    } finally {
      await server.stop()
    }
  })

  it('that never reads again is terminated, and nothing of it is kept', async () => {
    const server = await startGame()
    try {
      await fill(server, 500, { bytes: 32_000 })
      const slow = await open(server, server.platformKey)
      slow.subscribe('1', LONG, { ...production, after: cursorAt(server.environmentId, 0n) })
      slow.socket.once('message', () => slow.socket.pause())
      await until('it is paused', () => slow.socket.isPaused)
      const gone = async () => (await subscriptionsOf(server)) === 0 && (await socketsOf(server)) === 0
      await until('nothing of it is left', gone, { deadlineMs: 90_000 })
      slow.socket.terminate()
    } finally {
      await server.stop()
    }
  })
})

// Not concurrent: it keeps the process busy, and the tests above measure time in this process.
describe('a socket that floods the service', () => {
  it.each([
    ['of the protocol', 500, (socket: WebSocket) => times(500, () => socket.send(PING))],
    ['of WebSockets', 160_000, (socket: WebSocket) => times(160, () => connectionOf(socket).write(PINGS))],
  ])(
    'with pings %s is not read while it reads no answers, and is answered once it reads',
    async (_which, count, flood) => {
      const talk = await open(game)
      let pongs = 0
      talk.socket.on('pong', () => {
        pongs += 1
      })
      talk.socket.pause()
      flood(talk.socket)
      // Far more than the network buffers: the rest is sent only if the service continues to read. It gives a reader up
      // after ten seconds, so this waits for few turns.
      let quiet = 0
      let left = talk.socket.bufferedAmount
      await until('nothing more is taken', () => {
        const now = talk.socket.bufferedAmount
        quiet = now === left ? quiet + 1 : 0
        left = now
        return quiet === 3
      })
      expect(left).toBeGreaterThan(0)
      talk.socket.resume()
      const answers = () => pongs + talk.received.filter(({ type }) => type === 'pong').length
      const isOpen = () => talk.socket.readyState === WebSocket.OPEN
      await until('each is answered', () => answers() === count || !isOpen(), { deadlineMs: 150_000 })
      expect([answers(), isOpen()]).toEqual([count, true])
      talk.socket.terminate()
    },
  )
})
