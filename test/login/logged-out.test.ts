import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BEGIN } from '../harness/begin.ts'
import { type Game, generateKeys, type Instance, type Keys, startGame, startInstance, times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { execute } from '../harness/sql.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { type Mutation, newOperator, payload, type Operator as Support, support } from '../support/desk.ts'

// Access tokens end with their login (decisions 11.4): on every instance, also without Redis.

const WITHIN_MS = 2_000
const ME = '{ me { id } }'

let game: Game
let keys: Keys
let operator: Operator
let desk: Support
/** A second instance on the same database. Only Postgres connects the two. */
let other: Instance

beforeAll(async () => {
  keys = await generateKeys()
  game = await startGame(keys)
  operator = await startOperator()
  desk = await newOperator(game.app.pool, game.projectId)
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  other = await startInstance(game.databaseUrl, keys)
})
afterAll(async () => {
  await other?.stop()
  await operator?.close()
  await game?.stop()
})

interface Login {
  readonly accessToken: string
  readonly refreshToken: string
  readonly playerId: string
}

let players = 0

const newName = () => `player ${++players}`

async function logIn(player = newName()): Promise<Login> {
  const { body } = await game.login({ player })
  return { ...body, playerId: decodeJwt(body.accessToken).sub }
}

const authorize = (path: 'refresh' | 'logout', { refreshToken }: Pick<Login, 'refreshToken'>) =>
  game.request('POST', `/sdk/v1/authorization/${path}`, {
    body: JSON.stringify({ refreshToken }),
    headers: { 'x-sdk-key': game.sdkKey },
  })

interface Told {
  readonly status: number
  readonly error: string | null
}

async function rest({ baseUrl }: { baseUrl: string }, { accessToken }: Pick<Login, 'accessToken'>): Promise<Told> {
  const headers = { authorization: `Bearer ${accessToken}` }
  const response = await fetch(`${baseUrl}/sdk/v1/player/get`, { method: 'POST', body: '{}', headers })
  const { error = null } = (await response.json()) as { error?: string }
  return { status: response.status, error }
}

async function graphql({ baseUrl }: { baseUrl: string }, { accessToken }: Pick<Login, 'accessToken'>): Promise<Told> {
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    body: JSON.stringify({ query: ME }),
    headers,
  })
  const { errors } = (await response.json()) as { errors?: { message: string }[] }
  return { status: response.status, error: errors?.[0]?.message ?? null }
}

const GOOD = { status: 200, error: null }
const REST_ENDED = { status: 401, error: 'invalid token' }

/** The answers to a token on both instances, over REST and GraphQL. */
const ask = (login: Pick<Login, 'accessToken'>): Promise<Told[]> =>
  Promise.all([game, other].flatMap((instance) => [rest(instance, login), graphql(instance, login)]))

/** Waits until both instances refuse the tokens over REST and GraphQL. */
async function expectEnd(...logins: readonly Pick<Login, 'accessToken'>[]): Promise<void> {
  const elapsed = startStopwatch()
  for (const login of logins)
    await until('it has ended', async () => (await ask(login)).every(({ error }) => error === 'invalid token'))
  expect(elapsed()).toBeLessThan(WITHIN_MS)
  for (const login of logins) {
    const [first, , second] = await ask(login)
    expect([first, second]).toEqual([REST_ENDED, REST_ENDED])
  }
}

/** Expects that an instance that starts now refuses an ended login from its first call on, and accepts a new one. */
async function expectKnownAtStart(login: Login): Promise<void> {
  const third = await startInstance(game.databaseUrl, keys)
  try {
    expect(await rest(third, login)).toEqual(REST_ENDED)
    expect(await rest(third, await logIn())).toEqual(GOOD)
  } finally {
    await third.stop()
  }
}

const act = async (mutation: Mutation, { playerId }: Login) =>
  payload(await support(game, desk.key, mutation, { playerId, reason: 'test' }))

const ends: Readonly<Record<string, (login: Login) => Promise<unknown>>> = {
  'a logout': (login) => authorize('logout', login),
  'the reuse of a refresh token': async (login) => {
    await authorize('refresh', login)
    await game.app.pool.query(
      `UPDATE refresh_tokens SET rotated_at = rotated_at - interval '11 seconds' WHERE player_id = $1`,
      [login.playerId],
    )
    expect((await authorize('refresh', login)).status).toBe(401)
  },
  endSessions: (login) => act('endSessions', login),
  'an update in psql': ({ playerId }) =>
    game.app.pool.query('UPDATE refresh_tokens SET revoked_at = now() WHERE player_id = $1', [playerId]),
}

describe('the access tokens of a login (decisions 11.4)', () => {
  it.each(Object.entries(ends))('end within two seconds of %s', async (_, end) => {
    const login = await logIn()
    expect(await ask(login)).toEqual(times(4, () => GOOD))
    await end(login)
    await expectEnd(login)
  })

  it('end together with those of its refreshes, and other logins of the player stay valid', async () => {
    const name = newName()
    const [login, kept] = [await logIn(name), await logIn(name)]
    const { body: refreshed } = await authorize('refresh', login)
    expect(await ask(refreshed)).toEqual(times(4, () => GOOD))
    await authorize('logout', refreshed)
    await expectEnd(login, refreshed)
    expect(await ask(kept)).toEqual(times(4, () => GOOD))
    // A login that begins afterwards is valid.
    expect(await ask(await logIn(name))).toEqual(times(4, () => GOOD))
  })

  it('are refused by an instance that starts after they ended', async () => {
    const login = await logIn()
    await authorize('logout', login)
    await expectKnownAtStart(login)
  })

  it('are refused by a new instance when 25,000 other logins have ended', async () => {
    const login = await logIn()
    await authorize('logout', login)
    const { environmentId } = game
    await execute(
      game.databaseUrl,
      `INSERT INTO ended_access (xid, environment_id, player_id, family_id)
       SELECT n % 7 + 1, $1, gen_random_uuid(), gen_random_uuid() FROM generate_series(1, 25000) n`,
      [environmentId],
    )
    await expectKnownAtStart(login)
  })

  it('end within two seconds of the commit when another login ended during the transaction', async () => {
    const login = await logIn()
    const client = await game.app.pool.connect()
    try {
      await client.query(BEGIN)
      await client.query('UPDATE refresh_tokens SET revoked_at = now() WHERE player_id = $1', [login.playerId])
      // Another login ends meanwhile, within two seconds.
      const quick = await logIn()
      await authorize('logout', quick)
      await expectEnd(quick)
      expect(await ask(login)).toEqual(times(4, () => GOOD))
      await client.query('COMMIT')
      await expectEnd(login)
    } finally {
      client.release()
    }
  })

  it('stay refused when sessions are ended during a ban that is lifted later', async () => {
    const login = await logIn()
    await act('banPlayer', login)
    expect(await rest(other, login)).toEqual({ status: 403, error: 'player banned' })
    await act('endSessions', login)
    await act('unbanPlayer', login)
    await expectEnd(login)
  })

  it('are answered with player deleted, not invalid token, after a deletion', async () => {
    const [login, later] = [await logIn(), await logIn()]
    await act('deletePlayer', login)
    await authorize('logout', later)
    await expectEnd(later)
    expect(await rest(game, login)).toEqual({ status: 403, error: 'player deleted' })
    expect(await rest(other, login)).toEqual({ status: 403, error: 'player deleted' })
  })
})
