import { cpus, loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { print as printJson } from '../src/base/json.ts'
import { addXp } from '../src/battlepass/add-xp.ts'
import { readProgress } from '../src/battlepass/read-progress.ts'
import { firstIdAt } from '../src/db/ids.ts'
import { migrate } from '../src/db/migrate.ts'
import { makePartitions } from '../src/db/partitions.ts'
import { createProject } from '../src/projects/projects.ts'
import { publishScenario } from '../src/scenario/publish.ts'
import { season } from '../test/harness/definitions.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { type Instance, startInstance } from '../test/harness/game.ts'
import { cpuOf } from './cpu.ts'
import { withClient } from './database.ts'
import { median, note, print, spread } from './report.ts'

// What a call costs as the data grows: the same calls on databases of several sizes. README.md explains the table.

const { values: options } = parseArgs({
  options: {
    passes: { type: 'string', default: '10000,1000000,10000000' },
    /** Rows of the ledger, for each of these sizes. */
    grants: { type: 'string', default: '100000,10000000,100000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
  },
})
const GRANTS = options.grants.split(',').map(Number)
const SIZES = options.passes.split(',').map((passes, index) => ({ passes: Number(passes), grants: GRANTS[index] ?? 0 }))
const ROUNDS = Number(options.rounds)
const SECONDS = Number(options.seconds)
/** Calls that are under way at once. */
const CALLS = 128
/** Players who play, at every size: what they have is in the memory of the service, as in production. */
const ACTIVE = 5_000
/** The service's jobs run each second: their work for a cell is counted with it. */
const SETTLE_MS = 1_200
const BATCH = 500_000
const DAYS = 360
const DAY_MS = 86_400_000
const FIRST_MS = Date.now() - DAYS * DAY_MS
const PLACE = { scenarioId: 'season', nodeId: 'pass' }
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
  readonly environmentId: string
  readonly instance: Instance
}

async function fillPlayers(client: pg.ClientBase, environmentId: string, passes: number): Promise<void> {
  for (let from = 1; from <= passes; from += BATCH) {
    const to = Math.min(passes, from + BATCH - 1)
    const numbers = `FROM generate_series(${from}, ${to}) AS n`
    await client.query(
      `INSERT INTO players (environment_id, id) SELECT '${environmentId}', ${sqlOfId(1, 'n')} ${numbers}`,
    )
    await client.query(
      `INSERT INTO runs (environment_id, player_id, id, scenario_id, active)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, ${sqlOfId(2, 'n')}, 'season', '["pass"]' ${numbers}`,
    )
    await client.query(
      `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level)
       SELECT '${environmentId}', ${sqlOfId(1, 'n')}, 'season', 'pass', 1000, 1 ${numbers}`,
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
         overlay(first_id_at(at)::text PLACING '7000-8000-' || lpad(to_hex(n), 12, '0') FROM 15)::uuid,
         'season', 'pass', ${sqlOfId(2, 'p')}, 25, 'match', at
       FROM generate_series(0, ${aDay - 1}) AS n CROSS JOIN LATERAL (
         SELECT to_timestamp((${ms} + n::bigint * ${DAY_MS} / ${aDay}) / 1000.0) AS at,
           1 + (n::bigint * 7919 + ${day * 104_729}) % ${passes} AS p
       ) AS k`,
    )
    if (day % 20 === 19) note(`${((day + 1) * aDay).toLocaleString('en')} of ${grants.toLocaleString('en')} grants`)
  }
}

async function makeStage(url: string, name: string, { passes, grants }: (typeof SIZES)[number]): Promise<Stage> {
  await withClient(url, (client) => client.query(`CREATE DATABASE ${name}`))
  const own = new URL(url)
  own.pathname = `/${name}`
  await migrate(own.href)
  const pool = new pg.Pool({ connectionString: own.href, max: 2 })
  const { environments } = await createProject(pool, { name: 'Growth', environments: ['production'] })
  const environmentId = environments.get('production') ?? ''
  await publishScenario(
    pool,
    { environmentId, scenarioId: 'season' },
    printJson(season({ levels: [0, 1_000_000_000] })),
  )
  await withClient(own.href, async (client) => {
    await client.query('SET synchronous_commit = off; SET tierway.keeps_versions = on')
    await fillPlayers(client, environmentId, passes)
    await fillLedger(pool, client, environmentId, passes, grants)
    note(`vacuum of ${passes.toLocaleString('en')} passes`)
    await client.query('VACUUM ANALYZE')
  })
  await pool.end()
  return { passes, grants, environmentId, instance: await startInstance(own.href, { CALL_DEADLINE_MS: '60000' }) }
}

interface Cell {
  readonly calls: number
  readonly service: number
  readonly postgres: number
}

/** Calls of the players who play, one after the other, with {@link CALLS} under way at once. */
async function measure(
  stage: Stage,
  call: (stage: Stage, n: number) => Promise<unknown>,
  postmaster: number,
  seconds: number,
) {
  const step = Math.max(1, Math.floor(stage.passes / ACTIVE))
  const before = { service: process.cpuUsage(), postgres: (await cpuOf([postmaster])) ?? 0 }
  const end = performance.now() + seconds * 1_000
  let calls = 0
  const clients = Array.from({ length: CALLS }, async () => {
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

const CALLS_OF: Readonly<Record<string, (stage: Stage, n: number) => Promise<unknown>>> = {
  'add xp': ({ instance, environmentId }, n) =>
    instance.app.service.run(
      addXp(
        { environmentId, playerId: idOf(1, n) },
        { ...PLACE, runId: idOf(2, n), amount: 10n, source: 'match', idempotencyKey: null },
      ),
    ),
  'read progress': ({ instance, environmentId }, n) =>
    instance.app.service.run(readProgress({ environmentId, playerId: idOf(1, n) }, PLACE)),
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
  print(`\npreview of a boost: median of ${PREVIEWS}`)
  for (const stage of stages) {
    const shown: string[] = []
    for (const days of PREVIEWED) shown.push(await previewBoosts(stage, days))
    print(`  ${`${stage.grants.toLocaleString('en')} grants`.padEnd(42)} ${shown.join(', ')}`)
  }
  for (const stage of stages) print(`${stage.passes.toLocaleString('en')} passes: ${await sizeOf(stage)}`)
  print(`${cpus()[0]?.model}, load ${loadavg().map((load) => load.toFixed(1))}`)
} finally {
  for (const { instance } of stages) await instance.stop().catch(() => undefined)
  await postgres.remove()
}
