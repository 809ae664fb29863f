import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhook, type WebhookResult } from '../../src/accounts/webhook/webhook.ts'
import { times } from '../harness/game.ts'
import {
  drip,
  flood,
  httpAnswer,
  httpHead,
  type Play,
  type RawOperator,
  startRawOperator,
  startSelfSigned,
} from '../harness/raw-operator.ts'
import { pausedTime } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import {
  CLOCK_TOLERANCE_MS,
  EARLY_MS,
  errorsOf,
  expectTokens,
  game,
  INVALID_RESPONSE,
  MIB,
  playersOf,
  provide,
  REJECTED,
  refusalOf,
  startWebhookGame,
  stopWebhookGame,
  type Timed,
  target,
  timedLogin,
  UNAVAILABLE,
} from './webhook-game.ts'

beforeAll(startWebhookGame)
afterAll(stopWebhookGame)

let names = 0

/** A provider name that no other test uses. */
function newName(): string {
  names += 1
  return `provider-${names}`
}

describe('a slow endpoint (contract 8: three attempts of 3 s, 300 ms apart)', () => {
  const approval = '{"subject":"slow"}'
  const STALLS: Record<string, Play> = {
    'says nothing': () => undefined,
    'sends half of its headers': (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-ty'),
    'sends its headers byte by byte': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-drip: ')
      drip(socket, 'x', 100)
    },
    'sends interim answers for ever': (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 100),
    'sends its headers at once and then a byte each 100 ms': (socket) => {
      socket.write(httpHead('200 OK', ['content-length: 10000']))
      drip(socket, ' ', 100)
    },
    'sends a whole approval and never ends it': (socket) =>
      void socket.write(
        `${httpHead('200 OK', ['transfer-encoding: chunked'])}${approval.length.toString(16)}\r\n${approval}\r\n`,
      ),
    'sends a whole approval and would end it by closing': (socket) =>
      void socket.write(`${httpHead('200 OK')}${approval}`),
    'sends compressed bytes and never ends them': (socket) => {
      const packed = gzipSync(approval)
      socket.write(httpHead('200 OK', [`content-length: ${packed.length}`, 'content-encoding: gzip']))
      socket.write(packed.subarray(0, -1))
    },
  }

  /** A login waits for the database before its first attempt and after its last one. */
  const DATABASE_MS = 1_200

  interface Stalled extends Timed {
    readonly started: number
    readonly provider: string
  }

  const whats = [...Object.keys(STALLS), 'speaks no word of TLS']
  const operators = new Map<string, RawOperator>()
  const logins = new Map<string, Promise<Stalled>>()
  let nameless: Promise<{ result: WebhookResult; milliseconds: number }>
  let pausedBefore: number

  // All at once: each takes ten seconds.
  beforeAll(async () => {
    pausedBefore = pausedTime()
    for (const what of whats) {
      const operator = await startRawOperator(STALLS[what] ?? (() => undefined))
      operators.set(what, operator)
      const provider = newName()
      await provide(provider, what in STALLS ? operator.url : operator.url.replace('http:', 'https:'))
      const started = performance.now()
      const login = timedLogin({ what }, { provider })
      logins.set(
        what,
        login.then((timed) => ({ ...timed, started, provider })),
      )
    }
    nameless = callByName()
  })
  afterAll(async () => {
    for (const operator of operators.values()) await operator.close()
  })

  /** Timers are not early. */
  const expectFrom = (milliseconds: number, actual: number) =>
    expect(actual).toBeGreaterThanOrEqual(milliseconds - EARLY_MS * Math.ceil(milliseconds / 3_000))
  /** A pause of the machine makes all timers late. */
  const expectBy = (milliseconds: number, actual: number) =>
    expect(actual).toBeLessThanOrEqual(milliseconds + CLOCK_TOLERANCE_MS + pausedTime() - pausedBefore)

  it.each(whats)('is cut off after 3 s at each attempt when it %s', async (what) => {
    const login = await logins.get(what)
    const operator = operators.get(what)
    if (!login || !operator) throw new Error(`${what} was not started`)
    expect(refusalOf(login.answer)).toEqual(UNAVAILABLE)
    expect(operator.hits).toHaveLength(3)
    const [first = 0] = operator.hits
    for (const [index, at] of operator.hits.entries()) {
      expectFrom(index * 3_300, at - login.started)
      expectBy(index * 3_300, at - first)
    }
    expectFrom(9_600, login.milliseconds)
    expectBy(9_600 + DATABASE_MS, login.milliseconds)
    expect(await errorsOf(login.provider)).toEqual(['timeout', 'timeout', 'timeout'])
    await until('its connections are closed', () => operator.open === 0)
  })

  /** A call to a hostname whose lookup never ends. */
  async function callByName(): Promise<{ result: WebhookResult; milliseconds: number }> {
    const webhook = createWebhook({ allowPrivateAddresses: true, lookup: () => undefined })
    const started = performance.now()
    const result = await webhook.call(target('http://studio.example/login'), '{}')
    await webhook.close()
    return { result, milliseconds: performance.now() - started }
  }

  it('is cut off after 3 s at each attempt when its name is not resolved', async () => {
    const { result, milliseconds } = await nameless
    const attempts = result.attempts.map(({ status, error }) => [status, error])
    expect([result.kind, attempts]).toEqual(['unavailable', times(3, () => [null, 'timeout'])])
    expectFrom(9_600, milliseconds)
    expectBy(9_600, milliseconds)
  })
})

describe.concurrent('an endpoint with a broken or unusual connection (contract 7.1: a connection error is retried)', () => {
  const reset: Play = (socket) => void socket.resetAndDestroy()
  const say =
    (head: string, body: string): Play =>
    (socket) =>
      void socket.end(head + body)
  const chunked = httpHead('200 OK', ['transfer-encoding: chunked'])
  const packed = gzipSync('{"subject":"early"}')
  /** Its behaviour, and the class of error in the log. */
  const FAULTS: [what: string, error: string, play: Play][] = [
    ['closes without an answer', 'reset', (socket) => void socket.end()],
    ['resets without an answer', 'reset', reset],
    [
      'resets in the middle of its answer',
      'reset',
      (socket) => void socket.write(`${httpHead('200 OK', ['content-length: 100'])}{"subject":`, () => reset(socket)),
    ],
    [
      'closes before its declared length',
      'reset',
      say(httpHead('200 OK', ['content-length: 100']), '{"subject":"early"}'),
    ],
    ['closes before its last chunk', 'reset', say(chunked, '13\r\n{"subject":"early"}\r\n')],
    [
      'closes in the middle of its compressed answer',
      'reset',
      (socket) => {
        socket.write(httpHead('200 OK', [`content-length: ${packed.length}`, 'content-encoding: gzip']))
        socket.end(packed.subarray(0, -1))
      },
    ],
    ['speaks another protocol', 'protocol', say('SSH-2.0-OpenSSH_9.6\r\n', '')],
    ['sends chunks without a length', 'protocol', say(chunked, 'zz\r\n{"subject":"chunk"}\r\n0\r\n\r\n')],
    [
      'sends two lengths',
      'protocol',
      say(httpHead('200 OK', ['content-length: 2', 'content-length: 18']), '{"subject":"two"}'),
    ],
    [
      'sends a length and chunks',
      'protocol',
      say(
        httpHead('200 OK', ['content-length: 18', 'transfer-encoding: chunked']),
        '12\r\n{"subject":"both"}\r\n0\r\n\r\n',
      ),
    ],
    [
      'sends endless headers',
      'protocol',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        flood(socket, `x-endless: ${'x'.repeat(1000)}\r\n`)
      },
    ],
    [
      'sends interim answers as fast as they are read',
      'protocol',
      (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)),
    ],
    // RFC 9110 lets clients ignore it; undici fails.
    [
      'sends 100 Continue unasked',
      'reset',
      say('HTTP/1.1 100 Continue\r\n\r\n', httpAnswer('200 OK', '{"subject":"on"}')),
    ],
    [
      'switches the protocol',
      'reset',
      say('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', ''),
    ],
  ]

  it.each(FAULTS)('is unavailable after three attempts when it %s; the log says %s', async (_what, error, play) => {
    const operator = await startRawOperator(play)
    const provider = newName()
    await provide(provider, operator.url)
    const { answer, milliseconds } = await timedLogin({}, { provider })
    expect(refusalOf(answer)).toEqual(UNAVAILABLE)
    expect(operator.hits).toHaveLength(3)
    expect(await errorsOf(provider)).toEqual([error, error, error])
    expect(milliseconds).toBeGreaterThanOrEqual(600 - 2 * EARLY_MS)
    await until('its connections are closed', () => operator.open === 0)
    await operator.close()
  })

  it('is unavailable after three attempts when it does not answer a TLS handshake with TLS', async () => {
    const operator = await startRawOperator((socket) => void socket.end(httpAnswer('400 Bad Request', '{}')))
    const provider = newName()
    await provide(provider, operator.url.replace('http:', 'https:'))
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    expect(operator.hits).toHaveLength(3)
    expect(await errorsOf(provider)).toEqual(['tls', 'tls', 'tls'])
    await operator.close()
  })

  it('receives no request when its certificate is not trusted', async () => {
    const operator = await startSelfSigned((socket) => void socket.end(httpAnswer('200 OK', '{"subject":"tls"}')))
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    expect([operator.connections, operator.hits]).toEqual([3, []])
    expect(await errorsOf(provider)).toEqual(['tls', 'tls', 'tls'])
    await operator.close()
  })

  it('is unavailable after three attempts when its port is closed', async () => {
    const provider = newName()
    // A port outside the ephemeral range.
    await provide(provider, 'http://127.0.0.1:9/login')
    const { answer, milliseconds } = await timedLogin({}, { provider })
    expect(refusalOf(answer)).toEqual(UNAVAILABLE)
    expect(milliseconds).toBeGreaterThanOrEqual(600 - 2 * EARLY_MS)
    // No attempt waited for its timeout.
    expect(await errorsOf(provider)).toEqual(['refused', 'refused', 'refused'])
  })

  it('recovers within the same login', async () => {
    let hits = 0
    const operator = await startRawOperator((socket) => {
      hits += 1
      if (hits < 3) socket.resetAndDestroy()
      else socket.write(httpAnswer('200 OK', '{"subject":"recovered"}'))
    })
    const provider = newName()
    await provide(provider, operator.url)
    expectTokens(await game.login({}, { provider }))
    await operator.close()
  })

  const body = '{"subject":"whole"}'
  const WHOLE: Record<string, Play> = {
    'declares no length and closes after its body': say(httpHead('200 OK'), body),
    'speaks HTTP/1.0': say('HTTP/1.0 200 OK\r\n\r\n', body),
    'writes its headers in capitals': say(`HTTP/1.1 200 OK\r\nCONTENT-LENGTH:${body.length}\r\n\r\n`, body),
    'sends trailers after its chunks': say(chunked, `13\r\n${body}\r\n0\r\nx-trailer: a\r\n\r\n`),
    'has trailing white space in its headers': (socket) => {
      const gzip = gzipSync(body)
      socket.write(httpHead('200 OK', [`content-length: ${gzip.length} `, 'content-encoding: gzip \t']))
      socket.write(gzip)
    },
    // Bytes after the declared length belong to no answer, and must not reach the next one.
    'sends more than its declared length': (socket) =>
      void socket.write(`${httpAnswer('200 OK', body)}${httpAnswer('200 OK', '{"subject":"next"}')}`),
  }

  it.each(Object.entries(WHOLE))('has its answer read completely each time when it %s', async (_what, play) => {
    const operator = await startRawOperator(play)
    const provider = newName()
    await provide(provider, operator.url)
    for (const hits of [1, 2, 3]) {
      const { body } = await game.login({}, { provider })
      expect([await game.graphql(body.accessToken, '{ me { identities { subject } } }'), operator.hits.length]).toEqual(
        [{ data: { me: { identities: expect.arrayContaining([{ subject: 'whole' }]) } } }, hits],
      )
    }
    expect(await playersOf('next')).toEqual([])
    await operator.close()
  })

  it('gives an invalid response when its declared length is shorter than its JSON', async () => {
    const cut = httpHead('200 OK', [`content-length: ${body.length - 1}`])
    const operator = await startRawOperator((socket) => void socket.write(`${cut}${body}`))
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(INVALID_RESPONSE)
    expect(operator.hits).toHaveLength(1)
    await operator.close()
  })
})

describe.concurrent('an endpoint that keeps sending after its status', () => {
  const length = 'content-length: 1000000000'
  const GOING_ON: Record<string, Play> = {
    'sends a gigabyte': (socket) => {
      socket.write(httpHead('403 Forbidden', [length]))
      flood(socket, 'x'.repeat(65_536))
    },
    'sends without end': (socket) => {
      socket.write(httpHead('403 Forbidden', ['transfer-encoding: chunked']))
      flood(socket, `10000\r\n${'x'.repeat(65_536)}\r\n`)
    },
    'sends a byte each 100 ms': (socket) => {
      socket.write(httpHead('403 Forbidden', ['transfer-encoding: chunked']))
      drip(socket, '1\r\nx\r\n', 100)
    },
    'resets in the middle of its body': (socket) =>
      void socket.write(`${httpHead('403 Forbidden', [length])}{`, () => socket.resetAndDestroy()),
  }

  it.each(Object.entries(GOING_ON))(
    'rejects the login at once with a 4xx when it %s (contract 7.1)',
    async (_what, play) => {
      const operator = await startRawOperator(play)
      const provider = newName()
      await provide(provider, operator.url)
      expect(refusalOf(await game.login({}, { provider }))).toEqual(REJECTED)
      // A service that waited for its end would log `timeout` or `reset`.
      expect(await errorsOf(provider)).toEqual([null])
      expect(operator.hits).toHaveLength(1)
      await until('its connections are closed', () => operator.open === 0)
      // Most of this is in network buffers.
      expect(operator.sent / MIB).toBeLessThan(64)
      await operator.close()
    },
  )

  it('is retried after a 5xx status without waiting for the end of its body (contract 8)', async () => {
    const operator = await startRawOperator((socket) => {
      socket.write(httpHead('500 Internal Server Error', ['transfer-encoding: chunked']))
      drip(socket, '1\r\nx\r\n', 100)
    })
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    // A service that waited for its end would log `timeout`.
    expect(await errorsOf(provider)).toEqual([null, null, null])
    expect(operator.hits).toHaveLength(3)
    await until('its connections are closed', () => operator.open === 0)
    await operator.close()
  })
})
