import { cpus } from 'node:os'
import { measureCrowd } from './live/crowd.ts'
import { measureDelivery } from './live/delivery.ts'
import { measureIdle } from './live/idle.ts'
import { measureMemory } from './live/memory.ts'
import { measureOnline } from './live/online.ts'
import { type LiveOptions, type Stage, setStage } from './live/stage.ts'
import { clearNote, print } from './report.ts'

// The cost of listeners and the delay of their events: the service, a bare loop over sockets, and stock servers, side
// by side in one run. README.md explains each row.

const IDLE = 'xp beside idle player subscriptions'
const DELIVERY = 'a delivery'
const STOCK = 'a delivery, stock servers'
const CROWD = 'one event to 5,000'
const MEMORY = 'memory of an idle subscriber'
const ONLINE = 'players online'

/** Measures the rows of `names` that are chosen. */
type Measure = readonly [
  names: readonly string[],
  measure: (stage: Stage, chosen: ReadonlySet<string>) => Promise<void>,
]

const MEASURES: readonly Measure[] = [
  [[IDLE], measureIdle],
  [
    [DELIVERY, STOCK],
    (stage, chosen) => measureDelivery(stage, { floor: chosen.has(DELIVERY), stock: chosen.has(STOCK) }),
  ],
  [[CROWD], measureCrowd],
  [[MEMORY], measureMemory],
  [[ONLINE], measureOnline],
]

export async function runLive(options: LiveOptions): Promise<void> {
  const chosen = chosenOf(options.only)
  const stage = await setStage(options)
  const { rows } = await stage.world.pool.query('SHOW server_version')
  clearNote()
  print(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, Postgres ${rows[0].server_version}, fsync and synchronous_commit on.`,
  )
  print(`On loopback; ${stage.rounds} interleaved ${stage.rounds === 1 ? 'round' : 'rounds'}.`)
  print('Callers, listeners, servers and database share these cores.')
  const failed: string[] = []
  for (const [names, measure] of MEASURES) {
    const asked = names.filter((name) => chosen.has(name))
    if (asked.length > 0 && !(await succeeds(stage, () => measure(stage, chosen)))) failed.push(...asked)
  }
  if (failed.length > 0) throw new Error(`failed: ${failed.join('; ')}`)
}

/** Whether the row succeeded. A failed row does not stop the others. */
async function succeeds({ audience, signal }: Stage, measure: () => Promise<void>): Promise<boolean> {
  try {
    await measure()
    return true
  } catch (error) {
    if (signal.aborted) throw error
    clearNote()
    print(`\n${error instanceof Error ? error.message : error}`)
    await audience.closeAll()
    return false
  }
}

/** The chosen rows: by their whole name, else by a part of it. */
function chosenOf(only: readonly string[]): ReadonlySet<string> {
  const all = MEASURES.flatMap(([names]) => names)
  const isAsked = (name: string) =>
    only.length === 0 || only.some((text) => (all.includes(text) ? name === text : name.includes(text)))
  const chosen = new Set(all.filter(isAsked))
  if (chosen.size === 0) throw new Error(`there is no row with that name; there are:\n  ${all.join('\n  ')}`)
  return chosen
}
