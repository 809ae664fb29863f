import { chmod, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { clusterOf, isAlive, removeAbandoned, removeDataDir } from './data-dir.ts'
import { until } from './until.ts'

const PREFIX = 'tierway-durable-'

/** A Postgres of one test with fsync on, which the test can crash. */
export interface DurablePostgres {
  readonly url: string
  /** The id of the process that started all others. */
  postmaster(): Promise<number>
  /** The immediate shutdown: no checkpoint, every session broken, recovery at the next start. */
  crash(): Promise<void>
  /** Starts it again after a crash, on the same port. */
  restart(): Promise<void>
  remove(): Promise<void>
}

export async function startDurablePostgres(
  settings: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<DurablePostgres> {
  await removeAbandoned(tmpdir(), PREFIX)
  const dataDir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o711)
  let server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir, settings, env })
  const { url } = server
  const cluster = await clusterOf(dataDir)

  const postmaster = async () => Number.parseInt(await readFile(join(cluster, 'postmaster.pid'), 'utf8'), 10)

  return {
    url,
    postmaster,
    async crash() {
      const pid = await postmaster()
      process.kill(pid, 'SIGQUIT')
      await until('Postgres has ended', () => !isAlive(pid))
      await server.stop()
    },
    async restart() {
      server = await startEmbeddedPostgres({ dataDir, settings, env, port: Number(new URL(url).port) })
    },
    async remove() {
      await server.stop()
      await removeDataDir(dataDir)
    },
  }
}
