import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { nicknameSearchOf, searchPlayers } from '../../src/listing/search-players.ts'
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
    ).toEqual({ places: [{ id: PLAYER, at: null }], stoppedAt: null })
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

test('players that were there before have the last login that is known: a login, a session, or their creation', async () => {
  await before('20261122240000_list_players')
  const id = (n: number) => `00000000-0000-7000-8000-0000000001${n}0`
  const players = {
    logged: { n: 1, created: '2026-01-01' },
    withSession: { n: 2, created: '2026-01-02' },
    withIdentity: { n: 3, created: '2026-01-03' },
    withoutLogin: { n: 4, created: '2026-01-04' },
    deleted: { n: 5, created: '2026-01-05' },
  }
  for (const [name, { n, created }] of Object.entries(players)) {
    await pool.query('INSERT INTO players (environment_id, id, status, created_at) VALUES ($1, $2, $3, $4)', [
      ...[ENVIRONMENT, id(n), name === 'deleted' ? 'deleted' : 'active', created],
    ])
    if (name === 'withoutLogin') continue
    await pool.query(
      "INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, 'custom', $2, $3)",
      [ENVIRONMENT, name, id(n)],
    )
  }
  const login = async (n: number, outcome: string, at: string) =>
    pool.query(
      `INSERT INTO login_log (environment_id, id, provider, operation, outcome, player_id, milliseconds, attempts, created_at)
       VALUES ($1, gen_random_uuid(), 'default', 'login', $2, $3, 1, '[]', $4)`,
      [ENVIRONMENT, outcome, id(n), at],
    )
  await login(1, 'ok', '2026-02-01')
  await login(1, 'ok', '2026-03-01')
  await login(1, 'player banned', '2026-04-01')
  for (const [family, at] of [
    ['a', '2026-05-01'],
    ['a', '2026-05-09'],
    ['b', '2026-05-02'],
  ] as const)
    await pool.query(
      `INSERT INTO refresh_tokens (environment_id, player_id, family_id, hash, expires_at, created_at)
       VALUES ($1, $2, $3, $4, '2027-01-01', $5)`,
      [ENVIRONMENT, id(2), `00000000-0000-7000-8000-00000000000${family}`, `${family}${at}`.padEnd(43, '-'), at],
    )
  await migrate(pool)
  const { rows } = await pool.query<{ player_id: string; on: string }>(
    `SELECT player_id, to_char(logged_in_at, 'YYYY-MM-DD') AS "on" FROM last_logins ORDER BY player_id`,
  )
  expect(rows).toEqual([
    { player_id: id(1), on: '2026-03-01' },
    // A session begins with a login; it is refreshed without one.
    { player_id: id(2), on: '2026-05-02' },
    { player_id: id(3), on: '2026-01-03' },
  ])
})

test('nicknames are found by their beginning where the extensions cannot be had, and anywhere once a superuser has made them', async () => {
  await before('20261122240000_list_players')
  await pool.query('INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, $3)', [
    ENVIRONMENT,
    PLAYER,
    'Silent Élan',
  ])
  const { rows: current } = await pool.query('SELECT current_database() AS name')
  const role = `plain_${current[0].name}`
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`)
  try {
    await pool.query(`ALTER SCHEMA public OWNER TO ${role}`)
    const owned = await pool.query<{ name: string }>(
      `SELECT format('ALTER %s %s OWNER TO ${role}', CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass) AS name
       FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
       UNION ALL
       SELECT format('ALTER ROUTINE %s OWNER TO ${role}', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    )
    for (const { name } of owned.rows) await pool.query(name)
    const url = new URL(migrations.url)
    url.username = role
    url.password = role
    await migrate(url.href)

    const find = async (text: string) => {
      const search = { environmentId: ENVIRONMENT, text, status: null }
      const { places } = await searchPlayers(pool, search, { after: null, limit: 2 })
      return [await nicknameSearchOf(pool, text), places.length]
    }
    expect([await find('silent'), await find('elan')]).toEqual([
      ['prefix', 1],
      ['prefix', 0],
    ])
    for (const extension of ['pg_trgm', 'unaccent']) await pool.query(`CREATE EXTENSION ${extension}`)
    await pool.query('SELECT enable_nickname_search()')
    expect([await find('silent'), await find('elan')]).toEqual([
      ['anywhere', 1],
      ['anywhere', 1],
    ])
  } finally {
    await pool.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP OWNED BY ${role}; DROP ROLE ${role}`)
  }
})
