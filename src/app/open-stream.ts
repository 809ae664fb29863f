import type { Config } from '../base/config.ts'
import { databaseNow } from '../db/ids.ts'
import { type Bus, createLocalBus } from '../events/bus.ts'
import { createNumbering } from '../events/numbering.ts'
import { createSubscriptions } from '../events/subscriptions.ts'
import type { Database } from './open-database.ts'
import type { Reports } from './reports.ts'

/** The live stream: the signal between instances, the positions of events, and who listens to them. */
export async function openStream(config: Config, reports: Reports, { pools: { service: pool, numbers } }: Database) {
  const { log, metrics, failing } = reports
  const bus = await openBus(config, reports)
  const numbering = createNumbering({
    pool,
    ownPool: numbers,
    bus,
    onError: failing('numbering', 'events could not be numbered; each second tries again'),
  })
  const subscriptions = createSubscriptions({
    pool,
    bus,
    settle: numbering.settle,
    onError: failing('stream', 'the stream could not be read; each second tries again'),
    onDelivery: ({ occurredAt }) =>
      metrics.eventDelay.observe(Math.max(0, databaseNow() - occurredAt.getTime()) / 1000),
    onExpired: (environmentId) =>
      log.warn({ environmentId }, 'the database has lost events that were delivered: subscriptions ended as expired'),
  })
  return { bus, numbering, subscriptions }
}

async function openBus({ redisUrl }: Config, { log, failing }: Reports): Promise<Bus> {
  if (redisUrl === null) return createLocalBus()
  // Loading the client of Redis takes a tenth of the start, so it is loaded only when Redis is configured.
  const { createRedisBus } = await import('../events/redis-bus.ts')
  return createRedisBus({
    url: redisUrl,
    onError: failing('redis', 'Redis cannot be used'),
    onChange: (isConnected) =>
      isConnected
        ? log.info('Redis carries the live signal between instances')
        : log.warn('Redis is unreachable or refuses: events of other instances arrive a second later, from Postgres'),
  })
}
