import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deletePlanned } from '../../src/accounts/login/delete-own-player.ts'
import { createAccessWatch } from '../../src/callers/access-watch.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { createTokenVerifier } from '../../src/sdk/server.ts'
import { type Game, generateKeys, type Instance, startGame, startInstance, times } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { until } from '../harness/until.ts'
import { auditRows, type Input, type LoggedIn, logIn, newOperator, type Operator, obey } from './desk.ts'

// Bans with an end, a kind and a public reason, of one player and of a list.

let game: Game
let webhook: Webhook
let operator: Operator
/** Another instance, which remembers the player from before. */
let other: Instance

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  webhook = await startOperator(obey)
  operator = await newOperator(game.app.pool, game.projectId)
  await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
  other = await startInstance(game.databaseUrl, keys)
})
afterAll(async () => {
  await other?.stop()
  await webhook?.close()
  await game?.stop()
})

const HOUR_MS = 3_600_000
const later = (ms = HOUR_MS) => new Date(Date.now() + ms).toISOString()
const newPlayer = () => logIn(game, randomUUID())

const call = async (mutation: string, input: Input, selection: string) =>
  game.graphql(
    operator.key,
    `mutation ($input: ${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input!) { ${mutation}(input: $input) { ${selection} } }`,
    { input: { reason: 'test', ...input } },
  )

const PLAYER = 'player { status ban { kind until publicReason } }'

async function ban({ playerId }: LoggedIn, input: Input = {}) {
  const { data, errors } = await call('banPlayer', { playerId, ...input }, `error ${PLAYER}`)
  expect(errors).toBeUndefined()
  return data.banPlayer
}

const lift = ({ playerId }: LoggedIn) => call('unbanPlayer', { playerId }, `error ${PLAYER}`)

/** The end of a ban passes, without waiting for it. */
const letEnd = ({ playerId }: LoggedIn) =>
  game.app.pool.query(`UPDATE players SET ban_until = now() - interval '1 second' WHERE id = $1`, [playerId])

/** The player's calls, each with its answer. */
const CALLS = {
  'a call': ({ post }: LoggedIn) => post('/sdk/v1/storage/list', {}),
  'a call that reads': ({ post }: LoggedIn) => post('/sdk/v1/player/get', {}),
  'a call of the account': ({ post }: LoggedIn) => post('/sdk/v1/identities/list', {}),
  'a call on another instance': async ({ token }: LoggedIn) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${other.baseUrl}/sdk/v1/storage/list`, { method: 'POST', body: '{}', headers })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  },
  'a refresh': ({ refreshToken }: LoggedIn) =>
    game.request('POST', '/sdk/v1/authorization/refresh', {
      body: JSON.stringify({ refreshToken }),
      headers: { 'x-sdk-key': game.sdkKey },
    }),
  'a login': ({ subject }: LoggedIn) => game.login({ player: subject }),
  'a link': ({ subject, token }: LoggedIn) => game.link(token, { player: `second of ${subject}` }),
  'an unlink': ({ subject, post }: LoggedIn) =>
    post('/sdk/v1/identities/unlink', { provider: 'custom', subject: `second of ${subject}` }),
  // Last, since it ends the sessions.
  'its own deletion': ({ post }: LoggedIn) => post('/sdk/v1/player/delete', {}),
}
type Call = keyof typeof CALLS
const ALL = Object.keys(CALLS) as Call[]
const LOGINS: readonly Call[] = ['a refresh', 'a login', 'a link', 'an unlink', 'its own deletion']

describe.each([
  { kind: 'EVERYTHING', refused: ALL },
  { kind: 'LOGIN', refused: LOGINS },
])('a ban of $kind', ({ kind, refused }) => {
  it.each(ALL)('%s is refused, or not, with the kind, the end and the reason (contract 7.1)', async (name) => {
    const player = await newPlayer()
    const end = later()
    // Both instances remember the player from before.
    await CALLS['a call'](player)
    await CALLS['a call on another instance'](player)
    await ban(player, { kind, until: end, publicReason: 'Cheating in ranked matches' })
    const { status, body } = await CALLS[name](player)
    const details = { ban: { kind: kind.toLowerCase(), until: end, reason: 'Cheating in ranked matches' } }
    if (refused.includes(name))
      expect([status, body]).toMatchObject([403, { error: 'player banned', code: 'player_banned', details }])
    else expect(status).toBeLessThan(300)
  })

  it('ends by time: from then on nothing is refused, and the player is listed as active', async () => {
    const player = await newPlayer()
    await ban(player, { kind, until: later() })
    await letEnd(player)
    for (const name of ALL) expect((await CALLS[name](player)).status, name).toBeLessThan(300)
    const { data } = await game.graphql(operator.key, `{ player(id: "${player.playerId}") { status ban { kind } } }`)
    expect(data.player).toEqual({ status: 'ACTIVE', ban: null })
    expect(await listed(player, 'BANNED')).toBe(false)
    expect(await listed(player, 'ACTIVE')).toBe(true)
  })

  it('is lifted, and then nothing is refused', async () => {
    const player = await newPlayer()
    await ban(player, { kind, until: later(), publicReason: 'x' })
    expect(await listed(player, 'BANNED')).toBe(true)
    expect((await lift(player)).data.unbanPlayer).toEqual({ error: null, player: { status: 'ACTIVE', ban: null } })
    for (const name of ALL) expect((await CALLS[name](player)).status, name).toBeLessThan(300)
  })
})

it('a ban says that a deletion is planned, which waits until the ban has ended and frees the identity only then', async () => {
  const player = await newPlayer()
  const { pool, service } = game.app
  await CALLS['its own deletion'](player)
  const [planned] = (
    await pool.query('SELECT delete_at FROM planned_deletions WHERE player_id = $1', [player.playerId])
  ).rows
  const deleteAt = planned.delete_at.toISOString()
  const selection = 'player { deleteAt } auditEntry { after }'
  const { data } = await call('banPlayer', { playerId: player.playerId, kind: 'LOGIN', until: later() }, selection)
  expect(data.banPlayer).toMatchObject({ player: { deleteAt }, auditEntry: { after: { status: 'banned', deleteAt } } })

  await pool.query('UPDATE planned_deletions SET delete_at = now() WHERE player_id = $1', [player.playerId])
  const deleteDue = () => deletePlanned(pool, service.run, new AbortController().signal)
  expect(await deleteDue()).toBe(0)
  expect((await CALLS['a login'](player)).status).toBe(403)
  await letEnd(player)
  await game.setAccountPolicy({ identitiesAtDeletion: 'FREE' })
  expect(await deleteDue()).toBe(1)
  await game.setAccountPolicy({})
  expect((await logIn(game, player.subject)).playerId).not.toBe(player.playerId)
})

async function listed({ playerId }: LoggedIn, status: string): Promise<boolean> {
  const { data } = await game.graphql(
    operator.key,
    `{ players(environment: "production", filter: { status: ${status} }, first: 100) { totalCount nodes { playerId } } }`,
  )
  const { totalCount, nodes } = data.players
  expect(totalCount).toBe(nodes.length)
  return nodes.some((node: { playerId: string }) => node.playerId === playerId)
}

it('a ban without an end, a kind and a reason answers as it always did', async () => {
  const player = await newPlayer()
  expect((await ban(player)).player).toEqual({
    status: 'BANNED',
    ban: { kind: 'EVERYTHING', until: null, publicReason: null },
  })
  const { status, body } = await CALLS['a login'](player)
  expect([status, Object.keys(body).sort()]).toEqual([403, ['code', 'error', 'requestId']])
})

it('a ban ends by the clock, without any call of an operator', async () => {
  const player = await newPlayer()
  await ban(player, { until: later(2_000) })
  expect((await CALLS['a call'](player)).status).toBe(403)
  await until('the ban ends', async () => (await CALLS['a call'](player)).status === 200)
})

it('another ban replaces the one that the player has, and the audit log has both', async () => {
  const player = await newPlayer()
  const end = later()
  await ban(player, { publicReason: 'first' })
  expect((await ban(player, { kind: 'LOGIN', until: end })).player.ban).toEqual({
    ...{ kind: 'LOGIN', until: end, publicReason: null },
  })
  expect((await CALLS['a call'](player)).status).toBe(200)
  await ban(player)
  expect((await CALLS['a call'](player)).status).toBe(403)
  expect((await auditRows(game.app.pool, game.projectId, player.playerId)).map((row) => row.after)).toEqual([
    { status: 'banned', publicReason: 'first' },
    { status: 'banned', kind: 'login', until: end },
    { status: 'banned' },
  ])
})

it('a deletion ends a ban', async () => {
  const player = await newPlayer()
  await ban(player, { until: later(), publicReason: 'x' })
  const { data } = await call('deletePlayer', { playerId: player.playerId }, PLAYER)
  expect(data.deletePlayer.player).toEqual({ status: 'DELETED', ban: null })
})

it('a game server refuses the tokens of a banned player until the end of the ban, and those of other kinds not at all', async () => {
  const [plain, short, logins] = [await newPlayer(), await newPlayer(), await newPlayer()]
  const verifier = createTokenVerifier({ url: game.baseUrl, environmentId: game.environmentId })
  const ending = new AbortController()
  const { key } = await createServerKey(game.app.pool, game.environmentId)
  await ban(plain)
  await ban(short, { until: later(4_000) })
  await ban(logins, { kind: 'LOGIN' })
  await verifier.follow({ key, signal: ending.signal })
  const verdict = ({ token }: LoggedIn) =>
    verifier.verify(token).then(
      () => 'ok',
      ({ code }) => code,
    )
  expect([await verdict(plain), await verdict(short), await verdict(logins)]).toEqual([
    ...['player_banned', 'player_banned', 'ok'],
  ])
  await until('the ban ends', async () => (await verdict(short)) === 'ok')
  // Another kind, and another end, are told as they change.
  await ban(plain, { kind: 'LOGIN' })
  await until('its tokens are good again', async () => (await verdict(plain)) === 'ok')
  await ban(short)
  await until('its tokens are refused', async () => (await verdict(short)) === 'player_banned')
  await ban(short, { until: later(3_000) })
  await until('they are good again', async () => (await verdict(short)) === 'ok')
  ending.abort()
})

describe('a ban of a list of players', () => {
  const banList = async (mutation: string, playerIds: readonly string[], input: Input = {}) =>
    call(mutation, { playerIds, ...input }, 'results { playerId error auditEntry { id reason } }')

  it('has a result for each, in order, with an entry of the audit log each', async () => {
    const players = await Promise.all(times(3, newPlayer))
    const [one, two, deleted] = players as [LoggedIn, LoggedIn, LoggedIn]
    await call('deletePlayer', { playerId: deleted.playerId }, PLAYER)
    const unknown = randomUUID()
    const ids = [one.playerId, unknown, deleted.playerId, two.playerId.toUpperCase(), one.playerId]
    const end = later()
    const { data } = await banList('banPlayers', ids, { until: end, publicReason: 'bots' })
    const { results } = data.banPlayers
    expect(results.map(({ playerId, error }: Input) => [playerId, error])).toEqual([
      [one.playerId, null],
      [unknown, 'PLAYER_NOT_FOUND'],
      [deleted.playerId, 'PLAYER_DELETED'],
      [two.playerId.toUpperCase(), null],
      [one.playerId, null],
    ])
    expect(results[4].auditEntry).toEqual({ ...results[0].auditEntry, reason: 'test' })
    expect([results[1].auditEntry, results[2].auditEntry]).toEqual([null, null])
    for (const player of [one, two]) {
      expect((await CALLS['a call'](player)).body.details.ban).toEqual({
        ...{ kind: 'everything', until: end, reason: 'bots' },
      })
      expect(await auditRows(game.app.pool, game.projectId, player.playerId)).toHaveLength(1)
    }
    expect(await auditRows(game.app.pool, game.projectId, unknown)).toMatchObject([{ action: 'player.ban.denied' }])

    const lifted = (await banList('unbanPlayers', [one.playerId, two.playerId])).data.unbanPlayers.results
    expect(lifted.map(({ error }: Input) => error)).toEqual([null, null])
    for (const player of [one, two]) expect((await CALLS['a call'](player)).status).toBe(200)
  })

  it('takes effect once with a key, also when it is sent twice at once', async () => {
    const players = await Promise.all(times(20, newPlayer))
    const ids = players.map(({ playerId }) => playerId)
    const send = () => banList('banPlayers', ids, { idempotencyKey: 'k' })
    const answers = await Promise.all([send(), send()])
    answers.push(await send())
    for (const { data } of answers) expect(data).toEqual(answers[0]?.data)
    for (const playerId of ids) expect(await auditRows(game.app.pool, game.projectId, playerId)).toHaveLength(1)
  })

  it('may be empty', async () => {
    expect((await banList('banPlayers', [])).data.banPlayers.results).toEqual([])
  })
})

const FAULTS: readonly (readonly [string, string, Input, readonly string[]])[] = [
  ['an end that has passed', 'banPlayer', { until: later(-1_000) }, ['until must be later than now']],
  [
    'an end that no calendar has',
    'banPlayer',
    { until: '9999-12-31T23:59:59Z' },
    ['until must be before the year 10000'],
  ],
  [
    'a long public reason and no reason',
    'banPlayer',
    { publicReason: 'x'.repeat(201), reason: '' },
    ['reason must be 1 to 500 characters', 'publicReason must be 1 to 200 characters'],
  ],
  [
    'ids that are none',
    'banPlayers',
    { playerIds: ['x', randomUUID()], until: later(-1) },
    ['playerIds[0] must be an id', 'until must be later than now'],
  ],
  [
    'more than 500 players',
    'unbanPlayers',
    { playerIds: times(501, () => randomUUID()) },
    ['playerIds must have at most 500 elements'],
  ],
]

it.each(FAULTS)('%s is refused, and nothing changes', async (_, mutation, input, faults) => {
  const player = await newPlayer()
  const whom = 'playerIds' in input ? {} : { playerId: player.playerId }
  const { errors } = await call(mutation, { ...whom, ...input }, '__typename')
  const details = errors?.[0]?.extensions.details as { path: string; message: string }[]
  expect(details.map(({ path, message }) => `${path} ${message}`)).toEqual(faults)
  expect((await CALLS['a call'](player)).status).toBe(200)
})

it('the socket of a player ends with a ban of everything, and not with one of logins', async () => {
  const [banned, free] = [await newPlayer(), await newPlayer()]
  await ban(free, { kind: 'LOGIN' })
  await ban(banned, { until: later() })
  const { check } = createAccessWatch({ pool: game.app.pool, ended: { onLook: () => {} } })
  const reasonOf = ({ environmentId, playerId, token }: LoggedIn) => {
    const familyId = String(decodeJwt(token).jti).split('.')[0] ?? ''
    return check({ kind: 'player', projectId: game.projectId, environmentId, playerId, familyId, expiresAt: 0 })
  }
  expect([await reasonOf(banned), await reasonOf(free)]).toEqual(['player banned', undefined])
  await letEnd(banned)
  expect(await reasonOf(banned)).toBeUndefined()
})
