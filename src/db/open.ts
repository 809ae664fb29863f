import type { Pool } from 'pg'
import { type Config, ConfigError } from '../base/config.ts'
import { startEmbeddedPostgres } from './embedded.ts'
import { faultOfFiles } from './embedded-fault.ts'
import { DataDirError } from './embedded-home.ts'
import { migrate } from './migrate.ts'
import { createPool } from './pool.ts'

export interface Database {
  readonly url: string
  readonly ca: string | null
  /** The folder of an embedded server's database; null for another server. */
  readonly folder: string | null
  /** Stops an embedded server, unless another process uses it. Returns whether one does. */
  stop(): Promise<{ readonly inUse: boolean }>
}

/** The configured database, or the embedded Postgres without one. */
export async function openDatabase(
  { databaseUrl, databaseCa, dataDir }: Config,
  onProgress?: (message: string) => void,
): Promise<Database> {
  if (databaseUrl !== null)
    return { url: databaseUrl, ca: databaseCa, folder: null, stop: async () => ({ inUse: false }) }
  const { url, folder, stop } = await startEmbeddedPostgres({ dataDir, ...(onProgress && { onProgress }) }).catch(
    async (error) => {
      if (error instanceof DataDirError) throw new ConfigError([`TIERWAY_DATA_DIR: ${error.message}`])
      throw (await faultOfFiles(error, dataDir)) ?? error
    },
  )
  return { url, ca: null, folder, stop }
}

/** Uses the database of a running service; without one, starts the embedded Postgres and stops it afterwards. */
export async function withDatabase<T>(
  config: Config,
  work: (pool: Pool, database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config)
  const pool = createPool({ ...database, connections: 4, onError: () => {} })
  try {
    if (database.folder !== null) await migrate(pool, { folder: database.folder })
    return await work(pool, database)
  } finally {
    await pool.end()
    await database.stop()
  }
}
