import { cpus, loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { loginDevice } from '../src/accounts/login/device-login.ts'
import { findDevice } from '../src/accounts/providers/device.ts'
import { print as printJson } from '../src/base/json.ts'
import { createPlatformKey, createSdkKey } from '../src/callers/keys.ts'
import { createProject } from '../src/callers/projects.ts'
import { firstIdAt } from '../src/db/ids.ts'
import { migrate } from '../src/db/migrate.ts'
import { makePartitions } from '../src/db/partitions.ts'
import { addXp } from '../src/game/battlepass/add-xp.ts'
import { claimTier } from '../src/game/battlepass/claim-tier.ts'
import { readProgress } from '../src/game/battlepass/read-progress.ts'
import { storeLevels } from '../src/operations/figures/store-levels.ts'
import { publishScenario } from '../src/operations/publishing/publish.ts'
import { season } from '../test/harness/definitions.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { type Instance, startInstance } from '../test/harness/game.ts'
import { cpuOf } from './cpu.ts'
import { withClient } from './database.ts'
import { median, note, print, spread } from './report.ts'

// What a call costs as the data grows: the same calls on databases of several sizes. README.md explains the table.

const { values: options } = parseArgs({
  options: {
    passes: { type: 'string', default: '100000,10000000' },
    /** Rows of the ledger, for each of these sizes. */
    grants: { type: 'string', default: '1000000,100000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
  },
})
const GRANTS = options.grants.split(',').map(Number)
const SIZES = options.passes.split(',').map((passes, index) => ({ passes: Number(passes), grants: GRANTS[index] ?? 0 }))
const ROUNDS = Number(options.rounds)
const SECONDS = Number(options.seconds)
/** Calls of players that are under way at once. Operators' requests come one after the other. */
const CALLS = 128
/** Players who play, at every size: what they have is in the memory of the service, as in production. */
const ACTIVE = 5_000
/** Players of a season that ends, spread over all. */
const SETTLED = 100_000
/** Of an export: the lines that are read, far fewer than there are. */
const EXPORTED = 20_000
/** The service's jobs run each second: their work for a cell is counted with it. */
const SETTLE_MS = 1_200
const BATCH = 500_000
const DAYS = 360
const DAY_MS = 86_400_000
const FIRST_MS = Date.now() - DAYS * DAY_MS
const PLACE = { scenarioId: 'season', nodeId: 'pass' }
/** Each player claims one level after the other, and no call of xp reaches the last level. */
const TOP = 400
const LEVELS = [...Array.from({ length: TOP }, (_, level) => 2 * level), 1_000_000_000]
const POSTGRES = ['max_wal_size=8GB', 'shared_buffers=512MB', 'max_connections=100']

/** The id of player `n`, and of its run: they rise, as those of players who came one after the other. */
const idOf = (kind: 1 | 2, n: number): string => {
  const hex = n.toString(16).padStart(12, '0')
  return `01900000-0000-700${kind}-8000-${hex}`
}
const sqlOfId = (kind: 1 | 2, n: string): string =>
  `('01900000-0000-700${kind}-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`

interface Stage {
  readonly passes: number
  readonly grants: number
  readonly projectId: string
  readonly environmentId: string
  readonly platformKey: string
  /** Of the key of the game's clients. */
  readonly keyId: string
  readonly instance: Instance
  /** Claims so far: each is a tier that nobody has claimed. */
  claims: number
}

/** Tables that are filled without their indexes, except those of keys: one that is made at the end takes a fraction. */
const TABLES = ['players', 'identities', 'last_logins', 'runs', 'passes']

/**
 * Does the work without checks and triggers, and without the indexes of these tables. What is inserted is as the service
 * would have it.
 */
async function fillWithoutIndexes(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query(`SET synchronous_commit = off; SET session_replication_role = replica;
    SET maintenance_work_mem = '1GB'; SET statement_timeout = 0`)
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index WHERE indrelid = ANY ($1::regclass[]) AND NOT indisunique`,
    [TABLES],
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  await work()
  for (const { name, definition } of rows) {
    note(`index ${name}`)
    await client.query(definition)
  }
  note('vacuum')
  await client.query('VACUUM ANALYZE')
  // What was filled is written now, not while calls are measured.
  await client.query('CHECKPOINT')
}

async function fillPlayers(client: pg.ClientBase, environmentId: string, passes: number): Promise<void> {
  for (let from = 1; from <= passes; from += BATCH) {
    const to = Math.min(passes, from + BATCH - 1)
    const numbers = `FROM generate_series(${from}, ${to}) AS n`
    await client.query(
      `INSERT INTO players (environment_id, id, nickname, region)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, 'Player ' || substr(md5(n::text), 1, 8), 'eu' ${numbers}`,
    )
    await client.query(
      `INSERT INTO player_versions (environment_id, player_id) SELECT '${environmentId}', ${sqlOfId(1, 'n')} ${numbers}`,
    )
    await client.query(
      `INSERT INTO identities (environment_id, provider, subject, player_id)
       SELECT '${environmentId}', 'device', encode(sha256(n::text::bytea), 'base64'), ${sqlOfId(1, 'n')} ${numbers}`,
    )
    await client.query(
      `INSERT INTO last_logins (environment_id, player_id, logged_in_at)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, now() - hashint4(n)::bigint % ${DAYS * 86_400} * interval '1 second' ${numbers}`,
    )
    await client.query(
      `INSERT INTO runs (environment_id, player_id, id, scenario_id, active)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, ${sqlOfId(2, 'n')}, 'season', '["pass"]' ${numbers}`,
    )
    await client.query(
      `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, 'season', 'pass', ${2 * TOP}, ${TOP} ${numbers}`,
    )
    note(`${to.toLocaleString('en')} of ${passes.toLocaleString('en')} passes`)
  }
}

/** Grants of a year, day by day, of players all over. */
async function fillLedger(pool: pg.Pool, client: pg.ClientBase, environmentId: string, passes: number, grants: number) {
  await client.query(`ALTER TABLE xp_ledger DETACH PARTITION xp_ledger_first;
    ALTER TABLE xp_ledger ATTACH PARTITION xp_ledger_first FOR VALUES FROM (MINVALUE) TO ('${firstIdAt(FIRST_MS)}')`)
  await makePartitions(pool, { name: 'xp_ledger', key: 'id', every: 'month' }, new Date())
  const aDay = Math.ceil(grants / DAYS)
  for (let day = 0; day < DAYS; day += 1) {
    const ms = Math.floor(FIRST_MS + day * DAY_MS)
    await client.query(
      `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source, created_at)
       SELECT '${environmentId}', ${sqlOfId(1, 'p')},
         (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
         'season', 'pass', ${sqlOfId(2, 'p')}, 25, 'match', at
       FROM generate_series(0, ${aDay - 1}) AS n CROSS JOIN LATERAL (
         SELECT to_timestamp((${ms} + n::bigint * ${DAY_MS} / ${aDay}) / 1000.0) AS at,
           1 + (n::bigint * 7919 + ${day * 104_729}) % ${passes} AS p
       ) AS k`,
    )
    if (day % 20 === 19) note(`${((day + 1) * aDay).toLocaleString('en')} of ${grants.toLocaleString('en')} grants`)
  }
}

/** A season that ends later, of players all over, most of whom have not claimed their three tiers. */
async function fillEnding(client: pg.ClientBase, environmentId: string, passes: number): Promise<void> {
  const player = sqlOfId(1, `1 + n * ${Math.floor(passes / SETTLED) || 1}`)
  await client.query(
    `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level)
     SELECT '${environmentId}', ${player}, 'ending', 'pass', 250, 3 FROM generate_series(0, ${Math.min(SETTLED, passes) - 1}) AS n`,
  )
}

/** The players who play log in as guests: their subjects are made of the ids of their devices. */
async function nameDevices(
  client: pg.ClientBase,
  { instance, projectId, environmentId, passes }: Stage,
): Promise<void> {
  const subjectOf = await findDevice(instance.app.service, { projectId, environmentId })
  if (!subjectOf) throw new Error('guests may not log in')
  const step = Math.max(1, Math.floor(passes / ACTIVE))
  const numbers = Array.from({ length: Math.min(ACTIVE, passes) }, (_, index) => 1 + index * step)
  await client.query(
    `UPDATE identities SET subject = d.subject FROM unnest($2::text[], $3::uuid[]) AS d (subject, player_id)
     WHERE identities.environment_id = $1 AND identities.player_id = d.player_id`,
    [environmentId, numbers.map((n) => subjectOf(deviceOf(n))), numbers.map((n) => idOf(1, n))],
  )
}

const deviceOf = (n: number): string => `device-of-player-${n}`

async function ask({ instance, platformKey }: Stage, path: string, method: string, body?: unknown): Promise<Response> {
  const response = await fetch(`${instance.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (response.ok) return response
  throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
}

async function query(stage: Stage, text: string): Promise<void> {
  const answer = await (await ask(stage, '/graphql', 'POST', { query: text })).json()
  if (answer.errors) throw new Error(JSON.stringify(answer.errors))
}

/** Reads the first lines of an export, and leaves. */
async function exportLines(stage: Stage): Promise<void> {
  const path = `/platform/v1/projects/${stage.projectId}/players.ndjson?environment=production`
  const { body } = await ask(stage, path, 'GET')
  if (!body) throw new Error('the export is empty')
  let lines = 0
  for await (const bytes of body) {
    for (const byte of bytes) if (byte === 10) lines += 1
    if (lines >= EXPORTED) break
  }
}

async function makeStage(url: string, name: string, { passes, grants }: (typeof SIZES)[number]): Promise<Stage> {
  await withClient(url, (client) => client.query(`CREATE DATABASE ${name}`))
  const own = new URL(url)
  own.pathname = `/${name}`
  await migrate(own.href)
  const pool = new pg.Pool({ connectionString: own.href, max: 2 })
  const { projectId, environments } = await createProject(pool, { name: 'Growth', environments: ['production'] })
  const environmentId = environments.get('production') ?? ''
  const { key: platformKey } = await createPlatformKey(pool, projectId, 'admin')
  const { id: keyId } = await createSdkKey(pool, environmentId)
  await publishScenario(pool, { environmentId, scenarioId: 'season' }, printJson(season({ levels: LEVELS })))
  await publishEnding(pool, environmentId, '2099-01-01T00:00:00Z')
  // Without the time limit that a connection of the service has.
  const client = new pg.Client({ connectionString: own.href })
  await client.connect()
  await fillWithoutIndexes(client, async () => {
    await fillPlayers(client, environmentId, passes)
    await fillEnding(client, environmentId, passes)
    await fillLedger(pool, client, environmentId, passes, grants)
  })
  await pool.end()
  const instance = await startInstance(own.href, { CALL_DEADLINE_MS: '60000' })
  const stage: Stage = { passes, grants, projectId, environmentId, platformKey, keyId, instance, claims: 0 }
  await ask(stage, `/platform/v1/projects/${projectId}/auth-providers`, 'PUT', {
    environment: 'production',
    authProviders: { device: { enabled: true } },
  })
  await nameDevices(client, stage)
  await client.end()
  return stage
}

async function publishEnding(pool: pg.Pool, environmentId: string, endsAt: string): Promise<void> {
  const more = { endsAt, atEnd: 'grant' }
  await publishScenario(pool, { environmentId, scenarioId: 'ending' }, printJson(season({ more })))
}

interface Cell {
  readonly calls: number
  readonly service: number
  readonly postgres: number
}

/** Calls of the players who play, in turn, with a number of them under way at once. */
async function measure(
  stage: Stage,
  { call, atOnce = CALLS }: Calls,
  postmaster: number,
  seconds: number,
): Promise<Cell> {
  const step = Math.max(1, Math.floor(stage.passes / ACTIVE))
  const before = { service: process.cpuUsage(), postgres: (await cpuOf([postmaster])) ?? 0 }
  const end = performance.now() + seconds * 1_000
  let calls = 0
  const clients = Array.from({ length: atOnce }, async () => {
    while (performance.now() < end) {
      calls += 1
      await call(stage, 1 + (calls % Math.min(ACTIVE, stage.passes)) * step)
    }
  })
  await Promise.all(clients)
  await pause(SETTLE_MS)
  const { user, system } = process.cpuUsage(before.service)
  const postgres = ((await cpuOf([postmaster])) ?? 0) - before.postgres
  return { calls, service: (user + system) / calls, postgres: postgres / calls }
}

interface Calls {
  readonly call: (stage: Stage, n: number) => Promise<unknown>
  readonly atOnce?: number
}

const listOf = (filters: string): Calls => ({
  atOnce: 1,
  call: (stage) =>
    query(
      stage,
      `{ players(environment: "production", first: 50, ${filters}) { nodes { id nickname lastLoginAt } pageInfo { endCursor } } }`,
    ),
})

const CALLS_OF: Readonly<Record<string, Calls>> = {
  'add xp': {
    call: ({ instance, environmentId }, n) =>
      instance.app.service.run(
        addXp(
          { environmentId, playerId: idOf(1, n) },
          { ...PLACE, runId: idOf(2, n), amount: 10n, source: 'match', idempotencyKey: null },
        ),
      ),
  },
  'claim a tier': {
    async call(stage) {
      const { instance, environmentId, passes } = stage
      const players = Math.min(ACTIVE, passes)
      const n = 1 + (stage.claims % players) * Math.max(1, Math.floor(passes / ACTIVE))
      const level = 1 + Math.floor(stage.claims / players)
      stage.claims += 1
      const { success, alreadyClaimed } = await instance.app.service.run(
        claimTier(
          { environmentId, playerId: idOf(1, n) },
          { ...PLACE, runId: idOf(2, n), level, track: 'free', idempotencyKey: null },
        ),
      )
      if (!success || alreadyClaimed) throw new Error(`the tier of level ${level} was not claimed`)
    },
  },
  'read progress': {
    call: ({ instance, environmentId }, n) =>
      instance.app.service.run(readProgress({ environmentId, playerId: idOf(1, n) }, PLACE)),
  },
  'log in as a guest': {
    async call({ instance, keyId, projectId, environmentId }, n) {
      const details = { nickname: null, region: null, language: null, deviceName: null }
      const client = { keyId, projectId, environmentId }
      await loginDevice(instance.app.service, client, { deviceId: deviceOf(n), ...details })
    },
  },
  'list of players': listOf(''),
  'list by level': listOf('sort: { by: LEVEL }, filter: { scenarioId: "season", nodeId: "pass" }'),
  'list by last login': listOf('sort: { by: LAST_LOGIN }'),
  'search by nickname': listOf('search: "1f3a"'),
  'insight of a pass': {
    atOnce: 1,
    call: (stage) =>
      query(
        stage,
        '{ battlePassInsight(environment: "production", scenarioId: "season", nodeId: "pass") { levels { level players reached } } }',
      ),
  },
  [`export, ${EXPORTED.toLocaleString('en')} lines`]: { atOnce: 1, call: exportLines },
}

/** Measures a call on each stage in turn, and prints the figures. */
async function compareStages(name: string, call: Calls, stages: readonly Stage[], postmaster: number): Promise<void> {
  const cells = stages.map((): Cell[] => [])
  // The first time, rows are read, and plans are made.
  for (const stage of stages) await measure(stage, call, postmaster, 2 * SECONDS)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, stage] of stages.entries()) {
      note(`${name}, round ${round + 1}`)
      cells[index]?.push(await measure(stage, call, postmaster, SECONDS))
    }
  print(`\n${name}: CPU, µs a call, and CPU of both ÷ that at the smallest: median (lowest–highest)`)
  for (const [index, { passes, grants }] of stages.entries()) {
    const own = cells[index] ?? []
    const of = (read: (cell: Cell) => number) => median(own.map(read)).toFixed(1)
    const ratios = own.map(({ service, postgres: db }, round) => {
      const least = cells[0]?.[round]
      return (service + db) / ((least?.service ?? 0) + (least?.postgres ?? 0))
    })
    const size = `${passes.toLocaleString('en')} passes, ${grants.toLocaleString('en')} grants`
    const rate = median(own.map(({ calls }) => calls / SECONDS))
    print(
      `  ${size.padEnd(42)} service ${of(({ service }) => service)}, Postgres ${of(({ postgres: db }) => db)}, ${rate.toFixed(0)} calls/s, ${spread(ratios)}`,
    )
  }
}

const BOOST = { percent: 50, scenarios: [], sources: [], audience: 'everybody' } as const
/** The days that a preview of a boost looks at. */
const PREVIEWED = [1, 7, 14]
const PREVIEWS = 5

/** The median time of a preview of a boost for some days of the ledger, in milliseconds. */
async function previewBoosts({ instance, environmentId }: Stage, days: number): Promise<string> {
  const { previewBoost, reads } = instance.app.service
  const times: number[] = []
  let players = 0
  for (let one = 0; one < PREVIEWS; one += 1) {
    const began = performance.now()
    const preview = await previewBoost(reads.reader('bench'), 'bench', environmentId, { ...BOOST, days })
    times.push(performance.now() - began)
    players = preview.players
  }
  return `${days} ${days === 1 ? 'day' : 'days'} ${median(times).toFixed(0)} ms (${players.toLocaleString('en')} players)`
}

/** CPU of the end of a season, µs a player, and the seconds that it took. */
async function settle({ instance, environmentId }: Stage, postmaster: number): Promise<string> {
  const { pool } = instance.app
  const before = { service: process.cpuUsage(), postgres: (await cpuOf([postmaster])) ?? 0 }
  await publishEnding(pool, environmentId, '2020-01-01T00:00:00Z')
  await storeLevels(pool, { settledMs: 0 })
  for (;;) {
    const { rows } = await pool.query(
      `SELECT players::int, extract(epoch FROM finished_at - started_at)::float8 AS seconds FROM season_settlements
       WHERE scenario_id = 'ending' AND finished_at IS NOT NULL`,
    )
    if (rows.length === 0) {
      await pause(SETTLE_MS)
      continue
    }
    const [{ players, seconds }] = rows
    const { user, system } = process.cpuUsage(before.service)
    const postgres = ((await cpuOf([postmaster])) ?? 0) - before.postgres
    const each = (us: number): string => (us / players).toFixed(0)
    return `${players.toLocaleString('en')} players in ${seconds.toFixed(0)} s, service ${each(user + system)}, Postgres ${each(postgres)}`
  }
}

/** What the tables take on the disk. */
async function sizeOf({ instance }: Stage): Promise<string> {
  const { rows } = await instance.app.pool.query(
    `SELECT pg_database_size(current_database()) AS all,
       (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'xp_ledger'::regclass) AS ledger,
       pg_total_relation_size('passes') AS passes`,
  )
  const gb = (bytes: string) => (Number(bytes) / 1e9).toFixed(2)
  return `${gb(rows[0].all)} GB, of which the ledger ${gb(rows[0].ledger)} and passes ${gb(rows[0].passes)}`
}

const postgres = await startDurablePostgres(POSTGRES)
const stages: Stage[] = []
try {
  for (const [index, size] of SIZES.entries()) stages.push(await makeStage(postgres.url, `growth_${index}`, size))
  const postmaster = await postgres.postmaster()
  for (const [name, call] of Object.entries(CALLS_OF)) {
    // A failed row does not stop the others, which took an hour to prepare.
    await compareStages(name, call, stages, postmaster).catch((error) => print(`\n${name} failed: ${error}`))
  }
  print(`\npreview of a boost: median of ${PREVIEWS}`)
  for (const stage of stages) {
    const shown: string[] = []
    for (const days of PREVIEWED)
      shown.push(await previewBoosts(stage, days).catch((error) => `${days} days: ${error.message}`))
    print(`  ${`${stage.grants.toLocaleString('en')} grants`.padEnd(42)} ${shown.join(', ')}`)
  }
  print('\nthe end of a season: CPU, µs a player')
  for (const stage of stages)
    print(`  ${`${stage.passes.toLocaleString('en')} passes`.padEnd(42)} ${await settle(stage, postmaster)}`)
  for (const stage of stages) print(`${stage.passes.toLocaleString('en')} passes: ${await sizeOf(stage)}`)
  print(`${cpus()[0]?.model}, load ${loadavg().map((load) => load.toFixed(1))}`)
} finally {
  for (const { instance } of stages) await instance.stop().catch(() => undefined)
  await postgres.remove()
}
