import { randomBytes } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditBooks } from '../harness/audit.ts'
import { type Answer, type Game, startGame, times } from '../harness/game.ts'
import { outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'

// Guests: players that log in by an id that their device made.

let game: Game

beforeAll(async () => {
  game = await startGame()
  await setDevice({ enabled: true })
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const setDevice = (device: unknown, environment = 'production') =>
  game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    body: JSON.stringify({ environment, authProviders: { device } }),
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
const newDevice = () => randomBytes(24).toString('base64url')
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  game.request('POST', path, { body: JSON.stringify(body), headers: { 'x-sdk-key': game.sdkKey, ...headers } })
const login = (deviceId: unknown, more: object = {}) => post('/sdk/v1/authorization/device', { deviceId, ...more })
const link = (token: string, deviceId: string) =>
  post('/sdk/v1/authorization/device/link', { deviceId }, { authorization: `Bearer ${token}` })
const query = async (sql: string, values: unknown[] = []) => (await game.app.pool.query(sql, values)).rows
const DISABLED = { code: 'SIGN_IN_DISABLED', message: 'sign-in disabled' }

function playerOf({ status, body, text }: Answer): string {
  expect([status, text]).toEqual([200, expect.stringContaining('accessToken')])
  return decodeJwt(body.accessToken).sub ?? expect.fail('no player')
}

describe('a guest', () => {
  it('is one player for each device, also for many first logins at once', async () => {
    const [one, two] = [newDevice(), newDevice()]
    const players = (await Promise.all(times(6, () => login(one, { nickname: 'Guest', language: 'de' })))).map(playerOf)
    expect(new Set(players).size).toBe(1)
    expect(playerOf(await login(two))).not.toBe(players[0])
    expect(await query('SELECT nickname, language FROM players WHERE id = $1', [players[0]])).toEqual([
      { nickname: 'Guest', language: 'de' },
    ])
  })

  it('is stored by a keyed hash: its id is nowhere in the database, nor in another environment', async () => {
    const deviceId = newDevice()
    const playerId = playerOf(await login(deviceId))
    const [identity] = await query('SELECT * FROM identities WHERE player_id = $1', [playerId])
    expect(identity).toMatchObject({ provider: 'device', subject: expect.stringMatching(/^[\w-]{43}$/) })
    for (const table of ['identities', 'players', 'login_log', 'events'])
      expect(await query(`SELECT 1 FROM ${table} t WHERE t::text LIKE '%' || $1 || '%'`, [deviceId])).toEqual([])
    await setDevice({ enabled: true }, 'staging')
    const staging = await post('/sdk/v1/authorization/device', { deviceId }, { 'x-sdk-key': game.stagingSdkKey })
    const [other] = await query('SELECT * FROM identities WHERE player_id = $1', [playerOf(staging)])
    expect(other.subject).not.toBe(identity.subject)
  })

  it('stays the same player while it is disabled and enabled again, and after a null', async () => {
    const deviceId = newDevice()
    const playerId = playerOf(await login(deviceId))
    const { body } = await setDevice({ enabled: false })
    expect(body.authProviders.device).toEqual({ enabled: false, updatedAt: expect.any(String) })
    expect(outcomeOfRest(await login(deviceId))).toEqual(DISABLED)
    await setDevice(null)
    await setDevice({ enabled: true })
    expect(playerOf(await login(deviceId))).toBe(playerId)
  })

  it('is linked to another player as any identity, and logs that player in', async () => {
    const player = await game.player()
    const [deviceId, taken] = [newDevice(), newDevice()]
    expect((await link(player.token, deviceId)).status).toBe(204)
    expect(playerOf(await login(deviceId))).toBe(player.playerId)
    playerOf(await login(taken))
    expect((await link(player.token, taken)).status).toBe(409)
    const credentials = { authorization: `Bearer ${player.token}`, 'x-sdk-key': game.sdkKey }
    const linked = await game.graphql(
      credentials,
      'mutation ($input: LinkDeviceInput!) { linkDevice(input: $input) { identity { provider } } }',
      { input: { deviceId: newDevice() } },
    )
    expect(linked.data.linkDevice).toEqual({ identity: { provider: 'device' } })
  })

  it.each([
    [undefined, 'is required'],
    ['00000000-0000-0000-0000-000000000000', 'must not be one repeated character'],
    ['x'.repeat(31), 'must be 32 to 128 characters'],
    ['x'.repeat(129), 'must be 32 to 128 characters'],
    [5, 'must be a string'],
  ])('with the id %j is a 400', async (deviceId, message) => {
    const refused = { code: 'INVALID_REQUEST', message: 'invalid request', details: [{ path: 'deviceId', message }] }
    expect(outcomeOfRest(await login(deviceId))).toEqual(refused)
  })

  it('cannot log in where guests are not enabled, and is refused when banned', async () => {
    const other = await startGame()
    const answer = await other.request('POST', '/sdk/v1/authorization/device', {
      body: JSON.stringify({ deviceId: newDevice() }),
      headers: { 'x-sdk-key': other.sdkKey },
    })
    expect(outcomeOfRest(answer)).toEqual(DISABLED)
    await other.stop()
    const deviceId = newDevice()
    const playerId = playerOf(await login(deviceId))
    await game.graphql(
      game.platformKey,
      'mutation ($input: BanPlayerInput!) { banPlayer(input: $input) { player { id } } }',
      {
        input: { playerId, reason: 'test' },
      },
    )
    const refused = outcomeOfGraphql(
      await game.graphql(
        { 'x-sdk-key': game.sdkKey },
        'mutation ($input: LoginDeviceInput!) { loginDevice(input: $input) { accessToken } }',
        { input: { deviceId } },
      ),
    )
    expect(refused).toEqual({ code: 'PLAYER_BANNED', message: 'player banned' })
  })
})
