import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tables as declaredTables } from '../../src/transactions/table.ts'
import '../../src/routes.ts'
import '../../src/schema.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { openPool } from '../harness/sql.ts'

const NO_DIFFERENCE = '-- This is an empty migration.'

/** What the migrations have and `schema.prisma` cannot express, beside the checks. */
const PARTIAL_INDEXES = [
  'audit_log_denied_key',
  'audit_log_project_id_undoes_idx',
  'grant_jobs_open_idx',
  'grant_jobs_one_undo_key',
  'passes_premium_idx',
  'players_environment_id_fold_name_idx',
  'players_inactive_idx',
  'players_long_nickname_idx',
  'runs_one_active_key',
  'scenarios_uncounted_idx',
  'scenarios_unleveled_idx',
  'scheduled_publications_planned_idx',
  'season_phases_untold_idx',
  'season_settlements_due_idx',
]
const OPTIONS = {
  grant_job_players: ['fillfactor=70'],
  inbox_messages: ['fillfactor=80'],
  insight_changes: ['autovacuum_vacuum_scale_factor=0', 'autovacuum_vacuum_threshold=20000'],
  insight_totals: ['fillfactor=80'],
  inventory: ['fillfactor=80'],
  player_boosts: ['fillfactor=80'],
  last_logins: ['fillfactor=80'],
  passes: ['fillfactor=70'],
  player_versions: ['fillfactor=50'],
  players_search_name_idx: ['fastupdate=off'],
  runs: ['fillfactor=80'],
  streams: ['fillfactor=10'],
  unnumbered_events: ['autovacuum_vacuum_scale_factor=0', 'autovacuum_vacuum_threshold=20000'],
  wallets: ['fillfactor=80'],
}

const PROJECT = '00000000-0000-7000-8000-000000000001'
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const PLAYER = '00000000-0000-7000-8000-000000000003'
const ID = '00000000-0000-7000-8000-000000000004'
const OWNER = { environment_id: ENVIRONMENT, player_id: PLAYER }
const PASS = { ...OWNER, scenario_id: 'season', node_id: 'pass' }
const BOOST = {
  ...{ id: ID, environment_id: ENVIRONMENT, name: 'n', percent: 1_000, scenarios: [], sources: [] },
  ...{ starts_at: '2026-12-01T00:00:00Z', ends_at: '2026-12-01T00:00:00.001Z', audience: 'premium' },
}
const JOB = {
  ...{ id: ID, environment_id: ENVIRONMENT, target: '{}', gift: 'null', most: 1, reason: 'x', project_id: PROJECT },
  ...{ key_id: ID, idempotency_key: 'a', request_sha256: 'b' },
}
const HASH = Buffer.alloc(32)

type Row = Readonly<Record<string, unknown>>

/** For every check: a table, a row that it accepts, and changes that make the row invalid. */
const CLOCK_AT = '2031-01-01T00:00:00Z'
const CHECKS: [check: string, table: string, row: Row, ...faults: Row[]][] = [
  ['projects_name_check', 'projects', { id: ID, name: 'n' }, { name: '' }, { name: 'n'.repeat(129) }],
  ['environments_name_check', 'environments', { id: ID, project_id: PROJECT, name: 'staging' }, { name: 'A' }],
  [
    'environments_clock_check',
    'environments',
    { id: ID, project_id: PROJECT, name: 'staging', clock_at: CLOCK_AT, clock_set_at: CLOCK_AT, clock_rate: 10_000 },
    { clock_rate: 0 },
    { clock_rate: 10_001 },
    { clock_rate: null },
    { clock_at: null },
    { name: 'live-2' },
  ],
  [
    'account_policies_max_sessions_check',
    'account_policies',
    { environment_id: ENVIRONMENT, max_sessions: 1 },
    { max_sessions: 0 },
  ],
  [
    'account_policies_when_full_check',
    'account_policies',
    { environment_id: ENVIRONMENT, when_full: 'refuse' },
    { when_full: 'ignore' },
  ],
  [
    'account_policies_deletion_days_check',
    'account_policies',
    { environment_id: ENVIRONMENT, deletion_days: 0 },
    { deletion_days: -1 },
    { deletion_days: 91 },
  ],
  [
    'account_policies_identities_at_deletion_check',
    'account_policies',
    { environment_id: ENVIRONMENT, identities_at_deletion: 'free' },
    { identities_at_deletion: 'sell' },
  ],
  [
    'account_policies_client_profile_check',
    'account_policies',
    { environment_id: ENVIRONMENT, client_profile: 'refuse' },
    { client_profile: 'ask' },
  ],
  ['boosts_percent_check', 'boosts', BOOST, { percent: 0 }, { percent: 1_001 }],
  ['boosts_ends_at_check', 'boosts', BOOST, { ends_at: '2026-12-01T00:00:00Z' }],
  ['boosts_audience_check', 'boosts', BOOST, { audience: 'nobody' }],
  ['grant_jobs_state_check', 'grant_jobs', JOB, { state: 'asleep' }],
  [
    'grant_policies_approval_above_players_check',
    'grant_policies',
    { environment_id: ENVIRONMENT, approval_above_players: 0 },
    { approval_above_players: -1 },
  ],
  [
    'grant_policies_approval_above_amount_check',
    'grant_policies',
    { environment_id: ENVIRONMENT, approval_above_amount: 0 },
    { approval_above_amount: -1 },
  ],
  ...each(
    'role_limits',
    { environment_id: ENVIRONMENT, role: 'support', max_credit: 0 },
    {
      role_limits_role_check: [{ role: 'admin' }],
      role_limits_max_check: [{ max_credit: -1 }, { max_job_players: -1 }],
    },
  ),
  [
    'shared_views_page_check',
    'shared_views',
    { id: ID, project_id: PROJECT, page: 'audit_log', name: 'n', query: '', shared_by: 'ada' },
    { page: 'AUDIT_LOG' },
  ],
  [
    'currencies_credit_limit_check',
    'currencies',
    { environment_id: ENVIRONMENT, name: 'gems', credit_limit: 0 },
    { credit_limit: -1 },
  ],
  ['sdk_keys_hash_check', 'sdk_keys', { id: ID, environment_id: ENVIRONMENT, prefix: 'p', hash: HASH }, { hash: '' }],
  [
    'server_keys_hash_check',
    'server_keys',
    { id: ID, environment_id: ENVIRONMENT, prefix: 'p', hash: HASH },
    { hash: '' },
  ],
  ...each(
    'platform_keys',
    { id: ID, project_id: PROJECT, role: 'viewer', prefix: 'p', hash: HASH },
    { platform_keys_role_check: [{ role: 'owner' }], platform_keys_hash_check: [{ hash: 'short' }] },
  ),
  ['players_status_check', 'players', { environment_id: ENVIRONMENT, id: ID }, { status: 'asleep' }],
  [
    'identities_subject_check',
    'identities',
    { ...OWNER, provider: 'custom', subject: 's' },
    { subject: '' },
    { subject: 's'.repeat(256) },
  ],
  ...each(
    'player_storage',
    { ...OWNER, key: 'k', value: 'v'.repeat(65_536) },
    {
      player_storage_key_check: [{ key: '' }, { key: 'k'.repeat(129) }],
      player_storage_value_check: [{ value: 'v'.repeat(65_537) }, { value: 'ü'.repeat(32_769) }],
    },
  ),
  ...each(
    'auth_providers',
    { environment_id: ENVIRONMENT, kind: 'custom', name: 'default' },
    {
      auth_providers_kind_check: [{ kind: 'other' }],
      auth_providers_name_check: [{ name: 'google' }, { name: 'device' }, { name: 'A' }, { name: '' }],
    },
  ),
  [
    'replaced_secrets_kind_check',
    'replaced_secrets',
    { environment_id: ENVIRONMENT, kind: 'custom', name: 'studio', id: ID, secret: 's', expires_at: 'tomorrow' },
    { kind: 'google' },
  ],
  ['scenarios_version_check', 'scenarios', { environment_id: ENVIRONMENT, id: 'other', version: 1 }, { version: 0 }],
  [
    'scenario_versions_version_check',
    'scenario_versions',
    { environment_id: ENVIRONMENT, scenario_id: 'season', version: 2, definition: '{}' },
    { version: 0 },
  ],
  [
    'season_phases_phase_check',
    'season_phases',
    {
      ...{ environment_id: ENVIRONMENT, scenario_id: 'season', node_id: 'pass', phase: 'running' },
      starts_at: '2027-01-01T00:00:00Z',
    },
    { phase: 'planned' },
  ],
  [
    'scheduled_publications_state_check',
    'scheduled_publications',
    {
      ...{ environment_id: ENVIRONMENT, id: ID, scenario_id: 'season', definition: '{}', reason: 'x' },
      ...{ publish_at: '2027-01-01T00:00:00Z', project_id: ID, key_id: ID },
    },
    { state: 'due' },
  ],
  ['runs_status_check', 'runs', { ...OWNER, id: ID, scenario_id: 'season' }, { status: 'paused' }],
  ...each('passes', PASS, { passes_xp_check: [{ xp: -1 }], passes_level_check: [{ level: -1 }] }),
  ...each(
    'tier_claims',
    { ...PASS, level: 0, track: 'free', granted: '[]', run_id: ID },
    { tier_claims_level_check: [{ level: -1 }], tier_claims_track_check: [{ track: 'gold' }, { track: 'BONUS' }] },
  ),
  [
    'xp_ledger_amount_check',
    'xp_ledger',
    { ...PASS, id: ID, run_id: ID, amount: 1, source: '' },
    { amount: 0 },
    { amount: -1 },
    { amount: 0, source: 'support:reset' },
  ],
  ['wallets_balance_check', 'wallets', { ...OWNER, currency: 'gems' }, { balance: -1 }],
  ...each(
    'wallet_ledger',
    { ...OWNER, id: ID, currency: 'gems', amount: -1, balance: 0, reason: '', reference: '' },
    { wallet_ledger_amount_check: [{ amount: 0 }], wallet_ledger_balance_check: [{ balance: -1 }] },
  ),
  [
    'inbox_messages_kind_check',
    'inbox_messages',
    { ...OWNER, id: ID, kind: 'message', reference: 'support', expires_at: '2026-12-01T00:00:00Z' },
    { kind: 'mail' },
  ],
  ...each(
    'player_boosts',
    { ...OWNER, id: ID, percent: 1, starts_at: '2026-01-01', ends_at: '2026-01-02', reference: '', parts: '[]' },
    {
      player_boosts_percent_check: [{ percent: 0 }, { percent: 1001 }],
      player_boosts_ends_at_check: [{ ends_at: '2026-01-01' }],
    },
  ),
  ['inventory_amount_check', 'inventory', { ...OWNER, item_id: 'hat' }, { amount: -1 }],
  [
    'idempotency_keys_key_check',
    'idempotency_keys',
    { ...OWNER, operation: 'xp', key: 'k', request: '', response: '' },
    { key: '' },
    { key: 'k'.repeat(256) },
  ],
  ...each(
    'refresh_tokens',
    { ...OWNER, hash: 'h'.repeat(43), family_id: ID, expires_at: 'tomorrow' },
    {
      refresh_tokens_hash_check: [{ hash: 'h'.repeat(42) }, { hash: 'h'.repeat(44) }],
      refresh_tokens_rotated_check: [{ rotated_at: 'now' }, { child_nonce: 'nonce' }],
    },
  ),
  ...each(
    'login_log',
    {
      environment_id: ENVIRONMENT,
      id: ID,
      operation: 'login',
      provider: 'default',
      outcome: 'ok',
      milliseconds: 0,
      attempts: '[]',
    },
    { login_log_operation_check: [{ operation: 'logout' }], login_log_milliseconds_check: [{ milliseconds: -1 }] },
  ),
  [
    'audit_log_attempts_check',
    'audit_log',
    { project_id: PROJECT, id: ID, actor: 'a', action: 'b.denied', target: 'c', attempts: 2, minute: 'now' },
    { minute: null },
    { attempts: 0 },
    { attempts: -1 },
  ],
  [
    'audit_log_operator_check',
    'audit_log',
    { project_id: PROJECT, id: ID, actor: 'a', action: 'b', target: 'c', operator: 'ada', operator_is_claimed: true },
    { operator: null },
  ],
  ['streams_position_check', 'streams', { environment_id: ENVIRONMENT }, { position: -1 }],
  [
    'events_position_check',
    'events',
    { environment_id: ENVIRONMENT, position: 1, type: 'crossing', player_id: PLAYER, data: '{}' },
    { position: 0 },
  ],
]

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createDatabase()
  pool = openPool(database.url, { max: 2 })
  await insert(pool, 'projects', { id: PROJECT, name: 'drift' })
  await insert(pool, 'environments', { id: ENVIRONMENT, project_id: PROJECT, name: 'production' })
  await insert(pool, 'players', { environment_id: ENVIRONMENT, id: PLAYER })
  await insert(pool, 'auth_providers', { environment_id: ENVIRONMENT, kind: 'custom', name: 'studio' })
  await insert(pool, 'scenarios', { environment_id: ENVIRONMENT, id: 'season', version: 1 })
})

afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

describe('schema.prisma and the migrations', () => {
  test('describe the same database', async () => {
    expect(await differences(database.url)).toBe(NO_DIFFERENCE)
  })

  test.each([
    ['a column', 'ALTER TABLE passes ADD COLUMN streak int', 'DROP COLUMN "streak"'],
    ['a type', 'ALTER TABLE passes ALTER COLUMN xp TYPE int', 'ALTER COLUMN "xp" SET DATA TYPE BIGINT'],
    ['a default', 'ALTER TABLE runs ALTER COLUMN active DROP DEFAULT', `ALTER COLUMN "active" SET DEFAULT '[]'`],
    ['a NOT NULL', 'ALTER TABLE events ALTER COLUMN data DROP NOT NULL', 'ALTER COLUMN "data" SET NOT NULL'],
    ['an index', 'DROP INDEX identities_environment_id_player_id_idx', 'CREATE INDEX "identities_environment_id_pla'],
    ['a key', 'ALTER TABLE xp_ledger DROP CONSTRAINT xp_ledger_pkey', 'ADD CONSTRAINT "xp_ledger_pkey"'],
  ])('show when they differ by %s', async (_, change, difference) => {
    const changed = await createDatabase()
    const client = new pg.Client({ connectionString: changed.url })
    try {
      await client.connect()
      await client.query(change)
      expect(await differences(changed.url)).toContain(difference)
    } finally {
      await client.end()
      await changed.drop()
    }
  })

  test('differ in the partial indexes and storage options listed here, which Prisma cannot express', async () => {
    const indexes = await pool.query(
      'SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indpred IS NOT NULL AND indrelid >= 16384 ORDER BY 1',
    )
    expect(indexes.rows.map(({ name }) => name).sort()).toEqual(PARTIAL_INDEXES.toSorted())
    const tables = await pool.query(
      "SELECT relname AS name, reloptions AS options FROM pg_class WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL",
    )
    expect(Object.fromEntries(tables.rows.map(({ name, options }) => [name, options]))).toEqual(OPTIONS)
  })
})

describe('the constraints of the database', () => {
  test('have a row in this test for every check', async () => {
    const { rows } = await pool.query(
      // Partitions have those of their table.
      "SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND coninhcount = 0",
    )
    expect(CHECKS.map(([check]) => check).sort()).toEqual(rows.map(({ conname }) => conname).sort())
  })

  test.each(CHECKS)('refuse invalid rows: %s', async (check, table, row, ...faults) => {
    await rolledBack((client) => insert(client, table, row))
    expect(faults.length).toBeGreaterThan(0)
    for (const fault of faults) {
      await expect(rolledBack((client) => insert(client, table, { ...row, ...fault }))).rejects.toMatchObject({
        code: '23514',
        constraint: check,
      })
    }
  })

  test.each([
    ['wallets', { ...OWNER, currency: 'gold', balance: 5 }, 'balance = balance - 6'],
    ['passes', { ...PASS, xp: 5 }, 'xp = xp - 6'],
    ['inventory', { ...OWNER, item_id: 'hat', amount: 5 }, 'amount = amount - 6'],
  ])('refuse to take more from %s than there is', async (table, row, change) => {
    const taken = rolledBack(async (client) => {
      await insert(client, table, row)
      await client.query(`UPDATE ${table} SET ${change}`)
    })
    await expect(taken).rejects.toMatchObject({ code: '23514' })
  })

  test('refuse a second active run of a player and scenario, but allow one beside completed ones', async () => {
    const run = { ...OWNER, scenario_id: 'season' }
    await rolledBack(async (client) => {
      await insert(client, 'runs', { ...run, id: ID, status: 'active' })
      await insert(client, 'runs', { ...run, id: PROJECT, status: 'completed' })
      await insert(client, 'runs', { ...run, id: ENVIRONMENT, status: 'completed' })
      await insert(client, 'runs', { ...run, id: PLAYER, scenario_id: 'other' })
      await expect(
        insert(client, 'runs', { ...run, id: OWNER.environment_id.replace('2', '9') }),
      ).rejects.toMatchObject({
        code: '23505',
        constraint: 'runs_one_active_key',
      })
    })
  })

  test('refuse a second claim of a tier', async () => {
    const claim = { ...PASS, level: 1, track: 'free', granted: '[]' }
    await rolledBack(async (client) => {
      await insert(client, 'tier_claims', { ...claim, run_id: ID })
      await expect(insert(client, 'tier_claims', { ...claim, run_id: PLAYER })).rejects.toMatchObject({
        code: '23505',
        constraint: 'tier_claims_pkey',
      })
    })
  })
})

describe('a table whose rows stay in memory', () => {
  test('has a trigger that renews the version of its players when another session changes it', async () => {
    const { rows } = await pool.query(
      `SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgfoid = 'renew_player_version'::regproc`,
    )
    const remembered = declaredTables.filter((table) => table.isRemembered).map(({ name }) => name)
    expect(remembered).toContain('passes')
    expect([...new Set(remembered)].sort()).toEqual([...new Set(rows.map(({ name }) => name))].sort())
  })
})

/** Several checks of one table. */
function each(
  table: string,
  row: Row,
  checks: Readonly<Record<string, readonly Row[]>>,
): [check: string, table: string, row: Row, ...faults: Row[]][] {
  return Object.entries(checks).map(([check, faults]) => [check, table, row, ...faults])
}

async function insert(client: pg.Pool | pg.ClientBase, table: string, row: Row): Promise<void> {
  const names = Object.keys(row)
  const places = names.map((_, index) => `$${index + 1}`)
  await client.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')})`, Object.values(row))
}

async function rolledBack(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await work(client)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

/** The SQL that would make the database what `schema.prisma` describes. */
async function differences(url: string): Promise<string> {
  const content = await readFile(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')
  const schema = { path: 'schema.prisma', content }
  const engine = await openEngine(url, schema)
  try {
    const { stdout } = await engine.diff({
      from: { tag: 'schemaDatasource', files: [schema], configDir: '.' },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    })
    return stdout?.trim() ?? ''
  } finally {
    engine.free()
  }
}

let loading: Promise<typeof SchemaEngine> | undefined

async function openEngine(url: string, { path, content }: { path: string; content: string }): Promise<SchemaEngine> {
  loading ??= loadEngine()
  const { new: open } = await loading
  const adapter = bindMigrationAwareSqlAdapterFactory(new CatalogueReader({ connectionString: url, max: 1 }))
  return open({ datamodels: [[path, content]] }, () => {}, adapter)
}

/** Prisma's schema engine. Node does not import WebAssembly by itself, so it is put together here, once. */
async function loadEngine(): Promise<typeof SchemaEngine> {
  const { resolve } = createRequire(import.meta.url)
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const binary = await readFile(
    resolve('@prisma/schema-engine-wasm').replace('schema_engine.js', 'schema_engine_bg.wasm'),
  )
  const { instance } = await WebAssembly.instantiate(binary, { './schema_engine_bg.js': glue })
  const start = instance.exports.__wbindgen_start as () => void
  glue.__wbg_set_wasm(instance.exports)
  start()
  // The engine reports a panic here before it ends.
  const PRISMA_WASM_PANIC_REGISTRY = {
    set_message(message: string) {
      throw new Error(message)
    },
  }
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY })
  return glue.SchemaEngine
}

/** Postgres's type "char", of one byte, which its catalogue uses. */
const CHAR = 18
const MARK = 'char:'

/**
 * Prisma's adapter cannot read "char", and its schema engine needs it. Such columns pass the adapter as text under a
 * marked name, and get their type back afterwards.
 */
class CatalogueReader extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    const client = adapter.underlyingDriver()
    const query = client.query.bind(client) as (...call: unknown[]) => unknown
    const queryRaw = adapter.queryRaw.bind(adapter)
    Object.assign(client, {
      async query(...call: unknown[]) {
        const result = (await query(...call)) as pg.QueryResult
        for (const field of result.fields) {
          if (field.dataTypeID !== CHAR) continue
          field.dataTypeID = pg.types.builtins.TEXT
          field.name = MARK + field.name
        }
        return result
      },
    })
    return Object.assign(adapter, {
      async queryRaw(...call: Parameters<typeof queryRaw>) {
        const { columnNames, columnTypes, rows } = await queryRaw(...call)
        return {
          columnNames: columnNames.map((name) => name.replace(MARK, '')),
          columnTypes: columnTypes.map((type, at) =>
            columnNames[at]?.startsWith(MARK) ? ColumnTypeEnum.Character : type,
          ),
          rows,
        }
      },
    })
  }
}
