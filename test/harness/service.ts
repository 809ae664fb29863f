import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readlink, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { type Json, print } from '../../src/base/json.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { createProject } from '../../src/callers/projects.ts'
import { createTokens, generateTokenKey, type TokenKey } from '../../src/callers/tokens.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createPool } from '../../src/db/pool.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { publishScenario } from '../../src/operations/publishing/publish.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import type { PlayerRef } from '../../src/players/player-status.ts'
import { createGroupCommit } from '../../src/transactions/group-commit.ts'
import { BUNDLE, bundleService } from './bundle.ts'
import { call } from './call.ts'
import { endWithTests } from './children.ts'
import { isAlive } from './data-dir.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What `npm start` runs, in the folder of a version. */
export const SHIPPED = 'dist/server.js'
/** The options of `npm start`. The smaller size makes a start collect less garbage. */
const NODE_OPTIONS = ['--min-semi-space-size=16', '--max-semi-space-size=64']
const START_DEADLINE_MS = 60_000
const BUILD_DEADLINE_MS = 100_000

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The service in its own process: the build that is shipped, bundled so that it starts sooner. */
export interface Service {
  readonly child: ChildProcess
  /** Empty until it listens. */
  readonly baseUrl: string
  /** Its output, of stdout and stderr. */
  readonly output: string
  readonly errors: string
  readonly exit: Exit | undefined
  /** Resolves when the process has ended. */
  readonly exited: Promise<Exit>
  kill(signal: NodeJS.Signals): void
}

export interface ServiceAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any
}

/**
 * Builds what `npm start` would run, unless the build is up to date. Two builds at once, or a build while a service
 * starts, would break each other.
 */
export async function buildService(): Promise<void> {
  const release = await lock(
    join(tmpdir(), `tierway-build-${createHash('sha256').update(ROOT).digest('hex').slice(0, 12)}`),
  )
  try {
    await promisify(execFile)(process.execPath, ['build.js', '--stale'], { cwd: ROOT })
    await bundleService()
  } finally {
    await release()
  }
}

/** Takes a lock: a symbolic link that names its process. The lock of a process that has died does not count. */
async function lock(link: string): Promise<() => Promise<void>> {
  await until(
    `${link} is free`,
    async () => {
      const owner = Number(await readlink(link).catch(() => 0))
      if (owner > 0 && !isAlive(owner)) await rm(link, { force: true })
      return symlink(String(process.pid), link).then(
        () => true,
        () => false,
      )
    },
    { deadlineMs: BUILD_DEADLINE_MS },
  )
  return () => rm(link, { force: true })
}

/** The variables of a service under test: those of production, with limits that do not hold tests back. */
export const TEST_VARIABLES = {
  ...{ NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', RATE_LIMITS: 'off', CONNECTION_LIMITS: 'off' },
  // The Postgres of the tests runs without fsync.
  REQUIRE_FSYNC: 'false',
  // On a busy machine, a burst of calls may wait for longer than clients would.
  ...{ CALL_DEADLINE_MS: '30000', WARM_UP: 'false' },
}

/**
 * Starts the process without waiting for it. `root` is the folder of another version. `maxFiles` is how many files it may
 * have open.
 */
export function spawnService(
  env: Readonly<Record<string, string>>,
  root = ROOT,
  script = root === ROOT ? BUNDLE : SHIPPED,
  nodeOptions: readonly string[] = NODE_OPTIONS,
  maxFiles?: number,
): Service {
  const command = [process.execPath, ...nodeOptions, script]
  const limited = ['/bin/sh', '-c', `ulimit -n ${maxFiles}; exec "$0" "$@"`, ...command]
  const [program = '', ...args] = maxFiles === undefined ? command : limited
  return watchService(
    spawn(program, args, {
      cwd: root,
      env: { PATH: process.env.PATH, ...TEST_VARIABLES, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

/** The service of a process, which ends with the tests. */
export function watchService(child: ChildProcessByStdio<null, Readable, Readable>): Service {
  let output = ''
  let errors = ''
  let exit: Exit | undefined
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const exited = new Promise<Exit>((resolve) => {
    // `close` comes after the outputs are read to the end.
    child.once('close', (code, signal) => {
      exit = { code, signal }
      resolve(exit)
    })
  })
  endWithTests(child)
  return {
    child,
    exited,
    get baseUrl() {
      return /Tierway \S+ is ready at (http:\/\/[\d.:]+)/.exec(output)?.[1] ?? ''
    },
    get output() {
      return output + errors
    },
    get errors() {
      return errors
    },
    get exit() {
      return exit
    },
    kill: (signal) => void child.kill(signal),
  }
}

/** Starts the process and waits until it serves. */
export async function startService(
  env: Readonly<Record<string, string>>,
  root = ROOT,
  nodeOptions?: readonly string[],
  maxFiles?: number,
): Promise<Service> {
  return await ready(spawnService(env, root, undefined, nodeOptions, maxFiles))
}

/** Waits until a service serves. Throws what it printed when it ends instead. */
export async function ready(service: Service): Promise<Service> {
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined, {
    deadlineMs: START_DEADLINE_MS,
  })
  if (service.exit) throw new Error(`the service ended with ${JSON.stringify(service.exit)}:\n${service.output}`)
  return service
}

export async function stopService(service: Service | undefined): Promise<void> {
  if (!service || service.exit) return
  service.kill('SIGKILL')
  await service.exited
}

/** Stops it as a deployment does. */
export async function endService(service: Service | undefined): Promise<void> {
  service?.kill('SIGTERM')
  await service?.exited
}

export async function post(
  { baseUrl }: Service,
  path: string,
  token: string,
  body: Json,
  headers: Record<string, string> = {},
): Promise<ServiceAnswer> {
  const { text, ...answer } = await call(`${baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: print(body),
  })
  return { ...answer, body: JSON.parse(text) }
}

export interface WorldPlayer extends PlayerRef {
  readonly token: string
  readonly runId: string
}

/** A project with its players, made in the service's database without the service. */
export interface World {
  readonly pool: Pool
  readonly environmentId: string
  /** The variables with which the service serves this world. */
  readonly env: { readonly DATABASE_URL: string; readonly TOKEN_KEYS: string; readonly SECRETS_KEYS: string }
  publish(scenarioId: string, definition: Json): Promise<void>
  /** A player that has started a scenario. */
  player(scenarioId: string, wallet?: Readonly<Record<string, bigint>>): Promise<WorldPlayer>
  close(): Promise<void>
}

export async function createWorld(databaseUrl: string): Promise<World> {
  await migrate(databaseUrl)
  const keys: TokenKey[] = [await generateTokenKey()]
  const tokens = await createTokens({ keys, issuer: 'tierway', audience: 'tierway' })
  const pool = createPool({ url: databaseUrl, connections: 8, onError: () => undefined })
  const groupPool = createPool({ url: databaseUrl, connections: 3, isForGroups: true, onError: () => undefined })
  // What a test prepares may wait for a busy machine longer than a player would.
  const writes = createGroupCommit({ pool: groupPool, deadlineMs: 60_000 })
  const { projectId, environments } = await createProject(pool, { name: 'World', environments: ['production'] })
  const environmentId = environments.get('production') ?? ''
  return {
    pool,
    environmentId,
    env: {
      DATABASE_URL: databaseUrl,
      TOKEN_KEYS: JSON.stringify(keys),
      SECRETS_KEYS: JSON.stringify([generateSecretsKey()]),
    },
    async publish(scenarioId, definition) {
      await publishScenario(pool, { environmentId, scenarioId }, print(definition))
    },
    async player(scenarioId, wallet = {}) {
      const ref = await writes.run(createPlayer(environmentId, null))
      for (const [currency, amount] of Object.entries(wallet)) {
        await writes.run(adjustWallet(ref, { currency, amount, reference: 'test' }))
      }
      const { runId } = await writes.run(startRun(ref, { scenarioId }))
      return { ...ref, runId, token: await tokens.issueAccessToken({ ...ref, projectId }) }
    },
    async close() {
      await writes.close()
      await groupPool.end()
      await pool.end()
    },
  }
}
