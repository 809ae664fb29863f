import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createFleet, type Fleet, graphql } from './events/fleet.ts'
import { times } from './harness/game.ts'
import { approve, type Operator, startOperator } from './harness/operator.ts'
import { withoutRedis } from './harness/redis.ts'
import { post, type Service } from './harness/service.ts'
import { until } from './harness/until.ts'

const PARENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const traceparent = `00-${PARENT.traceId}-${PARENT.spanId}-01`

interface SentSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly kind: number
  readonly status: { readonly code?: number; readonly message?: string }
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

/** A collector that records the spans that it receives. */
async function startCollector() {
  const spans: SentSpan[] = []
  const services = new Set<string>()
  let bodies = ''
  const server: Server = createServer(async (request, response) => {
    const body = await text(request)
    bodies += body
    for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
      for (const { key, value } of resource.attributes) services.add(`${key}=${value.stringValue}`)
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    spans,
    services,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get bodies() {
      return bodies
    },
    close: () => server.close(),
  }
}

const attributesOf = ({ attributes }: SentSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

describe.skipIf(withoutRedis !== '')(`${withoutRedis}traces`, () => {
  let fleet: Fleet
  let webhook: Operator
  let collector: Awaited<ReturnType<typeof startCollector>>
  let service: Service
  beforeAll(async () => {
    fleet = await createFleet()
    webhook = await startOperator(approve({ subject: 'acct_1' }))
    collector = await startCollector()
    service = await fleet.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: 'game',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      WEBHOOK_PRIVATE_ADDRESSES: 'allow',
    })
  })
  afterAll(async () => {
    collector?.close()
    await webhook?.close()
    await fleet?.close()
  })

  const spansOf = async (traceId: string, count: number): Promise<SentSpan[]> => {
    const found = () => collector.spans.filter((span) => span.traceId === traceId)
    await until(`${count} spans of the trace are sent`, () => found().length >= count)
    return found()
  }

  it('continue the trace of the caller, name the route, and are linked from the group commit of the call', async () => {
    const player = await fleet.climber()
    const call = { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: 1, source: 'trace' }
    const headers = { traceparent }
    expect((await post(service, '/sdk/v1/battlepass/xp', player.token, call, headers)).status).toBe(200)
    const [span] = await spansOf(PARENT.traceId, 1)
    if (!span) throw new Error('there is no span')
    expect([span.name, span.parentSpanId, span.kind]).toEqual(['POST /sdk/v1/battlepass/xp', PARENT.spanId, 2])
    expect(span.status.code ?? 0).toBe(0)
    expect(attributesOf(span)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/sdk/v1/battlepass/xp',
      'http.response.status_code': 200,
    })
    const isLinked = ({ name, links }: SentSpan) =>
      name === 'group commit' && links.some(({ spanId }) => spanId === span.spanId)
    await until('the group commit is sent', () => collector.spans.some(isLinked))
    expect([...collector.services].sort()).toEqual(['deployment.environment=test', 'service.name=game'])
  })

  it('name GraphQL operations', async () => {
    const { errors } = await graphql(
      service,
      fleet.platformKey,
      'query Cursor { streamCursor(environment: "production") }',
    )
    expect(errors).toBeUndefined()
    const isNamed = (span: SentSpan) => attributesOf(span)['graphql.operation.name'] === 'Cursor'
    await until('it is sent', () => collector.spans.some(isNamed))
    const span = collector.spans.find(isNamed) as SentSpan
    expect([span.name, attributesOf(span)['graphql.operation.type']]).toEqual(['POST /graphql', 'query'])
  })

  it('have the status of an error when a call fails with 5xx, or a WebSocket operation with an error of the service', async () => {
    const player = await fleet.climber()
    const [rest, operation] = ['6'.repeat(32), '7'.repeat(32)]
    const parentOf = (traceId: string) => `00-${traceId}-${'2'.repeat(16)}-01`
    const client = createClient({
      url: `${service.baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${player.token}` },
      retryAttempts: 0,
    })
    const { pool } = fleet.world
    await pool.query('ALTER TABLE player_storage RENAME TO renamed')
    try {
      const headers = { traceparent: parentOf(rest) }
      const answer = await post(service, '/sdk/v1/storage/get', player.token, { keys: ['a'] }, headers)
      expect(answer.status).toBe(500)
      const query = '{ me { storage(keys: ["a"]) { key } } }'
      for await (const { errors } of client.iterate({ query, extensions: { traceparent: parentOf(operation) } }))
        expect(errors?.[0]?.extensions?.code).toBe('INTERNAL_ERROR')
    } finally {
      await pool.query('ALTER TABLE renamed RENAME TO player_storage')
      await client.dispose()
    }
    const ERROR = 2
    const [[failed], [refused]] = [await spansOf(rest, 1), await spansOf(operation, 1)]
    expect([failed?.status, failed && attributesOf(failed)['http.response.status_code']]).toEqual([
      { code: ERROR, message: 'status 500' },
      500,
    ])
    expect(refused?.status).toEqual({ code: ERROR, message: 'INTERNAL_ERROR' })
  })

  it('of WebSocket operations continue the trace in the extensions of the message, or begin a new one', async () => {
    const client = createClient({
      url: `${service.baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${fleet.platformKey}` },
      retryAttempts: 0,
    })
    const traceId = '4'.repeat(32)
    const extensions = { traceparent: `00-${traceId}-${'5'.repeat(16)}-01`, tracestate: 'vendor=a' }
    try {
      const query = 'query Head { streamCursor(environment: "production") }'
      for await (const { errors } of client.iterate({ query, extensions })) expect(errors).toBeUndefined()
      const feed = client.iterate({ query: 'subscription Feed { events(environment: "production") { cursor } }' })
      const first = feed.next()
      const [span] = await spansOf(traceId, 1)
      expect([span?.name, span?.parentSpanId, span?.kind, span?.traceState]).toEqual([
        'WebSocket /graphql',
        '5'.repeat(16),
        2,
        'vendor=a',
      ])
      expect(attributesOf(span as SentSpan)).toEqual({
        'graphql.operation.name': 'Head',
        'graphql.operation.type': 'query',
      })
      const isFeed = (one: SentSpan) => attributesOf(one)['graphql.operation.name'] === 'Feed'
      await until('the start of the subscription is sent', () => collector.spans.some(isFeed))
      expect(attributesOf(collector.spans.find(isFeed) as SentSpan)['graphql.operation.type']).toBe('subscription')
      await feed.return?.()
      await first.catch(() => undefined)
    } finally {
      await client.dispose()
    }
  })

  it("reach the studio's webhook, and contain no secret, credential or customData", async () => {
    const { projectId, platformKey, environmentId, world } = fleet
    const settings = { custom: { default: { enabled: true, url: webhook.url, secret: webhook.secret } } }
    const set = await fetch(`${service.baseUrl}/platform/v1/projects/${projectId}/auth-providers`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ environment: 'production', authProviders: settings }),
    })
    expect(set.status).toBe(200)
    const key = await graphql(
      service,
      platformKey,
      'mutation { createSdkKey(input: { environment: "production", reason: "a test" }) { key } }',
    )
    expect([key.errors, environmentId !== '', world !== undefined]).toEqual([undefined, true, true])
    const traceId = '1'.repeat(32)
    const login = await fetch(`${service.baseUrl}/sdk/v1/authorization/custom`, {
      method: 'POST',
      headers: {
        'x-sdk-key': key.data.createSdkKey.key,
        traceparent: `00-${traceId}-${'2'.repeat(16)}-01`,
        tracestate: 'vendor=b,other=c',
      },
      body: JSON.stringify({ customData: { ticket: 'the-ticket-of-the-player' } }),
    })
    expect(login.status).toBe(200)
    const { accessToken } = (await login.json()) as { accessToken: string }
    const spans = await spansOf(traceId, 2)
    const server = spans.find(({ kind }) => kind === 2)
    const client = spans.find(({ kind }) => kind === 3)
    expect([client?.name, client?.parentSpanId]).toEqual(['POST login webhook', server?.spanId])
    expect(attributesOf(client as SentSpan)).toEqual({ 'http.response.status_code': 200 })
    const { traceparent: sent, tracestate } = webhook.hits[0]?.headers ?? {}
    expect([sent, tracestate]).toEqual([`00-${traceId}-${client?.spanId}-01`, 'vendor=b,other=c'])
    for (const secret of [webhook.secret, platformKey, 'the-ticket', accessToken, webhook.url])
      expect(collector.bodies).not.toContain(secret)
  })

  it('do not disturb calls while the collector is unreachable, and the log says so', async () => {
    const away = await fleet.start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_BSP_SCHEDULE_DELAY: '50' })
    const player = await fleet.climber()
    const call = { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: 1, source: 'trace' }
    for (const _ of times(20, String)) {
      expect((await post(away, '/sdk/v1/battlepass/xp', player.token, call)).status).toBe(200)
    }
    await until('the log says so', () => away.output.includes('spans could not be sent'))
  })

  it('are sent before the service ends', async () => {
    const slow = await fleet.start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '600000' })
    const player = await fleet.climber()
    const call = { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: 1, source: 'trace' }
    const last = '3'.repeat(32)
    const headers = { traceparent: `00-${last}-${'2'.repeat(16)}-01` }
    expect((await post(slow, '/sdk/v1/battlepass/xp', player.token, call, headers)).status).toBe(200)
    slow.kill('SIGTERM')
    expect(await slow.exited).toEqual({ code: 0, signal: null })
    expect(collector.spans.filter(({ traceId }) => traceId === last).length).toBe(1)
  })
})
