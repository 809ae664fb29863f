import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Client, Pool, PoolClient } from 'pg'

// Migrations stay in Prisma's own form and its own table, so that its tools agree with what we did. Its migrator is not
// used: it needs a native engine that is downloaded from outside the package registry.

/** The same key that Prisma locks, so that the two never migrate at once. */
const LOCK_KEY = 72_707_369
const LOCK_DEADLINE_MS = 60_000
const LOCK_POLL_MS = 100

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export interface MigrateOptions {
  readonly directory?: string
  readonly onApplied?: (name: string) => void
}

/**
 * Brings the database up to date, each migration in a transaction together with its record. However many processes
 * start at once, each migration is applied once. A migration that was edited after it was applied is refused; ones that
 * this version does not know are left alone, so that an older instance runs beside a newer during a rolling update.
 */
export async function migrate(pool: Pool, { directory = MIGRATIONS, onApplied = () => {} }: MigrateOptions = {}): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const client = await pool.connect()
  try {
    // Migrations may take longer than any statement of the service.
    await client.query("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)")
    await lock(client)
    await client.query(CREATE_TABLE)
    const applied = await readApplied(client)
    const names: string[] = []
    for (const migration of migrations) {
      const checksum = applied.get(migration.name)
      if (checksum === undefined) {
        await apply(client, migration)
        names.push(migration.name)
        onApplied(migration.name)
      } else if (checksum !== migration.checksum) {
        throw new Error(`migration ${migration.name} was changed after it had been applied; write a new migration instead`)
      }
    }
    return names
  } finally {
    // The connection ends here, and with it the lock and the settings.
    client.release(true)
  }
}

/** The migrations that have not been applied yet. */
export async function pendingMigrations(pool: Pool, directory = MIGRATIONS): Promise<string[]> {
  const { rows } = await pool.query<{ exists: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`)
  const applied = rows[0]?.exists ? await readApplied(pool) : new Map<string, string>()
  return (await readMigrations(directory)).flatMap(({ name }) => (applied.has(name) ? [] : [name]))
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${directory}/${name}/migration.sql`)
      return { name, sql: sql.toString(), checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/** Polled: a session that waits inside Postgres for this lock would block `CREATE INDEX CONCURRENTLY` in its holder. */
async function lock(client: PoolClient): Promise<void> {
  const deadline = Date.now() + LOCK_DEADLINE_MS
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK_KEY])
    if (rows[0]?.locked) return
    if (Date.now() > deadline) throw new Error('another process has been migrating this database for a minute; is it stuck?')
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS))
  }
}

async function readApplied(client: Pick<Client, 'query'>): Promise<Map<string, string>> {
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  )
  return new Map(rows.map((row) => [row.migration_name, row.checksum]))
}

async function apply(client: PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK')
    throw new Error(`migration ${name} failed and was rolled back: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL,
  checksum varchar(64) NOT NULL,
  finished_at timestamptz,
  migration_name varchar(255) NOT NULL,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`
