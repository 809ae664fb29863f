import { randomBytes } from 'node:crypto'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nicknameSearchOf, searchPlayers } from '../../src/accounts/lists/search-players.ts'
import { print } from '../../src/base/json.ts'
import { migrate } from '../../src/db/migrate.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { publishScenario } from '../../src/operations/publishing/publish.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { gold, scenario } from '../harness/definitions.ts'
import { startInstance } from '../harness/game.ts'
import { createMigrations, type Migrations } from '../harness/migrations.ts'
import { openPool } from '../harness/sql.ts'

// Migrations that change or use rows that existed before them.

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

const PROJECT = '00000000-0000-7000-8000-000000000001'
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const PLAYER = '00000000-0000-7000-8000-000000000003'
const KEYS = ['00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-00000000000b'] as const
const ACTOR = `platform_key:${KEYS[1]}`

/** A role with rights to its own tables only, and a pool of its connections. */
interface Role {
  readonly name: string
  readonly url: string
  readonly pool: pg.Pool
  remove(): Promise<void>
}

async function createRole(): Promise<Role> {
  const [name, password] = [`tierway_test_${randomBytes(8).toString('hex')}`, randomBytes(16).toString('hex')]
  await pool.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
  const url = new URL(migrations.url)
  url.username = name
  url.password = password
  const own = openPool(url.href)
  return {
    name,
    url: url.href,
    pool: own,
    async remove() {
      await own.end()
      // Its tables are dropped with the database.
      await pool.query(`REASSIGN OWNED BY ${name} TO CURRENT_USER`)
      await pool.query(`DROP ROLE ${name}`)
    },
  }
}

let migrations: Migrations
let pool: pg.Pool
let directory: string

beforeEach(async () => {
  migrations = await createMigrations()
  ;({ pool, directory } = migrations)
})
afterEach(() => migrations.remove())

/** Makes the database what it was before a migration. Everything is created by a role, by default the superuser. */
async function before(name: string, role?: Role): Promise<void> {
  await pool.query('DROP SCHEMA public CASCADE')
  await pool.query(`CREATE SCHEMA public ${role ? `AUTHORIZATION ${role.name}` : ''}`)
  for (const migration of await readdir(MIGRATIONS)) {
    if (migration < name && !migration.endsWith('.toml'))
      await cp(join(MIGRATIONS, migration), join(directory, migration), { recursive: true })
  }
  await migrate(role?.url ?? migrations.url, { directory })
  await pool.query(`INSERT INTO projects (id, name) VALUES ('${PROJECT}', 'Old')`)
  await pool.query(
    `INSERT INTO environments (id, project_id, name) VALUES ('${ENVIRONMENT}', '${PROJECT}', 'production')`,
  )
}

test('existing players are found by their nickname in any letter case of any script', async () => {
  await before('20261122110000_access')
  await pool.query('INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, $3)', [
    ENVIRONMENT,
    PLAYER,
    'ÉVA Ὀδυσσεύς',
  ])
  await migrate(migrations.url)
  for (const text of ['éva ὀδυσσεύς', 'Éva Ὀδυσ', 'e\u0301VA'])
    expect(
      await searchPlayers(pool, { environmentId: ENVIRONMENT, text, status: null }, { after: null, limit: 2 }),
    ).toEqual({ positions: [{ id: PLAYER, at: null }], stoppedAt: null })
})

test('existing keys show who created and who revoked them, as far as the audit log has it', async () => {
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
  await migrate(migrations.url)
  for (const table of ['sdk_keys', 'platform_keys']) {
    const { rows } = await pool.query(`SELECT created_by, revoked_by FROM ${table} ORDER BY id`)
    expect(rows).toEqual([
      { created_by: ACTOR, revoked_by: ACTOR },
      { created_by: null, revoked_by: null },
    ])
  }
})

test('earlier payments of reward nodes are recorded, so that a node that pays once does not pay again', async () => {
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
  await pool.query('INSERT INTO streams (environment_id, position) VALUES ($1, 5)', [ENVIRONMENT])
  await migrate(migrations.url)
  const { rows } = await pool.query('SELECT player_id, scenario_id, node_id, scope, run_id FROM reward_payments')
  expect(rows).toEqual([{ player_id: PLAYER, scenario_id: 'season', node_id: 'gift', scope: '', run_id: run }])

  const { app, stop } = await startInstance(migrations.url, {})
  try {
    const reward = { id: 'gift', type: 'reward', data: { rewards: [gold(1)] } }
    const edges = [{ from: 'start', handle: 'onStart', to: 'gift' }]
    const at = { environmentId: ENVIRONMENT, scenarioId: 'season' }
    await publishScenario(app.pool, at, print(scenario([reward], edges)))
    const newcomer = await app.service.run(createPlayer(ENVIRONMENT, null))
    const granted = []
    for (const { playerId } of [{ playerId: PLAYER }, newcomer]) {
      const start = startRun({ environmentId: ENVIRONMENT, playerId }, { scenarioId: 'season', idempotencyKey: null })
      granted.push((await app.service.run(start)).plan?.granted)
    }
    expect(granted).toEqual([[], [{ amount: 1n, currency: 'gold', itemId: null }]])
  } finally {
    await stop()
  }
})

const LIST_PLAYERS = '20261122240000_list_players'

test('existing players have their last known login', async () => {
  await before(LIST_PLAYERS)
  const day = (day: number) => `2026-11-${String(day).padStart(2, '0')}T12:00:00.000Z`
  const player = (n: number) => PLAYER.replace(/.$/, String(n))
  for (let n = 1; n <= 6; n += 1)
    await pool.query('INSERT INTO players (environment_id, id, status, created_at) VALUES ($1, $2, $3, $4)', [
      ENVIRONMENT,
      player(n),
      n === 5 ? 'deleted' : 'active',
      day(n),
    ])
  const identify = (n: number) =>
    pool.query("INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, 'custom', $2, $3)", [
      ENVIRONMENT,
      `s-${n}`,
      player(n),
    ])
  const log = (n: number, at: string, outcome = 'ok', operation = 'login') =>
    pool.query(
      `INSERT INTO login_log (environment_id, id, created_at, operation, provider, player_id, outcome, milliseconds, attempts)
       VALUES ($1, gen_random_uuid(), $2, $3, 'custom', $4, $5, 1, '[]')`,
      [ENVIRONMENT, at, operation, player(n), outcome],
    )
  const refresh = (n: number, family: string, at: string) =>
    pool.query(
      `INSERT INTO refresh_tokens (environment_id, hash, player_id, family_id, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, '2027-01-01')`,
      [ENVIRONMENT, randomBytes(32).toString('base64url'), player(n), family, at],
    )
  // 1 is in the log, 2 has tokens of two logins of which one was refreshed, 3 has only an identity. 4 was created by a
  // studio, 5 is deleted, and 6 has only a failed login and a link.
  for (const n of [1, 2, 3, 5]) await identify(n)
  await log(1, day(10))
  await log(1, day(12))
  await refresh(1, KEYS[0], day(11))
  await refresh(2, KEYS[0], day(13))
  await refresh(2, KEYS[1], day(14))
  await refresh(2, KEYS[1], day(20))
  await log(5, day(15))
  await log(6, day(16), 'custom_auth_rejected')
  await log(6, day(17), 'ok', 'link')

  await migrate(migrations.url)
  const { rows } = await pool.query('SELECT player_id, logged_in_at FROM last_logins ORDER BY player_id')
  expect(rows).toEqual(
    [day(12), day(14), day(3)].map((at, index) => ({ player_id: player(index + 1), logged_in_at: new Date(at) })),
  )
})

test('nicknames are found by prefix where the role cannot create extensions, and by any part once these exist', async () => {
  const role = await createRole()
  try {
    await before(LIST_PLAYERS, role)
    await pool.query('INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, $3)', [
      ENVIRONMENT,
      PLAYER,
      'Señor Dragón',
    ])
    await migrate(role.url)
    const find = async (text: string) => {
      const search = { environmentId: ENVIRONMENT, text }
      const { positions } = await searchPlayers(role.pool, search, { after: null, limit: 2 })
      return [await nicknameSearchOf(role.pool, text), positions.map(({ id }) => id)]
    }
    const enable = async () => (await role.pool.query('SELECT enable_nickname_search() AS enabled')).rows[0].enabled
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
    await role.remove()
  }
})
