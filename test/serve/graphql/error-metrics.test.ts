import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Game, startGame } from '../../harness/game.ts'

let game: Game
beforeAll(async () => {
  game = await startGame({ GRAPHQL_MAX_COST: '90', RATE_LIMITS: 'graphql=300/h', MAX_BODY_BYTES: '70000' })
})
afterAll(() => game?.stop())

/** The counted errors, by operation and code. */
async function counted(): Promise<Record<string, number>> {
  const metric = await game.app.metrics.registry.getSingleMetric('tierway_graphql_errors_total')?.get()
  return Object.fromEntries(
    (metric?.values ?? []).map(({ labels, value }) => [`${labels.operation}: ${labels.code}`, value]),
  )
}

/** How much each count grows during some work. */
async function growthOf(work: () => Promise<void>): Promise<Record<string, number>> {
  const before = await counted()
  await work()
  const after = Object.entries(await counted())
  return Object.fromEntries(
    after.map(([key, value]) => [key, value - (before[key] ?? 0)] as const).filter(([, growth]) => growth !== 0),
  )
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const persistedQuery = { version: 1, sha256Hash: sha256('unknown') }

const bodies: [title: string, body: unknown, expected: Record<string, number>][] = [
  ['that does not parse', { query: '{ me {' }, { 'not run: INVALID_REQUEST': 1 }],
  ['that is not valid', { query: '{ nothing }' }, { 'not run: INVALID_REQUEST': 1 }],
  ['with two faults', { query: '{ nothing nowhere }' }, { 'not run: INVALID_REQUEST': 2 }],
  ['that is unknown', { query: '', extensions: { persistedQuery } }, { 'not run: PERSISTED_QUERY_NOT_FOUND': 1 }],
  [
    'whose operation costs too much',
    { query: 'query Dear { a: players(environment: "production", first: 100) { nodes { playerId } } }' },
    { 'other: COST_LIMIT_EXCEEDED': 1 },
  ],
  ['whose operation fails', { query: 'query Mine { me { playerId } }' }, { 'other: FORBIDDEN': 1 }],
]

function overHttp(accept: string): (body: unknown) => Promise<void> {
  return async (body) => {
    const response = await fetch(`${game.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${game.platformKey}` },
      body: JSON.stringify(body),
    })
    expect(await response.text()).toContain('"errors"')
  }
}

async function overWebSocket(body: unknown): Promise<void> {
  const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const answer = new Promise((resolve) => {
    socket.on('message', (data) => {
      const { type, payload } = JSON.parse(String(data))
      if (type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: body }))
      if (type === 'next' || type === 'error') resolve(Array.isArray(payload) ? payload : payload.errors)
    })
  })
  const payload = { authorization: `Bearer ${game.platformKey}` }
  socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
  expect(await answer).toEqual(expect.arrayContaining([expect.objectContaining({ message: expect.any(String) })]))
  socket.close()
}

const transports: [name: string, send: (body: unknown) => Promise<void>][] = [
  ['HTTP', overHttp('application/json')],
  ['server-sent events', overHttp('text/event-stream')],
  ['a WebSocket', overWebSocket],
]

for (const [transport, send] of transports) {
  it.each(bodies)(
    `errors of a document %s are counted once each, for every request over ${transport}`,
    async (_, body, expected) => {
      // A document is parsed and validated at its first request only.
      for (const _time of ['first', 'again']) expect(await growthOf(() => send(body))).toEqual(expected)
    },
  )
}

it('errors of a request without a document are counted', async () => {
  const post =
    (body: string, type = 'application/json') =>
    async () => {
      const response = await fetch(`${game.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
      expect(response.status).toBeGreaterThanOrEqual(400)
      await response.text()
    }
  expect(await growthOf(post('{'))).toEqual({ 'not run: INVALID_REQUEST': 1 })
  expect(await growthOf(post('{}', 'text/plain'))).toEqual({ 'not run: UNSUPPORTED_MEDIA_TYPE': 1 })
  expect(await growthOf(post(' '.repeat(80_000)))).toEqual({ 'not run: PAYLOAD_TOO_LARGE': 1 })
})

it('an operation over a rate limit is counted under its own name', async () => {
  const query = 'query Costly { players(environment: "production", first: 50) { nodes { playerId } } }'
  const key = await game.key('viewer')
  const growth = await growthOf(async () => {
    for (let left = 20; left > 0; left -= 1) {
      const { errors } = await game.graphql(key, query)
      if (errors) return
    }
  })
  expect(growth).toEqual({ 'Costly: RATE_LIMITED': 1 })
})
