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
function ask(path: string, body: string): Socket {
  const socket = connect(Number(new URL(game.baseUrl).port), '127.0.0.1')
  socket.on('error', () => undefined)
  const head = ['host: x', `authorization: Bearer ${player.token}`, 'content-type: application/json']
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

  it('share the limit of 16 MiB among all fields of a GraphQL document', async () => {
    const { data, errors } = await player.graphql('{ me { a: storage { key } b: storage { key } } }')
    expect(data).toBeNull()
    expect(errors).toMatchObject([{ extensions: { code: 'STORAGE_LIMIT_EXCEEDED', details: [{ path: 'keys' }] } }])
    const few = await player.graphql('{ me { a: storage(keys: ["0-0"]) { key } b: storage(keys: ["0-1"]) { key } } }')
    expect(few.data.me).toEqual({ a: [{ key: '0-0' }], b: [{ key: '0-1' }] })
  })
})
