import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyStandardWebhook } from '../../src/sdk/webhook.ts'
import { type Hit, type Operator, startOperator } from '../harness/operator.ts'
import { game, startWebhookGame, stopWebhookGame } from './webhook-game.ts'

// Ed25519 signatures of webhook calls, whose keys belong to the secrets of a provider.

let operator: Operator

beforeAll(async () => {
  await startWebhookGame()
  operator = await startOperator()
})
afterAll(async () => {
  await operator.close()
  await stopWebhookGame()
})

interface Settings {
  readonly ed25519?: boolean
  readonly secret?: string
}

/** Sets the providers `default` and `other`, and gives their public keys. */
async function set(settings: Settings, other: Settings = settings): Promise<(string | null | undefined)[]> {
  const provider = { enabled: true, url: operator.url }
  const { status, body } = await game.setProviders({
    default: { ...provider, ...settings },
    other: { ...provider, ...other },
  } as never)
  expect(status, JSON.stringify(body)).toBe(200)
  const { default: one, other: two } = body.authProviders.custom
  return [one.publicKey, two.publicKey]
}

/** Logs in, and gives the call as the endpoint received it. */
async function login(provider = 'default'): Promise<Hit> {
  expect((await game.login({ player: 'ada' }, { provider })).status).toBe(200)
  return operator.hits.at(-1) as Hit
}

const verifies = (key: string | null | undefined, { headers, body }: Hit): boolean =>
  verifyStandardWebhook(key ?? '', body, {
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signature: headers['webhook-signature'],
  })
const versions = ({ headers }: Hit) =>
  String(headers['webhook-signature'])
    .split(' ')
    .map((one) => one.split(',')[0])

async function rotate(overlapSeconds: number, secret?: string): Promise<string | null> {
  const { data, errors } = await game.graphql(
    game.platformKey,
    `mutation ($input: RotateProviderSecretInput!) { rotateProviderSecret(input: $input) { provider { publicKey } } }`,
    { input: { environment: 'production', name: 'default', overlapSeconds, reason: 'test', secret } },
  )
  expect(errors).toBeUndefined()
  return data.rotateProviderSecret.provider.publicKey
}

describe('a provider with Ed25519 signatures', () => {
  it('signs by the secret and by a key of its own, whose public key it shows', async () => {
    const [key, other] = await set({ ed25519: true, secret: 'the same secret' })
    expect(key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
    expect(other).not.toBe(key)
    const hit = await login()
    expect(versions(hit)).toEqual(['v1', 'v1a'])
    expect([verifies(key, hit), verifies('the same secret', hit), verifies(other, hit)]).toEqual([true, true, false])
    expect(verifies(other, await login('other'))).toBe(true)
    const { data } = await game.graphql(
      game.platformKey,
      '{ authProviders(environment: "production") { custom { name ed25519 publicKey } } auditLog(first: 5) { nodes { before after } } }',
    )
    expect(data.authProviders[0].custom).toEqual([
      { name: 'default', ed25519: true, publicKey: key },
      { name: 'other', ed25519: true, publicKey: other },
    ])
    expect(JSON.stringify(data)).not.toContain('keySalt')
  })

  it('keeps its key when it is set again, or disabled for a while', async () => {
    const [key] = await set({ ed25519: true, secret: 'kept' })
    expect(await set({ ed25519: true })).toEqual([key, expect.anything()])
    expect(await set({})).toEqual([null, null])
    expect(versions(await login())).toEqual(['v1'])
    expect(await set({ ed25519: true })).toEqual([key, expect.anything()])
    expect(verifies(key, await login())).toBe(true)
    // What was answered can be sent back.
    const { body } = await game.setProviders({
      default: { enabled: true, url: operator.url, ed25519: true, publicKey: key, hasSecret: true },
    } as never)
    expect([body.notices ?? [], body.authProviders.custom.default.publicKey]).toEqual([[], key])
  })

  it('has another key with another secret, and both sign while a rotation overlaps', async () => {
    const [before] = await set({ ed25519: true, secret: 'first' })
    const after = await rotate(60)
    expect(after).not.toBe(before)
    const hit = await login()
    expect(versions(hit)).toEqual(['v1', 'v1', 'v1a', 'v1a'])
    expect([verifies(before, hit), verifies(after, hit)]).toEqual([true, true])
    const last = await rotate(0)
    const then = await login()
    expect([before, after, last].map((key) => verifies(key, then))).toEqual([false, false, true])
    // The key of a secret is the same when the secret comes back.
    expect(await rotate(0, 'first')).toBe(before)
    expect(await set({ ed25519: true, secret: 'second' })).not.toContain(before)
  })

  it('signs a rehearsal, too', async () => {
    const [key] = await set({ ed25519: true, secret: 'of a rehearsal' })
    const rehearsal =
      'mutation { testAuthProvider(input: { environment: "production", customData: "{\\"player\\":\\"x\\"}" }) { outcome } }'
    expect((await game.graphql(game.platformKey, rehearsal)).data.testAuthProvider.outcome).toBe('OK')
    expect(verifies(key, operator.hits.at(-1) as Hit)).toBe(true)
  })
})

it('a provider is without them unless it asks', async () => {
  await game.setProviders({} as never)
  expect(await set({ secret: 'plain' })).toEqual([undefined, undefined])
  expect(versions(await login())).toEqual(['v1'])
})

it('a public key is no secret: it is refused in the place of one', async () => {
  const [key] = await set({ ed25519: true, secret: 'a secret' })
  const { status, body } = await game.setProviders({
    default: { enabled: true, url: operator.url, secret: key },
  } as never)
  expect([status, body.details]).toEqual([
    400,
    [{ path: 'authProviders.custom.default.secret', message: 'must not be a public key, whpk_…' }],
  ])
  const { errors } = await game.graphql(
    game.platformKey,
    `mutation { rotateProviderSecret(input: { environment: "production", name: "default", secret: "${key}", reason: "x" }) { secret } }`,
  )
  expect(errors?.[0]?.extensions.details).toMatchObject([{ path: 'secret' }])
})
