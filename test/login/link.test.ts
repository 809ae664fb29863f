import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { BEGIN } from '../harness/begin.ts'
import { type Answer, type LoginOptions, startInstance, type TestPlayer, times } from '../harness/game.ts'
import { signatureOf } from '../harness/operator.ts'
import { startProxy } from '../harness/proxy.ts'
import { askSocket, type Outcome, outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'
import {
  by,
  countGame,
  during,
  expectUntouched,
  game,
  INVALID_DATA,
  keys,
  LOGIN,
  newSubject,
  operator,
  playerOf,
  postTo,
  query,
  refusalOf,
  shared,
  startLogins,
  stopLogins,
  storageOf,
} from './logins.ts'

// Links as a game client sees them, and what they write. Races of links and logins are in login-races.test.ts.

beforeAll(startLogins)
afterAll(stopLogins)

const LINK = `${LOGIN}/link`
const LINKED = [409, 'identity already linked', 'identity_already_linked']
const INVALID_REQUEST = [400, 'invalid request', 'invalid_request']
const INVALID_SDK_KEY = [401, 'invalid sdk key', 'invalid_sdk_key']
const INVALID_TOKEN = [401, 'invalid token', 'invalid_token']
const UNAVAILABLE = [503, 'unavailable', 'unavailable']
const FORBIDDEN: [state: string, refusal: unknown[]][] = [
  ['banned', [403, 'player banned', 'player_banned']],
  ['deleted', [403, 'player deleted', 'player_deleted']],
]

const identitiesOf = async ({ playerId }: { playerId: string }): Promise<[string, string][]> =>
  (
    await query('SELECT provider, subject FROM identities WHERE player_id = $1 ORDER BY provider, subject', [playerId])
  ).map(({ provider, subject }) => [provider, subject])

function expectLinked({ status, text }: Pick<Answer, 'status' | 'text'>): void {
  expect([status, text]).toEqual([204, ''])
}

describe('a link (contract 3, contract 4.2)', () => {
  it('answers 204 with an empty body, and its subject logs the player in afterwards', async () => {
    const subject = newSubject()
    const player = await game.player()
    const before = await countGame()
    const answer = await game.link(player.token, by(subject))
    expectLinked(answer)
    expect(answer.headers.get('content-type')).toBeNull()
    // No new player, event or token.
    expect(await countGame()).toEqual({ ...before, identities: String(Number(before.identities) + 1) })
    expect(await identitiesOf(player)).toEqual([['custom', subject]])
    expect(playerOf(await game.login(by(subject)))).toBe(player.playerId)
    const { body } = await player.post('/sdk/v1/player/get', {})
    expect(body.identities).toEqual([{ provider: 'custom', subject }])
  })

  it('answers 204 again when the subject is already bound to the caller', async () => {
    const subject = newSubject()
    const player = await game.player()
    const bound = () => query('SELECT * FROM identities WHERE subject = $1', [subject])
    expectLinked(await game.link(player.token, by(subject)))
    const before = await bound()
    for (const _ of times(3, () => 0)) expectLinked(await game.link(player.token, by(subject)))
    const login = await game.login(by(subject))
    expectLinked(await game.link(login.body.accessToken, by(subject)))
    expect(await bound()).toEqual(before)
  })

  it('lets a player hold several identities, each in the namespace of its provider (contract 2.3)', async () => {
    const [first, second, third] = [newSubject(), newSubject(), newSubject()]
    const login = await game.login(by(first))
    const playerId = playerOf(login)
    const token = login.body.accessToken
    expectLinked(await game.link(token, by(second)))
    expectLinked(await game.link(token, by(second), { provider: 'steam' }))
    expectLinked(await game.link(token, by(third), { provider: 'steam' }))
    expect(await identitiesOf({ playerId })).toEqual([
      ['custom', first],
      ['custom', second],
      ['custom:steam', second],
      ['custom:steam', third],
    ])
    for (const [subject, options] of [
      [first, {}],
      [second, { provider: 'default' }],
      [second, { provider: 'steam' }],
      [third, { provider: 'steam' }],
    ] as const)
      expect(playerOf(await game.login(by(subject), options))).toBe(playerId)
    // These are not linked.
    expect(playerOf(await game.login(by(first), { provider: 'steam' }))).not.toBe(playerId)
    expect(playerOf(await game.login(by(third)))).not.toBe(playerId)
  })

  it('calls the webhook with the same request as a login does (contract 4.4)', async () => {
    const customData = '{ "answer":{"subject":"same"}, "id":76561197960287930123, "a":1.0 }'
    const player = await game.player()
    expectLinked(await game.link(player.token, customData))
    const link = operator.hits.at(-1) ?? expect.fail()
    await game.login(customData)
    const login = operator.hits.at(-1) ?? expect.fail()
    expect(link.body.toString()).toBe(`{"customData":${customData}}`)
    expect(link.headers['x-signature']).toBe(signatureOf(operator.secret, link.body))
    expect(link.headers['x-signature']).toBe(login.headers['x-signature'])
    expect([link.method, link.url, Object.keys(link.headers).sort()]).toEqual([
      login.method,
      login.url,
      Object.keys(login.headers).sort(),
    ])
    expect(JSON.stringify(link.headers)).not.toContain(player.token)
  })

  it('writes data and leaves nickname, avatar, region and language alone (contract 8, rule 4)', async () => {
    const [first, second] = [newSubject(), newSubject()]
    const said = { nickname: 'Ada', avatarUrl: 'https://a.example', data: { a: 1, b: 1 } }
    const login = await game.login(by(first, said), { region: 'eu', language: 'de' })
    const playerId = playerOf(login)
    const linked = { nickname: 'Eve', avatarUrl: 'https://e.example', data: { b: 2, c: null } }
    const options = { nickname: 'Mallory', region: 'us', language: 'en' }
    for (const _ of times(2, () => 0))
      expectLinked(await game.link(login.body.accessToken, by(second, linked), options))
    expect(await query('SELECT nickname, avatar_url, region, language FROM players WHERE id = $1', [playerId])).toEqual(
      [{ nickname: 'Ada', avatar_url: 'https://a.example', region: 'eu', language: 'de' }],
    )
    expect(await storageOf(playerId)).toEqual({ a: '1', b: '2', c: 'null' })
    // Data is also written when the subject is already linked.
    expectLinked(await game.link(login.body.accessToken, by(second, { data: { b: 3 } })))
    expectLinked(await game.link(login.body.accessToken, by(second, { data: {} })))
    expect(await storageOf(playerId)).toEqual({ a: '1', b: '3', c: 'null' })
  })

  it('binds a subject once in fifty concurrent calls of a player, and twenty subjects in twenty calls', async () => {
    const subject = newSubject()
    const player = await game.player()
    for (const answer of await Promise.all(times(50, () => game.link(player.token, by(subject))))) expectLinked(answer)
    expect(await identitiesOf(player)).toEqual([['custom', subject]])
    const subjects = times(20, newSubject)
    const answers = await Promise.all(
      subjects.map((name) => game.link(player.token, by(name, { data: { [name]: 1 } }))),
    )
    for (const answer of answers) expectLinked(answer)
    expect(await identitiesOf(player)).toHaveLength(21)
    expect(Object.keys(await storageOf(player.playerId)).sort()).toEqual(subjects.sort())
  })
})

describe('a refused link', () => {
  it('writes nothing when another player has the subject, even a banned or deleted one (contract 7.1)', async () => {
    const subject = newSubject()
    const owner = playerOf(await game.login(by(subject, { nickname: 'owner', data: { a: 1 } })))
    const player = await game.player()
    const before = await countGame()
    for (const state of ['active', 'banned', 'deleted']) {
      await query('UPDATE players SET status = $1 WHERE id = $2', [state, owner])
      const answer = await game.link(player.token, by(subject, { nickname: 'thief', data: { a: 2, b: 2 } }))
      expect(refusalOf(answer)).toEqual(LINKED)
    }
    expect(await countGame()).toEqual(before)
    expect(await identitiesOf(player)).toEqual([])
    expect(await storageOf(player.playerId)).toEqual({})
    expect(await storageOf(owner)).toEqual({ a: '1' })
    await query(`UPDATE players SET status = 'active' WHERE id = $1`, [owner])
    expect(playerOf(await game.login(by(subject)))).toBe(owner)
    // The same name under another provider is another identity.
    expectLinked(await game.link(player.token, by(subject), { provider: 'steam' }))
  })

  it.each(FORBIDDEN)(
    'writes nothing when its player is %s during the webhook call (contract 5, contract 7.1)',
    async (state, refusal) => {
      const subject = newSubject()
      const player = await game.player()
      const gate = during(() => query('UPDATE players SET status = $1 WHERE id = $2', [state, player.playerId]))
      const before = await countGame()
      expect(refusalOf(await game.link(player.token, by(subject, { data: { a: 1 } }, gate)))).toEqual(refusal)
      expect(await countGame()).toEqual(before)
      expect(playerOf(await game.login(by(subject)))).not.toBe(player.playerId)
    },
  )

  it('writes nothing when its data is over the storage limit, and succeeds with less data (contract 8)', async () => {
    const subject = newSubject()
    const player = await game.player()
    expect((await player.post('/sdk/v1/storage/set', { values: keys(0, 999, 0) })).status).toBe(204)
    const before = await countGame()
    const answer = await game.link(player.token, by(subject, { data: { 'key 0': 'changed', one: 1, two: 2 } }))
    expect(refusalOf(answer)).toEqual(INVALID_DATA)
    expect(await countGame()).toEqual(before)
    expect((await storageOf(player.playerId))['key 0']).toBe('0')
    expectLinked(await game.link(player.token, by(subject, { data: { 'key 0': 'changed', one: 1 } })))
    expect(Object.keys(await storageOf(player.playerId))).toHaveLength(1000)
    // The limit also applies when the subject is already linked.
    expect(refusalOf(await game.link(player.token, by(subject, { data: { two: 2 } })))).toEqual(INVALID_DATA)
  })

  it('writes nothing when Postgres becomes unreachable during the webhook call, and succeeds on a retry', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, { ...shared, CALL_DEADLINE_MS: '10000' })
    const player = await game.player()
    const headers = { 'x-sdk-key': game.sdkKey, authorization: `Bearer ${player.token}` }
    const link = (customData: Json) => postTo(instance.baseUrl, LINK, headers, print({ customData }))

    const lost = newSubject()
    const before = await countGame()
    const cut = during(() => proxy.cut({ refuse: true }))
    expect(refusalOf(await link(by(lost, { data: { a: 1 } }, cut)))).toEqual(UNAVAILABLE)
    proxy.restore()
    expect(await countGame()).toEqual(before)
    expectLinked(await link(by(lost, { data: { a: 1 } })))
    expect(await storageOf(player.playerId)).toEqual({ a: '1' })

    // When only the answer to COMMIT is lost, the link is written, and a retry succeeds.
    const unheard = newSubject()
    const swallow = during(() => proxy.swallowCommits(1))
    expect(refusalOf(await link(by(unheard, {}, swallow)))).toEqual(UNAVAILABLE)
    expect(proxy.swallowed).toBe(1)
    expectLinked(await link(by(unheard)))
    expect(await identitiesOf(player)).toEqual([
      ['custom', lost],
      ['custom', unheard],
    ])
    await instance.stop()
    await proxy.close()
  })
})

describe('a link request (contract 4.2, contract 5: SDK key and bearer token)', () => {
  const send = (headers: Record<string, string>, body = print({ customData: by(newSubject()) })) =>
    game.request('POST', LINK, { body, headers })

  it('is refused without a valid bearer token, whatever its body is', async () => {
    const { body } = await game.login(by(newSubject()))
    const player = await game.player()
    const invalid = [
      undefined,
      '',
      'Bearer',
      'Bearer junk',
      `Bearer ${player.token}A`,
      player.token,
      `Bearer ${body.refreshToken}`,
      `Bearer ${game.platformKey}`,
      `Bearer ${game.sdkKey}`,
      `Bearer ${'A'.repeat(8192)}`,
    ]
    await expectUntouched(async () => {
      for (const authorization of invalid) {
        const headers = { 'x-sdk-key': game.sdkKey, ...(authorization !== undefined && { authorization }) }
        // The token is checked before the body.
        for (const answer of [await send(headers), await send(headers, '['), await send(headers, '{}')])
          expect(refusalOf(answer)).toEqual(INVALID_TOKEN)
      }
    })
  })

  it('is refused without a valid SDK key, whatever its bearer token is', async () => {
    const player = await game.player()
    const headers = { authorization: `Bearer ${player.token}` }
    await expectUntouched(async () => {
      for (const sdkKey of [undefined, '', `twsdk_${'A'.repeat(43)}`, game.platformKey, player.token]) {
        for (const authorization of [headers, {}, { authorization: 'Bearer junk' }]) {
          const answer = await send({ ...authorization, ...(sdkKey !== undefined && { 'x-sdk-key': sdkKey }) })
          expect(refusalOf(answer)).toEqual(INVALID_SDK_KEY)
        }
      }
    })
  })

  it('is refused with the SDK key of another environment or project', async () => {
    const player = await game.player()
    const { environments } = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    const foreign = await createSdkKey(game.app.pool, environments.get('production') ?? '')
    const staging = await game.login(by(newSubject()), { sdkKey: game.stagingSdkKey })
    await expectUntouched(async () => {
      for (const sdkKey of [game.stagingSdkKey, foreign.key])
        expect(refusalOf(await game.link(player.token, by(newSubject()), { sdkKey }))).toEqual(INVALID_TOKEN)
      expect(refusalOf(await game.link(staging.body.accessToken, by(newSubject())))).toEqual(INVALID_TOKEN)
    })
    expectLinked(await game.link(staging.body.accessToken, by(newSubject()), { sdkKey: game.stagingSdkKey }))
  })

  it.each<[what: string, body: string, ...paths: string[]]>([
    ['no customData', '{}', 'customData'],
    ['null for customData', '{"customData":null}', 'customData'],
    ['an array for customData', '{"customData":[]}', 'customData'],
    ['a string for customData', '{"customData":"{}"}', 'customData'],
    ['a number for provider', '{"customData":{},"provider":1}', 'provider'],
    ['invalid customData and provider', '{"customData":1,"provider":[]}', 'customData', 'provider'],
    ['invalid customData and an unknown provider', '{"customData":1,"provider":"unknown"}', 'customData'],
    ['a body that is not JSON', '{"customData":{}', ''],
    ['a body nested 65 deep', `{"customData":{"a":${'['.repeat(63)}${']'.repeat(63)}}}`, ''],
  ])('is refused with %s, and every fault is named', async (_, body, ...paths) => {
    const player = await game.player()
    await expectUntouched(async () => {
      const answer = await send({ 'x-sdk-key': game.sdkKey, authorization: `Bearer ${player.token}` }, body)
      expect(refusalOf(answer)).toEqual(INVALID_REQUEST)
      expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(paths)
    })
  })
})

describe('REST, GraphQL and WebSocket links (contract 15)', () => {
  const LINK_CUSTOM = `mutation ($input: LinkCustomInput!) {
    linkCustom(input: $input) { identity { provider subject } } }`
  type Link = (player: { token: string } | null, customData: string, options?: LoginOptions) => Promise<Outcome>

  const credentials = (player: { token: string } | null, sdkKey: string | null, name: string) => ({
    ...(player && { authorization: `Bearer ${player.token}` }),
    ...(sdkKey !== null && { [name]: sdkKey }),
  })

  async function overRest(player: { token: string } | null, customData: string, options: LoginOptions = {}) {
    const { sdkKey = game.sdkKey, ...more } = options
    const named = more.provider === undefined ? '' : `,"provider":${print(more.provider as Json)}`
    const body = `{"customData":${customData}${named}}`
    const answer = await game.request('POST', LINK, { body, headers: credentials(player, sdkKey, 'x-sdk-key') })
    return answer.status === 204 ? { ok: 'linked' } : outcomeOfRest(answer)
  }

  /** GraphQL also answers the identity, which REST does not. */
  function linkedOf(outcome: Outcome, customData: string, { provider }: LoginOptions = {}): Outcome {
    if (!('ok' in outcome)) return outcome
    const { subject } = JSON.parse(customData).answer
    const name = provider === undefined || provider === 'default' ? 'custom' : `custom:${provider}`
    expect(outcome.ok).toEqual({ identity: { provider: name, subject } })
    return { ok: 'linked' }
  }

  const overGraphql: Link = async (player, customData, options = {}) => {
    const { sdkKey = game.sdkKey, ...input } = options
    const headers = credentials(player, sdkKey, 'x-sdk-key')
    const answer = await game.graphql(headers, LINK_CUSTOM, { input: { customData, ...input } })
    return linkedOf(outcomeOfGraphql(answer), customData, options)
  }

  const overSocket: Link = async (player, customData, options = {}) => {
    const { sdkKey = game.sdkKey, ...input } = options
    const answer = await askSocket(game, credentials(player, sdkKey, 'sdkKey'), LINK_CUSTOM, {
      input: { customData, ...input },
    })
    return linkedOf(outcomeOfGraphql(answer), customData, options)
  }

  const surfaces: [name: string, link: Link][] = [
    ['REST', overRest],
    ['GraphQL', overGraphql],
    ['a WebSocket', overSocket],
  ]

  it.each(surfaces)('bind one identity when the first link goes over %s and the others repeat it', async (_, link) => {
    const subject = newSubject()
    const player = await game.player()
    const customData = print(by(subject, { nickname: 'Eve', data: { a: 1 } }))
    const before = await countGame()
    expect(await link(player, customData, { provider: 'steam' })).toEqual({ ok: 'linked' })
    for (const [, another] of surfaces)
      expect(await another(player, customData, { provider: 'steam' })).toEqual({ ok: 'linked' })
    expect(await identitiesOf(player)).toEqual([['custom:steam', subject]])
    expect(await storageOf(player.playerId)).toEqual({ a: '1' })
    const { players, events, refresh_tokens } = await countGame()
    expect([players, events, refresh_tokens]).toEqual([before.players, before.events, before.refresh_tokens])
    expect(await query('SELECT nickname FROM players WHERE id = $1', [player.playerId])).toEqual([{ nickname: null }])
    expect(await link(player, print(by(newSubject())))).toEqual({ ok: 'linked' })
  })

  it('write nothing when they are refused, with the same code and message and as many calls of the webhook (contract 7.1)', async () => {
    const taken = newSubject()
    await game.login(by(taken))
    const player = await game.player()
    const [banned, deleted] = [await game.player(), await game.player()]
    await query(`UPDATE players SET status = 'banned' WHERE id = $1`, [banned.playerId])
    await query(`UPDATE players SET status = 'deleted' WHERE id = $1`, [deleted.playerId])
    const free = by(newSubject())
    type Case = [code: string, hits: number, caller: TestPlayer | null, customData: Json, options?: LoginOptions]
    const cases: Case[] = [
      ['IDENTITY_ALREADY_LINKED', 1, player, by(taken)],
      ['PLAYER_BANNED', 0, banned, free],
      ['PLAYER_DELETED', 0, deleted, free],
      ['INVALID_TOKEN', 0, null, free],
      ['INVALID_TOKEN', 0, player, free, { sdkKey: game.stagingSdkKey }],
      ['INVALID_SDK_KEY', 0, player, free, { sdkKey: null }],
      ['INVALID_SDK_KEY', 0, null, free, { sdkKey: null }],
      ['CUSTOM_AUTH_REJECTED', 1, player, { status: 401 }],
      ['CUSTOM_AUTH_REJECTED', 1, player, { status: 429 }],
      ['CUSTOM_AUTH_UNAVAILABLE', 3, player, { status: 500 }],
      ['CUSTOM_AUTH_UNAVAILABLE', 0, player, {}, { provider: 'gone' }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', 1, player, { status: 302 }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', 1, player, { status: 204 }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', 1, player, { answer: {} }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', 1, player, { answer: [] }],
      ['CUSTOM_AUTH_INVALID_RESPONSE', 1, player, by('')],
      ['CUSTOM_AUTH_INVALID_DATA', 1, player, by(newSubject(), { data: { '': 1 } })],
      ['CUSTOM_AUTH_INVALID_DATA', 1, player, by(newSubject(), { data: { a: 1, ['x'.repeat(129)]: 1 } })],
      ['CUSTOM_AUTH_INVALID_DATA', 1, player, by(newSubject(), { data: keys(0, 1001) })],
      ['CUSTOM_AUTH_DISABLED', 0, player, free, { provider: 'off' }],
      ['CUSTOM_AUTH_DISABLED', 0, player, free, { provider: 'unknown' }],
      ['CUSTOM_AUTH_DISABLED', 0, player, free, { provider: 'Steam' }],
    ]
    for (const [code, hits, caller, customData, options] of cases) {
      const [before, asked] = [await countGame(), operator.hits.length]
      // A WebSocket does not open for a banned or deleted player (4403).
      const open = surfaces.filter(([, link]) => link !== overSocket || !code.startsWith('PLAYER_'))
      const outcomes = await Promise.all(open.map(([, link]) => link(caller, print(customData), options)))
      expect(outcomes[0]).toMatchObject({ code })
      expect(outcomes).toEqual(times(open.length, () => outcomes[0]))
      expect([code, customData, operator.hits.length - asked]).toEqual([code, customData, hits * open.length])
      expect(await countGame()).toEqual(before)
    }
  })
})

describe('a link of a banned player', () => {
  it('is refused even when another transaction commits the ban just before the link', async () => {
    const player = await game.player()
    const subject = newSubject()
    const client = await game.app.pool.connect()
    await client.query(BEGIN)
    await client.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [player.playerId])
    const link = game.link(player.token, by(subject))
    await until('the link waits for the player', async () => {
      const waiting = await query(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await client.query('COMMIT')
    client.release()
    expect(refusalOf(await link)).toEqual([403, 'player banned', 'player_banned'])
    expect(await identitiesOf(player)).toEqual([])
  })
})
