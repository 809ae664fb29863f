import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type App, createApp } from '../../src/app.ts'
import { generateTokenKey } from '../../src/auth/tokens.ts'
import { readConfig } from '../../src/config.ts'
import type { Json } from '../../src/json.ts'
import { createProject } from '../../src/projects/projects.ts'
import { generateSecretsKey } from '../../src/providers/secrets.ts'
import { type Answer, type Game, startGame, times } from '../support/game.ts'
import { type Operator, signatureOf, startOperator } from '../support/operator.ts'

const tokenKey = await generateTokenKey()
const secretsKey = generateSecretsKey()
let game: Game
let operator: Operator
let second: App
let secondUrl: string
const lines: string[] = []

beforeAll(async () => {
  game = await startGame({ TOKEN_KEYS: JSON.stringify([tokenKey]), SECRETS_KEYS: JSON.stringify([secretsKey]) })
  second = await startApp([secretsKey])
  secondUrl = `http://127.0.0.1:${await second.listen()}`
})
afterAll(async () => {
  await second?.stop()
  await game?.stop()
})
beforeEach(async () => {
  operator = await startOperator()
  await game.app.pool.query('TRUNCATE auth_providers, audit_log')
})
afterEach(() => operator?.close())

/** Another instance on the same database, which writes down all that it logs. */
async function startApp(keys: readonly { kid: string; key: string }[]): Promise<App> {
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: game.databaseUrl,
    TOKEN_KEYS: JSON.stringify([tokenKey]),
    SECRETS_KEYS: JSON.stringify(keys),
    WEBHOOK_PRIVATE_ADDRESSES: 'allow',
  })
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    lines.push(String(chunk))
    done()
  }
  const log = pino({ level: 'trace' }, new Writable({ write }))
  return createApp({ config, log, databaseUrl: game.databaseUrl, tokenKeys: [tokenKey], secretsKeys: keys })
}

const path = () => `/platform/v1/projects/${game.projectId}/auth-providers`
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const put = (body: unknown, headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('PUT', path(), { body: typeof body === 'string' ? body : JSON.stringify(body), headers })
const get = (query = '', headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('GET', path() + query, { headers })
const provider = (more: object = {}) => ({ enabled: true, url: operator.url, secret: operator.secret, ...more })
const custom = (providers: object) => ({ environment: 'production', authProviders: { custom: providers } })
const auditRows = async () => (await game.app.pool.query('SELECT * FROM audit_log ORDER BY id')).rows
const loginAt = (baseUrl: string, body: object) =>
  fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
    method: 'POST',
    headers: { 'x-sdk-key': game.sdkKey },
    body: JSON.stringify(body),
  })

describe('provider settings (spec 4.3)', () => {
  it('answer as documented, without any secret, and by environment', async () => {
    const answer = await put({
      environment: 'production',
      authProviders: {
        custom: { default: provider(), studio: provider({ enabled: false }) },
        google: {
          clientId: 'a',
          clientSecret: 'g-secret',
          nested: { privateKey: 'p-key', list: [{ token: 't' }, 1.0] },
        },
      },
    })
    const updatedAt = expect.any(String)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      environment: 'production',
      authProviders: {
        custom: {
          default: { enabled: true, url: operator.url, hasSecret: true, updatedAt },
          studio: { enabled: false, url: operator.url, hasSecret: true, updatedAt },
        },
        google: { clientId: 'a', nested: { list: [{}, 1] } },
        apple: null,
      },
    })
    expect((await get('?environment=production')).text).toBe(answer.text)
    const all = await get()
    expect(all.body.environments.map(({ environment }: { environment: string }) => environment)).toEqual([
      'production',
      'staging',
    ])
    for (const { text } of [answer, all]) {
      for (const secret of [operator.secret, 'g-secret', 'p-key']) expect(text).not.toContain(secret)
    }
  })

  it('keep what is absent, and replace what is there', async () => {
    await put({
      environment: 'production',
      authProviders: { custom: { a: provider(), b: provider() }, apple: { id: 1 } },
    })
    const answer = await put(custom({ b: { enabled: false, url: operator.url } }))
    expect(Object.keys(answer.body.authProviders.custom)).toEqual(['b'])
    expect(answer.body.authProviders.apple).toEqual({ id: 1 })
    expect((await put(custom({}))).body.authProviders.custom).toEqual({})
  })

  it('are the same after what was read is written again, secrets and all', async () => {
    const before = await put({
      environment: 'production',
      authProviders: { custom: { default: provider() }, google: { clientId: 'a', clientSecret: 'kept' } },
    })
    const stored = async () =>
      (await game.app.pool.query("SELECT secret FROM auth_providers WHERE kind = 'custom'")).rows
    const sealed = await stored()
    const after = await put(before.body)
    expect(after.text).toBe(before.text)
    expect(await stored()).toEqual(sealed)
    expect(await auditRows()).toHaveLength(1)
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    expect(operator.hits[0]?.headers['x-signature']).toBe(
      signatureOf(operator.secret, operator.hits[0]?.body ?? Buffer.of()),
    )
  })

  it('never let two changes at once mix: the whole map of one or of the other, fifty times', async () => {
    for (const round of times(50, (index) => index)) {
      const maps = [`a${round}`, `b${round}`].map((letter) =>
        Object.fromEntries(times(5, (index) => [`${letter}-${index}`, provider()])),
      )
      const answers = await Promise.all(maps.map((map) => put(custom(map))))
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const names = Object.keys((await get('?environment=production')).body.authProviders.custom)
      expect(maps.map((map) => Object.keys(map).sort().join())).toContain(names.sort().join())
    }
  })
})

describe('what is refused (decisions 6)', () => {
  const RULE = "a provider's name must match ^[a-z0-9][a-z0-9_-]{0,31}$ and not be google, apple, device"

  it.each(['google', 'apple', 'device', 'Default', '-x', '_x', '', 'a'.repeat(33), 'ä', 'a.b', 'a b', '__proto__'])(
    'the name %j, naming the rule',
    async (name) => {
      const answer = await put(`{"environment":"production","authProviders":{"custom":{${JSON.stringify(name)}:
        {"enabled":true,"url":"https://a.example","secret":"s"}}}}`)
      expect([answer.status, answer.body.details]).toEqual([
        400,
        [{ path: `authProviders.custom.${name}`, message: RULE }],
      ])
    },
  )

  it.each([
    ['ftp://a.example', 'must be an absolute http or https URL'],
    ['file:///etc/passwd', 'must be an absolute http or https URL'],
    ['javascript:alert(1)', 'must be an absolute http or https URL'],
    ['/login', 'must be an absolute http or https URL'],
    ['//a.example/login', 'must be an absolute http or https URL'],
    ['http:a.example', 'must be an absolute http or https URL'],
    ['http://', 'must be an absolute http or https URL'],
    ['https://user@a.example', 'must not contain credentials'],
    ['https://user:password@a.example', 'must not contain credentials'],
    ['https://a.example/a b', 'must not contain whitespace or control characters'],
    ['https://a.example/\r\nX-A: b', 'must not contain whitespace or control characters'],
    [`https://a.example/${'a'.repeat(2031)}`, 'must be 1 to 2048 characters'],
    ['', 'must be 1 to 2048 characters'],
    [5, 'must be a string'],
    [null, 'is required'],
  ])('the URL %j', async (url, message) => {
    const answer = await put(custom({ default: provider({ url }) }))
    expect([answer.status, answer.body.details]).toEqual([400, [{ path: 'authProviders.custom.default.url', message }]])
  })

  it('not a URL of 2048 characters, nor a secret of 512', async () => {
    const url = `https://a.example/${'a'.repeat(2030)}`
    expect((await put(custom({ default: { enabled: true, url, secret: 's'.repeat(512) } }))).status).toBe(200)
    expect((await put(custom({ default: { enabled: true, url, secret: 's'.repeat(513) } }))).status).toBe(400)
  })

  it('every fault at once, and nothing is written', async () => {
    await put(custom({ kept: provider() }))
    const answer = await put(
      custom({ Bad: { enabled: 'yes', url: 'ftp://x' }, fresh: { url: operator.url }, other: [] }),
    )
    expect(answer.status).toBe(400)
    expect(answer.body.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'authProviders.custom.Bad',
      'authProviders.custom.Bad.enabled',
      'authProviders.custom.fresh.enabled',
      'authProviders.custom.other',
    ])
    const missing = await put(custom({ fresh: { enabled: true, url: operator.url } }))
    expect(missing.body.details).toEqual([
      { path: 'authProviders.custom.fresh.secret', message: 'is required while none is stored' },
    ])
    expect(Object.keys((await get('?environment=production')).body.authProviders.custom)).toEqual(['kept'])
    expect(await auditRows()).toHaveLength(1)
  })

  it.each([
    [{}, ['environment', 'authProviders']],
    [{ environment: 5, authProviders: [] }, ['environment', 'authProviders']],
    [
      { environment: 'production', authProviders: { custom: [], google: 'x', apple: 1 } },
      ['custom', 'google', 'apple'],
    ],
  ])('the body %j', async (body, paths) => {
    const answer = await put(body)
    expect(answer.status).toBe(400)
    expect(answer.body.details.map(({ path }: { path: string }) => path.split('.').at(-1))).toEqual(paths)
  })

  it('an environment that is not there, and a project that is another', async () => {
    expect((await put({ environment: 'nowhere', authProviders: {} })).body.error).toBe('environment not found')
    expect((await get('?environment=nowhere')).body.error).toBe('environment not found')
    const other = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    const elsewhere = path().replace(game.projectId, other.projectId)
    const answer = await game.request('GET', elsewhere, { headers: bearer(game.platformKey) })
    expect([answer.status, answer.body.error]).toEqual([403, 'forbidden'])
  })

  it('whoever may not: viewers read, admins write, nobody else', async () => {
    const player = await game.player()
    for (const [credentials, read, written] of [
      [await game.key('viewer'), 200, 403],
      [await game.key('operator'), 200, 403],
      [game.platformKey, 200, 200],
      [player.token, 401, 401],
      [game.sdkKey, 401, 401],
    ] as const) {
      expect((await get('', bearer(credentials))).status).toBe(read)
      expect((await put(custom({}), bearer(credentials))).status).toBe(written)
    }
  })
})

describe('a change', () => {
  it('counts for the very next login on every instance, a hundred times (spec 4.3)', async () => {
    for (const index of times(100, (round) => round)) {
      const secret = `secret number ${index}`
      await put(custom({ default: provider({ secret }) }))
      expect((await loginAt(secondUrl, { customData: { player: 'ada' } })).status).toBe(200)
      const hit = operator.hits.at(-1)
      expect(hit?.headers['x-signature']).toBe(signatureOf(secret, hit?.body ?? Buffer.of()))
    }
    await put(custom({ default: { enabled: false, url: operator.url } }))
    for (const baseUrl of [game.baseUrl, secondUrl]) {
      const answer = await loginAt(baseUrl, { customData: {} })
      expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([401, 'custom auth disabled'])
    }
    expect(lines.join('')).not.toContain('secret number')
  })

  it('leaves one audit row with who and what, never the secret; no change leaves none', async () => {
    await put(custom({ default: provider() }))
    await put(custom({ default: provider() }))
    await put(custom({ default: provider({ secret: 'another one' }) }))
    await put(custom({}))
    const rows = await auditRows()
    expect(rows.map(({ action, target }) => [action, target])).toEqual(
      times(3, () => ['auth_providers.set', 'production']),
    )
    for (const { actor } of rows) expect(actor).toMatch(/^platform_key:[0-9a-f-]{36}$/)
    expect(rows.map(({ after }) => JSON.parse(after).custom.default?.secretChanged)).toEqual([true, true, undefined])
    expect(JSON.parse(rows[2].before).custom.default.hasSecret).toBe(true)
    for (const secret of [operator.secret, 'another one']) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it('of a provider alone changes its updatedAt', async () => {
    const at = ({ body }: Answer, name: string): string => body.authProviders.custom[name].updatedAt
    const first = await put(custom({ a: provider(), b: provider() }))
    const later = await put(custom({ a: provider({ enabled: false }), b: provider() }))
    expect(at(later, 'b')).toBe(at(first, 'b'))
    expect(at(later, 'a') > at(first, 'a')).toBe(true)
  })
})

describe('secrets at rest (decisions 6)', () => {
  const stored = async () =>
    (await game.app.pool.query('SELECT name, secret, settings FROM auth_providers')).rows as Record<string, Json>[]

  it('are encrypted, those of google and apple too', async () => {
    await put({
      environment: 'production',
      authProviders: { custom: { default: provider() }, apple: { keyId: 'k', privateKey: 'apple-private' } },
    })
    const text = JSON.stringify(await stored())
    for (const secret of [operator.secret, 'apple-private']) expect(text).not.toContain(secret)
    for (const { secret } of await stored()) expect(secret).toMatch(/^v1\.[\w-]+\.[\w-]{16}\.[\w-]+$/)
  })

  it('do not open in another place: the provider is one that does not answer', async () => {
    await put(custom({ default: provider() }))
    await game.app.pool.query("UPDATE auth_providers SET name = 'moved'")
    const answer = await game.login({ player: 'ada' }, { provider: 'moved' })
    expect([answer.status, answer.body.error]).toEqual([503, 'custom auth unavailable'])
    expect(operator.hits).toEqual([])
  })

  it('stay readable while keys are rotated, and a login with a lost key is no 500', async () => {
    await put(custom({ default: provider() }))
    const fresh = generateSecretsKey()
    for (const [keys, expected] of [
      [[fresh, secretsKey], 200],
      [[fresh], 503],
    ] as const) {
      const app = await startApp(keys)
      const baseUrl = `http://127.0.0.1:${await app.listen()}`
      expect((await loginAt(baseUrl, { customData: { player: 'ada' } })).status).toBe(expected)
      await app.stop()
    }
    expect(lines.join('')).not.toContain(operator.secret)
  })
})
