import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate, pendingMigrations } from '../../src/db/migrate.ts'
import { createMigrations, type Migrations } from '../support/migrations.ts'

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
  expect(await pendingMigrations(pool, directory)).toEqual([FIRST])

  await migrate(pool, { directory })

  expect(await pendingMigrations(pool, directory)).toEqual([])
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

  await expect(migrate(pool, { directory })).rejects.toThrow(`migration ${SECOND} failed and was rolled back: no more`)
  expect((await pool.query('SELECT FROM marks')).rowCount).toBe(0)
  expect(await pendingMigrations(pool, directory)).toEqual([SECOND])

  await write(SECOND, 'INSERT INTO marks VALUES (1)')
  expect(await migrate(pool, { directory })).toEqual([SECOND])
  expect((await pool.query('SELECT FROM marks')).rowCount).toBe(1)
})

test('refuses a migration that was changed after it had been applied', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await migrate(pool, { directory })
  await write(FIRST, 'CREATE TABLE marks (mark bigint)')
  await write(SECOND, 'DROP TABLE marks')

  await expect(migrate(pool, { directory })).rejects.toThrow(
    `migration ${FIRST} was changed after it had been applied; write a new migration instead`,
  )
  expect(await pendingMigrations(pool, directory)).toEqual([SECOND])
})

test('lets an older version run on the database of a newer one', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await write(SECOND, 'ALTER TABLE marks ADD COLUMN colour text')
  await migrate(pool, { directory })
  await rm(join(directory, SECOND), { recursive: true })

  expect(await migrate(pool, { directory })).toEqual([])
  expect(await pendingMigrations(pool, directory)).toEqual([])
})

test('refuses a migration that Prisma began and left unfinished', async () => {
  await write(FIRST, 'CREATE TABLE marks (mark int)')
  await migrate(pool, { directory })
  await pool.query('UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1', [FIRST])

  await expect(migrate(pool, { directory })).rejects.toThrow(`migration ${FIRST} was begun by Prisma and not finished`)
  expect(await pendingMigrations(pool, directory)).toEqual([FIRST])
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
