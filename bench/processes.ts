import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Service, SHIPPED, spawnService, stopService, type World } from '../test/harness/service.ts'
import { until } from '../test/harness/until.ts'
import { clearNote } from './report.ts'

// The processes of the benchmark. They are stopped at its end.

/** The options of `npm start`, which the benchmark gives to every server. */
export const NODE_OPTIONS = '--max-semi-space-size=64'
/** Calls are counted, but no player exceeds the limit, not even one hot player. */
const RATE_LIMITS = 'player=1000000000/s,graphql=1000000000/s'
/** Counted, but never reached: all listeners have one address and one key. */
const CONNECTION_LIMITS = 'connections=1000000,sockets=1000000,caller_sockets=1000000,caller_subscriptions=1000000'

const cleanUps: (() => unknown)[] = []

export function onEnd(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp)
}

/** Runs all clean-ups in the opposite order, even when one fails. */
async function cleanUp(): Promise<void> {
  for (const undo of cleanUps.splice(0).reverse()) await undo()
}

/** Runs a benchmark, prints why it failed, cleans up, and ends the process. */
export async function runToEnd(benchmark: () => Promise<void>): Promise<never> {
  try {
    await benchmark()
  } catch (error) {
    clearNote()
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  } finally {
    await cleanUp()
  }
  // An open handle must not keep the process alive.
  process.exit()
}

export interface Server {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/** Starts the service as `npm start` does. Resolves when it is ready. */
export async function startInstance({ env }: World, others: Readonly<Record<string, string>> = {}): Promise<Server> {
  const service: Service = spawnService(
    { ...env, NODE_OPTIONS, RATE_LIMITS, CONNECTION_LIMITS, ...others },
    undefined,
    SHIPPED,
  )
  onEnd(() => stopService(service))
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined)
  if (service.exit) throw new Error(`the service ended:\n${service.output}`)
  return { port: Number(new URL(service.baseUrl).port), pid: pidOf(service.child), stop: () => stopService(service) }
}

/** Starts a server from a file of this directory. It receives its set-up, if any, and answers with its port. */
export async function startServer(
  file: string,
  env: Readonly<Record<string, string>>,
  setup?: object,
): Promise<Server> {
  const child = startProcess(file, { NODE_ENV: 'production', NODE_OPTIONS, ...env })
  if (setup) child.send(setup)
  const [{ port }] = await Promise.race([once(child, 'message'), lossOf(child, file)])
  return { port, pid: pidOf(child), stop: () => stop(child) }
}

export function startProcess(file: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  // JavaScript files run without a compiler.
  const options = file.endsWith('.mjs') ? { execArgv: [] } : {}
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, { ...options, env: { PATH: process.env.PATH, ...env } })
  onEnd(() => stop(child))
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** Rejects when the process ends. */
export function lossOf(child: ChildProcess, name: string): Promise<never> {
  const lost = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`${name} ended with ${signal ?? code}`)))
  })
  // Awaited only during a request to the process.
  lost.catch(() => {})
  return lost
}

export function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process did not start')
  return pid
}

/** The peers have packages of their own, so that the service needs none of them. */
export async function installPeers(): Promise<void> {
  const directory = fileURLToPath(new URL('peers', import.meta.url))
  const changed = (path: string) =>
    stat(`${directory}/${path}`).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
  // npm's own record of the installed packages.
  if ((await changed('node_modules/.package-lock.json')) >= (await changed('package-lock.json'))) return
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory })
}
