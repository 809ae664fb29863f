import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { members, print } from '../../src/base/json.ts'
import { createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { type Answer, startInstance, times } from '../harness/game.ts'
import { startProxy } from '../harness/proxy.ts'
import { settled } from '../harness/settled.ts'
import { askSocket, type Outcome, outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import {
  game,
  newSubject,
  operator,
  other,
  playerOf,
  postTo,
  query,
  refusalOf,
  shared,
  startLogins,
  stopLogins,
} from './logins.ts'

// The tokens of a login: lifetimes, refreshes, token families and logout.

const REFRESH = '/sdk/v1/authorization/refresh'
const LOGOUT = '/sdk/v1/authorization/logout'
const TOKEN = /^twrt_[\w-]{43}$/
const DAY = 86_400
/** Less than the ten seconds in which a repeat gets the same answer. */
const REPEATABLE_MS = 9_000
const INVALID_TOKEN = [401, 'invalid token', 'invalid_token']
const INVALID_SDK_KEY = [401, 'invalid sdk key', 'invalid_sdk_key']
const UNAVAILABLE = [503, 'unavailable', 'unavailable']

beforeAll(startLogins)
afterAll(stopLogins)

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

type Login = Pair & { readonly playerId: string }

/** A login of a new player, or of this one. `claims` is JSON text. */
async function logIn(
  subject = newSubject(),
  { sdkKey = game.sdkKey, claims = null as string | null } = {},
): Promise<Login> {
  const more = claims === null ? '' : `,"claims":${claims}`
  const answer = await game.login(`{"answer":{"subject":${JSON.stringify(subject)}${more}}}`, { sdkKey })
  return { ...answer.body, playerId: playerOf(answer) }
}

const refresh = (refreshToken: unknown, sdkKey: string | null = game.sdkKey): Promise<Answer> =>
  game.request('POST', REFRESH, {
    body: JSON.stringify({ refreshToken }),
    headers: sdkKey === null ? {} : { 'x-sdk-key': sdkKey },
  })

const logOut = (refreshToken: unknown, sdkKey: string | null = game.sdkKey): Promise<Answer> =>
  game.request('POST', LOGOUT, {
    body: JSON.stringify({ refreshToken }),
    headers: sdkKey === null ? {} : { 'x-sdk-key': sdkKey },
  })

const refreshAt = ({ baseUrl }: { baseUrl: string }, refreshToken: string) =>
  postTo(baseUrl, REFRESH, { 'x-sdk-key': game.sdkKey }, JSON.stringify({ refreshToken }))

function pairOf({ status, body, text }: Pick<Answer, 'status' | 'body' | 'text'>): Pair {
  expect([status, text]).toEqual([200, expect.stringContaining('accessToken')])
  return body
}

const next = async (refreshToken: string): Promise<Pair> => pairOf(await refresh(refreshToken))

async function expectEnded(...tokens: string[]): Promise<void> {
  for (const token of tokens) expect(refusalOf(await refresh(token))).toEqual(INVALID_TOKEN)
}

/** Moves the use of a player's used tokens into the past. */
const age = (playerId: string, interval: string) =>
  query(
    `UPDATE refresh_tokens SET rotated_at = clock_timestamp() - $2::interval
     WHERE player_id = $1 AND rotated_at IS NOT NULL`,
    [playerId, interval],
  )

/** The rows of a player's refresh tokens, the oldest first. */
const rowsOf = (playerId: string) =>
  query('SELECT * FROM refresh_tokens WHERE player_id = $1 ORDER BY created_at, rotated_at NULLS LAST', [playerId])

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')

const readPlayer = (accessToken: string) =>
  game.request('POST', '/sdk/v1/player/get', { body: '{}', headers: { authorization: `Bearer ${accessToken}` } })

describe('the tokens of a login (contract 5, contract 8)', () => {
  it('include an access token that lasts exactly 24 hours and names the player, project and environment', async () => {
    const { accessToken, playerId, refreshToken } = await logIn()
    for (const token of [accessToken, (await next(refreshToken)).accessToken]) {
      const { iat = 0, exp = 0, ...claims } = decodeJwt(token)
      expect(exp - iat).toBe(DAY)
      expect(Math.abs(Date.now() / 1000 - iat)).toBeLessThan(30)
      expect(claims).toEqual({
        iss: 'tierway',
        aud: 'tierway',
        sub: playerId,
        prj: game.projectId,
        env: game.environmentId,
        jti: expect.stringMatching(/^\S{20,}$/),
      })
      const [{ kid }] = (await game.request('GET', '/.well-known/jwks.json')).body.keys
      expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid })
      expect((await readPlayer(token)).body.playerId).toBe(playerId)
    }
  })

  it('include a refresh token that lasts exactly 7 days, as does each one that replaces it', async () => {
    const { refreshToken, playerId } = await logIn()
    expect(refreshToken).toMatch(TOKEN)
    const child = await next(refreshToken)
    expect(child.refreshToken).toMatch(TOKEN)
    const lifetimes = await query(
      `SELECT extract(epoch FROM expires_at - created_at)::float8 AS seconds,
         abs(extract(epoch FROM clock_timestamp() - created_at)) < 30 AS is_new
       FROM refresh_tokens WHERE player_id = $1`,
      [playerId],
    )
    expect(lifetimes).toEqual(times(2, () => ({ seconds: 604_800, is_new: true })))
  })

  it('are different for each login and refresh', async () => {
    const logins = await Promise.all(times(30, () => logIn('one of many')))
    const pairs: Pair[] = [...logins, ...(await Promise.all(logins.map(({ refreshToken }) => next(refreshToken))))]
    expect(new Set(pairs.map(({ refreshToken }) => refreshToken)).size).toBe(60)
    expect(new Set(pairs.map(({ accessToken }) => decodeJwt(accessToken).jti)).size).toBe(60)
  })

  it('are not stored in any table, in any encoding', async () => {
    const login = await logIn()
    const child = await next(login.refreshToken)
    // A repeated answer is computed again: from the stored row and from the token that only the client has.
    expect(await next(login.refreshToken)).toEqual(child)
    const grandchild = await next(child.refreshToken)
    await logOut(grandchild.refreshToken)
    const tables = await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
    expect(tables.length).toBeGreaterThan(15)
    const whole = tables.map(({ tablename }) => `SELECT t::text AS row FROM "${tablename}" t`)
    const rows = await query(whole.join(' UNION ALL '))
    const everything = rows.map(({ row }) => row).join('\n')
    expect(everything).toContain(login.playerId)
    for (const { refreshToken, accessToken } of [login, child, grandchild]) {
      const secret = refreshToken.slice('twrt_'.length)
      const bytes = Buffer.from(secret, 'base64url')
      for (const form of [
        secret,
        bytes.toString('hex'),
        bytes.toString('base64').replace(/=+$/, ''),
        Buffer.from(refreshToken).toString('hex'),
        Buffer.from(secret).toString('hex'),
        accessToken,
        accessToken.split('.')[2] ?? '',
      ])
        expect(everything).not.toContain(form)
    }
  })
})

describe('the claims that the webhook gives a login', () => {
  const CLAIMS = '{ "steam": 76561198000000001, "elo":1.0, "region":"eu-west", "sub":"x", "exp":0 }'
  /** The text of the claim `claims` in a token; undefined for none. */
  const claimsIn = (accessToken: string) =>
    members(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()).get('claims')
  const logInWith = (claims: string | null, subject = newSubject()) => logIn(subject, { claims })
  const stored = async (playerId: string) => (await rowsOf(playerId)).map(({ claims }) => claims)

  it('are in its access token as they were sent, and after each refresh, on every instance', async () => {
    const login = await logInWith(CLAIMS)
    expect(claimsIn(login.accessToken)).toBe(CLAIMS)
    expect((await readPlayer(login.accessToken)).body.playerId).toBe(login.playerId)
    let { refreshToken } = login
    for (const instance of [game, other, game]) {
      const pair = pairOf(await refreshAt(instance, refreshToken))
      expect(claimsIn(pair.accessToken)).toBe(CLAIMS)
      expect(pairOf(await refreshAt(instance, refreshToken))).toEqual(pair)
      refreshToken = pair.refreshToken
    }
    expect((await readPlayer((await next(refreshToken)).accessToken)).status).toBe(200)
  })

  it('are replaced by the next login, while an earlier login keeps its own', async () => {
    const subject = 'a player of two logins'
    const first = await logInWith('{"rank":"silver"}', subject)
    const second = await logInWith('{"rank":"gold"}', subject)
    const third = await logInWith(null, subject)
    expect([first, second, third].map(({ accessToken }) => claimsIn(accessToken))).toEqual([
      '{"rank":"silver"}',
      '{"rank":"gold"}',
      undefined,
    ])
    for (const [login, claims] of [
      [first, '{"rank":"silver"}'],
      [second, '{"rank":"gold"}'],
      [third, undefined],
    ] as const)
      expect(claimsIn((await next(login.refreshToken)).accessToken)).toBe(claims)
  })

  it('of the largest size fit into a token that the service accepts', async () => {
    const { accessToken, playerId } = await logInWith(`{"a":"${'x'.repeat(2_040)}"}`)
    expect((await readPlayer(accessToken)).body.playerId).toBe(playerId)
  })

  it('give no rights: the player of a token is that of its login', async () => {
    const { playerId } = await logIn()
    const login = await logInWith(`{"sub":"${playerId}","prj":"x","env":"x","jti":"x","exp":1}`)
    for (const _ of [1, 2]) expect((await readPlayer(login.accessToken)).body.playerId).toBe(login.playerId)
  })

  it('are ignored in the answer to a link', async () => {
    const login = await logInWith('{"rank":"gold"}')
    const answer = { subject: newSubject(), claims: { rank: 'admin' } }
    expect((await game.link(login.accessToken, { answer })).status).toBe(204)
    expect(claimsIn((await next(login.refreshToken)).accessToken)).toBe('{"rank":"gold"}')
  })

  it('are erased when the login ends: by a logout, and by deletePlayer', async () => {
    const [left, deleted] = [await logInWith('{"rank":"gold"}'), await logInWith('{"rank":"gold"}')]
    await next(deleted.refreshToken)
    expect([await stored(left.playerId), await stored(deleted.playerId)]).toEqual([
      ['{"rank":"gold"}'],
      ['{"rank":"gold"}', '{"rank":"gold"}'],
    ])
    expect((await logOut(left.refreshToken)).status).toBe(204)
    const document = `mutation { deletePlayer(input: { playerId: "${deleted.playerId}", reason: "x" }) { player { id } } }`
    expect((await game.graphql(game.platformKey, document)).errors).toBeUndefined()
    expect([await stored(left.playerId), await stored(deleted.playerId)]).toEqual([[null], [null, null]])
  })
})

describe('a refresh (contract 5: for one use)', () => {
  it('answers a new pair of the same player, and nothing else', async () => {
    const login = await logIn()
    const answer = await refresh(login.refreshToken)
    const pair = pairOf(answer)
    expect(answer.text).toBe(print({ accessToken: pair.accessToken, refreshToken: pair.refreshToken }))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(pair.refreshToken).not.toBe(login.refreshToken)
    expect(pair.accessToken).not.toBe(login.accessToken)
    expect(decodeJwt(pair.accessToken).sub).toBe(login.playerId)
    // A refresh ends no access token.
    for (const { accessToken } of [login, pair]) expect((await readPlayer(accessToken)).status).toBe(200)
  })

  it('can be repeated for thirty generations of one family', async () => {
    const login = await logIn()
    let token = login.refreshToken
    for (const _ of times(30, () => 0)) token = (await next(token)).refreshToken
    const rows = await rowsOf(login.playerId)
    expect(rows).toHaveLength(31)
    expect(new Set(rows.map(({ family_id }) => family_id)).size).toBe(1)
    expect(rows.filter(({ rotated_at }) => rotated_at === null)).toHaveLength(1)
    expect(rows.filter(({ revoked_at }) => revoked_at !== null)).toHaveLength(0)
  })

  it('creates no player, calls no webhook and writes no event', async () => {
    const { refreshToken } = await logIn()
    const counts = () =>
      query(
        `SELECT (SELECT count(*) FROM players) AS players, (SELECT count(*) FROM events) AS events,
           (SELECT count(*) FROM login_log) AS log`,
      )
    await settled(game.app.pool)
    const before = [await counts(), operator.hits.length]
    await next(refreshToken)
    expect([await counts(), operator.hits.length]).toEqual(before)
  })

  it.each([
    ['one service', () => [game, game]],
    ['two services on one database', () => [game, other]],
  ] as const)('answers fifty concurrent uses of one token with the same pair, on %s', async (_, instances) => {
    for (let round = 0; round < 2; ) {
      const { refreshToken, playerId } = await logIn()
      const began = performance.now()
      const answers = await Promise.all(
        times(50, (index) => refreshAt(instances()[(index + round) % 2] ?? game, refreshToken)),
      )
      // The promise is of ten seconds, which a busy machine may need for these calls.
      if (performance.now() - began > REPEATABLE_MS) continue
      round += 1
      expect(answers.map(({ status }) => status)).toEqual(times(50, () => 200))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      const rows = await rowsOf(playerId)
      expect(rows).toHaveLength(2)
      expect(rows.filter(({ rotated_at }) => rotated_at === null)).toHaveLength(1)
      await next(answers[0]?.body.refreshToken)
    }
  })

  it('answers a repeat within 10 s with the same pair, on any instance', async () => {
    const { refreshToken, playerId } = await logIn()
    const first = await refresh(refreshToken)
    for (const instance of [game, other, game, other]) {
      expect((await refreshAt(instance, refreshToken)).text).toBe(first.text)
    }
    const before = await rowsOf(playerId)
    // Later, but within the 10 s.
    await age(playerId, '5 seconds')
    const later = pairOf(await refresh(refreshToken))
    expect(later.refreshToken).toBe(first.body.refreshToken)
    expect(await rowsOf(playerId)).toHaveLength(before.length)
    await next(later.refreshToken)
  })

  it('succeeds on a retry when the answer to COMMIT is lost', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, shared)
    const { refreshToken, playerId } = await logIn()
    proxy.swallowCommits(1)
    expect(refusalOf(await refreshAt(instance, refreshToken))).toEqual(UNAVAILABLE)
    expect(proxy.swallowed).toBe(1)
    expect(await rowsOf(playerId)).toHaveLength(2)
    const pair = pairOf(await refreshAt(instance, refreshToken))
    expect(await rowsOf(playerId)).toHaveLength(2)
    await next(pair.refreshToken)
    await instance.stop()
    await proxy.close()
  })

  it('does not use up the token while Postgres is unreachable', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, shared)
    const { refreshToken, playerId } = await logIn()
    proxy.cut({ refuse: true })
    expect(refusalOf(await refreshAt(instance, refreshToken))).toEqual(UNAVAILABLE)
    proxy.restore()
    expect(await rowsOf(playerId)).toMatchObject([{ rotated_at: null, revoked_at: null }])
    pairOf(await refreshAt(instance, refreshToken))
    await instance.stop()
    await proxy.close()
  })
})

describe('the reuse of a refresh token (contract 5)', () => {
  it.each<[when: string, generations: number, reused: number, age: string]>([
    ['after 10 s', 4, 3, '11 seconds'],
    ['after 10 s, even when the child was never used', 1, 0, '11 seconds'],
    ['within the 10 s when the child has been used', 2, 0, '0 seconds'],
    ['within the 10 s when the token is several generations old', 5, 0, '0 seconds'],
  ])('ends every token of the family %s', async (_, generations, reused, used) => {
    const login = await logIn()
    const tokens = [login.refreshToken]
    for (const _generation of times(generations, Number)) tokens.push((await next(tokens.at(-1) ?? '')).refreshToken)
    if (used !== '0 seconds') await age(login.playerId, used)
    await expectEnded(tokens[reused] ?? '', ...tokens)
    for (const { revoked_at } of await rowsOf(login.playerId)) expect(revoked_at).not.toBeNull()
  })

  it('ends no other login of the player and no login of other players', async () => {
    const [one, two, stranger] = [await logIn('several'), await logIn('several'), await logIn()]
    expect(one.playerId).toBe(two.playerId)
    await next(one.refreshToken)
    await query(
      `UPDATE refresh_tokens SET rotated_at = clock_timestamp() - interval '1 day' WHERE rotated_at IS NOT NULL`,
    )
    await expectEnded(one.refreshToken)
    for (const { refreshToken } of [two, stranger, await logIn('several')]) await next(refreshToken)
  })

  it('ends the tokens of a thief, too, when the owner reuses the stolen token after 10 s, and the owner can log in again', async () => {
    const stolen = await logIn('victim')
    const thief = await next(stolen.refreshToken)
    const more = await next(thief.refreshToken)
    await age(stolen.playerId, '11 seconds')
    await expectEnded(stolen.refreshToken, thief.refreshToken, more.refreshToken)
    const again = await logIn('victim')
    expect(again.playerId).toBe(stolen.playerId)
    const pair = await next(again.refreshToken)
    for (const { accessToken } of [again, pair])
      expect((await readPlayer(accessToken)).body.playerId).toBe(stolen.playerId)
    await expectEnded(stolen.refreshToken, thief.refreshToken, more.refreshToken)
    await next(pair.refreshToken)
  })

  it('either repeats the pair or ends the family when it races a use of the child, in twelve rounds', async () => {
    const outcomes = new Set<number>()
    for (const round of times(12, (index) => index)) {
      const { refreshToken } = await logIn()
      const child = await next(refreshToken)
      const again = () => refreshAt(round % 2 === 0 ? game : other, refreshToken)
      const use = () => refreshAt(game, child.refreshToken)
      const calls = round % 4 < 2 ? [again(), use()] : [use(), again()]
      const [first, second] = await Promise.all(calls)
      const [repeated, used] = round % 4 < 2 ? [first, second] : [second, first]
      const grandchild = pairOf(used ?? expect.fail())
      outcomes.add(repeated?.status ?? 0)
      if (repeated?.status === 200) {
        expect(repeated.body.refreshToken).toBe(child.refreshToken)
        await next(grandchild.refreshToken)
      } else {
        expect(refusalOf(repeated ?? expect.fail())).toEqual(INVALID_TOKEN)
        await expectEnded(grandchild.refreshToken)
      }
    }
    for (const outcome of outcomes) expect([200, 401]).toContain(outcome)
  })

  it('ends every token of the family in fifty concurrent calls', async () => {
    const login = await logIn()
    const child = await next(login.refreshToken)
    await age(login.playerId, '11 seconds')
    const answers = await Promise.all(
      times(50, (index) =>
        refreshAt(index % 2 === 0 ? game : other, index < 25 ? login.refreshToken : child.refreshToken),
      ),
    )
    for (const answer of answers.slice(0, 25)) expect(refusalOf(answer)).toEqual(INVALID_TOKEN)
    const lucky = new Set(answers.slice(25).flatMap(({ status, body }) => (status === 200 ? [body.refreshToken] : [])))
    // A call before the first reuse may get a pair, which ends with the family.
    expect(lucky.size).toBeLessThanOrEqual(1)
    await expectEnded(login.refreshToken, child.refreshToken, ...lucky)
  })
})

describe('a refresh token (contract 5)', () => {
  it('is refused once it expires, and ends no other token then', async () => {
    const login = await logIn()
    await query(`UPDATE refresh_tokens SET expires_at = clock_timestamp() WHERE player_id = $1`, [login.playerId])
    await expectEnded(login.refreshToken, login.refreshToken)
    expect(await rowsOf(login.playerId)).toMatchObject([{ rotated_at: null }])
    // A token that was used just before it expired.
    const second = await logIn()
    const child = await next(second.refreshToken)
    await query(
      'UPDATE refresh_tokens SET expires_at = clock_timestamp() WHERE player_id = $1 AND rotated_at IS NOT NULL',
      [second.playerId],
    )
    await expectEnded(second.refreshToken)
    await next(child.refreshToken)
  })

  it('is accepted until it expires', async () => {
    const login = await logIn()
    await query(
      `UPDATE refresh_tokens SET expires_at = clock_timestamp() + interval '20 seconds' WHERE player_id = $1`,
      [login.playerId],
    )
    await next(login.refreshToken)
  })

  it('is refused with the SDK key of another environment or project, and stays valid', async () => {
    const { environments } = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    const foreign = await createSdkKey(game.app.pool, environments.get('production') ?? '')
    const login = await logIn()
    for (const sdkKey of [game.stagingSdkKey, foreign.key])
      expect(refusalOf(await refresh(login.refreshToken, sdkKey))).toEqual(INVALID_TOKEN)
    const child = await next(login.refreshToken)
    await next(child.refreshToken)
    for (const sdkKey of [game.stagingSdkKey, foreign.key])
      for (const { refreshToken } of [login, child])
        expect(refusalOf(await refresh(refreshToken, sdkKey))).toEqual(INVALID_TOKEN)
    expect((await rowsOf(login.playerId)).filter(({ revoked_at }) => revoked_at !== null)).toEqual([])
    const staging = await logIn('staging', { sdkKey: game.stagingSdkKey })
    expect(refusalOf(await refresh(staging.refreshToken))).toEqual(INVALID_TOKEN)
    pairOf(await refresh(staging.refreshToken, game.stagingSdkKey))
  })

  it.each([
    ['banned', [403, 'player banned', 'player_banned']],
    ['deleted', [403, 'player deleted', 'player_deleted']],
  ])('is refused with 403 while its player is %s, and is not used up (contract 7.1)', async (state, refusal) => {
    const login = await logIn()
    const { refreshToken, accessToken } = await next(login.refreshToken)
    const become = (status: string) => query('UPDATE players SET status = $1 WHERE id = $2', [status, login.playerId])
    await become(state)
    for (const instance of [game, other, game]) {
      expect(refusalOf(await refreshAt(instance, refreshToken))).toEqual(refusal)
      // A repeat of the used token is refused as well.
      expect(refusalOf(await refreshAt(instance, login.refreshToken))).toEqual(refusal)
    }
    expect(refusalOf(await readPlayer(accessToken))).toEqual(refusal)
    expect(await rowsOf(login.playerId)).toHaveLength(2)
    await become('active')
    await next(refreshToken)
  })

  it('is refused with 403, not 401, after deletePlayer ended its login (contract 7.1)', async () => {
    const login = await logIn()
    const child = await next(login.refreshToken)
    const mutation = 'mutation ($input: DeletePlayerInput!) { deletePlayer(input: $input) { player { status } } }'
    const input = { playerId: login.playerId, reason: 'asked for' }
    expect((await game.graphql(game.platformKey, mutation, { input })).errors).toBeUndefined()
    for (const { refreshToken } of [login, child])
      expect(refusalOf(await refresh(refreshToken))).toEqual([403, 'player deleted', 'player_deleted'])
  })

  it('is refused when it is altered or replaced by another key, an id or a stored hash', async () => {
    const login = await logIn()
    const secret = login.refreshToken.slice('twrt_'.length)
    const forged = [
      'x',
      'twrt_',
      secret,
      `twrt_${'A'.repeat(43)}`,
      login.refreshToken.slice(0, -1),
      `${login.refreshToken}A`,
      `${login.refreshToken}=`,
      `${login.refreshToken} `,
      ` ${login.refreshToken}`,
      login.refreshToken.toUpperCase(),
      `TWRT_${secret}`,
      `Bearer ${login.refreshToken}`,
      game.sdkKey,
      game.platformKey,
      login.playerId,
      "' OR 1=1 --",
      'null',
      'é'.repeat(40),
    ]
    for (const row of await rowsOf(login.playerId))
      forged.push(row.hash, `twrt_${row.hash}`, row.family_id, ...(row.child_nonce ? [`twrt_${row.child_nonce}`] : []))
    await expectEnded(...forged)
    await next(login.refreshToken)
  })

  it.each<[what: string, make: (login: Login) => string | Promise<string>]>([
    ['an access token', ({ accessToken }) => accessToken],
    ['8 KB', () => `twrt_${'A'.repeat(8192)}`],
    ['a megabyte', () => 'A'.repeat(1_000_000)],
    ['a forged token of alg none', ({ playerId }) => `${[{ alg: 'none' }, { sub: playerId }].map(encode).join('.')}.`],
  ])('is refused with 401 when it is %s', async (_, make) => {
    const login = await logIn()
    const token = await make(login)
    expect(refusalOf(await refresh(token))).toEqual(INVALID_TOKEN)
    // A logout treats it as a token that has already ended.
    expect((await logOut(token)).status).toBe(204)
    await next(login.refreshToken)
  })

  it.each<[what: string, body: string]>([
    ['missing', '{}'],
    ['null', '{"refreshToken":null}'],
    ['a number', '{"refreshToken":1}'],
    ['a list', '{"refreshToken":["twrt_"]}'],
    ['an empty string', '{"refreshToken":""}'],
    ['named in another case', '{"refreshtoken":"twrt_"}'],
  ])('is an invalid request when it is %s', async (_, body) => {
    const headers = { 'x-sdk-key': game.sdkKey }
    for (const path of [REFRESH, LOGOUT]) {
      const answer = await game.request('POST', path, { body, headers })
      expect(refusalOf(answer)).toEqual([400, 'invalid request', 'invalid_request'])
      expect(answer.body.details).toEqual([{ path: 'refreshToken', message: expect.any(String) }])
    }
  })

  it('needs a valid SDK key, which is checked first', async () => {
    const { refreshToken } = await logIn()
    const { id, key } = await createSdkKey(game.app.pool, game.environmentId)
    await query('UPDATE sdk_keys SET revoked_at = now() WHERE id = $1', [id])
    for (const sdkKey of [null, '', `twsdk_${'A'.repeat(43)}`, key, game.platformKey]) {
      for (const token of [refreshToken, 'x', undefined]) {
        expect(refusalOf(await refresh(token, sdkKey))).toEqual(INVALID_SDK_KEY)
        expect(refusalOf(await logOut(token, sdkKey))).toEqual(INVALID_SDK_KEY)
      }
    }
    await next(refreshToken)
  })
})

describe('a logout (contract 4.2: 204)', () => {
  it('ends every refresh token of the login', async () => {
    const login = await logIn()
    const child = await next(login.refreshToken)
    const answer = await logOut(child.refreshToken)
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([204, '', null])
    await expectEnded(child.refreshToken, login.refreshToken)
    for (const { revoked_at } of await rowsOf(login.playerId)) expect(revoked_at).not.toBeNull()
  })

  it('ends the login even when it gets an older token', async () => {
    const login = await logIn()
    const child = await next(login.refreshToken)
    const grandchild = await next(child.refreshToken)
    expect((await logOut(login.refreshToken)).status).toBe(204)
    await expectEnded(grandchild.refreshToken, child.refreshToken, login.refreshToken)
  })

  it('answers 204 for an ended, expired or unknown token', async () => {
    const [login, expired] = [await logIn(), await logIn()]
    await query('UPDATE refresh_tokens SET expires_at = clock_timestamp() WHERE player_id = $1', [expired.playerId])
    const tokens = [login.refreshToken, login.refreshToken, expired.refreshToken, `twrt_${'A'.repeat(43)}`, 'x', 'é']
    for (const token of tokens) expect((await logOut(token)).status).toBe(204)
  })

  it('keeps the time of the first logout when it is repeated', async () => {
    const login = await logIn()
    await logOut(login.refreshToken)
    const before = await rowsOf(login.playerId)
    await logOut(login.refreshToken)
    await expectEnded(login.refreshToken)
    expect(await rowsOf(login.playerId)).toEqual(before)
  })

  it('ends no other login of the player, and nothing with the SDK key of another environment', async () => {
    const [one, two] = [await logIn('two phones'), await logIn('two phones')]
    expect((await logOut(one.refreshToken, game.stagingSdkKey)).status).toBe(204)
    const child = await next(one.refreshToken)
    expect((await logOut(child.refreshToken)).status).toBe(204)
    await expectEnded(child.refreshToken)
    await next(two.refreshToken)
  })

  it('works for a banned player', async () => {
    const login = await logIn()
    await query(`UPDATE players SET status = 'banned' WHERE id = $1`, [login.playerId])
    expect((await logOut(login.refreshToken)).status).toBe(204)
    await query(`UPDATE players SET status = 'active' WHERE id = $1`, [login.playerId])
    await expectEnded(login.refreshToken)
  })

  it('leaves no token valid when it races refreshes, in ten rounds', async () => {
    for (const round of times(10, (index) => index)) {
      const { refreshToken } = await logIn()
      const [out, ...refreshed] = await Promise.all([
        logOut(refreshToken),
        ...times(6, (index) => refreshAt((index + round) % 2 === 0 ? game : other, refreshToken)),
      ])
      expect(out.status).toBe(204)
      const pairs = refreshed.flatMap((answer) => (answer.status === 200 ? [answer.body.refreshToken as string] : []))
      for (const answer of refreshed) if (answer.status !== 200) expect(refusalOf(answer)).toEqual(INVALID_TOKEN)
      await expectEnded(refreshToken, ...new Set(pairs))
    }
  })
})

describe('refresh and logout over REST, GraphQL and WebSocket (contract 15)', () => {
  const REFRESH_TOKENS = `mutation ($input: RefreshTokensInput!) {
    refreshTokens(input: $input) { accessToken refreshToken } }`
  const LOG_OUT = `mutation ($input: LogoutInput!) { logout(input: $input) { done } }`
  type Call = (refreshToken: string, sdkKey?: string | null) => Promise<Outcome>

  const overSocket = async (document: string, refreshToken: string, sdkKey: string | null) =>
    outcomeOfGraphql(await askSocket(game, sdkKey === null ? {} : { sdkKey }, document, { input: { refreshToken } }))

  const overGraphql = async (document: string, refreshToken: string, sdkKey: string | null) =>
    outcomeOfGraphql(
      await game.graphql(sdkKey === null ? {} : { 'x-sdk-key': sdkKey }, document, { input: { refreshToken } }),
    )

  const done = (answer: Answer): Outcome => (answer.status === 204 ? { ok: { done: true } } : outcomeOfRest(answer))

  interface Surface {
    readonly refresh: Call
    readonly logOut: Call
  }

  const surfaces: [name: string, surface: Surface][] = [
    [
      'REST',
      {
        refresh: async (token, sdkKey = game.sdkKey) => outcomeOfRest(await refresh(token, sdkKey)),
        logOut: async (token, sdkKey = game.sdkKey) => done(await logOut(token, sdkKey)),
      },
    ],
    [
      'GraphQL',
      {
        refresh: (token, sdkKey = game.sdkKey) => overGraphql(REFRESH_TOKENS, token, sdkKey),
        logOut: (token, sdkKey = game.sdkKey) => overGraphql(LOG_OUT, token, sdkKey),
      },
    ],
    [
      'a WebSocket',
      {
        refresh: (token, sdkKey = game.sdkKey) => overSocket(REFRESH_TOKENS, token, sdkKey),
        logOut: (token, sdkKey = game.sdkKey) => overSocket(LOG_OUT, token, sdkKey),
      },
    ],
  ]

  const refused = { code: 'INVALID_TOKEN', message: 'invalid token' }

  it.each(surfaces)('answer the same pair when a token is first used over %s', async (_, surface) => {
    const login = await logIn()
    const first = await surface.refresh(login.refreshToken)
    expect(first).toEqual({ ok: { accessToken: expect.any(String), refreshToken: expect.stringMatching(TOKEN) } })
    for (const [, another] of surfaces) expect(await another.refresh(login.refreshToken)).toEqual(first)
    const child = (first as { ok: Pair }).ok.refreshToken
    expect(await surface.refresh(child)).toMatchObject({ ok: {} })
    // Reuse ends the family on all of them.
    expect(await surface.refresh(login.refreshToken)).toEqual(refused)
    for (const [, another] of surfaces) expect(await another.refresh(child)).toEqual(refused)
  })

  it.each(surfaces)('end the login everywhere when the logout goes over %s', async (_, surface) => {
    const { refreshToken } = await logIn()
    for (const [, another] of [['', surface] as const, ...surfaces])
      expect(await another.logOut(refreshToken)).toEqual({ ok: { done: true } })
    for (const [, another] of surfaces) expect(await another.refresh(refreshToken)).toEqual(refused)
  })

  it('are refused with the same code and message', async () => {
    const [banned, deleted, good] = [await logIn(), await logIn(), await logIn()]
    await query(`UPDATE players SET status = 'banned' WHERE id = $1`, [banned.playerId])
    await query(`UPDATE players SET status = 'deleted' WHERE id = $1`, [deleted.playerId])
    const cases: [code: string, token: string, sdkKey?: string | null][] = [
      ['PLAYER_BANNED', banned.refreshToken],
      ['PLAYER_DELETED', deleted.refreshToken],
      ['INVALID_TOKEN', `twrt_${'A'.repeat(43)}`],
      ['INVALID_TOKEN', good.refreshToken, game.stagingSdkKey],
      ['INVALID_TOKEN', good.accessToken],
      ['INVALID_SDK_KEY', good.refreshToken, null],
      ['INVALID_REQUEST', ''],
    ]
    for (const [code, token, sdkKey] of cases) {
      const outcomes: Outcome[] = []
      for (const [, surface] of surfaces) outcomes.push(await surface.refresh(token, sdkKey))
      expect(outcomes[0]).toMatchObject({ code })
      expect(outcomes).toEqual(times(surfaces.length, () => outcomes[0]))
    }
    for (const [, surface] of surfaces)
      expect(await surface.logOut(good.refreshToken, null)).toEqual({
        code: 'INVALID_SDK_KEY',
        message: 'invalid sdk key',
      })
    await next(good.refreshToken)
  })
})
