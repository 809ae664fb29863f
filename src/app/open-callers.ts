import type { Config } from '../base/config.ts'
import { ConnectionLimits } from '../base/rate-limits/connection-limits.ts'
import { createRateLimits } from '../base/rate-limits/rate-limits.ts'
import { createAccessWatch } from '../callers/access-watch.ts'
import { createEndedAccess } from '../callers/ended-access.ts'
import { createEndedFeed } from '../callers/ended-feed.ts'
import { createTokens, type TokenKey } from '../callers/tokens.ts'
import { followDatabaseClock } from '../db/ids.ts'
import type { Database } from './open-database.ts'
import type { Reports } from './reports.ts'

/** Who calls: tokens, logins that ended, connected callers, and how much each may call. */
export async function openCallers(
  config: Config,
  { log, metrics, failing }: Reports,
  { pools: { service: pool } }: Database,
  tokenKeys: readonly TokenKey[],
) {
  const ended = createEndedAccess({
    pool,
    onError: failing('ended_logins', 'Postgres does not answer: logins that ended could not be read'),
    onClock: followDatabaseClock,
    onBack: (milliseconds) => log.info(`Postgres answers again, after ${(milliseconds / 1000).toFixed(1)} s`),
  })
  const watch = createAccessWatch({
    pool,
    ended,
    onError: failing('access', 'the status of connected callers could not be read; each second tries again'),
  })
  const connectionLimits = new ConnectionLimits({
    settings: config.connectionLimits,
    onLimited: (limit) => metrics.connectionLimited.inc({ limit }),
  })
  return {
    ended,
    watch,
    connectionLimits,
    feed: createEndedFeed({ pool, ended, watch, limits: connectionLimits }),
    tokens: await createTokens({
      keys: tokenKeys,
      issuer: config.tokenIssuer,
      audience: config.tokenAudience,
      endedLogins: ended.logins,
    }),
    rateLimits: await createRateLimits({
      settings: config.rateLimits,
      redisUrl: config.redisUrl,
      onLimited: (limit) => metrics.rateLimited.inc({ limit }),
      onError: failing('rate_limits', 'Redis cannot count logins: this instance counts its own meanwhile'),
    }),
  }
}
