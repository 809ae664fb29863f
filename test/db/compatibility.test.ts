import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import { COMPATIBILITY, incompatibilityOf } from '../../src/db/compatibility.ts'
import { migrate, migrationNames } from '../../src/db/migrate.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { openPool } from '../harness/sql.ts'

let database: TestDatabase
let pool: pg.Pool
beforeEach(async () => {
  database = await createDatabase()
  pool = openPool(database.url)
})
afterEach(async () => {
  await pool.end()
  await database.drop()
})

describe('the compatibility number of the database', () => {
  it('is that of this version after its migrations', async () => {
    const { rows } = await pool.query('SELECT max(number) AS number FROM compatibility')
    expect(rows).toEqual([{ number: COMPATIBILITY }])
    expect(await incompatibilityOf(pool)).toBeUndefined()
  })

  it('lets this version run where it is missing, as before the first migration', async () => {
    await pool.query('DROP TABLE compatibility')
    expect(await incompatibilityOf(pool)).toBeUndefined()
  })

  it('is unknown to a build before 0.2.0, whose database is refused by its history', async () => {
    const [first] = await migrationNames()
    await pool.query('UPDATE _prisma_migrations SET migration_name = $1 WHERE migration_name = $2', ['older', first])
    await expect(migrate(database.url)).rejects.toThrow(
      'the database was made by a build before 0.2.0, and no version can migrate it: set DATABASE_URL to an empty one',
    )
    await expect(migrate(database.url, { folder: '/data/postgres' })).rejects.toThrow(
      'the database in /data/postgres was made by a build before 0.2.0, and no version can migrate it: remove it, with all that is in it: rm -r /data/postgres',
    )
  })

  it('names the version that the database needs once a later version has raised it, and forbids to migrate', async () => {
    await pool.query("INSERT INTO compatibility VALUES ($1, '7.0.0'), ($2, '8.2.0')", [
      COMPATIBILITY + 1,
      COMPATIBILITY + 2,
    ])
    const reason = `this is Tierway ${VERSION}, and the database needs 8.2.0 or later: start that version, or restore a backup from before the update`
    expect(await incompatibilityOf(pool)).toBe(reason)
    await pool.query('DELETE FROM _prisma_migrations')
    await expect(migrate(database.url)).rejects.toThrow(reason)
  })
})
