import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'

/** The folder of the cluster: outside the data directory when the user of Postgres cannot enter it. */
export async function clusterOf(dataDir: string): Promise<string> {
  const record = await readFile(join(dataDir, 'postgres.json'), 'utf8').catch(() => '{}')
  return (JSON.parse(record) as { cluster?: string }).cluster ?? join(dataDir, 'postgres')
}

/** Removes a data directory, and its cluster when that is outside. */
export async function removeDataDir(dataDir: string): Promise<void> {
  const cluster = await clusterOf(dataDir)
  if (cluster.startsWith('/var/tmp/tierway-')) await rm(dirname(cluster), { recursive: true, force: true })
  await rm(dataDir, { recursive: true, force: true })
}

/** Stops the servers of killed runs, and removes their directories, which are named by prefix and process. */
export async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN
    if (!(pid > 0) || isAlive(pid)) continue
    const dataDir = join(parent, name)
    await startEmbeddedPostgres({ dataDir }).then(
      ({ stop }) => stop(),
      () => undefined,
    )
    // Another run may be removing it, too.
    await removeDataDir(dataDir).catch(() => undefined)
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
