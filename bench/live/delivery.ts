import { setTimeout as pause } from 'node:timers/promises'
import { type Line, median, printSection, spread } from '../report.ts'
import type { Side, Stage, Usage } from './stage.ts'

// The cost of delivering one event to one of a thousand dashboards with the same operation.

const LISTENERS = 1_000
/** The least time between two events, so that no two are delivered together. */
const PACE_MS = 10
const CONNECTIONS = 60
/** The service has jobs that run each second: their work for the events is counted with the events. */
const SETTLE_MS = 1_200
const KINDS = ['one at a time', 'at once'] as const
type Kind = (typeof KINDS)[number]

/** The calls that make the service's events, without listeners. */
const CALLS = 'calls alone'

interface Cell extends Usage {
  readonly deliveries: number
  readonly bytes: number
}

/** The measurements of a side and a kind: a cell for each round. */
type Cells = Map<string, Cell[]>

export async function measureDelivery(
  stage: Stage,
  { floor, stock }: { floor: boolean; stock: boolean },
): Promise<void> {
  const sides = [stage.ours]
  if (floor) sides.push(await stage.floor())
  if (stock) sides.push(...(await stage.stock()))
  for (const side of sides) await warmUp(stage, side)
  const cells: Cells = new Map()
  const add = (key: string, cell: Cell) => cells.set(key, [...(cells.get(key) ?? []), cell])
  for (let round = 1; round <= stage.rounds; round += 1) {
    for (const kind of KINDS) {
      for (const side of sides) {
        stage.step(`round ${round} of ${stage.rounds}: a delivery of ${side.name}, ${kind}`)
        add(`${side.name} ${kind}`, await measure(stage, side, kind))
      }
      add(`${CALLS} ${kind}`, await measureCalls(stage, kind))
    }
  }
  report(sides, cells)
}

async function open({ audience }: Stage, { name, server, subscription, emitter }: Side): Promise<void> {
  await audience.open({ crowd: name, port: server.port, count: LISTENERS, subscription })
  await audience.attend(name, () => emitter.emit())
}

/** Events of a cell. Slow servers get fewer: their figures are as good, and the run stays short. */
const eventsOf = ({ quick }: Stage, side: Side): number => Math.ceil((side.isSlow ? 25 : 200) / (quick ? 10 : 1))

async function warmUp(stage: Stage, side: Side): Promise<void> {
  stage.step(`warming up: ${side.name} (process ${side.server.pid})`)
  await open(stage, side)
  for (let event = 0; event < (stage.quick ? 3 : 30); event += 1) await side.emitter.emit()
  await stage.audience.settle(side.name)
  await stage.audience.close(side.name)
}

async function measure(stage: Stage, side: Side, kind: Kind): Promise<Cell> {
  const { audience, meter } = stage
  const { name } = side
  await open(stage, side)
  const events = eventsOf(stage, side)
  const stop = await meter(side.server)
  await happen(side, kind, events, (count) => audience.reach(name, count * LISTENERS))
  if (side === stage.ours) await pause(SETTLE_MS)
  const used = await stop()
  const { bytes } = await audience.verify(name, events)
  await audience.close(name)
  return { ...used, deliveries: events * LISTENERS, bytes: bytes / events }
}

async function measureCalls(stage: Stage, kind: Kind): Promise<Cell> {
  const events = eventsOf(stage, stage.ours)
  const stop = await stage.meter(stage.service)
  await happen(stage.ours, kind, events, async () => {})
  await pause(SETTLE_MS)
  return { ...(await stop()), deliveries: events * LISTENERS, bytes: 0 }
}

/** Makes this number of events; `heard` waits until each listener has received a number of them. */
async function happen(
  { emitter }: Side,
  kind: Kind,
  events: number,
  heard: (count: number) => Promise<unknown>,
): Promise<void> {
  if (kind === 'at once') {
    for (let done = 0; done < events; done += CONNECTIONS) await emitter.burst(Math.min(CONNECTIONS, events - done))
    await heard(events)
    return
  }
  for (let done = 1; done <= events; done += 1) {
    const pace = pause(PACE_MS)
    await emitter.emit()
    await heard(done)
    await pace
  }
}

function report(sides: readonly Side[], cells: Cells): void {
  const of = (name: string, kind: Kind): readonly Cell[] => cells.get(`${name} ${kind}`) ?? []
  const each = (read: (cell: Cell) => number) => (name: string, kind: Kind) =>
    median(of(name, kind).map((cell) => read(cell) / cell.deliveries)).toFixed(2)
  const server = each((cell) => cell.server)
  const postgres = each((cell) => cell.postgres)
  const line = (title: string, value: (kind: Kind) => string): Line => [title, KINDS.map(value)]
  /** The service's CPU of each round as a share of a peer's, after `less` is subtracted. */
  const ratio = (name: string, kind: Kind, less: (round: number) => number = () => 0) =>
    spread(
      of(name, kind).map((other, round) => {
        const ours = of('Tierway', kind)[round] as Cell
        return (ours.server - less(round)) / ours.deliveries / (other.server / other.deliveries)
      }),
    )
  const callsOf = (kind: Kind, round: number) => of(CALLS, kind)[round]?.server ?? 0
  const bytes = sides.map(({ name }) => Math.round(median(of(name, KINDS[0]).map((cell) => cell.bytes))))
  printSection(`An event to ${LISTENERS.toLocaleString('en')} dashboards: CPU of the server, µs a delivery`, [
    ['', [...KINDS]],
    ...sides.map(({ name }) => line(name, (kind) => server(name, kind))),
    line('of Tierway: the calls, with nobody listening', (kind) => server(CALLS, kind)),
    ...sides
      .filter(({ usesPostgres }) => usesPostgres)
      .map(({ name }) => line(`Postgres beside ${name}`, (kind) => postgres(name, kind))),
    ...sides
      .slice(1)
      .flatMap(({ name, isSlow }) => [
        line(`Tierway ÷ ${name} (goal ${isSlow ? '0.30' : '1.00'})`, (kind) => ratio(name, kind)),
        line('  the same, less the calls', (kind) => ratio(name, kind, (round) => callsOf(kind, round))),
      ]),
    ['bytes of an event', [bytes.join(', ')]],
  ])
}
