import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { print as printJson } from '../src/base/json.ts'
import { createPlatformKey } from '../src/callers/keys.ts'
import { createProject } from '../src/callers/projects.ts'
import { migrate } from '../src/db/migrate.ts'
import { createGrantJob } from '../src/operations/grants/manage-jobs.ts'
import { createGrantJobRequest } from '../src/operations/grants/requests.ts'
import { publishScenario } from '../src/operations/publishing/publish.ts'
import { season } from '../test/harness/definitions.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { type Instance, startInstance } from '../test/harness/game.ts'
import { ACTIVE, compare, play, playAlone, sqlOfId, type Window } from './beside.ts'
import { withClient } from './database.ts'
import { note, print } from './report.ts'

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
const BATCH = 100_000
const GOLD = 100

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

  const playing = { instance, environmentId, players: PLAYERS, calls: CALLS }
  const alone = await playAlone(playing)
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
    beside.push(await play(playing))
    state = await read()
    note(`${Number(state?.granted).toLocaleString('en')} of ${PLAYERS.toLocaleString('en')} players have theirs`)
  }
  print(`\nPlayers who play on, ${CALLS} calls at once`)
  compare(['before the job', alone], ['while the job runs', beside.slice(0, -1)])
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
