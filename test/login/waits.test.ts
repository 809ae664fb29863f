import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { members, print } from '../../src/base/json.ts'
import { createSdkKey, createServerKey } from '../../src/callers/keys.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { approve, type Operator, type Respond, startOperator } from '../harness/operator.ts'
import { openPool } from '../harness/sql.ts'
import { askSocket, outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'
import { type LoggedIn, logIn, newOperator, payload, type Operator as Support, support } from '../support/desk.ts'

// Calls wait: for a webhook, a lock, a body. Their callers can lose their access meanwhile.

let game: Game
let operator: Operator
let desk: Support

beforeAll(async () => {
  game = await startGame()
  operator = await startOperator(obey)
  desk = await newOperator(game.app.pool, game.projectId)
  await game.publish('season', season())
  await setProvider({})
})
afterAll(async () => {
  await operator?.close()
  await game?.stop()
})

async function setProvider(changed: object): Promise<void> {
  const provider = { enabled: true, url: operator.url, secret: operator.secret, ...changed }
  expect((await game.setProviders({ default: provider })).status).toBe(200)
}

const query = async (sql: string, values: unknown[] = []) => (await game.app.pool.query(sql, values)).rows

/** Functions that run before the webhook answers, by the `gate` in customData. */
const gates = new Map<string, () => Promise<unknown>>()

/** The webhook approves `player`, with some data. */
const obey: Respond = async (hit, response) => {
  const asked = members(hit.customData)
  await gates.get(JSON.parse(asked.get('gate') ?? '""'))?.()
  await approve({ subject: JSON.parse(asked.get('player') ?? '""'), data: { written: true } })(hit, response)
}

let count = 0
const newSubject = () => `subject ${++count}`

/** customData that names a new subject and runs `act` before the webhook answers. */
function whose(act: () => Promise<unknown>): { subject: string; customData: { player: string; gate: string } } {
  const [subject, gate] = [newSubject(), randomUUID()]
  gates.set(gate, act)
  return { subject, customData: { player: subject, gate } }
}

const INVALID_TOKEN = { code: 'INVALID_TOKEN', message: 'invalid token' }
const INVALID_SDK_KEY = { code: 'INVALID_SDK_KEY', message: 'invalid sdk key' }
const DISABLED = { code: 'CUSTOM_AUTH_DISABLED', message: 'custom auth disabled' }

interface Caller {
  readonly player: LoggedIn
  readonly sdkKey: string
}

/** A new player, with an SDK key of its own. */
async function newCaller(): Promise<Caller> {
  const player = await logIn(game, newSubject())
  return { player, sdkKey: (await createSdkKey(game.app.pool, game.environmentId)).key }
}

const post = (path: string, body: object, headers: Record<string, string>) =>
  game.request('POST', `/sdk/v1/authorization/${path}`, { body: print(body as never), headers })

const revokeSdkKey = ({ sdkKey }: Caller) =>
  query('UPDATE sdk_keys SET revoked_at = now() WHERE hash = sha256($1::bytea)', [Buffer.from(sdkKey)])
const logOut = ({ player }: Caller) =>
  post('logout', { refreshToken: player.refreshToken }, { 'x-sdk-key': game.sdkKey })

const LINK_CUSTOM = 'mutation ($input: LinkCustomInput!) { linkCustom(input: $input) { identity { subject } } }'
const LOGIN_CUSTOM = 'mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken } }'

type Call = (caller: Caller, customData: object) => Promise<unknown>

const links: Readonly<Record<string, Call>> = {
  REST: async ({ player, sdkKey }, customData) =>
    outcomeOfRest(
      await post('custom/link', { customData }, { authorization: `Bearer ${player.token}`, 'x-sdk-key': sdkKey }),
    ),
  GraphQL: async ({ player, sdkKey }, customData) =>
    outcomeOfGraphql(
      await game.graphql({ authorization: `Bearer ${player.token}`, 'x-sdk-key': sdkKey }, LINK_CUSTOM, {
        input: { customData: print(customData as never) },
      }),
    ),
}

const logins: Readonly<Record<string, Call>> = {
  REST: async ({ sdkKey }, customData) => outcomeOfRest(await post('custom', { customData }, { 'x-sdk-key': sdkKey })),
  GraphQL: async ({ sdkKey }, customData) =>
    outcomeOfGraphql(
      await game.graphql({ 'x-sdk-key': sdkKey }, LOGIN_CUSTOM, { input: { customData: print(customData as never) } }),
    ),
}

const ends: Readonly<Record<string, readonly [end: (caller: Caller) => Promise<unknown>, refusal: object]>> = {
  'the SDK key is revoked': [revokeSdkKey, INVALID_SDK_KEY],
  'the provider is disabled': [() => setProvider({ enabled: false }), DISABLED],
  'the provider is removed': [() => game.setProviders({}), DISABLED],
}
const endsOfLogins: typeof ends = {
  'the player logs out': [logOut, INVALID_TOKEN],
  'support ends its sessions': [
    async ({ player: { playerId } }) =>
      payload(await support(game, desk.key, 'endSessions', { playerId, reason: 'test' })),
    INVALID_TOKEN,
  ],
}

async function writtenOf({ playerId }: LoggedIn, subject: string): Promise<unknown> {
  const bound = await query('SELECT FROM identities WHERE subject = $1', [subject])
  const stored = await query('SELECT FROM player_storage WHERE player_id = $1', [playerId])
  return { bound: bound.length, stored: stored.length }
}

const outcomeLogged = async (subject: string) =>
  (await query('SELECT outcome FROM login_log WHERE subject = $1', [subject])).map(({ outcome }) => outcome)

const rows = <T extends object>(table: Readonly<Record<string, T>>, calls: Readonly<Record<string, Call>>) =>
  Object.entries(table).flatMap(([what, end]) =>
    Object.entries(calls).map(([surface, call]) => [surface, what, end, call] as const),
  )

describe('a link', () => {
  it.each(rows({ ...ends, ...endsOfLogins }, links))(
    'over %s binds nothing and writes no data when %s while its webhook works',
    async (_surface, _what, [end, refusal], link) => {
      const caller = await newCaller()
      await query('DELETE FROM player_storage WHERE player_id = $1', [caller.player.playerId])
      const { subject, customData } = whose(() => end(caller))
      try {
        expect(await link(caller, customData)).toMatchObject(refusal)
        expect(await writtenOf(caller.player, subject)).toEqual({ bound: 0, stored: 0 })
        expect(await outcomeLogged(subject)).toEqual([(refusal as { code: string }).code.toLowerCase()])
      } finally {
        await setProvider({})
      }
    },
  )

  it('over a WebSocket binds nothing when the player logs out while its webhook works', async () => {
    const caller = await newCaller()
    const { subject, customData } = whose(() => logOut(caller))
    const credentials = { authorization: `Bearer ${caller.player.token}`, sdkKey: caller.sdkKey }
    const answer = await askSocket(game, credentials, LINK_CUSTOM, { input: { customData: print(customData) } }).then(
      (value) => outcomeOfGraphql(value),
      ({ code }) => code,
    )
    // The refusal, or the close of the socket, whichever is first.
    if (answer !== 4403) expect(answer).toMatchObject(INVALID_TOKEN)
    await until('it is logged', async () => (await outcomeLogged(subject)).length > 0)
    expect(await outcomeLogged(subject)).toEqual(['invalid_token'])
    expect(await writtenOf(caller.player, subject)).toMatchObject({ bound: 0 })
  })
})

describe('a login', () => {
  it.each(rows(ends, logins))(
    'over %s creates no player when %s while its webhook works',
    async (_surface, _what, [end, refusal], login) => {
      const caller = await newCaller()
      const { subject, customData } = whose(() => end(caller))
      try {
        expect(await login(caller, customData)).toMatchObject(refusal)
        expect(await query('SELECT FROM identities WHERE subject = $1', [subject])).toEqual([])
        expect(await outcomeLogged(subject)).toEqual([(refusal as { code: string }).code.toLowerCase()])
      } finally {
        await setProvider({})
      }
    },
  )
})

/** Locks a player, begins calls that wait for it, acts, and lets them go on. */
async function whileLocked<T>({ playerId }: LoggedIn, calls: () => Promise<T>, act: () => Promise<unknown>) {
  // The service's own sessions must not be idle in a transaction for long.
  const pool = openPool(game.databaseUrl)
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT FROM player_versions WHERE player_id = $1 FOR UPDATE', [playerId])
    const answers = calls()
    await until('a call waits for the player', async () => {
      const waiting = await query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await act()
    await client.query('COMMIT')
    return await answers
  } finally {
    client.release(true)
    await pool.end()
  }
}

const revokeServerKey = (id: string) => query('UPDATE server_keys SET revoked_at = now() WHERE id = $1', [id])

/** Changes by a game server, by their paths. */
const serverCalls: Readonly<Record<string, (playerId: string) => object>> = {
  'battlepass/xp': (playerId) => ({
    grants: [{ player: { playerId }, scenarioId: 'season', nodeId: 'pass', amount: 5, source: 'match' }],
    idempotencyKey: 'late',
  }),
  'wallet/grant': (playerId) => ({
    player: { playerId },
    currency: 'gold',
    amount: 5,
    allowNew: true,
    idempotencyKey: 'late',
  }),
  'wallet/spend': (playerId) => ({ player: { playerId }, currency: 'gold', amount: 5, idempotencyKey: 'late' }),
  'scenarios/cross': (playerId) => ({
    player: { playerId },
    ...{ scenarioId: 'season', nodeId: 'pass', handle: 'onWin', idempotencyKey: 'late' },
  }),
}

describe('a call that waits for a lock', () => {
  it('exchanges no refresh token when its SDK key is revoked meanwhile', async () => {
    const caller = await newCaller()
    const { refreshToken } = caller.player
    const exchange = () => post('refresh', { refreshToken }, { 'x-sdk-key': caller.sdkKey })
    const answer = await whileLocked(caller.player, exchange, () => revokeSdkKey(caller))
    expect(outcomeOfRest(answer)).toMatchObject(INVALID_SDK_KEY)
    // The token is not used up.
    expect((await post('refresh', { refreshToken }, { 'x-sdk-key': game.sdkKey })).status).toBe(200)
  })

  it('writes nothing when the login of its player ended meanwhile', async () => {
    const { player } = await newCaller()
    const set = () => player.post('/sdk/v1/storage/set', { values: { late: 1 } })
    const answer = await whileLocked(player, set, async () => {
      await query('UPDATE refresh_tokens SET revoked_at = now() WHERE player_id = $1', [player.playerId])
      await until('other calls are refused', async () => (await player.post('/sdk/v1/player/get', {})).status === 401)
    })
    // On a slow machine, the call's time is up before the end of the login is known.
    expect(['INVALID_TOKEN', 'UNAVAILABLE']).toContain((outcomeOfRest(answer) as { code: string }).code)
    expect(await query(`SELECT FROM player_storage WHERE player_id = $1 AND key = 'late'`, [player.playerId])).toEqual(
      [],
    )
  })

  it.each(Object.keys(serverCalls))(
    'of a game server to %s changes nothing when its key is revoked meanwhile',
    async (path) => {
      const { player } = await newCaller()
      const { id, key } = await createServerKey(game.app.pool, game.environmentId)
      const body = print(serverCalls[path]?.(player.playerId) as never)
      const headers = { authorization: `Bearer ${key}` }
      const call = () => game.request('POST', `/server/v1/${path}`, { body, headers })
      const state = () =>
        Promise.all(
          ['runs', 'xp_ledger', 'wallet_ledger', 'idempotency_keys'].map((table) =>
            query(`SELECT * FROM ${table} WHERE player_id = $1`, [player.playerId]),
          ),
        )
      const before = await state()
      expect(outcomeOfRest(await whileLocked(player, call, () => revokeServerKey(id)))).toMatchObject(INVALID_TOKEN)
      expect(await state()).toEqual(before)
    },
  )

  it.each(['platform key', 'operator token'] as const)(
    'changes nothing when the %s of its operator has ended meanwhile',
    async (kind) => {
      const { player } = await newCaller()
      const { key, caller } = await newOperator(game.app.pool, game.projectId)
      const { token } = await game.app.tokens.issueOperatorToken({ ...caller, actor: 'ann', seconds: 3_600 })
      const { playerId } = player
      const ban = () => support(game, kind === 'platform key' ? key : token, 'banPlayer', { playerId, reason: 'test' })
      const outcome = await whileLocked(player, ban, () =>
        query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [caller.keyId]),
      )
      expect(outcome).toMatchObject(INVALID_TOKEN)
      expect(await query('SELECT status FROM players WHERE id = $1', [playerId])).toEqual([{ status: 'active' }])
    },
  )
})

describe('a call whose body arrives slowly', () => {
  /** Sends the head and a part of the body, acts, and sends the rest. */
  async function slowly(
    { method, path, token, body }: { method: string; path: string; token: string; body: string },
    act: () => Promise<unknown>,
  ): Promise<number> {
    const headers = { authorization: `Bearer ${token}`, 'content-length': Buffer.byteLength(body) }
    const call = request(game.baseUrl + path, { method, headers, agent: false })
    call.write(body.slice(0, 1))
    const [socket] = await once(call, 'socket')
    await once(socket, 'connect')
    // Later calls are answered, so the head has been read.
    for (const _ of times(5, () => 0)) await game.graphql(game.platformKey, '{ project { id } }')
    await act()
    call.end(body.slice(1))
    const [response] = await once(call, 'response')
    response.resume()
    return response.statusCode
  }

  it('is refused when the player logs out before its end', async () => {
    const caller = await newCaller()
    const { token } = caller.player
    const call = { method: 'POST', path: '/sdk/v1/player/get', token, body: '{}' }
    const status = await slowly(call, async () => {
      await logOut(caller)
      await until('it has ended', async () => (await caller.player.post('/sdk/v1/player/get', {})).status === 401)
    })
    expect(status).toBe(401)
  })

  it.each(['players/find', 'players/progress', 'wallet/grant'])(
    'is refused when the server key is revoked before its end: %s',
    async (path) => {
      const { player } = await newCaller()
      const { id, key } = await createServerKey(game.app.pool, game.environmentId)
      const { playerId } = player
      const [identity] = await query('SELECT provider, subject FROM identities WHERE player_id = $1', [playerId])
      const bodies: Readonly<Record<string, object | undefined>> = {
        'players/find': identity,
        'players/progress': { players: [{ playerId }], scenarioId: 'season', nodeId: 'pass' },
        'wallet/grant': serverCalls['wallet/grant']?.(playerId),
      }
      const call = { method: 'POST', path: `/server/v1/${path}`, token: key, body: print(bodies[path] as never) }
      expect(await slowly(call, async () => undefined)).toBe(200)
      expect(await slowly(call, () => revokeServerKey(id))).toBe(401)
    },
  )

  it('gets no stored answer when the server key is revoked before its end', async () => {
    const { player } = await newCaller()
    const { id, key } = await createServerKey(game.app.pool, game.environmentId)
    const body = print(serverCalls['wallet/grant']?.(player.playerId) as never)
    const call = { method: 'POST', path: '/server/v1/wallet/grant', token: key, body }
    expect(await slowly(call, async () => undefined)).toBe(200)
    expect(await slowly(call, async () => undefined)).toBe(200)
    expect(await slowly(call, () => revokeServerKey(id))).toBe(401)
    expect(await query('SELECT FROM wallet_ledger WHERE player_id = $1', [player.playerId])).toHaveLength(1)
  })

  it('is refused when the platform key is revoked before its end', async () => {
    const { key, caller } = await newOperator(game.app.pool, game.projectId, 'admin')
    const path = `/platform/v1/projects/${game.projectId}/auth-providers`
    const body = print({
      environment: 'staging',
      authProviders: { custom: { late: { enabled: true, url: operator.url, secret: 's' } } },
    })
    const status = await slowly({ method: 'PUT', path, token: key, body }, () =>
      query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [caller.keyId]),
    )
    expect(status).toBe(401)
    expect(await query(`SELECT FROM auth_providers WHERE name = 'late'`)).toEqual([])
  })
})

describe('a dry run of a login', () => {
  it('shows nothing of the answer when the key is revoked while the webhook works', async () => {
    const { key, caller } = await newOperator(game.app.pool, game.projectId, 'admin')
    const { customData } = whose(() =>
      query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [caller.keyId]),
    )
    const document = 'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { subject } }'
    const input = { environment: 'production', customData: print(customData) }
    expect(outcomeOfGraphql(await game.graphql(key, document, { input }))).toMatchObject(INVALID_TOKEN)
  })
})

describe('a platform key', () => {
  it('can revoke itself, and its next call is refused', async () => {
    const { key, caller } = await newOperator(game.app.pool, game.projectId, 'admin')
    const document = `mutation ($input: RevokePlatformKeyInput!) {
      revokePlatformKey(input: $input) { auditEntry { action } } }`
    const revoke = () => game.graphql(key, document, { input: { id: caller.keyId, reason: 'test' } })
    expect((await revoke()).data.revokePlatformKey.auditEntry).toBeDefined()
    expect(outcomeOfGraphql(await revoke())).toMatchObject(INVALID_TOKEN)
  })
})
