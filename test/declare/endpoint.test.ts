import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_NAME } from '../../src/base/limits.ts'
import { createMetrics } from '../../src/base/metrics.ts'
import { createPrisma } from '../../src/db/prisma.ts'
import { playerPost } from '../../src/declare/route.ts'
import { createWayIn } from '../../src/serve/http/way-in.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { renameCall } from '../harness/rename-player.ts'

let game: Game
let player: TestPlayer
let server: Server

beforeAll(async () => {
  game = await startGame()
  player = await game.player()
  const wayIn = createWayIn({
    routes: [playerPost('/sdk/v1/player/rename', renameCall)],
    context: {
      service: game.app.service,
      prisma: createPrisma(game.app.pool),
      isPersistedOnly: false,
      onUnread: () => undefined,
      maxBodyBytes: 2 ** 20,
      trustedProxies: 0,
    },
    log: pino({ level: 'silent' }),
    answersOf: createMetrics().answersOf,
    allowedOrigins: [],
  })
  server = createServer(wayIn.serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server?.close()
  await game?.stop()
})

async function post(token: string, body: unknown) {
  const { port } = server.address() as AddressInfo
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`http://127.0.0.1:${port}/sdk/v1/player/rename`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: await answer.json() }
}

describe('the example endpoint of CONTRIBUTING.md', () => {
  it('has at most forty lines, and is the code of test/harness/rename-player.ts', () => {
    const page = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
    const [, block = ''] = /```ts\n([\s\S]*?)\n *```/.exec(page) ?? []
    const example = block.replaceAll(/^ {3}/gm, '')
    expect(example.split('\n').length).toBeLessThanOrEqual(40)
    expect(readFileSync(new URL('../harness/rename-player.ts', import.meta.url), 'utf8')).toContain(example)
    expect(page).toContain("playerPost('/sdk/v1/player/rename', renameCall)")
  })

  it('renames the player, reports a fault with its path, and refuses an invalid token', async () => {
    expect(await post(player.token, { nickname: 'Ada' })).toEqual({ status: 200, body: { nickname: 'Ada' } })
    expect((await player.post('/sdk/v1/player/get', {})).body.nickname).toBe('Ada')
    expect(await post(player.token, { nickname: '' })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'nickname', message: `must be 1 to ${MAX_NAME} characters` }] },
    })
    expect((await post('none', { nickname: 'Eve' })).status).toBe(401)
  })

  it('records the attempt of an operator in the audit log', async () => {
    expect((await post(game.platformKey, { nickname: 'Eve' })).status).toBe(401)
    const { rows } = await game.app.pool.query('SELECT action FROM audit_log')
    expect(rows).toEqual([{ action: 'player.rename.denied' }])
  })
})
