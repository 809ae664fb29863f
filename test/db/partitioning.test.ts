import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId, timeOfId } from '../../src/db/ids.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createMigrations, type Migrations } from '../harness/migrations.ts'
import { openPool } from '../harness/sql.ts'
import { until } from '../harness/until.ts'

// How tables with rows become partitioned while earlier versions use them.

const DIRECTORY = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const names = (await readdir(DIRECTORY)).filter((name) => !name.endsWith('.toml')).sort()
const FIRST = '20261126160000_time_partitions'
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const PLAYER = '00000000-0000-7000-8000-000000000003'
const TABLES = ['events', 'login_log', 'wallet_ledger', 'xp_ledger']

let migrations: Migrations
let pool: pg.Pool
beforeEach(async () => {
  migrations = await createMigrations()
  ;({ pool } = migrations)
  await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  await upTo(FIRST)
})
afterEach(() => migrations.remove())

/** Applies the migrations before this one. */
async function upTo(name: string): Promise<void> {
  const { directory } = migrations
  for (const one of names.filter((one) => one < name))
    await cp(join(DIRECTORY, one), join(directory, one), { recursive: true })
  await migrate(migrations.url, { directory })
}

const grantSql = `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source, created_at)
  VALUES ('${ENVIRONMENT}', '${PLAYER}', $1, 'season', 'pass', '${PLAYER}', $2, 'match', $3)`
const grant = (id: string, amount: number, at = new Date()) => pool.query(grantSql, [id, amount, at])

describe('a table with rows', () => {
  it('becomes the first partition of its successor, with its rows, keys, checks and rights', async () => {
    const role = `tierway_test_reader_${process.pid}`
    await pool.query(`CREATE ROLE ${role}; GRANT SELECT ON xp_ledger, events TO ${role}`)
    try {
      const ids = [newId(), newId()]
      for (const [index, id] of ids.entries()) await grant(id, index + 1)
      const position = (n: number) =>
        pool.query(`INSERT INTO events (environment_id, position, type, player_id, data)
          VALUES ('${ENVIRONMENT}', ${n}, 'crossing', '${PLAYER}', '{}')`)
      await position(1)
      const before = await pool.query("SELECT relfilenode AS file FROM pg_class WHERE relname = 'xp_ledger'")

      await migrate(migrations.url)
      const after = await pool.query("SELECT relfilenode AS file FROM pg_class WHERE relname = 'xp_ledger_first'")
      expect(after.rows).toEqual(before.rows)
      const { rows } = await pool.query(
        'SELECT id, amount::int, tableoid::regclass::text AS part FROM xp_ledger ORDER BY id',
      )
      expect(rows).toEqual(ids.map((id, index) => ({ id, amount: index + 1, part: 'xp_ledger_first' })))
      await expect(grant(ids[0] ?? '', 1)).rejects.toMatchObject({ code: '23505' })
      await expect(grant(newId(), 0)).rejects.toMatchObject({ code: '23514', constraint: 'xp_ledger_amount_check' })
      await expect(position(1)).rejects.toMatchObject({ code: '23505' })
      await position(2)
      for (const table of ['xp_ledger', 'events']) {
        const { rows: rights } = await pool.query(
          `SELECT has_table_privilege('${role}', $1, 'SELECT') AS reads, has_table_privilege('${role}', $1, 'INSERT') AS writes`,
          [table],
        )
        expect(rights).toEqual([{ reads: true, writes: false }])
      }
    } finally {
      await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    }
  })

  it('gives a row whose id is of another version an id of its time', async () => {
    const at = new Date('2026-03-01T12:00:00Z')
    const foreign = ['f47ac10b-58cc-4372-a567-0e02b2c3d479', '00000000-58cc-4372-a567-0e02b2c3d479']
    for (const id of foreign) await grant(id, 5, at)
    await migrate(migrations.url)
    const { rows } = await pool.query('SELECT id, tableoid::regclass::text AS part FROM xp_ledger ORDER BY id')
    expect(rows.map(({ part }) => part)).toEqual(['xp_ledger_first', 'xp_ledger_first'])
    expect(rows[0].id).toBe(foreign[1])
    expect([timeOfId(rows[1].id), rows[1].id[14]]).toEqual([at, '7'])
  })

  it('takes writes all the while, also by statements that were prepared before', async () => {
    const writer = openPool(migrations.url, { max: 4, options: '-c lock_timeout=2000' })
    let isOver = false
    let written = 0
    let position = 0
    const playing = Array.from({ length: 3 }, async () => {
      while (!isOver) {
        await writer.query({ name: 'grant', text: grantSql, values: [newId(), 1, new Date()] })
        written += 1
      }
    })
    const streaming = (async () => {
      while (!isOver) {
        position += 1
        await writer.query({
          name: 'append',
          text: `INSERT INTO events (environment_id, position, type, player_id, data) VALUES ($1, $2, 'crossing', $3, '{}')`,
          values: [ENVIRONMENT, position, PLAYER],
        })
      }
    })()
    await until('there are rows', () => written > 50)
    await migrate(migrations.url)
    const during = written
    await until('it goes on', () => written > during + 50)
    isOver = true
    await Promise.all([...playing, streaming])
    await writer.end()
    const { rows } = await pool.query(
      'SELECT (SELECT count(*)::int FROM xp_ledger) AS grants, (SELECT count(*)::int FROM events) AS events',
    )
    expect(rows).toEqual([{ grants: written, events: position }])
  })

  it('goes on with the step at which an update ended, however often it ends', async () => {
    await grant(newId(), 1)
    for (const name of names.filter((name) => name > FIRST)) {
      await upTo(name)
      await grant(newId(), 1)
    }
    await migrate(migrations.url)
    const { rows } = await pool.query(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'p' AND relnamespace = 'public'::regnamespace ORDER BY 1",
    )
    expect(rows.map(({ name }) => name)).toEqual(TABLES)
  })

  it('is not read while it is locked: the bound is proven before', async () => {
    await grant(newId(), 1)
    await upTo('20261126161300')
    const client = new pg.Client({ connectionString: migrations.url })
    const said: (string | undefined)[] = []
    client.on('notice', ({ message }) => said.push(message))
    await client.connect()
    await client.query("SET client_min_messages = debug1; SELECT partition_table('xp_ledger', 'id')")
    await client.end()
    expect(said).toContain('partition constraint for table "xp_ledger_first" is implied by existing constraints')
  })
})
