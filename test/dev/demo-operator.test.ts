import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createSecrets, generateSecretsKey } from '../../src/base/secrets.ts'
import { type DemoOperator, startDemoOperator } from '../../src/dev/demo-operator.ts'
import { type Demo, seedDemo } from '../../src/dev/seed.ts'
import { signStandardWebhook } from '../../src/sdk/webhook.ts'
import { type Game, startGame } from '../harness/game.ts'
import { startOperator } from '../harness/operator.ts'

// The studio of the demo, which `npm start` runs: a small webhook that is set up and called like any other.

const secretsKey = generateSecretsKey()
let game: Game
let dataDir: string
let operator: DemoOperator
let demo: Demo

beforeAll(async () => {
  game = await startGame({ SECRETS_KEYS: JSON.stringify([secretsKey]) })
})
afterAll(() => game?.stop())
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-demo-'))
  operator = await startDemoOperator()
  demo = await seed()
})
afterEach(async () => {
  await operator.close()
  await rm(dataDir, { recursive: true })
})

const seed = (): Promise<Demo> =>
  seedDemo({ pool: game.app.pool, secrets: createSecrets([secretsKey]), dataDir, baseUrl: game.baseUrl, operator })

async function playerOf(customData: Demo['customData']) {
  const { status, body } = await game.login(customData, { sdkKey: demo.sdkKey })
  expect([status, body.error]).toEqual([200, undefined])
  const headers = { authorization: `Bearer ${body.accessToken}` }
  const player = await game.request('POST', '/sdk/v1/player/get', { headers, body: '{}' })
  const storage = await game.request('POST', '/sdk/v1/storage/get', { headers, body: '{}' })
  return { ...player.body, storage: storage.body.values }
}

describe('the studio of the demo', () => {
  it('logs a player in by name, through the real login (contract 4.2, contract 4.4)', async () => {
    expect(await playerOf({ player: 'ada' })).toMatchObject({
      nickname: 'Ada',
      identities: [{ provider: 'custom', subject: 'demo:ada' }],
      storage: { studio: { rank: 'founder' } },
    })
    // A new user copies this from demo.json.
    expect((await playerOf(demo.customData)).identities).toEqual([{ provider: 'custom', subject: 'demo:demo' }])
  })

  it.each(['Ada Lovelace', 'a/b', 'ÅSA', '😀', '日本 語', "o'neil", 'x'.repeat(128)])(
    'takes any name of a player: %s',
    async (player) => {
      const { identities } = await playerOf({ player: ` ${player} ` })
      expect(identities).toEqual([{ provider: 'custom', subject: `demo:${player}` }])
    },
  )

  it('denies an invalid name of a player (contract 7.1)', async () => {
    for (const player of ['', ' ', 'a\0b', 'x'.repeat(129), null, 5, ['ada'], { name: 'ada' }]) {
      const { status, body } = await game.login({ player }, { sdkKey: demo.sdkKey })
      expect([status, body.error]).toEqual([401, 'custom auth rejected'])
    }
  })

  it('denies a request whose signature is missing, wrong or too old (contract 4.4)', async () => {
    const body = print({ customData: { player: 'ada' } })
    const now = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000) }
    const call = async (secret: string | null, signed = body, at = now) => {
      const headers: Record<string, string> = { 'webhook-id': at.id, 'webhook-timestamp': String(at.timestamp) }
      if (secret !== null) headers['webhook-signature'] = signStandardWebhook(secret, at, signed)
      return (await fetch(operator.url, { method: 'POST', headers, body })).status
    }
    expect(await call(operator.secret)).toBe(200)
    expect(await call(null)).toBe(401)
    expect(await call('another secret')).toBe(401)
    expect(await call(operator.secret, `${body} `)).toBe(401)
    expect(await call(operator.secret, body, { ...now, timestamp: now.timestamp - 3_600 })).toBe(401)
  })

  it('keeps its project and its players after a restart on another port with another secret', async () => {
    const before = await playerOf({ player: 'ada' })
    const { projectId, sdkKey, platformKey } = demo
    await operator.close()
    operator = await startDemoOperator()
    demo = await seed()
    expect(demo).toMatchObject({ projectId, sdkKey, platformKey })
    expect(await playerOf({ player: 'ada' })).toEqual(before)
  })

  it('does not replace a provider that was set instead of it', async () => {
    const own = await startOperator()
    const body = print({
      environment: demo.environment,
      authProviders: { custom: { default: { enabled: true, url: own.url, secret: own.secret } } },
    })
    const headers = { authorization: `Bearer ${demo.platformKey}` }
    const path = `/platform/v1/projects/${demo.projectId}/auth-providers`
    expect((await game.request('PUT', path, { headers, body })).status).toBe(200)
    demo = await seed()
    expect((await playerOf({ player: 'ada' })).identities).toEqual([{ provider: 'custom', subject: 'ada' }])
    await own.close()
  })
})
