import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { game, provide, REJECTED, refusalOf, startWebhookGame, stopWebhookGame } from './webhook-game.ts'

// What a webhook learns of its call, what it tells the player's client, and how long and how often it is asked.

let operator: Operator
/** The answer to the next calls. */
let answer: { status: number; body: string | Uint8Array; headers?: Record<string, string> }

beforeAll(async () => {
  await startWebhookGame()
  operator = await startOperator((_hit, response) => {
    const { status, body, headers } = answer
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  await provide('default', operator.url, 's', { denialReasons: true })
  await provide('silent', operator.url, 's')
})
afterAll(async () => {
  await operator.close()
  await stopWebhookGame()
})

const rehearse = async (provider = 'default') => {
  const { data } = await game.graphql(
    game.platformKey,
    `mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { outcome reason { code text } attempts { status } } }`,
    { input: { environment: 'production', customData: '{}', provider } },
  )
  return data.testAuthProvider
}

describe('the header webhook-purpose', () => {
  it('says login, link or test', async () => {
    answer = { status: 200, body: '{"subject":"of a purpose"}' }
    const { body } = await game.login({})
    expect((await game.link(body.accessToken, {})).status).toBe(204)
    expect((await rehearse()).outcome).toBe('OK')
    expect(operator.hits.map(({ headers }) => headers['webhook-purpose'])).toEqual(['login', 'link', 'test'])
    expect(decodeJwt(body.accessToken).sub).toEqual(expect.any(String))
  })
})

describe('the reason of a refusal', () => {
  const text = '“Back at noon” 🕛'
  const MOST = '\\u00e9'.repeat(200)

  it.each<[string, number, object]>([
    ['{"reason":{"code":"maintenance","text":"“Back at noon” 🕛"}}', 403, { code: 'maintenance', text }],
    [' {"error": 1, "reason": {"code": "A.b_c-9", "text": null, "more": 1}}\n', 400, { code: 'A.b_c-9', text: null }],
    ['{"reason":{"code":"a"}}', 499, { code: 'a', text: null }],
    [`{"reason":{"code":"${'x'.repeat(64)}","text":"${MOST}"}}`, 401, { code: 'x'.repeat(64), text: 'é'.repeat(200) }],
  ])('reaches the client of a login and of a link, over REST and GraphQL: %s', async (body, status, reason) => {
    answer = { status: 200, body: '{"subject":"of a reason"}' }
    const { accessToken } = (await game.login({})).body
    answer = { status, body }
    const [login, link] = [await game.login({}), await game.link(accessToken, {})]
    for (const refused of [login, link]) {
      expect([refused.status, refused.body.error, refused.body.code]).toEqual(REJECTED)
      expect(refused.body.details).toEqual({ reason })
    }
    const { errors } = await game.graphql(
      { 'x-sdk-key': game.sdkKey },
      'mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken } }',
      { input: { customData: {} } },
    )
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'CUSTOM_AUTH_REJECTED', details: { reason } })
    expect(await rehearse()).toEqual({ outcome: 'CUSTOM_AUTH_REJECTED', reason, attempts: [{ status }] })
  })

  it('reaches no client unless the provider has "denialReasons": true', async () => {
    answer = { status: 200, body: '{"subject":"of a silent provider"}' }
    const { accessToken } = (await game.login({}, { provider: 'silent' })).body
    answer = { status: 403, body: '{"reason":{"code":"maintenance"}}' }
    expect(refusalOf(await game.login({}, { provider: 'silent' }))).toEqual(REJECTED)
    expect(refusalOf(await game.link(accessToken, {}, { provider: 'silent' }))).toEqual(REJECTED)
    expect((await rehearse('silent')).reason).toBeNull()
  })

  it.each<[string, string | Uint8Array, Record<string, string>?]>([
    ['no body', ''],
    ['text', 'no'],
    ['JSON that is cut off', '{"reason":{"code":"a"}'],
    ['an array', '[{"code":"a"}]'],
    ['a reason that is a text', '{"reason":"maintenance"}'],
    ['no code', '{"reason":{"text":"Back at noon."}}'],
    ['a code with a space', '{"reason":{"code":"back at noon"}}'],
    ['a code of 65 characters', `{"reason":{"code":"${'x'.repeat(65)}"}}`],
    ['a text of 201 characters', `{"reason":{"code":"a","text":"${'x'.repeat(201)}"}}`],
    ['a text with NUL', '{"reason":{"code":"a","text":"\\u0000"}}'],
    ['bytes that are no UTF-8', Buffer.from('7b22726561736f6e223a7b22636f6465223a22ff227d7d', 'hex')],
    ['a reason after four kilobytes', `{"more":"${'x'.repeat(5_000)}","reason":{"code":"a"}}`],
    ['a compressed body', '{"reason":{"code":"a"}}', { 'content-encoding': 'identity' }],
  ])('is none with %s: the refusal stays as it is without', async (_, body, headers) => {
    answer = { status: 403, body, headers }
    expect(refusalOf(await game.login({}))).toEqual(REJECTED)
    expect((await rehearse()).reason).toBeNull()
  })

  it('is none of a failure, of a redirect and of an approval', async () => {
    for (const status of [302, 500]) {
      answer = { status, body: '{"reason":{"code":"a"}}' }
      expect((await game.login({})).body).not.toHaveProperty('details')
    }
    answer = { status: 200, body: '{"subject":"x","reason":{"code":"a"}}' }
    expect((await game.login({})).status).toBe(200)
  })
})

describe('the limits of a provider', () => {
  const path = () => `/platform/v1/projects/${game.projectId}/auth-providers`
  const set = (limits: object) =>
    game.request('PUT', path(), {
      body: print({
        environment: 'production',
        authProviders: { custom: { default: { enabled: true, url: operator.url, secret: 's', ...limits } } },
      } as never),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })

  it('are in its settings only when they are set, and are the number of attempts from the next login on', async () => {
    answer = { status: 503, body: '' }
    const asked = async () => {
      const before = operator.hits.length
      expect((await game.login({})).status).toBe(503)
      return operator.hits.length - before
    }
    expect((await set({})).body.authProviders.custom.default).not.toHaveProperty('attempts')
    expect(await asked()).toBe(3)
    const { body } = await set({ attempts: 1, timeoutMs: 500 })
    expect(body.authProviders.custom.default).toMatchObject({ attempts: 1, timeoutMs: 500 })
    expect(await asked()).toBe(1)
    expect((await set({ attempts: 2 })).body.authProviders.custom.default).toMatchObject({
      attempts: 2,
      timeoutMs: null,
    })
    expect(await asked()).toBe(2)
    await set({})
    expect(await asked()).toBe(3)
  })

  it('end an attempt early', async () => {
    const silent = await startOperator(() => undefined)
    await game.request('PUT', path(), {
      body: print({
        environment: 'production',
        authProviders: {
          custom: { default: { enabled: true, url: silent.url, secret: 's', attempts: 1, timeoutMs: 100 } },
        },
      }),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    const { attempts } = await rehearse()
    expect(attempts).toEqual([{ status: null }])
    const { data } = await game.graphql(
      game.platformKey,
      `mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { attempts { error milliseconds } } }`,
      { input: { environment: 'production', customData: '{}' } },
    )
    const [{ error, milliseconds }] = data.testAuthProvider.attempts
    expect(error).toBe('TIMEOUT')
    // Below the service's own three seconds, whatever else the machine does.
    expect(milliseconds).toBeLessThan(2_500)
    await silent.close()
  })

  it('cannot be raised, and change nothing when they are faulty', async () => {
    await set({ attempts: 2 })
    const { status, body } = await set({ attempts: 4, timeoutMs: 99 })
    expect(status).toBe(400)
    expect(body.details).toEqual([
      { path: 'authProviders.custom.default.timeoutMs', message: 'must be 100 to 3000' },
      { path: 'authProviders.custom.default.attempts', message: 'must be 1 to 3' },
    ])
    const read = await game.request('GET', `${path()}?environment=production`, {
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect(read.body.authProviders.custom.default).toMatchObject({ attempts: 2, timeoutMs: null })
  })
})
