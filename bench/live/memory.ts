import { setTimeout as pause } from 'node:timers/promises'
import { memoryOf } from '../cpu.ts'
import type { Subscription } from '../listeners.ts'
import { NODE_OPTIONS, type Server, startInstance } from '../processes.ts'
import { type Line, printSection } from '../report.ts'
import { FLOOR, type Stage, YOGA } from './stage.ts'

// The memory of a server that an idle listener takes. Each kind has a fresh server of its own.

const CROWD = 'idle subscribers'
/** Sockets that open and close before the measurement, so that all code has run. */
const WARM_UP = 200
const SETTLE_MS = 6_000
const COLLECT_MS = 1_500
const COLLECTIONS = 2
const COLLECT = `${NODE_OPTIONS} --import=${new URL('../collect.mjs', import.meta.url)}`

interface Kind {
  readonly name: string
  readonly start: () => Promise<Server>
  readonly subscription?: Subscription
}

export async function measureMemory(stage: Stage): Promise<void> {
  const { world, dashboards, listening, playersOf, startPeer } = stage
  const env = { NODE_OPTIONS: COLLECT }
  const kinds: Kind[] = [
    { name: 'Tierway: dashboards', start: () => startInstance(world, env), subscription: dashboards },
    { name: 'Tierway: players', start: () => startInstance(world, env), subscription: playersOf(listening) },
    { name: FLOOR.name, start: () => startPeer(FLOOR, env) },
    { name: YOGA.name, start: () => startPeer(YOGA, env), subscription: dashboards },
  ]
  const lines: Line[] = []
  for (const kind of kinds) {
    stage.step(`memory of ${listening} idle subscribers: ${kind.name}`)
    lines.push([kind.name, [`${((await measure(stage, kind)) / 1024).toFixed(1)} KB`]])
  }
  printSection(`Memory of an idle subscriber, of ${listening.toLocaleString('en')} (goal 20 KB)`, lines)
}

async function measure({ audience, listening, quick }: Stage, { start, subscription }: Kind): Promise<number> {
  const server = await start()
  const { port } = server
  await audience.open({ crowd: CROWD, port, count: WARM_UP, subscription })
  await audience.close(CROWD)
  const before = await held(server, quick)
  await audience.open({ crowd: CROWD, port, count: listening, subscription })
  await pause(quick ? 1_000 : SETTLE_MS)
  const after = await held(server, quick)
  await audience.verify(CROWD, 0)
  await audience.close(CROWD)
  await server.stop()
  return (after - before) / listening
}

/** The memory of a server after a garbage collection. */
async function held({ pid }: Server, quick: boolean): Promise<number> {
  for (let collection = 0; collection < COLLECTIONS; collection += 1) {
    process.kill(pid, 'SIGUSR2')
    await pause(quick ? COLLECT_MS / 5 : COLLECT_MS)
  }
  return memoryOf(pid)
}
