import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStorage, Tierway, TierwayError } from '../../src/client/index.ts'
import { type Game, startGame } from '../harness/game.ts'
import { AUDIENCE, startIssuer, type TestIssuer } from '../harness/issuer.ts'

// The way of a player through its accounts, with the client library and with curl. `test/unity.test.ts` has the same with
// the client for Unity.

let game: Game
let google: TestIssuer

beforeAll(async () => {
  google = await startIssuer('RS256', 'https://accounts.google.com')
  game = await startGame({ GOOGLE_KEYS_URL: google.keysUrl })
  const authProviders = { google: { enabled: true, clientIds: [AUDIENCE] }, device: { enabled: true } }
  const { status } = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    body: JSON.stringify({ environment: 'production', authProviders }),
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
  expect(status).toBe(200)
  await game.setAccountPolicy({ linkTickets: true })
})
afterAll(async () => {
  await game?.stop()
  await google?.close()
})

const WAY =
  'begins as a guest, links Google, meets an old account and switches to it, signs out a lost phone and takes its data along'

it(`a player ${WAY}, with the client library`, async () => {
  const idToken = await google.token({ sub: 'of the library' })
  const newClient = () => new Tierway({ baseUrl: game.baseUrl, sdkKey: game.sdkKey, storage: memoryStorage() })
  const lost = newClient()
  await lost.loginGoogle({ idToken, deviceName: 'Lost phone', nickname: 'Ada' })
  const old = await lost.player()

  const client = newClient()
  await client.loginGuest({ deviceName: 'New phone' })
  const guest = await client.player()
  expect(guest.identities).toMatchObject([{ provider: 'device' }])
  const error = await client.linkGoogle({ idToken }).then(
    () => undefined,
    (thrown) => thrown,
  )
  expect([TierwayError.is(error), error.code]).toEqual([true, 'identity_already_linked'])
  await client.switchPlayer({ ticket: error.facts.conflict.ticket, deviceName: 'New phone' })
  expect((await client.player()).playerId).toBe(old.playerId)

  const sessions = await client.sessions()
  expect(sessions.map(({ device, isCurrent }) => [device, isCurrent])).toEqual([
    ['New phone', true],
    ['Lost phone', false],
  ])
  expect(await client.endSessions(sessions[1]?.sessionId ?? '')).toBe(1)
  expect((await client.sessions()).map(({ device }) => device)).toEqual(['New phone'])

  const kinds = (await client.exportData())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(kinds).toContainEqual(expect.objectContaining({ kind: 'profile', id: old.playerId, nickname: 'Ada' }))
  expect(kinds).toContainEqual(
    expect.objectContaining({ kind: 'identity', provider: 'google', subject: 'of the library' }),
  )
  expect(JSON.stringify(kinds)).not.toContain(guest.playerId)
})

it(`a player ${WAY}, with curl`, async () => {
  const idToken = await google.token({ sub: 'of curl' })
  async function curl(path: string, body: object, token?: string) {
    const { stdout } = await promisify(execFile)('curl', [
      ...['-s', '-X', 'POST', `${game.baseUrl}/sdk/v1/${path}`, '-d', JSON.stringify(body)],
      ...['-H', `X-SDK-Key: ${game.sdkKey}`, ...(token === undefined ? [] : ['-H', `Authorization: Bearer ${token}`])],
    ])
    return stdout
  }
  const call = async (path: string, body: object, token?: string) => JSON.parse(await curl(path, body, token))

  const lost = await call('authorization/google', { idToken, deviceName: 'Lost phone' })
  const old = await call('player/get', {}, lost.accessToken)
  const guest = await call('authorization/device', { deviceId: 'a text that this phone made at random and keeps' })
  const refusal = await call('authorization/google/link', { idToken }, guest.accessToken)
  expect(refusal).toMatchObject({
    error: 'identity already linked',
    details: { conflict: { ticket: expect.any(String) } },
  })
  const { ticket } = refusal.details.conflict
  const { accessToken } = await call('authorization/switch', { ticket, deviceName: 'New phone' }, guest.accessToken)
  expect((await call('player/get', {}, accessToken)).playerId).toBe(old.playerId)
  const { sessions } = await call('sessions/list', {}, accessToken)
  const phone = sessions.find((one: { device: string }) => one.device === 'Lost phone')
  expect(await call('sessions/end', { session: phone.sessionId }, accessToken)).toEqual({ ended: 1 })
  const lines = (await curl('player/export', {}, accessToken)).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).kind)).toEqual(expect.arrayContaining(['profile', 'identity', 'session']))
})
