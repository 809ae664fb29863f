import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhook, type WebhookResult } from '../../src/auth/webhook.ts'
import { times } from '../support/game.ts'
import {
  drip,
  flood,
  httpAnswer,
  httpHead,
  type Play,
  type RawOperator,
  startRawOperator,
  startSelfSigned,
} from '../support/raw-operator.ts'
import { pausedTime } from '../support/stopwatch.ts'
import { until } from '../support/until.ts'
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
  timedLogin,
  UNAVAILABLE,
} from './webhook-game.ts'

beforeAll(startWebhookGame)
afterAll(stopWebhookGame)

let names = 0

/** The name of a provider that no other test has. */
function newName(): string {
  names += 1
  return `provider-${names}`
}

describe('an endpoint that takes its time (spec 8: 3 s for connect and response, three times, 300 ms between)', () => {
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

  /** Timers are not early; a machine that stands still makes all of them late. */
  function expectAfter(milliseconds: number, actual: number): void {
    expect(actual).toBeGreaterThanOrEqual(milliseconds - EARLY_MS * Math.ceil(milliseconds / 3_000))
    expect(actual).toBeLessThanOrEqual(milliseconds + CLOCK_TOLERANCE_MS + pausedTime() - pausedBefore)
  }

  it.each(whats)('cuts each attempt at 3 s when it %s', async (what) => {
    const login = await logins.get(what)
    const operator = operators.get(what)
    if (!login || !operator) throw new Error(`${what} was not started`)
    expect(refusalOf(login.answer)).toEqual(UNAVAILABLE)
    expectAfter(9_600, login.milliseconds)
    expect(operator.hits).toHaveLength(3)
    for (const [index, at] of operator.hits.entries()) expectAfter(index * 3_300, at - login.started)
    expect(await errorsOf(login.provider)).toEqual(['timeout', 'timeout', 'timeout'])
    await until('its connections are closed', () => operator.open === 0)
  })

  /** A call of a name that no server of names ever answers for. */
  async function callByName(): Promise<{ result: WebhookResult; milliseconds: number }> {
    const webhook = createWebhook({ allowPrivateAddresses: true, lookup: () => undefined })
    const started = performance.now()
    const result = await webhook.call(
      { key: 'nameless', projectId: 'project', url: 'http://studio.example/login', secret: 's', replacedSecrets: [] },
      '{}',
    )
    await webhook.close()
    return { result, milliseconds: performance.now() - started }
  }

  it('cuts each attempt at 3 s when its name is not resolved', async () => {
    const { result, milliseconds } = await nameless
    const attempts = result.attempts.map(({ status, error }) => [status, error])
    expect([result.kind, attempts]).toEqual(['unavailable', times(3, () => [null, 'timeout'])])
    expectAfter(9_600, milliseconds)
  })
})

describe.concurrent('an endpoint that breaks off (spec 7.1: a connection error is retried)', () => {
  const reset: Play = (socket) => void socket.resetAndDestroy()
  const say =
    (head: string, body: string): Play =>
    (socket) =>
      void socket.end(head + body)
  const chunked = httpHead('200 OK', ['transfer-encoding: chunked'])
  const packed = gzipSync('{"subject":"early"}')
  /** Its behaviour, and the class of error in the log. */
  const FAULTS: [what: string, error: string, play: Play][] = [
    ['closes without a word', 'reset', (socket) => void socket.end()],
    ['resets without a word', 'reset', reset],
    [
      'resets in the middle of its answer',
      'reset',
      (socket) => void socket.write(`${httpHead('200 OK', ['content-length: 100'])}{"subject":`, () => reset(socket)),
    ],
    [
      'closes before the length that it promised',
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
    ['sends chunks of no length', 'protocol', say(chunked, 'zz\r\n{"subject":"chunk"}\r\n0\r\n\r\n')],
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
      'sends interim answers as fast as they are taken',
      'protocol',
      (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)),
    ],
    // RFC 9110 would have them passed over; undici does not.
    [
      'says 100 Continue unasked',
      'reset',
      say('HTTP/1.1 100 Continue\r\n\r\n', httpAnswer('200 OK', '{"subject":"on"}')),
    ],
    [
      'changes the protocol',
      'reset',
      say('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', ''),
    ],
  ]

  it.each(FAULTS)('says unavailable after three attempts when it %s; the log says %s', async (_what, error, play) => {
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

  it('says unavailable after three attempts when it answers a TLS greeting with something else', async () => {
    const operator = await startRawOperator((socket) => void socket.end(httpAnswer('400 Bad Request', '{}')))
    const provider = newName()
    await provide(provider, operator.url.replace('http:', 'https:'))
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    expect(operator.hits).toHaveLength(3)
    expect(await errorsOf(provider)).toEqual(['tls', 'tls', 'tls'])
    await operator.close()
  })

  it('sends nothing of a player to an endpoint whose certificate nobody vouches for', async () => {
    const operator = await startSelfSigned((socket) => void socket.end(httpAnswer('200 OK', '{"subject":"tls"}')))
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    expect([operator.connections, operator.hits]).toEqual([3, []])
    expect(await errorsOf(provider)).toEqual(['tls', 'tls', 'tls'])
    await operator.close()
  })

  it('says unavailable after some 0.6 s when nobody listens', async () => {
    const provider = newName()
    // A port outside the range of automatic ports.
    await provide(provider, 'http://127.0.0.1:9/login')
    const { answer, milliseconds } = await timedLogin({}, { provider })
    expect(refusalOf(answer)).toEqual(UNAVAILABLE)
    expect(milliseconds).toBeGreaterThanOrEqual(600 - 2 * EARLY_MS)
    // None of them waited for its time to be up.
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
    'promises no length and closes behind it': say(httpHead('200 OK'), body),
    'speaks HTTP/1.0': say('HTTP/1.0 200 OK\r\n\r\n', body),
    'writes its headers in capitals': say(`HTTP/1.1 200 OK\r\nCONTENT-LENGTH:${body.length}\r\n\r\n`, body),
    'has trailers behind its chunks': say(chunked, `13\r\n${body}\r\n0\r\nx-trailer: a\r\n\r\n`),
    'leaves space behind its headers': (socket) => {
      const gzip = gzipSync(body)
      socket.write(httpHead('200 OK', [`content-length: ${gzip.length} `, 'content-encoding: gzip \t']))
      socket.write(gzip)
    },
    // Bytes after the declared length belong to no answer, and must not reach the next one.
    'sends more than the length that it promised': (socket) =>
      void socket.write(`${httpAnswer('200 OK', body)}${httpAnswer('200 OK', '{"subject":"next"}')}`),
  }

  it.each(Object.entries(WHOLE))('reads the answer whole, each time, of one that %s', async (_what, play) => {
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

  it('takes fewer bytes than were sent for the answer when it promised no more', async () => {
    const cut = httpHead('200 OK', [`content-length: ${body.length - 1}`])
    const operator = await startRawOperator((socket) => void socket.write(`${cut}${body}`))
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(INVALID_RESPONSE)
    expect(operator.hits).toHaveLength(1)
    await operator.close()
  })
})

describe.concurrent('an endpoint that goes on after its decision', () => {
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
    'resets in the middle': (socket) =>
      void socket.write(`${httpHead('403 Forbidden', [length])}{`, () => socket.resetAndDestroy()),
  }

  it.each(Object.entries(GOING_ON))('answers a 4xx at once when its body %s (spec 7.1)', async (_what, play) => {
    const operator = await startRawOperator(play)
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(REJECTED)
    // A service that waited for its end would say `timeout` or `reset`.
    expect(await errorsOf(provider)).toEqual([null])
    expect(operator.hits).toHaveLength(1)
    await until('its connections are closed', () => operator.open === 0)
    // Most of it in the buffers of the network.
    expect(operator.sent / MIB).toBeLessThan(64)
    await operator.close()
  })

  it('retries a 5xx 300 ms after its status, however its body goes on (spec 8)', async () => {
    const operator = await startRawOperator((socket) => {
      socket.write(httpHead('500 Internal Server Error', ['transfer-encoding: chunked']))
      drip(socket, '1\r\nx\r\n', 100)
    })
    const provider = newName()
    await provide(provider, operator.url)
    expect(refusalOf(await game.login({}, { provider }))).toEqual(UNAVAILABLE)
    // A service that waited for its end would say `timeout`.
    expect(await errorsOf(provider)).toEqual([null, null, null])
    expect(operator.hits).toHaveLength(3)
    await until('its connections are closed', () => operator.open === 0)
    await operator.close()
  })
})
