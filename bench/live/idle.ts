import { setTimeout as pause } from 'node:timers/promises'
import { type Server, startInstance } from '../processes.ts'
import { type Line, median, printSection, spread } from '../report.ts'
import type { Stage, Usage } from './stage.ts'

// The cost of a call of xp while thousands of players listen to their own events and receive none.

const CONNECTIONS = 32
const CROWD = 'idle players'
/** Pairs of measurements in each of the benchmark's rounds. */
const PAIRS = 3
/** In which V8 compiles what a call runs. */
const WARM_UP_SECONDS = 15
/** The pause after all sockets have opened: the service then still has work. */
const SETTLE_MS = 2_000
/** The time in which each socket is pinged once. */
const PINGS_MS = 12_000
/** Without sockets, the longest work is the jobs that run each second. */
const JOBS_MS = 4_000
/** The number of idle listeners that reach a level at the end, which proves that they listened. */
const SAMPLE = 50
const SAMPLE_XP = 2_500

interface Cell extends Usage {
  readonly calls: number
}

/** A call with the listeners and without, measured one after the other. */
interface Round {
  readonly alone: Cell
  readonly beside: Cell
}

/** A service, and the players whose calls only it gets, so that what it remembers of them stays true. */
interface Side {
  readonly server: Server
  readonly players: string
}

/**
 * Two services on one Postgres, of which one has the listeners, are called in turn: what a service does more slowly
 * after its start, or later, then counts for both.
 */
export async function measureIdle(stage: Stage): Promise<void> {
  const { audience, world, listening, playersOf } = stage
  stage.step('starting two services, and warming them up')
  const alone: Side = { server: await startInstance(world), players: 'some' }
  const beside: Side = { server: await startInstance(world), players: 'others' }
  for (const side of [alone, beside]) await measureCalls(stage, side, stage.quick ? 1 : WARM_UP_SECONDS)

  stage.step(`${listening} players open their sockets`)
  await audience.open({ crowd: CROWD, port: beside.server.port, count: listening, subscription: playersOf(listening) })
  await pause(SETTLE_MS)
  const idleAlone = await measureNothing(stage, alone, JOBS_MS)
  const idleBeside = await measureNothing(stage, beside, PINGS_MS)

  const rounds: Round[] = []
  for (let round = 1; round <= stage.rounds * PAIRS; round += 1) {
    stage.step(`pair ${round} of ${stage.rounds * PAIRS}: xp alone, and beside ${listening} idle players`)
    const isAloneFirst = round % 2 === 1
    const first = await measureCalls(stage, isAloneFirst ? alone : beside)
    const second = await measureCalls(stage, isAloneFirst ? beside : alone)
    rounds.push(isAloneFirst ? { alone: first, beside: second } : { alone: second, beside: first })
  }
  await audience.verify(CROWD, 0)
  await proveListening(stage, beside)
  await audience.close(CROWD)
  await Promise.all([alone.server.stop(), beside.server.stop()])
  report(stage, { rounds, idleAlone, idleBeside })
}

async function measureCalls(
  { quick, load, meter }: Stage,
  { server, players }: Side,
  seconds = quick ? 1 : 4,
): Promise<Cell> {
  const task = { ports: [server.port], call: 'xp', players, connections: CONNECTIONS, seconds } as const
  let stop = await meter(server)
  const { calls } = await load(task, async () => {
    // Connections are opened once, not with each call, so their cost is not counted.
    stop = await meter(server)
  })
  return { ...(await stop()), calls }
}

async function measureNothing({ quick, meter }: Stage, { server }: Side, ms: number): Promise<Usage> {
  const stop = await meter(server)
  await pause(quick ? 1_000 : ms)
  return stop()
}

async function proveListening({ load, audience }: Stage, { server }: Side): Promise<void> {
  const task = {
    ports: [server.port],
    call: 'xp',
    players: 'listeners',
    connections: CONNECTIONS,
    seconds: 60,
  } as const
  const { levelUps } = await load({ ...task, amount: SAMPLE_XP, calls: SAMPLE })
  await audience.reach(CROWD, levelUps)
  const { total, most } = await audience.count(CROWD)
  if (levelUps !== SAMPLE || total !== SAMPLE || most !== 1) {
    throw new Error(`${SAMPLE} players reached a level, and ${total} messages were received, up to ${most} by one`)
  }
}

type Read = (usage: Usage) => number
const COLUMNS: readonly Read[] = [
  ({ server }) => server,
  ({ postgres }) => postgres,
  (usage) => usage.server + usage.postgres,
]

interface Measured {
  readonly rounds: readonly Round[]
  readonly idleAlone: Usage
  readonly idleBeside: Usage
}

function report({ listening }: Stage, { rounds, idleAlone, idleBeside }: Measured): void {
  const line = (name: string, value: (read: Read) => string): Line => [name, COLUMNS.map(value)]
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  const figure = (of: (round: Round) => number) => whole(median(rounds.map(of)))
  const aCall = (cell: Cell, read: Read) => read(cell) / cell.calls
  const aSecond = (usage: Usage, read: Read) => read(usage) / usage.seconds
  /** The cost of a call with the listeners, less the cost of idle sockets, ÷ the cost without listeners. */
  const ofCalls = ({ alone, beside }: Round, read: Read) => {
    const steady = (aSecond(idleBeside, read) - aSecond(idleAlone, read)) * beside.seconds
    return (read(beside) - steady) / beside.calls / aCall(alone, read)
  }
  const count = listening.toLocaleString('en')
  printSection(`xp at ${CONNECTIONS} connections beside ${count} idle player subscriptions`, [
    ['', ['service', 'Postgres', 'both']],
    line('CPU, µs a call: alone', (read) => figure(({ alone }) => aCall(alone, read))),
    line('CPU, µs a call: beside them', (read) => figure(({ beside }) => aCall(beside, read))),
    line('beside them ÷ alone (goal 1.05)', (read) =>
      spread(rounds.map(({ alone, beside }) => aCall(beside, read) / aCall(alone, read))),
    ),
    line('the same, less what they cost when idle', (read) => spread(rounds.map((round) => ofCalls(round, read)))),
    line('idle, µs of CPU a second: alone', (read) => whole(aSecond(idleAlone, read))),
    line('idle, µs of CPU a second: with them', (read) => whole(aSecond(idleBeside, read))),
    ['calls a second: alone', [figure(({ alone }) => alone.calls / alone.seconds)]],
    ['calls a second: beside them', [figure(({ beside }) => beside.calls / beside.seconds)]],
  ])
}
