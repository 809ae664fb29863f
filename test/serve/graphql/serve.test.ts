import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import fc from 'fast-check'
import { parse } from 'graphql'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeptDocuments } from '../../../src/serve/graphql/documents.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../../harness/game.ts'
import { ADD_XP, PROGRESS } from '../../harness/surfaces.ts'
import { until } from '../../harness/until.ts'

// A document that Yoga has validated before runs without Yoga. An answer must not show which way it was made.

const ORIGIN = 'https://dashboard.example.com'

let game: Game
let player: TestPlayer
let runId: string
/** By the id of a request: whether Yoga has served it. */
const byYoga = new Map<string, boolean>()

beforeAll(async () => {
  // The body of a request is read before it is handed over to Yoga.
  subscribe('http.server.response.finish', (message) => {
    const { request } = message as { request: IncomingMessage & { body?: unknown } }
    byYoga.set(String(request.headers['x-request-id']), request.body !== undefined || request.method !== 'POST')
  })
  game = await startGame({ ALLOWED_ORIGINS: ORIGIN })
  await game.publish('season', season())
  player = await game.player({ wallet: { gems: 5n } })
  runId = await player.start('season')
})
afterAll(() => game?.stop())

interface Sent {
  readonly body: string
  readonly accept?: string
  readonly contentType?: string
  readonly authorization?: string
}

let requests = 0

/** The answer, and whether Yoga gave it. */
async function send({
  body,
  accept,
  contentType = 'application/json',
  authorization = `Bearer ${player.token}`,
}: Sent) {
  requests += 1
  const id = `request-${requests}`
  const sent = request(`${game.baseUrl}/graphql`, {
    method: 'POST',
    headers: {
      origin: ORIGIN,
      authorization,
      'content-type': contentType,
      'x-request-id': id,
      ...(accept !== undefined && { accept }),
    },
  })
  const [response] = (await once(sent.end(body), 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += chunk
  const { date: _date, ...headers } = response.headers
  await until('it is noted who answered', () => byYoga.has(id))
  const answer = {
    status: response.statusCode,
    headers: { ...headers, 'x-request-id': '' },
    text: text.replaceAll(id, ''),
  }
  return { answer, isByYoga: byYoga.get(id) }
}

/** Pairs of equivalent values of Accept: the first takes the short way, the second always goes to Yoga. */
const ACCEPTS: readonly (readonly [string | undefined, string])[] = [
  [undefined, '*/*;q=1'],
  ['*/*', '*/*;q=1'],
  ['application/json', 'application/json;q=1'],
  ['application/json, text/event-stream', 'application/json;q=1, text/event-stream'],
  ['application/graphql-response+json', 'application/graphql-response+json;q=1'],
  [
    'application/graphql-response+json,application/json;q=0.9',
    'application/graphql-response+json;q=1,application/json;q=0.9',
  ],
]

/** Sends a request both ways, twice, so that its document is known. Returns whether it took the short way. */
async function compare(sent: Sent, accepts = ACCEPTS): Promise<boolean> {
  let isShort = false
  for (const [accept, ofYoga] of accepts) {
    for (const _ of times(2, Number)) {
      const [short, long] = [await send({ ...sent, accept }), await send({ ...sent, accept: ofYoga })]
      expect([sent, accept, short.answer]).toEqual([sent, accept, long.answer])
      expect(long.isByYoga).toBe(true)
      isShort = !short.isByYoga
    }
  }
  return isShort
}

const json = (body: unknown): Sent => ({ body: JSON.stringify(body) })
const place = { scenarioId: 'season', nodeId: 'pass' }
const xp = () => ({ ...place, runId, amount: 5, source: 'quest', idempotencyKey: 'serve' })

describe('the short way without Yoga', () => {
  it.each(['constructor', '__proto__', 'toString'])('refuses the unknown media type %s', async (accept) => {
    const sent = json({ query: '{ __typename }' })
    for (const _ of times(2, Number)) expect((await send(sent)).answer.status).toBe(200)
    expect(await send({ ...sent, accept })).toMatchObject({ answer: { status: 406 }, isByYoga: false })
  })

  it('answers as Yoga does: results, refusals, invalid variables, nulls', async () => {
    const me = 'query Me { me { id } } query Wallet { me { wallet { currency balance } } }'
    const conditional = `query ($yes: Boolean = true, $no: Boolean!) { a: me { ...P @include(if: $yes) nickname @skip(if: $no) }
      ... on Query { me { id } } } fragment P on Player { __typename identities { subject } }`
    for (const sent of [
      json({ query: ADD_XP, variables: { input: xp() } }),
      json({ query: ADD_XP, variables: { input: { ...xp(), runId: 'none' } } }),
      json({ query: ADD_XP, variables: { input: { ...xp(), amount: 0, source: 'x'.repeat(65) } } }),
      json({ query: ADD_XP, variables: { input: { ...xp(), amount: '1.0' } } }),
      json({ query: ADD_XP, variables: { input: { ...xp(), amuont: 1 } } }),
      json({ query: ADD_XP, variables: { input: null } }),
      json({ query: ADD_XP, variables: {} }),
      json({ query: ADD_XP, variables: null }),
      json({ query: ADD_XP }),
      json({ query: PROGRESS, variables: place, extensions: {}, operationName: null }),
      json({ query: PROGRESS, variables: { ...place, nodeId: 7 } }),
      json({ query: me, operationName: 'Me' }),
      json({ query: me, operationName: 'Wallet' }),
      json({ query: conditional, variables: { no: false } }),
      json({ query: conditional, variables: { no: true, yes: false } }),
      json({ query: '{ a: me { id } b: player(id: "x") { id } }' }),
      json({ query: '{ me { walletLedger(first: 0) { edges { cursor } } } }' }),
      json({ query: '{ me { walletLedger(first: 3) { edges { cursor node { amount } } } } }' }),
      json({ query: '{ project { name } }' }),
      json({ query: '{ __typename }' }),
      json({ query: '{ __schema { types { name } } }' }),
      { ...json({ query: '{ me { id } }' }), authorization: 'Bearer nothing' },
      { ...json({ query: '{ project { name } }' }), authorization: `Bearer ${game.platformKey}` },
      ...['application/json; charset=utf-8', 'Application/JSON', 'application/json ;charset="UTF-8"'].map(
        (contentType) => ({
          ...json({ query: '{ me { id } }' }),
          contentType,
        }),
      ),
    ])
      expect([sent, await compare(sent)]).toEqual([sent, true])
  })

  it('leaves invalid requests to Yoga each time', async () => {
    const deep = `{ ${'a { '.repeat(11)}a${' }'.repeat(11)} }`
    const two = 'query A { __typename } query B { __typename }'
    for (const sent of [
      { body: '' },
      { body: '{' },
      { body: '\ufeff{"query":"{ __typename }"}' },
      ...['null', '7', '"text"', '[]', '{}', '[{"query":"{ __typename }"}]'].map((body) => ({ body })),
      json({ query: 7 }),
      json({ query: '' }),
      json({ query: '{ me {' }),
      json({ query: '{ nothing }' }),
      json({ query: deep }),
      json({ query: `{ ${times(16, (index) => `a${index}: me { id }`).join(' ')} }` }),
      json({ query: `{ me { ${'id '.repeat(1000)} } }` }),
      json({ query: '{ __typename }', variables: [] }),
      json({ query: '{ __typename }', variables: 'x' }),
      json({ query: '{ __typename }', extensions: 7 }),
      json({ query: '{ __typename }', more: 1 }),
      json({ query: '{ __typename }', operationName: 'None' }),
      json({ query: '{ __typename }', operationName: 7 }),
      json({ query: two }),
      json({ documentId: 'x' }),
      json({ query: '{ __typename }', extensions: { persistedQuery: { version: 2 } } }),
    ])
      expect([sent, await compare(sent)]).toEqual([sent, false])
  })

  it('answers as Yoga does for any combination of valid and invalid members', async () => {
    const absent = fc.constant(undefined)
    const sent = fc.record({
      query: fc.constantFrom(
        ADD_XP,
        PROGRESS,
        '{ __typename }',
        'query A { me { id } } query B { __typename }',
        '{',
        7,
      ),
      variables: fc.oneof(
        absent,
        fc.constantFrom<unknown>(null, {}, place, [], 'x'),
        fc.record({ input: fc.oneof(fc.constant({}), fc.record(xpMembers(), { requiredKeys: [] }), fc.jsonValue()) }),
      ),
      operationName: fc.constantFrom<unknown>(undefined, undefined, null, 'A', 'B', '', 7),
      extensions: fc.constantFrom<unknown>(undefined, undefined, null, {}, [], { persistedQuery: null }),
      documentId: fc.constantFrom<unknown>(undefined, undefined, undefined, null, 'x', 7),
    })
    await fc.assert(
      fc.asyncProperty(sent, fc.constantFrom(...ACCEPTS), async (body, accepts) => {
        await compare(json(body), [accepts])
      }),
      { numRuns: 70 },
    )
  }, 120_000)

  const xpMembers = () => ({
    scenarioId: fc.constantFrom<unknown>('season', '', null, 7),
    nodeId: fc.constantFrom<unknown>('pass', 'nowhere', ['pass']),
    runId: fc.constantFrom<unknown>('none', true),
    amount: fc.constantFrom<unknown>(1, '1', '1.0', 0, null, 1.5, 2 ** 53, {}),
    source: fc.constantFrom<unknown>('', 'quest', '\u0000', null),
  })

  it('leaves subscriptions, and answers of other media types, to Yoga', async () => {
    const { isByYoga } = await send({ ...json({ query: '{ __typename }' }), accept: 'text/event-stream' })
    expect(isByYoga).toBe(true)
    expect(await compare(json({ query: 'subscription { events(after: "x") { cursor } }' }))).toBe(false)
  })
})

describe('a request over HTTP', () => {
  const ask = (
    method: string,
    headers: Record<string, string>,
    { body, path = '' }: { body?: string; path?: string } = {},
  ) => fetch(`${game.baseUrl}/graphql${path}`, { method, headers, body })

  it('has an id in every answer: that of the caller if it is valid, else a new one', async () => {
    const type = { 'content-type': 'application/json' }
    const body = JSON.stringify({ query: '{ __typename }' })
    for (const [method, headers, more] of [
      ['POST', type, { body }],
      ['POST', type, { body }],
      ['POST', { ...type, accept: '*/*;q=1' }, { body }],
      ['POST', { ...type, accept: 'text/event-stream' }, { body }],
      ['POST', type, { body: '{' }],
      ['POST', type, { body: ' '.repeat(2 ** 21) }],
      ['POST', { 'content-type': 'text/plain' }, { body }],
      ['GET', {}, { path: '?query={__typename}' }],
      ['GET', { accept: 'text/html' }, {}],
      ['OPTIONS', {}, {}],
      ['PUT', type, { body }],
    ] as const) {
      const named = await ask(method, { ...headers, 'x-request-id': 'client-1:a.b_c', origin: ORIGIN }, more)
      expect([method, named.headers.get('x-request-id')]).toEqual([method, 'client-1:a.b_c'])
      expect(named.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(named.headers.get('access-control-expose-headers')).toBe(
        'date, ratelimit, ratelimit-policy, retry-after, tierway-game-time, x-request-id',
      )
      await named.text()
      const other = await ask(method, { ...headers, 'x-request-id': '<script>' }, more)
      expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      await other.text()
    }
  })

  it('has its id in the log and in the error when it fails', async () => {
    const told: Record<string, unknown>[] = []
    const broken = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) }))
    try {
      const { token } = await broken.player()
      await broken.app.pool.query('DROP TABLE wallets CASCADE')
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      for (const accept of ['application/json;q=1', 'application/json', 'text/event-stream']) {
        const response = await fetch(`${broken.baseUrl}/graphql`, {
          method: 'POST',
          headers: { ...headers, accept, 'x-request-id': `named ${accept}`.replaceAll(/[^\w]/g, '-') },
          body: JSON.stringify({ query: '{ me { wallet { balance } } }' }),
        })
        const requestId = response.headers.get('x-request-id')
        expect(await response.text()).toContain(`"requestId":"${requestId}"`)
        expect(told.at(-1)).toMatchObject({ level: 50, path: '/graphql me', requestId })
      }
    } finally {
      await broken.stop()
    }
  })

  it('is counted by its status, a stream when it begins', async () => {
    const counting = await startGame()
    try {
      const { token } = await counting.player()
      const isCounted = (expected: Record<number, number>) =>
        until(`the answers are ${JSON.stringify(expected)}`, async () => {
          const { values } = await counting.app.metrics.requests.get()
          const found = values.filter(({ labels }) => labels.route === '/graphql')
          const counts = Object.fromEntries(found.map(({ labels, value }) => [labels.status, value]))
          return JSON.stringify(counts) === JSON.stringify(expected)
        })
      const post = (body: string, init: RequestInit = {}) =>
        fetch(`${counting.baseUrl}/graphql`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${token}`,
            accept: '*/*, text/event-stream',
          },
          body,
          ...init,
        })
      const left = new AbortController()
      const query = 'subscription { events { cursor } }'
      expect((await post(JSON.stringify({ query }), { signal: left.signal })).status).toBe(200)
      await post(JSON.stringify({ query: '{ __typename }' }))
      await post(JSON.stringify({ query: '{ __typename }' }))
      await post(' '.repeat(2 ** 21))
      await isCounted({ 200: 3, 413: 1 })
      left.abort()
      const told = await counting.app.metrics.registry.metrics()
      expect(told).toContain('tierway_http_request_seconds_count{route="/graphql"} 4\n')
    } finally {
      await counting.stop()
    }
  })
})

describe('kept documents', () => {
  const field = (name: string, count: number) => `{ ${`${name} `.repeat(count)}}`

  it('are limited in number and in size', () => {
    const kept = new KeptDocuments(new Map())
    const fill = (count: number, text: (index: number) => string) => {
      const texts = times(count, text)
      for (const one of texts) kept.set(one, parse(one))
      return texts.filter((one) => kept.get(one)).length
    }
    expect(fill(300, (index) => field(`small${index}`, 3))).toBe(100)
    const large = fill(300, (index) => field(`large${index}`, 990))
    expect(large).toBeGreaterThan(20)
    expect(large).toBeLessThan(40)
    expect(fill(1, () => field('x', 40_000))).toBe(0)
  })

  it('are never dropped when they are persisted', () => {
    const kept = new KeptDocuments(new Map([['hash', '{ me }']]))
    const document = parse('{ me }')
    kept.set('{ me }', document)
    for (const index of times(300, Number)) kept.set(`{ a${index} }`, parse(`{ a${index} }`))
    expect(kept.get('{ me }')).toBe(document)
    expect(kept.get('{ a0 }')).toBeUndefined()
  })
})
