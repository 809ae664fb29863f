import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { collectGarbage } from '../harness/garbage.ts'
import { until } from '../harness/until.ts'

// A small request can ask for an answer of up to 16 MiB, so a client that does not read its answers gets few of them.

const GET = '/sdk/v1/storage/get'

let game: Game
let player: TestPlayer

beforeAll(async () => {
  game = await startGame()
  player = await game.player()
  for (const call of times(12, Number)) {
    const values = Object.fromEntries(times(15, (index) => [`${call}-${index}`, 'x'.repeat(65_000)]))
    expect((await player.post('/sdk/v1/storage/set', { values })).status).toBe(204)
  }
})
afterAll(() => game?.stop())

/** Sends a request and does not read the answer. */
function ask(path: string, body: string, { token } = player): Socket {
  const socket = connect(Number(new URL(game.baseUrl).port), '127.0.0.1')
  socket.on('error', () => undefined)
  const head = ['host: x', `authorization: Bearer ${token}`, 'content-type: application/json']
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  return socket
}

describe('answers with storage', () => {
  const asked = { [GET]: '{}', '/graphql': '{"query":"{ me { storage { value } } }"}' }
  for (const [path, body] of Object.entries(asked)) {
    it(`that a player does not read make further ones unavailable to that player, and to no other: ${path}`, async () => {
      const sockets = times(5, () => ask(path, body))
      const other = await game.player()
      // A refusal is shorter.
      await until('answers wait', () => sockets.filter(({ bytesRead }) => bytesRead > 1000).length === 2)
      // Node can free a deadline that only freed memory knew, so that it never ends the call.
      const collecting = setInterval(collectGarbage, 500)
      const { status, body: refused } = await player.post(GET, {})
      clearInterval(collecting)
      expect([status, refused.code]).toEqual([503, 'unavailable'])
      expect(await other.post(GET, {})).toMatchObject({ status: 200, body: { values: {} } })
      for (const socket of sockets) socket.destroy()
      await until('its answers are made again', async () => (await player.post(GET, { keys: ['0-0'] })).status === 200)
    })
  }

  it('of all players have 64 MiB under way; one of which nothing is read for 30 s is cut off and makes room', async () => {
    const players = await Promise.all(times(12, () => game.player()))
    await game.app.pool.query(
      `INSERT INTO player_storage (environment_id, player_id, key, value)
       SELECT s.environment_id, p.id, s.key, s.value FROM player_storage s, unnest($2::uuid[]) AS p(id) WHERE s.player_id = $1`,
      [player.playerId, players.map(({ playerId }) => playerId)],
    )
    const calls = Object.entries(asked)
    const sockets = players.map((one, index) => {
      const [path, body] = calls[index % 2] as [string, string]
      return ask(path, body, one)
    })
    const begun = () => sockets.filter(({ bytesRead }) => bytesRead > 1000)
    await until('all are answered, or refused', () => sockets.every(({ bytesRead }) => bytesRead > 0), {
      deadlineMs: 30_000,
    })
    // Five of them, of 11.2 MiB each.
    expect(begun()).toHaveLength(5)
    expect((await player.post(GET, {})).status).toBe(503)
    // Others are not concerned: a few values wait for nobody.
    expect((await player.post(GET, { keys: ['0-0', '0-1', '0-2'] })).status).toBe(200)
    // A connection that was cut off refuses what is sent on it.
    const unread = begun()
    const areCutOff = () => {
      for (const socket of unread) if (!socket.destroyed) socket.write('\r\n')
      return unread.every(({ destroyed }) => destroyed)
    }
    await until('unread answers are cut off', areCutOff, { deadlineMs: 60_000 })
    expect((await player.post(GET, {})).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })

  it('share the limit of 16 MiB among all fields of a GraphQL document', async () => {
    const { data, errors } = await player.graphql('{ me { a: storage { key } b: storage { key } } }')
    expect(data).toBeNull()
    expect(errors).toMatchObject([{ extensions: { code: 'STORAGE_LIMIT_EXCEEDED', details: [{ path: 'keys' }] } }])
    const few = await player.graphql('{ me { a: storage(keys: ["0-0"]) { key } b: storage(keys: ["0-1"]) { key } } }')
    expect(few.data.me).toEqual({ a: [{ key: '0-0' }], b: [{ key: '0-1' }] })
  })
})
