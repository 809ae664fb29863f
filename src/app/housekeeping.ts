import type { Pool } from 'pg'
import { deletePlanned } from '../accounts/login/delete-own-player.ts'
import { purgeFormerIdentities } from '../accounts/login/identities.ts'
import { purgeFirstLogins } from '../accounts/login/log/login-log.ts'
import { purgeExpiredSecrets } from '../accounts/providers/rotate-secret.ts'
import { type Background, pause, repeatInBackground } from '../base/background.ts'
import type { Config } from '../base/config.ts'
import type { Logger } from '../base/log.ts'
import { purgeEndedAccess } from '../callers/ended-access.ts'
import { purgeFirstEvents } from '../events/retention.ts'
import { purgeCalls } from '../operations/figures/calls.ts'
import { rollUpHours } from '../operations/figures/fold.ts'
import { purgeLists } from '../operations/grants/player-lists.ts'
import { purgeJobPlayers } from '../operations/grants/run-jobs.ts'
import type { GroupCommit } from '../transactions/group-commit.ts'
import { tables } from '../transactions/table.ts'
import type { Partitions } from './partitions.ts'

export interface HousekeepingOptions {
  readonly pool: Pool
  readonly run: GroupCommit['run']
  readonly config: Pick<Config, 'eventRetentionDays'>
  readonly partitions: Pick<Partitions, 'tend'>
  readonly log: Logger
  readonly onRemoved: (what: string, rows: number) => void
  readonly onError: (error: unknown, message: string) => void
  /** The pause between two rounds, in milliseconds. Default: ten minutes. */
  readonly everyMs?: number
  /** The pause between the first look at partitions and the first removal, in milliseconds. Default: a minute. */
  readonly firstMs?: number
}

const PURGE_EVERY_MS = 10 * 60_000

/** A start has other work. An instance that is started again every few minutes removes old rows nevertheless. */
const FIRST_PURGE_MS = 60_000

/**
 * Tends partitions at once and every ten minutes, and then removes old rows of other tables, the first time a minute
 * later. A round that takes longer delays the next one.
 */
export function createHousekeeping({
  pool,
  run,
  config,
  partitions,
  log,
  onRemoved,
  onError,
  everyMs = PURGE_EVERY_MS,
  firstMs = FIRST_PURGE_MS,
}: HousekeepingOptions): Background {
  /** Jobs that remove a bounded number of old rows, or of players, and return it. Old hours of figures are first added to their days. */
  const purges: Record<string, (from: Pool, signal: AbortSignal) => Promise<number>> = {
    'expired secrets of providers': purgeExpiredSecrets,
    'players whose access ended': purgeEndedAccess,
    'hours of old figures': rollUpHours,
    'minutes of old calls': purgeCalls,
    'events past retention': (from, signal) => purgeFirstEvents(from, config.eventRetentionDays, signal),
    'old logins of the log': purgeFirstLogins,
    'identities that were freed long ago': purgeFormerIdentities,
    'lists of players that have expired': purgeLists,
    'players of old grant jobs': purgeJobPlayers,
    'players who asked for their deletion': (from, signal) => deletePlanned(from, run, signal),
  }
  for (const table of tables) if (table.expires) purges[`expired rows of ${table.name}`] = (from) => table.purge(from)

  async function purge(signal: AbortSignal): Promise<void> {
    for (const [what, removeSome] of Object.entries(purges)) {
      try {
        for (let rows = 1; rows > 0 && !signal.aborted; ) {
          rows = await removeSome(pool, signal)
          if (rows === 0) continue
          onRemoved(what, rows)
          log.debug(`${what} were removed`)
        }
      } catch (error) {
        onError(error, `${what} could not be removed; the next round tries again`)
      }
    }
  }

  let isFirst = true
  return repeatInBackground({
    async work(signal) {
      await partitions.tend(signal)
      if (isFirst && !(await pause(firstMs, signal))) return
      isFirst = false
      await purge(signal)
    },
    onError: (error) => onError(error, 'old rows could not be removed; the next round tries again'),
    everyMs,
    isAtOnce: true,
  })
}
