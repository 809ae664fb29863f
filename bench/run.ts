import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { createServerKey } from '../src/callers/keys.ts'
import { demoSeason } from '../src/dev/season.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld, type World } from '../test/harness/service.ts'
import { Books, type Owner } from './books.ts'
import { cpuOf } from './cpu.ts'
import { bytesOf, withClient } from './database.ts'
import { hasHaproxy, startHaproxy } from './haproxy.ts'
import type { Call, Load, LoadPlayer, Tally } from './load.ts'
import { startLoad } from './loader.ts'
import { clientsFor, findPgbench } from './pgbench.ts'
import { copyPlayers, giveXp, newPlayers } from './players.ts'
import { installPeers, onEnd, runToEnd, type Server, startInstance, startServer } from './processes.ts'
import {
  type Cell,
  clearNote,
  Figures,
  type Line,
  type Medians,
  note,
  print,
  printSection,
  type Read,
} from './report.ts'

// The benchmark: the service, the same calls in other implementations, and the database's own limit, side by side in
// one run on one Postgres. README.md explains each row.

const { values: options } = parseArgs({
  options: {
    live: { type: 'boolean', default: false },
    instances: { type: 'boolean', default: false },
    start: { type: 'boolean', default: false },
    against: { type: 'string' },
    profile: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const ROUNDS = Number(options.rounds ?? (options.quick ? 1 : 3))
const SECONDS = Number(options.seconds ?? (options.quick ? 0.5 : 1.5))
const WARM_UP_SECONDS = options.quick ? 0.6 : 3
const WARM_UP_CONNECTIONS = 64
/** The service's jobs run each second: their work for a cell is counted with it. */
const SETTLE_MS = 1_200
const CONNECTIONS = [1, 4, 32, 256]
/** More than the most connections, so that concurrent calls are of distinct players. */
const PLAYERS = 1024
/** Each claimant has {@link REACHED} tiers to claim, enough for the whole run. */
const CLAIMANTS = options.quick ? 1024 : 2048
/** A purchase needs a player without one, so a cell is a number of purchases of any duration. */
const PURCHASES = Math.ceil(1_500 * SECONDS)
const WARM_UP_PURCHASES = options.quick ? 300 : 1_500
const BUYERS = WARM_UP_PURCHASES + ROUNDS * PURCHASES
/** The level of players who claim: the one below the top, as most players who claim have not finished the season. */
const REACHED = 99
/** Players start at this number of places between two levels, so that some reach the next from the first call on. */
const PLACES = 32
const SCENARIO = 'bench'
const NODE = 'pass'
/** More than the default: the servers and pgbench hold connections at the same time. */
const POSTGRES = ['max_connections=200']

const XP = 'add xp'
const GRAPHQL = `${XP} over GraphQL`
const MATCH = `${XP} of a match, for each of 100 players`
const CLAIM = 'claim a tier'
const PREMIUM = 'buy premium'
const PROGRESS = 'read progress'
const VIEW = 'view of a scenario'
const SAME_VIEW = `${VIEW} that has not changed`
const peerOf = (row: string): string => `${row}, single statement`
const PRISMA = `${XP}, Prisma transaction`
const PGBENCH = 'pgbench, one upsert a transaction'
const HOT = `${XP}, one hot player`
const HOT_PGBENCH = 'pgbench, one hot row'
const TWINS = `${XP}, two instances in turn`
const BALANCED = `${XP}, two instances behind HAProxy`
const EMPTY = 'empty node:http POST'
const EMPTY_AT = 256

interface Row {
  readonly name: string
  readonly at: readonly number[]
  readonly warmUp?: () => Promise<unknown>
  readonly measure: (connections: number) => Promise<Cell>
  /** Stops what only this row needs. Rows that set it are measured last in a round. */
  readonly endRound?: () => Promise<unknown>
}

const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ended.abort(new Error(`ended by ${signal}`)))

async function main(): Promise<void> {
  note('building, and installing the peers')
  await Promise.all([buildService(), installPeers()])
  note('starting an embedded Postgres with durable settings')
  const postgres = await startDurablePostgres(POSTGRES)
  onEnd(() => postgres.remove())
  const postmaster = await postgres.postmaster()
  const world = await createWorld(postgres.url)
  onEnd(() => world.close())
  const season = JSON.parse(demoSeason())
  await world.publish(SCENARIO, season)
  const service = await startInstance(world)

  note('making players')
  const owners = await withClient(postgres.url, (client) => makePlayers(client, world, service, season))
  const books = new Books(owners)
  await withClient(postgres.url, (client) => books.open(client))

  const publicKeys = JSON.parse(world.env.TOKEN_KEYS).map(({ d: _, ...key }: { d: string }) => key)
  const { environmentId } = world
  const given = { databaseUrl: postgres.url, publicKeys, environmentId, scenarioId: SCENARIO, definition: season }
  const peer = await startServer('peers/single-statement.mjs', {}, given)
  const reference = await startServer('reference.ts', world.env)
  const empty = await startServer('empty.ts', {})
  const pgbench = await findPgbench(postgres.url, {
    'upsert.sql': `\\set id random(1, ${PLAYERS})\nINSERT INTO bench_limit AS b (id, xp) VALUES (:id, 10) ON CONFLICT (id) DO UPDATE SET xp = b.xp + excluded.xp;\n`,
    'hot.sql': 'UPDATE bench_hot SET xp = xp + 1 WHERE id = 1;\n',
  })
  const players = Object.fromEntries([...owners].map(([name, owner]) => [name, owner.players]))
  const { key: serverKey } = await createServerKey(world.pool, environmentId)
  const setup = { serverKey, scenarioId: SCENARIO, nodeId: NODE, reached: REACHED, players }
  const runLoad = startLoad(setup, ended.signal)

  async function load(task: Load, begin?: () => Promise<unknown>): Promise<Tally> {
    const tally = await runLoad(task, begin)
    if (tally.calls === 0) throw new Error(`there was nothing left to do for ${task.call} of ${task.players}`)
    if (task.call !== 'empty') books.add(task.call, task.players, tally)
    return tally
  }

  /** Loads servers, and measures their CPU and that of Postgres, including the jobs that the calls leave behind. */
  async function cell(
    servers: readonly Server[],
    task: Omit<Load, 'ports'>,
    leavesJobs = false,
    ports: readonly number[] = servers.map(({ port }) => port),
  ): Promise<Cell> {
    const pids = servers.map(({ pid }) => pid)
    const read = async () => ({
      service: await cpuOf(pids),
      postgres: await cpuOf([postmaster]),
      bytes: await bytesOf(world.pool),
    })
    let before = await read()
    const tally = await load({ ...task, ports }, async () => {
      // Connections are opened once, not with each call, so their cost is not counted.
      before = await read()
    })
    if (leavesJobs) await pause(SETTLE_MS)
    const after = await read()
    const aCall = (from: number | null, to: number | null) => ((to ?? 0) - (from ?? 0)) / tally.calls
    const cpu = {
      service: aCall(before.service, after.service),
      postgres: aCall(before.postgres, after.postgres),
    }
    const bytes = {
      log: aCall(before.bytes.log, after.bytes.log),
      kept: aCall(before.bytes.kept, after.bytes.kept),
    }
    return { ...tally, cpu: before.service === null ? null : cpu, bytes }
  }

  const timed = { seconds: SECONDS }
  const warm = { connections: WARM_UP_CONNECTIONS, seconds: WARM_UP_SECONDS }
  /** Makes one call of each player: tokens are then verified and rows cached, as for active players. */
  const greet = (server: Server, set: string, calls = owners.get(set)?.players.length) =>
    load({ ports: [server.port], call: 'progress', players: set, ...warm, seconds: 60, calls })

  /** The target of a row: a server, for a set of players. */
  interface Called {
    readonly server: Server
    readonly set: string
    readonly leavesJobs: boolean
  }

  const rowOf = (name: string, call: Call, at: readonly number[], { server, set, leavesJobs }: Called): Row => ({
    name,
    at,
    async warmUp() {
      await greet(server, set)
      await load({ ports: [server.port], call, players: set, ...warm })
    },
    measure: (connections) => cell([server], { call, players: set, connections, ...timed }, leavesJobs),
  })

  /** A row of the service, and the same row of the single statement. */
  function both(name: string, call: Call, at: readonly number[], [ours, theirs]: readonly [string, string]): Row[] {
    return [
      rowOf(name, call, at, { server: service, set: ours, leavesJobs: call !== 'progress' }),
      rowOf(peerOf(name), call, at, { server: peer, set: theirs, leavesJobs: false }),
    ]
  }

  function purchases(name: string, server: Server, set: string, leavesJobs: boolean): Row {
    return {
      name,
      at: [32],
      async warmUp() {
        await greet(server, set, WARM_UP_PURCHASES)
        const once = { seconds: 60, calls: WARM_UP_PURCHASES }
        await load({ ports: [server.port], call: 'premium', players: set, ...warm, ...once })
      },
      async measure(connections) {
        await greet(server, set, PURCHASES)
        const once = { seconds: 60, calls: PURCHASES }
        return cell([server], { call: 'premium', players: set, connections, ...once }, leavesJobs)
      },
    }
  }

  function transactions(name: string, script: string, at: readonly number[]): Row[] {
    if (!pgbench) return []
    return [{ name, at, measure: async (clients) => ({ ...(await pgbench.run(script, clients, SECONDS)), cpu: null }) }]
  }

  /** A row of two instances. `balance` starts what is before them, if anything, and gives its ports. */
  function pair(name: string, set: string, balance: (instances: readonly Server[]) => Promise<readonly Server[]>): Row {
    let running: { readonly second: Server; readonly ports: readonly number[] } | undefined
    async function start() {
      const second = await startInstance(world)
      const ports = (await balance([service, second])).map(({ port }) => port)
      const calls = ports.length * PLAYERS
      await load({ ports, call: 'progress', players: set, ...warm, seconds: 60, calls })
      await load({ ports, call: 'xp', players: set, ...warm })
      return { second, ports }
    }
    return {
      name,
      at: [32, 256],
      async measure(connections) {
        running ??= await start()
        return cell([service, running.second], { call: 'xp', players: set, connections, ...timed }, true, running.ports)
      },
      async endRound() {
        await running?.second.stop()
        running = undefined
      },
    }
  }

  const hotLoad = { call: 'xp', players: 'hot', amount: 1 } as const
  const rows: Row[] = selected([
    ...both(XP, 'xp', CONNECTIONS, ['ours', 'peer']),
    rowOf(MATCH, 'matchXp', [1, 4], { server: service, set: 'ours', leavesJobs: true }),
    rowOf(GRAPHQL, 'graphqlXp', [32, 256], { server: service, set: 'ours', leavesJobs: true }),
    {
      name: PRISMA,
      at: CONNECTIONS,
      warmUp: () => load({ ports: [reference.port], call: 'xp', players: 'reference', ...warm }),
      measure: (connections) => cell([reference], { call: 'xp', players: 'reference', connections, ...timed }),
    },
    ...transactions(PGBENCH, 'upsert.sql', CONNECTIONS),
    ...both(CLAIM, 'claim', [32, 256], ['claimants', 'peerClaimants']),
    purchases(PREMIUM, service, 'buyers', true),
    purchases(peerOf(PREMIUM), peer, 'peerBuyers', false),
    ...both(PROGRESS, 'progress', [32, 256], ['ours', 'peer']),
    rowOf(VIEW, 'view', [32, 256], { server: service, set: 'ours', leavesJobs: false }),
    rowOf(SAME_VIEW, 'sameView', [32, 256], { server: service, set: 'ours', leavesJobs: false }),
    {
      name: HOT,
      at: [64],
      warmUp: () => load({ ports: [service.port], ...hotLoad, ...warm }),
      measure: (connections) => cell([service], { ...hotLoad, connections, ...timed }, true),
    },
    ...transactions(HOT_PGBENCH, 'hot.sql', [64]),
    pair(TWINS, 'twins', async (instances) => instances),
    ...(hasHaproxy() ? [pair(BALANCED, 'balanced', async (instances) => [await startHaproxy(instances)])] : []),
    {
      name: EMPTY,
      at: [EMPTY_AT],
      warmUp: () => load({ ports: [empty.port], call: 'empty', players: 'ours', ...warm }),
      measure: (connections) => cell([empty], { call: 'empty', players: 'ours', connections, ...timed }),
    },
  ])
  const columns = [...new Set(rows.flatMap(({ at }) => at))].sort((a, b) => a - b)

  for (const { name, warmUp } of rows) {
    if (warmUp) note(`warming up: ${name} (the service is process ${service.pid}, Postgres ${postmaster})`)
    await warmUp?.()
  }
  // Every table has rows only now. Postgres then drops its earlier plans and plans for tables of a running service.
  await withClient(postgres.url, (client) => client.query('VACUUM ANALYZE'))

  const figures = new Figures()
  for (let round = 1; round <= ROUNDS; round += 1) {
    await withClient(postgres.url, (client) => client.query('CHECKPOINT'))
    await pause(SETTLE_MS)
    for (const apart of [false, true]) {
      for (const connections of columns) {
        for (const { name, at, measure, endRound } of rows) {
          if (!at.includes(connections) || apart !== (endRound !== undefined)) continue
          note(`round ${round} of ${ROUNDS}: ${name} at ${connections}`)
          ended.signal.throwIfAborted()
          figures.add(name, connections, await measure(connections))
        }
      }
    }
    for (const { endRound } of rows) await endRound?.()
  }
  clearNote()

  const { rows: versions } = await world.pool.query('SHOW server_version')
  describe(versions[0].server_version, pgbench !== undefined)
  if (!hasHaproxy()) print('haproxy is not on the PATH: two instances behind it were not measured.')
  report(figures, rows, columns)
  print('')
  print(await withClient(postgres.url, (client) => books.check(client)))
}

/** The chosen rows: by their whole name, else by a part of it. */
function selected(rows: readonly Row[]): Row[] {
  const { only } = options
  const at = options.connections?.split(',').map(Number)
  const chosen = rows
    .filter(({ name }) =>
      only.length === 0
        ? true
        : only.some((text) => (rows.some((row) => row.name === text) ? name === text : name.includes(text))),
    )
    .map((row) => ({ ...row, at: at ? row.at.filter((connections) => at.includes(connections)) : row.at }))
    .filter((row) => row.at.length > 0)
  if (chosen.length > 0) return chosen
  throw new Error(
    `there is no row with that name at those connections; there are:\n  ${rows.map(({ name }) => name).join('\n  ')}`,
  )
}

/** The cost of listeners and the delay of their events: other rows, on a stage of their own. */
async function live(): Promise<void> {
  const { runLive } = await import('./live.ts')
  const { quick, only, rounds } = options
  await runLive({ quick, only, rounds: rounds === undefined ? undefined : Number(rounds), signal: ended.signal })
}

/** Several instances and a Postgres with slow flushes: other rows, on a stage of their own. */
async function instances(): Promise<void> {
  const { runInstances } = await import('./instances.ts')
  const { quick, only } = options
  const given = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  await runInstances({
    quick,
    only,
    rounds: given(options.rounds),
    seconds: given(options.seconds),
    signal: ended.signal,
  })
}

/** This build and that of a commit in turn. */
async function against(commit: string): Promise<void> {
  const { runAgainst } = await import('./against.ts')
  await runAgainst({
    ...{ commit, only: options.only, signal: ended.signal },
    connections: options.connections?.split(',').map(Number) ?? [4, 32, 256],
    rounds: Number(options.rounds ?? (options.quick ? 2 : 8)),
    seconds: SECONDS,
    isProfiled: options.profile,
  })
}

async function start(): Promise<void> {
  const { runStart } = await import('./start.ts')
  await runStart({ rounds: Number(options.rounds ?? (options.quick ? 1 : 4)), signal: ended.signal })
}

/** Prints the machine and the set-up of the figures. */
function describe(version: string, hasPgbench: boolean): void {
  print('')
  print(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, Postgres ${version}, fsync and synchronous_commit on.`,
  )
  print(`Over HTTP on loopback; medians of ${ROUNDS} interleaved ${ROUNDS === 1 ? 'round' : 'rounds'} of ${SECONDS} s.`)
  print('Load, servers and database share these cores.')
  if (!hasPgbench) print('pgbench is not on the PATH: the limit of the database was not measured.')
  else print(`At more than ${clientsFor(256)} connections pgbench has ${clientsFor(256)} clients.`)
}

function report(figures: Figures, rows: readonly Row[], columns: readonly number[]): void {
  const table = (of: (cells: Medians, row: string) => string) =>
    rows.map(({ name }): Line => [name, figures.medians(name, columns, (cells) => of(cells, name))])
  const ratios = (
    entries: readonly (readonly [title: string, ours: string, other: string])[],
    read: Read,
    at?: number,
  ) =>
    entries.map(
      ([title, ours, other]): Line => [
        title,
        columns.map((count) => figures.ratio([ours, count], [other, at ?? count], read)),
      ],
    )
  const perSecond: Read = ({ perSecond }) => perSecond
  const service: Read = ({ cpu }) => cpu?.service
  const postgres: Read = ({ cpu }) => cpu?.postgres
  const all: Read = ({ cpu }) => cpu && cpu.service + cpu.postgres
  const round = (value: number) => Math.round(value).toLocaleString('en')
  const both = [XP, CLAIM, PREMIUM, PROGRESS]
  const header: Line = ['connections', columns.map(String)]

  printSection('Calls a second (median ms)', [
    header,
    ...table((median) => `${round(median(perSecond))} (${median(({ medianMs }) => medianMs).toFixed(2)})`),
  ])
  if (process.platform !== 'linux') printSection('CPU was not measured: that needs Linux.', [])
  printSection('CPU, µs a call: service + Postgres', [
    header,
    ...table((median, row) => {
      if (Number.isNaN(median(service))) return ''
      return row === EMPTY ? round(median(service)) : `${round(median(service))} + ${round(median(postgres))}`
    }),
  ])
  // Those of the service: other rows have tables of their own.
  printSection("Bytes a call: written to Postgres's log, and kept in ledgers and events", [
    header,
    ...table((median, row) =>
      [XP, GRAPHQL, MATCH, CLAIM, PREMIUM].includes(row) && !Number.isNaN(median(({ bytes }) => bytes?.log))
        ? `${round(median(({ bytes }) => bytes?.log))}, ${round(median(({ bytes }) => bytes?.kept))}`
        : '',
    ),
  ])
  printSection('Calls a second, the first ÷ the second: median (lowest–highest)', [
    ...ratios(
      [
        ...both.map((name) => [`${name} ÷ single statement`, name, peerOf(name)] as const),
        [`${XP} ÷ Prisma transaction`, XP, PRISMA],
        [`${XP} ÷ pgbench`, XP, PGBENCH],
        ['one hot player ÷ pgbench, one hot row', HOT, HOT_PGBENCH],
        ['two instances ÷ single statement', TWINS, peerOf(XP)],
        ['two instances ÷ one', TWINS, XP],
        ['two instances behind HAProxy ÷ one', BALANCED, XP],
      ],
      perSecond,
    ),
  ])
  printSection('Median time of a call at one connection', [
    ...[peerOf(XP), PRISMA].map(
      (other): Line => [
        `${XP} ÷ ${other.replace(`${XP}, `, '')}`,
        [figures.ratio([XP, 1], [other, 1], ({ medianMs }) => medianMs)],
      ],
    ),
  ])
  printSection('CPU of service and Postgres ÷ single statement', [
    ...ratios([...both.map((name) => [name, name, peerOf(name)] as const), [TWINS, TWINS, peerOf(XP)]], all),
  ])
  printSection('CPU of service and Postgres, two instances ÷ one', [
    ...ratios(
      [
        [`${XP} in turn`, TWINS, XP],
        [`${XP} behind HAProxy`, BALANCED, XP],
      ],
      all,
    ),
  ])
  printSection('CPU of service and Postgres, a call of a match ÷ a call of each of its players', [
    ...ratios([[`${XP} of a match`, MATCH, XP]], all),
  ])
  printSection('CPU of the service, GraphQL ÷ REST', [...ratios([[XP, GRAPHQL, XP]], service)])
  printSection(`CPU of the service ÷ an empty node:http POST at ${EMPTY_AT} connections`, [
    ...ratios(
      [XP, CLAIM, PROGRESS].map((name) => [name, name, EMPTY] as const),
      service,
      EMPTY_AT,
    ),
  ])
}

/** Makes every set of players, with its tables. */
async function makePlayers(
  client: pg.ClientBase,
  world: World,
  service: Server,
  // biome-ignore lint/suspicious/noExplicitAny: the season's JSON, which the service parses and checks.
  season: any,
): Promise<Map<string, Owner>> {
  await client.query('CREATE TABLE bench_limit (id int PRIMARY KEY, xp bigint NOT NULL)')
  await client.query('INSERT INTO bench_limit SELECT id, 0 FROM generate_series(1, $1) AS id', [PLAYERS])
  // The same free space on the page as the service's own counter.
  await client.query('CREATE TABLE bench_hot (id int PRIMARY KEY, xp bigint NOT NULL) WITH (fillfactor = 10)')
  await client.query('INSERT INTO bench_hot VALUES (1, 0)')
  await client.query(await readFile(new URL('peers/tables.sql', import.meta.url), 'utf8'))
  await client.query('INSERT INTO bench_peer_streams VALUES ($1, 0)', [world.environmentId])

  const pass = season.nodes.find(({ id }: { id: string }) => id === NODE)
  const xpOf = (level: number): number => pass.data.levels.find((entry: { level: number }) => entry.level === level).xp
  const playing = Array.from({ length: PLACES }, (_, place) => ({
    level: 2,
    xp: Math.round(xpOf(2) + ((xpOf(3) - xpOf(2)) * place) / PLACES),
  }))
  const claiming = [{ level: REACHED, xp: xpOf(REACHED) }]
  async function ours(places: readonly Place[], count: number): Promise<Owner> {
    const originals = await Promise.all(places.map(() => world.player(SCENARIO)))
    await Promise.all(
      originals.map((player, index) =>
        giveXp(service, player, { scenarioId: SCENARIO, nodeId: NODE, amount: places[index]?.xp ?? 0 }),
      ),
    )
    return { players: await copyPlayers(world, client, originals, count), tables: '' }
  }
  async function theirs(places: readonly Place[], count: number): Promise<Owner> {
    const players = await newPlayers(world, count)
    await enter(client, world.environmentId, players, places)
    return { players, tables: 'bench_peer_' }
  }
  const buys = options.only.length === 0 || options.only.some((text) => peerOf(PREMIUM).includes(text))
  const buyers = buys ? BUYERS : 1
  return new Map([
    ['ours', await ours(playing, PLAYERS)],
    ['twins', await ours(playing, PLAYERS)],
    ['balanced', await ours(playing, PLAYERS)],
    ['hot', await ours(playing, 1)],
    ['reference', await ours(playing, PLAYERS)],
    ['claimants', await ours(claiming, CLAIMANTS)],
    ['buyers', await ours(playing, buyers)],
    ['peer', await theirs(playing, PLAYERS)],
    ['peerClaimants', await theirs(claiming, CLAIMANTS)],
    ['peerBuyers', await theirs(playing, buyers)],
  ])
}

/** A player's place on the pass. */
interface Place {
  readonly level: number
  readonly xp: number
}

/** Writes players into the peer's tables as they are in the service's: with the season's welcome reward, and xp. */
async function enter(
  client: pg.ClientBase,
  environmentId: string,
  players: readonly LoadPlayer[],
  places: readonly Place[],
): Promise<void> {
  const ids = players.map(({ playerId }) => playerId)
  const runs = players.map(({ runId }) => runId)
  const xp = players.map((_, index) => places[index % places.length]?.xp ?? 0)
  const levels = players.map((_, index) => places[index % places.length]?.level ?? 0)
  const welcome = `unnest($2::uuid[]) AS player_id, (VALUES ('gems', 1000), ('gold', 250)) AS w(currency, amount)`
  await client.query(
    `INSERT INTO bench_peer_wallets (environment_id, player_id, currency, balance)
     SELECT $1::uuid, player_id, currency, amount FROM ${welcome}`,
    [environmentId, ids],
  )
  await client.query(
    `INSERT INTO bench_peer_wallet_ledger (environment_id, player_id, id, currency, amount, balance, reason, reference)
     SELECT $1::uuid, player_id, gen_random_uuid(), currency, amount, amount, 'reward_node', 'welcome' FROM ${welcome}`,
    [environmentId, ids],
  )
  await client.query(
    `INSERT INTO bench_peer_passes (environment_id, player_id, scenario_id, node_id, xp, level)
     SELECT $1::uuid, p.id, $2, $3, p.xp, p.level FROM unnest($4::uuid[], $5::bigint[], $6::int[]) AS p(id, xp, level)`,
    [environmentId, SCENARIO, NODE, ids, xp, levels],
  )
  await client.query(
    `INSERT INTO bench_peer_xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
     SELECT $1::uuid, p.player_id, gen_random_uuid(), $2, $3, p.run_id, p.xp, 'bench'
     FROM unnest($4::uuid[], $5::bigint[], $6::uuid[]) AS p(player_id, xp, run_id)`,
    [environmentId, SCENARIO, NODE, ids, xp, runs],
  )
}

await runToEnd(() => {
  if (options.against !== undefined) return against(options.against)
  if (options.start) return start()
  return options.live ? live() : options.instances ? instances() : main()
})
