import { setTimeout as pause } from 'node:timers/promises'
import { median, printSection } from '../report.ts'
import type { Stage } from './stage.ts'

// The delay of players' own level-ups while the machine is half busy.

const CROWD = 'players online'
const LISTENERS = 5_000
/** Each listener reaches a level once a minute. */
const LEVEL_UPS_A_SECOND = LISTENERS / 60
const LEVEL_XP = 2_500
const PEAK_CONNECTIONS = 32
/** Enough to keep the rate while some calls take long. */
const CONNECTIONS = 64
const SETTLE_MS = 2_000
const LATE_MS = 30_000

export async function measureOnline(stage: Stage): Promise<void> {
  const { audience, service, load, quick, playersOf } = stage
  const listeners = Math.min(LISTENERS, stage.listening)
  const ports = [service.port]
  const callers = { ports, call: 'xp', players: 'callers' } as const

  stage.step('players online: the peak of xp')
  const seconds = quick ? 1 : 4
  const peak = await load({ ...callers, connections: PEAK_CONNECTIONS, seconds })
  stage.step(`players online: ${listeners} connect`)
  await audience.open({ crowd: CROWD, port: service.port, count: listeners, subscription: playersOf(listeners) })
  await pause(SETTLE_MS)

  stage.step('players online: they play')
  const lasting = { seconds: quick ? 4 : 20, connections: CONNECTIONS }
  const levelUpsASecond = (LEVEL_UPS_A_SECOND * listeners) / LISTENERS
  const others = { ...callers, ...lasting, perSecond: peak.perSecond / 2 - levelUpsASecond }
  const own = {
    ...lasting,
    ports,
    call: 'xp',
    players: 'online',
    amount: LEVEL_XP,
    perSecond: levelUpsASecond,
  } as const
  const [background, tally] = await Promise.all([load(others), stage.anotherLoad()({ ...own, tellsLevelUps: true })])
  const latencies = await hearAll(stage, tally.reached)
  await audience.close(CROWD)
  report(
    listeners,
    { peak: peak.perSecond, asked: peak.perSecond / 2, got: background.perSecond + tally.perSecond },
    latencies,
  )
}

/** The times from the answer of each call to its event. An event before its answer counts as 0. */
async function hearAll(
  { audience }: Stage,
  reached: readonly (readonly [index: number, at: number])[],
): Promise<number[]> {
  await Promise.race([audience.reach(CROWD, reached.length), pause(LATE_MS, undefined, { ref: false })])
  const { total, most, lost, firstLoss } = await audience.count(CROWD)
  if (lost > 0) throw new Error(`${CROWD}: ${lost} sockets were closed: ${firstLoss}`)
  if (total !== reached.length || most !== 1) {
    throw new Error(`${reached.length} players reached a level, and ${total} messages arrived, up to ${most} at one`)
  }
  const arrivals = await audience.arrivals(CROWD)
  return reached.map(([index, answeredAt]) => {
    const at = arrivals[index]
    if (at === null || at === undefined) throw new Error(`${CROWD}: a player received an event of another player`)
    return Math.max(0, at - answeredAt)
  })
}

interface Rates {
  readonly peak: number
  readonly asked: number
  readonly got: number
}

function report(listeners: number, { peak, asked, got }: Rates, latencies: number[]): void {
  const ms = (value: number | undefined) => `${(value ?? Number.NaN).toFixed(1)} ms`
  const rate = (value: number) => Math.round(value).toLocaleString('en')
  const sorted = latencies.sort((a, b) => a - b)
  printSection(`${listeners.toLocaleString('en')} players online: from the answer to their own event`, [
    [`p50 of ${sorted.length} level-ups`, [ms(median(sorted))]],
    ['p99 (goal 100 ms)', [ms(sorted[Math.floor(sorted.length * 0.99)])]],
    ['the slowest', [ms(sorted.at(-1))]],
    ['calls of xp a second: peak, asked for, made', [[peak, asked, got].map(rate).join(', ')]],
  ])
}
