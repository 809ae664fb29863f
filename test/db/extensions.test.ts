import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nicknameSearchOf, searchPlayers } from '../../src/accounts/lists/search-players.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createMigrations, type Migrations } from '../harness/migrations.ts'
import { openPool } from '../harness/sql.ts'

const PROJECT = '00000000-0000-7000-8000-000000000001'
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const PLAYER = '00000000-0000-7000-8000-000000000003'

let migrations: Migrations
beforeEach(async () => {
  migrations = await createMigrations()
})
afterEach(() => migrations.remove())

test('nicknames are found by prefix where the role cannot create extensions, and by any part once these exist', async () => {
  const { pool } = migrations
  const [role, password] = [`tierway_test_${randomBytes(8).toString('hex')}`, randomBytes(16).toString('hex')]
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
  await pool.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION ${role}`)
  const url = Object.assign(new URL(migrations.url), { username: role, password })
  const own = openPool(url.href)
  try {
    await migrate(url.href)
    await pool.query('INSERT INTO projects (id, name) VALUES ($1, $2)', [PROJECT, 'Studio'])
    await pool.query('INSERT INTO environments (id, project_id, name) VALUES ($1, $2, $3)', [
      ENVIRONMENT,
      PROJECT,
      'production',
    ])
    await pool.query('INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, $3)', [
      ENVIRONMENT,
      PLAYER,
      'Señor Dragón',
    ])
    const find = async (text: string) => {
      const search = { environmentId: ENVIRONMENT, text }
      const { positions } = await searchPlayers(own, search, { after: null, limit: 2 })
      return [await nicknameSearchOf(own, text), positions.map(({ id }) => id)]
    }
    const enable = async () => (await own.query('SELECT enable_nickname_search() AS enabled')).rows[0].enabled
    expect([await find('seÑor'), await find('dragon'), await enable()]).toEqual([
      ['prefix', [PLAYER]],
      ['prefix', []],
      false,
    ])

    await pool.query('CREATE EXTENSION pg_trgm')
    expect(await enable()).toBe(false)
    await pool.query('CREATE EXTENSION unaccent')
    expect(await enable()).toBe(true)
    expect([await find('dragon'), await find('ENOR')]).toEqual([
      ['anywhere', [PLAYER]],
      ['anywhere', [PLAYER]],
    ])
  } finally {
    await own.end()
    // Its tables are dropped with the database.
    await pool.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP ROLE ${role}`)
  }
})
