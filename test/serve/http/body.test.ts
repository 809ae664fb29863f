import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { times } from '../../harness/game.ts'
import { type Service, startService, stopService, type World } from '../../harness/service.ts'
import { until } from '../../harness/until.ts'
import { openWorld } from '../../harness/world.ts'

const MIB = 2 ** 20
const METRICS_TOKEN = 'token of the metrics'

let world: World
let service: Service

beforeAll(async () => {
  world = await openWorld()
  await world.publish('empty', {
    name: 'Empty',
    start: 'start',
    nodes: [{ id: 'start', type: 'start', data: {} }],
    edges: [],
  })
  // Garbage that waits for its collection counts, too: little of it fits.
  service = await startService({ ...world.env, METRICS_TOKEN }, undefined, ['--max-semi-space-size=8'])
})
afterAll(async () => {
  await stopService(service)
  await world?.close()
})

async function residentBytes(): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const text = await (await fetch(`${service.baseUrl}/metrics`, { headers })).text()
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

/** Sends the same piece `count` times, as fast as it is read. */
async function pour(socket: Socket, piece: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve))
  }
}

it('a body takes the memory of its bytes only, however many chunks it has, and is read completely', async () => {
  const { token } = await world.player('empty')
  const { hostname, port } = new URL(service.baseUrl)
  const before = await residentBytes()
  const answers = new Map<Socket, string>()
  const sockets = times(10, () => {
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk) => answers.set(socket, `${answers.get(socket) ?? ''}${chunk}`))
    return socket
  })
  let peak = before
  let isSent = false
  void Promise.all(
    sockets.map(async (socket) => {
      const head = ['POST /sdk/v1/storage/set HTTP/1.1', 'host: a', `authorization: Bearer ${token}`]
      socket.write(`${[...head, 'transfer-encoding: chunked'].join('\r\n')}\r\n\r\nb\r\n{"values":{\r\n`)
      await pour(socket, '1\r\n \r\n'.repeat(10_000), 15)
    }),
  ).then(() => {
    isSent = true
  })
  await until(
    'all is sent but the end',
    async () => {
      peak = Math.max(peak, await residentBytes())
      return isSent
    },
    { deadlineMs: 40_000 },
  )
  for (const socket of sockets) socket.write('8\r\n"a":1}}\n\r\n0\r\n\r\n')
  await until('all are answered', () => answers.size === sockets.length, { deadlineMs: 40_000 })
  peak = Math.max(peak, await residentBytes())
  // On a busy machine the transaction can end with 503, which does not concern the body.
  for (const answer of answers.values()) expect(answer).toMatch(/^HTTP\/1\.1 (204|503) /)
  await until('the value of the bodies is stored', async () => {
    const { rows } = await world.pool.query("SELECT value FROM player_storage WHERE key = 'a'")
    return rows[0]?.value === '1'
  })
  const grown = Math.round((peak - before) / MIB)
  console.log(`a million and a half chunks: ${grown} MiB`)
  // A kept chunk would take about 200 bytes.
  expect(grown).toBeLessThan(200)
  for (const socket of sockets) socket.destroy()
})
