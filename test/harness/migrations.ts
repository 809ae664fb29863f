import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { createDatabase } from './database.ts'
import { openPool } from './sql.ts'

/** A database, and an empty directory for the migrations of the test. */
export interface Migrations {
  readonly url: string
  readonly pool: pg.Pool
  readonly directory: string
  remove(): Promise<void>
}

export async function createMigrations(): Promise<Migrations> {
  const database = await createDatabase()
  const pool = openPool(database.url)
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
