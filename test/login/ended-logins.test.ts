import { once } from 'node:events'
import { connect } from 'node:net'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServerKey } from '../../src/callers/keys.ts'
import { BEGIN } from '../harness/begin.ts'
import { type Game, generateKeys, type Instance, type Keys, startGame, startInstance, times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { startProxy } from '../harness/proxy.ts'
import { execute, openPool } from '../harness/sql.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { type Mutation, newOperator, payload, type Operator as Support, support } from '../support/desk.ts'

// What ends with a login: its access tokens (contract 5) on every instance, also without Redis, and the feed that
// tells game servers of it, over real connections.

/** Two seconds are promised; the rest is for a busy machine. */
const WITHIN_MS = 3_000
const TOKENS_WITHIN_MS = 2_000
const PATH = '/server/v1/ended-logins'

let game: Game
let keys: Keys
let operator: Operator
let desk: Support
/** The game's key, and that of its other environment. */
let key: string
let stagingKey: string
/** A second instance on the same database. Only Postgres connects the two. */
let other: Instance

beforeAll(async () => {
  keys = await generateKeys()
  game = await startGame(keys)
  operator = await startOperator()
  desk = await newOperator(game.app.pool, game.projectId)
  for (const environment of ['production', 'staging'])
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } }, environment)
  key = (await createServerKey(game.app.pool, game.environmentId)).key
  stagingKey = (await createServerKey(game.app.pool, game.stagingId)).key
  other = await startInstance(game.databaseUrl, keys)
})
afterAll(async () => {
  await other?.stop()
  await operator?.close()
  await game?.stop()
})

interface Login {
  readonly loginId: string
  readonly playerId: string
  readonly accessToken: string
  readonly refreshToken: string
  readonly sdkKey: string
}

let players = 0

const newName = () => `player ${++players}`

async function logIn(sdkKey = game.sdkKey, player = newName()): Promise<Login> {
  const { body } = await game.login({ player }, { sdkKey })
  const { sub = '', jti = '' } = decodeJwt(body.accessToken)
  return { ...body, loginId: jti.split('.')[0] ?? '', playerId: sub, sdkKey }
}

const authorize = (
  path: 'refresh' | 'logout',
  { refreshToken, sdkKey = game.sdkKey }: Partial<Login> & Pick<Login, 'refreshToken'>,
) =>
  game.request('POST', `/sdk/v1/authorization/${path}`, {
    body: JSON.stringify({ refreshToken }),
    headers: { 'x-sdk-key': sdkKey },
  })
const logOut = (login: Login) => authorize('logout', login)

const act = async (mutation: Mutation, { playerId }: Login) =>
  payload(await support(game, desk.key, mutation, { playerId, reason: 'test' }))

const query = (text: string, values: unknown[] = []) => game.app.pool.query(text, values)

interface Message {
  readonly id?: string
  readonly event?: string
  readonly data?: string
}

/** A follower, which reads its stream as it comes. */
interface Feed {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly messages: readonly Message[]
  /** The logins that it was told, and the last status of players. */
  readonly logins: ReadonlySet<string>
  readonly statuses: ReadonlyMap<string, string>
  readonly lastId: string
  readonly hasEnded: boolean
  close(): void
}

interface Options {
  readonly baseUrl?: string
  readonly serverKey?: string
  readonly headers?: Record<string, string>
}

/** Opens a feed, and waits until it is up to date, or ends. */
async function follow({ baseUrl = game.baseUrl, serverKey = key, headers = {} }: Options = {}): Promise<Feed> {
  const abort = new AbortController()
  const response = await fetch(baseUrl + PATH, {
    headers: { authorization: `Bearer ${serverKey}`, ...headers },
    signal: abort.signal,
  })
  const messages: Message[] = []
  const logins = new Set<string>()
  const statuses = new Map<string, string>()
  let body = ''
  let lastId = ''
  let hasEnded = false

  function take(text: string): void {
    const message: Message = Object.fromEntries(text.split('\n').map((line) => line.split(/: ?(.*)/s, 2)))
    messages.push(message)
    lastId = message.id ?? lastId
    if (message.event !== 'ended') return
    const data = JSON.parse(message.data ?? '')
    for (const { loginId } of data.logins) logins.add(loginId)
    for (const { playerId, status } of data.players) statuses.set(playerId, status)
  }

  async function read(): Promise<void> {
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      body += chunk
      const texts = (rest + chunk).split('\n\n')
      rest = texts.pop() ?? ''
      texts.forEach(take)
    }
  }

  void read()
    .catch(() => undefined)
    .then(() => {
      hasEnded = true
    })
  const feed: Feed = {
    ...{ status: response.status, headers: response.headers, messages, logins, statuses },
    get body() {
      return body
    },
    get lastId() {
      return lastId
    },
    get hasEnded() {
      return hasEnded
    },
    close: () => abort.abort(),
  }
  await until('it is up to date', () => hasEnded || messages.some(({ event }) => event === 'current'))
  return feed
}

const since = (lastEventId: string): Options => ({ headers: { 'last-event-id': lastEventId } })

/** Ends logins of the other environment, in one transaction an hour ago. */
async function endMany(count: number): Promise<readonly string[]> {
  const pool = openPool(game.databaseUrl)
  const { rows } = await pool.query(
    `INSERT INTO ended_access (environment_id, player_id, family_id, ended_at)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), now() - interval '1 hour' FROM generate_series(1, $2)
     RETURNING family_id`,
    [game.stagingId, count],
  )
  await pool.end()
  return rows.map(({ family_id }) => family_id)
}

const tells = (feed: Feed, { loginId }: Login) => until('the login is told', () => feed.logins.has(loginId))

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
    body: JSON.stringify({ query: '{ me { id } }' }),
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
  expect(elapsed()).toBeLessThan(TOKENS_WITHIN_MS)
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

describe('the end of a login', () => {
  const ends: Readonly<Record<string, (login: Login) => Promise<unknown>>> = {
    'a logout': logOut,
    'the reuse of a refresh token': async (login) => {
      await authorize('refresh', login)
      await query(`UPDATE refresh_tokens SET rotated_at = rotated_at - interval '11 seconds' WHERE player_id = $1`, [
        login.playerId,
      ])
      expect((await authorize('refresh', login)).status).toBe(401)
    },
    endSessions: (login) => act('endSessions', login),
    'a deletion': (login) => act('deletePlayer', login),
    'an update in psql': ({ playerId }) =>
      query('UPDATE refresh_tokens SET revoked_at = now() WHERE player_id = $1', [playerId]),
  }

  it.each(Object.entries(ends))(
    'is told within two seconds of %s and ends its access tokens, on every instance (contract 5)',
    async (what, end) => {
      const feeds = [await follow(), await follow({ baseUrl: other.baseUrl })]
      const login = await logIn()
      const kept = await logIn()
      expect(await ask(login)).toEqual(times(4, () => GOOD))
      await end(login)
      const elapsed = startStopwatch()
      if (what !== 'a deletion') await expectEnd(login)
      for (const feed of feeds) await tells(feed, login)
      expect(elapsed()).toBeLessThan(WITHIN_MS)
      for (const feed of feeds) {
        expect(feed.logins.has(kept.loginId)).toBe(false)
        feed.close()
      }
      expect(await ask(kept)).toEqual(times(4, () => GOOD))
    },
  )
})

describe('the feed of ended logins', () => {
  it('tells within two seconds that a player is banned, active again and deleted', async () => {
    const feed = await follow({ baseUrl: other.baseUrl })
    const login = await logIn()
    for (const [mutation, status] of [
      ['banPlayer', 'banned'],
      ['unbanPlayer', 'active'],
      ['deletePlayer', 'deleted'],
    ] as const) {
      await act(mutation, login)
      const elapsed = startStopwatch()
      await until(`it is ${status}`, () => feed.statuses.get(login.playerId) === status)
      expect(elapsed()).toBeLessThan(WITHIN_MS)
    }
    feed.close()
  })

  it('begins with what ended before, and with the present status of players', async () => {
    const [login, lifted, banned] = [await logIn(), await logIn(), await logIn()]
    await logOut(login)
    await act('banPlayer', lifted)
    await act('unbanPlayer', lifted)
    await act('banPlayer', banned)
    const feed = await follow()
    expect(feed.logins.has(login.loginId)).toBe(true)
    expect([feed.statuses.get(lifted.playerId), feed.statuses.get(banned.playerId)]).toEqual(['active', 'banned'])
    feed.close()
  })

  it('tells each environment of its own logins and players only', async () => {
    const [production, staging] = [await logIn(), await logIn(game.stagingSdkKey)]
    const live = [await follow(), await follow({ serverKey: stagingKey })]
    for (const login of [staging, production]) {
      await logOut(login)
      await act('banPlayer', login)
    }
    const later = [await follow(), await follow({ serverKey: stagingKey })]
    for (const [ofProduction, ofStaging] of [live, later] as [Feed, Feed][]) {
      await tells(ofProduction, production)
      await tells(ofStaging, staging)
      for (const [feed, { loginId, playerId }] of [
        [ofProduction, staging],
        [ofStaging, production],
      ] as const) {
        await until('the next reads', () => feed.messages.filter(({ event }) => event === 'current').length > 1)
        expect([feed.logins.has(loginId), feed.statuses.has(playerId)]).toEqual([false, false])
        feed.close()
      }
    }
  })

  it('is a stream of server-sent events that says every few seconds that it is up to date', async () => {
    const feed = await follow()
    expect(feed.status).toBe(200)
    expect(Object.fromEntries(feed.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(feed.messages.find(({ event }) => event === 'current')).toEqual({
      ...{
        id: expect.stringMatching(/^\d+-\d+$/),
        event: 'current',
        data: `{"environmentId":"${game.environmentId}"}`,
      },
    })
    const heard = feed.messages.length
    await until('it is told twice', () => feed.messages.length >= heard + 2, { deadlineMs: 20_000 })
    const messages = feed.messages.map(({ id, event, data }) => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`)
    expect(feed.body).toBe(messages.join(''))
    feed.close()
  })

  it('tells of all that a transaction ended at once, however many', async () => {
    const feed = await follow({ serverKey: stagingKey })
    const ended = await endMany(25_000)
    await until('all are told', () => ended.every((id) => feed.logins.has(id)))
    feed.close()
  })
})

describe('a follower that returns with the id of its last event', () => {
  /** Logins that ended an hour ago, in the first 400 transactions. */
  const endedLongAgo = (count: number) =>
    query(
      `INSERT INTO ended_access (xid, environment_id, player_id, family_id, ended_at)
       SELECT n % 400, $1, gen_random_uuid(), gen_random_uuid(), now() - interval '1 hour' FROM generate_series(1, $2) n
       RETURNING family_id`,
      [game.environmentId, count],
    ).then(({ rows }) => rows.map(({ family_id }) => String(family_id)))

  it('is told what ended meanwhile, on another instance, too, and not all again', async () => {
    const old = await endedLongAgo(3_000)
    const feed = await follow()
    expect(old.filter((id) => !feed.logins.has(id))).toHaveLength(0)
    feed.close()
    const login = await logIn()
    await logOut(login)
    for (const { baseUrl } of [game, other]) {
      const again = await follow({ baseUrl, ...since(feed.lastId) })
      expect(again.logins.has(login.loginId)).toBe(true)
      expect(old.filter((id) => again.logins.has(id))).toHaveLength(0)
      again.close()
    }
  })

  it('goes on in the middle of what ended before', async () => {
    const old = await endedLongAgo(5_000)
    const feed = await follow()
    feed.close()
    const parts = feed.messages.filter(({ event }) => event === 'ended')
    expect(parts.length).toBeGreaterThan(2)
    for (const [at, { id = '' }] of parts.entries()) {
      const again = await follow(since(id))
      again.close()
      const known = parts.slice(0, at + 1).flatMap(({ data = '' }) => JSON.parse(data).logins)
      const told = new Set([...known.map(({ loginId }) => loginId), ...again.logins])
      expect(old.filter((one) => !told.has(one))).toHaveLength(0)
      if (at === 0) expect(again.logins.size).toBeLessThan(feed.logins.size)
    }
  })

  it('is told what a transaction ended that was open then', async () => {
    const pool = openPool(game.databaseUrl)
    const client = await pool.connect()
    const [loginId, later] = ['00000000-0000-4000-9000-000000000001', '00000000-0000-4000-9000-000000000002']
    const end = (on: { query: typeof client.query }, id: string) =>
      on.query(
        `INSERT INTO ended_access (environment_id, player_id, family_id, ended_at)
         VALUES ($1, gen_random_uuid(), $2, now() - interval '1 hour')`,
        [game.environmentId, id],
      )
    try {
      await client.query('BEGIN')
      await end(client, loginId)
      await end(pool as never, later)
      const feed = await follow()
      feed.close()
      expect([feed.logins.has(loginId), feed.logins.has(later)]).toEqual([false, true])
      await client.query('COMMIT')
      const again = await follow(since(feed.lastId))
      expect(again.logins.has(loginId)).toBe(true)
      again.close()
    } finally {
      client.release(true)
      await pool.end()
    }
  })

  it('is told what ended on a standby that lagged and took over, which gives ids of transactions again', async () => {
    const feed = await follow()
    feed.close()
    const id = '00000000-0000-4000-9000-000000000003'
    await query(
      `INSERT INTO ended_access (xid, environment_id, player_id, family_id) VALUES (3, $1, gen_random_uuid(), $2)`,
      [game.environmentId, id],
    )
    const again = await follow(since(feed.lastId))
    expect(again.logins.has(id)).toBe(true)
    again.close()
  })

  it.each(['', 'junk', '-1-1', '1e3-5', `${2n ** 59n}-4102444800000`, '9'.repeat(40), "1-1'; --", '1-99999999999999'])(
    'is told all of it for an id that is not one of this database: %s',
    async (id) => {
      const [old] = await endedLongAgo(1)
      const feed = await follow(since(id))
      expect([feed.status, id.startsWith('1-9') || feed.logins.has(old ?? '')]).toEqual([200, true])
      feed.close()
    },
  )

  it('misses nothing while logins end and connections break', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const behind = await startInstance(proxy.url, keys)
    const ended: string[] = []
    const told = new Set<string>()
    let lastId = ''
    try {
      for (const round of times(6, (n) => n)) {
        const feed = await follow({ baseUrl: round % 2 === 0 ? behind.baseUrl : other.baseUrl, ...since(lastId) })
        const logins = await Promise.all(times(5, () => logIn()))
        if (round % 4 === 0) proxy.cut({ refuse: true })
        await Promise.all(logins.map(logOut))
        ended.push(...logins.map(({ loginId }) => loginId))
        // Some connections break before all is told.
        if (round % 4 === 2) proxy.cut()
        else if (round % 4 === 0) proxy.restore()
        if (round % 3 === 0) await tells(feed, logins[0] as Login)
        feed.close()
        lastId = feed.lastId
        for (const id of feed.logins) told.add(id)
      }
      const feed = await follow(since(lastId))
      feed.close()
      for (const id of feed.logins) told.add(id)
      expect(ended.filter((id) => !told.has(id))).toEqual([])
    } finally {
      await behind.stop()
      await proxy.close()
    }
  })
})

describe('a follower', () => {
  it('is told nothing while its instance cannot read Postgres, and then what it missed', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const behind = await startInstance(proxy.url, keys)
    try {
      const feed = await follow({ baseUrl: behind.baseUrl })
      proxy.cut({ refuse: true })
      const login = await logIn()
      await logOut(login)
      const heard = feed.messages.length
      const reference = await follow()
      // Another instance says three times that it is up to date.
      await until('the others go on', () => reference.messages.filter(({ event }) => event === 'current').length > 3)
      reference.close()
      expect(feed.messages.length).toBe(heard)
      proxy.restore()
      await tells(feed, login)
      expect(feed.hasEnded).toBe(false)
      feed.close()
    } finally {
      await behind.stop()
      await proxy.close()
    }
  })

  it('is disconnected within two seconds when its key is revoked, and then refused; others go on', async () => {
    const { id, key: revoked } = await createServerKey(game.app.pool, game.environmentId)
    const feeds = [
      await follow({ serverKey: revoked }),
      await follow({ serverKey: revoked, baseUrl: other.baseUrl }),
      await follow(),
    ] as const
    await query('UPDATE server_keys SET revoked_at = now() WHERE id = $1', [id])
    const elapsed = startStopwatch()
    await until('both have ended', () => feeds[0].hasEnded && feeds[1].hasEnded)
    expect(elapsed()).toBeLessThan(WITHIN_MS)
    const refused = await follow({ serverKey: revoked })
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([401, 'invalid_token'])
    const login = await logIn()
    await logOut(login)
    await tells(feeds[2], login)
    feeds[2].close()
  })

  it('is refused when it is a page, also with a valid key', async () => {
    const refused = await follow({ headers: { origin: 'https://play.example.com' } })
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([403, 'forbidden'])
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('is refused when too many streams of its key are open, until one ends', async () => {
    const limited = await startInstance(game.databaseUrl, { ...keys, CONNECTION_LIMITS: 'caller_sockets=2' })
    const { baseUrl } = limited
    try {
      const [first] = [await follow({ baseUrl }), await follow({ baseUrl })]
      const refused = await follow({ baseUrl })
      expect([refused.status, JSON.parse(refused.body)]).toEqual([
        429,
        expect.objectContaining({
          code: 'subscription_limit_exceeded',
          details: [{ path: '', message: 'too many are open: WebSockets and event streams of a player or key' }],
        }),
      ])
      const staging = await follow({ baseUrl, serverKey: stagingKey })
      expect(staging.status).toBe(200)
      // A look at the head alone holds nothing.
      for (const _ of times(3, () => 0)) {
        const headers = { authorization: `Bearer ${stagingKey}` }
        await until('the head', async () => (await fetch(baseUrl + PATH, { method: 'HEAD', headers })).status === 200)
      }
      const gauge = async () =>
        await limited.app.metrics.registry.getSingleMetric('tierway_ended_login_followers')?.get()
      expect((await gauge())?.values).toMatchObject([{ value: 3 }])
      first.close()
      await until('it is counted off', async () => (await gauge())?.values[0]?.value === 2)
      await until('there is room', async () => {
        const next = await follow({ baseUrl })
        next.close()
        return next.status === 200
      })
    } finally {
      await limited.stop()
    }
  })

  it('reads the end of its stream when the service stops, and goes on with another instance', async () => {
    const stopping = await startInstance(game.databaseUrl, keys)
    const feed = await follow({ baseUrl: stopping.baseUrl })
    const elapsed = startStopwatch()
    await stopping.stop()
    expect(elapsed()).toBeLessThan(WITHIN_MS)
    await until('it has ended', () => feed.hasEnded)
    const login = await logIn()
    await logOut(login)
    const next = await follow({ baseUrl: other.baseUrl, ...since(feed.lastId) })
    expect(next.logins.has(login.loginId)).toBe(true)
    next.close()
  })
})

describe('a follower that reads nothing', { timeout: 120_000 }, () => {
  const MANY = 90_000

  /** Asks for the feed on a connection that reads no more after its first bytes. */
  async function ask({ baseUrl }: { readonly baseUrl: string }) {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname)
    let text = ''
    let isClosed = false
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.once('data', () => socket.pause())
    socket.on('error', () => undefined)
    socket.once('close', () => {
      isClosed = true
    })
    socket.write(`GET ${PATH} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${stagingKey}\r\n\r\n`)
    await once(socket, 'data')
    return { socket, text: () => text, isClosed: () => isClosed }
  }

  beforeAll(async () => {
    await endMany(MANY)
  })

  it('is disconnected after ten seconds, while others are told; it goes on from its last event', async () => {
    const elapsed = startStopwatch()
    const slow = await ask(other)
    const quick = await follow({ baseUrl: other.baseUrl, serverKey: stagingKey })
    expect(quick.logins.size).toBeGreaterThanOrEqual(MANY)
    const login = await logIn(game.stagingSdkKey)
    await logOut(login)
    await tells(quick, login)
    quick.close()
    await until('its connection ends', async () => {
      // Reads what has arrived, in order to see the end behind it.
      if (elapsed() > 15_000) slow.socket.resume()
      return slow.isClosed()
    })
    const ids = [...slow.text().matchAll(/^id: (\S+)$/gm)].map(([, id]) => id ?? '')
    const told = new Set([...slow.text().matchAll(/"loginId":"([^"]+)"/g)].map(([, id]) => id ?? ''))
    expect([ids.length > 0, told.size < MANY]).toEqual([true, true])
    const again = await follow({ baseUrl: other.baseUrl, serverKey: stagingKey, ...since(ids.at(-2) ?? '') })
    again.close()
    expect([...quick.logins].filter((id) => !told.has(id) && !again.logins.has(id))).toHaveLength(0)
  })

  it('delays the stop of the service by at most two seconds', async () => {
    const stopping = await startInstance(game.databaseUrl, keys)
    const slow = await ask(stopping)
    const elapsed = startStopwatch()
    await stopping.stop()
    expect(elapsed()).toBeLessThan(WITHIN_MS + 1_000)
    slow.socket.destroy()
  })
})

// Last: logins that ended in transactions with the ids of the first ones make followers read all anew.
describe('the access tokens of a login (contract 5)', () => {
  it('end together with those of its refreshes, and other logins of the player stay valid', async () => {
    const name = newName()
    const [login, kept] = [await logIn(game.sdkKey, name), await logIn(game.sdkKey, name)]
    const { body: refreshed } = await authorize('refresh', login)
    expect(await ask(refreshed)).toEqual(times(4, () => GOOD))
    await authorize('logout', refreshed)
    await expectEnd(login, refreshed)
    expect(await ask(kept)).toEqual(times(4, () => GOOD))
    // A login that begins afterwards is valid.
    expect(await ask(await logIn(game.sdkKey, name))).toEqual(times(4, () => GOOD))
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
