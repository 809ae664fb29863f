import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createServerKey } from '../../src/callers/keys.ts'
import { STREAM_TYPE } from '../../src/declare/media-types.ts'
import { routes } from '../../src/routes.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { documentOf, KINDS, rootFields } from '../serve/graphql/documents.ts'
import { newOperator } from '../support/desk.ts'

let game: Game
let player: TestPlayer
let key: string
/** The headers of each kind of caller. */
let callers: Readonly<Record<string, Record<string, string>>>

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

beforeAll(async () => {
  game = await startGame()
  const { pool, tokens } = game.app
  await game.publish('season', season())
  player = await game.player()
  key = (await createServerKey(pool, game.environmentId)).key
  const admin = await newOperator(pool, game.projectId, 'admin')
  const { token } = await tokens.issueOperatorToken({
    ...{ projectId: game.projectId, keyId: admin.caller.keyId, role: 'admin', actor: 'Ada', seconds: 600 },
  })
  callers = {
    nobody: {},
    'SDK key': { 'x-sdk-key': game.sdkKey },
    'SDK key as a bearer token': bearer(game.sdkKey),
    player: bearer(player.token),
    'platform key': bearer(game.platformKey),
    'operator token': bearer(token),
    'server key': bearer(key),
    'server key as an SDK key': { 'x-sdk-key': key },
  }
})
afterAll(() => game?.stop())

const find = (authorization?: string) =>
  game.request('POST', '/server/v1/players/find', {
    body: '{"provider":"custom","subject":"nobody"}',
    headers: authorization === undefined ? {} : { authorization },
  })

/** The head of a stream, which does not end by itself. */
async function headOf(path: string, headers: Record<string, string>) {
  const ending = new AbortController()
  const { status } = await fetch(game.baseUrl + path, { headers, signal: ending.signal })
  ending.abort()
  return { status, body: {} as { readonly error?: string } }
}

/** The callers that a route takes, by its `access`. A link takes two credentials at once. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  player: ['player'],
  client: ['SDK key'],
  link: [],
  platform: ['platform key', 'operator token'],
  server: ['server key'],
}

describe('each call over REST', () => {
  it.each(
    routes.flatMap(({ method, path, contract }) => {
      const isStream = contract?.mediaType === STREAM_TYPE
      return contract ? [{ method, path, access: contract.access, isStream }] : []
    }),
  )('takes its own kind of caller and no other: $method $path', async ({ method, path, access, isStream }) => {
    const place = path.replace(':projectId', game.projectId).replace(':scenarioId', 'season')
    const options = method === 'GET' ? {} : { body: '{}' }
    for (const [caller, headers] of Object.entries(callers)) {
      const isTaken = TAKEN[access]?.includes(caller)
      const { status, body } =
        isTaken && isStream ? await headOf(place, headers) : await game.request(method, place, { ...options, headers })
      const refused = access === 'client' || access === 'link' ? 'invalid sdk key' : 'invalid token'
      if (isTaken) expect([caller, status]).not.toEqual([caller, 401])
      else if (access !== 'link' || caller !== 'SDK key')
        expect([caller, status, body.error]).toEqual([caller, 401, refused])
    }
  })
})

describe('a server key', () => {
  it('is refused for every field of GraphQL, as an unknown token is', async () => {
    const answers = async (authorization: string) => {
      const codes = []
      for (const kind of KINDS)
        for (const field of rootFields(kind)) {
          const response = await fetch(`${game.baseUrl}/graphql`, {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              accept: kind === 'Subscription' ? 'text/event-stream' : 'application/json',
              authorization,
            },
            body: JSON.stringify(documentOf(kind, field, {}, 0)),
          })
          codes.push([field.name, /"code":"(\w+)"/.exec(await response.text())?.[1]])
        }
      return codes
    }
    const refused = await answers(`Bearer ${key}`)
    expect(refused).toEqual(await answers('Bearer junk'))
    for (const [name, code] of refused) expect([name, code]).toEqual([name, expect.stringMatching(/^INVALID_/)])
  })

  it('opens no socket', async () => {
    const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'connection_init', payload: bearer(key) }))
    expect((await once(socket, 'close'))[0]).toBe(4403)
  })

  it.each([
    ['unknown', () => `Bearer twsrv_${'A'.repeat(43)}`],
    ['truncated', () => `Bearer ${key.slice(0, -1)}`],
    ['too long', () => `Bearer ${key}A`],
    ['only its prefix', () => 'Bearer twsrv_'],
    ['in another case', () => `Bearer ${key.toUpperCase()}`],
    ['without its scheme', () => key],
    ['of 8 KB', () => `Bearer twsrv_${'A'.repeat(8192)}`],
    ['missing', () => undefined],
  ])('is refused when it is %s', async (_, authorization) => {
    const { status, body } = await find(authorization())
    expect([status, body.error]).toEqual([401, 'invalid token'])
  })

  it('opens its own environment only', async () => {
    const staging = (await createServerKey(game.app.pool, game.stagingId)).key
    await game.app.pool.query('INSERT INTO identities VALUES ($1, $2, $3, $4)', [
      ...[game.environmentId, 'custom', 'nobody', player.playerId],
    ])
    expect((await find(`Bearer ${key}`)).body.playerId).toBe(player.playerId)
    expect((await find(`Bearer ${staging}`)).body.error).toBe('player not found')
  })
})
