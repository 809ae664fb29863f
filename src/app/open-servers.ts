import type { Config } from '../base/config.ts'
import { descriptorLimit } from '../base/descriptors.ts'
import type { ConnectionLimits } from '../base/rate-limits/connection-limits.ts'
import type { PrismaClient } from '../db/prisma.ts'
import type { Route } from '../declare/route.ts'
import { routes } from '../routes.ts'
import type { createGraphql } from '../serve/graphql/yoga.ts'
import { consoleRoutes } from '../serve/http/console.ts'
import { docsRoutes } from '../serve/http/docs.ts'
import type { createHealth } from '../serve/http/health.ts'
import { type PlayableDemo, playRoutes } from '../serve/http/play.ts'
import { type HttpServer, openServer, serveCalls } from '../serve/http/server.ts'
import { signOnRoutes } from '../serve/http/sign-on.ts'
import { createWayIn } from '../serve/http/way-in.ts'
import type { Reports } from './reports.ts'
import type { Service } from './service.ts'

/** What a process needs besides its connections to clients and Postgres: files, webhooks, Redis, the replica. */
const OWN_DESCRIPTORS = 100
const MIN_CONNECTIONS = 20
/** A game with more players than this at once, on one instance, needs a higher limit: say so at the start. */
const FEW_CONNECTIONS = 10_000

interface Served {
  readonly service: Service
  readonly prisma: PrismaClient
  readonly graphql: Awaited<ReturnType<typeof createGraphql>>
  readonly health: ReturnType<typeof createHealth>
  readonly connectionLimits: ConnectionLimits
  /** Set where there is a demo: its season can be played at `/play`. */
  readonly readDemo: (() => Promise<PlayableDemo | undefined>) | undefined
}

/** The HTTP servers: of calls and pages, and of metrics where these have a port of their own. */
export function openServers(config: Config, reports: Reports, served: Served) {
  const { metrics } = reports
  const { service, graphql, health, connectionLimits } = served
  const createWay = (routes: readonly Route[], of = service, answersOf = metrics.answersOf) =>
    createWayIn({
      routes,
      context: {
        service: of,
        prisma: served.prisma,
        isPersistedOnly: config.persistedOperationsOnly,
        onUnread: (error, call) => reports.warn(error, `the answer to ${call} lacks a part`),
        maxBodyBytes: config.maxBodyBytes,
        trustedProxies: config.trustedProxies,
      },
      log: reports.log,
      answersOf,
      allowedOrigins: config.allowedOrigins,
    })
  const wayIn = createWay([...routes, ...health.routes, ...pagesOf(config, reports, served)])
  const server = openServer({
    wayIn,
    ...limitConnections(config, reports),
    serve: serveCalls(wayIn, graphql),
    webSocket: graphql.upgrade,
    connectionLimits: config.trustedProxies > 0 ? null : connectionLimits,
  })
  const metricsServer = config.metricsPort === null ? null : openServer({ wayIn: createWay(health.metricsRoutes) })
  return {
    server,
    metricsServer,
    wayIn,
    /** Serves calls of players whose commands run elsewhere, and which nothing counts. */
    openUncounted: (of: Service): HttpServer => openServer({ wayIn: createWay(routes, of, () => () => undefined) }),
  }
}

const pagesOf = (config: Config, { log }: Reports, { readDemo }: Served): readonly Route[] => [
  ...(config.docs ? docsRoutes(log) : []),
  ...(config.console ? [...consoleRoutes(log), ...signOnRoutes] : []),
  ...(readDemo && !config.production ? playRoutes(readDemo, log) : []),
]

/** As many connections as this process may have files open, less those that it needs itself. */
function limitConnections({ databaseConnections }: Config, { log, metrics, warn }: Reports) {
  const descriptors = descriptorLimit()
  if (descriptors === null) return {}
  const maxConnections = Math.max(MIN_CONNECTIONS, descriptors - OWN_DESCRIPTORS - databaseConnections)
  if (maxConnections < FEW_CONNECTIONS)
    log.warn(
      `this process may have ${descriptors} files open, and so serves at most ${maxConnections} connections at once: raise the limit (ulimit -n, LimitNOFILE=)`,
    )
  return {
    maxConnections,
    onDropped() {
      metrics.connectionLimited.inc({ limit: 'descriptors' })
      warn(`ulimit -n is ${descriptors}`, 'connections are closed at once: this process may have no more files open')
    },
  }
}
