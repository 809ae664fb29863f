import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { generateTokenKey } from '../../src/auth/tokens.ts'
import { members } from '../../src/json.ts'
import { createProject } from '../../src/projects/projects.ts'
import { createSecrets, generateSecretsKey, type SecretsKey } from '../../src/providers/secrets.ts'
import { type Answer, type Game, type Instance, startGame, startInstance, times } from '../support/game.ts'
import { approve, type Hit, type Operator, signatureOf, startOperator, status } from '../support/operator.ts'

const MIB = 1_048_576

const tokenKey = await generateTokenKey()
const secretsKey = generateSecretsKey()
let game: Game
let operator: Operator
/** A second instance on the same database. */
let second: Instance
/** All that was logged by the instances that `startLogged` made. */
const lines: string[] = []

beforeAll(async () => {
  game = await startGame({ TOKEN_KEYS: JSON.stringify([tokenKey]), SECRETS_KEYS: JSON.stringify([secretsKey]) })
  second = await startLogged([secretsKey])
})
afterAll(async () => {
  await second?.stop()
  await game?.stop()
})
beforeEach(async () => {
  operator = await startOperator()
  await sql('TRUNCATE auth_providers, replaced_secrets, audit_log')
})
afterEach(() => operator?.close())

/** An instance on the same database, which writes down all that it logs. */
function startLogged(keys: readonly SecretsKey[]): Promise<Instance> {
  const env = { TOKEN_KEYS: JSON.stringify([tokenKey]), SECRETS_KEYS: JSON.stringify(keys) }
  return startInstance(game.databaseUrl, env, pino({ level: 'trace' }, { write: (line) => void lines.push(line) }))
}

/** Runs an instance with other keys for as long as `use` takes. */
async function withKeys<T>(keys: readonly SecretsKey[], use: (baseUrl: string) => Promise<T>): Promise<T> {
  const { baseUrl, stop } = await startLogged(keys)
  try {
    return await use(baseUrl)
  } finally {
    await stop()
  }
}

const sql = async (text: string, values: unknown[] = []) => (await game.app.pool.query(text, values)).rows
const auditRows = () => sql('SELECT * FROM audit_log ORDER BY id')
const path = () => `/platform/v1/projects/${game.projectId}/auth-providers`
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
const put = (body: unknown, headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('PUT', path(), { body: typeof body === 'string' ? body : JSON.stringify(body), headers })
const putAt = (baseUrl: string, body: unknown): Promise<Response> =>
  fetch(baseUrl + path(), { method: 'PUT', headers: bearer(game.platformKey), body: JSON.stringify(body) })
const get = (query = '?environment=production', headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('GET', path() + query, { headers })
const provider = (more: object = {}) => ({ enabled: true, url: operator.url, secret: operator.secret, ...more })
const blocks = (authProviders: object, environment = 'production') => ({ environment, authProviders })
const custom = (providers: object, environment = 'production') => blocks({ custom: providers }, environment)
/** The same with the texts of `google` and `apple` as they stand. */
const rawBlocks = (texts: Record<string, string>): string =>
  `{"environment":"production","authProviders":{${Object.entries(texts).map(([kind, text]) => `"${kind}":${text}`)}}}`
/** The text of a part of the `authProviders` that were answered, as it came. */
const textOf = ({ text }: Answer, kind: string): string | undefined =>
  members(members(text).get('authProviders') ?? '{}').get(kind)
const namesOf = ({ body }: Answer): string[] => Object.keys(body.authProviders.custom).sort()
const pathsOf = ({ body }: Answer): string[] => body.details.map(({ path: at }: { path: string }) => at)
/** A value as a test's title shows it, however long it is. */
const titled = <T>(value: T): [title: string, value: T] => {
  const text = JSON.stringify(value) ?? 'absent'
  return [text.length > 60 ? `${text.slice(0, 50)}… (${text.length})` : text, value]
}
const updatedAt = ({ body }: Answer, name: string): string => body.authProviders.custom[name].updatedAt

async function loginAt(baseUrl: string, body: object, sdkKey = game.sdkKey) {
  const headers = { 'x-sdk-key': sdkKey }
  const options = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, options)
  const text = await response.text()
  return { status: response.status, error: JSON.parse(text).error as string | undefined, text }
}

function expectSignedWith(secret: string, hit: Hit | undefined): void {
  expect(hit?.headers['x-signature']).toBe(signatureOf(secret, hit?.body ?? Buffer.of()))
}

/** What is stored of a block, opened as the row that it is in. */
async function opened(kind: string): Promise<Map<string, string>> {
  const [row] = await sql('SELECT * FROM auth_providers WHERE kind = $1 AND environment_id = $2', [
    kind,
    game.environmentId,
  ])
  const place = { projectId: game.projectId, environmentId: game.environmentId, kind, name: row?.name }
  return members(createSecrets([secretsKey]).open(row?.secret, place))
}

describe('provider settings (spec 4.3, decisions 6)', () => {
  it('answer as documented, without any secret, one environment and all of them by name', async () => {
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

  it('keep the parts that are absent, and replace those that are there', async () => {
    await put(blocks({ custom: { a: provider(), b: provider() }, apple: { id: 1 } }))
    const answer = await put(custom({ b: { enabled: false, url: operator.url }, c: provider() }))
    expect(namesOf(answer)).toEqual(['b', 'c'])
    expect(answer.body.authProviders.custom.b.enabled).toBe(false)
    expect(answer.body.authProviders.apple).toEqual({ id: 1 })
    for (const same of [{}, { custom: null }, { custom: null, google: null }, { facebook: { id: 1 } }])
      expect((await put(blocks(same))).text).toBe(answer.text)
    const others = await put(blocks({ google: { id: 2 } }))
    expect(namesOf(others)).toEqual(['b', 'c'])
    expect(others.body.authProviders).toMatchObject({ google: { id: 2 }, apple: { id: 1 } })
    const none = await put(custom({}))
    expect(none.body.authProviders).toEqual({ custom: {}, google: { id: 2 }, apple: { id: 1 } })
  })

  it("are an environment's own", async () => {
    await put(custom({ a: provider() }))
    await put(custom({ b: provider({ secret: 'of staging' }) }, 'staging'))
    await put(custom({}, 'staging'))
    expect(namesOf(await get('?environment=production'))).toEqual(['a'])
    expect(namesOf(await get('?environment=staging'))).toEqual([])
    expect((await put(custom({ a: { enabled: true, url: operator.url } }, 'staging'))).status).toBe(400)
  })

  it('take the last of duplicate members, names with escapes, and no unknown member', async () => {
    const answer = await put(
      `{"environment":"staging","environment":"production","more":1,"authProviders":{"custom":{"gone":{}},"custom":{
        "a":{"enabled":1},"\\u0061":{"enabled":false,"enabled":true,"url":"https://a.example","secret":"s","role":[]}}}}`,
    )
    expect(answer.body).toEqual({
      environment: 'production',
      authProviders: {
        custom: { a: { enabled: true, url: 'https://a.example', hasSecret: true, updatedAt: expect.any(String) } },
        google: null,
        apple: null,
      },
    })
  })

  it.each(['a', '0', '42', 'default', 'studio_a-1', 'a-', 'a_', 'constructor', 'valueof', 'a'.repeat(32)])(
    'take the name %j, and log in with it (spec 2.3)',
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
  )('take the URL %s and give it back as it is', async (_title, url) => {
    const answer = await put(custom({ a: provider({ url }) }))
    expect([answer.status, answer.body.authProviders.custom.a.url]).toEqual([200, url])
  })

  it.each(['s', ' spaces ', 'x'.repeat(512), '😀'.repeat(512), 'é"\\\n'].map(titled))(
    'take the secret %s, whose bytes in UTF-8 then sign (spec 4.4)',
    async (_title, secret) => {
      expect((await put(custom({ default: provider({ secret }) }))).status).toBe(200)
      expect((await game.login({ player: 'ada' })).status).toBe(200)
      expectSignedWith(secret, operator.hits[0])
    },
  )

  it('are the same after what was read is written again, secrets and all, in every environment', async () => {
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

  it('of a provider alone change its updatedAt, and only when there is a change', async () => {
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

  it('never mix: of two changes at once on two instances the whole map of one is left, fifty times', async () => {
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
      // Who reads meanwhile sees the map of before, or one of these.
      expect(new Set(namesOf(seen).map((name) => name.split('-')[0])).size).toBeLessThanOrEqual(1)
      const names = namesOf(await get())
      expect(maps.map((map) => Object.keys(map).sort())).toContainEqual(names)
      const secret = names[0]?.[0] ?? ''
      expect((await game.login({ player: 'ada' }, { provider: names[round % 5] })).status).toBe(200)
      expectSignedWith(secret, operator.hits.at(-1))
    }
  })
})

describe('google and apple (decisions 6)', () => {
  it('are stored and returned as given: values to the letter, members in their order', async () => {
    const google = '{"b":1.0,"2":[1,-0,1E+2],"1":12345678901234567890,"a":"\\u0061\\/","n":null,"__proto__":{"x":1}}'
    const answer = await put(rawBlocks({ google, apple: '{}' }))
    expect(answer.status).toBe(200)
    expect(textOf(answer, 'google')).toBe(google)
    expect(textOf(answer, 'apple')).toBe('{}')
    expect((await get()).text).toBe(answer.text)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it('withhold members of these names, in any spelling and however deep', async () => {
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

  it('show what merely has such a word in its name', async () => {
    const shown = ['keyId', 'key_id', 'tokenUri', 'publicKeyUrl', 'publicKey', 'key', 'keys', 'secrets', 'tokens']
    const more = ['passwordPolicy', 'secretName', 'tokenLifetime', 'client secret', 'se.cret', 'apiKeyHeader']
    const google = `{${[...shown, ...more].map((name) => `"${name}":"shown"`)}}`
    const answer = await put(rawBlocks({ google }))
    expect(textOf(answer, 'google')).toBe(google)
    expect(textOf(await put(rawBlocks({ google: '{"keyId":"new"}' })), 'google')).toBe('{"keyId":"new"}')
    expect(await opened('google')).toEqual(new Map([['keyId', '"new"']]))
  })

  it('are removed by an explicit null, secrets and all; what is absent stays (decisions 6)', async () => {
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

    // Nothing of before is kept for a block of the same name.
    await put(rawBlocks({ google: '{"clientId":"b"}' }))
    expect(await opened('google')).toEqual(new Map([['clientId', '"b"']]))
    const none = await put(rawBlocks({ google: '{"x":1}', apple: 'null', 'go\\u006fgle': 'null', custom: 'null' }))
    expect(none.body.authProviders).toEqual({ custom: before.body.authProviders.custom, google: null, apple: null })
  })

  it('stay when anything else of the request is refused', async () => {
    await put(rawBlocks({ google: '{"x":1}' }))
    const answer = await put(rawBlocks({ google: 'null', apple: '[]', custom: '{"a":{}}' }))
    expect([answer.status, (await get()).body.authProviders.google]).toEqual([400, { x: 1 }])
  })

  it('keep what is withheld unless it is sent again', async () => {
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
  ])('do not change by being sent again, nor by what was read being sent: %s', async (_what, google) => {
    const first = await put(rawBlocks({ google }))
    const again = await put(rawBlocks({ google }))
    const readAgain = await put((await get()).text)
    expect([again.text, readAgain.text]).toEqual([first.text, first.text])
    expect(JSON.stringify([...(await opened('google'))])).toContain('s')
    expect((await auditRows()).map(({ after }) => JSON.parse(after))).toHaveLength(1)
  })
})

describe('what is refused (decisions 6)', () => {
  const NAME_RULE = "a provider's name must match ^[a-z0-9][a-z0-9_-]{0,31}$ and not be google, apple, device"
  const NO_URL = 'must be an absolute http or https URL'
  const CREDENTIALS = 'must not contain credentials'
  const CONTROL = 'must not contain whitespace or control characters'
  const LENGTH = 'must be 1 to 2048 characters'
  const UNCLEAN = 'must not contain NUL or a lone surrogate'

  const refused = (rows: [value: unknown, message: string][]): [title: string, value: unknown, message: string][] =>
    rows.map(([value, message]) => [...titled(value), message])

  /** Nothing was written by a request that was refused. */
  afterEach(async () => {
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
    expect(await auditRows()).toEqual([])
  })

  it.each([
    ...['google', 'apple', 'device', 'Default', '-x', '_x', '', 'a'.repeat(33), 'ä', 'а', '😀', 'a.b', 'a b', ' a'],
    ...['a\n', 'a\0', '\ud800', '__proto__', 'toString', 'custom:a', 'a/b', '１'],
  ])('the name %j, naming the rule', async (name) => {
    const answer = await put(`{"environment":"production","authProviders":{"custom":{${JSON.stringify(name)}:
      {"enabled":true,"url":"https://a.example","secret":"s"}}}}`)
    expect([answer.status, answer.body.error, answer.body.details]).toEqual([
      400,
      'invalid request',
      [{ path: `authProviders.custom.${name}`, message: NAME_RULE }],
    ])
  })

  it.each(
    refused([
      ['ftp://a.example', NO_URL],
      ['file:///etc/passwd', NO_URL],
      ['javascript:alert(1)', NO_URL],
      ['data:application/json,{}', NO_URL],
      ['ws://a.example', NO_URL],
      ['a.example', NO_URL],
      ['login', NO_URL],
      ['/login', NO_URL],
      ['?login', NO_URL],
      ['//a.example/login', NO_URL],
      ['http:a.example', NO_URL],
      ['http:/a.example', NO_URL],
      ['http:\\\\a.example', NO_URL],
      ['http://', NO_URL],
      ['http://?a', NO_URL],
      ['https://a.example:99999', NO_URL],
      ['https://a..%00.example', NO_URL],
      ['https://user@a.example', CREDENTIALS],
      ['https://user:password@a.example', CREDENTIALS],
      ['https://:password@a.example', CREDENTIALS],
      ['https://a.example@b.example', CREDENTIALS],
      ['https://a.example/a b', CONTROL],
      [' https://a.example', CONTROL],
      ['https://a.example ', CONTROL],
      ['https://a.example/\n', CONTROL],
      ['https://a.example/\r\nX-A: b', CONTROL],
      ['ht\ntps://a.example', CONTROL],
      ['https://a.example/\t', CONTROL],
      ['https://a.example/\u001b', CONTROL],
      ['https://a.example/\u007f', CONTROL],
      ['https://a.example/\u0085', CONTROL],
      ['https://a.example/\u009f', CONTROL],
      ['https://a.example/\u00a0', CONTROL],
      ['https://a.example/\u2028', CONTROL],
      ['https://a.example/\0', UNCLEAN],
      ['https://a.example/\ud800', UNCLEAN],
      [`https://a.example/${'a'.repeat(2031)}`, LENGTH],
      [`https://a.example/${'😀'.repeat(2031)}`, LENGTH],
      ['', LENGTH],
      [5, 'must be a string'],
      [true, 'must be a string'],
      [['https://a.example'], 'must be a string'],
      [{}, 'must be a string'],
      [null, 'is required'],
      [undefined, 'is required'],
    ]),
  )('the URL %s', async (_title, url, message) => {
    const answer = await put(custom({ default: provider({ url }) }))
    expect([answer.status, answer.body.details]).toEqual([400, [{ path: 'authProviders.custom.default.url', message }]])
  })

  it.each(
    refused([
      ['', 'must be 1 to 512 characters'],
      ['s'.repeat(513), 'must be 1 to 512 characters'],
      ['😀'.repeat(513), 'must be 1 to 512 characters'],
      ['a\0b', UNCLEAN],
      ['\ud800', UNCLEAN],
      [5, 'must be a string'],
      [false, 'must be a string'],
      [['s'], 'must be a string'],
      [{}, 'must be a string'],
      [null, 'is required while none is stored'],
      [undefined, 'is required while none is stored'],
    ]),
  )('the secret %s', async (_title, secret, message) => {
    const answer = await put(custom({ default: provider({ secret }) }))
    const details = [{ path: 'authProviders.custom.default.secret', message }]
    expect([answer.status, answer.body.details]).toEqual([400, details])
  })

  it.each([
    [1, 'must be true or false'],
    ['true', 'must be true or false'],
    [[], 'must be true or false'],
    [null, 'is required'],
    [undefined, 'is required'],
  ])('enabled: %j', async (enabled, message) => {
    const answer = await put(custom({ default: provider({ enabled }) }))
    const details = [{ path: 'authProviders.custom.default.enabled', message }]
    expect([answer.status, answer.body.details]).toEqual([400, details])
  })

  it.each([
    ['{}', ['environment', 'authProviders']],
    ['{"environment":null,"authProviders":null}', ['environment', 'authProviders']],
    ['{"environment":5,"authProviders":[]}', ['environment', 'authProviders']],
    ['{"environment":"","authProviders":"{}"}', ['environment', 'authProviders']],
    ['{"environment":"a\\u0000","authProviders":1}', ['environment', 'authProviders']],
    [
      '{"environment":"production","authProviders":{"custom":[],"google":"x","apple":1}}',
      ['authProviders.custom', 'authProviders.google', 'authProviders.apple'],
    ],
    [
      '{"environment":"production","authProviders":{"custom":{"a":[],"b":"x","c":1,"d":true}}}',
      ['a', 'b', 'c', 'd'].map((name) => `authProviders.custom.${name}`),
    ],
    ['[]', ['']],
    ['null', ['']],
    ['"x"', ['']],
    ['', ['']],
    ['{"environment":"production","authProviders":{}', ['']],
    [`{"environment":"production","authProviders":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, ['']],
  ])('the body %s', async (body, paths) => {
    const answer = await put(body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(pathsOf(answer)).toEqual(paths)
  })

  it('bodies over 1 MiB', async () => {
    const body = rawBlocks({ google: '{}' })
    expect((await put(body.padEnd(MIB + 1))).status).toBe(413)
    expect((await put(rawBlocks({}).padEnd(MIB))).status).toBe(200)
  })

  it('an environment that is not there, and only then', async () => {
    const unknown = await put(custom({}, 'nowhere'))
    expect([unknown.status, unknown.body.error]).toEqual([404, 'environment not found'])
    expect((await get('?environment=nowhere')).body.error).toBe('environment not found')
    expect((await put(custom({ Bad: {} }, 'nowhere'))).status).toBe(400)
    // Another project's is not there either.
    await createProject(game.app.pool, { name: 'Other', environments: ['elsewhere'] })
    expect((await put(custom({}, 'elsewhere'))).body.error).toBe('environment not found')
    expect((await get('?environment=elsewhere')).body.error).toBe('environment not found')
  })

  it('so many faults that no answer could carry them, without a 500', async () => {
    const names = times(90_000, (index) => `"${index.toString(36)}.":1`)
    const answer = await put(`{"environment":"production","authProviders":{"custom":{${names}}}}`)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(answer.body.details.length).toBeGreaterThan(0)
  })
})

describe('how much there may be', () => {
  it('is five hundred custom providers', async () => {
    const all = (count: number) => custom(Object.fromEntries(times(count, (index) => [`p${index}`, provider()])))
    const tooMany = await put(all(501))
    expect([tooMany.status, tooMany.body.details]).toEqual([
      400,
      [{ path: 'authProviders.custom', message: 'must have at most 500 providers' }],
    ])
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
    const taken = await put(all(500))
    expect([taken.status, namesOf(taken).length]).toEqual([200, 500])
  })

  it('is 16 KiB of google and apple each, with the secrets that stay', async () => {
    const block = (name: string, bytes: number): string => {
      const empty = `{"${name}":"é"}`
      return empty.replace('é', `é${'x'.repeat(bytes - Buffer.byteLength(empty))}`)
    }
    const fault = (kind: string) => ({
      path: `authProviders.${kind}`,
      message: 'must have at most 16384 bytes, with what stays stored of it',
    })
    const tooLong = await put(rawBlocks({ google: block('a', 16_384), apple: block('a', 16_385) }))
    expect([tooLong.status, tooLong.body.details]).toEqual([400, [fault('apple')]])
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])

    expect((await put(rawBlocks({ google: block('token', 16_384) }))).status).toBe(200)
    const before = await opened('google')
    const both = await put(rawBlocks({ google: '{"other":1}', apple: '{}' }))
    expect([both.status, both.body.details]).toEqual([400, [fault('google')]])
    expect([await opened('google'), (await get()).body.authProviders.apple]).toEqual([before, null])
  })
})

describe('every fault at once (decisions 2)', () => {
  it('of all parts and all providers, and nothing is written', async () => {
    await put(custom({ kept: provider() }))
    const answer = await put({
      environment: 'production',
      authProviders: {
        custom: {
          kept: { enabled: false, url: 'ftp://x' },
          Bad: provider({ enabled: 'yes' }),
          fresh: { enabled: true, url: operator.url },
          other: [],
          good: provider(),
        },
        google: 1,
      },
    })
    expect(answer.status).toBe(400)
    expect(pathsOf(answer).sort()).toEqual([
      'authProviders.custom.Bad',
      'authProviders.custom.Bad.enabled',
      'authProviders.custom.fresh.secret',
      'authProviders.custom.kept.url',
      'authProviders.custom.other',
      'authProviders.google',
    ])
    expect(namesOf(await get())).toEqual(['kept'])
    expect(await auditRows()).toHaveLength(1)
    expect((await game.login({ player: 'ada' }, { provider: 'kept' })).status).toBe(200)
  })

  it('of the environment, too', async () => {
    const answer = await put({ environment: 5, authProviders: { custom: { Bad: provider() }, apple: 'x' } })
    expect(answer.status).toBe(400)
    expect(pathsOf(answer).sort()).toEqual(['authProviders.apple', 'authProviders.custom.Bad', 'environment'])
  })

  it.each([
    ['a wrong flag and a wrong URL', { enabled: 'yes', url: 'ftp://x', secret: 's' }, ['enabled', 'url']],
    ['no flag and a wrong URL', { url: 'https://user@a.example', secret: 's' }, ['enabled', 'url']],
    ['no flag and no secret', { url: 'https://a.example' }, ['enabled', 'secret']],
    ['a wrong URL and no secret', { enabled: true, url: 'ftp://x' }, ['url', 'secret']],
    ['all three wrong', { enabled: 1, url: 1, secret: 1 }, ['enabled', 'url', 'secret']],
    ['nothing', {}, ['enabled', 'url', 'secret']],
  ])('of one provider: %s', async (_what, settings, names) => {
    const answer = await put(custom({ a: settings }))
    expect(answer.status).toBe(400)
    expect(pathsOf(answer).sort()).toEqual(names.map((name) => `authProviders.custom.a.${name}`).sort())
  })
})

describe('who may call (decisions 1)', () => {
  it('viewers read, admins write, players and clients do neither', async () => {
    const player = await game.player()
    for (const [credentials, read, written] of [
      [await game.key('viewer'), 200, 403],
      [await game.key('operator'), 200, 403],
      [await game.key('admin'), 200, 200],
      [player.token, 401, 401],
      [game.sdkKey, 401, 401],
      [`${game.platformKey}x`, 401, 401],
      ['twplat_', 401, 401],
    ] as const) {
      for (const query of ['', '?environment=production']) {
        const answer = await get(query, bearer(credentials))
        expect(answer.status).toBe(read)
        if (read === 401) expect(answer.body.error).toBe('invalid token')
      }
      const answer = await put(custom({}), bearer(credentials))
      expect(answer.status).toBe(written)
      if (written !== 200) expect(answer.body.error).toBe(written === 401 ? 'invalid token' : 'forbidden')
    }
    for (const headers of [{}, { authorization: game.platformKey }, { 'x-sdk-key': game.sdkKey }] as const) {
      expect((await get('', headers as Record<string, string>)).body.error).toBe('invalid token')
      expect((await put(custom({}), headers as Record<string, string>)).body.error).toBe('invalid token')
    }
  })

  it('nobody calls for another project, and who may not is told before anything is read', async () => {
    const other = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    for (const projectId of [other.projectId, '00000000-0000-0000-0000-000000000000', 'x', "'"]) {
      const elsewhere = path().replace(game.projectId, projectId)
      const headers = bearer(game.platformKey)
      for (const answer of [
        await game.request('GET', elsewhere, { headers }),
        await game.request('PUT', elsewhere, { headers, body: JSON.stringify(custom({ a: provider() })) }),
        await game.request('PUT', elsewhere, { headers, body: '[' }),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([403, 'forbidden'])
      }
    }
    expect((await put('[', bearer(await game.key('viewer')))).status).toBe(403)
    expect((await put('[', bearer('twplat_x'))).status).toBe(401)
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
  })

  it('a key that was revoked does neither, from the very next call on', async () => {
    const key = await game.key('admin')
    expect((await put(custom({ a: provider() }), bearer(key))).status).toBe(200)
    const [{ actor }] = (await auditRows()) as [{ actor: string }]
    await sql("UPDATE platform_keys SET revoked_at = now() WHERE 'platform_key:' || id = $1", [actor])
    for (const answer of [await put(custom({}), bearer(key)), await get('', bearer(key))])
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid token'])
    expect(namesOf(await get())).toEqual(['a'])
  })
})

describe('a change', () => {
  it('counts for the very next login on another instance, a hundred times of a hundred (spec 4.3)', async () => {
    for (const index of times(100, (round) => round)) {
      const secret = `secret number ${index}`
      expect((await put(custom({ default: provider({ secret }) }))).status).toBe(200)
      expect((await loginAt(second.baseUrl, { customData: { player: 'ada' } })).status).toBe(200)
      expectSignedWith(secret, operator.hits.at(-1))
    }
    expect(operator.hits).toHaveLength(100)
    expect(lines.join('')).not.toContain('secret number')
  })

  it('of the flag, the URL or the map counts for the very next login on both instances (spec 5)', async () => {
    const moved = await startOperator()
    const login = async (name: string) =>
      Promise.all(
        [game.baseUrl, second.baseUrl].map((baseUrl) =>
          loginAt(baseUrl, { customData: { player: 'ada' }, ...(name !== 'default' && { provider: name }) }),
        ),
      )
    const expectBoth = async (name: string, code: number, error?: string) => {
      expect((await login(name)).map((answer) => [answer.status, answer.error])).toEqual(times(2, () => [code, error]))
    }
    try {
      await expectBoth('default', 401, 'custom auth disabled')
      for (const _ of times(5, (index) => index)) {
        await put(custom({ default: provider(), studio: provider() }))
        await expectBoth('default', 200)
        await expectBoth('studio', 200)
        await put(custom({ default: { enabled: false, url: operator.url }, studio: provider({ url: moved.url }) }))
        const before = operator.hits.length
        await expectBoth('default', 401, 'custom auth disabled')
        await expectBoth('studio', 200)
        expect(operator.hits).toHaveLength(before)
        await put(custom({ default: { enabled: true, url: operator.url } }))
        await expectBoth('default', 200)
        await expectBoth('studio', 401, 'custom auth disabled')
        await put(custom({}))
        await expectBoth('default', 401, 'custom auth disabled')
      }
      expect(moved.hits).toHaveLength(10)
    } finally {
      await moved.close()
    }
  })

  it('never reaches a URL with the secret of another, however many logins are under way', async () => {
    const others = await startOperator()
    const sides = [
      [operator, 'the first secret'],
      [others, 'the second secret'],
    ] as const
    try {
      await put(custom({ default: provider({ secret: sides[0][1] }) }))
      const logins = times(100, async (index) => {
        const baseUrl = index % 2 === 0 ? game.baseUrl : second.baseUrl
        return (await loginAt(baseUrl, { customData: { player: 'ada' } })).status
      })
      for (const index of times(30, (round) => round)) {
        const [{ url }, secret] = sides[index % 2 === 0 ? 1 : 0]
        expect((await put(custom({ default: { enabled: true, url, secret } }))).status).toBe(200)
        logins.push(loginAt(second.baseUrl, { customData: { player: 'ada' } }).then(({ status: code }) => code))
      }
      expect(new Set(await Promise.all(logins))).toEqual(new Set([200]))
      for (const [{ hits }, secret] of sides) for (const hit of hits) expectSignedWith(secret, hit)
      expect(operator.hits.length + others.hits.length).toBe(130)
    } finally {
      await others.close()
    }
  })

  it('leaves one audit row with who, what and where; no change leaves none', async () => {
    await put(custom({ default: provider() }))
    await put(custom({ default: provider() }))
    await put(blocks({}))
    await put(custom({ default: provider({ secret: 'another one' }) }))
    await put(custom({ default: { enabled: false, url: operator.url } }))
    await put(custom({}))
    await put(custom({}))
    const rows = await auditRows()
    expect(rows).toHaveLength(4)
    for (const row of rows) {
      const { project_id, environment_id, action, target, reason } = row
      expect([project_id, environment_id, action, target, reason]).toEqual([
        game.projectId,
        game.environmentId,
        'auth_providers.set',
        'production',
        null,
      ])
      expect(row.actor).toMatch(/^platform_key:[0-9a-f-]{36}$/)
    }
    const [id] = await sql("SELECT id FROM platform_keys WHERE 'platform_key:' || id = $1", [rows[0]?.actor])
    expect(id).toBeDefined()
    const shown = (enabled: boolean) => ({
      enabled,
      url: operator.url,
      hasSecret: true,
      updatedAt: expect.any(String),
      replacedSecretsExpireAt: [],
    })
    const none = { custom: {}, google: null, apple: null }
    const one = (enabled: boolean, more: object = {}) => ({
      ...none,
      custom: { default: { ...shown(enabled), ...more } },
    })
    expect(rows.map(({ before, after }) => [JSON.parse(before), JSON.parse(after)])).toEqual([
      [none, one(true, { secretChanged: true })],
      [one(true), one(true, { secretChanged: true })],
      [one(true), one(false)],
      [one(false), none],
    ])
    for (const secret of [operator.secret, 'another one']) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it('of a secret of google or apple is in the audit log, but not the secret', async () => {
    await put(rawBlocks({ google: '{"clientId":"a","clientSecret":"hidden-1"}' }))
    await put(rawBlocks({ google: '{"clientId":"a","clientSecret":"hidden-2"}' }))
    await put(rawBlocks({ google: '{"clientId":"b","clientSecret":"hidden-3"}' }))
    await put(rawBlocks({ google: '{"clientId":"c"}' }))
    const rows = await auditRows()
    expect(rows.map(({ after }) => /secrets?Changed/.test(after))).toEqual([true, true, true, false])
    expect(JSON.stringify(rows)).not.toContain('hidden')
  })

  it('and its audit row are written together or not at all', async () => {
    await put(custom({ default: provider() }))
    const before = await get()
    await sql('ALTER TABLE audit_log ADD CONSTRAINT nothing_more CHECK (false) NOT VALID')
    try {
      const answer = await put(custom({ default: provider({ enabled: false }), more: provider() }))
      expect([answer.status, answer.body.error]).toEqual([500, 'internal error'])
    } finally {
      await sql('ALTER TABLE audit_log DROP CONSTRAINT nothing_more')
    }
    expect((await get()).text).toBe(before.text)
    expect(await auditRows()).toHaveLength(1)
  })

  it('of the same thing twice at once is one change, twenty times', async () => {
    for (const round of times(20, (index) => index)) {
      const body = custom({ default: provider({ secret: `round ${round}` }) })
      const answers = await Promise.all([put(body), putAt(second.baseUrl, body), put(body)])
      expect(answers.map(({ status: code }) => code)).toEqual([200, 200, 200])
      expect(await auditRows()).toHaveLength(round + 1)
    }
  })
})

describe('secrets at rest (decisions 6)', () => {
  const stored = () => sql('SELECT name, secret, settings FROM auth_providers')

  it('are encrypted, those of google and apple too', async () => {
    await put(blocks({ custom: { default: provider() }, apple: { teamId: 't', privateKey: 'apple-private' } }))
    const text = JSON.stringify(await stored())
    for (const secret of [operator.secret, 'apple-private']) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('base64url').slice(0, -1))
    }
    for (const { secret } of await stored())
      expect(secret).toMatch(new RegExp(`^v1\\.${secretsKey.kid}\\.[\\w-]{16}\\.[\\w-]+$`))
  })

  it('are sealed anew for each provider and each time, though the secret is one', async () => {
    const body = custom(Object.fromEntries(times(20, (index) => [`p${index}`, provider()])))
    await put(body)
    const before = (await stored()).map(({ secret }) => secret)
    expect(new Set(before.map((secret) => secret.split('.')[2])).size).toBe(20)
    expect(new Set(before.map((secret) => secret.split('.')[3])).size).toBe(20)
  })

  const OF = 'SELECT secret FROM auth_providers WHERE'
  it.each([
    ['under another name', 'moved', "UPDATE auth_providers SET name = 'moved' WHERE name = 'default'"],
    ['of another provider', 'default', `UPDATE auth_providers SET secret = (${OF} name = 'other')`],
    ['of the block of google', 'default', `UPDATE auth_providers SET secret = (${OF} kind = 'google')`],
    ['that was cut', 'default', 'UPDATE auth_providers SET secret = left(secret, -1)'],
    ['that is plain text', 'default', "UPDATE auth_providers SET secret = 'hunter2'"],
    ['that is empty', 'default', "UPDATE auth_providers SET secret = ''"],
    ['that is gone', 'default', 'UPDATE auth_providers SET secret = NULL'],
  ])('do not open %s: the provider is one that does not answer, and signs nothing', async (_what, name, tamper) => {
    await put(
      blocks({
        custom: { default: provider(), other: provider({ secret: 'another' }) },
        google: { secret: 'hunter2' },
      }),
    )
    await sql(tamper)
    const lookedAt = lines.length
    for (const baseUrl of [game.baseUrl, second.baseUrl]) {
      const answer = await loginAt(baseUrl, { customData: { player: 'ada' }, provider: name })
      expect([answer.status, answer.error]).toEqual([503, 'custom auth unavailable'])
      for (const told of [operator.secret, 'hunter2', 'another', 'v1.']) expect(answer.text).not.toContain(told)
    }
    expect(operator.hits).toEqual([])
    const told = lines.slice(lookedAt).join('')
    expect(told).toContain('could not be opened')
    for (const secret of [operator.secret, 'hunter2', 'another']) expect(told).not.toContain(secret)
    expect((await get()).status).toBe(200)
    // Whoever sends the secret again mends it.
    const mended = await put(custom({ [name]: provider() }))
    expect(mended.status).toBe(200)
    expect((await game.login({ player: 'ada' }, { provider: name })).status).toBe(200)
    expectSignedWith(operator.secret, operator.hits[0])
  })

  it('do not open in another environment, nor in another project', async () => {
    await put(custom({ default: provider() }))
    await sql('UPDATE auth_providers SET environment_id = $1', [game.stagingId])
    const answer = await loginAt(second.baseUrl, { customData: { player: 'ada' } }, game.stagingSdkKey)
    expect([answer.status, answer.error]).toEqual([503, 'custom auth unavailable'])

    const other = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    await sql('UPDATE auth_providers SET environment_id = $1', [game.environmentId])
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    const project = async (id: string) =>
      sql('UPDATE environments SET project_id = $1, name = $2 WHERE id = $3', [id, 'production', game.environmentId])
    await sql("UPDATE environments SET name = 'aside' WHERE project_id = $1", [other.projectId])
    await project(other.projectId)
    try {
      const moved = await loginAt(second.baseUrl, { customData: { player: 'ada' } })
      expect([moved.status, moved.error]).toEqual([503, 'custom auth unavailable'])
    } finally {
      await project(game.projectId)
    }
    expect((await game.login({ player: 'ada' })).status).toBe(200)
    expect(operator.hits).toHaveLength(2)
  })

  it('stay readable under a new key in front, which then seals; without their own key a login is no 500', async () => {
    await put(custom({ default: provider(), other: provider() }))
    const fresh = generateSecretsKey()
    const login = { customData: { player: 'ada' } }
    const [before] = await sql("SELECT secret FROM auth_providers WHERE name = 'default'")
    await withKeys([fresh, secretsKey], async (baseUrl) => {
      expect((await loginAt(baseUrl, login)).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[0])
      // Kept secrets stay under their key; those that are sent come under the new one, and nothing has changed.
      const response = await putAt(
        baseUrl,
        custom({ default: { enabled: true, url: operator.url }, other: provider() }),
      )
      expect(response.status).toBe(200)
      const rows = await sql('SELECT name, secret FROM auth_providers ORDER BY name')
      expect(rows[0]).toEqual({ name: 'default', secret: before?.secret })
      expect(rows[1]?.secret).toMatch(new RegExp(`^v1\\.${fresh.kid}\\.`))
      expect(await auditRows()).toHaveLength(1)
      expect((await loginAt(baseUrl, { ...login, provider: 'other' })).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[1])
    })
    await withKeys([fresh], async (baseUrl) => {
      expect((await loginAt(baseUrl, { ...login, provider: 'other' })).status).toBe(200)
      const lost = await loginAt(baseUrl, login)
      expect([lost.status, lost.error]).toEqual([503, 'custom auth unavailable'])
      expect(operator.hits).toHaveLength(3)
      expect((await putAt(baseUrl, custom({ default: provider() }))).status).toBe(200)
      expect((await loginAt(baseUrl, login)).status).toBe(200)
      expectSignedWith(operator.secret, operator.hits[3])
    })
    const unknown = await game.login({ player: 'ada' })
    expect([unknown.status, unknown.body.error]).toEqual([503, 'custom auth unavailable'])
    expect(lines.join('')).not.toContain(operator.secret)
  })

  it('are in no log, no answer, no metric and no table, whatever happens to them', async () => {
    const secrets = times(12, (index) => `tell-nobody-${index}-`.padEnd(40, 'x'))
    const [first = '', next = '', faulty = '', wrong = '', google = '', apple = '', ...others] = secrets
    const [unread = '', nowhere = '', player = '', graphql = '', failed = '', viewer = ''] = others
    const heard: string[] = []
    const { baseUrl, stop } = await startLogged([secretsKey])
    const send = async (method: string, to: string, headers: Record<string, string>, body?: unknown) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const response = await fetch(baseUrl + to, { method, headers, body: text })
      heard.push(`${JSON.stringify([...response.headers])} ${await response.text()}`)
      return response.status
    }
    const admin = bearer(game.platformKey)
    const write = (body: unknown, headers = admin) => send('PUT', path(), headers, body)
    const login = () =>
      send('POST', '/sdk/v1/authorization/custom', { 'x-sdk-key': game.sdkKey }, { customData: { player: 'ada' } })
    const query = (text: string, input: object) =>
      send('POST', '/graphql', { ...admin, 'content-type': 'application/json' }, { query: text, variables: { input } })
    const SET = `mutation ($input: SetAuthProvidersInput!) { setAuthProviders(input: $input) {
      authProviders { custom { name url hasSecret updatedAt } google apple } } }`
    const TEST = `mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) {
      status error attempts { status error } } }`
    try {
      // What succeeds.
      const settings = blocks({
        custom: { default: provider({ secret: first }) },
        google: { clientSecret: google },
        apple: { keys: [{ privateKey: apple }] },
      })
      expect(await write(settings)).toBe(200)
      expect(await login()).toBe(200)
      expect(await write(custom({ default: provider({ secret: next }) }))).toBe(200)
      expect(await login()).toBe(200)
      expect(await query(SET, { ...custom({ graphql: provider({ secret: graphql }) }, 'staging'), reason: 'x' })).toBe(
        200,
      )
      await query(TEST, { environment: 'production', customData: '{"player":"ada"}' })
      // What is refused.
      expect(await write(custom({ default: { enabled: 1, url: 'ftp://x', secret: faulty } }))).toBe(400)
      expect(await write(custom({ default: provider({ secret: [wrong] }) }))).toBe(400)
      expect(await write(custom({ default: provider({ secret: wrong.repeat(20) }) }))).toBe(400)
      expect(await write(`${JSON.stringify(custom({ default: provider({ secret: unread }) }))}}`)).toBe(400)
      expect(await write(JSON.stringify(custom({ default: provider({ secret: unread }) })).padEnd(MIB + 1))).toBe(413)
      expect(await write(custom({ default: provider({ secret: nowhere }) }, 'nowhere'))).toBe(404)
      expect(await write(custom({ default: provider({ secret: player }) }), bearer((await game.player()).token))).toBe(
        401,
      )
      expect(await write(custom({ default: provider({ secret: viewer }) }), bearer(await game.key('viewer')))).toBe(403)
      await query(SET, { ...custom({ Bad: { enabled: true, url: 'x', secret: graphql } }), reason: '' })
      await query(SET, {
        environment: 'production',
        authProviders: `{"custom":{"a":{"secret":"${graphql}"}`,
        reason: 'x',
      })
      // What fails on either side of the service.
      for (const code of [401, 302, 500]) {
        operator.answer(status(code))
        expect(await login()).not.toBe(200)
      }
      operator.answer(approve(`{"subject":"ada","data":{"${'x'.repeat(129)}":1}}`))
      expect(await login()).toBe(401)
      await sql('ALTER TABLE auth_providers ADD CONSTRAINT nothing_more CHECK (false) NOT VALID')
      expect(await write(custom({ default: provider({ secret: failed }) }))).toBe(500)
      await sql('ALTER TABLE auth_providers DROP CONSTRAINT nothing_more')
      await sql("UPDATE auth_providers SET name = 'moved' WHERE name = 'default'")
      await send(
        'POST',
        '/sdk/v1/authorization/custom',
        { 'x-sdk-key': game.sdkKey },
        { customData: {}, provider: 'moved' },
      )
      // What is read.
      for (const to of [path(), `${path()}?environment=production`, '/metrics']) {
        expect(await send('GET', to, admin)).toBe(200)
      }
      await query('{ authProviders { environment custom { name url hasSecret } google apple } }', {})
    } finally {
      await sql('ALTER TABLE auth_providers DROP CONSTRAINT IF EXISTS nothing_more')
      await stop()
    }
    const tables = await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (const { tablename } of tables) {
      for (const { row } of await sql(`SELECT t::text AS row FROM "${tablename}" t`)) heard.push(`${tablename} ${row}`)
    }
    expect(lines.length).toBeGreaterThan(0)
    for (const secret of ['tell-nobody', ...secrets]) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([])
      expect(heard.filter((text) => text.includes(secret))).toEqual([])
    }
  })
})

describe('settings in GraphQL are those of REST (decisions 9)', () => {
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
  ])('and so are the faults: %s', async (_what, authProviders) => {
    const rest = await put(`{"environment":"production","authProviders":${authProviders}}`)
    const { errors } = await game.graphql(game.platformKey, SET, {
      input: { environment: 'production', authProviders, reason: 'x' },
    })
    expect(rest.status).toBe(400)
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', details: rest.body.details })
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
  })

  it('what one wrote the other reads, and secrets stay where they are', async () => {
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

  it('and an explicit null removes a block there, too: in a text, in a variable, in a literal', async () => {
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

  it('and so is who may call', async () => {
    const player = await game.player()
    const input = { ...custom({}), reason: 'x' }
    for (const [credentials, read, written] of [
      [await game.key('viewer'), undefined, 'FORBIDDEN'],
      [await game.key('operator'), undefined, 'FORBIDDEN'],
      [await game.key('admin'), undefined, undefined],
      [player.token, expect.any(String), expect.any(String)],
      [null, expect.any(String), expect.any(String)],
    ] as const) {
      const answers = [await game.graphql(credentials, READ), await game.graphql(credentials, SET, { input })]
      expect(answers.map(({ errors }) => errors?.[0]?.extensions.code)).toEqual([read, written])
    }
    const unknown = await game.graphql(game.platformKey, SET, { input: { ...input, environment: 'nowhere' } })
    expect(unknown.errors?.[0]?.extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
  })
})
