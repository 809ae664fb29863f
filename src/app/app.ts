import type { Pool } from 'pg'
import { createAlertSender, hasArrived } from '../alerts/send-message.ts'
import { createAlerts } from '../alerts/watch-problems.ts'
import { createAuditDenied } from '../audit/denied.ts'
import type { Config } from '../base/config.ts'
import { descriptorLimit } from '../base/descriptors.ts'
import { createPlaces } from '../base/fair-queue.ts'
import { type Logger, rateLimited } from '../base/log.ts'
import { createMetrics, type Metrics } from '../base/metrics.ts'
import { ConnectionLimits } from '../base/rate-limits/connection-limits.ts'
import { createRateLimits } from '../base/rate-limits/rate-limits.ts'
import { createSecrets, type SecretsKey } from '../base/secrets.ts'
import { countLimited } from '../battlepass/limited-calls.ts'
import { createPreview } from '../battlepass/preview.ts'
import { createReplay } from '../battlepass/replay-season.ts'
import { createSettlements } from '../battlepass/settle-seasons.ts'
import { createBoostPreview } from '../boosts/preview-boost.ts'
import { createAccessWatch } from '../callers/access-watch.ts'
import { createEndedAccess } from '../callers/ended-access.ts'
import { createEndedFeed } from '../callers/ended-feed.ts'
import { asServer } from '../callers/server-command.ts'
import { createTokens, type TokenKey, type Tokens } from '../callers/tokens.ts'
import { incompatibilityOf } from '../db/compatibility.ts'
import { databaseNow, followDatabaseClock, readDatabaseClock } from '../db/ids.ts'
import { migrationNames, pendingMigrations } from '../db/migrate.ts'
import { createPool, refusesWrites, unsafeSettings } from '../db/pool.ts'
import { createPrisma, openPrisma } from '../db/prisma.ts'
import { createReplica, readsOf } from '../db/replica.ts'
import type { Route } from '../declare/route.ts'
import { createLocalBus } from '../events/bus.ts'
import { createNumbering } from '../events/numbering.ts'
import { createSubscriptions, type Subscriptions } from '../events/subscriptions.ts'
import { createCallCounts } from '../figures/calls.ts'
import { createFolding } from '../figures/fold.ts'
import { createGrantJobs } from '../grants/run-jobs.ts'
import { createGuardedJson } from '../id-tokens/guarded-json.ts'
import { createKeySets } from '../id-tokens/key-sets.ts'
import { createStorageAnswers } from '../players/storage-answers.ts'
import { PLATFORM_KEYS } from '../providers/issuers.ts'
import { routes } from '../routes.ts'
import { createGameClocks } from '../scenario/game-clocks.ts'
import { createSeasonClock } from '../scenario/season-clock.ts'
import { schema } from '../schema.ts'
import { readPersistedOperations } from '../serve/graphql/persisted-operations.ts'
import { createGraphql } from '../serve/graphql/yoga.ts'
import { consoleOperations, consoleRoutes } from '../serve/http/console.ts'
import { docsRoutes } from '../serve/http/docs.ts'
import { createHealth } from '../serve/http/health.ts'
import { type PlayableDemo, playRoutes } from '../serve/http/play.ts'
import { type HttpServer, openServer, serveCalls } from '../serve/http/server.ts'
import { signOnRoutes } from '../serve/http/sign-on.ts'
import { createWayIn } from '../serve/http/way-in.ts'
import { createIssuerClient } from '../single-sign-on/issuer-client.ts'
import type { Engine } from '../transactions/command.ts'
import type { Group } from '../transactions/group.ts'
import { createGroupCommit, type GroupCommit } from '../transactions/group-commit.ts'
import { createMemory } from '../transactions/memory.ts'
import { createWebhook } from '../webhook/webhook.ts'
import { addGauges } from './gauges.ts'
import { createHousekeeping } from './housekeeping.ts'
import { createPartitions } from './partitions.ts'
import { createRefusedWrites } from './refused-writes.ts'
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

/** What differs where nothing is counted. */
type Served = Pick<Service, 'run' | 'rateLimits' | 'countCall'>

/** The labels of `tierway_task_failures_total`. */
const TASKS = [
  'redis',
  'stream',
  'numbering',
  'ended_logins',
  'rate_limits',
  'access',
  'figures',
  'calls',
  'seasons',
  'settlements',
  'clocks',
  'grant_jobs',
  'alerts',
  'purge',
  'partitions',
] as const
type Task = (typeof TASKS)[number]

/**
 * Shares of the connections: one for operators and for lists in GraphQL, which can be slow, and one for groups of
 * commands.
 */
const OPERATORS_SHARE = 0.3
const GROUPS_SHARE = 0.3
/** What a process needs besides its connections to clients and Postgres: files, webhooks, Redis, the replica. */
const OWN_DESCRIPTORS = 100
const MIN_CONNECTIONS = 20
/** A game with more players than this at once, on one instance, needs a higher limit: say so at the start. */
const FEW_CONNECTIONS = 10_000
/** Previews and replays that run at once, each on a connection of the operators. */
const PREVIEWS_AT_ONCE = 3

/**
 * Builds the service. It serves nothing until `listen`. Throws a `ConfigError` for faulty files that the configuration
 * names.
 */
export async function createApp({
  config,
  log,
  databaseUrl,
  tokenKeys,
  secretsKeys,
  readDemo,
}: AppOptions): Promise<App> {
  const persisted = new Map(await readPersistedOperations(config, schema))
  // The console's documents must run, too. Without the restriction they need no list.
  if (config.console && config.persistedOperationsOnly)
    for (const [hash, document] of await consoleOperations()) persisted.set(hash, document)
  const metrics = createMetrics()
  const warn = rateLimited(log)
  const failed = (task: Task) => (error: unknown, message: string) => {
    metrics.taskFailures.inc({ task })
    warn(error, message)
  }
  for (const task of TASKS) metrics.taskFailures.inc({ task }, 0)
  const refusedWrites = createRefusedWrites()
  const connect = (connections: number, { isForGroups = false, url = databaseUrl } = {}) =>
    createPool({
      url,
      ca: config.databaseCa,
      connections,
      isForGroups,
      onError: (error) => warn(error, 'a database connection was lost'),
      onWriteRefused: refusedWrites.note,
    })
  const forOperators = Math.floor(config.databaseConnections * OPERATORS_SHARE)
  const forGroups = Math.max(2, Math.floor(config.databaseConnections * GROUPS_SHARE))
  const groupPool = connect(forGroups, { isForGroups: true })
  const numbersPool = connect(1, { isForGroups: true })
  const pool = connect(config.databaseConnections - forOperators - forGroups)
  const operatorPool = connect(forOperators)
  // Readiness waits for no other statement: a slow or locked table must not take every instance out of the balancer.
  const probePool = connect(1)
  const migrations = await migrationNames()
  // Loading the client of Redis takes a tenth of the start, so it is loaded only when Redis is configured.
  const bus =
    config.redisUrl === null
      ? createLocalBus()
      : (await import('../events/redis-bus.ts')).createRedisBus({
          url: config.redisUrl,
          onError: (error) => failed('redis')(error, 'Redis cannot be used'),
          onChange: (isConnected) =>
            isConnected
              ? log.info('Redis carries the live signal between instances')
              : log.warn(
                  'Redis is unreachable or refuses: events of other instances arrive a second later, from Postgres',
                ),
        })
  const numbering = createNumbering({
    pool,
    ownPool: numbersPool,
    bus,
    onError: (error) => failed('numbering')(error, 'events could not be numbered; each second tries again'),
  })
  const subscriptions = createSubscriptions({
    pool,
    bus,
    settle: numbering.settle,
    onError: (error) => failed('stream')(error, 'the stream could not be read; each second tries again'),
    onDelivery: ({ occurredAt }) =>
      metrics.eventDelay.observe(Math.max(0, databaseNow() - occurredAt.getTime()) / 1000),
    onExpired: (environmentId) =>
      log.warn({ environmentId }, 'the database has lost events that were delivered: subscriptions ended as expired'),
  })
  const { prisma, transact } = openPrisma(operatorPool)
  const primary = { pool: operatorPool, prisma }
  const replica = openReplica()
  const countXp = countLimited(({ player: { environmentId }, origin, reason }) =>
    metrics.xpLimited.inc({ environment: environmentId, origin, reason }),
  )
  const committed = (group: Group) => {
    numbering.committed(group)
    countXp(group)
  }
  const memory = createMemory()
  const groups = { pool: groupPool, deadlineMs: config.callDeadlineMs }
  const engines: Readonly<Record<Engine, GroupCommit>> = {
    game: createGroupCommit({ ...groups, memory, connections: 3, observe: metrics.observerOf('write'), committed }),
    reads: createGroupCommit({ ...groups, memory, readOnly: true, observe: metrics.observerOf('read') }),
    // Answers can be long, so few are built at once.
    storage: createGroupCommit({
      ...groups,
      readOnly: true,
      connections: 1,
      maxBatch: 16,
      observe: metrics.observerOf('storage'),
    }),
    // Separate from the game's writes: both lock players, each in its own order.
    logins: createGroupCommit({ ...groups, observe: metrics.observerOf('login'), committed }),
  }
  const ended = createEndedAccess({
    pool,
    onError: (error) => failed('ended_logins')(error, 'Postgres does not answer: logins that ended could not be read'),
    onClock: followDatabaseClock,
    onBack: (milliseconds) => log.info(`Postgres answers again, after ${(milliseconds / 1000).toFixed(1)} s`),
  })
  const tokens = await createTokens({
    keys: tokenKeys,
    issuer: config.tokenIssuer,
    audience: config.tokenAudience,
    endedLogins: ended.logins,
  })
  const webhook = createWebhook({
    allowPrivateAddresses: config.allowPrivateWebhooks,
    observe: ({ status, error, milliseconds }, { projectId }) => {
      metrics.webhookAttempts.inc({ project: projectId, result: error ?? `${Math.floor((status ?? 0) / 100)}xx` })
      metrics.webhookSeconds.observe(milliseconds / 1000)
    },
    onBreaker: (isOpen, { projectId, key }) => {
      const [environment, provider] = key.split('/')
      const about = { project: projectId, environment, provider }
      if (isOpen)
        log.warn(about, 'a login webhook keeps failing: its calls fail at once, but for a probe every five seconds')
      else log.info(about, 'the calls of a login webhook are made again')
    },
  })
  const alertSender = createAlertSender({ allowPrivateAddresses: config.allowPrivateWebhooks })
  const issuerClient = createIssuerClient({ allowPrivateAddresses: config.allowPrivateWebhooks })
  const documents = createGuardedJson({ allowPrivateAddresses: config.allowPrivateWebhooks })
  const secrets = createSecrets(secretsKeys)
  const rateLimits = await createRateLimits({
    settings: config.rateLimits,
    redisUrl: config.redisUrl,
    onLimited: (limit) => metrics.rateLimited.inc({ limit }),
    onError: (error) =>
      failed('rate_limits')(error, 'Redis cannot count logins: this instance counts its own meanwhile'),
  })
  const connectionLimits = new ConnectionLimits({
    settings: config.connectionLimits,
    onLimited: (limit) => metrics.connectionLimited.inc({ limit }),
  })
  const watch = createAccessWatch({
    pool,
    ended,
    onError: (error) =>
      failed('access')(error, 'the status of connected callers could not be read; each second tries again'),
  })
  const gameClocks = createGameClocks({
    pool,
    onError: (error) =>
      failed('clocks')(error, 'the clocks of environments could not be read; each second tries again'),
  })
  const feed = createEndedFeed({ pool, ended, watch, limits: connectionLimits })
  const callCounts = createCallCounts({ pool, onError: failed('calls') })
  const run: Service['run'] = (command, admit) => engines[command.engine ?? 'game'].run(command, admit)
  const previews = createPlaces(PREVIEWS_AT_ONCE)
  const parts: Omit<Service, keyof Served | 'runAs'> = {
    pool,
    operatorPool,
    transact,
    reads: replica ?? readsOf(primary, databaseNow),
    webhook,
    sendAlert: alertSender.send,
    keySets: createKeySets(documents),
    issuerClient,
    platformKeys: {
      google: config.googleKeysUrl ?? PLATFORM_KEYS.google,
      apple: config.appleKeysUrl ?? PLATFORM_KEYS.apple,
    },
    secrets,
    tokens,
    followEnded: feed.follow,
    warn: (message, detail) => warn(detail, message),
    countLogin: (operation, result) => metrics.logins.inc({ operation, result }),
    gameClocks,
    settleEvents: numbering.settle,
    auditDenied: createAuditDenied(operatorPool, (action) => metrics.denied.inc({ action })),
    beginStorageAnswer: createStorageAnswers(run),
    previewScenario: createPreview(previews),
    previewBoost: createBoostPreview(previews),
    replaySeason: createReplay(previews),
  }
  /** V8 has one form of object for both services: what it compiles for the calls of the warm-up is for all. */
  const serviceWith = ({ run, rateLimits, countCall }: Served): Service => ({
    ...parts,
    run,
    runAs: (caller, command) =>
      caller.kind === 'server' ? run(asServer(caller, command)) : run(command, () => tokens.requireValid(caller)),
    rateLimits,
    countCall,
  })
  const service = serviceWith({ run, rateLimits, countCall: callCounts.count })

  let stopping = false

  /** The replica, with connections of its own. Null without one. */
  function openReplica() {
    const { databaseReplicaUrl: url, replicaMaxAge } = config
    if (url === null) return null
    const readPool = connect(forOperators, { url })
    const checkPool = connect(1, { url })
    const source = { pool: readPool, prisma: createPrisma(readPool) }
    const replica = createReplica({
      primary,
      replica: source,
      primaryPool: pool,
      checkPool,
      maxAgeMs: replicaMaxAge * 1000,
      now: databaseNow,
      onRead: (place, reason) => metrics.replicaReads.inc({ place, reason }),
      onChange: (fault) =>
        fault === null
          ? log.info(`a read replica serves lists, figures, exports and previews, up to ${replicaMaxAge} s old`)
          : log.warn(`the read replica is not used, and the primary serves its reads: ${fault}`),
      onError: (error) => warn(error, 'a read failed on the replica, and ran on the primary'),
    })
    return {
      ...replica,
      pools: { replica: readPool },
      async close() {
        await replica.stop()
        await source.prisma.$disconnect()
        await readPool.end()
        await checkPool.end()
      },
    }
  }

  let durability: Promise<string | undefined> | undefined

  /** Why calls may get lost on this Postgres. A server is asked until it has answered once. */
  function whyNotDurable(): Promise<string | undefined> {
    durability ??= readDurability().catch((error) => {
      durability = undefined
      throw error
    })
    return durability
  }

  async function readDurability(): Promise<string | undefined> {
    const faults = (await unsafeSettings(probePool)).map((name) => {
      const fault = `Postgres runs with ${name}=off: a crash of its machine can lose acknowledged calls`
      // Some file systems, such as ZFS, write whole pages, and make full_page_writes=off safe.
      if (config.requireFsync && name === 'fsync') return `${fault}. Turn fsync on, or set REQUIRE_FSYNC=false`
      log.warn(fault)
      return undefined
    })
    return faults.find((fault) => fault !== undefined)
  }

  /** A later version may migrate the database while this one runs. */
  async function whyUnready(): Promise<string | undefined> {
    const [pending, incompatibility, fault] = await Promise.all([
      pendingMigrations(probePool, migrations),
      incompatibilityOf(probePool),
      whyNotDurable(),
    ])
    if (incompatibility !== undefined) warn(incompatibility, 'not ready: a later version has changed the database')
    // A stop may have begun while the database was read.
    if (stopping) return 'this instance is stopping'
    if (pending.length > 0) return 'migrations are pending: run `npx tierway migrate`'
    return incompatibility ?? fault
  }

  const health = createHealth({
    metrics,
    tokens,
    config,
    whyUnready,
    whyReadOnly: async () => ((await refusesWrites(probePool)) ? 'Postgres is read-only' : refusedWrites.reason()),
    isDegraded: () => !bus.isConnected(),
  })
  const createWay = (routes: readonly Route[], { served = service, answersOf = metrics.answersOf } = {}) =>
    createWayIn({
      routes,
      context: {
        service: served,
        prisma,
        isPersistedOnly: config.persistedOperationsOnly,
        onUnread: (error, call) => warn(error, `the answer to ${call} lacks a part`),
        maxBodyBytes: config.maxBodyBytes,
        trustedProxies: config.trustedProxies,
      },
      log,
      answersOf,
      allowedOrigins: config.allowedOrigins,
    })
  const pages = [
    ...(config.docs ? docsRoutes(log) : []),
    ...(config.console ? [...consoleRoutes(log), ...signOnRoutes] : []),
    ...(readDemo && !config.production ? playRoutes(readDemo, log) : []),
  ]
  const wayIn = createWay([...routes, ...health.routes, ...pages])
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

  const descriptors = descriptorLimit()
  const maxConnections =
    descriptors === null ? null : Math.max(MIN_CONNECTIONS, descriptors - OWN_DESCRIPTORS - config.databaseConnections)
  if (maxConnections !== null && maxConnections < FEW_CONNECTIONS)
    log.warn(
      `this process may have ${descriptors} files open, and so serves at most ${maxConnections} connections at once: raise the limit (ulimit -n, LimitNOFILE=)`,
    )
  const server = openServer({
    wayIn,
    ...(maxConnections !== null && { maxConnections }),
    onDropped() {
      metrics.connectionLimited.inc({ limit: 'descriptors' })
      warn(`ulimit -n is ${descriptors}`, 'connections are closed at once: this process may have no more files open')
    },
    serve: serveCalls(wayIn, graphql),
    webSocket: graphql.upgrade,
    connectionLimits: config.trustedProxies > 0 ? null : connectionLimits,
  })
  const metricsWay = createWay(health.metricsRoutes)
  const metricsServer = config.metricsPort === null ? undefined : openServer({ wayIn: metricsWay })

  /** Serves calls of players whose commands run elsewhere, and which nothing counts. */
  function openUncounted(run: Service['run']): HttpServer {
    const served = serviceWith({
      run,
      rateLimits: { ...rateLimits, countPlayer: () => undefined },
      countCall: () => undefined,
    })
    return openServer({ wayIn: createWay(routes, { served, answersOf: () => () => undefined }) })
  }

  const partitions = createPartitions({ pool, config, log, onError: failed('partitions') })
  const seasonClock = createSeasonClock({
    pool,
    onError: (error) =>
      failed('seasons')(error, 'planned publications and phases of seasons wait; each second tries again'),
  })
  const settlements = createSettlements({
    pool,
    run,
    onError: (error) =>
      failed('settlements')(
        error,
        'players could not be granted what they had earned in a season; a later look goes on',
      ),
    onDone: (season) => log.info(season, 'the season is settled: earned tiers that were not claimed are granted'),
  })
  const grantJobs = createGrantJobs({
    pool,
    run,
    onError: (error) => failed('grant_jobs')(error, 'a grant job could not go on; each second tries again'),
  })
  const alerts = createAlerts({
    pool: operatorPool,
    secrets,
    send: alertSender.send,
    onSent: (attempt) => metrics.alertMessages.inc({ result: hasArrived(attempt) ? 'arrived' : 'failed' }),
    onError: (error) => failed('alerts')(error, 'alert webhooks could not be looked at; a later look tries again'),
  })
  const folding = createFolding({ pool, onError: failed('figures') })
  addGauges(metrics.registry, {
    pools: {
      game: groupPool,
      service: pool,
      operators: operatorPool,
      numbers: numbersPool,
      probes: probePool,
      ...replica?.pools,
    },
    replica,
    engines,
    memory,
    subscriptions,
    numbering,
    folding,
    partitions,
    webhook,
    isRedisConnected: config.redisUrl === null ? null : bus.isConnected,
    endedLogins: () => ended.logins.size,
    endedFollowers: () => feed.size,
    ready: health.ready,
  })

  const housekeeping = createHousekeeping({
    pool,
    run,
    config,
    partitions,
    log,
    onRemoved: (rows, count) => metrics.purgedRows.inc({ rows }, count),
    onError: failed('purge'),
  })

  return {
    service,
    pool,
    groupPool,
    tokens,
    subscriptions,
    metrics,
    whyNotDurable,
    async listen(freePort) {
      if (metricsServer && config.metricsPort !== null) await metricsServer.listen(config.metricsPort, config.host)
      // Without an answer, the reads of ended logins set it as soon as there is one.
      await readDatabaseClock(pool).catch(() => undefined)
      housekeeping.start()
      folding.start()
      numbering.start()
      seasonClock.start()
      settlements.start()
      grantJobs.start()
      alerts.start()
      callCounts.start()
      replica?.start()
      await Promise.all([ended.start(), gameClocks.start()])
      if (config.warmUp)
        await warmUp({ pool: groupPool, open: openUncounted, tokens, isOver: () => stopping }).catch((error) => {
          if (!stopping) log.warn({ err: error }, 'the first calls will be slow: the warm-up failed')
        })
      await freePort?.()
      return server.listen(config.port, config.host)
    },
    async stop() {
      stopping = true
      await server.drain(config.shutdownGraceMs)
      const repeated = [housekeeping, settlements, grantJobs, alerts, gameClocks]
      const isTidy = Promise.all(repeated.map((one) => one.stop()))
      const closed = Promise.all([server.close(), metricsServer?.close()])
      ended.close()
      feed.close()
      await Promise.all([graphql.stop(), wayIn.stop()])
      await closed
      await Promise.all(Object.values(engines).map((engine) => engine.close()))
      await seasonClock.stop()
      await numbering.stop()
      await webhook.close()
      await documents.close()
      await isTidy
      await issuerClient.close()
      await alertSender.close()
      await folding.stop()
      await callCounts.stop()
      await subscriptions.close()
      await bus.close()
      await rateLimits.close()
      await replica?.close()
      await prisma.$disconnect()
      await operatorPool.end()
      await groupPool.end()
      await numbersPool.end()
      await probePool.end()
      await pool.end()
    },
  }
}
