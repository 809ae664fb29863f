import type { ClientBase } from 'pg'
import { type GameClock, LAST_GAME_TIME } from '../../base/game-clock.ts'

// The clock of an environment for tests in the database, by the rule of `base/game-clock.ts`.

/** The game's time now, in SQL. `environment` is a row of `environments`. */
export const gameNow = (environment: string): string =>
  `CASE WHEN ${environment}.clock_rate IS NULL THEN clock_timestamp() ELSE least(
    ${environment}.clock_at + make_interval(
      secs => (extract(epoch FROM clock_timestamp() - ${environment}.clock_set_at) * ${environment}.clock_rate)::float8
    ), to_timestamp(${LAST_GAME_TIME / 1000})
  ) END`

/**
 * The latest game's time of all environments, in SQL. Nothing with a later time is due in any of them, so that a search
 * for what is due reads the beginning of an index by time.
 */
export const LATEST_NOW = `(SELECT greatest(clock_timestamp(), max(${gameNow('c')})) FROM environments c WHERE c.clock_rate IS NOT NULL)`

/** The columns of an environment's clock. All are null for the real clock. */
export interface ClockColumns {
  readonly clockAt: Date | null
  readonly clockSetAt: Date | null
  readonly clockRate: number | null
}

export const CLOCK_COLUMNS = 'clock_at AS "clockAt", clock_set_at AS "clockSetAt", clock_rate AS "clockRate"'
/** The same for Prisma. */
export const CLOCK_FIELDS = { clockAt: true, clockSetAt: true, clockRate: true } as const

export const clockOf = ({ clockAt, clockSetAt, clockRate }: ClockColumns): GameClock | null =>
  clockAt === null || clockSetAt === null || clockRate === null
    ? null
    : { at: clockAt.getTime(), setAt: clockSetAt.getTime(), rate: clockRate }

/** Reads the game's time of an environment, by the clock of the database. */
export async function readGameNow(client: Pick<ClientBase, 'query'>, environmentId: string): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>(
    `SELECT (${gameNow('e')})::timestamptz(3) AS now FROM environments e WHERE e.id = $1`,
    [environmentId],
  )
  if (!rows[0]) throw new Error(`there is no environment ${environmentId}`)
  return rows[0].now
}

const WRITE = `UPDATE scenarios t SET version = t.version, clock = w.clock
  FROM (
    SELECT CASE WHEN e.clock_rate IS NOT NULL THEN json_build_object(
        'at', (extract(epoch FROM e.clock_at) * 1000)::bigint,
        'setAt', (extract(epoch FROM e.clock_set_at) * 1000)::bigint,
        'rate', e.clock_rate
      )::text END AS clock
    FROM environments e WHERE e.id = $1
  ) w
  WHERE t.environment_id = $1 AND ($2::text IS NULL OR t.id = $2) AND t.clock IS DISTINCT FROM w.clock`

/**
 * Writes the clock of an environment to its scenarios: to one, or to all. The revision changes with it, so that calls that
 * have read the scenario before are decided again. The transaction holds the lock of `lockSeasons`, since it changes
 * several scenarios.
 */
export async function writeClock(
  client: Pick<ClientBase, 'query'>,
  environmentId: string,
  scenarioId: string | null = null,
): Promise<void> {
  await client.query(WRITE, [environmentId, scenarioId])
}
