import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { print as printJson } from '../src/base/json.ts'
import { createProject } from '../src/callers/projects.ts'
import { migrate } from '../src/db/migrate.ts'
import { storeLevels } from '../src/operations/figures/store-levels.ts'
import { publishScenario } from '../src/operations/publishing/publish.ts'
import { season } from '../test/harness/definitions.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { type Instance, startInstance } from '../test/harness/game.ts'
import { ACTIVE, compare, play, playAlone, sqlOfId, type Window } from './beside.ts'
import { withClient } from './database.ts'
import { note, print } from './report.ts'

// The end of a season with many players, beside players of another season who play on. README.md explains the figures.

const { values: options } = parseArgs({
  options: {
    players: { type: 'string', default: '1000000' },
    /** Calls of xp that are under way at once. */
    calls: { type: 'string', default: '32' },
    /** Each player also holds a currency that becomes another one. */
    convert: { type: 'boolean', default: false },
  },
})
const PLAYERS = Number(options.players)
const CALLS = Number(options.calls)
const BATCH = 100_000
const LEVELS = 5
const TOKENS = 25
/** What the tokens of a player become, at the rate below. */
const SHARDS = 2
const CONVERTING = options.convert ? { next: { convert: [{ currency: 'token', to: 'shard', rate: '1:10' }] } } : {}

async function fill(url: string, environmentId: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('SET synchronous_commit = off; SET tierway.keeps_versions = on')
    for (let from = 1; from <= PLAYERS; from += BATCH) {
      const numbers = `FROM generate_series(${from}, ${Math.min(PLAYERS, from + BATCH - 1)}) AS n`
      const owner = `'${environmentId}', ${sqlOfId(1, 'n')}`
      await client.query(`INSERT INTO players (environment_id, id) SELECT ${owner} ${numbers}`)
      await client.query(
        `INSERT INTO runs (environment_id, player_id, id, scenario_id, active)
         SELECT ${owner}, ${sqlOfId(2, 'n')}, CASE WHEN n <= ${ACTIVE} THEN 'live' ELSE 'ended' END, '["pass"]' ${numbers}`,
      )
      // All levels are equally frequent, so a player has three tiers in the middle.
      await client.query(
        `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level)
         SELECT ${owner}, 'ended', 'pass', 100 * (n % ${LEVELS}), 1 + n % ${LEVELS} ${numbers}`,
      )
      if (options.convert) {
        await client.query(
          `INSERT INTO wallets (environment_id, player_id, currency, balance) SELECT ${owner}, 'token', ${TOKENS} ${numbers}`,
        )
      }
      note(`${Math.min(PLAYERS, from + BATCH - 1).toLocaleString('en')} of ${PLAYERS.toLocaleString('en')} players`)
    }
    // Not the tables that are empty yet: Postgres would then read them as a whole until it has analyzed them by itself.
    await client.query('VACUUM ANALYZE players, runs, passes')
  })
}

const postgres = await startDurablePostgres(['max_wal_size=4GB', 'shared_buffers=512MB'])
let instance: Instance | undefined
try {
  await withClient(postgres.url, (client) => client.query('CREATE DATABASE season_end'))
  const url = new URL(postgres.url)
  url.pathname = '/season_end'
  await migrate(url.href)
  const pool = new pg.Pool({ connectionString: url.href, max: 2 })
  const { environments } = await createProject(pool, { name: 'Season', environments: ['production'] })
  const environmentId = environments.get('production') ?? ''
  const publish = (scenarioId: string, more: object) =>
    publishScenario(pool, { environmentId, scenarioId }, printJson(season({ more: more as never })))
  await publish('live', {})
  await publish('ended', { endsAt: '2099-01-01T00:00:00Z' })
  await fill(url.href, environmentId)
  instance = await startInstance(url.href, { CALL_DEADLINE_MS: '60000' })

  const playing = { instance, environmentId, players: PLAYERS, calls: CALLS }
  const alone = await playAlone(playing)
  await publish('ended', { endsAt: '2020-01-01T00:00:00Z', atEnd: 'grant', ...CONVERTING })
  await storeLevels(pool, { settledMs: 0 })
  const read = async () =>
    (
      await pool.query<{ players: string; tiers: string; seconds: number; done: boolean }>(
        `SELECT players, tiers, finished_at IS NOT NULL AS done,
           extract(epoch FROM coalesce(finished_at, clock_timestamp()) - started_at)::float8 AS seconds FROM season_settlements`,
      )
    ).rows[0]
  const beside: Window[] = []
  let state = await read()
  while (!state?.done) {
    beside.push(await play(playing))
    state = await read()
    note(`${Number(state?.players).toLocaleString('en')} of ${PLAYERS.toLocaleString('en')} players are settled`)
  }
  print(`\nPlayers of another season, ${CALLS} calls at once`)
  compare(['before the end', alone], ['while a season is settled', beside.slice(0, -1)])
  const { players, tiers, seconds } = state
  print(
    `\n${Number(players).toLocaleString('en')} players were granted ${Number(tiers).toLocaleString('en')} tiers in ${seconds.toFixed(0)} s: ${Math.round(Number(players) / seconds).toLocaleString('en')} players a second`,
  )
  const { rows } = await pool.query<{ claims: string; events: string; gold: string; shards: string; expected: string }>(
    `SELECT (SELECT count(*) FROM tier_claims) AS claims,
       (SELECT count(*) FROM events WHERE type = 'season.settled')
         + (SELECT count(*) FROM unnumbered_events WHERE type = 'season.settled') AS events,
       (SELECT sum(balance) FROM wallets WHERE currency = 'gold') AS gold,
       (SELECT coalesce(sum(balance), 0) FROM wallets WHERE currency = 'shard')
         + (SELECT coalesce(sum(balance), 0) FROM wallets WHERE currency = 'token') AS shards,
       (SELECT sum(5 * level * (level + 1)) FROM passes WHERE scenario_id = 'ended') AS expected`,
  )
  const [books] = rows
  const shards = options.convert ? PLAYERS * SHARDS : 0
  const areGiven = books?.gold === books?.expected && Number(books?.shards) === shards
  if (!areGiven || Number(books?.events) !== PLAYERS || books?.claims !== tiers)
    throw new Error(`the books do not agree: ${JSON.stringify({ ...books, players, tiers })}`)
  print('Checked: each player has one event, and the wallets hold what the levels give.')
  print(`${cpus()[0]?.model}, load ${loadavg().map((load) => load.toFixed(1))}`)
  await pool.end()
} finally {
  await instance?.stop().catch(() => undefined)
  await postgres.remove()
}
