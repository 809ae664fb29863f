import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../calls.ts'
import { type Line, median, printSection } from '../report.ts'
import type { Side, Stage } from './stage.ts'

// The time in which an event reaches a crowd.

const LISTENERS = 5_000
/** In each round. */
const SINGLE_EVENTS = 10
const BURST = 60
const BETWEEN_MS = 100

interface Times {
  /** From the answer to the call to the last delivery, in milliseconds, for each single event. */
  readonly single: number[]
  /** From the first call of a burst to the last delivery, for each burst. */
  readonly burst: number[]
}

export async function measureCrowd(stage: Stage): Promise<void> {
  const listeners = stage.quick ? LISTENERS / 10 : LISTENERS
  const sides = [stage.ours, await stage.floor()]
  const times = new Map(sides.map((side): [Side, Times] => [side, { single: [], burst: [] }]))
  for (let round = 1; round <= stage.rounds; round += 1) {
    for (const [side, { single, burst }] of times) {
      stage.step(`round ${round} of ${stage.rounds}: ${side.name} tells ${listeners}`)
      await measure(stage, side, listeners, single, burst)
    }
  }
  report(listeners, times)
}

async function measure(
  { audience }: Stage,
  { name, server, subscription, emitter }: Side,
  listeners: number,
  single: number[],
  burst: number[],
): Promise<void> {
  await audience.open({ crowd: name, port: server.port, count: listeners, subscription })
  await audience.attend(name, () => emitter.emit())
  for (let event = 1; event <= SINGLE_EVENTS; event += 1) {
    const answeredAt = await emitter.emit()
    const heardAt = await audience.reach(name, event * listeners)
    single.push(Math.max(0, heardAt - answeredAt))
    await pause(BETWEEN_MS)
  }
  // The connections are open before the clock starts.
  await emitter.connect(BURST)
  const begun = monotonicMs()
  await emitter.burst(BURST)
  burst.push((await audience.reach(name, (SINGLE_EVENTS + BURST) * listeners)) - begun)
  await audience.verify(name, SINGLE_EVENTS + BURST)
  await audience.close(name)
}

function report(listeners: number, times: ReadonlyMap<Side, Times>): void {
  const ms = (value: number) => `${value.toFixed(0)} ms`
  const at = (values: readonly number[], share: number) => {
    const sorted = [...values].sort((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  }
  const sides = [...times]
  const line = (name: string, value: (times: Times) => number): Line => [name, sides.map(([, side]) => ms(value(side)))]
  const events = sides[0]?.[1].single.length
  printSection(`One event to ${listeners.toLocaleString('en')} dashboards: from the answer to the last delivery`, [
    ['', sides.map(([{ name }]) => name)],
    line(`p50 of ${events} events`, ({ single }) => median(single)),
    line(`p99 of ${events} events (goal 150 ms)`, ({ single }) => at(single, 0.99)),
    line(`${BURST} at once, from the first call (goal 1,500 ms)`, ({ burst }) => median(burst)),
  ])
}
