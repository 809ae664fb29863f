import { createHmac } from 'node:crypto'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey, createSdkKey } from '../../src/auth/keys.ts'
import { createWebhook, type WebhookResult } from '../../src/auth/webhook.ts'
import { type Json, print, RawJson } from '../../src/json.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { season } from '../support/definitions.ts'
import { type Answer, type Game, type LoginOptions, startGame, times } from '../support/game.ts'
import { approve, type Hit, type Operator, signatureOf, startOperator, status } from '../support/operator.ts'
import {
  drip,
  flood,
  httpAnswer,
  httpHead,
  type Play,
  type RawOperator,
  startCanary,
  startRawOperator,
  startSelfSigned,
} from '../support/raw-operator.ts'
import {
  buildService,
  createWorld,
  type Service,
  type ServiceAnswer,
  startService,
  stopService,
  type World,
} from '../support/service.ts'
import { pausedTime, startStopwatch } from '../support/stopwatch.ts'
import { until } from '../support/until.ts'

// The service's call of a studio's endpoint, seen from both of its ends: what the endpoint receives and what the game
// client is told.

const MIB = 2 ** 20
/** Timers and neighbours on a busy machine. */
const CLOCK_TOLERANCE_MS = 300
/** A timer may fire this much before its time is up. */
const EARLY_MS = 5

const REJECTED = [401, 'custom auth rejected', 'custom_auth_rejected']
const INVALID_DATA = [401, 'custom auth invalid data', 'custom_auth_invalid_data']
const INVALID_RESPONSE = [502, 'custom auth invalid response', 'custom_auth_invalid_response']
const UNAVAILABLE = [503, 'custom auth unavailable', 'custom_auth_unavailable']

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(async () => {
  await game.stop()
})

const custom: Record<string, Json> = {}
let providersSet: Promise<unknown> = Promise.resolve()
let names = 0

/** The name of a provider that no other test has. */
function newName(): string {
  names += 1
  return `provider-${names}`
}

/** Adds a provider, or replaces it, beside those of the other tests: a PUT carries the whole map. */
async function provide(name: string, url: string, secret = 'a shared secret'): Promise<void> {
  custom[name] = { enabled: true, url, secret }
  const all = { ...custom }
  providersSet = providersSet.then(async () => expect((await game.setProviders(all)).status).toBe(200))
  await providersSet
}

interface Timed {
  readonly answer: Answer
  readonly milliseconds: number
}

async function timedLogin(customData: Json | string, options?: LoginOptions): Promise<Timed> {
  const started = performance.now()
  const answer = await game.login(customData, options)
  return { answer, milliseconds: performance.now() - started }
}

/** Status, text and code of a refusal. It says nothing of what stands behind it. */
function refusalOf({ status, text, body }: Answer): unknown[] {
  expect(Object.keys(body).sort()).toEqual(['code', 'error', 'requestId'])
  expect(text).not.toMatch(/127\.0\.0\.1|secret|ECONN|undici/i)
  return [status, body.error, body.code]
}

function expectTokens({ status, body }: Answer): void {
  expect([status, typeof body.accessToken, typeof body.refreshToken]).toEqual([200, 'string', 'string'])
}

/** What `webhook-signature` must be (Standard Webhooks), with the key that the secret stands for. */
function standardSignatureOf(key: string | Buffer, { headers, body }: Hit): string {
  const signed = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
  return `v1,${signed.update(body).digest('base64')}`
}

const gapsOf = (hits: readonly number[]): number[] => hits.slice(1).map((at, index) => at - (hits[index] ?? 0))

/** The classes of error that the log has of a provider's last login, one for each attempt. */
async function errorsOf(provider: string): Promise<(string | null)[]> {
  const { rows } = await game.app.pool.query(
    'SELECT attempts FROM login_log WHERE provider = $1 ORDER BY id DESC LIMIT 1',
    [provider],
  )
  return JSON.parse(rows[0].attempts).map(({ error }: { error: string | null }) => error)
}

/** How many rows the tables have that a login writes; the log of logins apart, which tells of refused ones, too. */
async function countRows(): Promise<Record<string, string>> {
  const tables = ['players', 'identities', 'player_storage', 'events', 'refresh_tokens']
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`)
  const { rows } = await game.app.pool.query(`SELECT ${counts.join(', ')}`)
  return rows[0]
}

/** The players that a subject is bound to, what was said of them, and what they hold. */
async function playersOf(subject: string): Promise<{ id: string; nickname: string | null; avatar: string | null }[]> {
  const { rows } = await game.app.pool.query(
    `SELECT p.id, p.nickname, p.avatar_url AS avatar FROM identities i
     JOIN players p ON p.environment_id = i.environment_id AND p.id = i.player_id WHERE i.subject = $1`,
    [subject],
  )
  return rows
}

async function storageOf(subject: string): Promise<Record<string, string>> {
  const { rows } = await game.app.pool.query(
    `SELECT s.key, s.value FROM identities i
     JOIN player_storage s ON s.environment_id = i.environment_id AND s.player_id = i.player_id WHERE i.subject = $1`,
    [subject],
  )
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

describe('every status that an endpoint can answer with (spec 7.1)', () => {
  interface Outcome {
    readonly answer: Answer
    readonly hits: readonly number[]
  }

  const outcomes = new Map<number, Outcome>()
  let canary: RawOperator

  beforeAll(async () => {
    canary = await startCanary()
    // The body approves each time, and the redirect is inviting: it is the status that decides.
    const operator = await startOperator(({ customData }, response) => {
      const asked = Number(JSON.parse(customData).status)
      response.writeHead(asked, { 'content-type': 'application/json', location: canary.url })
      response.end(`{"subject":"status-${asked}"}`)
    })
    await provide('status', operator.url)
    const statuses = [...times(400, (index) => 200 + index), 600, 777, 999]
    const answers = await Promise.all(statuses.map((asked) => game.login({ status: asked }, { provider: 'status' })))
    for (const [index, asked] of statuses.entries()) {
      const hits = operator.hits.filter(({ customData }) => JSON.parse(customData).status === asked)
      outcomes.set(asked, { answer: answers[index] as Answer, hits: hits.map(({ at }) => at) })
    }
    await operator.close()
  })
  afterAll(() => canary.close())

  function expectEach(from: number, to: number, refusal: unknown[], hits: number): void {
    const found = [...outcomes].filter(([asked]) => asked >= from && asked <= to)
    const seen = found.map(([asked, outcome]) => [asked, ...refusalOf(outcome.answer), outcome.hits.length])
    expect(seen).toEqual(found.map(([asked]) => [asked, ...refusal, hits]))
    expect(found.length).toBeGreaterThan(0)
  }

  it('gives a token pair for a 200, after one call', () => {
    const outcome = outcomes.get(200)
    expectTokens(outcome?.answer as Answer)
    expect(outcome?.hits).toHaveLength(1)
  })

  it('takes every other 2xx for an invalid response, once', () => {
    expectEach(201, 299, INVALID_RESPONSE, 1)
  })

  it('takes every 3xx for an invalid response, once, and follows no redirect', () => {
    expectEach(300, 399, INVALID_RESPONSE, 1)
    expect(canary.connections).toBe(0)
  })

  it('takes every 4xx for a rejection, once', () => {
    expectEach(400, 499, REJECTED, 1)
  })

  it('retries every 5xx three times, 300 ms apart, and then says unavailable', () => {
    expectEach(500, 599, UNAVAILABLE, 3)
    const gaps = [...outcomes].filter(([asked]) => asked >= 500 && asked <= 599).flatMap(([, { hits }]) => gapsOf(hits))
    expect(gaps).toHaveLength(200)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(300 - EARLY_MS)
  })

  it('takes a number that is no status for an invalid response, once', () => {
    expectEach(600, 999, INVALID_RESPONSE, 1)
  })

  it('waits for the answer behind interim ones', async () => {
    const operator = await startOperator((hit, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeProcessing()
      void approve({ subject: 'interim' })(hit, response)
    })
    await provide('interim', operator.url)
    expectTokens(await game.login({}, { provider: 'interim' }))
    expect(operator.hits).toHaveLength(1)
    await operator.close()
  })
})

describe('attempts (spec 8)', () => {
  it('logs in when the third attempt is answered, with the same bytes, id and signature on all three', async () => {
    const operator = await startOperator((hit, response) =>
      hit.number % 3 === 0 ? approve({ subject: 'third' })(hit, response) : status(503)(hit, response),
    )
    await provide('third', operator.url, operator.secret)
    const logins = await Promise.all([timedLogin('{"n": 1.0}', { provider: 'third' })])
    logins.push(await timedLogin('{"n": 1.0}', { provider: 'third' }))
    for (const { answer, milliseconds } of logins) {
      expectTokens(answer)
      expect(milliseconds).toBeGreaterThanOrEqual(600 - 2 * EARLY_MS)
    }

    expect(operator.hits).toHaveLength(6)
    const [, second = 0, third = 0, , fifth = 0, sixth = 0] = gapsOf([0, ...operator.hits.map(({ at }) => at)])
    // One that waited longer would be longer each time.
    expect(Math.min(second, third, fifth, sixth)).toBeLessThan(300 + CLOCK_TOLERANCE_MS)
    const ids = operator.hits.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids.slice(0, 3)).size).toBe(1)
    expect(new Set(ids.slice(3)).size).toBe(1)
    expect(new Set(ids).size).toBe(2)
    for (const hit of operator.hits) {
      expect([hit.method, hit.url, hit.body.toString()]).toEqual(['POST', '/login', '{"customData":{"n": 1.0}}'])
      expect(hit.headers['x-signature']).toBe(signatureOf(operator.secret, hit.body))
      expect(hit.headers['webhook-signature']).toBe(standardSignatureOf(operator.secret, hit))
      expect(hit.headers['webhook-timestamp']).toMatch(/^\d{10}$/)
      expect(Math.abs(Number(hit.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(30)
    }
    await operator.close()
  })

  it('makes no second attempt after a first one that is final', async () => {
    const operator = await startOperator((hit, response) => status(hit.number === 1 ? 500 : 403)(hit, response))
    await provide('final', operator.url)
    expect(refusalOf(await game.login({}, { provider: 'final' }))).toEqual(REJECTED)
    expect(operator.hits).toHaveLength(2)
    await operator.close()
  })
})

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
  /** What it does, and the class of error that the log has of it. */
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
    // A port that is given to nobody who asks for any.
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
    // What is behind the length is no part of any answer, and least of all of the next one.
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
    // Whoever waited for its end would say `timeout` or `reset`.
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
    // Whoever waited for its end would say `timeout`.
    expect(await errorsOf(provider)).toEqual([null, null, null])
    expect(operator.hits).toHaveLength(3)
    await until('its connections are closed', () => operator.open === 0)
    await operator.close()
  })
})

describe('the body of a 200', () => {
  interface Body {
    readonly body: string | Uint8Array
    readonly headers?: Record<string, string>
  }

  let operator: Operator
  let bodies: readonly Body[] = []

  beforeAll(async () => {
    operator = await startOperator(({ customData }, response) => {
      const { body, headers } = bodies[JSON.parse(customData).index] ?? { body: '' }
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
    })
    await provide('body', operator.url)
  })
  afterAll(() => operator.close())

  /** A login for each body; gives the answers and how often each was asked for. */
  async function loginForEach(given: readonly Body[]): Promise<{ answer: Answer; hits: number }[]> {
    bodies = given
    const before = operator.hits.length
    const answers = await Promise.all(given.map((_, index) => game.login({ index }, { provider: 'body' })))
    const hits = operator.hits.slice(before).map(({ customData }) => JSON.parse(customData).index)
    return answers.map((answer, index) => ({ answer, hits: hits.filter((hit) => hit === index).length }))
  }

  const valid = '{"subject":"body"}'
  const INVALID: Record<string, Body> = {
    empty: { body: '' },
    'white space': { body: ' \r\n\t' },
    HTML: { body: '<!doctype html><title>Login</title>' },
    'truncated JSON': { body: '{"subject":"bo' },
    'JSON and more': { body: `${valid}${valid}` },
    'a byte order mark': { body: `\ufeff${valid}` },
    'a no-break space': { body: `\u00a0${valid}` },
    UTF16: { body: Buffer.from(valid, 'utf16le') },
    'invalid UTF-8': { body: Buffer.from('{"subject":"\xff"}', 'latin1') },
    'truncated UTF-8': { body: Buffer.from(`{"subject":"é"}`).subarray(0, -3) },
    'overlong UTF-8': { body: Buffer.from('{"subject":"\xc0\xaf"}', 'latin1') },
    'UTF-8 of a surrogate': { body: Buffer.from('{"subject":"\xed\xa0\x80"}', 'latin1') },
    'single quotes': { body: "{'subject':'body'}" },
    'a trailing comma': { body: '{"subject":"body",}' },
    'a comment': { body: '{"subject":"body"/* */}' },
    NaN: { body: '{"subject":"body","level":NaN}' },
    'a control character in a string': { body: '{"subject":"bo\ndy"}' },
    'a list': { body: '[]' },
    'a list with a valid answer': { body: `[${valid}]` },
    null: { body: 'null' },
    true: { body: 'true' },
    'a number': { body: '5' },
    'a string': { body: '"body"' },
    'an empty object': { body: '{}' },
    'no subject': { body: '{"Subject":"body","nickname":"Ada","data":{}}' },
    'a subject that is null': { body: '{"subject":null}' },
    'a subject that is a number': { body: '{"subject":5}' },
    'a subject that is a list': { body: '{"subject":["body"]}' },
    'a subject that is an object': { body: '{"subject":{}}' },
    'a subject that is true': { body: '{"subject":true}' },
    'an empty subject': { body: '{"subject":""}' },
    'a last subject that is empty': { body: '{"subject":"body","subject":""}' },
    'a subject with NUL': { body: '{"subject":"a\\u0000"}' },
    'a subject that is a lone surrogate': { body: '{"subject":"\\ud800"}' },
    'a subject with a lone low surrogate': { body: '{"subject":"a\\udc00b"}' },
    'a subject of 256 characters': { body: print({ subject: 'x'.repeat(256) }) },
    'a subject of 256 emoji': { body: print({ subject: '😀'.repeat(256) }) },
    'a nickname that is a number': { body: '{"subject":"body","nickname":5}' },
    'a nickname that is false': { body: '{"subject":"body","nickname":false}' },
    'a nickname that is an object': { body: '{"subject":"body","nickname":{}}' },
    'an avatarUrl that is a list': { body: '{"subject":"body","avatarUrl":[]}' },
    'an avatarUrl that is a number': { body: '{"subject":"body","avatarUrl":0}' },
    'data that is a list': { body: '{"subject":"body","data":[]}' },
    'data that is a string': { body: '{"subject":"body","data":"x"}' },
    'data that is a number': { body: '{"subject":"body","data":5}' },
    'data that is false': { body: '{"subject":"body","data":false}' },
    'gzip that is none': { body: valid, headers: { 'content-encoding': 'gzip' } },
    'truncated gzip': { body: gzipSync(valid).subarray(0, -4), headers: { 'content-encoding': 'gzip' } },
    'gzip that is not told': { body: gzipSync(valid) },
    'deflate that is none': { body: valid, headers: { 'content-encoding': 'deflate' } },
    'brotli that is none': { body: valid, headers: { 'content-encoding': 'br' } },
    'truncated brotli': { body: brotliCompressSync(valid).subarray(0, -2), headers: { 'content-encoding': 'br' } },
    'gzip twice': { body: gzipSync(gzipSync(valid)), headers: { 'content-encoding': 'gzip, gzip' } },
  }

  it('is an invalid response, once, whenever it is no answer of spec 2.3 (spec 7.1)', async () => {
    const before = await countRows()
    const seen = await loginForEach(Object.values(INVALID))
    const names = Object.keys(INVALID)
    expect(seen.map(({ answer, hits }, index) => [names[index], ...refusalOf(answer), hits])).toEqual(
      names.map((name) => [name, ...INVALID_RESPONSE, 1]),
    )
    expect(await countRows()).toEqual(before)
  })

  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const VALID: Record<string, Body> = {
    'a subject of one character': { body: '{"subject":"."}' },
    'a subject of 255 characters': { body: print({ subject: 'x'.repeat(255) }) },
    'a subject of 255 emoji': { body: print({ subject: '😀'.repeat(255) }) },
    'a subject of spaces': { body: '{"subject":"  "}' },
    'an escaped subject': { body: '{"\\u0073ubject":"\\ud83d\\ude00"}' },
    'the last of two subjects': { body: '{"subject":5,"subject":"body"}' },
    'the last of two data': { body: '{"data":[],"subject":"body","data":{}}' },
    'white space around': { body: `\r\n\t ${valid} \n` },
    'null for nickname, avatarUrl and data': {
      body: '{"subject":"body","nickname":null,"avatarUrl":null,"data":null}',
    },
    'empty data': { body: '{"subject":"body","data":{}}' },
    'fields that nobody knows': { body: '{"subject":"body","a":1e400,"__proto__":{"b":[]},"constructor":null}' },
    'another content type': { body: valid, headers: { 'content-type': 'text/html; charset=utf-16' } },
    'deep nesting where nobody looks': { body: `{"subject":"body","more":${nested}}` },
    gzip: { body: gzipSync(valid), headers: { 'content-encoding': 'gzip' } },
    'gzip in capitals': { body: gzipSync(valid), headers: { 'content-encoding': 'GZIP' } },
    'gzip by its old name': { body: gzipSync(valid), headers: { 'content-encoding': 'x-gzip' } },
    deflate: { body: deflateSync(valid), headers: { 'content-encoding': 'deflate' } },
    brotli: { body: brotliCompressSync(valid), headers: { 'content-encoding': 'br' } },
    'an encoding that is none': { body: valid, headers: { 'content-encoding': 'constructor' } },
    'an encoding that is no property': { body: valid, headers: { 'content-encoding': '__proto__' } },
    'an encoding that changes nothing': { body: valid, headers: { 'content-encoding': 'identity' } },
  }

  it('with more than ten thousand members is an invalid response, and with as many an approval', async () => {
    const body = (count: number) => `{"subject":"body"${',"":0'.repeat(count - 1)}}`
    const seen = await loginForEach([{ body: body(10_001) }, { body: body(10_000) }])
    expect(refusalOf(seen[0]?.answer as Answer)).toEqual(INVALID_RESPONSE)
    expectTokens(seen[1]?.answer as Answer)
  })

  it('is an approval in every form that spec 2.3 allows, compressed or not', async () => {
    const seen = await loginForEach(Object.values(VALID))
    const names = Object.keys(VALID)
    expect(seen.map(({ answer, hits }, index) => [names[index], answer.status, answer.body.error, hits])).toEqual(
      names.map((name) => [name, 200, undefined, 1]),
    )
    expect(await playersOf('😀'.repeat(255))).toHaveLength(1)
    expect(await playersOf('😀')).toHaveLength(1)
  })

  it('leaves nickname and avatar alone when they are empty, null or absent (spec 2.3)', async () => {
    const avatarUrl = 'https://cdn.example/ada.png'
    await loginForEach([{ body: print({ subject: 'ada', nickname: 'Ada', avatarUrl, data: { a: 1 } }) }])
    const expected = [{ nickname: 'Ada', avatar: avatarUrl }]
    for (const said of ['{"subject":"ada"}', '{"subject":"ada","nickname":"","avatarUrl":""}']) {
      await loginForEach([{ body: said }])
      expect(await playersOf('ada')).toMatchObject(expected)
    }
    await loginForEach([{ body: '{"subject":"ada","nickname":null,"avatarUrl":null,"data":null}' }])
    expect(await playersOf('ada')).toMatchObject(expected)
    expect(await storageOf('ada')).toEqual({ a: '1' })
    await loginForEach([{ body: '{"subject":"ada","nickname":"Countess"}' }])
    expect(await playersOf('ada')).toMatchObject([{ nickname: 'Countess', avatar: avatarUrl }])
  })

  describe('locks nobody out by how a player looks (decisions 5)', () => {
    const NOTES = `query ($subject: String!) {
      loginLog(environment: "production", subject: $subject) { edges { node { outcome notes } } } }`
    const notesOf = async (subject: string): Promise<{ outcome: string; notes: string[] }[]> => {
      const { data } = await game.graphql(game.platformKey, NOTES, { subject })
      return data.loginLog.edges.map(({ node }: { node: unknown }) => node)
    }
    const emoji = '\u{1f600}'
    // Each grows to three times its bytes as it is normalized and folded, and compresses badly.
    const growing = (count: number) => times(count, (index) => String.fromCodePoint(0x1d15e + (index % 7))).join('')

    it.each([
      ['characters', 'n'.repeat(1_024), `https://cdn.example/${'a'.repeat(8_172)}`],
      ['emoji', emoji.repeat(1_024), emoji.repeat(8_192)],
      ['what grows in an index', growing(1_024), growing(8_192)],
      ['what is no more than before', `before ${growing(121)}`, 'x'.repeat(2_048)],
    ])('stores a nickname of 1,024 and an avatarUrl of 8,192 %s', async (what, nickname, avatarUrl) => {
      const subject = `longest ${what}`
      for (const _ of times(2, () => 0)) {
        const [seen] = await loginForEach([{ body: print({ subject, nickname, avatarUrl }) }])
        expectTokens(seen?.answer as Answer)
        expect(await playersOf(subject)).toMatchObject([{ nickname, avatar: avatarUrl }])
      }
      const { data } = await game.graphql(
        game.platformKey,
        `query ($search: String) { players(environment: "production", search: $search) { edges { node { nickname } } } }`,
        { search: [...nickname].slice(0, 100).join('') },
      )
      expect(data.players.edges).toEqual([{ node: { nickname } }])
      expect(await notesOf(subject)).toEqual(times(2, () => ({ outcome: 'OK', notes: [] })))
    })

    const IGNORED: Record<string, readonly [nickname: string, avatarUrl: string]> = {
      'one character more': [JSON.stringify('n'.repeat(1_025)), JSON.stringify('a'.repeat(8_193))],
      'one emoji more': [JSON.stringify(emoji.repeat(1_025)), JSON.stringify(emoji.repeat(8_193))],
      megabytes: [JSON.stringify('n'.repeat(2 ** 21)), JSON.stringify('\u00e9'.repeat(2 ** 21))],
      NUL: ['"a\\u0000b"', '"\\u0000"'],
      'half a surrogate pair': ['"Ada \\ud83d"', '"\\udfff"'],
    }
    it.each(Object.entries(IGNORED))('leaves both alone when they have %s, and the log says so', async (what, said) => {
      const subject = `ignored ${what}`
      const body = (nickname: string, avatarUrl: string) => ({
        body: `{"subject":${JSON.stringify(subject)},"nickname":${nickname},"avatarUrl":${avatarUrl},"data":{"a":1}}`,
      })
      bodies = [body(...said)]
      expectTokens(await game.login({ index: 0 }, { provider: 'body', nickname: 'from the client' }))
      expect(await playersOf(subject)).toMatchObject([{ nickname: 'from the client', avatar: null }])
      await loginForEach([body('"Ada"', '"https://a.example"')])
      await loginForEach([body(said[0], '""'), body('"Countess"', said[1])])
      expect(await playersOf(subject)).toMatchObject([{ nickname: 'Countess', avatar: 'https://a.example' }])
      const [third, second, first, ...none] = await notesOf(subject)
      expect([none.length, first?.notes]).toEqual([1, []])
      expect(none[0]).toEqual({ outcome: 'OK', notes: ['NICKNAME_IGNORED', 'AVATAR_IGNORED'] })
      // These two came at once.
      expect([second?.notes, third?.notes].sort()).toEqual([['AVATAR_IGNORED'], ['NICKNAME_IGNORED']])
      expect(await storageOf(subject)).toEqual({ a: '1' })
    })

    it('says so of links, of logins that are refused, and of dry runs, too', async () => {
      const nickname = 'n'.repeat(1_025)
      const player = await game.player()
      bodies = [
        { body: print({ subject: 'noted', nickname }) },
        { body: print({ subject: 'noted', nickname, data: { '': 1 } }) },
      ]
      expect((await game.link(player.token, { index: 0 }, { provider: 'body' })).status).toBe(204)
      expect((await game.login({ index: 1 }, { provider: 'body' })).status).toBe(401)
      await game.app.pool.query("UPDATE players SET status = 'banned' WHERE id = $1", [player.playerId])
      expect((await game.login({ index: 0 }, { provider: 'body' })).status).toBe(403)
      expect(await notesOf('noted')).toEqual(
        ['PLAYER_BANNED', 'CUSTOM_AUTH_INVALID_DATA', 'OK'].map((outcome) => ({
          outcome,
          notes: ['NICKNAME_IGNORED'],
        })),
      )
      const { data } = await game.graphql(
        game.platformKey,
        'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { status notes } }',
        { input: { environment: 'production', provider: 'body', customData: { index: 0 } } },
      )
      expect(data.testAuthProvider).toEqual({ status: 200, notes: ['NICKNAME_IGNORED'] })
    })
  })

  it('stores each value of data verbatim, and the last of duplicate keys (spec 2.3, spec 8)', async () => {
    const values: Record<string, string> = {
      number: '1.0',
      big: '12345678901234567890',
      infinite: '-1E+400',
      text: '"\\u0000\\ud800\\/ é 😀"',
      object: '{ "b" : 1, "a" : 2,\t"10":[ ], "b":3 }',
      null: 'null',
      deep: nested,
    }
    const entries = [...Object.entries(values), ['__proto__', '{"polluted":true}'] as const]
    const members = entries.map(([key, value]) => `${JSON.stringify(key)}: ${value} `)
    const [seen] = await loginForEach([{ body: `{"subject":"verbatim","data":{"text":0,${members.join(',')}}}` }])
    expectTokens(seen?.answer as Answer)
    const stored = await storageOf('verbatim')
    for (const [key, value] of entries) expect(Object.entries(stored)).toContainEqual([key, value])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

describe('data over the limits of storage (spec 8: 401, and nothing is written)', () => {
  let operator: Operator

  beforeAll(async () => {
    operator = await startOperator()
    await provide('data', operator.url)
  })
  afterAll(() => operator.close())

  /** One login with this subject and the text of this data. */
  async function loginWith(subject: string, data: string): Promise<Answer> {
    operator.answer(
      approve({ subject, nickname: 'New', avatarUrl: 'https://cdn.example/new', data: new RawJson(data) }),
    )
    return game.login({}, { provider: 'data', nickname: 'Client' })
  }

  const keys = (count: number) => `{${times(count, (index) => `"key ${index}":${index}`).join(',')}}`
  const good = '"a":1,"b":{"c":[]}'
  const EXCEEDING: Record<string, string> = {
    'a key of 129 characters': `{${good},"${'k'.repeat(129)}":1}`,
    'a key of 129 emoji': `{${good},"${'😀'.repeat(129)}":1}`,
    'a key of 129 escapes': `{${good},"${'\\u00e9'.repeat(129)}":1}`,
    'a key of 70,000 characters': `{${good},"${'k'.repeat(70_000)}":1}`,
    'an empty key': `{${good},"":1}`,
    'a key with NUL': `{${good},"a\\u0000":1}`,
    'a key with a lone surrogate': `{${good},"\\ud800":1}`,
    'a value of 65,537 bytes': `{${good},"v":"${'x'.repeat(65_535)}"}`,
    'a value of 65,537 bytes in fewer characters': `{${good},"v":"${'é'.repeat(32_767)}x"}`,
    'a value of 65,540 bytes in emoji': `{${good},"v":"${'😀'.repeat(16_384)}xx"}`,
    'a value of 65,537 bytes of white space': `{${good},"v":[${' '.repeat(65_535)}]}`,
    'a value of 65,537 bytes in escapes': `{${good},"v":"${'\\u0041'.repeat(10_922)}xxx"}`,
    '1,001 keys': keys(1001),
    '100,000 keys': keys(100_000),
    'a key ten thousand times': `{${times(10_001, (index) => `"a":${index}`).join(',')}}`,
    'a second data over them': `{"a":1},"data":${keys(1001)}`,
  }

  it.each(Object.entries(EXCEEDING))('refuses %s, for a new player and a known one', async (_what, data) => {
    expectTokens(await loginWith('known', '{"old":"value"}'))
    const player = await playersOf('known')
    const before = await countRows()

    operator.answer(approve(`{"subject":"unknown","nickname":"New","data":${data}}`))
    expect(refusalOf(await game.login({}, { provider: 'data', nickname: 'Client' }))).toEqual(INVALID_DATA)
    operator.answer(approve(`{"subject":"known","nickname":"Changed","avatarUrl":"https://x.example","data":${data}}`))
    expect(refusalOf(await game.login({}, { provider: 'data' }))).toEqual(INVALID_DATA)

    expect(await countRows()).toEqual(before)
    expect(await playersOf('unknown')).toEqual([])
    expect(await playersOf('known')).toEqual(player)
    expect(await storageOf('known')).toEqual({ old: '"value"' })
  })

  // What follows is no JSON: whoever looked at it would call the answer invalid.
  it.each([
    ['1,001 keys', keys(1001)],
    ['a key ten thousand times', `{${times(10_001, (index) => `"a":${index}`).join(',')}}`],
    ['a key of 129 characters', `{"${'k'.repeat(129)}":1}`],
    ['an empty key', '{"":1}'],
    ['a value of 65,537 bytes', `{"v":"${'x'.repeat(65_535)}"}`],
  ])('looks at nothing behind %s: a million more would cost nothing', async (_what, data) => {
    const rest = `${data.slice(0, -1)},${':'.repeat(1_000_000)}`
    for (const body of [`{"subject":"unseen","data":${rest}`, `{"data":${rest}`]) {
      operator.answer(approve(body))
      expect(refusalOf(await game.login({}, { provider: 'data' }))).toEqual(INVALID_DATA)
    }
    expect(await playersOf('unseen')).toEqual([])
  })

  it('counts neither members of members nor those of another field: what nobody looks at may be long', async () => {
    const inner = `{${times(20_000, (index) => `"${index}":{}`).join(',')}}`
    operator.answer(approve(`{"more":${inner},"data":{"list":[${'1,'.repeat(30_000)}1]},"subject":"wide"}`))
    expectTokens(await game.login({}, { provider: 'data' }))
    expect(Object.keys(await storageOf('wide'))).toEqual(['list'])
  })

  it('asks an endpoint once whose data is over the limits (spec 7.1: not retried)', async () => {
    const before = operator.hits.length
    await loginWith('once', '{"":1}')
    expect(operator.hits.length - before).toBe(1)
  })

  const FITTING: Record<string, string> = {
    'a key of 128 characters': `{"${'k'.repeat(128)}":1}`,
    'a key of 128 emoji': `{"${'😀'.repeat(128)}":1}`,
    'a value of 65,536 bytes': `{"v":"${'x'.repeat(65_534)}"}`,
    'a value of 65,536 bytes in fewer characters': `{"v":"${'é'.repeat(32_767)}"}`,
    'a value of 65,536 bytes, with space around': `{"v":  "${'x'.repeat(65_534)}"  }`,
    '1,000 keys': keys(1000),
    '1,000 keys, one of them twice': keys(1000).replace('{', '{"key 0":"first",'),
  }

  it.each(Object.entries(FITTING))('takes %s', async (what, data) => {
    expectTokens(await loginWith(`fitting ${what}`, data))
    const expected = Object.entries(JSON.parse(data)).map(([key, value]) => [key, JSON.stringify(value)])
    expect(Object.entries(await storageOf(`fitting ${what}`)).sort()).toEqual(expected.sort())
  })

  it('counts the keys that a player has already', async () => {
    expectTokens(await loginWith('full', keys(999)))
    const before = await storageOf('full')
    expect(refusalOf(await loginWith('full', '{"key 0":"changed","one":1,"two":2}'))).toEqual(INVALID_DATA)
    expect(await storageOf('full')).toEqual(before)
    expectTokens(await loginWith('full', '{"key 0":"changed","one":1}'))
    expect(await storageOf('full')).toEqual({ ...before, 'key 0': '"changed"', one: '1' })
    expect(refusalOf(await loginWith('full', '{"two":2}'))).toEqual(INVALID_DATA)
    expectTokens(await loginWith('full', '{"one":"again"}'))
    expect(Object.keys(await storageOf('full'))).toHaveLength(1000)
  })
})

describe('what the endpoint receives (spec 4.4)', () => {
  let operator: Operator

  beforeAll(async () => {
    operator = await startOperator(approve({ subject: 'bytes' }))
  })
  afterAll(() => operator.close())

  const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  ')
  const number = fc.oneof(
    fc.constantFrom('0', '-0', '1.0', '1.50', '1e400', '-1E-400', '9007199254740993', '12345678901234567890', '1E+2'),
    fc.bigInt().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )
  const escapes = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
    .map((units) => `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`)
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value)),
    fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value)),
    escapes,
    fc.constantFrom(
      '"\\/\\b\\f"',
      '"__proto__"',
      '"customData"',
      '"\u2028\u2029\ufeff\u007f"',
      '"\\ud800"',
      '"}"',
      '"a"',
    ),
  )
  const join = (parts: readonly string[], open: string, close: string) => `${open}${parts.join(',')}${close}`
  const { object } = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('true', 'false', 'null'),
      number,
      text,
      tie('list'),
      tie('object'),
    ),
    list: fc.array(fc.tuple(space, tie('value'), space), { maxLength: 5 }).map((parts) =>
      join(
        parts.map((part) => part.join('')),
        '[',
        ']',
      ),
    ),
    object: fc
      .tuple(fc.array(fc.tuple(space, text, space, tie('value'), space), { maxLength: 5 }), space)
      .map(([parts, empty]) =>
        parts.length === 0
          ? `{${empty}}`
          : join(
              parts.map(([a, key, b, value, c]) => `${a}${key}${b}:${value}${c}`),
              '{',
              '}',
            ),
      ),
  }))
  /** Objects, some within many others. */
  const customData = fc
    .tuple(
      object,
      fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 25 }) }),
    )
    .map(([inner, depth]) => `${'{"a":['.repeat(depth)}${inner}${']}'.repeat(depth)}`)
    .filter((value) => deepest(value) <= 60)

  function deepest(json: string): number {
    let depth = 0
    let found = 0
    for (const [part] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
      if (part === '{' || part === '[') depth += 1
      if (part === '}' || part === ']') depth -= 1
      found = Math.max(found, depth)
    }
    return found
  }

  it('is the very text that the client sent, signed byte for byte, for ten thousand random objects', async () => {
    const secret = 'bytes'
    await provide('bytes', operator.url, secret)
    await fc.assert(
      fc.asyncProperty(fc.array(customData, { minLength: 64, maxLength: 64 }), async (sent) => {
        const before = operator.hits.length
        const answers = await Promise.all(sent.map((value) => game.login(value, { provider: 'bytes' })))
        expect(answers.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([])
        const hits = operator.hits.slice(before)
        expect(hits.map(({ body }) => body.toString()).sort()).toEqual(
          sent.map((value) => `{"customData":${value}}`).sort(),
        )
        for (const { headers, body } of hits) {
          expect(headers['x-signature']).toMatch(/^[0-9a-f]{64}$/)
          expect(headers['x-signature']).toBe(signatureOf(secret, body))
          expect(headers['content-type']).toBe('application/json')
        }
      }),
      { numRuns: 157 },
    )
    expect(operator.hits.length).toBeGreaterThanOrEqual(10_000)
  })

  it('is signed with any secret that can be set, by both schemes', async () => {
    const bytes = Buffer.from(times(32, (index) => index * 7))
    const SECRETS: [secret: string, standardKey: string | Buffer][] = [
      ['x', 'x'],
      ['пароль 鍵 😀 é', 'пароль 鍵 😀 é'],
      ['e\u0301 is not \u00e9', 'e\u0301 is not \u00e9'],
      [' " \\ $HOME %s \t', ' " \\ $HOME %s \t'],
      ['s'.repeat(512), 's'.repeat(512)],
      [`whsec_${bytes.toString('base64')}`, bytes],
      ['whsec_', 'whsec_'],
    ]
    for (const [secret, standardKey] of SECRETS) {
      await provide('secrets', operator.url, secret)
      expectTokens(await game.login('{"name":"é 鍵"}', { provider: 'secrets' }))
      const hit = operator.hits.at(-1) as Hit
      expect(hit.headers['x-signature']).toBe(createHmac('sha256', Buffer.from(secret)).update(hit.body).digest('hex'))
      expect(hit.headers['webhook-signature']).toBe(standardSignatureOf(standardKey, hit))
    }
  })

  it('is signed with a new secret from the very next login on (spec 4.3)', async () => {
    for (const round of times(30, (index) => index)) {
      await provide('rotated', operator.url, `secret ${round}`)
      await game.login({ round }, { provider: 'rotated' })
      const { headers, body } = operator.hits.at(-1) as Hit
      expect(headers['x-signature']).toBe(signatureOf(`secret ${round}`, body))
    }
  })

  it('carries nothing of the client but customData', async () => {
    await provide('quiet', operator.url)
    const options = { provider: 'quiet', nickname: 'Nick', region: 'eu-west', language: 'pt-BR' }
    await game.login('{"ticket":"t"}', options)
    const { headers, body } = operator.hits.at(-1) as Hit
    expect(body.toString()).toBe('{"customData":{"ticket":"t"}}')
    expect(JSON.stringify(headers)).not.toMatch(/twsdk_|Nick|eu-west|pt-BR/)
    expect(headers.authorization).toBeUndefined()
  })
})

describe('connections to an endpoint', () => {
  it('are kept: fifty logins one after another need one or two', async () => {
    const sockets = new Set<unknown>()
    const operator = await startOperator((hit, response) => {
      sockets.add(response.socket)
      void approve({ subject: 'kept' })(hit, response)
    })
    await provide('kept', operator.url)
    for (const index of times(50, (n) => n)) expectTokens(await game.login({ index }, { provider: 'kept' }))
    expect(operator.hits).toHaveLength(50)
    expect(sockets.size).toBeLessThanOrEqual(2)
    await operator.close()
  })

  it('never cost a login anything when the endpoint closes them as soon as they are idle', async () => {
    const server = createServer({ keepAliveTimeout: 1 }, (incoming, response) => {
      incoming.resume().on('end', () => response.end('{"subject":"idle"}'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await provide('idle', `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`)
    for (const index of times(200, (n) => n)) expectTokens(await game.login({ index }, { provider: 'idle' }))
    await new Promise((resolve) => server.close(resolve))
  })

  it('never cost a login more than one attempt when they close unannounced', async () => {
    let answered = 0
    const operator = await startRawOperator((socket) => {
      answered += 1
      socket.write(httpAnswer('200 OK', '{"subject":"unannounced"}'))
      // Now and then in the very moment in which the next request is on its way.
      setTimeout(() => socket.destroy(), answered % 8)
    })
    await provide('unannounced', operator.url)
    for (const index of times(100, (n) => n)) expectTokens(await game.login({ index }, { provider: 'unannounced' }))
    await operator.close()
  })
})

describe('an endpoint that answers without end', () => {
  const approval = '{"subject":"large"}'
  const LIMIT = 16 * MIB
  /** Fifty megabytes of nothing, in some 48 KB. */
  const BOMB = gzipSync(Buffer.alloc(50_000_000, ' '), { level: 9 })
  const PIECE = Buffer.alloc(65_536, ' ')

  it('is not listened to when it announces more than 16 MiB', async () => {
    const operator = await startRawOperator((socket) =>
      socket.write(httpHead('200 OK', [`content-length: ${LIMIT + 1}`])),
    )
    await provide('large', operator.url)
    expect(refusalOf(await game.login({}, { provider: 'large' }))).toEqual(INVALID_RESPONSE)
    // No body ever comes: whoever waited for it would say `timeout`.
    expect(await errorsOf('large')).toEqual(['too_large'])
    expect(operator.hits).toHaveLength(1)
    await until('its connection is closed', () => operator.open === 0)
    await operator.close()
  })

  it('is listened to up to 16 MiB and not a byte more, compressed or not', async () => {
    const whole = Buffer.alloc(LIMIT, ' ')
    whole.write(approval)
    const tooMuch = Buffer.concat([whole, Buffer.from(' ')])
    const packed = new Map([whole, tooMuch].map((plain) => [plain, gzipSync(plain, { level: 1 })]))
    const operator = await startOperator(({ customData }, response) => {
      const { isWhole, isPacked, isChunked } = JSON.parse(customData)
      const plain = isWhole ? whole : tooMuch
      const body = (isPacked && packed.get(plain)) || plain
      response.writeHead(200, {
        ...(isPacked && { 'content-encoding': 'gzip' }),
        ...(!isChunked && { 'content-length': body.length }),
      })
      response.end(body)
    })
    await provide('large', operator.url)
    for (const isPacked of [false, true]) {
      for (const isChunked of [false, true]) {
        expectTokens(await game.login({ isWhole: true, isPacked, isChunked }, { provider: 'large' }))
        const refused = await game.login({ isWhole: false, isPacked, isChunked }, { provider: 'large' })
        expect(refusalOf(refused)).toEqual(INVALID_RESPONSE)
      }
    }
    expect(operator.hits).toHaveLength(8)
    await operator.close()
  })

  describe('to a service that is measured', () => {
    let database: TestDatabase
    let world: World
    let service: Service
    let credentials: { sdkKey: string; platformKey: string; projectId: string }
    const METRICS_TOKEN = 'token of the metrics'

    beforeAll(async () => {
      await buildService()
      database = await createDatabase()
      world = await createWorld(database.url)
      const { rows } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [
        world.environmentId,
      ])
      const projectId = rows[0].project_id
      credentials = {
        projectId,
        sdkKey: (await createSdkKey(world.pool, world.environmentId)).key,
        platformKey: (await createPlatformKey(world.pool, projectId, 'admin')).key,
      }
      service = await startService({ ...world.env, METRICS_TOKEN, WEBHOOK_PRIVATE_ADDRESSES: 'allow' })
    })
    afterAll(async () => {
      await stopService(service)
      await world?.close()
      await database?.drop()
    })

    async function send(
      method: string,
      path: string,
      headers: Record<string, string>,
      body: Json,
    ): Promise<ServiceAnswer> {
      const response = await fetch(`${service.baseUrl}${path}`, { method, headers, body: print(body) })
      return { status: response.status, headers: response.headers, body: await response.json() }
    }

    async function setProvider(url: string): Promise<void> {
      const { platformKey, projectId } = credentials
      const body = {
        environment: 'production',
        authProviders: { custom: { default: { enabled: true, url, secret: 's' } } },
      }
      const headers = { authorization: `Bearer ${platformKey}` }
      const { status } = await send('PUT', `/platform/v1/projects/${projectId}/auth-providers`, headers, body)
      expect(status).toBe(200)
    }

    const login = (customData: Json) =>
      send('POST', '/sdk/v1/authorization/custom', { 'x-sdk-key': credentials.sdkKey }, { customData })

    async function residentBytes(): Promise<number> {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
      const text = await (await fetch(`${service.baseUrl}/metrics`, { headers })).text()
      return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
    }

    it.each([1, 20])(
      'keeps its memory when %i at a time send 100 MB, or 48 KB that inflate to 50 MB',
      async (count) => {
        const operator = await startOperator(({ customData }, response) => {
          const { kind } = JSON.parse(customData)
          if (kind === 'plain') return void response.end(approval)
          if (kind === 'bomb') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB)
          let left = 100_000_000
          const pour = () => {
            while (left > 0 && !response.destroyed) {
              left -= PIECE.length
              if (!response.write(PIECE)) return
            }
            response.end()
          }
          response.on('drain', pour)
          pour()
        })
        await setProvider(operator.url)
        // A process that has not worked yet grows whatever it does.
        for (const _ of times(20, () => 0)) await Promise.all(times(20, () => login({ kind: 'plain' })))
        const before = await residentBytes()
        const peaks: number[] = []
        for (const kind of ['flood', 'bomb', 'flood', 'bomb']) {
          const hits = operator.hits.length
          let peak = before
          let answers: ServiceAnswer[] | undefined
          void Promise.all(times(count, (index) => login({ index, kind }))).then((all) => {
            answers = all
          })
          await until('all are answered', async () => {
            peak = Math.max(peak, await residentBytes())
            return answers !== undefined
          })
          for (const { status, body } of answers ?? [])
            expect([status, body.error, body.code]).toEqual(INVALID_RESPONSE)
          // What a busy machine could not read within three seconds is asked for again.
          expect(operator.hits.length - hits).toBeGreaterThanOrEqual(count)
          peaks.push(peak)
        }
        // One whole body in any form would be more than the first bound, twenty several times the second.
        const [first = 0, second = 0, ...again] = peaks
        expect((Math.max(first, second) - before) / MIB).toBeLessThan(count === 1 ? 96 : 256)
        expect((Math.max(...again) - Math.max(first, second)) / MIB).toBeLessThan(64)
        await operator.close()
      },
    )

    it('keeps its memory, and answers others, when some send all that they can in chunks of a byte', async () => {
      const chunks = '1\r\n \r\n'.repeat(20_000)
      // Twelve million and then silence: on no machine are they 16 MiB, which would be another answer.
      const pieces = 600
      const operator = await startRawOperator((socket) => {
        socket.write(httpHead('200 OK', ['transfer-encoding: chunked']))
        flood(socket, chunks, pieces)
      })
      await setProvider(operator.url)
      const before = await residentBytes()
      let answers: ServiceAnswer[] | undefined
      void Promise.all(times(4, (index) => login({ index }))).then((all) => {
        answers = all
      })
      let [peak, others] = [before, 0]
      await until('all are answered', async () => {
        peak = Math.max(peak, await residentBytes())
        others += 1
        return answers !== undefined
      })
      for (const { status, body } of answers ?? []) expect([status, body.error, body.code]).toEqual(UNAVAILABLE)
      expect((peak - before) / MIB).toBeLessThan(256)
      // In ten seconds. One that is busy with the chunks alone answers once, at the end.
      expect(others).toBeGreaterThan(10)
      await operator.close()
    })
  })
})

describe("an endpoint that hangs is nobody else's trouble", () => {
  it('leaves a thousand calls of players in play alone while three hundred logins wait for it', async () => {
    await game.publish('season', season())
    const players = await Promise.all(times(20, () => game.player()))
    for (const player of players) await player.start('season')
    const place = { scenarioId: 'season', nodeId: 'pass' }

    /** How long a thousand calls take, fifty at a time. */
    async function thousandCalls(): Promise<{ median: number; longest: number }> {
      const calls: number[] = []
      let left = 1_000
      const workers = times(50, async (worker) => {
        while (left > 0) {
          left -= 1
          const elapsed = startStopwatch()
          const { status } = await (players[worker % 20] ?? expect.fail()).post('/sdk/v1/battlepass/progress', place)
          calls.push(elapsed())
          expect(status).toBe(200)
        }
      })
      await Promise.all(workers)
      calls.sort((a, b) => a - b)
      return { median: calls[calls.length >> 1] ?? 0, longest: calls.at(-1) ?? 0 }
    }

    const operator = await startOperator(approve({ subject: 'patient' }))
    const other = await startOperator(approve({ subject: 'other' }))
    await provide('hanging', operator.url)
    await provide('other', other.url)
    const idle = await thousandCalls()

    const waiting: (() => void)[] = []
    operator.answer((hit, response) => void waiting.push(() => approve({ subject: 'patient' })(hit, response)))
    const logins = Promise.all(times(300, (index) => game.login({ index }, { provider: 'hanging' })))
    await until('three hundred logins wait', () => waiting.length >= 300)

    // Others work now and then. A login that held a connection would hold it at every look.
    await until('nothing of the database is held', async () => {
      const { rows } = await game.app.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend' AND state <> 'idle'`,
      )
      return rows.length === 0
    })
    const busy = await thousandCalls()
    expect(busy.median).toBeLessThan(Math.max(250, 4 * idle.median))
    // One that waited for the webhook would wait for three seconds.
    expect(busy.longest).toBeLessThan(2_000)
    expectTokens(await game.login({}, { provider: 'other' }))

    operator.answer(approve({ subject: 'patient' }))
    for (const release of waiting) release()
    for (const answer of await logins) expectTokens(answer)
    expect(await playersOf('patient')).toHaveLength(1)
    await operator.close()
    await other.close()
  })

  it('leaves the answers of others alone while a hundred of its own, whole but for a byte, wait in memory', async () => {
    const almostAll = Buffer.alloc(16 * MIB - 1, ' ')
    let begun = 0
    const operator = await startRawOperator((socket) => {
      begun += 1
      socket.write(httpHead('200 OK', [`content-length: ${16 * MIB}`]))
      socket.write(almostAll)
    })
    const other = await startOperator(approve({ subject: 'other' }))
    await provide('hoarder', operator.url)
    await provide('neighbour', other.url)
    const logins = Promise.all(times(100, (index) => game.login({ index }, { provider: 'hoarder' })))
    await until('all have begun', () => begun >= 100)

    // As long as the first attempts last.
    const end = performance.now() + 3_000
    let count = 0
    for (; performance.now() < end; count += 1) expectTokens(await game.login({}, { provider: 'neighbour' }))
    expect(other.hits).toHaveLength(count)
    await operator.close()
    for (const answer of await logins) expect(refusalOf(answer)).toEqual(UNAVAILABLE)
    await other.close()
  })

  it("leaves the answers of other projects alone, however many of its project's providers hoard memory", async () => {
    const almostAll = Buffer.alloc(16 * MIB - 1, ' ')
    const hoarder = await startRawOperator((socket) => {
      socket.write(httpHead('200 OK', [`content-length: ${16 * MIB}`]))
      socket.write(almostAll)
    })
    const long = `{"subject":"other","data":{}${' '.repeat(MIB)}}`
    const other = await startOperator((_, response) => void response.end(long))
    const webhook = createWebhook({ allowPrivateAddresses: true })
    const target = (projectId: string, name: string, url: string) =>
      webhook.call({ key: `${projectId}/${name}`, projectId, url, secret: 's', replacedSecrets: [] }, '{}')
    // All of them, two a provider, would be the whole memory for answers.
    const hoards = Promise.all(times(32, (index) => target('hoarder', String(index % 16), hoarder.url)))
    await until('all have begun', () => hoarder.hits.length >= 32)

    // As long as the first attempts last.
    const end = performance.now() + 3_000
    let count = 0
    for (; performance.now() < end; count += 1) {
      const result = await target('neighbour', 'default', other.url)
      expect(result.kind === 'answered' && result.text === long).toBe(true)
    }
    expect(other.hits).toHaveLength(count)
    await hoarder.close()
    for (const { kind, attempts } of await hoards) {
      expect(kind).toBe('unavailable')
      expect(['timeout', 'overloaded']).toContain(attempts[0]?.error)
    }
    await other.close()
    await webhook.close()
  })

  it('is asked by five hundred logins at once and no more; another one is free meanwhile', async () => {
    const waiting: (() => void)[] = []
    const operator = await startOperator(
      (hit, response) => void waiting.push(() => approve({ subject: 'crowd' })(hit, response)),
    )
    const other = await startOperator(approve({ subject: 'other' }))
    await provide('crowd', operator.url)
    await provide('other', other.url)
    const logins = Promise.all(times(500, (index) => game.login({ index }, { provider: 'crowd' })))
    await until('five hundred logins wait', () => waiting.length >= 500)

    expect(refusalOf(await game.login({ index: 'one more' }, { provider: 'crowd' }))).toEqual(UNAVAILABLE)
    // It did not wait for a place.
    expect(await errorsOf('crowd')).toEqual(['overloaded'])
    expect(operator.hits.some(({ customData }) => customData.includes('one more'))).toBe(false)
    expectTokens(await game.login({}, { provider: 'other' }))

    operator.answer(approve({ subject: 'crowd' }))
    for (const release of waiting) release()
    for (const each of await logins) expectTokens(each)
    // Whoever was answered has left room.
    expectTokens(await game.login({}, { provider: 'crowd' }))
    await operator.close()
    await other.close()
  })
})

describe('a client that leaves', () => {
  it('leaves nothing half-written, and logs in when it comes again', async () => {
    const waiting: (() => void)[] = []
    const approval = { subject: 'gone', nickname: 'Gone', data: { a: 1, b: 2 } }
    const operator = await startOperator((hit, response) => void waiting.push(() => approve(approval)(hit, response)))
    await provide('gone', operator.url)
    for (const round of times(20, (index) => index)) {
      const body = print({ customData: { round }, provider: 'gone' })
      const client = request(`${game.baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'x-sdk-key': game.sdkKey, 'content-length': Buffer.byteLength(body) },
      })
      client.on('error', () => undefined).end(body)
      await until('the endpoint is asked', () => waiting.length > 0)
      if (round % 2 === 0) client.destroy()
      waiting.shift()?.()
      client.destroy()
    }
    operator.answer(approve(approval))
    const { body } = await game.login({}, { provider: 'gone' })
    const { data } = await game.graphql(body.accessToken, '{ me { playerId nickname } }')
    const [player, ...others] = await playersOf('gone')
    expect([others, data.me]).toEqual([[], { playerId: player?.id, nickname: 'Gone' }])
    expect(await storageOf('gone')).toEqual({ a: '1', b: '2' })
    const { rows } = await game.app.pool.query(
      "SELECT * FROM events WHERE type = 'player.created' AND player_id = $1",
      [player?.id],
    )
    expect(rows).toHaveLength(1)
    await operator.close()
  })
})
