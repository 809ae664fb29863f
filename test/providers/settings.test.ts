import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { members } from '../../src/base/json.ts'
import { type Answer, times } from '../harness/game.ts'
import {
  auditRows,
  blocks,
  custom,
  expectSignedWith,
  game,
  get,
  namesOf,
  opened,
  operator,
  provider,
  put,
  putAt,
  rawBlocks,
  second,
  sql,
  startOperators,
  startSettings,
  stopOperators,
  stopSettings,
  titled,
} from './settings-game.ts'

beforeAll(startSettings)
afterAll(stopSettings)
beforeEach(startOperators)
afterEach(stopOperators)

/** The raw text of one block of the answered `authProviders`. */
const textOf = ({ text }: Answer, kind: string): string | undefined =>
  members(members(text).get('authProviders') ?? '{}').get(kind)
const updatedAt = ({ body }: Answer, name: string): string => body.authProviders.custom[name].updatedAt

describe('provider settings (contract 4.3, contract 4.3)', () => {
  it('are answered as documented, without secrets, for one environment or all of them by name', async () => {
    const nothing = { custom: {}, google: null, apple: null }
    expect((await get('')).body).toEqual({
      environments: ['production', 'staging'].map((environment) => ({ environment, authProviders: nothing })),
    })
    const answer = await put(
      blocks({
        custom: { default: provider(), studio: provider({ enabled: false }) },
        google: {
          clientId: 'a',
          clientSecret: 'g-secret',
          nested: { privateKey: 'p-key', list: [{ token: 't-token' }, 1.0] },
        },
      }),
    )
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(answer.status).toBe(200)
    const production = {
      environment: 'production',
      authProviders: {
        custom: {
          default: { enabled: true, url: operator.url, hasSecret: true, updatedAt: at },
          studio: { enabled: false, url: operator.url, hasSecret: true, updatedAt: at },
        },
        google: { clientId: 'a', nested: { list: [{}, 1] } },
        apple: null,
      },
    }
    expect(answer.body).toEqual(production)
    expect((await get()).text).toBe(answer.text)
    const all = await get('')
    expect(all.body).toEqual({ environments: [production, { environment: 'staging', authProviders: nothing }] })
    for (const { text } of [answer, all]) {
      for (const secret of [operator.secret, 'g-secret', 'p-key', 't-token']) expect(text).not.toContain(secret)
    }
  })

  it('keep absent blocks and replace present ones', async () => {
    await put(blocks({ custom: { a: provider(), b: provider() }, apple: { id: 1 } }))
    const answer = await put(custom({ b: { enabled: false, url: operator.url }, c: provider() }))
    expect(namesOf(answer)).toEqual(['b', 'c'])
    expect(answer.body.authProviders.custom.b.enabled).toBe(false)
    expect(answer.body.authProviders.apple).toEqual({ id: 1 })
    for (const same of [{}, { custom: null }, { custom: null, google: null }, { facebook: { id: 1 } }])
      expect({ ...(await put(blocks(same))).body, notices: undefined }).toEqual(answer.body)
    const others = await put(blocks({ google: { id: 2 } }))
    expect(namesOf(others)).toEqual(['b', 'c'])
    expect(others.body.authProviders).toMatchObject({ google: { id: 2 }, apple: { id: 1 } })
    const none = await put(custom({}))
    expect(none.body.authProviders).toEqual({ custom: {}, google: { id: 2 }, apple: { id: 1 } })
  })

  it('are separate for each environment', async () => {
    await put(custom({ a: provider() }))
    await put(custom({ b: provider({ secret: 'of staging' }) }, 'staging'))
    await put(custom({}, 'staging'))
    expect(namesOf(await get('?environment=production'))).toEqual(['a'])
    expect(namesOf(await get('?environment=staging'))).toEqual([])
    expect((await put(custom({ a: { enabled: true, url: operator.url } }, 'staging'))).status).toBe(400)
  })

  it('take the last of duplicate members, decode escaped names and ignore unknown members', async () => {
    const answer = await put(
      `{"environment":"staging","environment":"production","more":1,"authProviders":{"custom":{"gone":{}},"custom":{
        "a":{"enabled":1},"\\u0061":{"enabled":false,"enabled":true,"url":"https://a.example","secret":"s","role":[]}}}}`,
    )
    expect(answer.body).toEqual({
      notices: expect.any(Array),
      environment: 'production',
      authProviders: {
        custom: { a: { enabled: true, url: 'https://a.example', hasSecret: true, updatedAt: expect.any(String) } },
        google: null,
        apple: null,
      },
    })
  })

  it.each(['a', '0', '42', 'default', 'studio_a-1', 'a-', 'a_', 'constructor', 'valueof', 'a'.repeat(32)])(
    'accept the name %j, and logins can use it (contract 2.3)',
    async (name) => {
      expect(namesOf(await put(custom({ [name]: provider() })))).toEqual([name])
      expect((await game.login({ player: 'ada' }, { provider: name })).status).toBe(200)
      await put(custom({}))
      const answer = await game.login({ player: 'ada' }, { provider: name })
      expect([answer.status, answer.body.error]).toEqual([401, 'custom auth disabled'])
    },
  )

  it.each(
    [
      'https://a.example',
      'HTTPS://A.EXAMPLE/Login',
      'http://a.example:8080/a%20b?c=d&e=%40',
      'http://[2001:db8::1]/',
      'https://пример.example/вход',
      `https://a.example/${'a'.repeat(2030)}`,
      `https://a.example/${'😀'.repeat(2030)}`,
    ].map(titled),
  )('accept the URL %s and return it unchanged', async (_title, url) => {
    const answer = await put(custom({ a: provider({ url }) }))
    expect([answer.status, answer.body.authProviders.custom.a.url]).toEqual([200, url])
  })

  it.each(['s', ' spaces ', 'x'.repeat(512), '😀'.repeat(512), 'é"\\\n'].map(titled))(
    'accept the secret %s, and its UTF-8 bytes sign requests (contract 4.4)',
    async (_title, secret) => {
      expect((await put(custom({ default: provider({ secret }) }))).status).toBe(200)
      expect((await game.login({ player: 'ada' })).status).toBe(200)
      expectSignedWith(secret, operator.hits[0])
    },
  )

  it('do not change, with their secrets, when an answer is written back in every environment', async () => {
    await put(custom({ default: provider({ secret: 'of staging' }) }, 'staging'))
    const before = await put(
      blocks({
        custom: { default: provider(), off: provider({ enabled: false }) },
        google: { clientId: 'a', clientSecret: 'kept' },
      }),
    )
    const stored = () => sql("SELECT * FROM auth_providers WHERE kind = 'custom' ORDER BY environment_id, name")
    const rows = await stored()
    const after = await put(before.text)
    expect(after.text).toBe(before.text)
    for (const environment of (await get('')).body.environments) expect((await put(environment)).status).toBe(200)
    expect(await stored()).toEqual(rows)
    expect(await auditRows()).toHaveLength(2)
    expect((await opened('google')).get('clientSecret')).toBe('"kept"')
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    expectSignedWith(operator.secret, operator.hits[0])
  })

  it('change the updatedAt of a provider only when that provider changes', async () => {
    const first = await put(custom({ a: provider(), b: provider(), c: provider() }))
    const same = await put(custom({ a: provider(), b: provider(), c: { enabled: true, url: operator.url } }))
    expect(same.text).toBe(first.text)
    const later = await put(
      custom({ a: provider({ enabled: false }), b: provider(), c: provider({ secret: 'another' }) }),
    )
    expect(updatedAt(later, 'b')).toBe(updatedAt(first, 'b'))
    for (const name of ['a', 'c']) expect(updatedAt(later, name) > updatedAt(first, name), name).toBe(true)
    const url = await put(custom({ a: provider({ enabled: false, url: `${operator.url}?v=2` }), b: provider() }))
    expect(updatedAt(url, 'a') > updatedAt(later, 'a')).toBe(true)
  })

  it('end as the whole map of one call when two instances change them at once, in fifty rounds', async () => {
    for (const round of times(50, (index) => index)) {
      const maps = ['a', 'b'].map((letter) =>
        Object.fromEntries(times(5, (index) => [`${letter}${round}-${index}`, provider({ secret: letter })])),
      )
      const [mapA = {}, mapB = {}] = maps
      const [answerA, answerB, seen] = await Promise.all([
        put(custom(mapA)),
        putAt(second.baseUrl, custom(mapB)),
        get(),
      ])
      expect([answerA.status, answerB.status]).toEqual([200, 200])
      expect(namesOf(answerA)).toEqual(Object.keys(mapA).sort())
      // A concurrent read sees the previous map, or one of these.
      expect(new Set(namesOf(seen).map((name) => name.split('-')[0])).size).toBeLessThanOrEqual(1)
      const names = namesOf(await get())
      expect(maps.map((map) => Object.keys(map).sort())).toContainEqual(names)
      const secret = names[0]?.[0] ?? ''
      expect((await game.login({ player: 'ada' }, { provider: names[round % 5] })).status).toBe(200)
      expectSignedWith(secret, operator.hits.at(-1))
    }
  })
})

describe('google and apple (contract 4.3)', () => {
  it('are returned as given: values unchanged, members in order', async () => {
    const google = '{"b":1.0,"2":[1,-0,1E+2],"1":12345678901234567890,"a":"\\u0061\\/","n":null,"__proto__":{"x":1}}'
    const answer = await put(rawBlocks({ google, apple: '{}' }))
    expect(answer.status).toBe(200)
    expect(textOf(answer, 'google')).toBe(google)
    expect(textOf(answer, 'apple')).toBe('{}')
    expect((await get()).text).toBe(answer.text)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it('withhold members with secret names, in any spelling and at any depth', async () => {
    const names = ['secret', 'client secret', 'private key', 'password', 'token', 'access token', 'refresh token']
    const hidden = [...names, 'API key', 'signing key'].flatMap((name) => {
      const words = name.toLowerCase().split(' ')
      const camel = words.map((word, index) => (index > 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word))
      return [camel.join(''), words.join('_'), words.join('-').toUpperCase(), words.join(''), `_${words.join('__')}-`]
    })
    const sent = [...new Set(hidden)].map((name) => `"${name}":"hidden"`)
    const deep = `{"list":[{"deeper":{"se\\u0063ret":"hidden","x":1}},[{"TOKEN":"hidden"}]],"secret":{"a":["hidden"]}}`
    const answer = await put(rawBlocks({ google: `{${sent},"deep":${deep}}`, apple: '{"token":["hidden"],"x":2}' }))
    expect(textOf(answer, 'google')).toBe('{"deep":{"list":[{"deeper":{"x":1}},[{}]]}}')
    expect(textOf(answer, 'apple')).toBe('{"x":2}')
    for (const { text } of [answer, await get(), await get('')]) expect(text).not.toContain('hidden')
    expect(JSON.stringify(await sql('SELECT * FROM auth_providers'))).not.toContain('hidden')
    expect(JSON.stringify(await auditRows())).not.toContain('hidden')
  })

  it('show members whose names only contain such a word', async () => {
    const shown = ['keyId', 'key_id', 'tokenUri', 'publicKeyUrl', 'publicKey', 'key', 'keys', 'secrets', 'tokens']
    const more = ['passwordPolicy', 'secretName', 'tokenLifetime', 'client secret', 'se.cret', 'apiKeyHeader']
    const google = `{${[...shown, ...more].map((name) => `"${name}":"shown"`)}}`
    const answer = await put(rawBlocks({ google }))
    expect(textOf(answer, 'google')).toBe(google)
    expect(textOf(await put(rawBlocks({ google: '{"keyId":"new"}' })), 'google')).toBe('{"keyId":"new"}')
    expect(await opened('google')).toEqual(new Map([['keyId', '"new"']]))
  })

  it('are removed by an explicit null, with their secrets, and stay when absent (contract 4.3)', async () => {
    const both = { google: '{"clientId":"a","clientSecret":"one"}', apple: '{"teamId":"t"}' }
    const custom = JSON.stringify({ a: provider() })
    const before = await put(rawBlocks({ ...both, custom }))
    const left = await put(rawBlocks({ google: 'null' }))
    expect(left.body.authProviders).toEqual({ ...before.body.authProviders, google: null })
    expect(await sql("SELECT kind FROM auth_providers WHERE kind = 'google'")).toEqual([])
    const [, audit] = await auditRows()
    expect(JSON.parse(audit?.before ?? '').google).toEqual({ clientId: 'a' })
    expect(JSON.parse(audit?.after ?? '').google).toBeNull()
    expect((await put(rawBlocks({ google: 'null' }))).text).toBe(left.text)
    expect(await auditRows()).toHaveLength(2)

    // A new block of the same name keeps nothing of the previous one.
    await put(rawBlocks({ google: '{"clientId":"b"}' }))
    expect(await opened('google')).toEqual(new Map([['clientId', '"b"']]))
    const none = await put(rawBlocks({ google: '{"x":1}', apple: 'null', 'go\\u006fgle': 'null', custom: 'null' }))
    expect(none.body.authProviders).toEqual({ custom: before.body.authProviders.custom, google: null, apple: null })
  })

  it('stay when another part of the request is refused', async () => {
    await put(rawBlocks({ google: '{"x":1}' }))
    const answer = await put(rawBlocks({ google: 'null', apple: '[]', custom: '{"a":{}}' }))
    expect([answer.status, (await get()).body.authProviders.google]).toEqual([400, { x: 1 }])
  })

  it('keep withheld members unless they are sent again', async () => {
    await put(rawBlocks({ google: '{"clientId":"a","clientSecret":"one","deep":{"apiKey":"two","x":1}}' }))
    await put(rawBlocks({ google: '{"clientId":"b","deep":{"x":2}}' }))
    const kept = await opened('google')
    expect([kept.get('clientId'), kept.get('clientSecret')]).toEqual(['"b"', '"one"'])
    expect(members(kept.get('deep') ?? '')).toEqual(
      new Map([
        ['x', '2'],
        ['apiKey', '"two"'],
      ]),
    )
    await put(rawBlocks({ google: '{"clientSecret":"three","deep":{"apiKey":null}}' }))
    const changed = await opened('google')
    expect([changed.get('clientId'), changed.get('clientSecret')]).toEqual([undefined, '"three"'])
    expect(members(changed.get('deep') ?? '').get('apiKey')).toBe('"two"')
  })

  it.each([
    ['a secret in front', '{"clientSecret":"s","clientId":"a"}'],
    ['white space', '{ "clientId" : "a",\n "clientSecret" : "s" }'],
    ['a duplicate member', '{"clientId":"b","clientSecret":"s","clientId":"a"}'],
    ['a deep secret in front', '{"clientId":"a","deep":{"token":"s","x":1}}'],
    ['a secret in a list', '{"list":[{"token":"s","x":1}]}'],
  ])('do not change when they, or their answer, are sent again: %s', async (_what, google) => {
    const first = await put(rawBlocks({ google }))
    const again = await put(rawBlocks({ google }))
    const readAgain = await put((await get()).text)
    expect([again.text, readAgain.text]).toEqual([first.text, first.text])
    expect(JSON.stringify([...(await opened('google'))])).toContain('s')
    expect((await auditRows()).map(({ after }) => JSON.parse(after))).toHaveLength(1)
  })
})

describe('settings over GraphQL and REST (contract 15)', () => {
  const SET = `mutation ($input: SetAuthProvidersInput!) { setAuthProviders(input: $input) {
    authProviders { environment custom { name enabled url hasSecret updatedAt } google apple } } }`
  const READ = '{ authProviders(environment: "production") { environment google apple custom { name enabled url } } }'

  it.each([
    ['bad names', '{"custom":{"Bad":{"enabled":true,"url":"https://a.example","secret":"s"},"":1,"google":{}}}'],
    [
      'bad URLs',
      '{"custom":{"a":{"enabled":true,"url":"ftp://x","secret":"s"},"b":{"enabled":true,"url":"","secret":"s"}}}',
    ],
    ['no secret', '{"custom":{"a":{"enabled":true,"url":"https://a.example"}}}'],
    ['wrong types', '{"custom":{"a":{"enabled":1,"url":2,"secret":3}},"google":[],"apple":"x"}'],
    ['no map', '{"custom":[]}'],
  ])('report the same faults: %s', async (_what, authProviders) => {
    const rest = await put(`{"environment":"production","authProviders":${authProviders}}`)
    const { errors } = await game.graphql(game.platformKey, SET, {
      input: { environment: 'production', authProviders, reason: 'x' },
    })
    expect(rest.status).toBe(400)
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', details: rest.body.details })
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
  })

  it('are the same over both, without secrets', async () => {
    const authProviders = JSON.stringify({
      custom: { default: provider(), '42': provider() },
      google: { apiKey: 'k', n: 1 },
    })
    const input = { environment: 'production', authProviders, reason: 'a new studio' }
    const set = await game.graphql(game.platformKey, SET, { input })
    const rest = await get()
    const list = set.data.setAuthProviders.authProviders
    expect(list.custom.map(({ name }: { name: string }) => name).sort()).toEqual(namesOf(rest))
    for (const { name, ...shown } of list.custom) {
      expect({ ...shown, updatedAt: new Date(shown.updatedAt).toISOString() }).toEqual(
        rest.body.authProviders.custom[name],
      )
    }
    expect(list.google).toEqual(rest.body.authProviders.google)
    expect(JSON.stringify(set)).not.toContain(operator.secret)
    expect((await put(rest.text)).text).toBe(rest.text)
    expect((await auditRows()).map(({ reason }) => reason)).toEqual(['a new studio'])
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    expectSignedWith(operator.secret, operator.hits[0])
    await put(custom({}))
    const read = await game.graphql(await game.key('viewer'), READ)
    expect(read.data.authProviders).toEqual([{ environment: 'production', custom: [], google: { n: 1 }, apple: null }])
  })

  it('lose a block by an explicit null in GraphQL: in a text, in a variable, in a literal', async () => {
    const input = (authProviders: unknown) => ({ input: { environment: 'production', authProviders, reason: 'x' } })
    for (const authProviders of ['{"google":null}', { google: null }]) {
      await put(rawBlocks({ google: '{"n":1}', apple: '{"n":2}' }))
      const { data } = await game.graphql(game.platformKey, SET, input(authProviders))
      expect(data.setAuthProviders.authProviders).toMatchObject({ google: null, apple: { n: 2 } })
    }
    const { data } = await game.graphql(
      game.platformKey,
      `mutation { setAuthProviders(input: {environment: "production", authProviders: {apple: null}, reason: "x"}) {
        authProviders { google apple } } }`,
    )
    expect(data.setAuthProviders.authProviders).toEqual({ google: null, apple: null })
    expect((await game.graphql(game.platformKey, SET, input({}))).data.setAuthProviders.authProviders.google).toBeNull()
  })
})
