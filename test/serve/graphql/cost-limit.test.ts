import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GraphQLError } from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Game, startGame } from '../../harness/game.ts'

const DEAR = 'query Dear($first: Int) { auditLog(first: $first) { nodes { id } } }'
const hash = createHash('sha256').update(DEAR).digest('hex')

let folder: string
let game: Game
let key: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tierway-cost-'))
  await writeFile(join(folder, 'operations.json'), JSON.stringify({ [hash]: DEAR }))
  game = await startGame({
    GRAPHQL_MAX_COST: '60',
    RATE_LIMITS: 'login=off,sdk_key=off,player=off,operator=off,graphql=100/h',
    TRUSTED_PROXIES: '1',
    PERSISTED_OPERATIONS: join(folder, 'operations.json'),
  })
  key = await game.key('admin')
})
afterAll(async () => {
  await game?.stop()
  await rm(folder, { recursive: true, force: true })
})

type Told = Pick<GraphQLError, 'message' | 'extensions'>

const newKey = () => game.key('admin')

async function post(body: object, token: string | null, headers: Record<string, string> = {}) {
  const response = await fetch(`${game.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function overSocket(token: string, payload: { query: string; variables?: Record<string, unknown> }) {
  const client = createClient({
    url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
  })
  const results = client.iterate(payload)
  const { value } = await results.next()
  await client.dispose()
  return value?.errors?.map(({ message, extensions }: Told) => ({ message, extensions }))
}

const refusal = (cost: number) => ({
  message: 'cost limit exceeded',
  extensions: {
    code: 'COST_LIMIT_EXCEEDED',
    details: [{ path: 'query', message: `costs ${cost}, and an operation may cost at most 60` }],
  },
})
const errorsOf = (text: string) =>
  JSON.parse(text).errors.map(({ message, extensions }: Told) => ({
    message,
    extensions,
  }))

describe('an operation over the maximum cost', () => {
  it('is refused over HTTP with its cost and the limit, for a new and a known document', async () => {
    for (const first of [70, 80, 20]) {
      const { status, text } = await post({ query: DEAR, variables: { first } }, key)
      expect(status).toBe(200)
      if (first === 20) expect(JSON.parse(text).data.auditLog.nodes).toEqual(expect.any(Array))
      else expect(errorsOf(text)).toEqual([refusal(first + 1)])
    }
  })

  it('is refused with its cost and the limit when it is a persisted operation', async () => {
    const { text } = await post({ documentId: hash, variables: { first: 100 } }, key)
    expect(errorsOf(text)).toEqual([refusal(101)])
  })

  it('is refused with its cost and the limit by GET', async () => {
    const query = new URLSearchParams({ query: DEAR, variables: '{"first":90}' })
    const response = await fetch(`${game.baseUrl}/graphql?${query}`, { headers: { authorization: `Bearer ${key}` } })
    expect(errorsOf(await response.text())).toEqual([refusal(91)])
  })

  it('is refused with its cost and the limit over WebSocket', async () => {
    expect(await overSocket(key, { query: DEAR, variables: { first: 99 } })).toEqual([refusal(100)])
  })

  it('changes nothing when it is a mutation', async () => {
    const rename = (index: number) =>
      `a${index}: renameProject(input: { name: "renamed", reason: "test" }) { project { name } }`
    const query = `mutation { ${[0, 1, 2, 3, 4, 5].map(rename).join(' ')} }`
    expect(errorsOf((await post({ query }, key)).text)).toEqual([refusal(66)])
    const { text } = await post({ query: '{ project { name } }' }, key)
    expect(JSON.parse(text).data.project.name).not.toBe('renamed')
  })
})

describe('the rate limit `graphql`', () => {
  const limited = { message: 'rate limited', extensions: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) } }

  it('charges the cost to one platform key, over HTTP and WebSocket together, with the headers of REST over HTTP', async () => {
    const spent = await newKey()
    for (const first of [49, 48]) {
      expect((await post({ query: DEAR, variables: { first } }, spent)).text).toContain('"data"')
    }
    const { status, headers, text } = await post({ query: DEAR, variables: { first: 49 } }, spent)
    expect(status).toBe(200)
    expect(errorsOf(text)).toEqual([limited])
    expect(headers.get('ratelimit-policy')).toBe('"graphql";q=100;w=3600')
    expect(headers.get('ratelimit')).toMatch(/^"graphql";r=0;t=\d+$/)
    expect(headers.get('retry-after')).toBe(String(errorsOf(text)[0].extensions.retryAfter))
    expect(await overSocket(spent, { query: DEAR, variables: { first: 49 } })).toEqual([limited])
    expect((await post({ query: DEAR, variables: { first: 49 } }, await newKey())).text).toContain('"data"')
  })

  it('applies to subscriptions, over server-sent events and WebSocket', async () => {
    const spent = await newKey()
    for (const first of [49, 48]) await post({ query: DEAR, variables: { first } }, spent)
    const query = 'subscription { events(environment: "production") { cursor } }'
    const { text } = await post({ query }, spent, { accept: 'text/event-stream' })
    expect(text).toContain('"RATE_LIMITED"')
    expect(text).not.toContain('"http"')
    expect(await overSocket(spent, { query })).toEqual([limited])
  })

  it('charges the cost to the player that calls', async () => {
    const player = await game.player()
    const query = 'mutation { setStorage(input: { values: { a: "1" } }) { storage { key } } }'
    const answers = []
    for (let call = 0; call < 6; call += 1) answers.push((await post({ query }, player.token)).text)
    expect(answers.map((text) => text.includes('RATE_LIMITED'))).toEqual([false, false, false, false, false, true])
  })

  it("charges the cost to the client's address without a caller", async () => {
    const query = 'mutation { loginCustom(input: { customData: {} }) { accessToken } }'
    const login = async (address: string) =>
      (await post({ query }, null, { 'x-sdk-key': game.sdkKey, 'x-forwarded-for': address })).text
    // Another address pays for the document, which is new.
    await login('198.51.100.9')
    const answers = [await login('198.51.100.1'), await login('198.51.100.1'), await login('198.51.100.1')]
    expect(answers.map((text) => text.includes('RATE_LIMITED'))).toEqual([false, false, true])
    expect(await login('198.51.100.2')).not.toContain('RATE_LIMITED')
  })
})

it('the metrics have the cost of operations, and count refused ones', async () => {
  const metrics = await (await fetch(`${game.baseUrl}/metrics`)).text()
  expect(metrics).toMatch(/^tierway_graphql_cost_count [1-9]/m)
  expect(metrics).toMatch(/^tierway_rate_limited_total\{limit="graphql"\} [1-9]/m)
})

describe('a document that is refused', () => {
  /** Two hundred variables of types that do not exist; another text each time. */
  const invalid = (index: number) =>
    `query Invalid${index}(${Array.from({ length: 200 }, (_, at) => `$v${at}: Pleyer${at}`).join(' ')}) { __typename }`
  const address = (host: number) => ({ 'x-forwarded-for': `10.9.0.${host}` })

  it('costs its address what it takes to read it, so that a flood of them ends at the rate limit', async () => {
    const answers = []
    for (let index = 0; index < 5; index += 1) answers.push(await post({ query: invalid(index) }, null, address(1)))
    const codes = answers.map(({ text }) => errorsOf(text)[0].extensions.code)
    const [paid, limited] = [Array(3).fill('INVALID_REQUEST'), Array(2).fill('RATE_LIMITED')]
    expect(codes).toEqual([...paid, ...limited])
    expect(answers.at(-1)?.headers.get('retry-after')).toMatch(/^\d+$/)
    // Another address has its own share.
    expect(errorsOf((await post({ query: invalid(9) }, null, address(2))).text)[0].extensions.code).toBe(
      'INVALID_REQUEST',
    )
  })

  it('has at most ten errors', async () => {
    const errors = errorsOf((await post({ query: invalid(10) }, null, address(3))).text)
    expect(errors).toHaveLength(10)
    expect(errors.at(-1).message).toMatch(/^Too many validation errors/)
  })

  it('is counted over WebSocket, too', async () => {
    const token = await newKey()
    const codes: unknown[] = []
    for (let index = 20; index < 26; index += 1) {
      const [{ extensions }] = await overSocket(token, { query: invalid(index) }).catch((errors) => errors)
      codes.push(extensions.code)
    }
    expect(codes[0]).toBe('INVALID_REQUEST')
    expect(codes.at(-1)).toBe('RATE_LIMITED')
  })

  it('costs nothing further once it is known to be valid', async () => {
    const query = `query Known { project { name } } # ${'x'.repeat(3_000)}`
    const token = await newKey()
    for (let index = 0; index < 12; index += 1)
      expect((await post({ query }, token, address(4))).text).toContain('"data"')
  })
})
