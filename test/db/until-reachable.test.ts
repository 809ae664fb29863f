import { afterAll, beforeAll, expect, it } from 'vitest'
import { untilReachable } from '../../src/db/until-reachable.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { generateKeys } from '../harness/game.ts'
import { buildService, spawnService, stopService } from '../harness/service.ts'
import { openPool } from '../harness/sql.ts'
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

let database: TestDatabase
let proxy: TcpProxy
let url: string
beforeAll(async () => {
  await buildService()
  database = await createDatabase()
  proxy = await startTcpProxy(() => database.url)
  const through = new URL(database.url)
  through.port = String(proxy.port)
  url = through.href
})
afterAll(async () => {
  await proxy?.close()
  await database?.drop()
})

it('a start and a migration wait for a Postgres that is not there yet, with a line every few seconds', async () => {
  proxy.cut({ refuse: true })
  const env = { ...(await generateKeys()), DATABASE_URL: url }
  const service = spawnService(env)
  const migration = startCommandLine(['migrate'], env)
  try {
    const lines = (output: string) => output.split('Postgres cannot be reached yet; waiting up to a minute').length - 1
    await until('both have said twice that they wait', () =>
      [service.output, migration.output.error].every((output) => lines(output) >= 2),
    )
    proxy.restore()
    await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined)
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
    expect(await migration.exited).toEqual([0, null])
  } finally {
    proxy.restore()
    await stopService(service)
  }
})

it('the wait for Postgres ends with its error, and does not begin for an error that stays', async () => {
  proxy.cut({ refuse: true })
  const pool = openPool(url)
  const nowhere = new URL(database.url)
  nowhere.pathname = '/tierway_nowhere'
  const missing = openPool(nowhere.href)
  const told: unknown[] = []
  const onWait = (error: unknown) => told.push(error)
  try {
    await expect(untilReachable(pool, { onWait, deadlineMs: 200 })).rejects.toThrow(/terminated|ECONNRESET/)
    expect(told).toHaveLength(1)
    await expect(untilReachable(missing, { onWait })).rejects.toMatchObject({ code: '3D000' })
    expect(told).toHaveLength(1)
  } finally {
    proxy.restore()
    await pool.end()
    await missing.end()
  }
})
