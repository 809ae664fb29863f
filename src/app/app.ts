import type { Pool } from 'pg'
import type { Config } from '../base/config.ts'
import type { Logger } from '../base/log.ts'
import type { Metrics } from '../base/metrics.ts'
import type { SecretsKey } from '../base/secrets.ts'
import type { TokenKey, Tokens } from '../callers/tokens.ts'
import { readDatabaseClock } from '../db/ids.ts'
import type { Subscriptions } from '../events/subscriptions.ts'
import { schema } from '../schema.ts'
import { readPersistedOperations } from '../serve/graphql/persisted-operations.ts'
import { createGraphql } from '../serve/graphql/yoga.ts'
import { consoleOperations } from '../serve/http/console.ts'
import { createHealth } from '../serve/http/health.ts'
import type { PlayableDemo } from '../serve/http/play.ts'
import { addGauges } from './gauges.ts'
import { openCallers } from './open-callers.ts'
import { openDatabase } from './open-database.ts'
import { openEngines } from './open-engines.ts'
import { openJobs } from './open-jobs.ts'
import { openOutgoing } from './open-outgoing.ts'
import { openServers } from './open-servers.ts'
import { openService } from './open-service.ts'
import { openStream } from './open-stream.ts'
import { createReadiness } from './readiness.ts'
import { createReports } from './reports.ts'
import type { Service } from './service.ts'
import { warmUp } from './warm-up.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  readonly databaseUrl: string
  readonly tokenKeys: readonly TokenKey[]
  readonly secretsKeys: readonly SecretsKey[]
  /** Set where there is a demo: its season can be played at `/play`. */
  readonly readDemo?: () => Promise<PlayableDemo | undefined>
}

export interface App {
  readonly service: Service
  readonly pool: Pool
  readonly groupPool: Pool
  readonly tokens: Tokens
  readonly subscriptions: Subscriptions
  readonly metrics: Metrics
  /** Why calls may get lost on this Postgres; undefined when they cannot. Rejects when it cannot be asked. */
  whyNotDurable(): Promise<string | undefined>
  /** Resolves with the port once requests are served. `freePort` is awaited right before the port is taken. */
  listen(freePort?: () => Promise<void>): Promise<number>
  /**
   * Stops in order: not ready for the configured grace period, then new calls are refused, running calls are answered,
   * sockets are closed, connections are released.
   */
  stop(): Promise<void>
}

/**
 * Builds the service. It serves nothing until `listen`. Throws a `ConfigError` for faulty files that the configuration
 * names.
 */
export async function createApp(options: AppOptions): Promise<App> {
  let isStopping = false
  const parts = await openParts(options, () => isStopping)
  const { database, service, callers, stream, reports, readiness } = parts
  return {
    service,
    pool: database.pools.service,
    groupPool: database.pools.game,
    tokens: callers.tokens,
    subscriptions: stream.subscriptions,
    metrics: reports.metrics,
    whyNotDurable: readiness.whyNotDurable,
    listen: (freePort) => listen(options.config, parts, { freePort, isStopping: () => isStopping }),
    stop() {
      isStopping = true
      return stop(options.config, parts)
    },
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>

async function openParts(options: AppOptions, isStopping: () => boolean) {
  const { config, log, databaseUrl, tokenKeys, secretsKeys, readDemo } = options
  const persisted = await readOperations(config)
  const reports = createReports(log)
  const { metrics } = reports
  const database = openDatabase(config, reports, databaseUrl)
  const { pools, prisma, replica } = database
  const readiness = await createReadiness(config, reports, database)
  const stream = await openStream(config, reports, database)
  const engines = openEngines(config, metrics, database, stream.numbering)
  const callers = await openCallers(config, reports, database, tokenKeys)
  const { tokens, watch, connectionLimits, ended } = callers
  const outgoing = openOutgoing(config, reports)
  const opened = openService(config, reports, { database, stream, engines, callers, outgoing, secretsKeys })
  const { service } = opened
  const health = createHealth({
    metrics,
    tokens,
    config,
    whyUnready: () => readiness.whyUnready(isStopping),
    whyReadOnly: readiness.whyReadOnly,
    isDegraded: () => !stream.bus.isConnected(),
  })
  const { subscriptions } = stream
  const graphql = await createGraphql({
    config,
    log,
    metrics,
    service,
    subscriptions,
    watch,
    prisma,
    persisted,
    connectionLimits,
  })
  const servers = openServers(config, reports, { service, prisma, graphql, health, connectionLimits, readDemo })
  const jobs = openJobs(config, reports, database, service)
  addGauges(metrics.registry, {
    pools: replica ? { ...pools, replica: replica.pool } : pools,
    replica,
    engines: engines.engines,
    memory: engines.memory,
    subscriptions,
    numbering: stream.numbering,
    folding: jobs.folding,
    partitions: jobs.partitions,
    webhook: outgoing.webhook,
    isRedisConnected: config.redisUrl === null ? null : stream.bus.isConnected,
    endedLogins: () => ended.logins.size,
    endedFollowers: () => callers.feed.size,
    ready: health.ready,
  })
  return { reports, database, readiness, stream, engines, callers, outgoing, ...opened, graphql, servers, jobs }
}

/** The documents that may run where only those of a file may. */
async function readOperations(config: Config): Promise<Map<string, string>> {
  const persisted = new Map(await readPersistedOperations(config, schema))
  // The console's documents must run, too. Without the restriction they need no list.
  if (config.console && config.persistedOperationsOnly)
    for (const [hash, document] of await consoleOperations()) persisted.set(hash, document)
  return persisted
}

interface Start {
  readonly freePort: (() => Promise<void>) | undefined
  readonly isStopping: () => boolean
}

async function listen(config: Config, parts: Parts, { freePort, isStopping }: Start): Promise<number> {
  const { database, stream, jobs, callers, servers, reports } = parts
  const { server, metricsServer, openUncounted } = servers
  if (config.metricsPort !== null) await metricsServer?.listen(config.metricsPort, config.host)
  // Without an answer, the reads of ended logins set it as soon as there is one.
  await readDatabaseClock(database.pools.service).catch(() => undefined)
  jobs.housekeeping.start()
  jobs.folding.start()
  stream.numbering.start()
  jobs.seasonJob.start()
  jobs.settlements.start()
  jobs.grantJobs.start()
  jobs.alerts.start()
  parts.callCounts.start()
  database.replica?.start()
  await Promise.all([callers.ended.start(), parts.gameClocks.start()])
  const open = (run: Service['run']) => openUncounted(parts.uncounted(run))
  if (config.warmUp)
    await warmUp({ pool: database.pools.game, open, tokens: callers.tokens, isOver: isStopping }).catch((error) => {
      if (!isStopping()) reports.log.warn({ err: error }, 'the first calls will be slow: the warm-up failed')
    })
  await freePort?.()
  return server.listen(config.port, config.host)
}

/** Each part stops after those that use it. */
async function stop(config: Config, parts: Parts): Promise<void> {
  const { database, stream, engines, callers, outgoing, jobs, graphql, servers } = parts
  const { server, metricsServer, wayIn } = servers
  await server.drain(config.shutdownGraceMs)
  const repeated = [jobs.housekeeping, jobs.settlements, jobs.grantJobs, jobs.alerts, parts.gameClocks]
  const isTidy = Promise.all(repeated.map((one) => one.stop()))
  const closed = Promise.all([server.close(), metricsServer?.close()])
  callers.ended.close()
  callers.feed.close()
  await Promise.all([graphql.stop(), wayIn.stop()])
  await closed
  await Promise.all(Object.values(engines.engines).map((engine) => engine.close()))
  await jobs.seasonJob.stop()
  await stream.numbering.stop()
  await outgoing.webhook.close()
  await outgoing.documents.close()
  await isTidy
  await outgoing.issuerClient.close()
  await outgoing.alertSender.close()
  await jobs.folding.stop()
  await parts.callCounts.stop()
  await stream.subscriptions.close()
  await stream.bus.close()
  await callers.rateLimits.close()
  await database.close()
}
