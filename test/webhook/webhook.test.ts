import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, times } from '../harness/game.ts'
import { approve, type Hit, type Operator, signatureOf, startOperator, status } from '../harness/operator.ts'
import { httpAnswer, type RawOperator, startCanary, startRawOperator } from '../harness/raw-operator.ts'
import { atScale } from '../harness/scale.ts'
import {
  CLOCK_TOLERANCE_MS,
  EARLY_MS,
  expectTokens,
  game,
  INVALID_RESPONSE,
  provide,
  REJECTED,
  refusalOf,
  startWebhookGame,
  stopWebhookGame,
  timedLogin,
  UNAVAILABLE,
} from './webhook-game.ts'

// The service's call of a studio's endpoint: what the endpoint receives and what the game client gets.

const OBJECTS_AT_ONCE = 10
const OBJECTS = OBJECTS_AT_ONCE * atScale(1_000, 32)

beforeAll(startWebhookGame)
afterAll(stopWebhookGame)

/** The expected `webhook-signature` (Standard Webhooks), by the key that the secret encodes. */
function standardSignatureOf(key: string | Buffer, { headers, body }: Hit): string {
  const signed = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
  return `v1,${signed.update(body).digest('base64')}`
}

const gapsOf = (hits: readonly number[]): number[] => hits.slice(1).map((at, index) => at - (hits[index] ?? 0))

describe('a login and the status of its webhook (contract 7.1)', () => {
  interface Outcome {
    readonly answer: Answer
    readonly hits: readonly number[]
  }

  const outcomes = new Map<number, Outcome>()
  let canary: RawOperator

  beforeAll(async () => {
    canary = await startCanary()
    // The body always approves and a redirect target exists: only the status decides.
    const operator = await startOperator(({ customData }, response) => {
      const asked = Number(JSON.parse(customData).status)
      response.writeHead(asked, { 'content-type': 'application/json', location: canary.url })
      response.end(`{"subject":"status-${asked}"}`)
    })
    await provide('status', operator.url)
    // Those that have a name, and the last of each hundred.
    const isTried = (asked: number) => atScale(100, 32) > asked % 100 || asked % 100 === 99
    const statuses = [...times(400, (index) => 200 + index).filter(isTried), 600, 777, 999]
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

  it('gets a token pair for a 200 after one call', () => {
    const outcome = outcomes.get(200)
    expectTokens(outcome?.answer as Answer)
    expect(outcome?.hits).toHaveLength(1)
  })

  it('treats every other 2xx as an invalid response after one call', () => {
    expectEach(201, 299, INVALID_RESPONSE, 1)
  })

  it('treats every 3xx as an invalid response after one call and follows no redirect', () => {
    expectEach(300, 399, INVALID_RESPONSE, 1)
    expect(canary.connections).toBe(0)
  })

  it('treats every 4xx as a rejection after one call', () => {
    expectEach(400, 499, REJECTED, 1)
  })

  it('is unavailable after three calls, 300 ms apart, for every 5xx', () => {
    expectEach(500, 599, UNAVAILABLE, 3)
    const gaps = [...outcomes].filter(([asked]) => asked >= 500 && asked <= 599).flatMap(([, { hits }]) => gapsOf(hits))
    expect(gaps).toHaveLength(2 * atScale(100, 33))
    // A busy receiver may notice a first call late, and so see some gaps shorter than they were.
    expect(gaps.sort((one, other) => one - other)[gaps.length / 2]).toBeGreaterThanOrEqual(300 - EARLY_MS)
  })

  it('treats a status of 600 or more as an invalid response after one call', () => {
    expectEach(600, 999, INVALID_RESPONSE, 1)
  })

  it('waits for the final answer after interim ones', async () => {
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

describe('the attempts of a login (contract 8)', () => {
  it('succeed at the third, with the same bytes and id and a valid signature on all three', async () => {
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
    // A longer wait would show in every gap.
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

  it('end at a final answer: a 403 is not retried, as the first answer or after a 500', async () => {
    const operator = await startOperator((hit, response) => status(hit.number === 2 ? 500 : 403)(hit, response))
    await provide('final', operator.url)
    expect(refusalOf(await game.login({}, { provider: 'final' }))).toEqual(REJECTED)
    expect(operator.hits).toHaveLength(1)
    expect(refusalOf(await game.login({}, { provider: 'final' }))).toEqual(REJECTED)
    expect(operator.hits).toHaveLength(3)
    await operator.close()
  })
})

describe('the request to an endpoint (contract 4.4)', () => {
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
  /** Objects, some of them deeply nested. */
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

  it(`has the exact customData text of the client, signed byte for byte, for ${OBJECTS} random objects`, async () => {
    const secret = 'bytes'
    await provide('bytes', operator.url, secret)
    await fc.assert(
      fc.asyncProperty(
        fc.array(customData, { minLength: OBJECTS_AT_ONCE, maxLength: OBJECTS_AT_ONCE }),
        async (sent) => {
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
        },
      ),
      { numRuns: OBJECTS / OBJECTS_AT_ONCE, endOnFailure: true },
    )
    expect(operator.hits.length).toBeGreaterThanOrEqual(OBJECTS)
  })

  it('is signed with every kind of secret, in both schemes', async () => {
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

  it('contains nothing of the client but customData', async () => {
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
  it('are reused: twenty sequential logins need at most two', async () => {
    const sockets = new Set<unknown>()
    const operator = await startOperator((hit, response) => {
      sockets.add(response.socket)
      void approve({ subject: 'kept' })(hit, response)
    })
    await provide('kept', operator.url)
    for (const index of times(20, (n) => n)) expectTokens(await game.login({ index }, { provider: 'kept' }))
    expect(operator.hits).toHaveLength(20)
    expect(sockets.size).toBeLessThanOrEqual(2)
    await operator.close()
  })

  it('do not fail a login when the endpoint closes them as soon as they are idle', async () => {
    const server = createServer({ keepAliveTimeout: 1 }, (incoming, response) => {
      incoming.resume().on('end', () => response.end('{"subject":"idle"}'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await provide('idle', `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`)
    for (const index of times(60, (n) => n)) expectTokens(await game.login({ index }, { provider: 'idle' }))
    await new Promise((resolve) => server.close(resolve))
  })

  it('do not fail a login when they close unexpectedly', async () => {
    let answered = 0
    const operator = await startRawOperator((socket) => {
      answered += 1
      socket.write(httpAnswer('200 OK', '{"subject":"unannounced"}'))
      // Sometimes just as the next request is on its way.
      setTimeout(() => socket.destroy(), answered % 8)
    })
    await provide('unannounced', operator.url)
    for (const index of times(48, (n) => n)) expectTokens(await game.login({ index }, { provider: 'unannounced' }))
    await operator.close()
  })
})
