import type { Pool } from 'pg'
import { type Background, repeatInBackground } from '../../base/background.ts'
import { inTransaction } from '../../db/transaction.ts'
import { gameNow, LATEST_NOW } from '../../game/clock/game-clock.ts'
import { SEASONS_LOCK } from '../../game/clock/lock-seasons.ts'
import { PHASES } from '../../game/definition/season.ts'
import { publishDue } from './scheduled.ts'

/** How often an instance looks for phases that have begun. */
const LOOK_EVERY_MS = 1_000
/** Phases that are published in one transaction. */
const MOST = 100

/** Phases that have begun by the clock of their environment, and were not published. */
const DUE = `season_phases p JOIN environments e ON e.id = p.environment_id
  WHERE p.told_at IS NULL AND p.starts_at <= ${LATEST_NOW} AND p.starts_at <= ${gameNow('e')}`
const LOOK = {
  name: 'seasons-look',
  text: `SELECT EXISTS (SELECT FROM ${DUE}) AS due`,
}
const LOCK = 'SELECT pg_try_advisory_xact_lock($1) AS held'
/** Events are numbered in the order of their ids, which is that of the rows here. */
const PUBLISH = `WITH due AS (
    SELECT p.environment_id, p.scenario_id, p.node_id, p.phase FROM ${DUE}
    ORDER BY p.starts_at, array_position($1::text[], p.phase) LIMIT ${MOST}
  ), published AS (
    UPDATE season_phases p SET told_at = clock_timestamp() FROM due d
    WHERE p.environment_id = d.environment_id AND p.scenario_id = d.scenario_id AND p.node_id = d.node_id AND p.phase = d.phase
    RETURNING p.*
  )
  INSERT INTO unnumbered_events (environment_id, type, scenario_id, node_id, data)
  SELECT environment_id, 'season.' || CASE phase WHEN 'running' THEN 'started' ELSE phase END, scenario_id, node_id,
    json_build_object('at', to_char(starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
  FROM published ORDER BY starts_at, array_position($1::text[], phase)`

export interface SeasonJobOptions {
  readonly pool: Pool
  /** Called when something could not be published. The next look tries again. */
  readonly onError: (error: unknown) => void
}

/**
 * Publishes what is planned for now, and the phases of seasons as events, each once, by the clock of their
 * environment. Every instance looks; the event and the mark that it was published are one transaction, which only one
 * instance makes at a time.
 */
export const createSeasonJob = ({ pool, onError }: SeasonJobOptions): Background =>
  repeatInBackground({
    async work(signal) {
      // A publication that cannot be made holds up no phase.
      await publishDue(pool).catch((error) => {
        if (!signal.aborted) onError(error)
      })
      await publishPhases(pool)
    },
    onError,
    everyMs: LOOK_EVERY_MS,
    isAtOnce: true,
  })

/**
 * Publishes the phases that have begun and were not published. Does nothing while another instance does so, or a season
 * is published.
 */
export async function publishPhases(pool: Pool): Promise<void> {
  for (let isLeft = (await pool.query<{ due: boolean }>(LOOK)).rows[0]?.due ?? false; isLeft; )
    isLeft = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ held: boolean }>(LOCK, [SEASONS_LOCK])
      if (!rows[0]?.held) return false
      const { rowCount: published } = await client.query(PUBLISH, [PHASES])
      return published === MOST
    })
}
