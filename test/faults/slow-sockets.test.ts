import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { post, type Service, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const XP = '/sdk/v1/battlepass/xp'
const SOCKETS = 500
const DRIP_MS = 1_000
/** A body can take 30 s, and Node checks for slow requests every 30 s. The rest is for a busy machine. */
const DEADLINE_MS = 120_000

let world: World
let service: Service

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season())
  service = await startService(world.env)
})
afterAll(async () => {
  await auditBooks(world.pool)
  await stopService(service)
  await world.close()
})

interface Slow {
  readonly socket: Socket
  said: string
  isClosed: boolean
}

/** Sends the beginning, then one byte each second while the connection is open. */
function drip(beginning: string): Slow {
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
  const slow: Slow = { socket, said: '', isClosed: false }
  const timer = setInterval(() => socket.write('a'), DRIP_MS)
  socket.on('data', (data) => {
    slow.said += data
  })
  socket.on('error', () => undefined)
  socket.once('close', () => {
    clearInterval(timer)
    slow.isClosed = true
  })
  socket.write(beginning)
  return slow
}

describe('a thousand slow connections', () => {
  it('are cut, and other calls are answered meanwhile', async () => {
    const player = await world.player('season')
    const head = `POST ${XP} HTTP/1.1\r\nhost: tierway\r\nauthorization: Bearer ${player.token}\r\n`
    const slow = [
      ...times(SOCKETS, () => drip(`${head}x-slow: `)),
      ...times(SOCKETS, () => drip(`${head}content-length: 100000\r\n\r\n{"source":"`)),
    ]
    let calls = 0
    try {
      await until(
        'all of them are cut',
        async () => {
          const { status } = await post(service, XP, player.token, {
            scenarioId: 'season',
            nodeId: 'pass',
            runId: player.runId,
            amount: 1,
            source: 'quick',
          })
          expect(status).toBe(200)
          calls += 1
          return slow.every(({ isClosed }) => isClosed)
        },
        { deadlineMs: DEADLINE_MS },
      )
    } finally {
      for (const { socket } of slow) socket.destroy()
    }
    // A connection that was not cut at once got a 408.
    for (const { said } of slow) if (said !== '') expect(said).toMatch(/^HTTP\/1\.1 408 /)
    const { rows } = await world.pool.query<{ xp: number }>('SELECT xp::int FROM passes WHERE player_id = $1', [
      player.playerId,
    ])
    expect(rows).toEqual([{ xp: calls }])
  })
})
