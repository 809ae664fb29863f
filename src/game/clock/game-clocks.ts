import type { Pool } from 'pg'
import { repeatInBackground } from '../../base/background.ts'
import { type GameClock, gameTimeAt } from '../../base/game-clock.ts'
import { databaseNow } from '../../db/ids.ts'
import { CLOCK_COLUMNS, type ClockColumns, clockOf } from './game-clock.ts'

/** How often an instance reads the clocks. */
const READ_EVERY_MS = 1_000

const READ = {
  name: 'environment-clocks',
  text: `SELECT id, ${CLOCK_COLUMNS} FROM environments WHERE clock_rate IS NOT NULL`,
}

export interface GameClocksOptions {
  readonly pool: Pool
  /** Called when the clocks could not be read. The next second tries again. */
  readonly onError: (error: unknown) => void
}

/**
 * The clocks of environments for tests, for what answers say besides: within some two seconds of a change on another
 * instance. Decisions do not use it; they read the clock beside the scenario and prove it.
 */
export interface GameClocks {
  /** Whether every environment has the real time, as in most deployments. */
  readonly isEmpty: boolean
  /** The game's time of an environment now, in RFC 3339. Undefined where it is the real one. */
  textOf(environmentId: string): string | undefined
  refresh(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export function createGameClocks({ pool, onError }: GameClocksOptions): GameClocks {
  let clocks: ReadonlyMap<string, GameClock | null> = new Map()

  async function refresh(): Promise<void> {
    const { rows } = await pool.query<ClockColumns & { readonly id: string }>(READ)
    clocks = new Map(rows.map((row) => [row.id, clockOf(row)]))
  }

  const reading = repeatInBackground({ work: refresh, onError, everyMs: READ_EVERY_MS })

  return {
    get isEmpty() {
      return clocks.size === 0
    },
    textOf(environmentId) {
      const clock = clocks.get(environmentId)
      return clock ? new Date(gameTimeAt(clock, databaseNow())).toISOString() : undefined
    },
    refresh,
    async start() {
      await refresh().catch(onError)
      reading.start()
    },
    stop: () => reading.stop(),
  }
}
