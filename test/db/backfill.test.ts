import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { searchPlayers } from '../../src/listing/search-players.ts'
import { createMigrations, type Migrations } from '../support/migrations.ts'

// Migrations that have to do with rows that were there before them.

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

const PROJECT = '00000000-0000-7000-8000-000000000001'
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const PLAYER = '00000000-0000-7000-8000-000000000003'
const KEYS = ['00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-00000000000b'] as const
const ACTOR = `platform_key:${KEYS[1]}`

let migrations: Migrations
let pool: pg.Pool
let directory: string

beforeEach(async () => {
  migrations = await createMigrations()
  ;({ pool, directory } = migrations)
})
afterEach(() => migrations.remove())

/** The database as it was before a migration. */
async function before(name: string): Promise<void> {
  await pool.query('DROP SCHEMA public CASCADE')
  await pool.query('CREATE SCHEMA public')
  for (const migration of await readdir(MIGRATIONS)) {
    if (migration < name && !migration.endsWith('.toml'))
      await cp(join(MIGRATIONS, migration), join(directory, migration), { recursive: true })
  }
  await migrate(pool, { directory })
  await pool.query(`INSERT INTO projects (id, name) VALUES ('${PROJECT}', 'Old')`)
  await pool.query(
    `INSERT INTO environments (id, project_id, name) VALUES ('${ENVIRONMENT}', '${PROJECT}', 'production')`,
  )
}

test('players that were there before are found by their nickname in any letter case of any script', async () => {
  await before('20261122110000_access')
  await pool.query('INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, $3)', [
    ENVIRONMENT,
    PLAYER,
    'ÉVA Ὀδυσσεύς',
  ])
  await migrate(pool)
  for (const text of ['éva ὀδυσσεύς', 'Éva Ὀδυσ', 'e\u0301VA'])
    expect(
      await searchPlayers(pool, { environmentId: ENVIRONMENT, text, status: null }, { after: null, limit: 2 }),
    ).toEqual([{ id: PLAYER, at: null }])
})

test('keys that were there before tell who made and who revoked them, as far as the audit log knows', async () => {
  await before('20261122110000_access')
  for (const [index, id] of KEYS.entries()) {
    await pool.query('INSERT INTO sdk_keys (id, environment_id, prefix, hash) VALUES ($1, $2, $3, $4)', [
      id,
      ENVIRONMENT,
      'twsdk_',
      Buffer.alloc(32, index),
    ])
    await pool.query('INSERT INTO platform_keys (id, project_id, role, prefix, hash) VALUES ($1, $2, $3, $4, $5)', [
      id,
      PROJECT,
      'admin',
      'twplat_',
      Buffer.alloc(32, index),
    ])
  }
  for (const action of ['sdk_key.create', 'sdk_key.revoke', 'platform_key.create', 'platform_key.revoke'])
    await pool.query(
      'INSERT INTO audit_log (project_id, id, actor, action, target) VALUES ($1, gen_random_uuid(), $2, $3, $4)',
      [PROJECT, ACTOR, action, KEYS[0]],
    )
  await migrate(pool)
  for (const table of ['sdk_keys', 'platform_keys']) {
    const { rows } = await pool.query(`SELECT created_by, revoked_by FROM ${table} ORDER BY id`)
    expect(rows).toEqual([
      { created_by: ACTOR, revoked_by: ACTOR },
      { created_by: null, revoked_by: null },
    ])
  }
})

test('what reward nodes had paid before counts: a node that pays once pays no more', async () => {
  await before('20261122180000_reward_payments')
  await pool.query('INSERT INTO players (environment_id, id) VALUES ($1, $2)', [ENVIRONMENT, PLAYER])
  const run = KEYS[0]
  for (const [index, [nodeId, handle, data]] of [
    ['gift', 'onComplete', '{"granted":[{"amount":1,"currency":"gold","itemId":null}]}'],
    ['gift', 'onComplete', '{"granted":[{"amount":1,"currency":"gold","itemId":null}]}'],
    ['tier', 'onComplete', '{"level":1,"track":"free"}'],
    ['popup', 'onComplete', '{}'],
    ['popup', 'onClick', '{}'],
  ].entries()) {
    await pool.query(
      `INSERT INTO events (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data)
       VALUES ($1, $2, 'crossing', $3, $4, 'season', $5, $6, $7)`,
      [ENVIRONMENT, index + 1, handle, PLAYER, nodeId, run, data],
    )
  }
  await migrate(pool)
  const { rows } = await pool.query('SELECT player_id, scenario_id, node_id, scope, run_id FROM reward_payments')
  expect(rows).toEqual([{ player_id: PLAYER, scenario_id: 'season', node_id: 'gift', scope: '', run_id: run }])
})
