import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { RawJson } from '../../../src/base/json.ts'
import { createRateLimits, readRateLimits } from '../../../src/base/rate-limits/rate-limits.ts'
import { createServerKey, type NewKey } from '../../../src/callers/keys.ts'
import { demoSeason } from '../../../src/dev/season.ts'
import { type Answer, type Game, generateKeys, startGame, startInstance } from '../../harness/game.ts'
import { type Operator, startOperator } from '../../harness/operator.ts'
import { type RedisServer, startRedis, withoutRedis } from '../../harness/redis.ts'
import { until } from '../../harness/until.ts'

const LIMITS = 'login=3/h,sdk_key=off,player=4/h,operator=3/h,server=2/h'
const limited = (policy: string) => ({
  error: 'rate limited',
  code: 'rate_limited',
  policy,
})

function refusalOf({ status, headers, body }: Answer) {
  return {
    status,
    error: body.error,
    code: body.code,
    policy: headers.get('ratelimit-policy'),
    limit: headers.get('ratelimit')?.replace(/t=\d+/, 't=…'),
    waits: Number(headers.get('retry-after')) === Number(/t=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
  }
}

let game: Game
let operator: Operator
beforeAll(async () => {
  operator = await startOperator()
  game = await startGame({ RATE_LIMITS: LIMITS, TRUSTED_PROXIES: '1' })
})
afterAll(async () => {
  await game?.stop()
  await operator?.close()
})

const login = (address: string, path = '/sdk/v1/authorization/custom', body: object = { customData: {} }) =>
  game.request('POST', path, {
    body: JSON.stringify(body),
    headers: { 'x-sdk-key': game.sdkKey, 'x-forwarded-for': address },
  })

describe('a rate limit that is reached', () => {
  it('refuses logins, refreshes and logouts of one address with limit and wait, but not of others', async () => {
    const paths = ['custom', 'refresh', 'logout'].map((name) => `/sdk/v1/authorization/${name}`)
    for (const path of paths)
      expect((await login('198.51.100.1', path, { refreshToken: 'x', customData: {} })).status).not.toBe(429)
    expect(refusalOf(await login('198.51.100.1'))).toEqual({
      status: 429,
      ...limited('"login";q=3;w=3600'),
      limit: '"login";r=0;t=…',
      waits: true,
    })
    expect((await login('198.51.100.2')).status).toBe(401)
  })

  it('counts login calls with an invalid SDK key', async () => {
    const guess = () =>
      game.request('POST', '/sdk/v1/authorization/custom', {
        body: '{"customData":{}}',
        headers: { 'x-sdk-key': 'twsdk_guessed', 'x-forwarded-for': '198.51.100.3' },
      })
    const statuses = []
    for (let call = 0; call < 4; call += 1) statuses.push((await guess()).status)
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  it('refuses game calls of one player, over REST, GraphQL and WebSocket together, but not of others', async () => {
    const [player, other] = [await game.player(), await game.player()]
    const progress = { scenarioId: 'none', nodeId: 'pass' }
    for (let call = 0; call < 3; call += 1)
      expect((await player.post('/sdk/v1/battlepass/progress', progress)).status).toBe(404)
    const query = '{ battlePass(scenarioId: "none", nodeId: "pass") { level } }'
    expect((await player.graphql(query)).errors?.[0]?.extensions.code).toBe('SCENARIO_NOT_FOUND')

    expect(refusalOf(await player.post('/sdk/v1/battlepass/progress', progress))).toMatchObject({
      status: 429,
      ...limited('"player";q=4;w=3600'),
      waits: true,
    })
    const { errors } = await player.graphql(query)
    expect(errors?.[0]).toMatchObject({
      message: 'rate limited',
      extensions: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
    })

    const client = createClient({
      url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${player.token}` },
    })
    const results = client.iterate({ query })
    const { value } = await results.next()
    expect(value?.errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED' })
    await client.dispose()
    expect((await other.post('/sdk/v1/battlepass/progress', progress)).status).toBe(404)
  })

  it('refuses calls of one platform key, over REST and GraphQL together', async () => {
    const key = await game.key('viewer')
    const path = `/platform/v1/projects/${game.projectId}/auth-providers?environment=production`
    const get = () => game.request('GET', path, { headers: { authorization: `Bearer ${key}` } })
    expect((await get()).status).toBe(200)
    expect((await game.graphql(key, '{ a: environments { name } b: environments { name } }')).errors).toBeUndefined()
    expect(refusalOf(await get())).toMatchObject({ status: 429, ...limited('"operator";q=3;w=3600') })
    expect((await game.graphql(key, '{ environments { name } }')).errors?.[0]?.extensions.code).toBe('RATE_LIMITED')
  })

  it('counts `nodes` once, whatever the number of its ids', async () => {
    const key = await game.key('viewer')
    const ids = [`Environment:${game.environmentId}`, `Project:${game.projectId}`, `Player:${game.projectId}`]
    const ask = async () =>
      (await game.graphql(key, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).errors?.[0]?.extensions
        .code
    expect([await ask(), await ask(), await ask()]).toEqual([undefined, undefined, undefined])
    expect(await ask()).toBe('RATE_LIMITED')
  })

  it('refuses calls of one server key, but not of another key of its environment', async () => {
    const [one, other] = [
      await createServerKey(game.app.pool, game.environmentId),
      await createServerKey(game.app.pool, game.environmentId),
    ]
    const find = ({ key }: NewKey) =>
      game.request('POST', '/server/v1/players/find', {
        body: '{"provider":"custom","subject":"nobody"}',
        headers: { authorization: `Bearer ${key}` },
      })
    for (let call = 0; call < 2; call += 1) expect((await find(one)).status).toBe(404)
    expect(refusalOf(await find(one))).toMatchObject({ status: 429, ...limited('"server";q=2;w=3600'), waits: true })
    expect((await find(other)).status).toBe(404)
  })

  it('is counted in the metrics by name', async () => {
    const text = await (await fetch(`${game.baseUrl}/metrics`)).text()
    for (const limit of ['login', 'player', 'operator', 'server'])
      expect(
        Number(new RegExp(`^tierway_rate_limited_total\\{limit="${limit}"\\} (\\d+)$`, 'm').exec(text)?.[1]),
      ).toBeGreaterThan(0)
  })
})

it('the default rate limits allow 300 calls of a player in a row', async () => {
  const open = await startGame({ RATE_LIMITS: '' })
  try {
    await open.publish('season-1', new RawJson(demoSeason()))
    const player = await open.player()
    const runId = await player.start('season-1')
    for (let call = 0; call < 300; call += 1) {
      const body = { scenarioId: 'season-1', nodeId: 'pass', runId, amount: 10, source: 'practice' }
      const { status, text } = await player.post('/sdk/v1/battlepass/xp', body)
      expect([status, text.slice(0, 9)]).toEqual([200, '{"level":'])
    }
  } finally {
    await open.stop()
  }
})

describe.skipIf(withoutRedis)(`${withoutRedis}two instances with Redis`, () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.remove())

  it('count logins together, and separately while Redis is unreachable', async () => {
    const keys = await generateKeys()
    const env = { ...keys, REDIS_URL: redis.url, RATE_LIMITS: 'login=4/h' }
    const instances = [await startInstance(game.databaseUrl, env), await startInstance(game.databaseUrl, env)]
    const at = async (index: number) => {
      const url = `${instances[index]?.baseUrl}/sdk/v1/authorization/custom`
      const answer = await fetch(url, {
        method: 'POST',
        body: '{"customData":{}}',
        headers: { 'x-sdk-key': game.sdkKey },
      })
      return answer.status
    }
    try {
      const together = []
      for (const index of [0, 1, 0, 1, 0, 1]) together.push(await at(index))
      expect(together).toEqual([401, 401, 401, 401, 429, 429])
      await redis.kill()
      const alone = []
      for (const index of [0, 0, 0, 0, 0, 1]) alone.push(await at(index))
      expect(alone).toEqual([401, 401, 401, 401, 429, 401])
    } finally {
      for (const instance of instances) await instance.stop()
      await redis.restart()
    }
  })

  it('limit logins separately while Redis is frozen', async () => {
    const errors: unknown[] = []
    const limits = await createRateLimits({
      settings: readRateLimits('login=2/h', []),
      redisUrl: redis.url,
      onError: (error) => errors.push(error),
    })
    try {
      await until('Redis counts', async () => {
        await limits.countLogin(`192.0.2.${100 + Math.floor(Math.random() * 100)}`).catch(() => undefined)
        return Number(await redis.ask('DBSIZE')) > 0
      })
      redis.freeze()
      await limits.countLogin('192.0.2.7')
      await limits.countLogin('192.0.2.7')
      await expect(limits.countLogin('192.0.2.7')).rejects.toMatchObject({ kind: 'rateLimited' })
      expect(errors.length).toBeGreaterThan(0)
    } finally {
      redis.thaw()
      await limits.close()
    }
  })
})
