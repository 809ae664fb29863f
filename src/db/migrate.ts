import { hash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { requireCompatible } from './compatibility.ts'

// Migrations have Prisma's form and use its table, so that its tools agree. Prisma's migrator is not used: it needs a
// native engine that is downloaded from outside the package registry.

/** Prisma's lock key, so that the two never migrate at once. */
const LOCK_KEY = 72_707_369
const LOCK_DEADLINE_MS = 60_000
const LOCK_POLL_MS = 100
const CONNECT_TIMEOUT_MS = 10_000

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export interface MigrateOptions {
  /** In Prisma's form: `<time>_<name>/migration.sql`, applied in the order of the names. */
  readonly directory?: string
  readonly onApplied?: (name: string) => void
}

/**
 * Brings the database up to date, each migration in a transaction together with its record. Returns the names of the
 * applied ones. Each migration is applied once, even when many processes start at once. Refuses a database that is not
 * in UTF-8, a migration that was edited after it was applied, and one that Prisma left unfinished. Leaves unknown
 * migrations alone, so that an older instance runs beside a newer one during a rolling update, unless the database needs
 * a later version.
 */
export async function migrate(
  database: pg.Pool | string,
  { directory = MIGRATIONS, onApplied = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(directory)
  return withConnection(database, async (client) => {
    // Migrations may take longer than any statement of the service.
    await client.query("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)")
    await requireUtf8(client)
    await lock(client)
    await requireCompatible(client)
    await client.query(CREATE_TABLE)
    const applied = await readApplied(client)
    const names: string[] = []
    for (const migration of migrations) {
      const record = applied.get(migration.name)
      if (record === undefined) {
        await apply(client, migration)
        names.push(migration.name)
        onApplied(migration.name)
      } else if (!record.finished) {
        throw new Error(
          `migration ${migration.name} was begun by Prisma and not finished; see \`prisma migrate resolve\` of Prisma 7`,
        )
      } else if (record.checksum !== migration.checksum) {
        throw new Error(
          `migration ${migration.name} was changed after it had been applied; write a new migration instead`,
        )
      }
    }
    return names
  })
}

/** The migrations that are not applied yet. */
export async function pendingMigrations(pool: pg.Pool, directory = MIGRATIONS): Promise<string[]> {
  const { rows } = await pool.query<{ exists: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`,
  )
  const applied = rows[0]?.exists ? await readApplied(pool) : new Map<string, AppliedMigration>()
  return (await readMigrations(directory)).flatMap(({ name }) => (applied.get(name)?.finished ? [] : [name]))
}

/** Runs on a dedicated connection. Its end releases the lock and the settings. */
async function withConnection<T>(database: pg.Pool | string, task: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const target = typeof database === 'string' ? { connectionString: database } : database.options
  // No time limit for queries: the pool's limit is for the service's statements.
  const client = new pg.Client({ ...target, query_timeout: 0, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  // The query on a broken connection fails by itself. An unhandled event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await task(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${directory}/${name}/migration.sql`)
      return { name, sql: sql.toString(), checksum: hash('sha256', sql) }
    }),
  )
}

/** Other encodings lack letters of players' names, or do not know which characters are letters. */
async function requireUtf8(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding")
  const [{ encoding } = { encoding: '' }] = rows
  if (encoding !== 'UTF8') {
    throw new Error(
      `the database is encoded in ${encoding}, and Tierway needs UTF8: make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    )
  }
}

/**
 * Polled: a session that waits inside Postgres for this lock would block a `CREATE INDEX CONCURRENTLY` of its holder.
 */
async function lock(client: pg.ClientBase): Promise<void> {
  const deadline = performance.now() + LOCK_DEADLINE_MS
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK_KEY])
    if (rows[0]?.locked) return
    if (performance.now() > deadline)
      throw new Error('another process has been migrating this database for a minute; is it stuck?')
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS))
  }
}

interface AppliedMigration {
  readonly checksum: string
  readonly finished: boolean
}

async function readApplied(client: Pick<pg.ClientBase, 'query'>): Promise<Map<string, AppliedMigration>> {
  const { rows } = await client.query<AppliedMigration & { name: string }>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  )
  return new Map(rows.map(({ name, checksum, finished }) => [name, { checksum, finished }]))
}

async function apply(client: pg.ClientBase, { name, sql, checksum }: Migration): Promise<void> {
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
    // When the connection is gone, so is the transaction, and the cause says more.
    await client.query('ROLLBACK').catch(() => undefined)
    throw new Error(`migration ${name} failed and was rolled back: ${messageOf(cause)}`, { cause })
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

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
