import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { type Answer, times } from '../harness/game.ts'
import {
  auditRows,
  bearer,
  custom,
  game,
  get,
  MIB,
  namesOf,
  opened,
  operator,
  path,
  provider,
  put,
  rawBlocks,
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

const pathsOf = ({ body }: Answer): string[] => body.details.map(({ path: at }: { path: string }) => at)

describe('a PUT of provider settings (contract 4.3)', () => {
  const NAME_RULE = "a provider's name must match ^[a-z0-9][a-z0-9_-]{0,31}$ and not be google, apple, device"
  const UNCLEAN = 'must not contain NUL or a lone surrogate'
  const words = (text: string): string[] => text.trim().split(/\s+/)
  const afterHost = (...ends: string[]) => ends.map((end) => `https://a.example/${end}`)

  /** The messages of each field of a provider, and the values that have them. */
  const FAULTS: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
    url: {
      'must be an absolute http or https URL': words(String.raw`
        ftp://a.example file:///etc/passwd javascript:alert(1) data:application/json,{} ws://a.example a.example login
        /login ?login //a.example/login http:a.example http:/a.example http:\\a.example http:// http://?a
        https://a.example:99999 https://a..%00.example`),
      'must not contain credentials': words(`
        https://user@a.example https://user:password@a.example https://:password@a.example
        https://a.example@b.example`),
      'must not contain whitespace or control characters': [
        ...[' https://a.example', 'https://a.example ', 'ht\ntps://a.example'],
        ...afterHost('a b', '\n', '\r\nX-A: b', '\t', '\u001b', '\u007f', '\u0085', '\u009f', '\u00a0', '\u2028'),
      ],
      [UNCLEAN]: afterHost('\0', '\ud800'),
      'must be 1 to 2048 characters': ['', ...afterHost('a'.repeat(2031), '😀'.repeat(2031))],
      'must be a string': [5, true, ['https://a.example'], {}],
      'is required': [null, undefined],
    },
    secret: {
      'must be 1 to 512 characters': ['', 's'.repeat(513), '😀'.repeat(513)],
      [UNCLEAN]: ['a\0b', '\ud800'],
      'must be a string': [5, false, ['s'], {}],
      'is required while none is stored': [null, undefined],
    },
    enabled: { 'must be true or false': [1, 'true', []], 'is required': [null, undefined] },
  }
  const refused = Object.entries(FAULTS).flatMap(([field, messages]) =>
    Object.entries(messages).flatMap(([message, values]) => values.map((value) => ({ field, message, value }))),
  )

  /** A refused request writes nothing. */
  afterEach(async () => {
    expect(await sql('SELECT * FROM auth_providers')).toEqual([])
    expect(await auditRows()).toEqual([])
  })

  it.each([
    ...['google', 'apple', 'device', 'Default', '-x', '_x', '', 'a'.repeat(33), 'ä', 'а', '😀', 'a.b', 'a b', ' a'],
    ...['a\n', 'a\0', '\ud800', '__proto__', 'toString', 'custom:a', 'a/b', '１'],
  ])('is refused with the name %j, and names the rule', async (name) => {
    const answer = await put(`{"environment":"production","authProviders":{"custom":{${JSON.stringify(name)}:
      {"enabled":true,"url":"https://a.example","secret":"s"}}}}`)
    expect([answer.status, answer.body.error, answer.body.details]).toEqual([
      400,
      'invalid request',
      [{ path: `authProviders.custom.${name}`, message: NAME_RULE }],
    ])
  })

  it.each(refused.map(({ value, ...fault }) => [fault.field, ...titled(value), fault.message] as const))(
    'is refused with the %s %s',
    async (field, _title, value, message) => {
      const answer = await put(custom({ default: provider({ [field]: value }) }))
      const details = [{ path: `authProviders.custom.default.${field}`, message }]
      expect([answer.status, answer.body.details]).toEqual([400, details])
    },
  )

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
    [
      '{"environment":5,"authProviders":{"custom":{"Bad":{"enabled":true,"url":"https://a.example","secret":"s"}}}}',
      ['environment', 'authProviders.custom.Bad'],
    ],
    ['[]', ['']],
    ['null', ['']],
    ['"x"', ['']],
    ['', ['']],
    ['{"environment":"production","authProviders":{}', ['']],
    [`{"environment":"production","authProviders":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, ['']],
  ])('is refused with the body %s', async (body, paths) => {
    const answer = await put(body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(pathsOf(answer)).toEqual(paths)
  })

  it('is refused over 1 MiB and accepted up to it', async () => {
    const body = rawBlocks({ google: '{}' })
    expect((await put(body.padEnd(MIB + 1))).status).toBe(413)
    expect((await put(rawBlocks({}).padEnd(MIB))).status).toBe(200)
  })

  it('is refused with 404 for an unknown environment, as a GET is, and with 400 before that for a fault', async () => {
    const unknown = await put(custom({}, 'nowhere'))
    expect([unknown.status, unknown.body.error]).toEqual([404, 'environment not found'])
    expect((await get('?environment=nowhere')).body.error).toBe('environment not found')
    expect((await put(custom({ Bad: {} }, 'nowhere'))).status).toBe(400)
    // An environment of another project is unknown as well.
    await createProject(game.app.pool, { name: 'Other', environments: ['elsewhere'] })
    expect((await put(custom({}, 'elsewhere'))).body.error).toBe('environment not found')
    expect((await get('?environment=elsewhere')).body.error).toBe('environment not found')
  })

  it('is refused with 400 even when it has 90,000 faults', async () => {
    const names = times(90_000, (index) => `"${index.toString(36)}.":1`)
    const answer = await put(`{"environment":"production","authProviders":{"custom":{${names}}}}`)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(answer.body.details.length).toBeGreaterThan(0)
  })
})

describe('the size of provider settings', () => {
  it('is limited to five hundred custom providers', async () => {
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

  it('is limited to 16 KiB each for google and apple, including secrets that stay stored', async () => {
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

describe('the faults of a PUT (contract 10)', () => {
  it('are all reported, for every block and provider, and nothing is written', async () => {
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

  it.each([
    ['a wrong flag and a wrong URL', { enabled: 'yes', url: 'ftp://x', secret: 's' }, ['enabled', 'url']],
    ['no flag and a wrong URL', { url: 'https://user@a.example', secret: 's' }, ['enabled', 'url']],
    ['no flag and no secret', { url: 'https://a.example' }, ['enabled', 'secret']],
    ['a wrong URL and no secret', { enabled: true, url: 'ftp://x' }, ['url', 'secret']],
    ['all three wrong', { enabled: 1, url: 1, secret: 1 }, ['enabled', 'url', 'secret']],
    ['no settings', {}, ['enabled', 'url', 'secret']],
  ])('are all reported for one provider: %s', async (_what, settings, names) => {
    const answer = await put(custom({ a: settings }))
    expect(answer.status).toBe(400)
    expect(pathsOf(answer).sort()).toEqual(names.map((name) => `authProviders.custom.a.${name}`).sort())
  })
})

describe('access to provider settings (contract 5)', () => {
  it('lets every role read and admins write, and refuses players and clients', async () => {
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

  it('is forbidden for another project, and is checked before the body is read', async () => {
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
})
