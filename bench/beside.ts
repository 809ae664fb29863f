import { addXp } from '../src/game/battlepass/add-xp.ts'
import type { Instance } from '../test/harness/game.ts'
import { median, print } from './report.ts'

// Players who play on while a job works, for benchmarks of jobs.

/** How many they are, unless there are fewer. */
export const ACTIVE = 5_000
const WINDOW_MS = 5_000
/** Windows before the job. */
const ALONE = 4
const PLACE = { scenarioId: 'live', nodeId: 'pass' }

export const sqlOfId = (kind: 1 | 2, n: string): string =>
  `('01900000-0000-700${kind}-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
const idOf = (kind: 1 | 2, n: number): string => `01900000-0000-700${kind}-8000-${n.toString(16).padStart(12, '0')}`

export interface Window {
  /** Calls a second. */
  readonly rate: number
  readonly p50: number
  readonly p99: number
}

export interface Playing {
  readonly instance: Instance
  readonly environmentId: string
  /** The players are the first ones of so many. */
  readonly players: number
  /** Calls of xp that are under way at once. */
  readonly calls: number
}

/** Players who play on for some seconds, each call by another player. */
export async function play({ instance: { app }, environmentId, players, calls }: Playing): Promise<Window> {
  const times: number[] = []
  const end = performance.now() + WINDOW_MS
  let n = 0
  await Promise.all(
    Array.from({ length: calls }, async () => {
      while (performance.now() < end) {
        n += 1
        const player = 1 + (n % Math.min(ACTIVE, players))
        const began = performance.now()
        await app.service.run(
          addXp(
            { environmentId, playerId: idOf(1, player) },
            { ...PLACE, runId: idOf(2, player), amount: 1n, source: 'match', idempotencyKey: null },
          ),
        )
        times.push(performance.now() - began)
      }
    }),
  )
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(share * times.length)] ?? 0
  return { rate: (times.length * 1_000) / WINDOW_MS, p50: at(0.5), p99: at(0.99) }
}

/** Windows before the job. Young code and an empty memory are slow, so the first one does not count. */
export async function playAlone(playing: Playing): Promise<readonly Window[]> {
  await play(playing)
  const alone: Window[] = []
  for (let window = 0; window < ALONE; window += 1) alone.push(await play(playing))
  return alone
}

/** Prints the windows before a job and beside it, and how they compare. */
export function compare(
  before: readonly [name: string, windows: readonly Window[]],
  meanwhile: readonly [name: string, windows: readonly Window[]],
): void {
  const [alone, beside] = [show(...before), show(...meanwhile)]
  print(
    `  calls a second ${(beside.rate / alone.rate).toFixed(2)} (goal 0.8), p99 ${(beside.p99 / alone.p99).toFixed(2)} (goal 2) of those before`,
  )
}

function show(name: string, windows: readonly Window[]): Window {
  const of = (read: (one: Window) => number): number => median(windows.map(read))
  const found = { rate: of(({ rate }) => rate), p50: of(({ p50 }) => p50), p99: of(({ p99 }) => p99) }
  print(
    `  ${name.padEnd(28)}${Math.round(found.rate).toLocaleString('en').padStart(8)} calls/s, p50 ${found.p50.toFixed(1)} ms, p99 ${found.p99.toFixed(1)} ms`,
  )
  return found
}
