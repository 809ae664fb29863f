import type { ClientBase } from 'pg'

/** A number that nothing else locks. Its holder alone may write `season_phases`. */
export const SEASONS_LOCK = 7_274_410_004

/** Takes the lock for a transaction. Take it before the lock on a scenario: its holder changes other scenarios, too. */
export const lockSeasons = (client: Pick<ClientBase, 'query'>) =>
  client.query('SELECT pg_advisory_xact_lock($1)', [SEASONS_LOCK])
