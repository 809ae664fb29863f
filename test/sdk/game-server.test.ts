import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createServerKey } from '../../src/callers/keys.ts'
import { endWithTests } from '../harness/children.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { buildService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

// The example game server, examples/game-server.mjs, on the built library.

let game: Game
let child: ChildProcess
let output = ''

beforeAll(async () => {
  await buildService()
  game = await startGame()
  await game.publish('season', season())
  const { key } = await createServerKey(game.app.pool, game.environmentId)
  child = spawn(process.execPath, ['examples/game-server.mjs'], {
    env: {
      ...{ PATH: process.env.PATH, PORT: '0', TIERWAY_URL: game.baseUrl, SERVER_KEY: key, SCENARIO: 'season' },
      ...{ ENVIRONMENT_ID: game.environmentId },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithTests(child)
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  await until('the game server listens', () => urlOf() !== undefined || child.exitCode !== null)
})
afterAll(async () => {
  child?.kill('SIGKILL')
  await game?.stop()
})

const urlOf = () => /^listening on (ws:\S+)$/m.exec(output)?.[1]

/** Plays one match with a token, and collects what the server sent. */
async function play(token: string) {
  const socket = new WebSocket(urlOf() ?? '')
  const messages: Record<string, unknown>[] = []
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    messages.push(message)
    if ('start' in message)
      for (const sent of [{ score: 1 }, { score: 1 }, { score: 1 }, { done: true }]) socket.send(JSON.stringify(sent))
  })
  await once(socket, 'open')
  socket.send(JSON.stringify({ token }))
  const [code, reason] = await once(socket, 'close')
  return { code: code as number, reason: String(reason), messages }
}

it('examples/game-server.mjs lets verified players in, and one call gives a match of ten its xp', async () => {
  const players: TestPlayer[] = await Promise.all(times(10, () => game.player()))
  const { playerId } = players[0] as TestPlayer
  const staging = await game.app.tokens.issueAccessToken({
    ...{ environmentId: game.stagingId, projectId: game.projectId, playerId },
  })
  expect(await play(staging)).toMatchObject({ code: 4401, reason: 'other_environment', messages: [] })
  expect(await play('junk')).toMatchObject({ code: 4401, reason: 'invalid_token', messages: [] })

  const played = await Promise.all(players.map(({ token }) => play(token)))
  for (const { code, messages } of played) {
    expect([code, messages.map((message) => Object.keys(message)[0])]).toEqual([1000, ['joined', 'start', 'over']])
    expect(messages[2]).toMatchObject({ xp: '130', error: null })
  }
  const { rows } = await game.app.pool.query(
    'SELECT count(*)::int, count(DISTINCT player_id)::int AS players, count(DISTINCT reference)::int AS matches FROM xp_ledger',
  )
  expect(rows).toEqual([{ count: 10, players: 10, matches: 1 }])
  expect(output).toMatch(/^match \S+: 10 players got xp$/m)
})

it('examples/game-server.mjs closes the connection of a player who is banned, and lets the player in no more', async () => {
  await until('it follows', () => /^ended logins are known$/m.test(output))
  const { playerId, token } = await game.player()
  const socket = new WebSocket(urlOf() ?? '')
  await once(socket, 'open')
  socket.send(JSON.stringify({ token }))
  await once(socket, 'message')
  await game.app.pool.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [playerId])
  const [code, reason] = await once(socket, 'close')
  expect([code, String(reason)]).toEqual([4403, 'player_banned'])
  expect(await play(token)).toMatchObject({ code: 4401, reason: 'player_banned', messages: [] })
})
