import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { BUNDLE } from './harness/bundle.ts'
import { clusterOf, removeDataDir } from './harness/data-dir.ts'
import { buildService } from './harness/service.ts'
import { execute } from './harness/sql.ts'
import { until } from './harness/until.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What `npm start` runs. Other tests start a bundle of it, which takes half the time. */
const SHIPPED = 'dist/server.js'

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const withoutIpv6 = hasIpv6 ? '' : 'SKIPPED, there is no IPv6 here: '

/** A folder that keeps its database and its demo from one test to the next: making them takes seconds. */
let used: string
let dataDir: string
const services: Service[] = []
beforeAll(async () => {
  await buildService()
  used = await makeFolder()
})
beforeEach(() => {
  dataDir = used
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop()
  if (dataDir !== used) await removeDataDir(dataDir)
})
afterAll(() => removeDataDir(used))

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tierway-serve-'))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  return folder
}

interface Service {
  readonly child: ChildProcess
  readonly closed: Promise<unknown>
  readonly said: () => string
  readonly baseUrl: () => string
  /** By SIGTERM, unless it has ended. */
  stop(): Promise<unknown>
}

/** A service on the test's folder, with the embedded Postgres. */
function spawnHere(env: Record<string, string> = {}, uid = process.getuid?.(), entry = BUNDLE): Service {
  const child = spawn(process.execPath, [entry], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, TIERWAY_DATA_DIR: dataDir, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== process.getuid?.() && { uid, gid: uid }),
  })
  let said = ''
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (chunk) => {
      said += chunk
    })
  }
  const closed = once(child, 'close')
  const service = {
    child,
    closed,
    said: () => said,
    baseUrl: () => /ready at (http:\/\/\S+:\d+)/.exec(said)?.[1] ?? '',
    stop() {
      child.kill('SIGTERM')
      return closed
    },
  }
  services.push(service)
  return service
}

async function startHere(env: Record<string, string> = {}, entry = BUNDLE): Promise<Service> {
  const service = spawnHere(env, process.getuid?.(), entry)
  await until('the service is ready', () => service.baseUrl() !== '', { deadlineMs: 30_000 })
  return service
}

const isReady = async (service: Service) => (await fetch(`${service.baseUrl()}/readyz`)).status === 200

const readDemo = async () => JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))

/** The status of a login through the demo studio's webhook. */
async function logIn(service: Service): Promise<number> {
  const { sdkKey, customData } = await readDemo()
  const answer = await fetch(`${service.baseUrl()}/sdk/v1/authorization/custom`, {
    method: 'POST',
    headers: { 'x-sdk-key': sdkKey },
    body: JSON.stringify({ customData }),
  })
  return answer.status
}

/** Postgres removes this file as it ends. */
const hasPostgres = async () =>
  readFile(join(await clusterOf(dataDir), 'postmaster.pid')).then(
    () => true,
    () => false,
  )

test.skipIf(withoutIpv6 !== '').each(['::', '::1'])(
  `${withoutIpv6}a service on HOST=%s prints an address at which it answers`,
  async (HOST) => {
    const service = await startHere({ HOST }, HOST === '::' ? SHIPPED : BUNDLE)
    expect(service.baseUrl()).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect((await readDemo()).baseUrl).toBe(service.baseUrl())
    expect(await isReady(service)).toBe(true)
  },
)

test('a service keeps running when its standard output is closed', async () => {
  const service = spawnHere()
  service.child.stdout?.once('data', () => service.child.stdout?.destroy())
  await until(
    'the address in the demo answers',
    async () => {
      const { baseUrl } = await readDemo().catch(() => ({ baseUrl: '' }))
      return fetch(`${baseUrl}/readyz`).then(
        ({ status }) => status === 200,
        () => service.child.exitCode !== null,
      )
    },
    { deadlineMs: 30_000 },
  )
  expect(service.child.exitCode).toBe(null)
  expect(await service.stop()).toEqual([0, null])
  expect(await hasPostgres()).toBe(false)
})

test('an unusable data directory is reported in one line', async () => {
  dataDir = await makeFolder()
  const file = join(dataDir, 'file')
  await writeFile(file, '')
  const unusable = [file, join(file, 'below'), ...(process.platform === 'linux' ? ['/proc', '/proc/tierway/data'] : [])]
  const started = unusable.map((path) => ({ path, service: spawnHere({ TIERWAY_DATA_DIR: path }) }))
  for (const { path, service } of started) {
    expect([path, await service.closed]).toEqual([path, [1, null]])
    expect(service.said()).toContain(`  - TIERWAY_DATA_DIR: ${path} cannot be used as the data directory`)
    expect(service.said()).not.toContain('    at ')
  }
})

/** A user without an entry in /etc/passwd. */
const NAMELESS = 23_456
const isRoot = process.getuid?.() === 0
const withoutRoot = isRoot ? '' : 'SKIPPED, the user is not root: '

/** Each prepares the data directory, and names the user that starts the service. */
const faults: Readonly<Record<string, readonly [prepare: () => Promise<number | undefined>, said: RegExp]>> = {
  'a user without an entry in /etc/passwd': [
    async () => {
      await chown(dataDir, NAMELESS, NAMELESS)
      return NAMELESS
    },
    /user 23456, .* has no entry in \/etc\/passwd, .* type as root: echo 'tierway:x:23456:23456:.*' >> \/etc\/passwd$/,
  ],
  'a folder of another user': [
    async () => NAMELESS,
    /belongs to user 0, and this process runs as user 23456\. .* type: sudo chown -R 23456 \//,
  ],
  'a database of another user': [
    async () => {
      await mkdir(join(dataDir, 'postgres'))
      await writeFile(join(dataDir, 'postgres/PG_VERSION'), '18')
      await chown(join(dataDir, 'postgres'), NAMELESS, NAMELESS)
      return undefined
    },
    /postgres belongs to user 23456, and Postgres runs as user \d+ .* type: sudo chown -R \d+ \/.*postgres$/,
  ],
  'a folder with files of something else': [
    async () => {
      await mkdir(join(dataDir, 'postgres'))
      await writeFile(join(dataDir, 'postgres/notes.txt'), '')
      return undefined
    },
    /postgres has files that are not Tierway's\. Set TIERWAY_DATA_DIR to another folder\.$/,
  ],
}

function expectOneSentence(service: Service, said: RegExp): void {
  const told = service.said().split('\n')
  const [sentence, ...more] = told.filter((line) => line.includes('could not start') || line.includes('"level":60'))
  expect(sentence).toMatch(said)
  expect(sentence).toMatch(/^Tierway could not start: /)
  expect(more).toEqual([])
  expect(service.said()).not.toContain('    at ')
}

test.skipIf(!isRoot).each(Object.entries(faults))(
  `${withoutRoot}a start that cannot succeed is one sentence with what to type: %s`,
  async (_, [prepare, said]) => {
    dataDir = await makeFolder()
    const service = spawnHere({}, await prepare())
    expect(await service.closed).toEqual([1, null])
    expectOneSentence(service, said)
  },
)

test.skipIf(!isRoot || process.platform !== 'linux')(
  `${withoutRoot}a start on a full disk is one sentence with what to type`,
  async ({ skip }) => {
    dataDir = await makeFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=711', 'tmpfs', dataDir]).status !== 0) skip()
    try {
      const service = spawnHere()
      expect(await service.closed).toEqual([1, null])
      expectOneSentence(service, /the disk of \S+ is full\. .* type: df -h \//)
    } finally {
      spawnSync('umount', [dataDir])
    }
  },
)

test('a start on the database of a build before 0.2.0 is one sentence with the command that removes it, and the next start makes a new one', async () => {
  dataDir = await makeFolder()
  const { url, stop } = await startEmbeddedPostgres({ dataDir })
  await migrate(url)
  await execute(url, "UPDATE _prisma_migrations SET migration_name = '20261121000000_init'")
  await stop()
  for (const MIGRATE_ON_START of ['true', 'false']) {
    const refused = spawnHere({ MIGRATE_ON_START })
    expect(await refused.closed).toEqual([1, null])
    const cluster = await clusterOf(dataDir)
    const said = `Tierway could not start: the database in ${cluster} was made by a build before 0.2.0, and no version can migrate it: remove it, with all that is in it: rm -r ${cluster}`
    expect(refused.said().trim().split('\n').at(-1)).toContain(`"msg":"${said}"`)
    expect(refused.said()).not.toContain('    at ')
    expect(await hasPostgres()).toBe(false)
  }
  expect(spawnSync('rm', ['-r', await clusterOf(dataDir)]).status).toBe(0)
  expect(await logIn(await startHere())).toBe(200)
})

test('services in one folder share its database and its demo; a start that cannot listen names the variable and leaves them running; the last one to stop, by SIGHUP at the end of its terminal, ends the database', async () => {
  const first = await startHere()
  const { port } = new URL(first.baseUrl())
  for (const [env, said] of [
    [{ PORT: port }, `PORT ${port} is in use`],
    [{ METRICS_PORT: port }, `METRICS_PORT ${port} is in use`],
    [{ HOST: '192.0.2.1' }, 'HOST 192.0.2.1 is no address of this machine: set HOST to one of them'],
  ] as const) {
    const failed = spawnHere(env)
    expect(await failed.closed).toEqual([1, null])
    expect(failed.said()).toContain(said)
    expect(await isReady(first)).toBe(true)
  }
  const second = await startHere()
  const third = await startHere()

  const { sdkKey, scenarioId, passNodeId, customData } = await readDemo()
  for (const service of [first, second, third]) {
    const playable = await fetch(`${service.baseUrl()}/play/demo.json`)
    expect(await playable.json()).toEqual({ sdkKey, scenarioId, passNodeId, customData })
    expect(service.said()).toMatch(new RegExp(`Play +${service.baseUrl()}/play `))
    // The link to the console is signed in already.
    const [, page, token] = /(http\S+\/console)#token=(\S+)/.exec(service.said()) ?? []
    expect(page).toBe(`${service.baseUrl()}/console`)
    const asked = await fetch(`${service.baseUrl()}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ project { name } }' }),
    })
    expect(await asked.json()).toEqual({ data: { project: { name: 'Demo' } } })
  }

  expect(await third.stop()).toEqual([0, null])
  expect(await logIn(first)).toBe(200)
  expect(third.said()).toContain('stopped; the embedded Postgres runs on for another process')
  expect(await isReady(first)).toBe(true)
  // This service has started Postgres.
  expect(await first.stop()).toEqual([0, null])
  expect(await isReady(second)).toBe(true)
  await until('its webhook stands in for that of the first', async () => (await logIn(second)) === 200)
  expect((await readDemo()).baseUrl).toBe(second.baseUrl())

  second.child.kill('SIGHUP')
  expect(await second.closed).toEqual([0, null])
  expect(await hasPostgres()).toBe(false)
})

test('a start that is interrupted or fails leaves no database running', async () => {
  dataDir = await makeFolder()
  const interrupted = spawnHere()
  await until('Postgres runs', hasPostgres, { deadlineMs: 30_000 })
  interrupted.child.kill('SIGINT')
  expect(await interrupted.closed).toEqual([0, null])
  expect(await hasPostgres()).toBe(false)

  const failed = spawnHere({ PERSISTED_OPERATIONS: 'no-such-file.json' })
  expect(await failed.closed).toEqual([1, null])
  expect(await hasPostgres()).toBe(false)
})
