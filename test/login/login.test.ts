import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { type GraphqlAnswer, type LoginOptions, times } from '../harness/game.ts'
import { askSocket, type Outcome, outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import {
  by,
  countGame,
  countRows,
  created,
  expectUntouched,
  game,
  keys,
  LOGIN,
  loginAt,
  newSubject,
  operator,
  other,
  ownersOf,
  playerOf,
  profileOf,
  provideAll,
  provider,
  query,
  refusalOf,
  startLogins,
  stopLogins,
  storageOf,
} from './logins.ts'

// Logins as a game client sees them, and what they write. Answers of the webhook and retries are in webhook*.test.ts.

beforeAll(startLogins)
afterAll(stopLogins)

const TOKEN = /^twrt_[\w-]{43}$/
const DISABLED = [401, 'custom auth disabled', 'custom_auth_disabled']
const INVALID_SDK_KEY = [401, 'invalid sdk key', 'invalid_sdk_key']

const LOGIN_CUSTOM = `mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken refreshToken } }`

type LogIn = (customData: string, options?: LoginOptions) => Promise<Outcome>

/** A login over each surface. customData is JSON text. */
const SURFACES: Record<'REST' | 'GraphQL' | 'a WebSocket', LogIn> = {
  REST: async (customData, options) => outcomeOfRest(await game.login(customData, options)),
  GraphQL: async (customData, { sdkKey = game.sdkKey, ...input } = {}) =>
    outcomeOfGraphql(
      await game.graphql(sdkKey === null ? {} : { 'x-sdk-key': sdkKey }, LOGIN_CUSTOM, {
        input: { customData, ...input },
      }),
    ),
  'a WebSocket': async (customData, { sdkKey = game.sdkKey, ...input } = {}) =>
    outcomeOfGraphql(
      await askSocket(game, sdkKey === null ? {} : { sdkKey }, LOGIN_CUSTOM, { input: { customData, ...input } }),
    ),
}

describe('a custom login (contract 3, contract 4.2)', () => {
  it('answers only a token pair, with cache-control no-store', async () => {
    const { status: answered, headers, body, text } = await game.login(by(newSubject()))
    expect([answered, Object.keys(body)]).toEqual([200, ['accessToken', 'refreshToken']])
    expect(text).toBe(print({ accessToken: body.accessToken, refreshToken: body.refreshToken }))
    expect(body.refreshToken).toMatch(TOKEN)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-request-id')).toMatch(/./)
  })

  it('creates a player with identity, profile and storage for a new subject, and its access token works', async () => {
    const subject = newSubject()
    const before = await countRows()
    const customData = by(subject, { nickname: 'Ada', avatarUrl: 'https://cdn.example/a.png', data: { hat: 'red' } })
    const answer = await game.login(customData, { nickname: 'client', region: 'eu-west', language: 'pt-BR' })
    const playerId = playerOf(answer)
    const authorization = `Bearer ${answer.body.accessToken}`
    const read = await game.request('POST', '/sdk/v1/player/get', { body: '{}', headers: { authorization } })
    expect(read.body).toEqual({
      playerId,
      nickname: 'Ada',
      avatarUrl: 'https://cdn.example/a.png',
      region: 'eu-west',
      language: 'pt-BR',
      createdAt: expect.stringMatching(/Z$/),
      wallet: [],
      inventory: [],
      identities: [{ provider: 'custom', subject }],
    })
    expect(await storageOf(playerId)).toEqual({ hat: '"red"' })
    const after = await countRows()
    const added = Object.keys(after).map((table) => [table, Number(after[table]) - Number(before[table])])
    expect(Object.fromEntries(added)).toEqual({
      players: 1,
      identities: 1,
      player_storage: 1,
      events: 1,
      refresh_tokens: 1,
      login_log: 1,
    })
  })

  it('sends one player.created for a new player and none for a known one (contract 6)', async () => {
    const [first, second, third] = [newSubject(), newSubject(), newSubject()]
    const { data } = await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')
    const heard = game.subscribe(
      game.platformKey,
      `subscription ($after: String) { playerCreated(environment: "production", after: $after) {
        type playerId nickname provider data scenarioId } }`,
      { after: data.streamCursor },
    )
    const one = playerOf(await game.login(by(first, { nickname: 'Ada' }), { nickname: 'client' }))
    expect(await heard.next()).toEqual({
      type: 'PLAYER_CREATED',
      playerId: one,
      nickname: 'Ada',
      provider: 'custom',
      data: { nickname: 'Ada', provider: 'custom' },
      scenarioId: null,
    })
    // From here on the events are live, not replayed.
    const two = playerOf(await game.login(by(second), { provider: 'steam' }))
    expect(await heard.next()).toMatchObject({ playerId: two, nickname: null, provider: 'custom:steam' })
    for (const subject of [first, first]) playerOf(await game.login(by(subject, { nickname: 'Countess' })))
    const three = playerOf(await game.login(by(third), { nickname: 'client' }))
    expect(await heard.next()).toMatchObject({ playerId: three, nickname: 'client' })
    for (const playerId of [one, two, three]) expect(await created(playerId)).toHaveLength(1)
    await heard.close()
  })

  it('logs the same player in again and applies the new nickname, avatar and data (contract 2.3)', async () => {
    const subject = newSubject()
    const first = await game.login(by(subject, { nickname: 'A', avatarUrl: 'https://a.example', data: { a: 1, b: 1 } }))
    const playerId = playerOf(first)
    const again = await game.login(
      by(subject, { nickname: 'B', avatarUrl: 'https://b.example', data: { b: 2, c: 3 } }),
      { nickname: 'client', region: 'eu', language: 'de' },
    )
    expect(playerOf(again)).toBe(playerId)
    expect(again.body.accessToken).not.toBe(first.body.accessToken)
    expect(again.body.refreshToken).not.toBe(first.body.refreshToken)
    expect(await profileOf(playerId)).toEqual({
      nickname: 'B',
      avatar_url: 'https://b.example',
      region: null,
      language: null,
    })
    expect(await storageOf(playerId)).toEqual({ a: '1', b: '2', c: '3' })
    expect(await ownersOf(subject)).toEqual([playerId])
  })

  const LONGEST = '😀'.repeat(128)

  it.each<[what: string, webhook: Json | undefined, client: Json | undefined, expected: string | null]>([
    ["the webhook's nickname before the client's", 'webhook', 'client', 'webhook'],
    ["the client's nickname when the webhook has none", undefined, 'client', 'client'],
    ["the client's nickname when the webhook's is empty", '', 'client', 'client'],
    ["the client's nickname when the webhook's is null", null, 'client', 'client'],
    ["the webhook's nickname when the client has none", 'webhook', undefined, 'webhook'],
    ["the webhook's nickname when the client's is empty", 'webhook', '', 'webhook'],
    ['no nickname when both are empty', '', '', null],
    ['no nickname when both are absent', undefined, undefined, null],
    ['no nickname when both are null', null, null, null],
    ["a client's nickname of 128 emoji", undefined, LONGEST, LONGEST],
  ])(
    'creates a player with %s, and only the webhook changes it later (contract 2.3)',
    async (_, webhook, client, expected) => {
      const subject = newSubject()
      const playerId = playerOf(
        await game.login(by(subject, { nickname: webhook }), client === undefined ? {} : { nickname: client }),
      )
      expect((await profileOf(playerId)).nickname).toBe(expected)
      const [{ data }] = await created(playerId)
      expect(JSON.parse(data).nickname).toBe(expected)
      for (const nickname of [undefined, null, '']) {
        playerOf(await game.login(by(subject, { nickname, avatarUrl: nickname }), { nickname: 'later' }))
        expect(await profileOf(playerId)).toMatchObject({ nickname: expected, avatar_url: null })
      }
      playerOf(await game.login(by(subject, { nickname: 'renamed' }), { nickname: 'later' }))
      expect((await profileOf(playerId)).nickname).toBe('renamed')
    },
  )

  it.each<[sent: Json | undefined, expected: string | null]>([
    ['x'.repeat(35), 'x'.repeat(35)],
    ['', null],
    [null, null],
    [undefined, null],
  ])('stores region and language of the client only at creation: %j', async (sent, expected) => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject), sent === undefined ? {} : { region: sent, language: sent }))
    expect(await profileOf(playerId)).toMatchObject({ region: expected, language: expected })
    playerOf(
      await game.login(by(subject, { region: 'webhook', language: 'webhook' }), { region: 'us', language: 'en' }),
    )
    expect(await profileOf(playerId)).toMatchObject({ region: expected, language: expected })
  })
})

describe('a subject (contract 2.3)', () => {
  it('is a separate player under each provider, environment and project', async () => {
    const subject = newSubject()
    const { projectId, environments } = await createProject(game.app.pool, {
      name: 'Other',
      environments: ['production'],
    })
    const environmentId = environments.get('production') ?? ''
    const foreignKey = (await createSdkKey(game.app.pool, environmentId)).key
    const admin = (await createPlatformKey(game.app.pool, projectId, 'admin')).key
    expect(refusalOf(await game.login(by(subject), { sdkKey: foreignKey }))).toEqual(DISABLED)
    await game.request('PUT', `/platform/v1/projects/${projectId}/auth-providers`, {
      body: print({ environment: 'production', authProviders: { custom: { default: provider() } } }),
      headers: { authorization: `Bearer ${admin}` },
    })

    const places: LoginOptions[] = [
      {},
      { provider: 'steam' },
      // Its identities are not those of `default`, which are bound as `custom`.
      { provider: 'custom' },
      { sdkKey: game.stagingSdkKey },
      { sdkKey: foreignKey },
    ]
    const players: string[] = []
    for (const options of places) players.push(playerOf(await game.login(by(subject), options)))
    expect(new Set(players).size).toBe(places.length)
    for (const [index, options] of places.entries())
      expect(playerOf(await game.login(by(subject), options))).toBe(players[index])
    expect(playerOf(await game.login(by(subject), { provider: 'default' }))).toBe(players[0])
    expect(playerOf(await game.login(by(subject), { provider: null }))).toBe(players[0])

    const rows = await query('SELECT environment_id, provider, player_id FROM identities WHERE subject = $1', [subject])
    const bound = rows.map((row) => [row.environment_id, row.provider, row.player_id])
    expect(bound.sort()).toEqual(
      [
        [game.environmentId, 'custom', players[0]],
        [game.environmentId, 'custom:steam', players[1]],
        [game.environmentId, 'custom:custom', players[2]],
        [game.stagingId, 'custom', players[3]],
        [environmentId, 'custom', players[4]],
      ].sort(),
    )
  })

  it('is distinct from every similar subject', async () => {
    const spelled = ['Zoë', 'Zoe\u0308', 'zoë', 'ZOË', 'Zoë ', ' Zoë', 'Zoë\u200b', 'Zoe', '"Zoë"', '{Zoë}', 'Zoë\\']
    const alike = [
      ...spelled,
      'null',
      'NULL',
      'Null',
      '\\',
      '"',
      '{}',
      ',',
      '\n',
      '\t',
      "'",
      '0',
      '00',
      'x'.repeat(255),
    ]
    const players = new Map<string, string>()
    for (const subject of alike) players.set(subject, playerOf(await game.login(by(subject))))
    expect(new Set(players.values()).size).toBe(alike.length)
    const again = await Promise.all(alike.map((subject) => game.login(by(subject))))
    expect(again.map(playerOf)).toEqual(alike.map((subject) => players.get(subject)))
  })
})

describe('the body of a login request (contract 7.3: 400, and every fault at once)', () => {
  const good = '"customData":{"answer":{"subject":"nobody"}}'
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    game.request('POST', LOGIN, { body, headers: { 'x-sdk-key': game.sdkKey, ...headers } })
  const text = (name: string, value: string) => `{${good},"${name}":${value}}`

  it.each<[what: string, body: string, ...paths: string[]]>([
    ['no customData', '{}', 'customData'],
    ['null for customData', '{"customData":null}', 'customData'],
    ['an array for customData', '{"customData":[{}]}', 'customData'],
    ['a string of JSON for customData', '{"customData":"{}"}', 'customData'],
    ['a number for customData', '{"customData":7}', 'customData'],
    ['true for customData', '{"customData":true}', 'customData'],
    ['a second customData that is an array', `{${good},"customData":[]}`, 'customData'],
    ['customData in another case', '{"CustomData":{},"customdata":{}}', 'customData'],
    ['a number for provider', text('provider', '1'), 'provider'],
    ['an object for provider', text('provider', '{"name":"default"}'), 'provider'],
    ['a nickname of 129 characters', text('nickname', `"${'x'.repeat(129)}"`), 'nickname'],
    ['a nickname of 129 emoji', text('nickname', `"${'😀'.repeat(129)}"`), 'nickname'],
    ['a nickname with NUL', text('nickname', '"a\\u0000"'), 'nickname'],
    ['a nickname with half a surrogate pair', text('nickname', '"\\ud83d"'), 'nickname'],
    ['a number for nickname', text('nickname', '7'), 'nickname'],
    ['false for nickname', text('nickname', 'false'), 'nickname'],
    ['a list for nickname', text('nickname', '["Ada"]'), 'nickname'],
    ['a region of 36 characters', text('region', `"${'x'.repeat(36)}"`), 'region'],
    ['a region with NUL', text('region', '"\\u0000"'), 'region'],
    ['a number for region', text('region', '1'), 'region'],
    ['a language of 36 characters', text('language', `"${'x'.repeat(36)}"`), 'language'],
    ['a language with half a surrogate pair', text('language', '"\\udc00"'), 'language'],
    ['an object for language', text('language', '{}'), 'language'],
    [
      'a fault in every field',
      `{"customData":[],"provider":{},"nickname":1,"region":"${'x'.repeat(36)}","language":"\\u0000"}`,
      'customData',
      'provider',
      'nickname',
      'region',
      'language',
    ],
    ['invalid customData and an unknown provider', '{"customData":1,"provider":"unknown"}', 'customData'],
  ])('is refused with %s', async (_, body, ...paths) => {
    await expectUntouched(async () => {
      const answer = await post(body)
      expect(refusalOf(answer)).toEqual([400, 'invalid request', 'invalid_request'])
      expect(answer.body.details.map(({ path }: { path: string }) => path).sort()).toEqual(paths.sort())
      for (const { message } of answer.body.details) expect(message).toMatch(/^(must|is) /)
    })
  })

  const nested = (depth: number) =>
    `{"customData":{"answer":{"subject":"deep"},"x":${'['.repeat(depth - 2)}${']'.repeat(depth - 2)}}}`

  it.each<[what: string, body: string | Uint8Array]>([
    ['empty', ''],
    ['white space', ' \n'],
    ['not JSON', 'customData=1'],
    ['truncated', `{${good}`],
    ['more than one value', `{${good}}{}`],
    ['an object with a trailing comma', `{${good},}`],
    ['an array', `[{${good}}]`],
    ['a string', JSON.stringify(`{${good}}`)],
    ['null', 'null'],
    ['preceded by a byte order mark', Buffer.from(`\ufeff{${good}}`)],
    ['not UTF-8', Buffer.concat([Buffer.from('{"customData":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')])],
    ['nested 65 deep', nested(65)],
    ['nested 400,000 deep', nested(400_000)],
  ])('is refused when it is %s', async (_, body) => {
    await expectUntouched(async () => {
      expect(refusalOf(await post(body))).toEqual([400, 'invalid request', 'invalid_request'])
    })
  })

  it('is refused with 413 over 1 MiB and accepted up to 1 MiB', async () => {
    const sized = (bytes: number) => {
      const [head, tail] = ['{"customData":{"answer":{"subject":"large"},"x":"', '"}}']
      return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`
    }
    await expectUntouched(async () => {
      const answer = await post(sized(1_048_577))
      expect(refusalOf(answer)).toEqual([413, 'payload too large', 'payload_too_large'])
    })
    playerOf(await post(sized(1_048_576)))
    expect(operator.hits.at(-1)?.body.toString()).toBe(sized(1_048_576))
  })

  it('is accepted with unknown fields, null for optional fields and any content type', async () => {
    playerOf(await post(`{${good},"subject":"x","isAdmin":true,"":0,"__proto__":{"provider":"off"}}`))
    playerOf(await post(`{${good},"provider":null,"nickname":null,"region":null,"language":null}`))
    playerOf(await post(nested(64)))
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])
      playerOf(await post(`{${good}}`, { 'content-type': type }))
  })
})

describe('the SDK key (contract 5)', () => {
  it.each<[what: string, key: () => string | null | Promise<string>]>([
    ['missing', () => null],
    ['empty', () => ''],
    ['unknown', () => `twsdk_${'A'.repeat(43)}`],
    ['truncated', () => game.sdkKey.slice(0, -1)],
    ['too long', () => `${game.sdkKey}A`],
    ['in another case', () => game.sdkKey.toUpperCase()],
    ['only its prefix', () => 'twsdk_'],
    ['two keys in one header', () => `${game.sdkKey}, ${game.sdkKey}`],
    ['a platform key', () => game.platformKey],
    ["a player's access token", async () => (await game.login(by(newSubject()))).body.accessToken],
    ["a player's refresh token", async () => (await game.login(by(newSubject()))).body.refreshToken],
    ['8 KB long', () => `twsdk_${'A'.repeat(8192)}`],
    [
      'revoked',
      async () => {
        const { id, key } = await createSdkKey(game.app.pool, game.environmentId)
        playerOf(await game.login(by(newSubject()), { sdkKey: key }))
        await query('UPDATE sdk_keys SET revoked_at = now() WHERE id = $1', [id])
        return key
      },
    ],
  ])('is refused before any other check when it is %s', async (_, makeKey) => {
    const sdkKey = await makeKey()
    const headers: Record<string, string> = sdkKey === null ? {} : { 'x-sdk-key': sdkKey }
    await expectUntouched(async () => {
      for (const options of [{}, { provider: 'unknown' }, { nickname: 7 }])
        expect(refusalOf(await game.login(by(newSubject()), { ...options, sdkKey }))).toEqual(INVALID_SDK_KEY)
      for (const body of ['', '[', '{"customData":1}'])
        expect(refusalOf(await game.request('POST', LOGIN, { body, headers }))).toEqual(INVALID_SDK_KEY)
      const document = await SURFACES.GraphQL('{}', { sdkKey })
      expect(document).toEqual({ code: 'INVALID_SDK_KEY', message: 'invalid sdk key' })
    })
  })

  it('is ignored in the URL and in the body, where it could be logged', async () => {
    const path = `${LOGIN}?x-sdk-key=${game.sdkKey}&sdkKey=${game.sdkKey}`
    const body = print({ customData: by(newSubject()), sdkKey: game.sdkKey })
    await expectUntouched(async () => {
      expect(refusalOf(await game.request('POST', path, { body }))).toEqual(INVALID_SDK_KEY)
    })
  })
})

describe('a provider that is disabled or not configured (contract 5, contract 7.1)', () => {
  it.each<[what: string, provider: string]>([
    ['disabled', 'off'],
    ['unknown', 'unknown'],
    ['empty', ''],
    ['reserved', 'google'],
    ['reserved for devices', 'device'],
    ['in another case', 'Steam'],
    ['surrounded by spaces', ' steam '],
    ['in the form of a bound identity', 'custom:steam'],
    ['33 characters long', 's'.repeat(33)],
    ['100,000 characters long', 's'.repeat(100_000)],
    ['a path', '../steam'],
    ['a property of every object', 'constructor'],
    ['SQL', "' OR enabled --"],
    ['two lines', 'steam\n'],
  ])('refuses every login and calls no webhook: %s', async (_, name) => {
    await expectUntouched(async () => {
      expect(refusalOf(await game.login(by(newSubject()), { provider: name }))).toEqual(DISABLED)
      expect(await SURFACES.GraphQL('{}', { provider: name })).toEqual({
        code: 'CUSTOM_AUTH_DISABLED',
        message: 'custom auth disabled',
      })
    })
  })

  it('is disabled in staging when only production configures it', async () => {
    await expectUntouched(async () => {
      const options = { provider: 'steam', sdkKey: game.stagingSdkKey }
      expect(refusalOf(await game.login(by(newSubject()), options))).toEqual(DISABLED)
    })
  })

  it('refuses logins on every instance at once, and later logs the same player in (contract 4.3)', async () => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject)))
    for (const _ of times(5, () => 0)) {
      await game.setProviders({ default: { ...provider(), enabled: false } })
      for (const instance of [game, other]) expect(refusalOf(await loginAt(instance, by(subject)))).toEqual(DISABLED)
      await game.setProviders({})
      for (const instance of [game, other]) expect(refusalOf(await loginAt(instance, by(subject)))).toEqual(DISABLED)
      await provideAll()
      for (const instance of [game, other]) expect(playerOf(await loginAt(instance, by(subject)))).toBe(playerId)
    }
  })
})

describe('REST, GraphQL and WebSocket logins (contract 15)', () => {
  const surfaces = Object.entries(SURFACES)

  it.each(surfaces)('find the same player when the first login goes over %s', async (_, logIn) => {
    const subject = newSubject()
    const options = { nickname: 'client', region: 'eu', language: 'de', provider: 'steam' }
    const first = await logIn(print(by(subject, { data: { a: 1 } })), options)
    expect(first).toEqual({ ok: { accessToken: expect.any(String), refreshToken: expect.stringMatching(TOKEN) } })
    const [playerId = ''] = await ownersOf(subject)
    expect(await profileOf(playerId)).toEqual({ nickname: 'client', avatar_url: null, region: 'eu', language: 'de' })
    expect(await storageOf(playerId)).toEqual({ a: '1' })
    expect(await created(playerId)).toHaveLength(1)
    for (const [, another] of surfaces) {
      const { accessToken } = (
        (await another(print(by(subject)), { provider: 'steam' })) as { ok: { accessToken: string } }
      ).ok
      expect(decodeJwt(accessToken).sub).toBe(playerId)
    }
  })

  it('are refused with the same code and details', async () => {
    const [banned, deleted, full] = [newSubject(), newSubject(), newSubject()]
    for (const [state, subject] of Object.entries({ banned, deleted })) {
      const playerId = playerOf(await game.login(by(subject)))
      await query('UPDATE players SET status = $1 WHERE id = $2', [state, playerId])
    }
    playerOf(await game.login(by(full, { data: keys(0, 1000) })))
    const cases: [code: string, customData: Json, options?: LoginOptions][] = [
      ['CUSTOM_AUTH_REJECTED', { status: 404 }],
      ['CUSTOM_AUTH_UNAVAILABLE', {}, { provider: 'gone' }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', { status: 201 }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', { answer: [] }],
      ['CUSTOM_AUTH_INVALID_DATA', by(newSubject(), { data: { '': 0 } })],
      ['CUSTOM_AUTH_INVALID_DATA', by(full, { data: { one: 'more' } })],
      ['CUSTOM_AUTH_DISABLED', {}, { provider: 'off' }],
      ['CUSTOM_AUTH_DISABLED', {}, { provider: '' }],
      ['PLAYER_BANNED', by(banned)],
      ['PLAYER_DELETED', by(deleted)],
      ['INVALID_SDK_KEY', by(newSubject()), { sdkKey: null }],
      ['INVALID_REQUEST', {}, { nickname: 'x'.repeat(129), region: 'x'.repeat(36), language: 'a\0' }],
      ['INVALID_REQUEST', {}, { nickname: '\ud800', provider: 'unknown' }],
    ]
    for (const [code, customData, options] of cases) {
      const before = await countGame()
      const outcomes = await Promise.all(surfaces.map(([, logIn]) => logIn(print(customData), options)))
      expect(outcomes[0]).toMatchObject({ code })
      expect(outcomes).toEqual(times(surfaces.length, () => outcomes[0]))
      expect(await countGame()).toEqual(before)
    }
  })

  it('close a socket with an invalid SDK key (4403)', async () => {
    const refused = askSocket(game, { sdkKey: `twsdk_${'A'.repeat(43)}` }, LOGIN_CUSTOM, {
      input: { customData: '{}' },
    })
    await expect(refused).rejects.toMatchObject({ code: 4403 })
  })

  it('send customData text byte for byte, and a customData object with the same value (contract 4.4)', async () => {
    const text =
      '{ "answer":{"subject":"exact"}, "steam":76561197960287930123, "a":1.0, "a" : [ ], "é":"\\u00e9\\ud800" }'
    for (const [, logIn] of surfaces) {
      expect(await logIn(text)).toMatchObject({ ok: {} })
      expect(operator.hits.at(-1)?.body.toString()).toBe(`{"customData":${text}}`)
    }
    const object = { answer: { subject: 'exact' }, list: [1, null, { b: true }] }
    const sdkKey = { 'x-sdk-key': game.sdkKey }
    const sent = await game.graphql(sdkKey, LOGIN_CUSTOM, { input: { customData: object } })
    expect(outcomeOfGraphql(sent)).toMatchObject({ ok: {} })
    expect(JSON.parse(operator.hits.at(-1)?.body.toString() ?? '')).toEqual({ customData: object })
    const inline = await game.graphql(
      sdkKey,
      `mutation { loginCustom(input: {customData: {answer: {subject: "exact"}, big: 12345678901234567890}}) {
        accessToken } }`,
    )
    expect(outcomeOfGraphql(inline)).toMatchObject({ ok: {} })
    expect(operator.hits.at(-1)?.customData).toBe('{"answer":{"subject":"exact"},"big":12345678901234567890}')
  })

  it.each<[what: string, input: Record<string, unknown>]>([
    ['no customData', {}],
    ['null as customData', { customData: null }],
    ['an array as customData', { customData: [] }],
    ['a number as customData', { customData: 7 }],
    ['true as customData', { customData: true }],
    ['text that is not JSON', { customData: 'ticket' }],
    ['the text of an array', { customData: '[]' }],
    ['the text of a string', { customData: '"{}"' }],
    ['empty text', { customData: '' }],
    ['truncated text', { customData: '{"a":1' }],
    ['text nested 64 deep', { customData: `{"a":${'['.repeat(63)}${']'.repeat(63)}}` }],
    ['text nested 100,000 deep', { customData: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }],
    ['an object nested 3,000 deep', { customData: JSON.parse(`{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`) }],
    ['half a surrogate pair in the text', { customData: '{"a":"\ud800"}' }],
    ['a number as nickname', { customData: '{}', nickname: 7 }],
    ['an object as provider', { customData: '{}', provider: {} }],
    ['an unknown field', { customData: '{}', subject: 'x' }],
  ])('answer INVALID_REQUEST over GraphQL to %s', async (_, input) => {
    await expectUntouched(async () => {
      const { data, errors } = await game.graphql({ 'x-sdk-key': game.sdkKey }, LOGIN_CUSTOM, { input })
      expect([data ?? null, errors?.[0]?.extensions.code]).toEqual([null, 'INVALID_REQUEST'])
    })
  })

  it('answer INVALID_REQUEST over GraphQL to an object nested 100,000 deep', async () => {
    const customData = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    await expectUntouched(async () => {
      const response = await fetch(`${game.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-sdk-key': game.sdkKey },
        body: `{"query":${JSON.stringify(LOGIN_CUSTOM)},"variables":{"input":{"customData":${customData}}}}`,
      })
      const { errors } = (await response.json()) as GraphqlAnswer
      expect(errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    })
  })
})
