import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { endWithTests } from '../harness/children.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { freePort } from '../harness/free-port.ts'
import { without } from '../harness/needs.ts'
import { type Service, spawnService, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const withoutPgbouncer = without('pgbouncer')
/** PgBouncer does not run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

let world: World
let folder: string
let pooler: ChildProcess | undefined
let service: Service | undefined

beforeAll(async () => {
  world = await openWorld()
  folder = await mkdtemp(join(tmpdir(), 'tierway-pgbouncer-'))
  await chmod(folder, 0o755)
})
afterEach(async () => {
  await stopService(service)
  pooler?.kill('SIGKILL')
})
afterAll(async () => {
  await world?.close()
  if (folder) await rm(folder, { recursive: true })
})

/** Starts a PgBouncer in front of the database. Returns the URL through it. */
async function startPgbouncer(settings: readonly string[], own?: number): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(world.env.DATABASE_URL)
  own ??= await freePort()
  const ini = join(folder, `${own}.ini`)
  const target = `host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}`
  const lines = ['auth_type=any', 'listen_addr=127.0.0.1', `listen_port=${own}`, 'unix_socket_dir=', ...settings]
  await writeFile(ini, ['[databases]', `game = ${target}`, '[pgbouncer]', ...lines, ''].join('\n'), { mode: 0o644 })
  const child = spawn('pgbouncer', [ini], { ...NOBODY, stdio: ['ignore', 'ignore', 'pipe'] })
  endWithTests(child)
  pooler = child
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  await until(`PgBouncer runs: ${output}`, () => output.includes('process up'))
  return `postgres://${username}:${password}@127.0.0.1:${own}/game`
}

const POOLER =
  'DATABASE_URL leads to a connection pooler that does not keep the settings of a session: connect to Postgres itself, since Tierway pools its connections'

const DROPPED = 'ignore_startup_parameters=options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout'

test.skipIf(withoutPgbouncer !== '').each([
  ['session', 'refuses', []],
  ['session', 'drops', [DROPPED]],
  ['transaction', 'refuses', []],
  ['transaction', 'drops', [DROPPED]],
])(
  `${withoutPgbouncer}a start behind PgBouncer in %s mode that %s settings ends with code 1 and the reason`,
  async (mode, _which, settings) => {
    const url = await startPgbouncer([`pool_mode=${mode}`, ...settings])
    const started = spawnService({ ...world.env, DATABASE_URL: url })
    service = started
    const { code } = await started.exited
    expect([code, started.output]).toEqual([1, `The configuration has a fault:\n  - ${POOLER}\n`])
  },
)

test.skipIf(withoutPgbouncer !== '')(
  `${withoutPgbouncer}a migration behind PgBouncer changes nothing and leaves no lock behind`,
  async () => {
    const url = await startPgbouncer(['pool_mode=transaction', DROPPED])
    const migration = startCommandLine(['migrate'], { ...world.env, DATABASE_URL: url })
    expect(await migration.exited).toEqual([1, null])
    expect(migration.output.error).toBe(`The database cannot be used: ${POOLER}\n`)
    const direct = startCommandLine(['migrate'], world.env)
    expect([await direct.exited, direct.output.out]).toEqual([[0, null], 'The database is up to date.\n'])
  },
)

test.skipIf(withoutPgbouncer !== '')(
  `${withoutPgbouncer}a service that started before its PgBouncer is never ready, and no statement runs`,
  async () => {
    const port = await freePort()
    const { username, password } = new URL(world.env.DATABASE_URL)
    const early = `postgres://${username}:${password}@127.0.0.1:${port}/game`
    service = await startService({ ...world.env, DATABASE_URL: early, MIGRATE_ON_START: 'false' })
    await startPgbouncer(['pool_mode=transaction', DROPPED], port)
    await until('the log names the pooler', () => service?.output.includes(POOLER) ?? false)
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(503)
    const login = { method: 'POST', headers: { 'x-sdk-key': 'twsdk_unknown' }, body: '{"customData":{}}' }
    const refused = await fetch(`${service.baseUrl}/sdk/v1/authorization/custom`, login)
    expect([refused.status, (await refused.json()).error]).toEqual([503, 'unavailable'])
  },
)
