import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { createPlatformKey, createSdkKey } from '../src/callers/keys.ts'
import { startDemoOperator } from '../src/dev/demo-operator.ts'
import { demoSeason } from '../src/dev/season.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld, type World } from '../test/harness/service.ts'
import { cpuOf } from './cpu.ts'
import { bytesOf, withClient } from './database.ts'
import type { Call, Load, LoadPlayer } from './load.ts'
import { type RunLoad, startLoad } from './loader.ts'
import { copyPlayers, giveXp } from './players.ts'
import { onEnd, runToEnd, type Server, startInstance } from './processes.ts'
import { clearNote, note, print, printSection } from './report.ts'

// How many machines a game needs: measures what calls cost on this machine, computes the rest, and checks the result
// against a mixed load. docs/scaling.md has its tables.

const { values: options } = parseArgs({
  options: {
    /** Calls of one player on a day of play. */
    logins: { type: 'string', default: '1' },
    xp: { type: 'string', default: '60' },
    reads: { type: 'string', default: '30' },
    claims: { type: 'string', default: '3' },
    /** The share of a day's calls in its busiest hour. */
    peak: { type: 'string', default: '0.1' },
    /** The share of each machine that calls may use in that hour. */
    use: { type: 'string', default: '0.5' },
    players: { type: 'string', default: '100000,1000000,10000000' },
    seconds: { type: 'string', default: '6' },
  },
})
const SECONDS = Number(options.seconds)
const PEAK = Number(options.peak)
const USE = Number(options.use)
const SIZES = options.players.split(',').map(Number)

const KINDS = ['login', 'xp', 'read', 'claim'] as const
type Kind = (typeof KINDS)[number]
const DAY: Readonly<Record<Kind, number>> = {
  login: Number(options.logins),
  xp: Number(options.xp),
  read: Number(options.reads),
  claim: Number(options.claims),
}
const CALLS: Readonly<Record<Exclude<Kind, 'login'>, Call>> = { xp: 'xp', read: 'progress', claim: 'claim' }

const PLAYERS = 4_096
/** Their level: the demo's season has 100. */
const REACHED = 99
const SCENARIO = 'season'
const NODE = 'pass'
/** Enough connections to keep a rate while some calls take long. */
const CONNECTIONS = 64
const LOGINS = 1_000
const LOGINS_AT_ONCE = 16
/** Jobs that run each second finish the work of the calls. */
const SETTLE_MS = 1_500
const WARM_UP_SECONDS = 2
const METRICS_TOKEN = 'the-metrics-of-the-benchmark'
const HOUR = 3_600
const DAY_SECONDS = 86_400
const MONTH_DAYS = 30
const GB = 1e9

/** What the calls of some seconds took. */
interface Taken {
  readonly calls: number
  /** Microseconds. */
  readonly service: number
  readonly postgres: number
  /** Bytes that were written to the log of Postgres, and by which its tables and indexes grew. */
  readonly wal: number
  readonly stored: number
}

type Part = Exclude<keyof Taken, 'calls'>

interface Stage {
  readonly world: World
  readonly service: Server
  readonly postmaster: number
  readonly load: RunLoad
  /** Other processes that make calls. */
  readonly others: readonly [RunLoad, RunLoad]
  readonly logIn: (count: number) => Promise<void>
}

async function main(): Promise<void> {
  const stage = await setStage()
  const costs = new Map<Kind, Taken>()
  for (const kind of KINDS) {
    note(`measuring: ${kind}`)
    costs.set(kind, await measureKind(stage, kind))
  }
  const playerBytes = await measurePlayer(stage)
  note('measuring: all kinds of calls at once')
  const mean = KINDS.reduce((sum, kind) => sum + DAY[kind] * each(costs, kind, 'service'), 0) / callsOfDay()
  // As busy as a core of an instance shall be. With fewer calls, groups are smaller, and a call costs more.
  const rate = (USE / mean) * 1e6
  const mixed = await measureMix(stage, costs, rate / 2)
  note('checking the model: the same at another rate')
  const check = await measureMix(stage, costs, (rate * 2) / 3)
  clearNote()
  report(costs, playerBytes, mixed, check)
}

async function setStage(): Promise<Stage> {
  note('building')
  await buildService()
  note('starting an embedded Postgres with durable settings')
  const postgres = await startDurablePostgres()
  onEnd(() => postgres.remove())
  const world = await createWorld(postgres.url)
  onEnd(() => world.close())
  await world.publish(SCENARIO, JSON.parse(demoSeason()))
  const service = await startInstance(world, { WEBHOOK_PRIVATE_ADDRESSES: 'allow', RATE_LIMITS: 'off', METRICS_TOKEN })
  note('making players')
  const players = await withClient(postgres.url, (client) => makePlayers(client, world, service))
  await withClient(postgres.url, (client) => client.query('VACUUM ANALYZE'))
  const setup = { scenarioId: SCENARIO, nodeId: NODE, reached: REACHED, players }
  const { signal } = new AbortController()
  return {
    world,
    service,
    postmaster: await postgres.postmaster(),
    load: startLoad(setup, signal),
    others: [startLoad(setup, signal), startLoad(setup, signal)],
    logIn: await createLogins(world, service),
  }
}

/** The ways of a player: many are between levels, and some have tiers to claim. */
async function makePlayers(client: pg.ClientBase, world: World, service: Server) {
  const copies = async (xp: number): Promise<readonly LoadPlayer[]> => {
    const original = await world.player(SCENARIO)
    await giveXp(service, original, { scenarioId: SCENARIO, nodeId: NODE, amount: xp })
    return copyPlayers(world, client, [original], PLAYERS)
  }
  return { playing: await copies(600), claiming: await copies(1_000_000) }
}

/** Logins of new players through the webhook, from this process: its own CPU time is not measured. */
async function createLogins(world: World, { port }: Server): Promise<(count: number) => Promise<void>> {
  const operator = await startDemoOperator()
  onEnd(() => operator.close())
  const { rows } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [world.environmentId])
  const { key } = await createPlatformKey(world.pool, rows[0].project_id, 'admin')
  const { key: sdkKey } = await createSdkKey(world.pool, world.environmentId)
  const baseUrl = `http://127.0.0.1:${port}`
  const provider = { enabled: true, url: operator.url, secret: operator.secret }
  const set = await fetch(`${baseUrl}/platform/v1/projects/${rows[0].project_id}/auth-providers`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'if-match': '*' },
    body: JSON.stringify({ environment: 'production', authProviders: { custom: { default: provider } } }),
  })
  if (!set.ok) throw new Error(`the login provider was refused: ${await set.text()}`)
  let made = 0
  return async (count) => {
    const last = made + count
    const one = async (): Promise<void> => {
      while (made < last) {
        made += 1
        const answer = await fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
          method: 'POST',
          headers: { 'x-sdk-key': sdkKey, 'content-type': 'application/json' },
          body: JSON.stringify({ customData: { player: `player-${made}` } }),
        })
        if (!answer.ok) throw new Error(`a login failed: ${answer.status} ${await answer.text()}`)
        await answer.arrayBuffer()
      }
    }
    await Promise.all(Array.from({ length: LOGINS_AT_ONCE }, one))
  }
}

/** Measures what `work` takes, beyond what the service and Postgres take when nobody calls. */
async function measure(stage: Stage, work: () => Promise<number>): Promise<Taken> {
  const { service, postmaster, world } = stage
  const read = async () => {
    const { rows } = await world.pool.query<{ stored: number }>(
      `SELECT sum(pg_relation_size(oid))::float8 AS stored FROM pg_class WHERE relkind IN ('r', 'i', 't')`,
    )
    return {
      wal: (await bytesOf(world.pool)).log,
      stored: rows[0]?.stored ?? 0,
      service: (await cpuOf([service.pid])) ?? Number.NaN,
      postgres: (await cpuOf([postmaster])) ?? Number.NaN,
      at: performance.now(),
    }
  }
  const start = await read()
  await pause(SETTLE_MS)
  const before = await read()
  const calls = await work()
  await pause(SETTLE_MS)
  const after = await read()
  const idle = (after.at - before.at) / (before.at - start.at)
  const more = (name: 'service' | 'postgres') =>
    Math.max(0, after[name] - before[name] - idle * (before[name] - start[name]))
  const { wal, stored } = before
  return {
    calls,
    service: more('service'),
    postgres: more('postgres'),
    wal: after.wal - wal,
    stored: after.stored - stored,
  }
}

const taskOf = ({ service }: Stage, kind: Exclude<Kind, 'login'>): Load => ({
  ports: [service.port],
  call: CALLS[kind],
  players: kind === 'claim' ? 'claiming' : 'playing',
  connections: CONNECTIONS,
  seconds: SECONDS,
})

/** The cost of a call at half of the rate that is possible: groups are smaller then, and a call costs more. */
async function measureKind(stage: Stage, kind: Kind): Promise<Taken> {
  if (kind === 'login') {
    await stage.logIn(LOGINS / 4)
    return measure(stage, async () => {
      await stage.logIn(LOGINS)
      return LOGINS
    })
  }
  const task = taskOf(stage, kind)
  await stage.load({ ...task, call: 'progress', seconds: 60, calls: PLAYERS })
  const { perSecond } = await stage.load({ ...task, seconds: WARM_UP_SECONDS })
  return measure(stage, async () => (await stage.load({ ...task, perSecond: perSecond / 2 })).calls)
}

/** The memory in which the service remembers the rows of a player, in bytes, by its own estimate. */
async function measurePlayer({ service }: Stage): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`, { headers })).text()
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1] ?? Number.NaN)
  return read('tierway_remembered_bytes') / read('tierway_remembered_players')
}

/** What calls of all kinds took together, ÷ the sum of what each takes alone. */
interface Mixed {
  readonly rates: string
  readonly service: number
  readonly postgres: number
  readonly wal: number
}

/** Makes calls of all kinds at once, in the proportions of a day, until the service uses a share of one core. */
async function measureMix(stage: Stage, costs: ReadonlyMap<Kind, Taken>, rate: number): Promise<Mixed> {
  const share = (kind: Kind) => (rate * DAY[kind]) / callsOfDay()
  const made = new Map<Kind, number>()
  const run = async (load: RunLoad, kind: Exclude<Kind, 'login'>) => {
    made.set(kind, (await load({ ...taskOf(stage, kind), perSecond: share(kind) })).calls)
  }
  const logins = Math.max(1, Math.round(share('login') * SECONDS))
  const taken = await measure(stage, async () => {
    const paced = async () => {
      for (let done = 0; done < logins; done += 1) {
        await Promise.all([stage.logIn(1), pause((SECONDS * 1_000) / logins)])
      }
      made.set('login', logins)
    }
    await Promise.all([run(stage.others[0], 'xp'), run(stage.others[1], 'read'), run(stage.load, 'claim'), paced()])
    return [...made.values()].reduce((sum, calls) => sum + calls, 0)
  })
  const alone = (part: Part) => KINDS.reduce((sum, kind) => sum + (made.get(kind) ?? 0) * each(costs, kind, part), 0)
  return {
    rates: KINDS.map((kind) => `${Math.round((made.get(kind) ?? 0) / SECONDS)} ${kind}`).join(', '),
    service: taken.service / alone('service'),
    postgres: taken.postgres / alone('postgres'),
    wal: taken.wal / alone('wal'),
  }
}

function each(costs: ReadonlyMap<Kind, Taken>, kind: Kind, part: Part): number {
  const taken = costs.get(kind)
  return taken ? taken[part] / taken.calls : Number.NaN
}

const callsOfDay = (): number => KINDS.reduce((sum, kind) => sum + DAY[kind], 0)

function report(costs: ReadonlyMap<Kind, Taken>, playerBytes: number, mixed: Mixed, check: Mixed): void {
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  const exact = (value: number) => (value < 10 ? value.toFixed(1) : whole(value))
  print('')
  print(`${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}.`)
  printSection('A call at half of the rate that is possible', [
    ['', ['service, µs', 'Postgres, µs', 'log (WAL), bytes', 'stored, bytes']],
    ...KINDS.map(
      (kind) =>
        [
          kind,
          (['service', 'postgres', 'wal', 'stored'] as const).map((part) => whole(each(costs, kind, part))),
        ] as const,
    ),
  ])
  const ofDay = (part: Part) =>
    KINDS.reduce((sum, kind) => sum + DAY[kind] * each(costs, kind, part), 0) * (part === 'stored' ? 1 : mixed[part])
  const day = KINDS.map((kind) => `${DAY[kind]} ${kind}`).join(', ')
  const perPlayer = {
    service: ofDay('service'),
    postgres: ofDay('postgres'),
    wal: ofDay('wal'),
    stored: ofDay('stored'),
  }
  printSection(
    `Players a day, each with ${day}; ${PEAK * 100} % of them in the busiest hour, at ${USE * 100} % of a core`,
    [
      ['', SIZES.map(whole)],
      ['calls a second, busiest hour', SIZES.map((players) => whole((players * callsOfDay() * PEAK) / HOUR))],
      ['calls a second, mean', SIZES.map((players) => whole((players * callsOfDay()) / DAY_SECONDS))],
      ['cores of the service', SIZES.map((players) => exact(coresOf(players, perPlayer.service)))],
      [
        'instances of one core, and one to spare',
        SIZES.map((players) => whole(Math.ceil(coresOf(players, perPlayer.service)) + 1)),
      ],
      ['cores of Postgres', SIZES.map((players) => exact(coresOf(players, perPlayer.postgres)))],
      ['log of Postgres (WAL), GB a day', SIZES.map((players) => exact((players * perPlayer.wal) / GB))],
      [
        'the same, MB a second in the busiest hour',
        SIZES.map((players) => exact((players * perPlayer.wal * PEAK) / HOUR / 1e6)),
      ],
      ['disk, GB more a month', SIZES.map((players) => exact((players * perPlayer.stored * MONTH_DAYS) / GB))],
      ['memory of players in the busiest hour, GB', SIZES.map((players) => exact((players * PEAK * playerBytes) / GB))],
    ],
  )
  const factors = ({ service, postgres, wal }: Mixed) => [service, postgres, wal].map((factor) => factor.toFixed(2))
  printSection('All kinds of calls at once ÷ each kind alone: smaller groups cost more', [
    ['', ['service', 'Postgres', 'log (WAL)']],
    [`${mixed.rates} a second`, factors(mixed)],
    [`${check.rates} a second`, factors(check)],
  ])
  print(
    `The tables are computed from the first of these. For the second, measured ÷ computed is ${(check.service / mixed.service).toFixed(2)} for the service and ${(check.postgres / mixed.postgres).toFixed(2)} for Postgres.`,
  )
  print('')
  print(`A remembered player takes ${whole(playerBytes)} bytes of an instance.`)
}

const coresOf = (players: number, microseconds: number): number => (players * microseconds * PEAK) / HOUR / 1e6 / USE

await runToEnd(main)
