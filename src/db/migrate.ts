import { hash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { requireCompatible } from './compatibility.ts'
import { sqlState } from './failures.ts'
import { type LockLookout, openLockLookout } from './lock-lookout.ts'
import { openClient, targetOf } from './pool.ts'

// Migrations have Prisma's form and use its table, so that its tools agree. Prisma's migrator is not used: it needs a
// native engine that is downloaded from outside the package registry.

/** Prisma's lock key, so that the two never migrate at once. */
const LOCK_KEY = 72_707_369
/** Longer than a migration waits for locks. */
const TURN_DEADLINE_MS = 60 * 60_000
const TURN_POLL_MS = 100
/** Half of what the service's statements wait: those that wait behind a migration outlast it. */
const LOCK_TIMEOUT_MS = 1_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
const GIVE_UP_MS = 10 * 60_000
const REPORT_EVERY_MS = 5_000
/** A lock that was not available in time, and a deadlock. */
const LOCK_FAULTS: ReadonlySet<string> = new Set(['55P03', '40P01'])
/** The first line of a migration that only builds or drops indexes, without blocking writes. */
const CONCURRENT = /^-- Runs outside a transaction\./
const CONNECT_TIMEOUT_MS = 10_000
const UNDEFINED_TABLE = '42P01'

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export interface MigrateOptions {
  /** In Prisma's form: `<time>_<name>/migration.sql`, applied in the order of the names. */
  readonly directory?: string
  /** The folder of the embedded database, for the advice of a refusal. */
  readonly folder?: string | null
  readonly onApplied?: (name: string) => void
  /** Called with a line for people while another session keeps the migration waiting. */
  readonly onWait?: OnWait
}

type OnWait = (line: string) => void
type LookFor = (client: pg.ClientBase) => Promise<LockLookout>

/**
 * Brings the database up to date, each migration in a transaction together with its record, or outside a transaction if
 * its first line says so. Returns the names of the applied ones. Each migration is applied once, even when many processes
 * start at once. Refuses a database that is not in UTF-8 or was made by a build before the first migration, a migration
 * that was edited after it was applied, and one that Prisma left unfinished. Leaves unknown migrations alone, so that an
 * older instance runs beside a newer one during a rolling update, unless the database needs a later version.
 */
export async function migrate(
  database: pg.Pool | string,
  { directory = MIGRATIONS, folder = null, onApplied = () => {}, onWait = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const lookFor: LookFor = async (client) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return openLockLookout(targetFor(database), rows[0]?.pid ?? 0)
  }
  return withConnection(database, async (client) => {
    // Migrations may take longer than any statement of the service.
    await client.query("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)")
    await requireUtf8(client)
    await takeTurn(client, onWait)
    await requireCompatible(client, folder)
    await client.query(CREATE_TABLE)
    const applied = await readApplied(client)
    const names: string[] = []
    for (const migration of migrations) {
      const record = applied.get(migration.name)
      if (record === undefined) {
        const run = CONCURRENT.test(migration.sql) ? applyConcurrently : apply
        await run(client, migration, lookFor, onWait)
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

/** Those of the migrations that the database has not applied yet. */
export async function pendingMigrations(pool: pg.Pool, names: readonly string[]): Promise<string[]> {
  const applied = await readApplied(pool).catch((error) => {
    if (sqlState(error) === UNDEFINED_TABLE) return new Map<string, AppliedMigration>()
    throw error
  })
  return names.filter((name) => !applied.get(name)?.finished)
}

/** The names of the migrations in their order. */
export async function migrationNames(directory = MIGRATIONS): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

/** Runs on a dedicated connection. Its end releases the lock and the settings. */
async function withConnection<T>(database: pg.Pool | string, task: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await openClient(targetFor(database))
  try {
    return await task(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

function targetFor(database: pg.Pool | string): pg.ClientConfig {
  const target = typeof database === 'string' ? targetOf({ url: database }) : database.options
  // No time limit for queries: the pool's limit is for the service's statements.
  return { ...target, query_timeout: 0, connectionTimeoutMillis: CONNECT_TIMEOUT_MS }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames(directory)).map(async (name) => {
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
async function takeTurn(client: pg.ClientBase, onWait: OnWait): Promise<void> {
  const deadline = performance.now() + TURN_DEADLINE_MS
  for (let reportAt = performance.now() + REPORT_EVERY_MS; ; ) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK_KEY])
    if (rows[0]?.locked) return
    const now = performance.now()
    if (now > deadline) throw new Error('another process has been migrating this database for an hour; is it stuck?')
    if (now > reportAt) {
      onWait('another process is migrating the database; this one waits for it')
      reportAt = now + REPORT_EVERY_MS
    }
    await delay(TURN_POLL_MS)
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

/**
 * Waits for locks only shortly: while a statement waits for a table, all later ones on that table wait behind it. So a
 * reader that takes long, such as pg_dump, delays the migration, and never the game.
 */
async function apply(client: pg.ClientBase, migration: Migration, lookFor: LookFor, onWait: OnWait): Promise<void> {
  const started = performance.now()
  let seen = 'a lock'
  for (let attempt = 0; ; attempt += 1) {
    const lookout = await lookFor(client)
    try {
      await applyOnce(client, migration)
      return
    } catch (cause) {
      seen = lookout.seen ?? seen
      const isLocked = LOCK_FAULTS.has(String((cause as { code?: unknown }).code))
      const waited = performance.now() - started
      if (!isLocked || waited > GIVE_UP_MS) {
        const what = isLocked ? `could not get ${seen}` : messageOf(cause)
        throw new Error(`migration ${migration.name} failed and was rolled back: ${what}`, { cause })
      }
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS)
      onWait(`migration ${migration.name} waits for ${seen}; it tries again in ${pauseMs / 1000} s`)
      await delay(pauseMs)
    } finally {
      lookout.close()
    }
  }
}

async function applyOnce(client: pg.ClientBase, migration: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await client.query(migration.sql)
    await record(client, migration)
    await client.query('COMMIT')
  } catch (error) {
    // When the connection is gone, so is the transaction, and the cause says more.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Runs the statements of a migration about indexes one by one. They wait for earlier transactions, and nobody waits for
 * them. What is there already is kept, so that a migration that was interrupted continues.
 */
async function applyConcurrently(
  client: pg.ClientBase,
  migration: Migration,
  lookFor: LookFor,
  onWait: OnWait,
): Promise<void> {
  const lookout = await lookFor(client)
  const reporting = setInterval(() => {
    if (lookout.seen) onWait(`migration ${migration.name} waits for ${lookout.seen}`)
  }, REPORT_EVERY_MS)
  try {
    for (const { sql, index } of concurrentStatements(migration)) {
      // An interrupted build leaves an index that is not used.
      const { rows } = await client.query(
        'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
        [index],
      )
      if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
      await client.query(sql)
    }
    await record(client, migration)
  } catch (cause) {
    throw new Error(`migration ${migration.name} failed, and will go on where it ended: ${messageOf(cause)}`, { cause })
  } finally {
    clearInterval(reporting)
    lookout.close()
  }
}

/** Throws for a statement that must not run outside a transaction: it could be done by half. */
function concurrentStatements({ name, sql }: Migration): { readonly sql: string; readonly index: string }[] {
  const statements = sql.replaceAll(/^\s*--.*$/gm, '').split(/;\s*$/m)
  return statements.flatMap((text) => {
    const statement = text.trim()
    if (statement === '') return []
    const [, index] =
      /^(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS|DROP INDEX CONCURRENTLY IF EXISTS) ("\w+")/.exec(
        statement,
      ) ?? []
    if (index) return [{ sql: statement, index }]
    throw new Error(
      `migration ${name} runs outside a transaction: each statement must begin with CREATE INDEX CONCURRENTLY IF NOT EXISTS "name" or DROP INDEX CONCURRENTLY IF EXISTS "name"`,
    )
  })
}

async function record(client: pg.ClientBase, { name, checksum }: Migration): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  )
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
