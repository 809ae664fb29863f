import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { demoSeason } from '../src/dev/season.ts'
import { freePort } from '../test/harness/free-port.ts'
import { buildService } from '../test/harness/service.ts'
import type { Stage, StageSetup } from './against-stage.ts'
import { type Comparison, compare } from './compare.ts'
import { cpuOf } from './cpu.ts'
import { linesOf, type Profile, profile } from './line-profile.ts'
import type { Call } from './load.ts'
import { startLoad } from './loader.ts'
import { lossOf, onEnd } from './processes.ts'
import { clearNote, type Line, median, note, print, printSection } from './report.ts'
import { STAIRS_LEVELS, STEP_XP, stairsOf } from './stairs.ts'

// `npm run bench -- --against <commit>`: this build and that of a commit in turn, A B B A, by CPU time a call. README.md
// says how to read it.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NODE = 'pass'
const PLAYERS = 1024
const PLACES = 32
const CLAIMANTS = 2048
/** The players who claim are at the level below the top. */
const REACHED = 99
const WARM_UP = { connections: 64, seconds: 3 }
/** The jobs of the service run each second: their work for a cell is counted with it. */
const SETTLE_MS = 1_200
const PROFILE_SECONDS = 5
const PROFILE_LINES = 25
/** From this difference on the lines of both are shown. */
const NOTABLE = 0.03

/** The demo's season, and one in which each call of {@link STEP_XP} reaches a level, up to the last. */
const SCENARIOS = { season: demoSeason, stairs: () => JSON.stringify(stairsOf(JSON.parse(demoSeason()))) }
type Scenario = keyof typeof SCENARIOS
type Set = 'players' | 'claimants' | 'climbing' | 'topped'

interface Row {
  readonly name: string
  readonly call: Call
  readonly set: Set
  /** Default: `season`. */
  readonly scenario?: Scenario
}
const ROWS: readonly Row[] = [
  { name: 'add xp', call: 'xp', set: 'players' },
  { name: 'add xp over GraphQL', call: 'graphqlXp', set: 'players' },
  { name: 'add xp, each call reaches a level', call: 'xp', set: 'climbing', scenario: 'stairs' },
  { name: 'add xp at the last level', call: 'xp', set: 'topped', scenario: 'stairs' },
  { name: 'claim a tier', call: 'claim', set: 'claimants' },
  { name: 'read progress', call: 'progress', set: 'players' },
]

export interface AgainstOptions {
  readonly commit: string
  readonly only: readonly string[]
  readonly connections: readonly number[]
  readonly rounds: number
  readonly seconds: number
  /** The lines of all cells are shown, also where the builds do not differ, and the profiles are kept. */
  readonly isProfiled: boolean
  readonly signal: AbortSignal
}

/** A build, with its own Postgres and players. */
interface Side {
  readonly name: string
  readonly folder: string
  readonly inspectPort: number
  readonly stage: Stage
}

/** Microseconds a call. */
interface Cost {
  readonly service: number
  readonly postgres: number
}

export async function runAgainst({
  commit,
  only,
  connections,
  rounds,
  seconds,
  isProfiled,
  signal,
}: AgainstOptions): Promise<void> {
  if (process.platform !== 'linux') throw new Error('CPU time is measured on Linux only')
  const isChosen = (name: string) => (text: string) =>
    ROWS.some((row) => row.name === text) ? name === text : name.includes(text)
  const rows = ROWS.filter(({ name }) => only.length === 0 || only.some(isChosen(name)))
  if (rows.length === 0) throw new Error(`the rows are: ${ROWS.map(({ name }) => name).join(', ')}`)
  const hash = (await run('git', ['rev-parse', '--short=12', `${commit}^{commit}`])).trim()
  note('building this folder')
  await buildService()
  const folder = await build(hash)
  const sides: readonly [Side, Side] = [await start('this', ROOT), await start(hash, folder)]

  const players = Object.fromEntries(
    sides.flatMap(({ name, stage }) => Object.entries(stage.players).map(([set, all]) => [`${name} ${set}`, all])),
  )
  const loads = new Map<Scenario, ReturnType<typeof startLoad>>()
  const loadOf = ({ scenario = 'season' }: Row) => {
    const known =
      loads.get(scenario) ?? startLoad({ scenarioId: scenario, nodeId: NODE, reached: REACHED, players }, signal)
    loads.set(scenario, known)
    return known
  }
  const taskOf = ({ name, stage }: Side, { call, set, scenario }: Row) => ({
    ports: [stage.port],
    call,
    players: `${name} ${set}`,
    ...(scenario === 'stairs' && { amount: STEP_XP }),
  })

  async function cell(side: Side, row: Row, count: number): Promise<Cost> {
    const read = async () => [await cpuOf([side.stage.pid]), await cpuOf([side.stage.postmaster])].map(Number)
    let before = await read()
    const { calls } = await loadOf(row)({ ...taskOf(side, row), connections: count, seconds }, async () => {
      // Connections are opened once, not with each call, so their cost is not counted.
      before = await read()
    })
    if (calls === 0) throw new Error(`there was nothing left to do for ${row.name}`)
    await pause(SETTLE_MS)
    const [service = Number.NaN, postgres = Number.NaN] = (await read()).map((after, at) => after - (before[at] ?? 0))
    return { service: service / calls, postgres: postgres / calls }
  }

  for (const side of sides)
    for (const row of rows) {
      note(`warming up: ${row.name} of ${side.name}`)
      const greeting = { ...taskOf(side, row), call: 'progress' as const, ...WARM_UP, seconds: 60 }
      await loadOf(row)({ ...greeting, calls: side.stage.players[row.set]?.length ?? 0 })
      await loadOf(row)({ ...taskOf(side, row), ...WARM_UP })
    }
  const costs = new Map<string, Cost[]>()
  const costsOf = (side: Side, row: Row, count: number): Cost[] => {
    const key = `${side.name} ${row.name} ${count}`
    const known = costs.get(key) ?? []
    costs.set(key, known)
    return known
  }
  for (let round = 1; round <= rounds; round += 1)
    // A B B A: what a machine does more slowly with time falls on both.
    for (const row of rows)
      for (const count of connections)
        for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
          note(`round ${round} of ${rounds}: ${row.name} at ${count} of ${side.name}`)
          costsOf(side, row, count).push(await cell(side, row, count))
        }
  clearNote()

  const [own, other] = sides
  const all = ({ service, postgres }: Cost) => service + postgres
  const comparisonOf = (row: Row, count: number, read: (cost: Cost) => number): Comparison =>
    compare(costsOf(own, row, count).map(read), costsOf(other, row, count).map(read))
  const costText = (side: Side, row: Row, count: number) => {
    const of = (read: (cost: Cost) => number) => Math.round(median(costsOf(side, row, count).map(read)))
    return `${of(({ service }) => service)} + ${of(({ postgres }) => postgres)}`
  }
  print(
    `CPU of service + Postgres, µs a call: medians of ${rounds} rounds of ${seconds} s in turn; ratio (95 % of the time).`,
  )
  for (const row of rows)
    printSection(row.name, [
      ['connections', ['this', hash, `this ÷ ${hash}`, '']],
      ...connections.map((count): Line => {
        const { text, verdict } = comparisonOf(row, count, all)
        return [String(count), [costText(own, row, count), costText(other, row, count), text, `  ${verdict}`]]
      }),
    ])

  for (const row of rows)
    for (const count of connections) {
      const { ratio, isDecided } = comparisonOf(row, count, ({ service }) => service)
      if (!isProfiled && (!isDecided || Math.abs(ratio - 1) < NOTABLE)) continue
      for (const side of sides) {
        note(`profile of ${row.name} at ${count} of ${side.name}`)
        const task = { ...taskOf(side, row), connections: count, seconds: PROFILE_SECONDS }
        const found: Profile = await profile(side.stage.pid, side.inspectPort, () => loadOf(row)(task))
        clearNote()
        if (isProfiled) await keepProfile(found, `${side.name} ${row.name} ${count}`)
        const lines = await linesOf(found, join(side.folder, 'dist'))
        printSection(
          `${row.name} at ${count}, lines of ${side.name}: % of the service's CPU`,
          lines
            .slice(0, PROFILE_LINES)
            .map(({ percent, place, text }): Line => [place, [percent.toFixed(1), `  ${text}`]]),
        )
      }
    }
}

/** Builds a commit in a folder of its own, once. Returns the folder. */
async function build(hash: string): Promise<string> {
  const folder = join(ROOT, 'artifacts/against', hash)
  await mkdir(folder, { recursive: true })
  if ((await textOf(join(folder, '.built'))) === null) {
    note(`building ${hash} in ${folder}`)
    await run('sh', ['-c', `git archive ${hash} | tar -x -C '${folder}'`])
    const [own, other] = await Promise.all([ROOT, folder].map((one) => textOf(join(one, 'package-lock.json'))))
    if (own === other) {
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir').catch(() => undefined)
      await run('npm', ['run', 'build'], folder)
    } else await run('npm', ['ci', '--no-audit', '--no-fund'], folder)
    await writeFile(join(folder, '.built'), '')
  }
  await cp(join(ROOT, 'bench/against-stage.ts'), join(folder, 'bench/against-stage.ts'))
  return folder
}

async function start(name: string, folder: string): Promise<Side> {
  note(`starting ${name}`)
  const child = fork(join(folder, 'bench/against-stage.ts'), { cwd: folder })
  onEnd(() => end(child))
  const inspectPort = await freePort()
  const pass = JSON.parse(demoSeason()).nodes.find(({ id }: { id: string }) => id === NODE)
  const xpOf = (level: number): number => pass.data.levels.find((entry: { level: number }) => entry.level === level).xp
  const places = Array.from({ length: PLACES }, (_, place) =>
    Math.round(xpOf(2) + ((xpOf(3) - xpOf(2)) * place) / PLACES),
  )
  const sets: Record<Set, StageSetup['sets'][string]> = {
    players: { count: PLAYERS, xp: places, scenarioId: 'season' },
    claimants: { count: CLAIMANTS, xp: [xpOf(REACHED)], scenarioId: 'season' },
    climbing: { count: PLAYERS, xp: [0], scenarioId: 'stairs' },
    topped: { count: PLAYERS, xp: [STAIRS_LEVELS * STEP_XP], scenarioId: 'stairs' },
  }
  const definitions = Object.fromEntries(Object.entries(SCENARIOS).map(([name, text]) => [name, JSON.parse(text())]))
  child.send({ definitions, nodeId: NODE, sets, inspectPort } satisfies StageSetup)
  const [stage] = await Promise.race([once(child, 'message'), lossOf(child, `the stage of ${name}`)])
  return { name, folder, inspectPort, stage }
}

/** Its stage stops the service and Postgres by itself. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || !child.connected) return
  child.disconnect()
  await once(child, 'exit')
}

/** For a viewer of profiles, such as that of Chrome's tools. */
async function keepProfile(found: Profile, name: string): Promise<void> {
  const folder = join(ROOT, 'artifacts/profiles')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.cpuprofile`), JSON.stringify(found))
}

async function run(command: string, args: readonly string[], cwd = ROOT): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

const textOf = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(() => null)
