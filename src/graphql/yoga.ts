import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type CORSOptions, createGraphQLError, createYoga, type Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { accessOf } from '../auth/access.ts'
import type { Watch } from '../auth/watch.ts'
import type { Config } from '../config.ts'
import type { PrismaClient } from '../db/prisma.ts'
import { REFUSALS } from '../errors.ts'
import type { Feeds } from '../events/feed.ts'
import { closedOf } from '../http/respond.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { schema } from '../schema.ts'
import type { Service } from '../service.ts'
import type { Context, ServerContext } from './context.ts'
import { documentLimits } from './document-limits.ts'
import { createTidyErrors, mask, tidyResults } from './failures.ts'
import { fanOut } from './fan-out.ts'
import { createFindDocument, type PersistedOperations, persistedOperations } from './persisted-operations.ts'
import { createSocketServer } from './socket.ts'
import { serverSentEvents } from './sse.ts'

export interface GraphqlOptions {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly service: Service
  readonly feeds: Feeds
  readonly watch: Watch
  readonly prisma: PrismaClient
  readonly persisted: PersistedOperations
}

/** Documents kept as they were parsed, beside persisted ones. Anybody may send some: a thousand take half a gigabyte. */
const KEPT_DOCUMENTS = 100

const ALLOWED_HEADERS = ['authorization', 'content-type', 'last-event-id', 'x-request-id', 'x-sdk-key']

/** The GraphQL surface: Yoga for HTTP and SSE, graphql-ws for WebSockets, the same schema and limits behind both. */
export async function createGraphql(options: GraphqlOptions) {
  const { config, log, metrics, service, feeds, watch, prisma, persisted } = options
  /** A caller's way to the feeds: counted, and over SSE ended when the caller may not call. A WebSocket sees to itself. */
  const feedsFor = (findCaller: Context['caller'], isSocket: boolean): Feeds => ({
    ...feeds,
    async follow(follower) {
      const caller = await findCaller()
      let stopWatching = () => {}
      const events = await feeds.follow({
        ...follower,
        onEnd() {
          stopWatching()
          metrics.subscriptions.dec()
        },
      })
      metrics.subscriptions.inc()
      if (!isSocket) stopWatching = watch.watch(caller, () => void events.return?.())
      return events
    },
  })

  const tidy = createTidyErrors({ suggest: config.introspection })
  const findDocument = createFindDocument({
    operations: persisted,
    only: config.persistedOperationsOnly,
    count: (isPersisted) => metrics.documents.inc({ kind: isPersisted ? 'persisted' : 'other' }),
  })

  const streams = serverSentEvents()
  const yoga = createYoga<ServerContext, Context>({
    schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    parserAndValidationCache: {
      documentCache: new LRUCache({ max: persisted.size + KEPT_DOCUMENTS }),
      errorCache: new LRUCache({ max: KEPT_DOCUMENTS }),
    },
    cors: (request: Request) => cors(request.headers.get('origin'), config.allowedOrigins),
    graphiql: config.graphiql && { title: 'Tierway', subscriptionsProtocol: 'WS', defaultQuery: DEFAULT_QUERY },
    ...(config.graphiql && (await graphiqlPage(log))),
    maskedErrors: { maskError: (error) => mask(error, log) },
    plugins: [
      jsonOnly(),
      persistedOperations(findDocument),
      ...documentLimits(config),
      tidyResults(tidy),
      fanOut(metrics),
      streams.plugin,
    ],
    context: ({ request, authorization, sdkKey, res, closed }) => {
      const sent = authorization !== undefined ? authorization : (request?.headers.get('authorization') ?? null)
      const key = sdkKey !== undefined ? sdkKey : (request?.headers.get('x-sdk-key') ?? null)
      const access = accessOf(service, { authorization: sent, sdkKey: key }, 'forbidden')
      let storageAnswer: ReturnType<Context['storageAnswer']> | undefined
      const beginStorageAnswer = async () => {
        const caller = await access.caller()
        return service.beginStorageAnswer(
          caller.kind === 'player' ? caller.playerId : caller.keyId,
          () => closed ?? (res ? closedOf(res) : new AbortController().signal),
        )
      }
      return {
        ...access,
        service,
        feeds: feedsFor(access.caller, request === undefined),
        prisma,
        lastEventId: request?.headers.get('last-event-id') || null,
        storageAnswer: () => {
          storageAnswer ??= beginStorageAnswer()
          return storageAnswer
        },
      }
    },
  })

  const sockets = createSocketServer({ yoga, config, service, watch, metrics, log, tidy, findDocument })

  function serve(request: IncomingMessage, response: ServerResponse): unknown {
    // Yoga builds a whole address from it, and would answer with the stack of what it cannot build.
    if (!URL.canParse(`http://${request.headers.host ?? 'localhost'}`))
      return refuse(response, ...REFUSALS.invalidRequest)
    if (request.method === 'POST') {
      const length = request.headers['content-length']
      // Yoga reads a body whole, so its length must be known to be bounded.
      if (length === undefined) return refuse(response, 411, 'length required')
      if (Number(length) > config.maxBodyBytes) return refuse(response, ...REFUSALS.payloadTooLarge)
    }
    return yoga.handle(request, response)
  }

  return {
    serve,
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => sockets.upgrade(request, socket, head),
    /** Ends every socket with 1001 and every stream of events. */
    async stop() {
      await Promise.all([sockets.stop(), feeds.close().then(streams.stop)])
    },
  }
}

/** By origin, since Yoga takes an empty list for "all" and answers a single entry to everybody. */
function cors(origin: string | null, allowed: readonly string[]): CORSOptions {
  if (origin === null || !allowed.includes(origin)) return false
  // Two entries make Yoga vary its answer by origin.
  return { origin: [origin, origin], methods: ['GET', 'POST'], allowedHeaders: ALLOWED_HEADERS, credentials: false }
}

function refuse(response: ServerResponse, status: number, text: string): void {
  const code = text.toUpperCase().replaceAll(' ', '_')
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify({ errors: [{ message: text, extensions: { code } }] }))
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

/** A form or a plain text could be posted by any web page without asking; JSON cannot. */
function jsonOnly(): Plugin {
  return {
    onRequestParse({ request }) {
      const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
      if (request.method === 'POST' && type !== 'application/json') {
        throw createGraphQLError('the body must be application/json', {
          extensions: { code: 'INVALID_REQUEST', http: { status: 415 } },
        })
      }
    },
  }
}

const DEFAULT_QUERY = `# Put a token into the headers below:
# {"authorization": "Bearer …"}
# Keys of the demo are in .tierway/demo.json;
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
