import { setTimeout as pause } from 'node:timers/promises'
import { type Line, median, printSection, spread } from '../report.ts'
import type { Stage, Usage } from './stage.ts'

// The cost of a call of xp while thousands of players listen to their own events and receive none.

const CONNECTIONS = 32
const CROWD = 'idle players'
/** The pause after all sockets have opened, and after all have closed: the service then still has work. */
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

/** The figures of a round, with the listeners and without. */
interface Round {
  readonly alone: Cell
  readonly beside: Cell
  readonly idleAlone: Usage
  readonly idleBeside: Usage
}

export async function measureIdle(stage: Stage): Promise<void> {
  const rounds: Round[] = []
  for (let round = 1; round <= stage.rounds; round += 1) rounds.push(await measureRound(stage, round))
  report(stage, rounds)
}

async function measureRound(stage: Stage, round: number): Promise<Round> {
  const { audience, service, listening, playersOf } = stage
  const at = `round ${round} of ${stage.rounds}: xp`
  const alone = async () => {
    stage.step(`${at} alone`)
    return { idle: await measureNothing(stage, JOBS_MS), cell: await measureCalls(stage) }
  }
  const beside = async () => {
    stage.step(`${at} beside ${listening} idle players`)
    await audience.open({ crowd: CROWD, port: service.port, count: listening, subscription: playersOf(listening) })
    await pause(SETTLE_MS)
    const idle = await measureNothing(stage, PINGS_MS)
    const cell = await measureCalls(stage)
    await audience.verify(CROWD, 0)
    await proveListening(stage)
    await audience.close(CROWD)
    await pause(SETTLE_MS)
    return { idle, cell }
  }
  // The order alternates: the second measurement has a warmer service, and more garbage.
  const [first, second] = round % 2 === 1 ? [alone, beside] : [beside, alone]
  const one = await first()
  const other = await second()
  const [a, b] = round % 2 === 1 ? [one, other] : [other, one]
  return { alone: a.cell, beside: b.cell, idleAlone: a.idle, idleBeside: b.idle }
}

async function measureCalls({ quick, service, load, meter }: Stage): Promise<Cell> {
  const seconds = quick ? 1 : 4
  const task = { ports: [service.port], call: 'xp', players: 'callers', connections: CONNECTIONS, seconds } as const
  let stop = await meter(service)
  const { calls } = await load(task, async () => {
    // Connections are opened once, not with each call, so their cost is not counted.
    stop = await meter(service)
  })
  return { ...(await stop()), calls }
}

async function measureNothing({ quick, service, meter }: Stage, ms: number): Promise<Usage> {
  const stop = await meter(service)
  await pause(quick ? 1_000 : ms)
  return stop()
}

async function proveListening({ service, load, audience }: Stage): Promise<void> {
  const task = {
    ports: [service.port],
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

function report({ listening }: Stage, rounds: readonly Round[]): void {
  const line = (name: string, value: (read: Read) => string): Line => [name, COLUMNS.map(value)]
  const figure = (of: (round: Round) => number) => Math.round(median(rounds.map(of))).toLocaleString('en')
  const aCall = (cell: Cell, read: Read) => read(cell) / cell.calls
  const aSecond = (usage: Usage, read: Read) => read(usage) / usage.seconds
  /** The cost of a call with the listeners, less the cost of idle sockets, ÷ the cost without listeners. */
  const ofCalls = ({ alone, beside, idleAlone, idleBeside }: Round, read: Read) => {
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
    line('idle, µs of CPU a second: alone', (read) => figure(({ idleAlone }) => aSecond(idleAlone, read))),
    line('idle, µs of CPU a second: with them', (read) => figure(({ idleBeside }) => aSecond(idleBeside, read))),
    ['calls a second: alone', [figure(({ alone }) => alone.calls / alone.seconds)]],
    ['calls a second: beside them', [figure(({ beside }) => beside.calls / beside.seconds)]],
  ])
}
