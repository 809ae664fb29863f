import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { removeDataDir } from '../harness/data-dir.ts'
import { buildService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

const isRoot = process.getuid?.() === 0

/** A folder whose cluster the tests use one after the other: making one takes seconds. */
let used: string
let dataDir: string
const processes: ChildProcess[] = []

beforeAll(async () => {
  await buildService()
  used = await makeFolder()
})
beforeEach(() => {
  dataDir = used
})
afterEach(async () => {
  for (const child of processes.splice(0)) child.kill('SIGKILL')
  if (existsSync(lockFile())) {
    const left = await startEmbeddedPostgres({ dataDir })
    await left.stop()
  }
  if (dataDir !== used) await removeDataDir(dataDir)
})
afterAll(() => removeDataDir(used))

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tierway-embedded-'))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  return folder
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  // A server that crashes after the answer breaks the connection. This error must not end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const embedded = JSON.stringify(new URL('../../dist/db/embedded.js', import.meta.url).href)

/** Another process that runs this source. */
function run(source: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.push(child)
  return child
}

/** Starts the Postgres of the data directory from another process, which lives until it is killed. */
async function startElsewhere(): Promise<Omit<EmbeddedPostgres, 'stop'> & { child: ChildProcess }> {
  const child = run(`
    import { startEmbeddedPostgres } from ${embedded}
    console.log(JSON.stringify(await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} })))
    setInterval(() => {}, 1_000)`)
  for await (const line of createInterface(child.stdout)) return { ...JSON.parse(line), child }
  throw new Error('the other process ended before its Postgres was up')
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

const lockFile = () => join(dataDir, 'postgres', 'postmaster.pid')

test('an embedded Postgres keeps its data and its URL from one start to the next', async () => {
  const first = await startEmbeddedPostgres({ dataDir })
  expect(first).toMatchObject({ initialised: true, reused: false })
  expect(first.url).toMatch(/^postgres:\/\/tierway:[\w-]{32}@127\.0\.0\.1:\d+\/tierway\?sslmode=disable$/)
  await query(first.url, 'DROP TABLE IF EXISTS kept; CREATE TABLE kept ()')
  await first.stop()
  await expect(query(first.url, 'SELECT')).rejects.toThrow('ECONNREFUSED')

  const second = await startEmbeddedPostgres({ dataDir })
  expect(second).toMatchObject({ initialised: false, reused: false, url: first.url })
  expect(await query(second.url, 'TABLE kept')).toEqual([])
  await second.stop()
})

test('an embedded Postgres ignores the PG* variables of the user', async () => {
  const others = { PGHOST: 'db.example.com', PGPORT: '1', PGUSER: 'me', PGDATABASE: 'mine', PGSSLMODE: 'require' }
  for (const [name, value] of Object.entries(others)) vi.stubEnv(name, value)
  try {
    const { url, stop } = await startEmbeddedPostgres({ dataDir })
    expect(await query(url, 'SELECT')).toHaveLength(1)
    await stop()
  } finally {
    vi.unstubAllEnvs()
  }
})

test('stop() keeps the process alive until the server has stopped', async () => {
  const source = `
    import { startEmbeddedPostgres } from ${embedded}
    const { stop } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} })
    await stop()
    console.log('stopped')`
  const child = run(source)
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) lines.push(line)
  expect(lines).toEqual(['stopped'])
  await expect(readFile(lockFile())).rejects.toThrow('ENOENT')
})

test('four processes that start at once in an empty directory share one server', async () => {
  dataDir = await makeFolder()
  const started = await Promise.all([startElsewhere(), startElsewhere(), startElsewhere(), startElsewhere()])

  expect(new Set(started.map(({ url }) => url)).size).toBe(1)
  expect(started.filter(({ initialised }) => initialised)).toHaveLength(1)
  expect(started.filter(({ reused }) => !reused)).toHaveLength(1)
})

test('a stop leaves the server to another process that uses it', async () => {
  const owner = await startElsewhere()

  const guest = await startEmbeddedPostgres({ dataDir })
  expect(guest).toMatchObject({ reused: true, url: owner.url })
  expect(await guest.stop()).toEqual({ inUse: true })

  expect(await query(owner.url, 'SELECT')).toHaveLength(1)
})

test('the server stops with its last user, also when another user has started it', async () => {
  const first = await startEmbeddedPostgres({ dataDir })
  const second = await startEmbeddedPostgres({ dataDir })
  expect(await first.stop()).toEqual({ inUse: true })
  expect(await query(second.url, 'SELECT')).toHaveLength(1)

  expect(await second.stop()).toEqual({ inUse: false })
  await expect(query(second.url, 'SELECT')).rejects.toThrow('ECONNREFUSED')
})

test('no server is left when all its users stop at once', async () => {
  const users = [await startEmbeddedPostgres({ dataDir })]
  for (let more = 0; more < 4; more += 1) users.push(await startEmbeddedPostgres({ dataDir }))

  await Promise.all(users.map((user) => user.stop()))

  await expect(query(users[0]?.url ?? '', 'SELECT')).rejects.toThrow('ECONNREFUSED')
})

test('a start during the stop of the last user gets a server that stays up', async () => {
  let last = await startEmbeddedPostgres({ dataDir })
  for (let round = 0; round < 5; round += 1) {
    const [next] = await Promise.all([startEmbeddedPostgres({ dataDir }), last.stop()])
    expect(await query(next.url, 'SELECT')).toHaveLength(1)
    last = next
  }
  await last.stop()
})

test('a user from before a crash of the server still counts', async () => {
  const first = await startEmbeddedPostgres({ dataDir })
  const [backend] = (await query(
    first.url,
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'`,
  )) as { pid: number }[]
  // Postgres then ends all its sessions and recovers.
  process.kill(backend?.pid ?? 0, 'SIGKILL')
  await until('its use is known again', async () => {
    const users = await query(
      first.url,
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid <> ${backend?.pid}`,
    ).catch(() => [])
    return users.length === 1
  })

  const second = await startEmbeddedPostgres({ dataDir })
  expect(await second.stop()).toEqual({ inUse: true })
  expect(await query(first.url, 'SELECT')).toHaveLength(1)
  await first.stop()
})

test('the next user stops the server of a killed process', async () => {
  const killed = await startElsewhere()
  await query(killed.url, 'DROP TABLE IF EXISTS kept; CREATE TABLE kept ()')
  await kill(killed.child)

  const heir = await startEmbeddedPostgres({ dataDir })
  expect(heir).toMatchObject({ reused: true, url: killed.url })
  expect(await query(heir.url, 'TABLE kept')).toEqual([])
  expect(await heir.stop()).toEqual({ inUse: false })

  await expect(query(heir.url, 'SELECT')).rejects.toThrow('ECONNREFUSED')
})

test('a killed server is started again at its URL, and stops with its last user', async () => {
  const said: string[] = []
  const first = await startEmbeddedPostgres({ dataDir, onProgress: (message) => said.push(message) })
  await query(first.url, 'DROP TABLE IF EXISTS kept; CREATE TABLE kept ()')
  for (const round of [1, 2]) {
    process.kill(Number.parseInt(await readFile(lockFile(), 'utf8'), 10), 'SIGKILL')
    // The server answers before its user has taken its lock again.
    await until(`it answers and is used again, round ${round}`, () =>
      query(first.url, "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted").then(
        (locks) => locks.length === 1 && said.filter((message) => message.includes('started again')).length >= round,
        () => false,
      ),
    )
    expect(await query(first.url, 'TABLE kept')).toEqual([])
  }

  const second = await startEmbeddedPostgres({ dataDir })
  expect(second).toMatchObject({ reused: true, url: first.url })
  expect(await second.stop()).toEqual({ inUse: true })
  expect(await first.stop()).toEqual({ inUse: false })
  await expect(query(first.url, 'SELECT')).rejects.toThrow('ECONNREFUSED')
})

test('a start cleans up after interrupted starts: a foreign lock file, and half a cluster', async () => {
  const first = await startEmbeddedPostgres({ dataDir })
  const lock = await readFile(lockFile(), 'utf8')
  await first.stop()
  await writeFile(lockFile(), lock.replace(/^\d+/, String(process.pid)))
  await mkdir(join(dataDir, 'postgres.new.4194305.x', 'data'), { recursive: true })

  const second = await startEmbeddedPostgres({ dataDir })
  expect(second).toMatchObject({ reused: false, url: first.url })
  await second.stop()
  expect((await readdir(dataDir)).filter((name) => name.startsWith('postgres.new'))).toEqual([])
})

test.runIf(isRoot)(
  `${isRoot ? '' : 'SKIPPED, the user is not root: '}an embedded Postgres runs for a data directory that only root can enter`,
  async () => {
    dataDir = await makeFolder()
    await chmod(dataDir, 0o700)
    const first = await startEmbeddedPostgres({ dataDir })
    await query(first.url, 'DROP TABLE IF EXISTS kept; CREATE TABLE kept ()')
    await first.stop()
    // The place of the cluster does not change once it is chosen.
    await chmod(dataDir, 0o711)
    const second = await startEmbeddedPostgres({ dataDir })
    expect(await query(second.url, 'TABLE kept')).toEqual([])
    await second.stop()
  },
)

test('a start that fails says why', async () => {
  const file = join(dataDir, 'file')
  await writeFile(file, '')
  await expect(startEmbeddedPostgres({ dataDir: file })).rejects.toThrow(`${file} cannot be used as the data directory`)
  await expect(startEmbeddedPostgres({ dataDir, settings: ['no_such_setting=1'] })).rejects.toThrow(
    'unrecognized configuration parameter "no_such_setting"',
  )
  const running = await startEmbeddedPostgres({ dataDir })
  await writeFile(join(dataDir, 'postgres-password'), 'another')
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow('refuses the password of the data directory')
  await writeFile(join(dataDir, 'postgres-password'), new URL(running.url).password)
  await running.stop()
})
