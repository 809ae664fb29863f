import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { times } from '../../harness/game.ts'
import { type Service, startService, stopService, type World } from '../../harness/service.ts'
import { until } from '../../harness/until.ts'
import { openWorld } from '../../harness/world.ts'

const METRICS_TOKEN = 'token of the metrics'
const MAX_FILES = 200
/** What is left for clients: without 100 of its own, and ten for Postgres. */
const SERVED = 90
const OPENED = 150

let world: World
let service: Service
beforeAll(async () => {
  world = await openWorld()
  const env = { ...world.env, METRICS_TOKEN, DATABASE_CONNECTIONS: '10' }
  service = await startService(env, undefined, undefined, MAX_FILES)
})
afterAll(async () => {
  await stopService(service)
  await world?.close()
})

/** A connection with the beginning of a request. */
async function open(path: string): Promise<Socket> {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nauthorization: Bearer ${METRICS_TOKEN}\r\n`)
  return socket
}

async function answerOn(socket: Socket | undefined): Promise<string> {
  socket?.write('host: a\r\nconnection: close\r\n\r\n')
  let text = ''
  for await (const chunk of socket?.setEncoding('utf8') ?? []) text += chunk
  return text
}

it('clients that open more connections than the process may have files take none from Postgres, and are counted', async () => {
  expect(service.output).toContain(
    `this process may have ${MAX_FILES} files open, and so serves at most ${SERVED} connections at once: raise the limit`,
  )
  const paths = times(OPENED, (index) => (index === 0 ? '/metrics' : '/readyz'))
  const sockets: Socket[] = []
  for (const path of paths) sockets.push(await open(path))
  const served = () => sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded)
  for (const socket of sockets.slice(SERVED)) socket.resume()
  await until('the others are closed', () => served().length === SERVED)
  expect(await answerOn(sockets[1])).toMatch(/^HTTP\/1\.1 200 [\s\S]*"status":"ready"/)
  const dropped = /^tierway_connection_limited_total\{limit="descriptors"\} (\d+)$/m.exec(await answerOn(sockets[0]))
  expect(Number(dropped?.[1])).toBe(OPENED - SERVED)
  expect(service.output).toContain('connections are closed at once: this process may have no more files open')
  // What was closed made room.
  expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})
