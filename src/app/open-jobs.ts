import type { Config } from '../base/config.ts'
import { createSettlements } from '../game/seasons/settle-seasons.ts'
import { hasArrived } from '../operations/alerts/send-message.ts'
import { createAlerts } from '../operations/alerts/watch-problems.ts'
import { createFolding } from '../operations/figures/fold.ts'
import { createGrantJobs } from '../operations/grants/run-jobs.ts'
import { createSeasonJob } from '../operations/publishing/season-job.ts'
import { createHousekeeping } from './housekeeping.ts'
import type { Database } from './open-database.ts'
import { createPartitions } from './partitions.ts'
import type { Reports } from './reports.ts'
import type { Service } from './service.ts'

/** What the service does by itself, beside calls. */
export function openJobs(config: Config, reports: Reports, { pools }: Database, service: Service) {
  const { log, metrics, failed, failing } = reports
  const { service: pool } = pools
  const { run } = service
  const partitions = createPartitions({ pool, config, log, onError: failed('partitions') })
  return {
    partitions,
    seasonJob: createSeasonJob({
      pool,
      onError: failing('seasons', 'planned publications and phases of seasons wait; each second tries again'),
    }),
    settlements: createSettlements({
      pool,
      run,
      onError: failing(
        'settlements',
        'players could not be granted what they had earned in a season; a later look continues',
      ),
      onDone: (season) => log.info(season, 'the season is settled: earned tiers that were not claimed are granted'),
    }),
    grantJobs: createGrantJobs({
      pool,
      run,
      onError: failing('grant_jobs', 'a grant job could not go on; each second tries again'),
    }),
    alerts: createAlerts({
      pool: pools.operators,
      secrets: service.secrets,
      send: service.sendAlert,
      onSent: (attempt) => metrics.alertMessages.inc({ result: hasArrived(attempt) ? 'arrived' : 'failed' }),
      onError: failing('alerts', 'alert webhooks could not be looked at; a later look tries again'),
    }),
    folding: createFolding({ pool, onError: failed('figures') }),
    housekeeping: createHousekeeping({
      pool,
      run,
      config,
      partitions,
      log,
      onRemoved: (rows, count) => metrics.purgedRows.inc({ rows }, count),
      onError: failed('purge'),
    }),
  }
}
