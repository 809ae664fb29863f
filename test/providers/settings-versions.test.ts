import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { type Game, startGame } from '../harness/game.ts'

let game: Game
let path: string

beforeAll(async () => {
  game = await startGame()
  path = `/platform/v1/projects/${game.projectId}/auth-providers`
})
afterAll(() => game?.stop())
beforeEach(() => game.app.pool.query('DELETE FROM auth_providers'))

const provider = (more: object = {}): Json => ({
  enabled: true,
  url: 'https://one.example/login',
  secret: 's',
  ...more,
})
const read = (environment = 'production') =>
  game.request('GET', `${path}?environment=${environment}`, {
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
const write = (custom: Json, ifMatch?: string) =>
  game.request('PUT', path, {
    body: JSON.stringify({ environment: 'production', authProviders: { custom } }),
    headers: { authorization: `Bearer ${game.platformKey}`, ...(ifMatch !== undefined && { 'if-match': ifMatch }) },
  })
const tagOf = (answer: { headers: Headers }): string => answer.headers.get('etag') ?? ''

const SET = `mutation ($input: SetAuthProvidersInput!) { setAuthProviders(input: $input) {
  authProviders { version custom { name } } notices { path message } auditEntry { id } } }`
const set = (authProviders: object, more: object = {}) =>
  game.graphql(game.platformKey, SET, {
    input: { environment: 'production', authProviders: JSON.stringify(authProviders), reason: 'test', ...more },
  })
const versionOf = async (): Promise<string> =>
  (await game.graphql(game.platformKey, '{ authProviders(environment: "production") { version } }')).data
    .authProviders[0].version

describe('two admins who change the providers that both have read', () => {
  it('do not undo each other over REST: the second gets 412 with what changed', async () => {
    await write({ default: provider() })
    const seen = tagOf(await read())
    expect(seen).toMatch(/^"[\w-]+"$/)
    const first = await write({ default: provider(), steam: provider() }, seen)
    expect([first.status, tagOf(first)]).toEqual([200, tagOf(await read())])
    const second = await write({ default: provider(), epic: provider() }, seen)
    expect([second.status, second.body.error]).toEqual([412, 'version conflict'])
    expect(second.body.details).toEqual([
      { path: 'If-Match', message: `the current version is ${JSON.parse(tagOf(first))}, not ${JSON.parse(seen)}` },
      { path: 'authProviders.custom.steam', message: expect.stringMatching(/^was changed at \d{4}-.*Z$/) },
    ])
    expect(Object.keys((await read()).body.authProviders.custom)).toEqual(['default', 'steam'])
  })

  it('do not undo each other over GraphQL', async () => {
    await set({ custom: { default: provider(), steam: provider() } })
    const expectedVersion = await versionOf()
    expect(JSON.parse(tagOf(await read()))).toBe(expectedVersion)
    expect((await set({ custom: { default: provider() } }, { expectedVersion })).errors).toBeUndefined()
    const { errors } = await set(
      { custom: { default: provider({ enabled: false }), steam: provider() } },
      { expectedVersion },
    )
    expect(errors?.[0]?.extensions.code).toBe('VERSION_CONFLICT')
    expect(errors?.[0]?.extensions.details).toEqual([
      { path: 'expectedVersion', message: expect.stringContaining(`not ${expectedVersion}`) },
      { path: 'authProviders', message: 'a provider was removed meanwhile' },
    ])
  })

  it('get one success when they write at once', async () => {
    await write({ default: provider() })
    const seen = tagOf(await read())
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => write({ default: provider(), [`p${index}`]: provider() }, seen)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)])
  })

  it.each([
    ['a new secret', { custom: { default: { enabled: true, url: 'https://one.example/login', secret: 'other' } } }],
    ['a secret of google', { google: { clientSecret: 'other' } }],
    ['another address', { custom: { default: { enabled: true, url: 'https://two.example/login' } } }],
  ])('see another version after %s', async (_what, change) => {
    await set({ custom: { default: provider() }, google: { clientSecret: 'one' } })
    const before = await versionOf()
    await set(change)
    expect(await versionOf()).not.toBe(before)
  })

  it('see another version after a rotation, and the same after a change that changes nothing', async () => {
    await set({ custom: { default: provider() } })
    const before = await versionOf()
    await set({ custom: { default: provider() } })
    expect(await versionOf()).toBe(before)
    await game.graphql(
      game.platformKey,
      'mutation { rotateProviderSecret(input: { environment: "production", name: "default", reason: "x" }) { secret } }',
    )
    expect(await versionOf()).not.toBe(before)
  })

  it('can send a change again whose answer was lost', async () => {
    const seen = tagOf(await read())
    expect((await write({ default: provider() }, seen)).status).toBe(200)
    expect((await write({ default: provider() }, seen)).status).toBe(200)
  })

  it('can leave the version out, and get 400 for one that is none', async () => {
    expect((await write({ default: provider() }, '*')).status).toBe(200)
    for (const sent of ['latest', '', '"a', '"a", "b"']) {
      const { status, body } = await write({ default: provider() }, sent)
      expect([status, body.details[0].path]).toEqual([400, 'If-Match'])
    }
  })

  it('get 412 for a weak tag, which never matches, with the tag to send', async () => {
    await write({ default: provider() })
    const tag = tagOf(await read())
    const { status, body } = await write({ default: provider() }, `W/${tag}`)
    expect([status, body.code]).toEqual([412, 'version_conflict'])
    expect(body.details).toEqual([{ path: 'If-Match', message: `a weak tag never matches: send ${tag}, without W/` }])
    expect((await write({ other: provider() }, '"any"')).status).toBe(412)
    expect((await write({ default: provider() }, tag)).status).toBe(200)
  })
})

describe('a member that no rule knows', () => {
  const ignored = (meant: string) => `is ignored: no rule knows this member; did you mean ${meant}?`

  it('is named in the notices of PUT and setAuthProviders, with the nearest name', async () => {
    const authProviders = { costum: {}, custom: { default: { ...(provider() as object), enbaled: true } } }
    const notices = [
      { path: 'authProviders.costum', message: ignored('custom') },
      { path: 'authProviders.custom.default.enbaled', message: ignored('enabled') },
    ]
    const { data } = await set(authProviders)
    expect(data.setAuthProviders.notices).toEqual(notices)
    const put = await game.request('PUT', path, {
      body: JSON.stringify({ environment: 'production', authProviders, autProviders: {} }),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect([put.status, put.body.notices]).toEqual([
      200,
      [{ path: 'autProviders', message: ignored('authProviders') }, ...notices],
    ])
  })

  it('is named beside the fault that it caused', async () => {
    const { status, body } = await write({ default: { enbaled: true, url: 'https://one.example/login', secret: 's' } })
    expect([status, body.details]).toEqual([
      400,
      [
        { path: 'authProviders.custom.default.enabled', message: 'is required' },
        { path: 'authProviders.custom.default.enbaled', message: ignored('enabled') },
      ],
    ])
  })

  it('is not named for what an answer has, which may be sent back', async () => {
    await write({ default: provider() })
    const { custom } = (await read()).body.authProviders
    expect((await write(custom)).body.notices).toBeUndefined()
  })

  it('is named when it is repeated', async () => {
    const text = '{"default":{"enabled":true,"enabled":false,"url":"https://one.example/login","secret":"s"}}'
    const put = await game.request('PUT', path, {
      body: `{"environment":"production","authProviders":{"custom":${text}}}`,
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect(put.body.notices).toEqual([
      {
        path: 'authProviders.custom.default.enabled',
        message: 'is repeated: only the last of several members with the same name counts',
      },
    ])
  })
})

describe('a secret with white space around it', () => {
  it.each([
    ['s\n', 'ends'],
    [' s', 'begins'],
    ['\ufeffs\r\n', 'begins and ends'],
  ])('is taken as it is (contract 2.3), with a notice: %j', async (secret, where) => {
    const message = `${where} with white space, which counts: the secret`
    const { status, body } = await write({ default: provider({ secret }) })
    expect([status, body.notices]).toEqual([200, [{ path: 'authProviders.custom.default.secret', message }]])
    const { data } = await game.graphql(
      game.platformKey,
      'mutation ($secret: String) { rotateProviderSecret(input: { environment: "production", name: "default", secret: $secret, reason: "x" }) { notices { path message } } }',
      { secret },
    )
    expect(data.rotateProviderSecret.notices).toEqual([{ path: 'secret', message }])
  })
})

describe('the address of a webhook', () => {
  let guarded: Game
  beforeAll(async () => {
    guarded = await startGame({ WEBHOOK_PRIVATE_ADDRESSES: 'deny' })
  })
  afterAll(() => guarded?.stop())
  const faultsOf = async (url: string) => {
    const { status, body } = await guarded.setProviders({ default: { enabled: true, url, secret: 's' } })
    return status === 200 ? [] : body.details.map(({ path, message }: Record<string, string>) => `${path}: ${message}`)
  }
  const own = 'authProviders.custom.default.url'
  const isPrivate = (host: string) =>
    `${own}: must not be a private address: ${host} is one, and WEBHOOK_PRIVATE_ADDRESSES is not allow`

  it.each([
    ['http:///x', `${own}: must name a host after http:// or https://`],
    ['https:////one.example/x', `${own}: must name a host after http:// or https://`],
    ['http://one.example:0/x', `${own}: must not name port 0, at which nothing can listen`],
    ['http:\\\\one.example\\x', `${own}: must be an absolute http or https URL`],
    ['http://one.example\\@two.example/x', `${own}: must not contain a backslash: use /`],
    ['http://127.0.0.1/x', isPrivate('127.0.0.1')],
    ['http://0x7f.1/x', isPrivate('127.0.0.1')],
    ['http://2130706433/x', isPrivate('127.0.0.1')],
    ['http://10.1.2.3:8080/x', isPrivate('10.1.2.3')],
    ['http://169.254.169.254/x', isPrivate('169.254.169.254')],
    ['http://[::1]/x', isPrivate('::1')],
    ['http://[::ffff:127.0.0.1]/x', isPrivate('::ffff:7f00:1')],
    ['http://localhost:5001/x', isPrivate('localhost')],
  ])('is refused with its reason when no login could succeed: %s', async (url, fault) => {
    expect(await faultsOf(url)).toEqual([fault])
  })

  it.each(['https://login.studio.example/tierway', 'http://93.184.216.34:8080/x', 'https://[2606:2800::1]/x'])(
    'is taken when it is public: %s',
    async (url) => {
      expect(await faultsOf(url)).toEqual([])
    },
  )

  it('may be private with WEBHOOK_PRIVATE_ADDRESSES=allow', async () => {
    expect((await write({ default: provider({ url: 'http://127.0.0.1:5001/x' }) })).status).toBe(200)
  })

  it('that is stored stays, so that its provider can still be disabled', async () => {
    await faultsOf('https://one.example/x')
    await guarded.app.pool.query("UPDATE auth_providers SET url = 'http://127.0.0.1:5001/x'")
    const kept = await guarded.setProviders({ default: { enabled: false, url: 'http://127.0.0.1:5001/x' } })
    expect(kept.status).toBe(200)
  })
})
