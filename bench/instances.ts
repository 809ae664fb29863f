import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { demoSeason } from '../src/dev/season.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld, type World } from '../test/harness/service.ts'
import { Books, type Owner } from './books.ts'
import { cpuOf } from './cpu.ts'
import { withClient } from './database.ts'
import type { Load, LoadPlayer, Tally } from './load.ts'
import { startLoad } from './loader.ts'
import { copyPlayers, giveXp } from './players.ts'
import { onEnd, type Server, startInstance } from './processes.ts'
import { type Cell, clearNote, Figures, type Line, note, print, printSection, type Read } from './report.ts'
import { createSlowFlush } from './slow-flush.ts'
import { STAIRS_LEVELS, STEP_XP, stairsOf } from './stairs.ts'

// Several instances of the service and one Postgres whose flushes are slow: more instances must mean more calls.
// README.md explains each row.

export interface InstancesOptions {
  readonly quick: boolean
  readonly rounds?: number
  readonly seconds?: number
  readonly only: readonly string[]
  readonly signal: AbortSignal
}

const FLUSH_MS = 5
/** A multiple of the instances, each of which has its share of the players. */
const PLAYERS = 4_096
const SCENARIO = 'stairs'
const NODE = 'pass'
const SETTLE_MS = 1_200
/** Instances hold connections at the same time. */
const POSTGRES = ['max_connections=200']

/**
 * `climbing` players reach a level with each call; those of the `mix` with one call in ten, as in the main benchmark;
 * `topped` ones have reached the last, so that calls have no events.
 */
type Players = 'climbing' | 'mix' | 'topped'
/** The xp of each call. */
const AMOUNT: Readonly<Record<Players, number>> = { climbing: STEP_XP, mix: STEP_XP / 10, topped: STEP_XP }

interface Row {
  readonly name: string
  readonly instances: number
  /** Of each instance. */
  readonly connections: number
  readonly players: Players
  readonly flushMs: number
  /** The highest median time, in milliseconds. */
  readonly goalMs?: number
}

const each = (instances: number, connections: number): string =>
  instances === 1 ? `1 instance, ${connections} connections` : `${instances} instances, ${connections} connections each`

function row(instances: number, connections: number, others: Partial<Row> = {}): Row {
  const { players = 'climbing', flushMs = FLUSH_MS } = others
  const what = { climbing: '', mix: ', one call in ten', topped: ', without events' }[players]
  const name = `${each(instances, connections)}${what}${flushMs === 0 ? ', no delay' : ''}`
  return { instances, connections, players, flushMs, name, ...others }
}

const ROWS: readonly Row[] = [
  row(1, 32, { goalMs: 10 }),
  row(1, 64, { goalMs: 11 }),
  row(1, 64, { players: 'topped' }),
  row(1, 256),
  row(1, 256, { players: 'topped' }),
  row(2, 32, { goalMs: 14 }),
  row(4, 32, { goalMs: 20 }),
  row(4, 16, { goalMs: 15 }),
  row(1, 16),
  row(1, 16, { players: 'mix' }),
  row(1, 32, { players: 'mix' }),
  row(2, 32, { players: 'mix' }),
  row(4, 16, { players: 'mix' }),
  row(1, 32, { flushMs: 0 }),
  row(1, 64, { flushMs: 0 }),
  row(1, 256, { flushMs: 0 }),
]

export async function runInstances(options: InstancesOptions): Promise<void> {
  const { quick, signal, rounds = quick ? 1 : 3, seconds = quick ? 0.5 : 2 } = options
  const rows = ROWS.filter(({ name }) => options.only.length === 0 || options.only.some((text) => name.includes(text)))
  if (rows.length === 0)
    throw new Error(`there is no such row; there are:\n  ${ROWS.map(({ name }) => name).join('\n  ')}`)
  note('building')
  await buildService()
  note('starting an embedded Postgres with durable settings, whose flushes can be delayed')
  let world: World
  const flush = await createSlowFlush(async (text) => void (await world.pool.query(text)))
  const postgres = await startDurablePostgres(POSTGRES, flush.env)
  onEnd(() => postgres.remove())
  const postmaster = await postgres.postmaster()
  world = await createWorld(postgres.url)
  onEnd(() => world.close())
  await world.publish(SCENARIO, stairsOf(JSON.parse(demoSeason())))
  const count = Math.max(...rows.map(({ instances }) => instances))
  const instances = await Promise.all(Array.from({ length: count }, () => startInstance(world)))

  note('making players')
  const [first] = instances as [Server]
  const owners = await withClient(postgres.url, (client) => makePlayers(client, world, first))
  const books = new Books(owners)
  await withClient(postgres.url, (client) => books.open(client))
  const players = Object.fromEntries([...owners].map(([name, owner]) => [name, owner.players]))
  const run = startLoad({ scenarioId: SCENARIO, nodeId: NODE, reached: 0, players }, signal)
  const load = async (task: Load, begin?: () => Promise<unknown>): Promise<Tally> => {
    const tally = await run(task, begin)
    books.add(task.call, task.players, tally)
    return tally
  }

  async function measure({ instances: wanted, connections, players, flushMs }: Row): Promise<Cell> {
    const servers = instances.slice(0, wanted)
    const ports = servers.map(({ port }) => port)
    const task = { ports, isSticky: true, call: 'xp', players, amount: AMOUNT[players] } as const
    const shared = { ...task, connections: connections * wanted }
    // Players have been elsewhere since. Without a delay, each is remembered by the instance that now has it.
    await flush.set(0)
    await load({ ...shared, call: 'progress', seconds: 60, calls: Math.ceil(PLAYERS / wanted) })
    await flush.set(flushMs)
    await load({ ...shared, seconds: seconds / 4 })
    const pids = instances.map(({ pid }) => pid)
    const read = async () => ({ service: await cpuOf(pids), postgres: await cpuOf([postmaster]) })
    let before = await read()
    const tally = await load({ ...shared, seconds }, async () => {
      before = await read()
    })
    await pause(SETTLE_MS)
    const after = await read()
    const aCall = (from: number | null, to: number | null) => ((to ?? 0) - (from ?? 0)) / tally.calls
    const cpu = { service: aCall(before.service, after.service), postgres: aCall(before.postgres, after.postgres) }
    return { ...tally, cpu: before.service === null ? null : cpu }
  }

  const figures = new Figures()
  for (let round = 0; round <= rounds; round += 1) {
    await withClient(postgres.url, (client) => client.query(round === 1 ? 'VACUUM ANALYZE' : 'CHECKPOINT'))
    for (const each of rows) {
      note(round === 0 ? `warming up: ${each.name}` : `round ${round} of ${rounds}: ${each.name}`)
      signal.throwIfAborted()
      const cell = await measure(each)
      if (round > 0) figures.add(each.name, each.connections, cell)
    }
  }
  await flush.set(0)
  clearNote()
  print('')
  print(`${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}.`)
  print(
    `Each flush of Postgres takes ${FLUSH_MS} ms more (${flush.how}), unless said. Load, servers and database share the cores.`,
  )
  report(figures, rows)
  print('')
  print(await withClient(postgres.url, (client) => books.check(client)))
}

function report(figures: Figures, rows: readonly Row[]): void {
  const lineOf = ({ name, connections, goalMs }: Row): Line => {
    const [figure] = figures.medians(name, [connections], (median) => {
      const round = (read: Read) => Math.round(median(read)).toLocaleString('en')
      const ms = (read: Read) => median(read).toFixed(1)
      const goal = goalMs === undefined ? '' : ` (≤ ${goalMs})`
      const p50 = `${ms(({ medianMs }) => medianMs)}${goal}`
      const cpu = `${round(({ cpu }) => cpu?.service)} + ${round(({ cpu }) => cpu?.postgres)}`
      return [round(({ perSecond }) => perSecond), p50, ms(({ p99Ms }) => p99Ms), cpu].join('|')
    })
    return [name, figure?.split('|') ?? []]
  }
  printSection('Every call reaches a level, in one environment', [
    ['', ['calls a second', 'p50 ms (goal)', 'p99 ms', 'CPU µs: service + PG']],
    ...rows.map(lineOf),
  ])
  const perSecond: Read = (cell) => cell.perSecond
  const ratio = (
    title: string,
    ours: readonly [number, number],
    other: readonly [number, number],
    topped = false,
  ): Line => [
    title,
    [
      figures.ratio(
        [row(...ours).name, ours[1]],
        [row(...other, topped ? { players: 'topped' } : {}).name, other[1]],
        perSecond,
      ),
    ],
  ]
  printSection('Calls a second, the first ÷ the second: median (lowest–highest)', [
    ...[64, 256].map((at) => ratio(`with events ÷ without, ${at} connections (≥ 0.9)`, [1, at], [1, at], true)),
    ratio('2 instances ÷ 1, 32 connections each', [2, 32], [1, 32]),
    ratio('4 instances ÷ 1, 32 connections each', [4, 32], [1, 32]),
    ratio('4 instances, 16 each ÷ 1 with 64', [4, 16], [1, 64]),
  ])
  const all: Read = ({ cpu }) => (cpu ? cpu.service + cpu.postgres : Number.NaN)
  const costs = (ours: readonly [number, number], other: readonly [number, number]) =>
    (['climbing', 'mix'] as const).map((players): Line => {
      const [one, two] = [row(...ours, { players }), row(...other, { players })]
      const what = players === 'mix' ? 'one call in ten reaches a level' : 'every call does'
      const title = `${ours[0]} instances, ${ours[1]} each ÷ 1 with ${other[1]}: ${what} (≤ 1.15)`
      return [title, [figures.ratio([one.name, ours[1]], [two.name, other[1]], all)]]
    })
  printSection('CPU of services and Postgres a call, with groups of the same size: median (lowest–highest)', [
    ...costs([2, 32], [1, 32]),
    ...costs([4, 16], [1, 16]),
  ])
}

/** Players who climb, and players at the top. */
async function makePlayers(client: pg.ClientBase, world: World, server: Server): Promise<Map<Players, Owner>> {
  const copies = async (xp: number): Promise<readonly LoadPlayer[]> => {
    const original = await world.player(SCENARIO)
    if (xp > 0) await giveXp(server, original, { scenarioId: SCENARIO, nodeId: NODE, amount: xp })
    return copyPlayers(world, client, [original], PLAYERS)
  }
  return new Map([
    ['climbing', { players: await copies(0), tables: '' }],
    ['mix', { players: await copies(0), tables: '' }],
    ['topped', { players: await copies(STAIRS_LEVELS * STEP_XP), tables: '' }],
  ])
}
