import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { print as printJson } from '../src/base/json.ts'
import { addXp } from '../src/battlepass/add-xp.ts'
import { createPlatformKey } from '../src/callers/keys.ts'
import { migrate } from '../src/db/migrate.ts'
import { createGrantJob } from '../src/grants/manage-jobs.ts'
import { createGrantJobRequest } from '../src/grants/requests.ts'
import { createProject } from '../src/projects/projects.ts'
import { publishScenario } from '../src/scenario/publish.ts'
import { season } from '../test/harness/definitions.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { type Instance, startInstance } from '../test/harness/game.ts'
import { withClient } from './database.ts'
import { median, note, print } from './report.ts'

// A grant job for many players, beside players who play on. README.md explains the figures.

const { values: options } = parseArgs({
  options: {
    players: { type: 'string', default: '100000' },
    /** Calls of xp that are under way at once. */
    calls: { type: 'string', default: '32' },
  },
})
const PLAYERS = Number(options.players)
const CALLS = Number(options.calls)
/** Players who play on. */
const ACTIVE = 5_000
const BATCH = 100_000
const WINDOW_MS = 5_000
/** Windows before the job. */
const ALONE = 4
const GOLD = 100
const PLACE = { scenarioId: 'live', nodeId: 'pass' }

const sqlOfId = (kind: 1 | 2, n: string): string =>
  `('01900000-0000-700${kind}-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
const idOf = (kind: 1 | 2, n: number): string => `01900000-0000-700${kind}-8000-${n.toString(16).padStart(12, '0')}`

async function fill(url: string, environmentId: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('SET synchronous_commit = off; SET tierway.keeps_versions = on')
    for (let from = 1; from <= PLAYERS; from += BATCH) {
      const numbers = `FROM generate_series(${from}, ${Math.min(PLAYERS, from + BATCH - 1)}) AS n`
      const owner = `'${environmentId}', ${sqlOfId(1, 'n')}`
      await client.query(`INSERT INTO players (environment_id, id) SELECT ${owner} ${numbers}`)
      await client.query(
        `INSERT INTO runs (environment_id, player_id, id, scenario_id, active)
         SELECT ${owner}, ${sqlOfId(2, 'n')}, 'live', '["pass"]' ${numbers} WHERE n <= ${ACTIVE}`,
      )
      note(`${Math.min(PLAYERS, from + BATCH - 1).toLocaleString('en')} of ${PLAYERS.toLocaleString('en')} players`)
    }
    // Not the tables that are empty yet: Postgres would then read them as a whole until it has analyzed them by itself.
    await client.query('VACUUM ANALYZE players, runs')
  })
}

interface Window {
  /** Calls a second. */
  readonly rate: number
  readonly p50: number
  readonly p99: number
}

/** Players who play on for some seconds, each call by another player. */
async function play({ app }: Instance, environmentId: string): Promise<Window> {
  const times: number[] = []
  const end = performance.now() + WINDOW_MS
  let n = 0
  await Promise.all(
    Array.from({ length: CALLS }, async () => {
      while (performance.now() < end) {
        n += 1
        const player = 1 + (n % Math.min(ACTIVE, PLAYERS))
        const began = performance.now()
        await app.service.run(
          addXp(
            { environmentId, playerId: idOf(1, player) },
            { ...PLACE, runId: idOf(2, player), amount: 1n, source: 'match', idempotencyKey: null },
          ),
        )
        times.push(performance.now() - began)
      }
    }),
  )
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(share * times.length)] ?? 0
  return { rate: (times.length * 1_000) / WINDOW_MS, p50: at(0.5), p99: at(0.99) }
}

const show = (name: string, windows: readonly Window[]): Window => {
  const of = (read: (one: Window) => number): number => median(windows.map(read))
  const found = { rate: of(({ rate }) => rate), p50: of(({ p50 }) => p50), p99: of(({ p99 }) => p99) }
  print(
    `  ${name.padEnd(28)}${Math.round(found.rate).toLocaleString('en').padStart(8)} calls/s, p50 ${found.p50.toFixed(1)} ms, p99 ${found.p99.toFixed(1)} ms`,
  )
  return found
}

const postgres = await startDurablePostgres(['max_wal_size=4GB', 'shared_buffers=512MB'])
let instance: Instance | undefined
try {
  await withClient(postgres.url, (client) => client.query('CREATE DATABASE grant_job'))
  const url = new URL(postgres.url)
  url.pathname = '/grant_job'
  await migrate(url.href)
  const pool = new pg.Pool({ connectionString: url.href, max: 2 })
  const { projectId, environments } = await createProject(pool, { name: 'Season', environments: ['production'] })
  const environmentId = environments.get('production') ?? ''
  await publishScenario(pool, { environmentId, scenarioId: 'live' }, printJson(season()))
  await fill(url.href, environmentId)
  instance = await startInstance(url.href, { CALL_DEADLINE_MS: '60000' })

  // Young code and an empty memory are slow.
  await play(instance, environmentId)
  const alone: Window[] = []
  for (let window = 0; window < ALONE; window += 1) alone.push(await play(instance, environmentId))
  const { id: keyId } = await createPlatformKey(pool, projectId, 'admin')
  const { service } = instance.app
  const { jobId } = await createGrantJob(
    service,
    { kind: 'platform', keyId, projectId, role: 'admin' },
    {
      ...createGrantJobRequest.readInput({
        ...{ environment: 'production', to: { filter: {} }, give: { rewards: [{ currency: 'gold', amount: GOLD }] } },
        ...{ limit: 1_000_000, reason: 'bench', idempotencyKey: 'bench' },
      }),
      environmentId,
    },
  )
  const read = async () =>
    (
      await pool.query<{ granted: number; seconds: number; collecting: number; done: boolean }>(
        `SELECT granted, state = 'done' AS done, extract(epoch FROM started_at - created_at)::float8 AS collecting,
           extract(epoch FROM coalesce(finished_at, clock_timestamp()) - created_at)::float8 AS seconds
         FROM grant_jobs WHERE id = $1`,
        [jobId],
      )
    ).rows[0]
  const beside: Window[] = []
  let state = await read()
  while (!state?.done) {
    beside.push(await play(instance, environmentId))
    state = await read()
    note(`${Number(state?.granted).toLocaleString('en')} of ${PLAYERS.toLocaleString('en')} players have theirs`)
  }
  print(`\nPlayers who play on, ${CALLS} calls at once`)
  const before = show('before the job', alone)
  const meanwhile = show('while the job runs', beside.slice(0, -1))
  print(
    `  calls a second ${(meanwhile.rate / before.rate).toFixed(2)} (goal 0.8), p99 ${(meanwhile.p99 / before.p99).toFixed(2)} (goal 2) of those before`,
  )
  const { granted, seconds, collecting } = state
  print(
    `\n${granted.toLocaleString('en')} players got theirs in ${seconds.toFixed(0)} s, of which ${collecting.toFixed(1)} s were to collect them: ${Math.round(granted / (seconds - collecting)).toLocaleString('en')} players a second`,
  )
  const { rows } = await pool.query<{ gold: string; most: string; rows: string }>(
    `SELECT sum(balance) AS gold, max(balance) AS most, (SELECT count(*) FROM wallet_ledger) AS rows FROM wallets`,
  )
  const [books] = rows
  if (books?.gold !== String(PLAYERS * GOLD) || books?.most !== String(GOLD) || Number(books?.rows) !== PLAYERS)
    throw new Error(`the books do not agree: ${JSON.stringify({ ...books, granted })}`)
  print('Checked: each player has the gift once.')
  print(`${cpus()[0]?.model}, load ${loadavg().map((load) => load.toFixed(1))}`)
  await pool.end()
} finally {
  await instance?.stop().catch(() => undefined)
  await postgres.remove()
}
