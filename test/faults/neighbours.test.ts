import { once } from 'node:events'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createPool } from '../../src/db/pool.ts'
import { cursorAt } from '../events/cursors.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'

// Requests of other callers that wait long for the database do not block the calls of players.

let game: Game
let player: TestPlayer
let runId: string

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  player = await game.player()
  runId = await player.start('season')
})
afterAll(() => game?.stop())

/** Makes calls that reach the database in every way that a game does. Each is answered. */
async function play(): Promise<void> {
  const place = { scenarioId: 'season', nodeId: 'pass' }
  for (const _ of times(5, Number)) {
    expect((await player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 1, source: 'match' })).status).toBe(
      200,
    )
    expect((await player.post('/sdk/v1/battlepass/progress', place)).status).toBe(200)
    expect((await player.post('/sdk/v1/player/get', {})).status).toBe(200)
    expect((await player.post('/sdk/v1/storage/get', {})).status).toBe(200)
    const logout = { body: '{"refreshToken":"none"}', headers: { 'x-sdk-key': game.sdkKey } }
    expect((await game.request('POST', '/sdk/v1/authorization/logout', logout)).status).toBe(204)
  }
}

async function whileLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
  const holder = new pg.Client({ connectionString: game.databaseUrl })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query(`LOCK TABLE ${table}`)
    return await work()
  } finally {
    await holder.end()
  }
}

/** Subscribes many times on one socket, from the beginning of the stream. */
async function replay(token: string, count: number): Promise<WebSocket> {
  const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  await once(socket, 'message')
  const query = 'subscription ($after: String) { events(after: $after) { cursor } }'
  const payload = { query, variables: { after: cursorAt(game.environmentId, 0n) } }
  for (const id of times(count, String)) socket.send(JSON.stringify({ id, type: 'subscribe', payload }))
  return socket
}

describe('the calls of a player', () => {
  it('are answered while a frozen instance holds their lock: it loses the lock before they time out', async () => {
    const frozen = createPool({ url: game.databaseUrl, connections: 1, isForGroups: true, onError: () => undefined })
    const client = await frozen.connect()
    await client.query('BEGIN')
    await client.query('SELECT FROM players WHERE id = $1 FOR UPDATE', [player.playerId])
    await play()
    await expect(client.query('COMMIT')).rejects.toThrow()
    client.release(true)
    await frozen.end()
  })

  it('are answered while checks of readiness wait for the database', async () => {
    const asking = await whileLocked('_prisma_migrations', async () => {
      const asked = times(100, () => game.request('GET', '/readyz'))
      await play()
      return asked
    })
    for (const { status } of await Promise.all(asking)) expect([200, 503]).toContain(status)
  })

  it('are answered while lists of operators wait for the database', async () => {
    const viewer = await game.key('viewer')
    const asking = await whileLocked('login_log', async () => {
      const asked = times(60, () =>
        game.graphql(viewer, '{ loginLog(environment: "production") { edges { cursor } } }'),
      )
      await play()
      return asked
    })
    await Promise.all(asking)
  })

  it('are answered while many changes of one scenario wait for the database', async () => {
    const asking = await whileLocked('scenario_versions', async () => {
      const asked = times(60, () => game.publish('another', season()))
      await play()
      return asked
    })
    await Promise.all(asking)
  })

  it('are answered while replays of other players wait for the database', async () => {
    const { token } = await game.player()
    const socket = await whileLocked('events', async () => {
      const replaying = await replay(token, 60)
      await play()
      return replaying
    })
    socket.terminate()
  })
})

describe('the readiness of an instance', () => {
  it('depends on no table that calls wait for', async () => {
    const asking = await whileLocked('platform_keys', async () => {
      const asked = times(60, () => game.graphql(game.platformKey, '{ project { id } }'))
      for (const _ of times(5, Number)) expect((await game.request('GET', '/readyz')).body).toEqual({ status: 'ready' })
      return asked
    })
    await Promise.all(asking)
  })
})
