import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { createPool } from '../src/db/pool.ts'
import { demoSeason } from '../src/season.ts'
import { startDurablePostgres } from '../test/support/durable-postgres.ts'
import { buildService, createWorld, spawnService, stopService, type World } from '../test/support/service.ts'
import { until } from '../test/support/until.ts'
import type { Call, Load, LoadPlayer, LoadSetup, PlayerSet, Tally } from './load.ts'

// The benchmark: the service, the same endpoint written the usual way, and the database's own limit, side by side in one
// run on one Postgres. README.md says what each row means.

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 1 : 3
const SECONDS = quick ? 0.6 : 1.5
const WARM_UP_SECONDS = quick ? 0.8 : 2
const CONNECTIONS = [1, 32, 256] as const
/** The database takes 100 connections, some of which the services hold. */
const PGBENCH_CONNECTIONS: Readonly<Record<number, number>> = { 1: 1, 32: 32, 256: 64 }
/** More than the most connections, so that calls under way at once are of distinct players. */
const PLAYERS = 1024
/** The level that those who claim have reached: the one below the top, as most who claim are not done with the season. */
const REACHED = 99
const SCENARIO = 'bench'
const NODE = 'pass'
const NODE_OPTIONS = '--max-semi-space-size=64'

interface Cell {
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number | null
}

interface Row {
  readonly name: string
  readonly measure: (connections: number) => Promise<Cell>
}

const run = promisify(execFile)
const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ended.abort(new Error(`ended by ${signal}`)))

/** Undone in the opposite order, whatever happens. */
const cleanUps: (() => unknown)[] = []

async function main(): Promise<void> {
  note('building')
  await buildService()
  note('starting an embedded Postgres with its default, durable settings')
  const postgres = await startDurablePostgres()
  cleanUps.push(() => postgres.remove())
  const world = await createWorld(postgres.url)
  cleanUps.push(() => world.close())

  note(`making ${3 * PLAYERS} players`)
  const season = JSON.parse(demoSeason())
  await world.publish(SCENARIO, season)
  const players = {
    ours: await makePlayers(world),
    reference: await makePlayers(world),
    claimants: await makePlayers(world),
  }
  await lift(world, players.claimants, xpOfLevel(season, REACHED))
  await world.pool.query('CREATE TABLE bench_limit (id int PRIMARY KEY, xp bigint NOT NULL)')
  await world.pool.query('INSERT INTO bench_limit SELECT id, 0 FROM generate_series(1, $1) AS id', [PLAYERS])
  const xpBefore = { ours: 0n, reference: 0n, claimants: await xpOf(world.pool, players.claimants) }

  const service = spawnService({ ...world.env, NODE_OPTIONS })
  cleanUps.push(() => stopService(service))
  const loader = startProcess('load.ts')
  const setup: LoadSetup = { scenarioId: SCENARIO, nodeId: NODE, reached: REACHED, players }
  loader.send(setup)
  const loaderLost = lossOf(loader)
  const reference = startProcess('reference.ts', { ...world.env, NODE_ENV: 'production', NODE_OPTIONS })
  const [{ port: referencePort }] = await once(reference, 'message')
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined)
  if (service.exit) throw new Error(`the service ended:\n${service.output}`)
  const port = Number(new URL(service.baseUrl).port)

  const acknowledged: Record<PlayerSet, { xp: number; claims: number }> = {
    ours: { xp: 0, claims: 0 },
    reference: { xp: 0, claims: 0 },
    claimants: { xp: 0, claims: 0 },
  }
  async function load(task: Load): Promise<Cell> {
    loader.send(task)
    const [tally] = (await Promise.race([once(loader, 'message'), loaderLost])) as [Tally]
    if (tally.failed > 0) throw new Error(`${tally.failed} of ${tally.calls} calls failed: ${tally.firstFailure}`)
    if (tally.calls === 0) throw new Error(`there was nothing left to ${task.call}`)
    acknowledged[task.players].xp += tally.xp
    if (task.call === 'claim') acknowledged[task.players].claims += tally.calls
    return tally
  }
  const ours = (call: Call, set: PlayerSet) => (connections: number) =>
    load({ port, call, players: set, connections, seconds: SECONDS })
  const limit = await findLimit(postgres.url)
  const rows: Row[] = [
    { name: 'add xp', measure: ours('xp', 'ours') },
    {
      name: 'add xp, a Prisma transaction a request',
      measure: (connections) =>
        load({ port: referencePort, call: 'xp', players: 'reference', connections, seconds: SECONDS }),
    },
    ...(limit ? [{ name: 'pgbench, one upsert a transaction', measure: limit }] : []),
    { name: 'claim a tier', measure: ours('claim', 'claimants') },
    { name: 'read progress', measure: ours('progress', 'ours') },
  ]

  note('warming up')
  const warmUp = { connections: 64, seconds: WARM_UP_SECONDS }
  await load({ port, call: 'xp', players: 'ours', ...warmUp })
  await load({ port: referencePort, call: 'xp', players: 'reference', ...warmUp })
  await load({ port, call: 'progress', players: 'ours', ...warmUp, seconds: WARM_UP_SECONDS / 2 })
  await load({ port, call: 'claim', players: 'claimants', ...warmUp, seconds: WARM_UP_SECONDS / 2 })

  // Only now every table has rows: plans are made for tables as they are in service, and those made before are dropped.
  await maintain(postgres.url, 'VACUUM ANALYZE')
  const measured = new Map<string, Cell[]>()
  for (let round = 1; round <= ROUNDS; round += 1) {
    note(`round ${round} of ${ROUNDS}`)
    await maintain(postgres.url, 'CHECKPOINT')
    for (const connections of CONNECTIONS) {
      for (const { name, measure } of rows) {
        ended.signal.throwIfAborted()
        const key = `${name} ${connections}`
        measured.set(key, [...(measured.get(key) ?? []), await measure(connections)])
      }
    }
  }
  clearNote()

  const cells = (name: string, connections: number) => measured.get(`${name} ${connections}`) ?? []
  const { rows: versions } = await world.pool.query('SHOW server_version')
  print('')
  print(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, Postgres ${versions[0].server_version}, fsync and synchronous_commit on.`,
  )
  print(
    `Calls a second (median ms) over HTTP on loopback; the median of ${ROUNDS} interleaved ${ROUNDS === 1 ? 'round' : 'rounds'} of ${SECONDS} s.`,
  )
  print('Load, service, reference and database share these cores.')
  print('')
  print(line('connections', CONNECTIONS.map(String)))
  for (const { name } of rows)
    print(
      line(
        name,
        CONNECTIONS.map((count) => describe(cells(name, count))),
      ),
    )
  if (limit) print(`  (pgbench: ${CONNECTIONS.map((count) => PGBENCH_CONNECTIONS[count]).join(', ')} connections)`)
  else print('  (pgbench is not on the PATH: the limit of the database was not measured)')
  print('')
  const ratio = (name: string) =>
    CONNECTIONS.map((count) => {
      const others = cells(name, count)
      const ratios = cells('add xp', count).map(({ perSecond }, index) => perSecond / (others[index]?.perSecond ?? 0))
      const spread = ratios.length > 1 ? ` (${Math.min(...ratios).toFixed(1)}–${Math.max(...ratios).toFixed(1)})` : ''
      return `${median(ratios).toFixed(2)}×${spread}`
    })
  for (const { name } of rows.slice(1, limit ? 3 : 2))
    print(line(`add xp ÷ ${name.replace('add xp, ', '')}`, ratio(name)))

  print('')
  await check(world.pool, players, xpBefore, acknowledged)
}

/** What was acknowledged is what the database holds, no more and no less. */
async function check(
  pool: Pool,
  players: Readonly<Record<PlayerSet, readonly LoadPlayer[]>>,
  before: Readonly<Record<PlayerSet, bigint>>,
  acknowledged: Readonly<Record<PlayerSet, { xp: number; claims: number }>>,
): Promise<void> {
  const faults: string[] = []
  for (const set of ['ours', 'reference', 'claimants'] as const) {
    const gained = (await xpOf(pool, players[set])) - before[set]
    if (gained !== BigInt(acknowledged[set].xp))
      faults.push(`${set}: ${acknowledged[set].xp} xp acknowledged, ${gained} in the database`)
    const ids = players[set].map(({ playerId }) => playerId)
    const { rows } = await pool.query(
      `SELECT (SELECT count(*)::int FROM tier_claims WHERE player_id = ANY($1::uuid[])) AS claims,
        (SELECT coalesce(sum(amount), 0) FROM xp_ledger WHERE player_id = ANY($1::uuid[])) AS ledger`,
      [ids],
    )
    if (rows[0].claims !== acknowledged[set].claims)
      faults.push(`${set}: ${acknowledged[set].claims} claims acknowledged, ${rows[0].claims} in the database`)
    if (BigInt(rows[0].ledger) - before[set] !== gained)
      faults.push(`${set}: ${gained} xp on the passes, ${BigInt(rows[0].ledger) - before[set]} in the ledger`)
  }
  if (faults.length > 0) throw new Error(`What was acknowledged is not what is stored:\n  ${faults.join('\n  ')}`)
  const { ours, reference, claimants } = acknowledged
  print(`Checked: ${ours.xp + reference.xp} xp and ${claimants.claims} claims acknowledged, the same in the database.`)
}

async function xpOf(pool: Pool, players: readonly LoadPlayer[]): Promise<bigint> {
  const { rows } = await pool.query(
    'SELECT coalesce(sum(xp), 0)::text AS xp FROM passes WHERE player_id = ANY($1::uuid[])',
    [players.map(({ playerId }) => playerId)],
  )
  return BigInt(rows[0].xp)
}

async function makePlayers(world: World): Promise<LoadPlayer[]> {
  const made = await Promise.all(Array.from({ length: PLAYERS }, () => world.player(SCENARIO)))
  return made.map(({ playerId, runId, token }) => ({ playerId, runId, token }))
}

// biome-ignore lint/suspicious/noExplicitAny: the season's JSON, which the service parses and checks.
function xpOfLevel(season: any, level: number): number {
  const pass = season.nodes.find(({ id }: { id: string }) => id === NODE)
  return pass.data.levels.find((entry: { level: number }) => entry.level === level).xp
}

/** Writes what add-xp calls up to a level leave. */
async function lift({ pool, environmentId }: World, players: readonly LoadPlayer[], xp: number): Promise<void> {
  const parameters = [environmentId, SCENARIO, NODE, players.map(({ playerId }) => playerId)]
  await pool.query(
    `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level)
      SELECT $1::uuid, id, $2, $3, $5, $6 FROM unnest($4::uuid[]) AS id`,
    [...parameters, xp, REACHED],
  )
  await pool.query(
    `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
      SELECT $1::uuid, p.player_id, gen_random_uuid(), $2, $3, p.run_id, $6, 'bench'
      FROM unnest($4::uuid[], $5::uuid[]) AS p(player_id, run_id)`,
    [...parameters, players.map(({ runId }) => runId), xp],
  )
}

/** Work for a connection of its own, without the time limit of the service's. */
async function maintain(url: string, sql: string): Promise<void> {
  const pool = createPool({ url, connections: 1, onError: () => {} })
  try {
    await pool.query('SET statement_timeout = 0')
    await pool.query({ text: sql, query_timeout: 60_000 } as never)
  } finally {
    await pool.end()
  }
}

/** One prepared upsert a transaction: what the database can do when nobody groups anything. */
async function findLimit(url: string): Promise<Row['measure'] | undefined> {
  const found = await run('pgbench', ['--version']).then(
    () => true,
    () => false,
  )
  if (!found) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'tierway-bench-'))
  cleanUps.push(() => rm(directory, { recursive: true, force: true }))
  const script = join(directory, 'upsert.sql')
  await writeFile(
    script,
    `\\set id random(1, ${PLAYERS})\nINSERT INTO bench_limit AS b (id, xp) VALUES (:id, 10) ON CONFLICT (id) DO UPDATE SET xp = b.xp + excluded.xp;\n`,
  )
  const { hostname, port, username, password, pathname } = new URL(url)
  const env = { ...process.env, PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password }
  return async (connections) => {
    const clients = PGBENCH_CONNECTIONS[connections] ?? connections
    const flags = ['-n', '-M', 'prepared', '-f', script, '-c', String(clients), '-j', String(Math.min(2, clients))]
    const { stdout } = await run('pgbench', [...flags, '-T', String(Math.ceil(SECONDS)), pathname.slice(1)], { env })
    const read = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? Number.NaN)
    // It tells the mean alone.
    return { perSecond: read(/tps = ([\d.]+)/), medianMs: read(/latency average = ([\d.]+)/), p99Ms: null }
  }
}

function startProcess(file: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { env: { PATH: process.env.PATH, ...env } })
  cleanUps.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Rejects when the process ends. */
function lossOf(child: ChildProcess): Promise<never> {
  const lost = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`the load generator ended with ${signal ?? code}`)))
  })
  // It is waited for only while something is measured.
  lost.catch(() => {})
  return lost
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

function describe(cells: readonly Cell[]): string {
  const rate = Math.round(median(cells.map(({ perSecond }) => perSecond))).toLocaleString('en')
  return `${rate} (${median(cells.map(({ medianMs }) => medianMs)).toFixed(2)} ms)`
}

const line = (name: string, values: readonly string[]): string =>
  `  ${name.padEnd(42)}${values.map((value) => value.padStart(20)).join('')}`

const isTerminal = process.stderr.isTTY === true
const started = performance.now()

function note(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  process.stderr.write(isTerminal ? `\r\x1b[2K${seconds} s: ${text}` : `${seconds} s: ${text}\n`)
}

function clearNote(): void {
  if (isTerminal) process.stderr.write('\r\x1b[2K')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

try {
  await main()
} catch (error) {
  clearNote()
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}
// A handle that nobody closed must not keep the terminal.
process.exit()
