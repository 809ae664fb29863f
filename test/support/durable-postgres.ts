import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { until } from './until.ts'

const PREFIX = 'tierway-durable-'

/** A Postgres of the test's own that writes to the disk what it promises, and that the test may hurt. */
export interface DurablePostgres {
  readonly url: string
  /** The immediate shutdown: no checkpoint, every session broken, recovery at the next start. */
  crash(): Promise<void>
  /** After a crash, on the same port. */
  restart(): Promise<void>
  /** Stops all its processes where they stand (Linux only). */
  freeze(): Promise<void>
  thaw(): Promise<void>
  remove(): Promise<void>
}

export async function startDurablePostgres(): Promise<DurablePostgres> {
  await removeAbandoned()
  const dataDir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  // Under root, Postgres runs as another user, who must be able to pass.
  await chmod(dataDir, 0o711)
  let server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir })
  const { url } = server
  const cluster = await clusterOf(dataDir)
  let frozen: number[] = []

  async function postmaster(): Promise<number> {
    return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0])
  }

  async function thaw(): Promise<void> {
    for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT')
  }

  return {
    url,
    thaw,
    async crash() {
      const pid = await postmaster()
      signal(pid, 'SIGQUIT')
      await until('Postgres has ended', () => !isAlive(pid))
      await server.stop()
    },
    async restart() {
      server = await startEmbeddedPostgres({ dataDir, port: Number(new URL(url).port) })
    },
    async freeze() {
      const pid = await postmaster()
      // The parent first, so that no child escapes.
      signal(pid, 'SIGSTOP')
      const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)
      for (const child of children) signal(child, 'SIGSTOP')
      frozen = [pid, ...children]
    },
    async remove() {
      await thaw()
      await server.stop()
      await removeDataDir(dataDir)
    },
  }
}

/** Where a data directory's cluster lies: elsewhere, when the user of Postgres cannot get there. */
async function clusterOf(dataDir: string): Promise<string> {
  const record = await readFile(join(dataDir, 'postgres.json'), 'utf8').catch(() => '{}')
  return (JSON.parse(record) as { cluster?: string }).cluster ?? join(dataDir, 'postgres')
}

async function removeDataDir(dataDir: string): Promise<void> {
  const cluster = await clusterOf(dataDir)
  if (cluster.startsWith('/var/tmp/tierway-')) await rm(dirname(cluster), { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
}

/** Ends the servers of runs that were killed, and removes what they left. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN
    if (!(pid > 0) || isAlive(pid)) continue
    const dataDir = join(tmpdir(), name)
    await startEmbeddedPostgres({ dataDir }).then(
      ({ stop }) => stop(),
      () => undefined,
    )
    await removeDataDir(dataDir)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
