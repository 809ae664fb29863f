import type { Pool } from 'pg'
import { purgeEndedAccess } from '../auth/ended-access.ts'
import { tables } from '../commit/table.ts'
import type { Config } from '../config.ts'
import { purgeOldEvents } from '../events/retention.ts'
import { purgeCalls } from '../insight/calls.ts'
import { rollUpHours } from '../insight/fold.ts'
import { purgeExpiredSecrets } from '../providers/rotate-secret.ts'
import type { Logger } from './log.ts'

export interface HousekeepingOptions {
  readonly pool: Pool
  readonly config: Config
  readonly log: Logger
  readonly onRemoved: (what: string, rows: number) => void
  readonly onError: (error: unknown, message: string) => void
}

const PURGE_EVERY_MS = 10 * 60_000

/** Removes old rows every ten minutes. */
export function createHousekeeping({ pool, config, log, onRemoved, onError }: HousekeepingOptions) {
  /** Jobs that remove a bounded number of old rows and return it. Old hours of figures are first added to their days. */
  const purges: Record<string, (from: Pool) => Promise<number>> = {
    'expired secrets of providers': purgeExpiredSecrets,
    'players whose access ended': purgeEndedAccess,
    'hours of old figures': rollUpHours,
    'minutes of old calls': purgeCalls,
    'events past retention': (from) => purgeOldEvents(from, config.eventRetentionDays),
  }
  for (const table of tables) if (table.expires) purges[`expired rows of ${table.name}`] = (from) => table.purge(from)

  async function purge(): Promise<void> {
    for (const [what, removeSome] of Object.entries(purges)) {
      try {
        for (let rows = await removeSome(pool); rows > 0; rows = await removeSome(pool)) {
          onRemoved(what, rows)
          log.debug(`${what} were removed`)
        }
      } catch (error) {
        onError(error, `${what} could not be removed; the next round tries again`)
      }
    }
  }

  let timer: NodeJS.Timeout | undefined
  return {
    start(): void {
      timer = setInterval(purge, PURGE_EVERY_MS).unref()
    },
    stop(): void {
      clearInterval(timer)
    },
  }
}
