import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createDatabase } from './database.ts'

/** A database, and an empty directory for migrations of the test's own. */
export interface Migrations {
  readonly url: string
  readonly pool: pg.Pool
  readonly directory: string
  remove(): Promise<void>
}

export async function createMigrations(): Promise<Migrations> {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  // The database may be dropped before a connection that was ended has said goodbye.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const directory = await mkdtemp(join(tmpdir(), 'tierway-migrations-'))
  return {
    url: database.url,
    pool,
    directory,
    async remove() {
      await pool.end()
      await database.drop()
      await rm(directory, { recursive: true })
    },
  }
}
