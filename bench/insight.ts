import { cpus, loadavg } from 'node:os'
import pg, { type Pool, type QueryConfig } from 'pg'
import { searchPlayers } from '../src/accounts/lists/search-players.ts'
import { readLoginStatistics } from '../src/accounts/login/log/login-statistics.ts'
import { createPlatformKey } from '../src/callers/keys.ts'
import type { Range } from '../src/declare/range.ts'
import { createProgressBar } from '../src/dev/progress-bar.ts'
import { ensureScenario } from '../src/dev/seed.ts'
import { seedSeason } from '../src/dev/seed-season.ts'
import { parseDefinition } from '../src/game/definition/parse.ts'
import * as insight from '../src/operations/figures/read-insight.ts'
import { readScenario } from '../src/operations/publishing/publish.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld, spawnService, stopService } from '../test/harness/service.ts'
import { until } from '../test/harness/until.ts'

// The speed of dashboards and lists of players with a million players in an environment. README.md explains each row.

const PLAYERS = 1_000_000
const SAMPLES = 41
const WARM_UPS = 5
const INSIGHT_LIMIT_MS = 200
const PLAYERS_LIMIT_MS = 20
const AUDIT_ROWS = 200_000
const SCENARIO = 'season-1'
const NODE = 'pass'
const DAY_MS = 86_400_000

interface Query {
  readonly name: string
  readonly limitMs?: number
  readonly query: string
  /** Each call has other arguments, so that no answer can be cached. */
  readonly variables: (call: number) => Readonly<Record<string, unknown>>
  /** Runs its statements on this pool, to show their plans. */
  readonly statements?: (pool: Pool, call: number) => Promise<unknown>
}

const number = (flag: string, otherwise: number): number => {
  const at = process.argv.indexOf(flag)
  const given = at === -1 ? otherwise : Number(process.argv[at + 1])
  if (Number.isInteger(given) && given > 0) return given
  throw new Error(`${flag} takes a whole number`)
}
const players = number('--players', PLAYERS)
const samples = number('--samples', SAMPLES)
/** Measures the database that an earlier run filled at `DATABASE_URL`. */
const isFilled = process.argv.includes('--filled')

const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ended.abort(new Error(`ended by ${signal}`)))
const cleanUps: (() => unknown)[] = []

async function main(): Promise<void> {
  print('building')
  await buildService()
  const url = process.env.DATABASE_URL ?? (await startPostgres())
  const world = await createWorld(url)
  cleanUps.push(() => world.close())
  const { pool } = world
  const environmentId = isFilled ? await findFilled(pool) : world.environmentId
  if (!isFilled) await fill(url, pool, environmentId)
  const environment = await readEnvironment(pool, environmentId)
  const { key } = await createPlatformKey(pool, environment.projectId, 'admin')
  const queries = await listQueries(pool, environmentId)

  const service = spawnService(world.env)
  cleanUps.push(() => stopService(service))
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined)
  if (service.exit) throw new Error(`the service ended:\n${service.output}`)

  print('')
  print(await describe(pool, environmentId))
  print(
    `Over HTTP on loopback, one call at a time; median and p95 of ${samples} calls, each of another range or player.`,
  )
  print('')
  print(line('', ['median', 'p95', 'limit']))
  const above: Query[] = []
  for (const query of queries) {
    ended.signal.throwIfAborted()
    const ask = (call: number) => graphql(service.baseUrl, key, query, call)
    for (let call = 0; call < WARM_UPS; call += 1) await ask(samples + call)
    const times: number[] = []
    for (let call = 0; call < samples; call += 1) times.push(await ask(call))
    times.sort((a, b) => a - b)
    const median = times[times.length >> 1] ?? 0
    const p95 = times[Math.floor(times.length * 0.95)] ?? 0
    const { limitMs } = query
    const isAbove = limitMs !== undefined && median >= limitMs
    if (isAbove) above.push(query)
    const limit = limitMs === undefined ? '' : `${limitMs} ms${isAbove ? ' EXCEEDED' : ''}`
    print(line(query.name, [`${median.toFixed(1)} ms`, `${p95.toFixed(1)} ms`, limit]))
  }
  print('')
  for (const query of above) await explain(pool, query)
  if (above.length > 0) throw new Error(`${above.length} of ${queries.length} are above their limit`)
  print('Every median is below its limit.')
}

async function startPostgres(): Promise<string> {
  print('starting an embedded Postgres with its default settings')
  const postgres = await startDurablePostgres()
  cleanUps.push(() => postgres.remove())
  return postgres.url
}

async function fill(url: string, pool: Pool, environmentId: string): Promise<void> {
  const bar = createProgressBar()
  const started = performance.now()
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`
  await ensureScenario(pool, environmentId, SCENARIO)
  await seedSeason({
    ...{ url, environmentId, scenarioId: SCENARIO, players, days: 60, seed: 1, lean: true, signal: ended.signal },
    eventRetentionDays: 30,
    onProgress: ({ doing, done, of }) => bar.draw(done, of, `${done.toLocaleString('en')} ${doing}, ${seconds()}`),
  })
  bar.clear()
  ended.signal.throwIfAborted()
  await maintain(url, async (client) => {
    // A year of support in the audit log.
    await client.query(
      `INSERT INTO audit_log (project_id, id, environment_id, created_at, actor, action, target, before, after, reason)
       SELECT e.project_id, (lpad(to_hex((extract(epoch FROM a.at) * 1000)::bigint), 12, '0') || substr(md5(n::text), 13))::uuid,
         e.id, a.at, 'platform_key:' || md5((n % 40)::text)::uuid,
         (ARRAY['player.ban', 'player.unban', 'player.credit_wallet', 'player.grant_xp'])[1 + n % 4],
         md5((n % 50000)::text)::uuid, '{"status":"active"}', '{"status":"banned"}', 'a ticket'
       FROM environments e, generate_series(1, $2::int) AS n,
         LATERAL (SELECT now() - (n * interval '1 year' / $2::int) AS at) AS a
       WHERE e.id = $1`,
      [environmentId, AUDIT_ROWS],
    )
    print(`filled in ${seconds()}; VACUUM ANALYZE`)
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
  })
  print(`ready after ${seconds()}`)
}

async function maintain(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await work(client).finally(() => client.end())
}

async function findFilled(pool: Pool): Promise<string> {
  const { rows } = await pool.query('SELECT environment_id FROM players LIMIT 1')
  if (rows.length === 0) throw new Error('nothing is filled: leave out --filled')
  return rows[0].environment_id
}

async function readEnvironment(pool: Pool, environmentId: string): Promise<{ projectId: string }> {
  const { rows } = await pool.query('SELECT project_id FROM environments WHERE id = $1', [environmentId])
  return { projectId: rows[0].project_id }
}

async function describe(pool: Pool, environmentId: string): Promise<string> {
  const { rows } = await pool.query(
    `SELECT (SELECT count(*)::int FROM players WHERE environment_id = $1) AS players,
       (SELECT sum(count)::int FROM insight_totals WHERE environment_id = $1 AND measure = 'xp') AS grants,
       (SELECT count(*)::int FROM insight_totals WHERE environment_id = $1) AS totals,
       pg_size_pretty(pg_database_size(current_database())) AS size, current_setting('server_version') AS version,
       current_setting('shared_buffers') AS buffers`,
    [environmentId],
  )
  const { players: found, grants, totals, size, version, buffers } = rows[0]
  const many = (count: number) => count.toLocaleString('en')
  return [
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, Postgres ${version} with ${buffers} of buffers; load ${loadavg()[0]?.toFixed(1)}.`,
    `${many(found)} players, ${many(grants)} grants of xp, ${many(totals)} totals, ${size}.`,
  ].join('\n')
}

interface SamplePlayer {
  readonly id: string
  readonly nickname: string
  readonly subject: string
}

/** Players from anywhere in the season. Some have all their rows. */
async function samplePlayers(pool: Pool, environmentId: string, onlyWhole: boolean): Promise<readonly SamplePlayer[]> {
  const { rows } = await pool.query(
    `SELECT p.id, p.nickname, i.subject FROM players p
     JOIN identities i ON i.environment_id = p.environment_id AND i.player_id = p.id
     WHERE p.environment_id = $1 AND p.nickname IS NOT NULL AND p.id IN (
       SELECT player_id FROM ${onlyWhole ? 'wallets' : 'runs'} WHERE environment_id = $1 ORDER BY md5(player_id::text) LIMIT 200
     ) ORDER BY md5(p.id::text)`,
    [environmentId],
  )
  return rows
}

async function listQueries(pool: Pool, environmentId: string): Promise<Query[]> {
  const anyone = await samplePlayers(pool, environmentId, false)
  const whole = await samplePlayers(pool, environmentId, true)
  const at = (list: readonly SamplePlayer[], call: number): SamplePlayer => {
    const found = list[call % list.length]
    if (!found) throw new Error('there are no players')
    return found
  }
  const scenario = await readScenario(pool, { environmentId, scenarioId: SCENARIO }, null)
  const parsed = parseDefinition(scenario.definition.text)
  const pass = parsed.ok ? parsed.definition.nodes.get(NODE) : undefined
  if (pass?.type !== 'battle-pass') throw new Error('there is no pass')
  const place = { environmentId, scenarioId: SCENARIO, nodeId: NODE }
  // The range of each call ends an hour earlier than the previous one.
  const rangeOf = (days: number, call: number): Range => {
    const to = new Date(Date.now() - (call % 24) * 3_600_000)
    return { from: new Date(to.getTime() - days * DAY_MS), to }
  }

  const LEVELS = 'levels { level players premium reached reachedPremium conversion reachedInRange premiumInRange }'
  const DAYS = 'days { day players newPlayers premium claims completed }'
  const TIERS = 'tiers { level track reached entitled claimed unclaimed claimedInRange }'
  const COMPLETION = 'completion { players atTopLevel completed rate }'
  const xp = (by: string) => `xp(by: ${by}) { source grants xp times { at grants xp } }`
  type Ref = insight.InsightRef
  const figures = (
    name: string,
    days: number,
    fields: string,
    statements?: (pool: Pool, ref: Ref) => Promise<unknown>,
  ) => ({
    name: `battlePassInsight: ${name}, ${days} days`,
    limitMs: INSIGHT_LIMIT_MS,
    query: `query ($from: DateTime!, $to: DateTime!) {
      battlePassInsight(environment: "production", scenarioId: "${SCENARIO}", nodeId: "${NODE}", from: $from, to: $to) { ${fields} }
    }`,
    variables: (call: number) => ({ ...rangeOf(days, call) }),
    ...(statements && {
      statements: (explaining: Pool, call: number) =>
        statements(explaining, { place, pass, range: rangeOf(days, call) }),
    }),
  })
  const logins = (name: string, days: number, fields: string): Query => ({
    name: `loginStatistics: ${name}, ${days} ${days === 1 ? 'day' : 'days'}`,
    limitMs: INSIGHT_LIMIT_MS,
    query: `query ($from: DateTime!, $to: DateTime!) {
      loginStatistics(environment: "production", from: $from, to: $to) { ${fields} }
    }`,
    variables: (call) => ({ ...rangeOf(days, call) }),
    statements: (explaining, call) =>
      readLoginStatistics(explaining, { environmentId, provider: null, ...rangeOf(days, call) }),
  })
  interface Search {
    readonly search?: string
    readonly status?: 'active' | 'banned' | 'deleted'
    readonly after?: string
  }
  const list = (name: string, search: (call: number) => Search): Query => ({
    name: `players: ${name}`,
    limitMs: PLAYERS_LIMIT_MS,
    query: `query ($search: String, $status: PlayerStatus, $after: String) {
      players(environment: "production", search: $search, filter: { status: $status }, first: 50, after: $after) {
        edges { cursor node { id status nickname region language createdAt } } pageInfo { hasNextPage endCursor }
      }
    }`,
    variables(call) {
      const { after, ...others } = search(call)
      return { ...others, ...(after && { after: Buffer.from(`player:${after}`).toString('base64url') }) }
    },
    statements(explaining, call) {
      const { search: text = null, status = null, after = null } = search(call)
      return searchPlayers(
        explaining,
        { environmentId, text, status },
        { after: after === null ? null : { id: after, at: null }, limit: 51 },
      )
    },
  })
  const other = (name: string, query: string, variables: Query['variables'] = () => ({})): Query => ({
    name,
    query,
    variables,
  })
  const AUDIT = 'edges { node { id at actor action target before after reason } }'
  const EVENT = 'edges { node { occurredAt handle playerId data } }'
  const events = (filter: string) => `query ($playerId: ID, $from: DateTime) {
    events(environment: "production", last: 50, playerId: $playerId, from: $from ${filter}) { ${EVENT} }
  }`
  return [
    figures('levels', 60, LEVELS, insight.readLevels),
    figures('days', 60, DAYS, insight.readDays),
    figures('tiers', 60, TIERS, async (explaining, ref) =>
      insight.readTiers(explaining, ref, await insight.readLevels(pool, ref)),
    ),
    figures('completion', 60, COMPLETION, async (explaining, ref) =>
      insight.readCompletion(explaining, ref, await insight.readLevels(pool, ref)),
    ),
    figures('xp by hour', 31, xp('HOUR'), (explaining, ref) =>
      insight.readXp(explaining, ref, { step: 'hour', sources: 20 }),
    ),
    figures('xp by day', 60, xp('DAY'), (explaining, ref) =>
      insight.readXp(explaining, ref, { step: 'day', sources: 20 }),
    ),
    figures('everything', 7, `${LEVELS} ${DAYS} ${TIERS} ${COMPLETION} ${xp('HOUR')}`),
    figures('everything', 60, `${LEVELS} ${DAYS} ${TIERS} ${COMPLETION} ${xp('DAY')}`),
    logins('total', 1, 'total { logins outcomes { outcome logins } latency { p50 p95 p99 } }'),
    logins('total', 31, 'total { logins outcomes { outcome logins } latency { p50 p95 p99 } }'),
    list('first page', () => ({})),
    list('a page deep in the list', (call) => ({ after: at(anyone, call).id })),
    list('by a whole nickname', (call) => ({ search: at(anyone, call).nickname })),
    list('by four letters of a nickname', (call) => ({ search: at(anyone, call).nickname.slice(0, 4) })),
    list('by one letter of a nickname', (call) => ({ search: at(anyone, call).nickname.slice(0, 1) })),
    list('by a nickname that nobody has', (call) => ({ search: `nobody${call}` })),
    list('by subject', (call) => ({ search: at(anyone, call).subject })),
    list('by id', (call) => ({ search: at(anyone, call).id })),
    list('active', () => ({ status: 'active' })),
    list('banned', () => ({ status: 'banned' })),
    list('banned, a page deep in the list', (call) => ({ status: 'banned', after: at(anyone, call).id })),
    list('deleted, of whom there are none', () => ({ status: 'deleted' })),
    list('banned, by one letter of a nickname', (call) => ({
      ...{ status: 'banned', search: at(anyone, call).nickname.slice(0, 1) },
    })),
    other(
      'player: everything',
      `query ($id: ID!) { player(id: $id) {
        id status nickname avatarUrl region language createdAt identities { provider subject } wallet { currency balance }
        inventory { itemId amount } storage { key value updatedAt } runs(first: 20) { edges { node { runId scenarioId status startedAt activeNodes } } }
        passes {
          scenarioId nodeId level xp premiumOwned completed claims { level track granted { amount currency itemId } }
          xpLedger(first: 50) { edges { node { amount source createdAt } } }
        }
        walletLedger(first: 50) { edges { node { id currency amount balance cause reference occurredAt } } }
      } }`,
      (call) => ({ id: at(whole, call).id }),
    ),
    other('auditLog: first page', `{ auditLog(first: 50) { ${AUDIT} } }`),
    other(
      'auditLog: of an action',
      `query ($action: String) { auditLog(first: 50, action: $action) { ${AUDIT} } }`,
      (call) => ({ action: ['player.ban', 'player.grant_xp'][call % 2] }),
    ),
    other('events: the last', events('')),
    other("events: a player's", events(''), (call) => ({ playerId: at(whole, call).id })),
    other('events: the rarest handle', events(', handles: ["onMaxLevel"]')),
    other('events: of the last days', events(''), (call) => ({ from: new Date(Date.now() - (call % 20) * DAY_MS) })),
  ]
}

/** Makes one call. Returns its milliseconds. */
async function graphql(baseUrl: string, key: string, { name, query, variables }: Query, call: number): Promise<number> {
  const body = JSON.stringify({ query, variables: variables(call) })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const asked = performance.now()
  const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body })
  const { errors } = (await response.json()) as { errors?: unknown }
  if (errors) throw new Error(`${name}: ${JSON.stringify(errors)}`)
  return performance.now() - asked
}

/** Shows how Postgres runs the statements of a query that was too slow. */
async function explain(pool: Pool, { name, statements }: Query): Promise<void> {
  print(name)
  const explaining = {
    async query(statement: QueryConfig | string, values?: unknown[]) {
      const [text, parameters] =
        typeof statement === 'string' ? [statement, values] : [statement.text, statement.values]
      const { rows } = await pool.query(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, parameters)
      for (const row of rows) print(`  ${row['QUERY PLAN']}`)
      return pool.query(text, parameters)
    },
  }
  await statements?.(explaining as unknown as Pool, 0)
  print('')
}

const line = (name: string, values: readonly string[]): string =>
  `  ${name.padEnd(46)}${values.map((value) => value.padStart(16)).join('')}`

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}
// An open handle must not keep the process alive.
process.exit()
