import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../harness/database.ts'
import { season } from '../../harness/definitions.ts'
import { freePort } from '../../harness/free-port.ts'
import {
  buildService,
  createWorld,
  type Service,
  spawnService,
  stopService,
  type World,
} from '../../harness/service.ts'
import { until } from '../../harness/until.ts'

/** What a process holds while it migrates. */
const TURN = 72_707_369

let database: TestDatabase
let world: World
let service: Service | undefined

beforeAll(async () => {
  await buildService()
  database = await createDatabase()
  world = await createWorld(database.url)
  await world.publish('season', season())
})
afterAll(async () => {
  await stopService(service)
  await world?.close()
  await database?.drop()
})

it('a service that waits for a migration answers its probes, refuses calls with 503, and takes them afterwards', async () => {
  const player = await world.player('season')
  const migrating = new pg.Client({ connectionString: database.url })
  // The end of the test ends it, too.
  migrating.on('error', () => undefined)
  await migrating.connect()
  await migrating.query('SELECT pg_advisory_lock($1)', [TURN])
  const port = await freePort()
  service = spawnService({ ...world.env, PORT: String(port), ANSWER_WHILE_STARTING: 'true' })
  const ask = async (path: string, init?: RequestInit) => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return { status: answer.status, body: await answer.json() }
    } catch {
      // Nothing listens yet, or the port is being freed.
      return undefined
    }
  }
  const call = () =>
    ask('/sdk/v1/battlepass/progress', {
      method: 'POST',
      headers: { authorization: `Bearer ${player.token}` },
      body: JSON.stringify({ scenarioId: 'season', nodeId: 'pass' }),
    })
  const waiting = { status: 'unavailable', reason: 'the database is being migrated' }
  await until('it migrates', async () => (await ask('/readyz'))?.body.reason === waiting.reason)
  expect(await ask('/readyz')).toEqual({ status: 503, body: waiting })
  expect((await ask('//'))?.status).toBe(503)
  expect(await ask('/livez?probe')).toEqual({ status: 200, body: { status: 'live' } })
  expect(await call()).toEqual({
    status: 503,
    body: {
      ...{ error: 'unavailable', code: 'unavailable', requestId: expect.any(String) },
      details: [{ path: '', message: 'nothing was done: the service starts' }],
    },
  })
  await migrating.end()
  await until('it is ready', async () => (await ask('/readyz'))?.status === 200)
  expect(await call()).toMatchObject({ status: 200, body: { xp: 0 } })
})
