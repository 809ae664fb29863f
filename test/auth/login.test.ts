import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { createClient } from 'graphql-ws'
import { decodeJwt } from 'jose'
import type { PoolClient } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createPlatformKey, createSdkKey } from '../../src/auth/keys.ts'
import { loginLog } from '../../src/auth/login-log.ts'
import { type Json, members, print, RawJson } from '../../src/json.ts'
import { createProject } from '../../src/projects/projects.ts'
import { auditBooks } from '../support/audit.ts'
import {
  type Answer,
  type Game,
  type GraphqlAnswer,
  generateKeys,
  type Instance,
  type Keys,
  type LoginOptions,
  startGame,
  startInstance,
  times,
} from '../support/game.ts'
import { approve, type Hit, type Operator, type Respond, startOperator, status } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { type Outcome, outcomeOfGraphql, outcomeOfRest } from '../support/surfaces.ts'
import { until } from '../support/until.ts'

// Logins as a game client sees them, and what they leave behind. What a webhook's answer may look like, and how often
// it is asked, stands in webhook.test.ts.

const LOGIN = '/sdk/v1/authorization/custom'
const TOKEN = /^twrt_[\w-]{43}$/
const DISABLED = [401, 'custom auth disabled', 'custom_auth_disabled']
const INVALID_DATA = [401, 'custom auth invalid data', 'custom_auth_invalid_data']
const INVALID_SDK_KEY = [401, 'invalid sdk key', 'invalid_sdk_key']
const LINKED = [409, 'identity already linked', 'identity_already_linked']
const UNAVAILABLE = [503, 'unavailable', 'unavailable']

let game: Game
let operator: Operator
/** What every instance of the service on this database must agree on. */
let shared: Keys
/** A second instance on the same database. */
let other: Instance

beforeAll(async () => {
  shared = await generateKeys()
  game = await startGame(shared)
  operator = await startOperator(obey)
  await provideAll()
  other = await startInstance(game.databaseUrl, shared)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await other.stop()
  await operator.close()
  await game.stop()
})

const provider = () => ({ enabled: true, url: operator.url, secret: operator.secret })

async function provideAll(): Promise<void> {
  const { status: set } = await game.setProviders({
    default: provider(),
    steam: provider(),
    custom: provider(),
    off: { ...provider(), enabled: false },
    gone: { ...provider(), url: 'http://127.0.0.1:9/login' },
  })
  expect(set).toBe(200)
  expect((await game.setProviders({ default: provider() }, 'staging')).status).toBe(200)
}

/** What is done before the webhook's answer leaves, by the `gate` of its customData. */
const gates = new Map<string, (hit: Hit) => Promise<unknown> | unknown>()

function during(act: (hit: Hit) => Promise<unknown> | unknown): string {
  const gate = randomUUID()
  gates.set(gate, act)
  return gate
}

/** The webhook of these tests answers what customData tells it: `answer` as it stands, or a `status`. */
const obey: Respond = async (hit, response) => {
  const asked = members(hit.customData)
  await gates.get(JSON.parse(asked.get('gate') ?? '""'))?.(hit)
  const code = asked.get('status')
  await (code ? status(Number(code)) : approve(asked.get('answer') ?? '{}'))(hit, response)
}

type Custom = { [key: string]: Json | undefined }

/** customData that has the webhook name this subject. */
const by = (subject: string, answer: Custom = {}, gate?: string): Custom => ({ answer: { subject, ...answer }, gate })

let count = 0
/** A subject that nobody has yet. */
function newSubject(): string {
  count += 1
  return `subject ${count}`
}

const loginAt = ({ baseUrl }: { baseUrl: string }, customData: Json) =>
  postTo(baseUrl, LOGIN, { 'x-sdk-key': game.sdkKey }, print({ customData }))

const linkAt = ({ baseUrl }: { baseUrl: string }, token: string, customData: Json) =>
  postTo(
    baseUrl,
    `${LOGIN}/link`,
    { 'x-sdk-key': game.sdkKey, authorization: `Bearer ${token}` },
    print({ customData }),
  )

async function postTo(
  baseUrl: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<Pick<Answer, 'status' | 'body' | 'text'>> {
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body })
  const text = await response.text()
  return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) }
}

/** The player that an approved login names. */
function playerOf({ status: answered, body, text }: Pick<Answer, 'status' | 'body' | 'text'>): string {
  expect([answered, text]).toEqual([200, expect.stringContaining('accessToken')])
  return decodeJwt(body.accessToken).sub ?? expect.fail('no player')
}

const refusalOf = ({ status: answered, body }: Pick<Answer, 'status' | 'body'>) => [answered, body?.error, body?.code]

const query = async (sql: string, values: unknown[] = []) => (await game.app.pool.query(sql, values)).rows

/** How many rows the tables have that a login writes. */
async function countRows(): Promise<Record<string, string>> {
  const tables = ['players', 'identities', 'player_storage', 'events', 'refresh_tokens', 'login_log']
  const [counts] = await query(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ')}`,
  )
  return counts
}

/** What is left when login_log, which also tells of refusals, does not count. */
async function countGame(): Promise<Record<string, string>> {
  const { login_log: _, ...counts } = await countRows()
  return counts
}

const ownersOf = async (subject: string): Promise<string[]> =>
  (await query('SELECT player_id FROM identities WHERE subject = $1', [subject])).map(({ player_id }) => player_id)

async function storageOf(playerId: string): Promise<Record<string, string>> {
  const rows = await query('SELECT key, value FROM player_storage WHERE player_id = $1', [playerId])
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

async function profileOf(playerId: string): Promise<Record<string, string | null>> {
  const [row] = await query('SELECT nickname, avatar_url, region, language FROM players WHERE id = $1', [playerId])
  return row
}

const created = (playerId: string) =>
  query(`SELECT data FROM events WHERE player_id = $1 AND type = 'player.created'`, [playerId])

const tokensOf = async (playerId: string): Promise<number> =>
  Number((await query('SELECT count(*) FROM refresh_tokens WHERE player_id = $1', [playerId]))[0].count)

const keys = (from: number, to: number, value: Json = 1): Record<string, Json> =>
  Object.fromEntries(times(to - from, (index) => [`key ${from + index}`, value]))

const LOGIN_CUSTOM = `mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken refreshToken } }`

/** One operation over a WebSocket of its own. */
async function overSocket(
  connectionParams: Record<string, unknown>,
  document: string,
  variables: Record<string, unknown>,
): Promise<GraphqlAnswer> {
  const client = createClient({
    url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
  })
  try {
    const { value } = await client.iterate({ query: document, variables }).next()
    return value as unknown as GraphqlAnswer
  } finally {
    await client.dispose()
  }
}

type LogIn = (customData: string, options?: LoginOptions) => Promise<Outcome>

/** A login on each way into the service; customData is given as text. */
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
      await overSocket(sdkKey === null ? {} : { sdkKey }, LOGIN_CUSTOM, { input: { customData, ...input } }),
    ),
}

describe('a custom login (spec 3, spec 4.2)', () => {
  it('answers a pair of tokens and nothing else, to be kept by nobody on the way', async () => {
    const { status: answered, headers, body, text } = await game.login(by(newSubject()))
    expect([answered, Object.keys(body)]).toEqual([200, ['accessToken', 'refreshToken']])
    expect(text).toBe(print({ accessToken: body.accessToken, refreshToken: body.refreshToken }))
    expect(body.refreshToken).toMatch(TOKEN)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-request-id')).toMatch(/./)
  })

  it('creates the player of a new subject with its identity and profile, and the token opens the game', async () => {
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

  it('tells one player.created of a new player and none of a known one, to whoever listens (spec 6)', async () => {
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
    // From here on it hears what happens while it listens.
    const two = playerOf(await game.login(by(second), { provider: 'steam' }))
    expect(await heard.next()).toMatchObject({ playerId: two, nickname: null, provider: 'custom:steam' })
    for (const subject of [first, first]) playerOf(await game.login(by(subject, { nickname: 'Countess' })))
    const three = playerOf(await game.login(by(third), { nickname: 'client' }))
    expect(await heard.next()).toMatchObject({ playerId: three, nickname: 'client' })
    for (const playerId of [one, two, three]) expect(await created(playerId)).toHaveLength(1)
    await heard.close()
  })

  it('logs the same player in again, with what the webhook says now (spec 2.3)', async () => {
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
    ["the webhook's before the client's", 'webhook', 'client', 'webhook'],
    ["the client's when the webhook has none", undefined, 'client', 'client'],
    ["the client's when the webhook's is empty", '', 'client', 'client'],
    ["the client's when the webhook's is null", null, 'client', 'client'],
    ["the webhook's when the client has none", 'webhook', undefined, 'webhook'],
    ["the webhook's when the client's is empty", 'webhook', '', 'webhook'],
    ['none when both are empty', '', '', null],
    ['none when both are absent', undefined, undefined, null],
    ['none when both are null', null, null, null],
    ["the client's of 128 characters, however many bytes", undefined, LONGEST, LONGEST],
  ])(
    'names a new player by %s, and later only as the webhook says (spec 2.3)',
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
  ])('takes region and language of the client at creation and never again: %j', async (sent, expected) => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject), sent === undefined ? {} : { region: sent, language: sent }))
    expect(await profileOf(playerId)).toMatchObject({ region: expected, language: expected })
    playerOf(
      await game.login(by(subject, { region: 'webhook', language: 'webhook' }), { region: 'us', language: 'en' }),
    )
    expect(await profileOf(playerId)).toMatchObject({ region: expected, language: expected })
  })
})

describe('one subject in several places (spec 2.3)', () => {
  it('is a player of its own under each provider, environment and project', async () => {
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

  it('is told from every other that only looks like it', async () => {
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

/** Whatever is done writes nothing and asks no webhook. */
async function expectUntouched(act: () => Promise<void>): Promise<void> {
  const before = await countRows()
  const hits = operator.hits.length
  await act()
  expect(await countRows()).toEqual(before)
  expect(operator.hits.length).toBe(hits)
}

describe('a request that is none (decisions of the contract: 400, and every fault at once)', () => {
  const good = '"customData":{"answer":{"subject":"nobody"}}'
  const post = (body: BodyInit, headers: Record<string, string> = {}) =>
    game.request('POST', LOGIN, { body, headers: { 'x-sdk-key': game.sdkKey, ...headers } })
  const text = (name: string, value: string) => `{${good},"${name}":${value}}`

  it.each<[what: string, body: string, ...paths: string[]]>([
    ['no customData', '{}', 'customData'],
    ['null for customData', '{"customData":null}', 'customData'],
    ['an array for customData', '{"customData":[{}]}', 'customData'],
    ['a string for customData, even of JSON', '{"customData":"{}"}', 'customData'],
    ['a number for customData', '{"customData":7}', 'customData'],
    ['true for customData', '{"customData":true}', 'customData'],
    ['a second customData that is none', `{${good},"customData":[]}`, 'customData'],
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
      'everything at once',
      `{"customData":[],"provider":{},"nickname":1,"region":"${'x'.repeat(36)}","language":"\\u0000"}`,
      'customData',
      'provider',
      'nickname',
      'region',
      'language',
    ],
    ['a fault behind an unknown provider', '{"customData":1,"provider":"unknown"}', 'customData'],
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

  it.each<[what: string, body: BodyInit]>([
    ['nothing', ''],
    ['white space', ' \n'],
    ['not JSON', 'customData=1'],
    ['cut', `{${good}`],
    ['more than one value', `{${good}}{}`],
    ['a comma too many', `{${good},}`],
    ['an array', `[{${good}}]`],
    ['a string', JSON.stringify(`{${good}}`)],
    ['null', 'null'],
    ['begun by a byte order mark', Buffer.from(`\ufeff{${good}}`)],
    ['not UTF-8', Buffer.concat([Buffer.from('{"customData":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')])],
    ['nested 65 deep', nested(65)],
    ['nested 400,000 deep', nested(400_000)],
  ])('is refused when it is %s', async (_, body) => {
    await expectUntouched(async () => {
      expect(refusalOf(await post(body))).toEqual([400, 'invalid request', 'invalid_request'])
    })
  })

  it('is refused with 413 when it is over 1 MiB, and taken when it is not', async () => {
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

  it('is taken with fields that nobody knows, null for what may be absent, and any content type', async () => {
    playerOf(await post(`{${good},"subject":"x","isAdmin":true,"":0,"__proto__":{"provider":"off"}}`))
    playerOf(await post(`{${good},"provider":null,"nickname":null,"region":null,"language":null}`))
    playerOf(await post(nested(64)))
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])
      playerOf(await post(`{${good}}`, { 'content-type': type }))
  })
})

describe('the SDK key (spec 5)', () => {
  it.each<[what: string, key: () => string | null | Promise<string>]>([
    ['missing', () => null],
    ['empty', () => ''],
    ['unknown', () => `twsdk_${'A'.repeat(43)}`],
    ['cut', () => game.sdkKey.slice(0, -1)],
    ['longer', () => `${game.sdkKey}A`],
    ['in another case', () => game.sdkKey.toUpperCase()],
    ['only its prefix', () => 'twsdk_'],
    ['two of them', () => `${game.sdkKey}, ${game.sdkKey}`],
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
  ])('is refused before anything else is looked at when it is %s', async (_, makeKey) => {
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

  it('does not count where it could be logged, in the address and in the body', async () => {
    const path = `${LOGIN}?x-sdk-key=${game.sdkKey}&sdkKey=${game.sdkKey}`
    const body = print({ customData: by(newSubject()), sdkKey: game.sdkKey })
    await expectUntouched(async () => {
      expect(refusalOf(await game.request('POST', path, { body }))).toEqual(INVALID_SDK_KEY)
    })
  })
})

describe('a provider that is disabled or not configured (spec 5, spec 7.1)', () => {
  it.each<[what: string, provider: string]>([
    ['disabled', 'off'],
    ['unknown', 'unknown'],
    ['empty', ''],
    ['reserved', 'google'],
    ['reserved for devices', 'device'],
    ['in another case', 'Steam'],
    ['with spaces around', ' steam '],
    ['a name as it is bound', 'custom:steam'],
    ['33 characters long', 's'.repeat(33)],
    ['100,000 characters long', 's'.repeat(100_000)],
    ['a path', '../steam'],
    ['what every object has', 'constructor'],
    ['SQL', "' OR enabled --"],
    ['two lines', 'steam\n'],
  ])('fails every request for it: %s', async (_, name) => {
    await expectUntouched(async () => {
      expect(refusalOf(await game.login(by(newSubject()), { provider: name }))).toEqual(DISABLED)
      expect(await SURFACES.GraphQL('{}', { provider: name })).toEqual({
        code: 'CUSTOM_AUTH_DISABLED',
        message: 'custom auth disabled',
      })
    })
  })

  it('is one of its own environment: what production has staging has not', async () => {
    await expectUntouched(async () => {
      const options = { provider: 'steam', sdkKey: game.stagingSdkKey }
      expect(refusalOf(await game.login(by(newSubject()), options))).toEqual(DISABLED)
    })
  })

  it('counts from the very next login on, on every instance, and nobody loses anything by it (spec 4.3)', async () => {
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

describe('logins that race (spec 2.3: one subject is one player)', () => {
  it.each([
    ['one service', () => [game, game]],
    ['two services on one database', () => [game, other]],
  ] as const)('fifty first logins of a subject make one player and all succeed: %s', async (_, instances) => {
    const subject = newSubject()
    const before = await countGame()
    const answers = await Promise.all(
      times(50, (index) =>
        loginAt(
          instances()[index % 2] ?? game,
          by(subject, { nickname: `name ${index}`, data: { [`key ${index}`]: index, last: index } }),
        ),
      ),
    )
    const players = new Set(answers.map(playerOf))
    expect(players.size).toBe(1)
    const [playerId = ''] = players
    expect(await ownersOf(subject)).toEqual([playerId])
    expect(await created(playerId)).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(50)
    expect(new Set(answers.map(({ body }) => decodeJwt(body.accessToken).jti)).size).toBe(50)
    const after = await countGame()
    const added = Object.keys(after).map((table) => [table, Number(after[table]) - Number(before[table])])
    expect(Object.fromEntries(added)).toEqual({
      players: 1,
      identities: 1,
      player_storage: 51,
      events: 1,
      refresh_tokens: 50,
    })
    // Whoever was last, was last in everything.
    const { last } = await storageOf(playerId)
    expect((await profileOf(playerId)).nickname).toBe(`name ${last}`)
  })

  it('two players that link a subject at once, a hundred times: one has it, the other is told (spec 7.1)', async () => {
    for (const round of times(100, (index) => index)) {
      const subject = newSubject()
      const [one, two] = await Promise.all([game.player(), game.player()])
      const customData = by(subject, { data: { round } })
      const answers = await Promise.all([
        linkAt(game, one.token, customData),
        linkAt(round % 2 === 0 ? other : game, two.token, customData),
      ])
      expect(answers.map(({ status: answered }) => answered).sort()).toEqual([204, 409])
      const [winner, loser] = answers[0]?.status === 204 ? [one, two] : [two, one]
      expect(refusalOf(answers.find(({ status: answered }) => answered !== 204) ?? expect.fail())).toEqual(LINKED)
      expect(await ownersOf(subject)).toEqual([winner.playerId])
      expect(await storageOf(winner.playerId)).toEqual({ round: String(round) })
      expect(await storageOf(loser.playerId)).toEqual({})
      expect(playerOf(await game.login(by(subject)))).toBe(winner.playerId)
    }
  })

  it('a link and a first login at once: one owner, and the login is of that owner, fifty times', async () => {
    for (const round of times(50, (index) => index)) {
      const subject = newSubject()
      const player = await game.player()
      const before = await countGame()
      const link = () => linkAt(round % 2 === 0 ? game : other, player.token, by(subject))
      const login = () => loginAt(game, by(subject))
      const linkFirst = round % 4 < 2
      const calls = linkFirst ? [link(), login()] : [login(), link()]
      const [first, second] = await Promise.all(calls)
      const [linked, loggedIn] = linkFirst ? [first, second] : [second, first]
      const owner = playerOf(loggedIn ?? expect.fail())
      expect(await ownersOf(subject)).toEqual([owner])
      const after = await countGame()
      if (linked?.status === 204) {
        expect(owner).toBe(player.playerId)
        expect(after.players).toBe(before.players)
      } else {
        expect(refusalOf(linked ?? expect.fail())).toEqual(LINKED)
        expect(owner).not.toBe(player.playerId)
        expect(Number(after.players)).toBe(Number(before.players) + 1)
        expect(await created(owner)).toHaveLength(1)
      }
    }
  })

  it('twenty logins that each add ten keys to 990: one has room, the others leave nothing (spec 8)', async () => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject, { nickname: 'before', data: keys(0, 990) })))
    const answers = await Promise.all(
      times(20, (index) =>
        loginAt(
          index % 2 === 0 ? game : other,
          by(subject, {
            nickname: `name ${index}`,
            avatarUrl: `https://cdn.example/${index}`,
            data: { 'key 0': `changed by ${index}`, ...keys(1000 + index * 10, 1010 + index * 10, index) },
          }),
        ),
      ),
    )
    expect(answers.filter(({ status: answered }) => answered === 200)).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200)
        expect([...refusalOf(answer), answer.body.accessToken]).toEqual([...INVALID_DATA, undefined])
    const winner = answers.findIndex(({ status: answered }) => answered === 200)
    const stored = await storageOf(playerId)
    expect(Object.keys(stored)).toHaveLength(1000)
    const expected = {
      ...keys(0, 990),
      'key 0': `changed by ${winner}`,
      ...keys(1000 + winner * 10, 1010 + winner * 10, winner),
    }
    expect(stored).toEqual(Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, print(value)])))
    expect(await profileOf(playerId)).toMatchObject({
      nickname: `name ${winner}`,
      avatar_url: `https://cdn.example/${winner}`,
    })
    expect(await tokensOf(playerId)).toBe(2)
  })

  it("a login and the client's own storage write: one after the other, never a mix, never over 1000 keys", async () => {
    const names = times(20, (index) => `shared ${index}`)
    const valued = (value: string) => Object.fromEntries(names.map((name) => [name, value]))
    for (const round of times(30, (index) => index)) {
      const subject = newSubject()
      const first = await game.login(by(subject, { data: keys(0, round % 2 === 0 ? 10 : 975) }))
      const playerId = playerOf(first)
      const set = (values: Json) =>
        postTo(
          round % 3 === 0 ? other.baseUrl : game.baseUrl,
          '/sdk/v1/storage/set',
          { authorization: `Bearer ${first.body.accessToken}` },
          print({ values }),
        )
      // Either fits. Together they fit in every other round only, when both write the same names and no others.
      const own = (name: string) => (round % 2 === 0 ? {} : Object.fromEntries(times(4, (n) => [`${name} ${n}`, n])))
      const [login, write] = await Promise.all([
        loginAt(game, by(subject, { data: { ...valued('webhook'), ...own('webhook') } })),
        set({ ...valued('client'), ...own('client') }),
      ])
      const stored = await storageOf(playerId)
      const values = new Set(names.map((name) => stored[name]))
      expect(values.size).toBe(1)
      expect(Object.keys(stored).length).toBeLessThanOrEqual(1000)
      if (round % 2 === 0) {
        expect([login.status, write.status]).toEqual([200, 204])
      } else {
        const loginWon = login.status === 200
        expect([login.status, write.status]).toEqual(loginWon ? [200, 400] : [401, 204])
        expect(refusalOf(loginWon ? write : login)).toEqual(
          loginWon ? [400, 'storage limit exceeded', 'storage_limit_exceeded'] : INVALID_DATA,
        )
        expect([...values]).toEqual([loginWon ? '"webhook"' : '"client"'])
        expect(Object.keys(stored)).toHaveLength(999)
      }
    }
  })

  it('a storm on few players over two services: no outcome that is not described, no second owner', async () => {
    const subjects = times(6, newSubject)
    const first = await Promise.all(subjects.map((subject) => game.login(by(subject, { data: keys(0, 900) }))))
    const players = first.map(({ body }): { token: string; refreshToken: string } => ({
      token: body.accessToken,
      refreshToken: body.refreshToken,
    }))
    const free = times(6, newSubject)
    const sdkKey = { 'x-sdk-key': game.sdkKey }
    const call = (n: number) => {
      const instance = n % 2 === 0 ? game : other
      const { token, refreshToken } = players[n % 5] ?? expect.fail()
      const said = { nickname: `name ${n}`, data: { ...keys(n, n + 30, n), [`storm ${n}`]: n } }
      const bearer = { authorization: `Bearer ${token}` }
      switch (n % 7) {
        case 0:
        case 1:
          return loginAt(instance, by(subjects[n % 6] ?? '', said))
        case 2:
          return loginAt(instance, by(free[n % 6] ?? '', said))
        case 3:
          return linkAt(instance, token, by(free[(n * 5) % 6] ?? '', said))
        case 4:
          return postTo(instance.baseUrl, '/sdk/v1/storage/set', bearer, print({ values: keys(n, n + 40, n) }))
        case 5:
          return postTo(instance.baseUrl, '/sdk/v1/authorization/refresh', sdkKey, print({ refreshToken }))
        default:
          return postTo(
            instance.baseUrl,
            '/sdk/v1/storage/delete',
            bearer,
            print({ keys: Object.keys(keys(n, n + 40)) }),
          )
      }
    }
    const described = [200, 204, 'custom_auth_invalid_data', 'identity_already_linked', 'storage_limit_exceeded']
    for (const wave of times(8, (index) => index * 70)) {
      const answers = await Promise.all(times(70, (index) => call(wave + index)))
      for (const [index, { status: answered, body }] of answers.entries()) {
        // A refresh token that comes again too late ends its family.
        const expected = index % 7 === 5 ? [200, 'invalid_token'] : described
        expect(expected).toContain(body?.code ?? answered)
      }
    }
    for (const subject of [...subjects, ...free]) expect(await ownersOf(subject)).toHaveLength(1)
    const [{ most }] = await query(
      'SELECT max(count) AS most FROM (SELECT count(*) FROM player_storage GROUP BY player_id) counts',
    )
    expect(Number(most)).toBeLessThanOrEqual(1000)
    await auditBooks(game.app.pool)
  })

  it('two hundred new subjects at once are two hundred players, in a stream without a gap (spec 6)', async () => {
    const subjects = times(200, newSubject)
    const answers = await Promise.all(
      subjects.map((subject, index) =>
        loginAt(index % 2 === 0 ? game : other, by(subject, { nickname: subject, data: { subject } })),
      ),
    )
    const players = answers.map(playerOf)
    expect(new Set(players).size).toBe(200)
    const rows = await query(
      `SELECT i.subject, p.id, p.nickname, s.value FROM identities i JOIN players p ON p.id = i.player_id
       JOIN player_storage s ON s.player_id = p.id WHERE i.subject = ANY ($1)`,
      [subjects],
    )
    expect(rows).toHaveLength(200)
    for (const { subject, id, nickname, value } of rows) {
      expect([id, nickname, value]).toEqual([players[subjects.indexOf(subject)], subject, JSON.stringify(subject)])
    }
    for (const playerId of players) expect(await created(playerId)).toHaveLength(1)
    await auditBooks(game.app.pool)
  })
})

describe('logins that are committed together', () => {
  /**
   * Two calls whose webhook answers arrive one after the other while no connection to the database is free: one
   * transaction decides on both, in this order.
   */
  async function inOneGroup<T>(first: (gate: string) => Promise<T>, second: (gate: string) => Promise<T>) {
    const { groupPool: pool } = game.app
    const opens: (() => void)[] = []
    const gate = (index: number) =>
      during(
        () =>
          new Promise<void>((resolve) => {
            opens[index] = resolve
          }),
      )
    const calls = [first(gate(0)), second(gate(1))]
    await until('both webhooks are asked', () => opens.filter(Boolean).length === 2)
    const held: PoolClient[] = []
    while (held.length < (pool.options.max ?? 0)) held.push(await pool.connect())
    try {
      for (const open of opens) {
        const waiting = pool.waitingCount
        open()
        await until('it waits for a connection', () => pool.waitingCount > waiting)
      }
    } finally {
      for (const client of held) client.release()
    }
    return Promise.all(calls)
  }

  it('first logins of one subject: the second finds the player of the first and changes it', async () => {
    const subject = newSubject()
    const [one, two] = await inOneGroup(
      (gate) => game.login(by(subject, { nickname: 'one', avatarUrl: 'https://one', data: { a: 1, b: 1 } }, gate)),
      (gate) => game.login(by(subject, { nickname: 'two', data: { b: 2, c: 2 } }, gate)),
    )
    const playerId = playerOf(one ?? expect.fail())
    expect(playerOf(two ?? expect.fail())).toBe(playerId)
    expect(await profileOf(playerId)).toMatchObject({ nickname: 'two', avatar_url: 'https://one' })
    expect(await storageOf(playerId)).toEqual({ a: '1', b: '2', c: '2' })
    const [{ data }] = await created(playerId)
    expect(JSON.parse(data).nickname).toBe('one')
  })

  it('first logins whose keys are too many together: the second is refused and leaves nothing (spec 8)', async () => {
    const subject = newSubject()
    const [one, two] = await inOneGroup(
      (gate) => game.login(by(subject, { nickname: 'one', data: keys(0, 600) }, gate)),
      (gate) => game.login(by(subject, { nickname: 'two', data: keys(500, 1001, 2) }, gate)),
    )
    const playerId = playerOf(one ?? expect.fail())
    expect(refusalOf(two ?? expect.fail())).toEqual(INVALID_DATA)
    expect((await profileOf(playerId)).nickname).toBe('one')
    const stored = await storageOf(playerId)
    expect(Object.keys(stored)).toHaveLength(600)
    expect(new Set(Object.values(stored))).toEqual(new Set(['1']))
    expect(await tokensOf(playerId)).toBe(1)
  })

  it('a first login before a link of another player: the link is refused', async () => {
    const subject = newSubject()
    const player = await game.player()
    const [login, link] = await inOneGroup(
      (gate) => game.login(by(subject, {}, gate)),
      (gate) => game.link(player.token, by(subject, { data: { a: 1 } }, gate)),
    )
    const owner = playerOf(login ?? expect.fail())
    expect(refusalOf(link ?? expect.fail())).toEqual(LINKED)
    expect(await ownersOf(subject)).toEqual([owner])
    expect(await storageOf(player.playerId)).toEqual({})
  })

  it('a link before the first login: the login is of the player that linked', async () => {
    const subject = newSubject()
    const player = await game.player()
    const before = await countGame()
    const [link, login] = await inOneGroup(
      (gate) => game.link(player.token, by(subject, { nickname: 'link', data: { a: 1, b: 1 } }, gate)),
      (gate) => game.login(by(subject, { nickname: 'login', data: { b: 2 } }, gate)),
    )
    expect(link?.status).toBe(204)
    expect(playerOf(login ?? expect.fail())).toBe(player.playerId)
    expect((await profileOf(player.playerId)).nickname).toBe('login')
    expect(await storageOf(player.playerId)).toEqual({ a: '1', b: '2' })
    expect((await countGame()).players).toBe(before.players)
  })

  it('a link without data before a login with too much: keys that the player had before count (spec 8)', async () => {
    const subject = newSubject()
    const player = await game.player()
    expect((await player.post('/sdk/v1/storage/set', { values: keys(0, 995) })).status).toBe(204)
    const [link, login] = await inOneGroup(
      (gate) => game.link(player.token, by(subject, {}, gate)),
      (gate) => game.login(by(subject, { nickname: 'login', data: keys(2000, 2010) }, gate)),
    )
    expect(link?.status).toBe(204)
    expect(refusalOf(login ?? expect.fail())).toEqual(INVALID_DATA)
    expect(Object.keys(await storageOf(player.playerId))).toHaveLength(995)
    expect(await profileOf(player.playerId)).toMatchObject({ nickname: null })
  })
})

describe('a login that fails leaves nothing (spec 3: in one transaction)', () => {
  it('neither player, identity, event nor storage when one key of a thousand is too long (spec 8)', async () => {
    const subject = newSubject()
    const before = await countGame()
    const data = { ...keys(0, 999), ['x'.repeat(129)]: 1 }
    const answer = await game.login(by(subject, { nickname: 'nobody', data }), { nickname: 'nobody' })
    expect(refusalOf(answer)).toEqual(INVALID_DATA)
    expect(await countGame()).toEqual(before)
    expect(await ownersOf(subject)).toEqual([])
    expect(await query(`SELECT id FROM players WHERE nickname = 'nobody'`)).toEqual([])
  })

  it.each([
    ['banned', [403, 'player banned', 'player_banned']],
    ['deleted', [403, 'player deleted', 'player_deleted']],
  ])(
    'nor a token of a player that is %s before or while the webhook approves (spec 5, spec 7.1)',
    async (state, refusal) => {
      const subject = newSubject()
      const playerId = playerOf(await game.login(by(subject, { nickname: 'before', data: { a: 1 } })))
      const end = () => query('UPDATE players SET status = $1 WHERE id = $2', [state, playerId])
      const before = await countGame()
      const change = { nickname: 'after', avatarUrl: 'https://after', data: { a: 2, b: 2 } }

      const answer = await game.login(by(subject, change, during(end)))
      expect(refusalOf(answer)).toEqual(refusal)
      for (const customData of [by(subject, change), by(subject)])
        for (const instance of [game, other]) expect(refusalOf(await loginAt(instance, customData))).toEqual(refusal)

      expect(await countGame()).toEqual(before)
      expect(await profileOf(playerId)).toMatchObject({ nickname: 'before', avatar_url: null })
      expect(await storageOf(playerId)).toEqual({ a: '1' })

      await query(`UPDATE players SET status = 'active' WHERE id = $1`, [playerId])
      expect(playerOf(await game.login(by(subject)))).toBe(playerId)
    },
  )

  it('nor anything when Postgres goes away while the webhook answers; the next login makes it good', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, shared)
    const known = newSubject()
    const playerId = playerOf(await loginAt(instance, by(known, { data: { a: 1 } })))
    const breaks = [
      { away: () => proxy.cut({ refuse: true }), back: () => proxy.restore() },
      { away: () => proxy.pause(), back: () => proxy.resume() },
    ]
    for (const { away, back } of breaks) {
      const subjects = [known, newSubject()]
      const before = await countRows()
      let asked = 0
      const gate = during(async () => {
        asked += 1
        await until('both webhooks are asked', () => asked === 2)
        away()
      })
      const lost = await Promise.all(
        subjects.map((subject) => loginAt(instance, by(subject, { data: { a: 2 } }, gate))),
      )
      // As for one that begins only now: its webhook is not asked.
      const late = await loginAt(instance, by(known))
      for (const answer of [...lost, late]) expect(refusalOf(answer)).toEqual(UNAVAILABLE)
      expect(asked).toBe(2)
      back()
      expect(await countRows()).toEqual(before)
      expect(await storageOf(playerId)).toEqual({ a: '1' })
      for (const subject of subjects) {
        const again = playerOf(await loginAt(instance, by(subject)))
        expect(await ownersOf(subject)).toEqual([again])
        expect(await created(again)).toHaveLength(1)
      }
    }
    await instance.stop()
    await proxy.close()
  })

  it('when only the answer of its COMMIT is lost it is unavailable; the next login is of the same player', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, shared)
    const subject = newSubject()
    const gate = during(() => proxy.swallowCommits(1))
    expect(refusalOf(await loginAt(instance, by(subject, { data: { a: 1 } }, gate)))).toEqual(UNAVAILABLE)
    expect(proxy.swallowed).toBe(1)
    const [owner] = await ownersOf(subject)
    expect(playerOf(await loginAt(instance, by(subject)))).toBe(owner)
    expect(await created(owner ?? '')).toHaveLength(1)
    await instance.stop()
    await proxy.close()
  })

  it('holds nothing of the database while the webhook answers (spec 8: up to ten seconds)', async () => {
    const { pool } = game.app
    const isFree = async () => {
      if (pool.idleCount < pool.totalCount) return false
      const open = await query(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND state LIKE 'idle in%'`,
      )
      return open.length === 0
    }
    // The answer does not leave before that is so.
    const gate = during(() => until('nothing is held', isFree, { deadlineMs: 2_000 }))
    playerOf(await game.login(by(newSubject(), {}, gate)))
    expect(operator.hits.filter(({ customData }) => customData.includes(gate))).toHaveLength(1)
  })
})

describe('data of the webhook (spec 8, rules on data)', () => {
  const readAll = async (token: string, asked: Json = {}) =>
    game.request('POST', '/sdk/v1/storage/get', { body: print(asked), headers: { authorization: `Bearer ${token}` } })

  it('is merged into what the player has, and wins where both have a key', async () => {
    const subject = newSubject()
    const { body } = await game.login(by(subject, { data: { a: 'webhook', b: 'webhook' } }))
    const authorization = `Bearer ${body.accessToken}`
    const values = { b: 'client', c: 'client', d: 'client' }
    await game.request('POST', '/sdk/v1/storage/set', { body: print({ values }), headers: { authorization } })
    playerOf(await game.login(by(subject, { data: { c: 'again', e: null } })))
    const read = await readAll(body.accessToken)
    expect(read.body.values).toEqual({ a: 'webhook', b: 'client', c: 'again', d: 'client', e: null })
  })

  it('writes nothing when it is empty, null or absent, and rewrites nothing that it does not name', async () => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject, { data: { a: 1 } })))
    const stored = () => query('SELECT key, value, updated_at FROM player_storage WHERE player_id = $1', [playerId])
    const before = await stored()
    for (const data of [{}, null, undefined]) playerOf(await game.login(by(subject, { data })))
    expect(await stored()).toEqual(before)
    playerOf(await game.login(by(subject, { data: { b: 1 } })))
    expect((await stored()).filter(({ key }) => key === 'a')).toEqual(before)
  })

  it('is stored by the last of duplicate keys, however they are spelled', async () => {
    const data = new RawJson('{"a":1,"\\u0061":2,"b":1,"b":[3],"a":{"a":1,"a":2}}')
    const { body } = await game.login(by(newSubject(), { data }))
    expect((await readAll(body.accessToken)).text).toBe('{"values":{"a":{"a":1,"a":2},"b":[3]}}')
  })

  const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n ')
  const character = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map((c) => print(c).slice(1, -1)),
    },
    fc.integer({ min: 0, max: 0xffff }).map((unit) => `\\u${unit.toString(16).padStart(4, '0').toUpperCase()}`),
    fc.constantFrom('\\/', '\\b', '\\"', '\\\\', '\u2028', '\u007f', '😀', 'é', '}', ']', ',', ':'),
  )
  const string = fc.array(character, { maxLength: 12 }).map((parts) => `"${parts.join('')}"`)
  const number = fc.oneof(
    fc.constantFrom('0', '-0', '1.0', '1.10', '1e400', '-1E-400', '9007199254740993', '76561197960287930.50', '1E+2'),
    fc.bigInt().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )
  const { value: jsonText } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('true', 'false', 'null', '{}', '[ ]'),
      number,
      string,
      tie('list'),
      tie('object'),
    ),
    list: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((parts) => `[${parts.map((part) => part.join('')).join(',')}]`),
    object: fc
      .array(fc.tuple(space, string, space, space, tie('value'), space), { maxLength: 4 })
      .map((parts) => `{${parts.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`).join(',')}}`),
  }))

  it('comes back to the client byte for byte: five thousand random values', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(space, jsonText, space), { minLength: 500, maxLength: 500 }),
        async (values) => {
          const name = (index: number) => `"${String(index).padStart(3, '0')}"`
          const data = values.map(([before, value, after], index) => `${name(index)}:${before}${value}${after}`)
          const answer = await game.login(`{"answer":{"subject":"${newSubject()}","data":{${data.join(',')}}}}`)
          playerOf(answer)
          // To the letter: in the order of the keys, and with nothing between them.
          const expected = values.map(([, value], index) => `${name(index)}:${value}`)
          const read = await readAll(answer.body.accessToken)
          expect(read.text).toBe(`{"values":{${expected.join(',')}}}`)
          const { data: found } = await game.graphql(
            answer.body.accessToken,
            '{ me { storage(keys: ["000", "499"]) { value } } }',
          )
          expect(found.me.storage).toEqual([{ value: values[0]?.[1] }, { value: values[499]?.[1] }])
        },
      ),
      { numRuns: 10, endOnFailure: true },
    )
  })

  it('is found under the very keys that it has: a thousand random ones', async () => {
    const key = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 64 })
      .filter((text) => text.isWellFormed() && !text.includes('\0'))
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(key, { minLength: 97, maxLength: 97 }), async (names) => {
        const all = [...new Set([...names, '__proto__', 'constructor', '10'])]
        const data = all.map((text, index) => `${JSON.stringify(text)}:${index}`).join(',')
        const answer = await game.login(`{"answer":{"subject":"${newSubject()}","data":{${data}}}}`)
        playerOf(answer)
        const expected = all.map((text, index): [string, number] => [text, index]).sort()
        const read = await readAll(answer.body.accessToken)
        expect(Object.entries(read.body.values).sort()).toEqual(expected)
        const asked = await readAll(answer.body.accessToken, { keys: all })
        expect(Object.entries(asked.body.values).sort()).toEqual(expected)
      }),
      { numRuns: 10, endOnFailure: true },
    )
  })
})

describe('the log of logins', () => {
  const LOG = `query (
      $environment: String!, $provider: String, $subject: String, $playerId: ID, $first: Int, $after: String
    ) { loginLog(
      environment: $environment, provider: $provider, subject: $subject, playerId: $playerId, first: $first, after: $after
    ) {
      edges { cursor node {
        id occurredAt operation provider subject playerId outcome milliseconds attempts { status milliseconds error excerpt }
      } }
      pageInfo { hasNextPage endCursor }
    } }`
  const read = async (variables: Record<string, unknown>, key = game.platformKey) =>
    game.graphql(key, LOG, { environment: 'production', ...variables })
  const nodes = ({ data }: GraphqlAnswer) => data.loginLog.edges.map(({ node }: { node: unknown }) => node)
  const attempt = (status: number | null, error: string | null = null, excerpt: string | null = null) => ({
    status,
    milliseconds: expect.any(Number),
    error,
    excerpt,
  })

  it('tells the log that the webhook is away, not the service, under the id of the answer', async () => {
    const told: Record<string, unknown>[] = []
    const alone = await startGame({}, pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) }))
    try {
      await alone.setProviders({ default: { enabled: true, url: 'http://127.0.0.1:9/login', secret: 'secret' } })
      const { body } = await alone.login({})
      expect(told.find(({ requestId }) => requestId === body.requestId)).toMatchObject({
        level: 40,
        path: '/sdk/v1/authorization/custom',
        msg: 'custom auth unavailable',
        project: alone.projectId,
        environment: alone.environmentId,
        provider: 'default',
        cause: 'refused',
      })
    } finally {
      await alone.stop()
    }
  })

  it('has a row of each login and link that reached a provider, with its outcome and attempts (spec 7.1)', async () => {
    const [subject, taken] = [newSubject(), newSubject()]
    const owner = playerOf(await game.login(by(taken)))
    const last = async () => {
      const [row] = await query('SELECT * FROM login_log ORDER BY id DESC LIMIT 1')
      return { ...row, attempts: JSON.parse(row.attempts) }
    }
    const row = (more: Record<string, unknown>) => ({
      environment_id: game.environmentId,
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      created_at: expect.any(Date),
      operation: 'login',
      provider: 'default',
      subject: null,
      player_id: null,
      outcome: 'ok',
      milliseconds: expect.any(Number),
      attempts: [attempt(200)],
      notes: '[]',
      ...more,
    })

    const playerId = playerOf(await game.login(by(subject)))
    expect(await last()).toEqual(row({ subject, player_id: playerId }))
    await game.login(by(subject), { provider: 'steam' })
    expect(await last()).toMatchObject({ provider: 'steam', subject, outcome: 'ok' })

    await game.login({ status: 403 })
    expect(await last()).toEqual(row({ outcome: 'custom_auth_rejected', attempts: [attempt(403, null, '{}')] }))
    await game.login({ answer: { subject: '' } })
    expect(await last()).toEqual(row({ outcome: 'custom_auth_invalid_response' }))
    await game.login(by(subject, { data: { '': 1 } }))
    expect(await last()).toMatchObject({ outcome: 'custom_auth_invalid_data', attempts: [attempt(200)] })
    await game.login({ status: 500 })
    expect(await last()).toEqual(row({ outcome: 'custom_auth_unavailable', attempts: times(3, () => attempt(500)) }))
    await game.login({}, { provider: 'gone' })
    expect(await last()).toEqual(
      row({
        provider: 'gone',
        outcome: 'custom_auth_unavailable',
        attempts: times(3, () => attempt(null, 'refused')),
      }),
    )

    const player = await game.player()
    const mine = { operation: 'link', player_id: player.playerId }
    await game.link(player.token, by(taken))
    expect(await last()).toEqual(row({ ...mine, subject: taken, outcome: 'identity_already_linked' }))
    const linked = newSubject()
    await game.link(player.token, by(linked))
    expect(await last()).toEqual(row({ ...mine, subject: linked }))

    await query(`UPDATE players SET status = 'banned' WHERE id = $1`, [owner])
    await game.login(by(taken))
    expect(await last()).toEqual(row({ subject: taken, player_id: owner, outcome: 'player_banned' }))

    await expectUntouched(async () => {
      await game.login({}, { provider: 'off' })
      await game.login({}, { provider: 'unknown' })
      await game.login('[]')
      await game.login({}, { sdkKey: null })
    })
  })

  it('says how long the webhook took', async () => {
    const subject = newSubject()
    let started = 0
    const gate = during(async () => {
      started = performance.now()
      await until('some time has passed', () => performance.now() - started > 50)
    })
    playerOf(await game.login(by(subject, {}, gate)))
    const [{ milliseconds, attempts }] = await query('SELECT * FROM login_log WHERE subject = $1', [subject])
    expect(milliseconds).toBeGreaterThanOrEqual(50)
    expect(JSON.parse(attempts)).toEqual([{ status: 200, milliseconds, error: null, excerpt: null }])
  })

  it("has nothing of customData, of the webhook's answer beyond the subject, or of a secret", async () => {
    const secrets = times(8, () => randomUUID())
    const [ticket = '', key = '', nickname = '', avatar = '', name = '', value = '', refused = '', client = ''] =
      secrets
    const subject = newSubject()
    const said = { nickname, avatarUrl: `https://x.example/${avatar}`, data: { [name]: value } }
    playerOf(await game.login({ ...by(subject, said), [key]: ticket }, { nickname: client }))
    await game.login({ status: 401, [key]: refused })
    await game.login({ answer: { subject: '', nickname, data: { [name]: value } }, [key]: refused })
    await game.login({ ...by(subject, { ...said, data: { [name]: value, '': 1 } }), [key]: ticket })
    const rows = await query('SELECT l::text AS row FROM login_log l')
    const log = rows.map(({ row }) => row).join('\n')
    expect(log).toContain(subject)
    for (const secret of [...secrets, operator.secret, game.sdkKey, operator.url, 'twrt_'])
      expect(log).not.toContain(secret)
  })

  it('is read by operators, the latest first, by provider, subject and player, page by page', async () => {
    const [subject, second] = [newSubject(), newSubject()]
    const playerId = playerOf(await game.login(by(subject)))
    for (const _ of times(4, () => 0)) await game.login(by(subject))
    await game.login(by(subject), { provider: 'steam' })
    await game.login(by(second))

    const found = nodes(await read({ subject, provider: 'default' }))
    expect(found).toHaveLength(5)
    expect(found[0]).toEqual({
      id: expect.any(String),
      occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      operation: 'LOGIN',
      provider: 'default',
      subject,
      playerId,
      outcome: 'OK',
      milliseconds: expect.any(Number),
      attempts: [attempt(200)],
    })
    const ids = found.map(({ id }: { id: string }) => id)
    expect(ids).toEqual([...ids].sort().reverse())
    expect(nodes(await read({ subject }))).toHaveLength(6)
    expect(nodes(await read({ playerId }))).toEqual(found)
    expect(nodes(await read({ subject, provider: 'steam' }))).toHaveLength(1)
    expect(nodes(await read({ subject, environment: 'staging' }))).toEqual([])
    expect(nodes(await read({ first: 1 }))).toMatchObject([{ subject: second }])

    const paged: unknown[] = []
    let after: string | null = null
    for (let more = true; more; ) {
      const page: GraphqlAnswer = await read({ subject, provider: 'default', first: 2, after })
      paged.push(...nodes(page))
      const { hasNextPage, endCursor } = page.data.loginLog.pageInfo
      after = endCursor
      more = hasNextPage
    }
    expect(paged).toEqual(found)
  })

  it('is read by a platform key of the project, and by nobody else', async () => {
    expect(nodes(await read({ first: 1 }, await game.key('viewer')))).toHaveLength(1)
    const { projectId } = await createProject(game.app.pool, { name: 'Foreign', environments: ['production'] })
    const foreign = (await createPlatformKey(game.app.pool, projectId, 'admin')).key
    expect(nodes(await read({}, foreign))).toEqual([])
    const { body } = await game.login(by(newSubject()))
    expect(outcomeOfGraphql(await read({}, body.accessToken))).toEqual({ code: 'FORBIDDEN', message: 'forbidden' })
    expect(outcomeOfGraphql(await game.graphql(null, LOG, { environment: 'production' }))).toMatchObject({
      code: 'INVALID_TOKEN',
    })
    expect(outcomeOfGraphql(await read({ playerId: 'nobody' }))).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(outcomeOfGraphql(await read({ environment: 'nowhere' }))).toMatchObject({ code: 'ENVIRONMENT_NOT_FOUND' })
  })

  it('keeps its rows thirty days', async () => {
    const subjects = [newSubject(), newSubject(), newSubject()]
    for (const subject of subjects) await game.login(by(subject))
    const age = (subject: string | undefined, days: string) =>
      query('UPDATE login_log SET created_at = now() - $2::interval WHERE subject = $1', [subject, days])
    await age(subjects[0], '30 days 1 minute')
    await age(subjects[1], '29 days 23 hours')
    const before = await query('SELECT id FROM login_log')
    expect(await loginLog.purge(game.app.pool)).toBe(1)
    expect(await loginLog.purge(game.app.pool)).toBe(0)
    expect(await query('SELECT id FROM login_log')).toHaveLength(before.length - 1)
    for (const [index, subject] of subjects.entries())
      expect(await query('SELECT id FROM login_log WHERE subject = $1', [subject])).toHaveLength(index === 0 ? 0 : 1)
  })
})

describe('a login over REST, GraphQL and a WebSocket is one and the same (spec 9)', () => {
  const surfaces = Object.entries(SURFACES)

  it.each(surfaces)('creates a player over %s, and finds it over the others', async (_, logIn) => {
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

  it('is refused alike, with the same code and details', async () => {
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

  it('closes a socket whose SDK key does not hold (4403)', async () => {
    const refused = overSocket({ sdkKey: `twsdk_${'A'.repeat(43)}` }, LOGIN_CUSTOM, { input: { customData: '{}' } })
    await expect(refused).rejects.toMatchObject({ code: 4403 })
  })

  it('sends customData that is given as text to the byte, and an object by what it says (spec 4.4)', async () => {
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
    ['null', { customData: null }],
    ['an array', { customData: [] }],
    ['a number', { customData: 7 }],
    ['true', { customData: true }],
    ['text that is not JSON', { customData: 'ticket' }],
    ['the text of an array', { customData: '[]' }],
    ['the text of a string', { customData: '"{}"' }],
    ['empty text', { customData: '' }],
    ['cut text', { customData: '{"a":1' }],
    ['text nested 64 deep', { customData: `{"a":${'['.repeat(63)}${']'.repeat(63)}}` }],
    ['text nested 100,000 deep', { customData: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }],
    ['an object nested 3,000 deep', { customData: JSON.parse(`{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`) }],
    ['half a surrogate pair in the text', { customData: '{"a":"\ud800"}' }],
    ['a number for nickname', { customData: '{}', nickname: 7 }],
    ['an object for provider', { customData: '{}', provider: {} }],
    ['a field that is none', { customData: '{}', subject: 'x' }],
  ])('is INVALID_REQUEST over GraphQL with %s for customData', async (_, input) => {
    await expectUntouched(async () => {
      const { data, errors } = await game.graphql({ 'x-sdk-key': game.sdkKey }, LOGIN_CUSTOM, { input })
      expect([data ?? null, errors?.[0]?.extensions.code]).toEqual([null, 'INVALID_REQUEST'])
    })
  })

  it('is INVALID_REQUEST for an object nested 100,000 deep', async () => {
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
