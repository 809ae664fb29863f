import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { BEGIN } from '../harness/begin.ts'
import { season } from '../harness/definitions.ts'
import { expiringToken } from '../harness/expiring-token.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { pausedTime, startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { cursorAt, untimed } from './cursors.ts'
import { fill } from './fill.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type Event = any

const ORIGIN = 'https://dashboard.example.com'
const PLACE = { scenarioId: 'season', nodeId: 'pass' }
const FIELDS = 'cursor handle playerId data'
const QUERY = `subscription ($environment: String, $after: String) {
  events(environment: $environment, after: $after) { ${FIELDS} } }`
const CURSORS = 'subscription ($environment: String) { events(environment: $environment) { cursor } }'
const HISTORY = `query ($environment: String, $after: String, $last: Int) {
  events(environment: $environment, after: $after, last: $last) { edges { node { ${FIELDS} } } } }`
const production = { environment: 'production' }
/** Two seconds are promised; the rest is for a busy machine. */
const WITHIN_MS = 3_000

let game: Game
let key: TokenKey
let operator: Operator

beforeAll(async () => {
  key = await generateTokenKey()
  operator = await startOperator()
  game = await startGame({ TOKEN_KEYS: JSON.stringify([key]), ALLOWED_ORIGINS: ORIGIN })
  await game.publish('season', season())
  const { url, secret } = operator
  await game.setProviders({ default: { enabled: true, url, secret } })
})
afterAll(async () => {
  await game?.stop()
  await operator?.close()
})

interface Frame {
  readonly id?: string
  readonly event?: string
  readonly data?: string
}

interface Stream {
  readonly response: Response
  readonly text: string
  readonly ended: boolean
  /** The next frame other than a comment. Undefined at the end. */
  next(): Promise<Frame | undefined>
  /** The events of the next `count` frames. */
  take(count: number): Promise<Event[]>
  /** Reads to the end, and returns all text. */
  end(): Promise<string>
  close(): void
}

interface StreamOptions {
  readonly baseUrl?: string
  readonly method?: 'GET' | 'POST'
  readonly query?: string
  readonly variables?: Record<string, unknown>
  readonly headers?: Record<string, string>
}

/** Opens a stream with fetch, as a listener would, and splits it into frames. */
async function open(token: string | null, options: StreamOptions = {}): Promise<Stream> {
  const { baseUrl = game.baseUrl, method = 'POST', query = QUERY, variables = production, headers = {} } = options
  const abort = new AbortController()
  const response = await fetch(
    method === 'POST'
      ? `${baseUrl}/graphql`
      : `${baseUrl}/graphql?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`,
    {
      method,
      signal: abort.signal,
      headers: {
        accept: 'text/event-stream',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(method === 'POST' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(method === 'POST' && { body: JSON.stringify({ query, variables }) }),
    },
  )
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let read = 0
  let ended = false

  async function more(): Promise<boolean> {
    const { done, value } = (await chunks?.read()) ?? { done: true }
    text += value ?? ''
    ended = done
    return !done
  }

  async function next(): Promise<Frame | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n', read)
      if (end === -1) {
        if (!(await more())) return undefined
        continue
      }
      const lines = text.slice(read, end).split('\n')
      read = end + 2
      const fields = lines.flatMap((line) => (line.startsWith(':') ? [] : [line.split(/: ?(.*)/s, 2)]))
      if (fields.length > 0) return Object.fromEntries(fields)
    }
  }

  return {
    response,
    next,
    get text() {
      return text
    },
    get ended() {
      return ended
    },
    async take(count) {
      const events: Event[] = []
      while (events.length < count) {
        const frame = await next()
        if (frame?.event !== 'next') throw new Error(`${count} events, but: ${JSON.stringify(frame)}`)
        const { data, errors } = JSON.parse(frame.data ?? '')
        if (errors) throw new Error(JSON.stringify(errors))
        events.push(data.events)
      }
      return events
    },
    async end() {
      while (await more());
      return text
    },
    close: () => abort.abort(),
  }
}

const subscriptions = async (): Promise<number> => (await game.app.metrics.subscriptions.get()).values[0]?.value ?? 0
const endOf = async (): Promise<string> =>
  (await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')).data.streamCursor

async function historyAfter(after: string, token = game.platformKey, variables: object = production): Promise<Event[]> {
  const { data, errors } = await game.graphql(token, HISTORY, { ...variables, after, last: 200 })
  if (errors) throw new Error(JSON.stringify(errors))
  return data.events.edges.map(({ node }: { node: Event }) => node)
}

const tokenFor = (player: TestPlayer, lifeMs: number, { projectId } = game): Promise<string> =>
  expiringToken(key, { ...player, projectId }, lifeMs)

/** Causes four events. The text in two of them would break a frame. */
async function play(player: TestPlayer): Promise<void> {
  const runId = await player.start('season')
  for (const source of ['quest', '\n\nevent: complete\ndata:\n\n', 'é\r\n: 🎮\u2028']) {
    await player.post('/sdk/v1/battlepass/xp', { ...PLACE, runId, amount: 100, source })
  }
}

describe('a stream of server-sent events on the wire (contract 14)', () => {
  it('is one comment, then each event as id, event and data, byte for byte, by POST and by GET', async () => {
    const player = await game.player()
    const after = await endOf()
    await play(player)
    const events = await historyAfter(after)
    expect(events).toHaveLength(4)
    const expected = [
      ':\n\n',
      ...events.map(
        (event) => `id: ${event.cursor}\nevent: next\ndata: ${JSON.stringify({ data: { events: event } })}\n\n`,
      ),
    ].join('')
    for (const method of ['POST', 'GET'] as const) {
      const stream = await open(game.platformKey, { method, variables: { ...production, after } })
      expect(await stream.take(4)).toEqual(events)
      expect(stream.text).toBe(expected)
      const { status, headers } = stream.response
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        200,
        'text/event-stream',
        'no-cache',
      ])
      // nginx buffers responses by default.
      expect(headers.get('x-accel-buffering')).toBe('no')
      stream.close()
    }
  })

  it('sends each event when it happens, in a frame of its own', async () => {
    const player = await game.player()
    const stream = await open(player.token, { variables: {} })
    expect(stream.text).toBe('')
    const runId = await player.start('season')
    const heard = await stream.next()
    expect(heard).toEqual({ id: JSON.parse(heard?.data ?? '').data.events.cursor, event: 'next', data: heard?.data })
    for (const level of [2, 3]) {
      await player.post('/sdk/v1/battlepass/xp', { ...PLACE, runId, amount: 100, source: 'quest' })
      expect((await stream.take(1))[0]).toMatchObject({ handle: 'onLevelUp', data: { toLevel: level } })
    }
    stream.close()
  })

  it('leaves no subscription behind when its reader disconnects before the response begins', async () => {
    await until('nobody listens', async () => (await subscriptions()) === 0)
    const { port } = new URL(game.baseUrl)
    const body = JSON.stringify({ query: CURSORS, variables: production })
    const request = [
      'POST /graphql HTTP/1.1',
      'host: localhost',
      'accept: text/event-stream',
      'content-type: application/json',
      `authorization: Bearer ${game.platformKey}`,
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n')
    const keys = await game.app.pool.connect()
    try {
      // Credentials are read from this table, so no call is answered meanwhile.
      await keys.query(BEGIN)
      await keys.query('LOCK TABLE platform_keys')
      const sockets = times(3, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
      for (const socket of sockets) socket.write(request)
      const waiting = async () =>
        (await keys.query("SELECT FROM pg_locks WHERE NOT granted AND relation = 'platform_keys'::regclass")).rowCount
      await until('all of them are waited for', async () => (await waiting()) === sockets.length)
      await Promise.all(sockets.map((socket) => once(socket.resetAndDestroy(), 'close')))
      // When this call is answered, the service has seen that the connections were reset.
      await game.request('GET', '/livez')
      await keys.query('COMMIT')
    } finally {
      keys.release()
    }
    const stream = await open(game.platformKey)
    await game.player()
    await stream.take(1)
    try {
      await until('this one alone is open', async () => (await subscriptions()) === 1, { deadlineMs: WITHIN_MS })
    } finally {
      stream.close()
    }
  })
})

describe('a resumed stream (contract 14)', () => {
  it('continues after Last-Event-ID, which overrides `after`', async () => {
    const player = await game.player()
    const start = await endOf()
    await play(player)
    const events = await historyAfter(start)
    const [first, second] = events
    const variables = { ...production, after: start }
    for (const method of ['POST', 'GET'] as const) {
      const resume = async (lastEventId: string, more: object = {}) => {
        const stream = await open(game.platformKey, {
          method,
          variables: { ...variables, ...more },
          headers: { 'last-event-id': lastEventId },
        })
        return stream
      }
      const cases: [string, object, Event[]][] = [
        [second.cursor, {}, events.slice(2)],
        [first.cursor, { after: null }, events.slice(1)],
        // `after` of another stream, or a later cursor: Last-Event-ID overrides both.
        [first.cursor, { after: cursorAt(game.stagingId, 0n) }, events.slice(1)],
        [first.cursor, { after: events[3].cursor }, events.slice(1)],
        // An empty Last-Event-ID counts as none.
        ['', {}, events],
      ]
      for (const [lastEventId, more, expected] of cases) {
        const stream = await resume(lastEventId, more)
        expect(await stream.take(expected.length)).toEqual(expected)
        stream.close()
      }
    }
  })
})

describe('a stream whose caller loses access (contract 5)', () => {
  async function codeOf(token: string, variables = {}): Promise<string> {
    const stream = await open(token, { variables })
    const frame = await stream.next()
    await stream.end()
    return JSON.parse(frame?.data ?? '').errors[0].extensions.code
  }

  it('ends within two seconds of the expiry of its token', async () => {
    const token = await tokenFor(await game.player(), 3_000)
    const pausedBefore = pausedTime()
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const stream = await open(token, { variables: {} })
    expect(await stream.end()).toBe(':\n\nevent: complete\ndata:\n\n')
    const late = Date.now() - exp * 1_000
    const paused = pausedTime() - pausedBefore
    expect([late >= 0, late < WITHIN_MS + paused, late]).toEqual([true, true, late])
    expect(await codeOf(token)).toBe('INVALID_TOKEN')
  })
})

describe.concurrent('a stream', () => {
  it('without events has a comment every twelve seconds, and stays open', async () => {
    const stream = await open((await game.player()).token, { variables: {} })
    const opened = performance.now()
    void stream.end().catch(() => undefined)
    const waits: number[] = []
    for (const count of [2, 3]) {
      await until('the next comment', () => stream.text === ':\n\n'.repeat(count), { deadlineMs: 30_000 })
      waits.push((performance.now() - opened) / 1_000)
    }
    const { ended } = stream
    stream.close()
    const inTime = waits.map((seconds, index) => seconds > 11 * (index + 1) && seconds < 11 * (index + 1) + 10)
    expect([...inTime, waits]).toEqual([true, true, waits])
    expect(ended).toBe(false)
  })

  /** A connection that subscribes, and reads nothing after the first chunk before `resume`. */
  async function ask(
    server: Game,
    after: string,
    { accept = 'text/event-stream', token = server.platformKey, environment = 'production' as string | null } = {},
  ): Promise<{ socket: Socket; text: () => string; ends: string[] }> {
    const { hostname, port } = new URL(server.baseUrl)
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    const ends: string[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.once('data', () => socket.pause())
    for (const end of ['end', 'close', 'error']) socket.on(end, () => ends.push(end))
    const body = JSON.stringify({ query: QUERY, variables: { environment, after } })
    const headers = [
      'POST /graphql HTTP/1.1',
      'host: localhost',
      'content-type: application/json',
      `accept: ${accept}`,
      `authorization: Bearer ${token}`,
      `content-length: ${body.length}`,
    ]
    socket.write(`${headers.join('\r\n')}\r\n\r\n${body}`)
    await once(socket, 'data')
    return { socket, text: () => Buffer.concat(chunks).toString(), ends }
  }

  async function withGame(use: (server: Game, zero: string) => Promise<void>): Promise<void> {
    const server = await startGame()
    try {
      await use(server, cursorAt(server.environmentId, 0n))
    } finally {
      await server.stop()
    }
  }

  const openOn = async ({ app }: Game): Promise<number> => (await app.metrics.subscriptions.get()).values[0]?.value ?? 0
  const sentBy = async ({ app }: Game): Promise<number> => (await app.metrics.eventsSent.get()).values[0]?.value ?? 0

  it(
    'whose reader reads nothing for ten seconds is disconnected, and the reader continues from its cursor',
    () =>
      withGame(async (server, zero) => {
        // Far more than the network buffers.
        const count = 1_000
        await fill(server, count, { bytes: 16_000 })
        // A subscription is answered with a stream for any Accept.
        // The service counts from its first write that waits, which can be before its answer is read here.
        const asked = performance.now()
        const slow = await Promise.all(['text/event-stream', '*/*'].map((accept) => ask(server, zero, { accept })))
        // Other readers receive their events meanwhile.
        const cursorsAfter = async (lastEventId: string, some: number) => {
          const headers = { 'last-event-id': lastEventId }
          const stream = await open(server.platformKey, { baseUrl: server.baseUrl, query: CURSORS, headers })
          const events = await stream.take(some)
          stream.close()
          return events.map(({ cursor }) => cursor)
        }
        expect(await cursorsAfter(zero, count)).toHaveLength(count)
        await until('they are let go', async () => (await openOn(server)) === 0, { deadlineMs: 60_000 })
        expect(performance.now() - asked).toBeGreaterThan(9_000)
        const sent = (await sentBy(server)) - count

        let arrived = 0
        for (const { socket, text, ends } of slow) {
          socket.resume()
          await until('the connection ends', () => ends.includes('close'))
          // The events that arrived are complete up to the last frame. The stream continues from its id.
          const ids = [...text().matchAll(/id: (\S+)\nevent: next\ndata: .*\n\n/g)].map(([, id]) => id ?? '')
          expect([ids.length > 0, ids.length < count]).toEqual([true, true])
          arrived += ids.length
          const rest = await cursorsAfter(ids.at(-1) ?? '', count - ids.length)
          expect([...ids, ...rest].map(untimed)).toEqual(
            times(count, (index) => cursorAt(server.environmentId, index + 1)),
          )
        }
        // The service held few events for each reader: the one being sent, the one behind it, and the one in the
        // making.
        expect(sent - arrived).toBeLessThanOrEqual(2 * 4)
      }),
    120_000,
  )

  it('whose reader reads nothing delays the stop of the service by at most two seconds', async () => {
    const server = await startGame()
    await fill(server, 1_000, { bytes: 16_000 })
    const slow = await ask(server, cursorAt(server.environmentId, 0n))
    await until('it takes nothing', async () => {
      const sent = await sentBy(server)
      await server.request('GET', '/livez')
      return sent > 0 && sent === (await sentBy(server))
    })
    const elapsed = startStopwatch()
    await server.app.stop()
    expect(elapsed()).toBeLessThan(WITHIN_MS)
    slow.socket.destroy()
  })

  it('whose token expires during a replay ends with `event: complete`, and another token continues it', async () => {
    const server = await startGame({ TOKEN_KEYS: JSON.stringify([key]) })
    try {
      const player = await server.player()
      // The event of its creation, and far more than the network buffers.
      const count = 1_000
      await fill(server, count - 1, { bytes: 16_000, playerId: player.playerId })
      const token = await tokenFor(player, 3_000, server)
      const slow = await ask(server, cursorAt(server.environmentId, 0n), { token, environment: null })
      await until('its right has ended', async () => (await openOn(server)) === 0)
      slow.socket.resume()
      await until('the connection ends', () => slow.ends.includes('close'))
      expect(slow.text()).toMatch(/event: complete\ndata:\n\n\r\n0\r\n\r\n$/)
      const heard = [...slow.text().matchAll(/id: (\S+)\n/g)].map(([, id]) => id ?? '')
      expect([heard.length > 0, heard.length < count]).toEqual([true, true])
      const rest = await open(player.token, {
        baseUrl: server.baseUrl,
        query: CURSORS,
        variables: {},
        headers: { 'last-event-id': heard.at(-1) ?? '' },
      })
      heard.push(...(await rest.take(count - heard.length)).map(({ cursor }) => cursor))
      rest.close()
      expect(heard.map(untimed)).toEqual(times(count, (index) => cursorAt(server.environmentId, index + 1)))
    } finally {
      await server.stop()
    }
  })

  it('whose next events are removed before they are read ends with CURSOR_EXPIRED', () =>
    withGame(async (server, zero) => {
      await fill(server, 1_200, { bytes: 16_000 })
      const slow = await ask(server, zero)
      await server.app.pool.query('DELETE FROM events WHERE position <= 1100')
      slow.socket.resume()
      await until('the stream ends', () => slow.text().includes('event: complete'))
      expect(slow.text()).toMatch(
        /event: next\ndata: \{"errors":\[\{"message":"cursor expired".*"CURSOR_EXPIRED"\}\}\]\}\n\n[\s\S]*event: complete\ndata:\n\n/,
      )
      slow.socket.destroy()
    }))

  it('whose replay fails in the database ends with INTERNAL_ERROR, without details of the failure', () =>
    withGame(async (server, zero) => {
      await fill(server, 1_200, { bytes: 16_000 })
      const slow = await ask(server, zero)
      await server.app.pool.query('ALTER TABLE events RENAME TO gone')
      slow.socket.resume()
      await until('the stream ends', () => slow.text().includes('event: complete'))
      const [, id] = /^x-request-id: (\S+)\r$/im.exec(slow.text()) ?? []
      expect(slow.text()).toContain(
        `{"message":"internal error","extensions":{"code":"INTERNAL_ERROR","requestId":"${id}"}}`,
      )
      expect(slow.text()).not.toMatch(/relation|42P01|\.ts/)
      slow.socket.destroy()
    }))
})

describe('a refused stream', () => {
  const refusal = (code: string, details?: object[]) => ({
    errors: [expect.objectContaining({ extensions: { code, ...(details && { details }) } })],
  })

  async function answerTo(token: string | null, options: StreamOptions) {
    const stream = await open(token, options)
    const text = await stream.end()
    const [, data] = /^:\n\nevent: next\ndata: (.*)\n\nevent: complete\ndata:\n\n$/.exec(text) ?? []
    expect([stream.response.status, stream.response.headers.get('content-type'), text]).toEqual([
      200,
      'text/event-stream',
      expect.stringContaining(data ?? 'an event with errors'),
    ])
    return JSON.parse(data ?? 'null')
  }

  const badCursor = [{ path: 'after', message: 'must be a cursor that this service gave' }]

  for (const method of ['POST', 'GET'] as const) {
    it(`over ${method} is one event with errors and the end, for invalid and expired cursors in \`after\` and Last-Event-ID, and for invalid documents`, async () => {
      const future = cursorAt(game.environmentId, 10n ** 9n)
      const foreign = cursorAt(game.stagingId, 0n)
      const ask = (after: string | null, lastEventId?: string) =>
        answerTo(game.platformKey, {
          method,
          variables: { ...production, after },
          headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
        })
      expect(await ask('junk')).toEqual(refusal('INVALID_REQUEST', badCursor))
      expect(await ask(null, 'junk')).toEqual(refusal('INVALID_REQUEST', badCursor))
      expect(await ask(null, 'x'.repeat(8_000))).toEqual(refusal('INVALID_REQUEST', badCursor))
      for (const cursor of [future, foreign]) {
        expect(await ask(cursor)).toEqual(refusal('CURSOR_EXPIRED'))
        expect(await ask(await endOf(), cursor)).toEqual(refusal('CURSOR_EXPIRED'))
      }
      for (const query of ['subscription {', 'subscription { nothing }', `subscription { ${'a { '.repeat(12)}`]) {
        const details = [{ path: 'query', message: expect.any(String) }]
        expect(await answerTo(game.platformKey, { method, query })).toEqual(refusal('INVALID_REQUEST', details))
      }
      await until('no stream is left', async () => (await subscriptions()) === 0)
    })
  }
})

describe('a browser on another origin', () => {
  const preflight = (origin: string, headers: string) =>
    fetch(`${game.baseUrl}/graphql`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': headers },
    })

  it('that is listed can send its token and Last-Event-ID, and read the stream and its errors', async () => {
    const { status, headers } = await preflight(ORIGIN, 'authorization,content-type,last-event-id')
    const allowed = headers.get('access-control-allow-headers')?.split(/, */) ?? []
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'last-event-id']))
    expect(headers.get('access-control-allow-methods')).toMatch(/GET.*POST/)

    const after = await endOf()
    await game.player()
    for (const lastEventId of [after, 'junk']) {
      const stream = await open(game.platformKey, { headers: { origin: ORIGIN, 'last-event-id': lastEventId } })
      expect(await stream.next()).toMatchObject({ event: 'next' })
      expect(stream.response.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(stream.response.headers.get('vary')?.toLowerCase()).toContain('origin')
      expect(stream.response.headers.get('access-control-allow-credentials')).not.toBe('true')
      stream.close()
    }
  })

  it('that is not listed gets no Access-Control-Allow-Origin', async () => {
    const origin = 'https://evil.example'
    expect((await preflight(origin, 'last-event-id')).headers.get('access-control-allow-origin')).toBeNull()
    const stream = await open(game.platformKey, { headers: { origin } })
    expect(stream.response.headers.get('access-control-allow-origin')).toBeNull()
    stream.close()
  })
})
