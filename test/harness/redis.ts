import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { without } from './needs.ts'
import { until } from './until.ts'

const ATTEMPTS = 20

/** A Redis of one test, without persistence. The test can break it. */
export interface RedisServer {
  readonly url: string
  /** Ends it at once, as when its machine fails. */
  kill(): Promise<void>
  /** Starts it again after a kill, on the same port, without subscribers. */
  restart(): Promise<void>
  /** It keeps its connections, accepts new ones, and answers nothing. */
  freeze(): void
  thaw(): void
  ask(command: string, ...args: string[]): Promise<unknown>
  remove(): Promise<void>
}

/** Why tests with Redis cannot run here, as a prefix of their titles; an empty text when they can. */
export const withoutRedis: string = without('redis-server')

/** Arguments of `redis-server`, besides its place. */
export async function startRedis(...more: readonly string[]): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'tierway-redis-'))
  let port = 0
  let server: Running | undefined
  for (let attempt = 1; attempt <= ATTEMPTS && !server; attempt += 1) {
    port = await freePort()
    server = await launch(port, directory, more)
  }
  if (!server) throw new Error(`redis-server found no free port in ${ATTEMPTS} attempts`)
  const url = `redis://127.0.0.1:${port}`

  async function kill(): Promise<void> {
    await server?.kill()
    server = undefined
  }

  return {
    url,
    kill,
    async restart() {
      server = await launch(port, directory, more)
      if (!server) throw new Error(`redis-server could not listen on port ${port} again`)
    },
    freeze: () => void server?.child.kill('SIGSTOP'),
    thaw: () => void server?.child.kill('SIGCONT'),
    async ask(command, ...args) {
      const client = new Redis(url)
      try {
        return await client.call(command, ...args)
      } finally {
        client.disconnect()
      }
    },
    async remove() {
      await kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

interface Running {
  readonly child: ChildProcess
  kill(): Promise<void>
}

/** Resolves once it listens, or with undefined when it has ended because the port is taken. */
async function launch(port: number, directory: string, more: readonly string[]): Promise<Running | undefined> {
  const args = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    directory,
    ...more,
  ]
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  let ended = false
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => {
      ended = true
      resolve()
    })
  })
  const guard = guardOf(child, directory)
  await until('Redis is ready', () => ended || output.includes('Ready to accept connections'))
  if (ended) {
    guard.kill('SIGKILL')
    return undefined
  }
  return {
    child,
    async kill() {
      child.kill('SIGKILL')
      await exited
      guard.kill('SIGKILL')
    },
  }
}

/** Ends the server when this process ends in any way, which closes the standard input of the guard. */
function guardOf({ pid }: ChildProcess, directory: string): ChildProcess {
  const script = 'read _; kill -9 "$1"; rm -rf "$2"'
  return spawn('sh', ['-c', script, 'sh', String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In its own process group, so that a signal to this process does not end it, too.
    detached: true,
  })
}
