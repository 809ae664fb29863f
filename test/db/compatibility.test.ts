import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import { COMPATIBILITY, incompatibilityOf } from '../../src/db/compatibility.ts'
import { migrate } from '../../src/db/migrate.ts'
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
