import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Service } from '../../app/service.ts'
import type { Config } from '../../base/config.ts'
import { Refusal } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { clientAddress } from '../../base/rate-limits/client-address.ts'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { type Access, accessOf, type Caller, idOfCaller } from '../../callers/access.ts'
import type { AccessWatch } from '../../callers/access-watch.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import { gameTimeHeader } from '../../declare/game-time.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { decodeName, operatorHeader } from '../../declare/request.ts'
import { closedOf } from '../../declare/respond.ts'
import type { Subscriptions } from '../../events/subscriptions.ts'
import { schema } from '../../schema.ts'
import { createLive } from '../live/shared-results.ts'
import { createSocketServer } from '../live/socket.ts'
import { serverSentEvents } from '../live/sse.ts'
import { costOfText, createCostLimit, errorWithHeaders } from './cost-limit.ts'
import { documentLimits } from './document-limits.ts'
import { KeptDocuments } from './documents.ts'
import { createExecute } from './execute.ts'
import { createMask, createTidyErrors, tidyResults } from './failures.ts'
import { createOperationMetrics } from './operation-metrics.ts'
import {
  createFind,
  type FoundDocument,
  type PersistedOperations,
  persistedOperations,
  type SentOperation,
} from './persisted-operations.ts'
import { type CallOfContext, createServe } from './serve.ts'

export interface GraphqlOptions {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly service: Service
  readonly subscriptions: Subscriptions
  readonly watch: AccessWatch
  readonly prisma: PrismaClient
  readonly persisted: PersistedOperations
  readonly connectionLimits: ConnectionLimits
}

/** The data of a call, over any transport. */
interface Call {
  readonly authorization: string | null
  readonly sdkKey: string | null
  readonly operator: unknown
  readonly address: () => string
  readonly lastEventId: string | null
  readonly requestId: string | undefined
  readonly variablesText: () => string | undefined
  readonly isSocket: boolean
  /** Aborts once the client no longer waits for the answer. */
  readonly closed: () => AbortSignal
}

/** The GraphQL surface: Yoga for HTTP and SSE, graphql-ws for WebSockets, the same schema and limits behind both. */
export async function createGraphql(options: GraphqlOptions) {
  const { config, log, metrics, service, subscriptions, watch, prisma, persisted, connectionLimits } = options
  /** Counts a caller's subscriptions. Over SSE, they end when the caller loses access; a WebSocket then closes itself. */
  const subscriptionsFor = (access: Access, isSocket: boolean): Subscriptions => ({
    ...subscriptions,
    async open(request) {
      const caller = await access.caller()
      const release = holdSubscription(connectionLimits, caller, isSocket ? undefined : access.address())
      const subscription = await subscriptions.open(request).catch((error) => {
        release()
        throw error
      })
      subscription.onceEnded(release)
      metrics.subscriptions.inc()
      subscription.onceEnded(() => metrics.subscriptions.dec())
      if (!isSocket) subscription.onceEnded(watch.watch(caller, () => subscription.end()))
      return subscription
    },
  })

  const tidy = createTidyErrors({ suggest: config.introspection })
  const find = createFind(persisted, config.persistedOperationsOnly)
  const count = ({ isPersisted }: FoundDocument) => metrics.documents.inc({ kind: isPersisted ? 'persisted' : 'other' })
  const documents = new KeptDocuments(persisted)
  /** A document that is not known to be valid costs its client's address what it takes to refuse it. */
  const findDocument = (sent: SentOperation, address: () => string): string | undefined => {
    const found = find(sent)
    if (!found) return undefined
    count(found)
    const { text, isPersisted } = found
    if (!isPersisted && !documents.getValid(text)) service.rateLimits.countCost(address(), costOfText(text))
    return text
  }
  const findOverHttp: typeof findDocument = (sent, address) => {
    try {
      return findDocument(sent, address)
    } catch (error) {
      throw error instanceof Refusal && error.limit ? errorWithHeaders(error) : error
    }
  }
  const maskError = createMask(log)
  const operations = createOperationMetrics(metrics, persisted.values())
  const refuseCost = createCostLimit({ maxCost: config.graphqlMaxCost, metrics })
  const rules = { mask: maskError, count: operations.count, refuseCost }
  const execution = createExecute(rules)
  const live = createLive({ ...rules, metrics, tidy })

  function createContext(call: Call): Context {
    const access = accessOf(service, call, 'forbidden')
    let storageAnswer: ReturnType<Context['storageAnswer']> | undefined
    const beginStorageAnswer = async () => {
      const caller = await access.caller()
      return service.beginStorageAnswer(caller.kind === 'player' ? caller.playerId : caller.keyId, call.closed)
    }
    // Named one by one: spreading objects costs 8 µs a call.
    return {
      caller: access.caller,
      client: access.client,
      server: access.server,
      found: access.found,
      address: access.address,
      wrongKind: access.wrongKind,
      service,
      subscriptions: subscriptionsFor(access, call.isSocket),
      prisma,
      requestId: call.requestId,
      variablesText: call.variablesText,
      lastEventId: call.lastEventId,
      storageAnswer: () => {
        storageAnswer ??= beginStorageAnswer()
        return storageAnswer
      },
    }
  }

  /** The callers of requests that Yoga answers. */
  const accesses = new WeakMap<ServerResponse, Access>()
  const gameTimes: Plugin<Context, ServerContext> = {
    onResponse({ response, serverContext }) {
      const access = serverContext?.res && accesses.get(serverContext.res)
      const [name, value] = gameTimeHeader(service.gameClocks, access)
      if (name !== undefined && value !== undefined) response.headers.set(name, value)
    },
  }
  const streams = serverSentEvents(maskError)
  const yoga = createYoga<ServerContext, Context>({
    schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    // `serve.ts` reads bodies, up to its own limit, and checks origins, media types and members.
    maxRequestBodySize: false,
    cors: false,
    parserAndValidationCache: { documentCache: documents, errorCache: documents.errorCache },
    graphiql: config.graphiql && { title: 'Tierway', subscriptionsProtocol: 'WS', defaultQuery: DEFAULT_QUERY },
    ...(config.graphiql && (await graphiqlPage(log))),
    maskedErrors: { maskError: (error) => maskError(error) },
    plugins: [
      persistedOperations(findOverHttp),
      ...documentLimits(config),
      documents.plugin,
      execution.plugin,
      tidyResults(tidy, operations.countRefused),
      live.plugin,
      streams.plugin,
      gameTimes,
    ],
    context: ({ request, authorization, sdkKey, operator, address, requestId, variablesText, res, closed }) => {
      const context = createContext({
        authorization: authorization ?? request?.headers.get('authorization') ?? null,
        sdkKey: sdkKey ?? request?.headers.get('x-sdk-key') ?? null,
        operator: operator ?? decodeName(request?.headers.get('x-operator')),
        address: address ?? (() => ''),
        lastEventId: request?.headers.get('last-event-id') || null,
        requestId,
        variablesText: variablesText ?? (() => undefined),
        // An operation over a WebSocket has no request of its own.
        isSocket: request === undefined,
        closed: () => closed ?? (res ? closedOf(res) : new AbortController().signal),
      })
      if (res) accesses.set(res, context)
      return context
    },
  })

  const sockets = createSocketServer({
    yoga,
    config,
    service,
    watch,
    metrics,
    log,
    tidy,
    countRefused: operations.countRefused,
    mask: maskError,
    subscribe: live.subscribe,
    findDocument,
    connectionLimits,
  })

  const addressOf = (request: IncomingMessage) => () => clientAddress(request, config.trustedProxies)
  const contextOf = (request: IncomingMessage, { closed, requestId, variablesText }: CallOfContext) => {
    const { headers } = request
    return createContext({
      authorization: headers.authorization ?? null,
      sdkKey: headers['x-sdk-key']?.toString() ?? null,
      operator: operatorHeader(headers),
      address: addressOf(request),
      lastEventId: null,
      requestId,
      variablesText,
      isSocket: false,
      closed,
    })
  }
  const { countRefused } = operations
  const serve = createServe({
    yoga,
    config,
    log,
    mask: maskError,
    metrics,
    documents,
    find,
    count,
    countRefused,
    tidy,
    execute: execution.execute,
    contextOf,
    addressOf,
  })

  return {
    serve,
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => sockets.upgrade(request, socket, head),
    /** Ends every socket with 1001 and every stream of events. */
    async stop() {
      await Promise.all([sockets.stop(), subscriptions.close().then(streams.stop)])
    },
  }
}

/**
 * Counts a subscription of a caller and, if `streamOf` is the client's address, its event stream. Returns a function
 * that ends the count. Refuses when too many are open.
 */
function holdSubscription(limits: ConnectionLimits, caller: Caller, streamOf: string | undefined): () => void {
  const id = idOfCaller(caller)
  const stream =
    streamOf === undefined
      ? []
      : ([
          ['caller_sockets', id],
          ['sockets', streamOf],
        ] as const)
  return limits.holdAll([['caller_subscriptions', id], ...stream])
}

/** The page of the GraphiQL package, so that it works without the internet. */
async function graphiqlPage(log: Logger) {
  try {
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    return { renderGraphiQL }
  } catch {
    log.warn('GraphiQL is off: the optional package @graphql-yoga/render-graphiql is not installed')
    return { graphiql: false }
  }
}

const DEFAULT_QUERY = `# Put a token into the headers below:
# {"authorization": "Bearer …"}
# "npx tierway env" prints the keys of the demo;
# a player's token comes from a login.

subscription Live {
  events(environment: "production") {
    cursor
    occurredAt
    playerId
    handle
    data
  }
}
`
