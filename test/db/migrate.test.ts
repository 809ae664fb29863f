import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate, migrationNames, pendingMigrations } from '../../src/db/migrate.ts'
import { createMigrations, type Migrations } from '../harness/migrations.ts'
import { until } from '../harness/until.ts'

const FIRST = '20200101000000_first'
const SECOND = '20200102000000_second'

let migrations: Migrations
let pool: pg.Pool
let directory: string

beforeEach(async () => {
  migrations = await createMigrations()
  ;({ pool, directory } = migrations)
})
afterEach(() => migrations.remove())

async function write(name: string, sql: string): Promise<void> {
  await mkdir(join(directory, name), { recursive: true })
  await writeFile(join(directory, name, 'migration.sql'), sql)
}

async function readRecords(): Promise<Record<string, unknown>[]> {
  const { rows } = await pool.query(
    'SELECT * FROM _prisma_migrations WHERE migration_name = ANY ($1) ORDER BY migration_name',
    [[FIRST, SECOND]],
  )
  return rows
}

test('applies each migration once, in order, when eight migrators start at once', async () => {
  await write(SECOND, 'INSERT INTO marks VALUES (2)')
  await write(FIRST, 'CREATE TABLE marks (mark int); INSERT INTO marks VALUES (1); SELECT pg_sleep(0.1)')

  const applied = await Promise.all(Array.from({ length: 8 }, () => migrate(migrations.url, { directory })))

  expect(applied.flat()).toEqual([FIRST, SECOND])
  expect((await pool.query('SELECT mark FROM marks')).rows).toEqual([{ mark: 1 }, { mark: 2 }])
  expect(await readRecords()).toHaveLength(2)
})

test("records a migration as Prisma's own migrator does", async () => {
  const sql = '-- Größe\nCREATE TABLE sizes ();\n'
  await write(FIRST, sql)
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([FIRST])

  await migrate(migrations.url, { directory })

  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([])
  expect(await readRecords()).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      checksum: createHash('sha256').update(sql).digest('hex'),
      finished_at: expect.any(Date),
      migration_name: FIRST,
      logs: null,
      rolled_back_at: null,
      started_at: expect.any(Date),
      applied_steps_count: 1,
    },
  ])
})

test('leaves nothing of a migration that fails, keeps those before it, and applies it once it is fixed', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await write(SECOND, "INSERT INTO marks VALUES (1); DO $$ BEGIN RAISE EXCEPTION 'no more'; END $$")

  await expect(migrate(migrations.url, { directory })).rejects.toThrow(
    `migration ${SECOND} failed and was rolled back: no more`,
  )
  expect((await pool.query('SELECT FROM marks')).rowCount).toBe(0)
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([SECOND])

  await write(SECOND, 'INSERT INTO marks VALUES (1)')
  expect(await migrate(migrations.url, { directory })).toEqual([SECOND])
  expect((await pool.query('SELECT FROM marks')).rowCount).toBe(1)
})

/** A session that has read a table and goes on, such as pg_dump. Closing it ends the session. */
async function openReader(sql: string): Promise<pg.Client> {
  const reader = new pg.Client({ connectionString: migrations.url, application_name: 'long reader' })
  await reader.connect()
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query(sql)
  return reader
}

test('waits for a reader of its table without keeping others from writing, and names the reader', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await migrate(migrations.url, { directory })
  await write(SECOND, 'ALTER TABLE marks ADD COLUMN colour text')
  const reader = await openReader('SELECT FROM marks')
  const lines: string[] = []
  const migrated = migrate(migrations.url, { directory, onWait: (line) => lines.push(line) })
  let writes = 0
  while (lines.length < 2) {
    // As the statements of the service, which end with an error if they wait for two seconds.
    await pool.query("BEGIN; SET LOCAL lock_timeout = '2s'; INSERT INTO marks VALUES (1); COMMIT")
    writes += 1
  }
  expect(writes).toBeGreaterThan(2)
  const { rows } = await reader.query('SELECT pg_backend_pid() AS pid, current_user AS role')
  const held = `marks, held by long reader of role ${rows[0].role} \\(pid ${rows[0].pid}\\) for \\d+ s`
  expect(lines[1]).toMatch(new RegExp(`^migration ${SECOND} waits for ${held}; it tries again in 2 s$`))
  await reader.end()
  expect(await migrated).toEqual([SECOND])
})

test('builds indexes without blocking writes, and goes on with one that was interrupted', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int); INSERT INTO marks VALUES (1), (1)')
  await migrate(migrations.url, { directory })
  const build = 'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "marks_idx" ON "marks" ("mark");'
  const drop = 'DROP INDEX CONCURRENTLY IF EXISTS "old_idx";'
  await write(SECOND, `-- Runs outside a transaction.\n${build}\n-- Why.\n${drop}\n`)
  await expect(migrate(migrations.url, { directory })).rejects.toThrow(
    `migration ${SECOND} failed, and will go on where it ended: could not create unique index "marks_idx"`,
  )
  const isValid = async () =>
    (await pool.query("SELECT indisvalid FROM pg_index WHERE indexrelid = 'marks_idx'::regclass")).rows
  expect(await isValid()).toEqual([{ indisvalid: false }])

  await pool.query('TRUNCATE marks')
  const reader = await openReader('SELECT FROM marks')
  let isMigrated = false
  const migrated = migrate(migrations.url, { directory }).finally(() => {
    isMigrated = true
  })
  await until('the build waits for the reader', async () => {
    const { rows } = await pool.query(
      "SELECT FROM pg_stat_activity r JOIN pg_stat_activity w ON r.pid = ANY (pg_blocking_pids(w.pid)) WHERE r.application_name = 'long reader'",
    )
    return rows.length > 0
  })
  await pool.query("SET lock_timeout = '2s'; INSERT INTO marks VALUES (2)")
  expect(isMigrated).toBe(false)
  await reader.end()
  expect(await migrated).toEqual([SECOND])
  expect(await isValid()).toEqual([{ indisvalid: true }])
})

test.each([
  ['another statement', 'INSERT INTO marks VALUES (1);'],
  ['an index that blocks writes', 'CREATE INDEX "marks_idx" ON "marks" ("mark");'],
  ['an index that may exist', 'CREATE INDEX CONCURRENTLY "marks_idx" ON "marks" ("mark");'],
])('refuses %s outside a transaction, and changes nothing', async (_what, sql) => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await write(SECOND, `-- Runs outside a transaction.\nDROP INDEX CONCURRENTLY IF EXISTS "old_idx";\n${sql}\n`)
  await expect(migrate(migrations.url, { directory })).rejects.toThrow(
    `migration ${SECOND} runs outside a transaction: each`,
  )
  expect((await pool.query('SELECT FROM marks')).rowCount).toBe(0)
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([SECOND])
})

test('refuses a migration that was changed after it had been applied', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await migrate(migrations.url, { directory })
  await write(FIRST, 'CREATE TABLE marks (mark bigint)')
  await write(SECOND, 'DROP TABLE marks')

  await expect(migrate(migrations.url, { directory })).rejects.toThrow(
    `migration ${FIRST} was changed after it had been applied; write a new migration instead`,
  )
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([SECOND])
})

test('lets an older version run on the database of a newer one', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await write(SECOND, 'ALTER TABLE marks ADD COLUMN colour text')
  await migrate(migrations.url, { directory })
  await rm(join(directory, SECOND), { recursive: true })

  expect(await migrate(migrations.url, { directory })).toEqual([])
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([])
})

test('refuses a migration that Prisma began and left unfinished', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await migrate(migrations.url, { directory })
  await pool.query('UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1', [FIRST])

  await expect(migrate(migrations.url, { directory })).rejects.toThrow(
    `migration ${FIRST} was begun by Prisma and not finished`,
  )
  expect(await pendingMigrations(pool, await migrationNames(directory))).toEqual([FIRST])
})

test('refuses a database that is not in UTF-8', async () => {
  const database = `tierway_test_latin_${randomBytes(8).toString('hex')}`
  await pool.query(`CREATE DATABASE ${database} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
  const url = new URL(migrations.url)
  url.pathname = `/${database}`
  try {
    await expect(migrate(url.href)).rejects.toThrow('the database is encoded in LATIN1, and Tierway needs UTF8')
  } finally {
    await pool.query(`DROP DATABASE ${database} WITH (FORCE)`)
  }
})
