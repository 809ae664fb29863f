import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { auditBooks } from '../harness/audit.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { startProxy } from '../harness/proxy.ts'
import {
  buildService,
  createWorld,
  post,
  type Service,
  spawnService,
  startService,
  stopService,
  type World,
  type WorldPlayer,
} from '../harness/service.ts'
import { until } from '../harness/until.ts'

let database: TestDatabase
let world: World
let service: Service | undefined

beforeAll(async () => {
  await buildService()
  database = await createDatabase()
  // A lock delays calls here, for as long as a test needs.
  const patient = new URL(database.url)
  patient.searchParams.set('lock_timeout', '0')
  world = await createWorld(patient.href)
  await world.publish('season', season())
})
afterEach(async () => {
  await stopService(service)
  service = undefined
})
afterAll(async () => {
  await world?.close()
  await database?.drop()
})

const place = { scenarioId: 'season', nodeId: 'pass' }
const XP = '/sdk/v1/battlepass/xp'

/** Locks the players' rows, so that their calls are under way until the lock is released. */
async function hold(players: readonly WorldPlayer[]) {
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('BEGIN')
  const ids = players.map(({ playerId }) => playerId)
  await holder.query('SELECT FROM players WHERE id = ANY($1) FOR UPDATE', [ids])
  // A player whom the service remembers is locked by its version alone.
  await holder.query('SELECT FROM player_versions WHERE player_id = ANY($1) FOR UPDATE', [ids])
  return () => holder.end()
}

interface Call {
  readonly answer: Promise<{ readonly status: number | undefined; readonly text: string }>
}

/** Begins a call; resolves once the service has accepted it with `100 Continue`. */
async function begin({ baseUrl }: Service, agent: Agent, player: WorldPlayer): Promise<Call> {
  const body = JSON.stringify({ ...place, runId: player.runId, amount: 5, source: 'last' })
  const call = request(`${baseUrl}${XP}`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${player.token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  const answer = (async () => {
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response) text += chunk
    return { status: response.statusCode, text }
  })()
  call.flushHeaders()
  await Promise.race([once(call, 'continue'), answer])
  call.end(body)
  return { answer }
}

async function openSocket({ baseUrl }: Service, player: WorldPlayer): Promise<WebSocket> {
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  const acknowledged = once(socket, 'message')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${player.token}` } }))
  expect(JSON.parse(String((await acknowledged)[0])).type).toBe('connection_ack')
  socket.send(
    JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { onLevelUp { toLevel } }' } }),
  )
  return socket
}

/** All text that a connection receives until it ends. */
async function listen(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

const announces = (signal: string) => () => service?.output.includes(`${signal}: answering`) ?? false

describe('a service that gets a signal to stop (running calls are answered, then the process ends)', () => {
  it('answers every call that is under way and ends with code 0 on SIGTERM, though clients keep connections open, on which it says that it is not ready', async () => {
    const players = await Promise.all(times(30, () => world.player('season')))
    const player = await world.player('season')
    service = await startService(world.env)
    const running = service
    const agent = new Agent({ keepAlive: true })
    try {
      const release = await hold([...players, player])
      const calls = await Promise.all(players.map((player) => begin(running, agent, player)))
      const body = JSON.stringify({ ...place, runId: player.runId, amount: 5, source: 'last' })
      const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
      const said = listen(socket)
      socket.write(
        [
          `POST ${XP} HTTP/1.1`,
          'host: tierway',
          `authorization: Bearer ${player.token}`,
          'content-type: application/json',
          'expect: 100-continue',
          `content-length: ${body.length}`,
          '',
          body,
        ].join('\r\n'),
      )
      await once(socket, 'data')
      service.kill('SIGTERM')
      await until('the stop is announced', announces('SIGTERM'))
      socket.write('GET /readyz HTTP/1.1\r\nhost: tierway\r\n\r\n')
      await release()
      for (const { answer } of calls) expect(await answer).toMatchObject({ status: 200 })
      expect(await said).toMatch(/HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 503 Service Unavailable[\s\S]*"unavailable"/)
      await until('the process has ended', () => service?.exit !== undefined, { deadlineMs: 4_000 })
      expect(service.exit).toEqual({ code: 0, signal: null })
    } finally {
      agent.destroy()
    }
  })

  it('keeps serving for SHUTDOWN_GRACE_MS, while /readyz is 503 so that load balancers switch, and ends at once with code 1 on a second signal, also during a call', async () => {
    const player = await world.player('season')
    // Longer than the test takes on any machine; the second signal ends the process.
    service = await startService({ ...world.env, SHUTDOWN_GRACE_MS: '120000' })
    const { baseUrl } = service
    service.kill('SIGTERM')
    await until('it is not ready', async () => (await fetch(`${baseUrl}/readyz`)).status === 503)
    const xp = { ...place, runId: player.runId, amount: 5, source: 'late' }
    expect(await post(service, XP, player.token, xp)).toMatchObject({ status: 200, body: { xp: 5 } })
    await openSocket(service, player)
    const release = await hold([player])
    const { answer } = await begin(service, new Agent(), player)
    const broken = expect(answer).rejects.toThrow(/socket hang up|ECONNRESET/)
    service.kill('SIGTERM')
    expect(await service.exited).toEqual({ code: 1, signal: null })
    await broken
    await release()
  })

  it('stops in order once the grace period is over, on SIGINT', async () => {
    const player = await world.player('season')
    service = await startService({ ...world.env, SHUTDOWN_GRACE_MS: '700' })
    const socket = await openSocket(service, player)
    const closed = once(socket, 'close')
    const signalled = performance.now()
    service.kill('SIGINT')
    expect((await closed)[0]).toBe(1001)
    expect(performance.now() - signalled).toBeGreaterThan(650)
    expect(await service.exited).toEqual({ code: 0, signal: null })
  })

  it('answers every call that takes effect, under load', async () => {
    const players = await Promise.all(times(16, () => world.player('season')))
    service = await startService(world.env)
    const running = service
    const answered = new Set<string>()
    const broken = new Set<string>()
    const load = Promise.all(
      players.map(async (player, index) => {
        for (let call = 0; running.exit === undefined; call += 1) {
          const key = `${index} ${call}`
          const body = { ...place, runId: player.runId, amount: 1, source: 'load' }
          const answer = await post(running, XP, player.token, body, { 'idempotency-key': key }).catch(() => null)
          if (answer) expect(answer.status).toBe(200)
          if (answer) answered.add(key)
          else broken.add(key)
          // Connections are refused at once: without a pause the test would not see the process exit.
          if (!answer) await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }),
    )
    await Promise.race([load, until('the load has begun', () => answered.size > 300)])
    service.kill('SIGTERM')
    expect(await service.exited).toEqual({ code: 0, signal: null })
    await load
    const { rows } = await world.pool.query<{ key: string }>(
      'SELECT key FROM idempotency_keys WHERE player_id = ANY($1)',
      [players.map(({ playerId }) => playerId)],
    )
    const done = new Set(rows.map(({ key }) => key))
    expect([...broken].filter((key) => done.has(key))).toEqual([])
    expect([...answered].filter((key) => !done.has(key))).toEqual([])
    await auditBooks(world.pool)
  })

  it('stops in order while Postgres is unreachable', async () => {
    const proxy = await startProxy(database.url)
    service = await startService({ ...world.env, DATABASE_URL: proxy.url })
    proxy.cut({ refuse: true })
    await until('the service is not ready', async () => (await fetch(`${service?.baseUrl}/readyz`)).status === 503)
    service.kill('SIGTERM')
    expect(await service.exited).toEqual({ code: 0, signal: null })
    await proxy.close()
  })
})

describe('a start that fails', () => {
  it('names every bad variable in one message and ends with code 1', async () => {
    service = spawnService({
      PORT: 'http',
      DATABASE_URL: 'mysql://root:hunter2@db/tierway',
      DATABASE_CONNECTIONS: '1',
      TOKEN_KEYS: '[]',
      ALLOWED_ORIGINS: '*',
      LOG_LEVEL: 'loud',
    })
    expect(await service.exited).toEqual({ code: 1, signal: null })
    expect(service.errors).toContain('The configuration has 7 faults:')
    const names = ['PORT', 'DATABASE_URL', 'DATABASE_CONNECTIONS', 'TOKEN_KEYS', 'ALLOWED_ORIGINS', 'LOG_LEVEL']
    for (const name of [...names, 'SECRETS_KEYS']) expect(service.errors).toContain(`  - ${name} must`)
    expect(service.output).not.toContain('hunter2')
    // A message for a person, not a stack trace.
    expect(service.output).not.toContain('    at ')
  })

  it('says why it waits when Postgres is unreachable, without the password, and stops on SIGTERM', async () => {
    service = spawnService({ ...world.env, DATABASE_URL: 'postgres://tierway:hunter2@127.0.0.1:1/tierway' })
    await until('it says why it waits', () => service?.output.includes('ECONNREFUSED') === true)
    service.kill('SIGTERM')
    expect(await service.exited).toEqual({ code: 0, signal: null })
    expect(service.output).not.toContain('hunter2')
  })
})
