import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Config } from '../../base/config.ts'
import { Refusal } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import { gameTimeHeader } from '../../declare/game-time.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { schema } from '../../schema.ts'
import { createLive } from '../live/shared-results.ts'
import { SocketServer } from '../live/socket.ts'
import { serverSentEvents } from '../live/sse.ts'
import { type ContextOptions, Contexts } from './contexts.ts'
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
import { GraphqlOverHttp } from './serve.ts'

export interface GraphqlOptions extends ContextOptions {
  readonly log: Logger
  readonly persisted: PersistedOperations
}

type FindDocument = (sent: SentOperation, address: () => string) => string | undefined

/** The GraphQL surface: Yoga for HTTP and SSE, graphql-ws for WebSockets, the same schema and limits behind both. */
export async function createGraphql(options: GraphqlOptions) {
  const { config, log, metrics, service, subscriptions, watch, persisted, connectionLimits } = options
  const tidy = createTidyErrors({ suggest: config.introspection })
  const mask = createMask(log)
  const documents = new KeptDocuments(persisted)
  const { count, countRefused } = createOperationMetrics(metrics, persisted.values(), documents)
  const refuseCost = createCostLimit({ maxCost: config.graphqlMaxCost, metrics })
  const execution = createExecute({ mask, count, refuseCost })
  const live = createLive({ mask, count, refuseCost, metrics, tidy })
  const streams = serverSentEvents(mask)
  const { find, countFound, findDocument } = createFindings(options, documents)
  const contexts = new Contexts(options)

  const yoga = createYoga<ServerContext, Context>({
    ...(await yogaOptions(config, log)),
    parserAndValidationCache: { documentCache: documents, errorCache: documents.errorCache },
    maskedErrors: { maskError: (error) => mask(error) },
    plugins: [
      persistedOperations(withHeaders(findDocument)),
      ...documentLimits(config),
      documents.plugin,
      execution.plugin,
      tidyResults(tidy, countRefused),
      live.plugin,
      streams.plugin,
      gameTimes(options, contexts),
    ],
    context: (initial) => contexts.ofYoga(initial),
  })
  const sockets = new SocketServer({
    yoga,
    config,
    service,
    watch,
    metrics,
    log,
    tidy,
    countRefused,
    mask,
    findDocument,
    connectionLimits,
    subscribe: live.subscribe,
  })
  const http = new GraphqlOverHttp({
    yoga,
    config,
    log,
    mask,
    metrics,
    documents,
    find,
    countFound,
    countRefused,
    tidy,
    contexts,
    execute: execution.execute,
  })

  return {
    serve: (request: IncomingMessage, response: ServerResponse) => http.serve(request, response),
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => sockets.upgrade(request, socket, head),
    /** Ends every socket with 1001 and every stream of events. */
    async stop() {
      await Promise.all([sockets.stop(), subscriptions.close().then(streams.stop)])
    },
  }
}

/** How the documents of requests are found, and what they count. */
function createFindings({ config, metrics, service, persisted }: GraphqlOptions, documents: KeptDocuments) {
  const find = createFind(persisted, config.persistedOperationsOnly)
  const countFound = ({ isPersisted }: FoundDocument) =>
    metrics.documents.inc({ kind: isPersisted ? 'persisted' : 'other' })
  /** A document that is not known to be valid costs its client's address what it takes to refuse it. */
  const findDocument: FindDocument = (sent, address) => {
    const found = find(sent)
    if (!found) return undefined
    countFound(found)
    const { text, isPersisted } = found
    if (!isPersisted && !documents.getValid(text)) service.rateLimits.countCost(address(), costOfText(text))
    return text
  }
  return { find, countFound, findDocument }
}

/** Over HTTP, the refusal of a rate limit says in headers when to try again. */
function withHeaders(findDocument: FindDocument): FindDocument {
  return (sent, address) => {
    try {
      return findDocument(sent, address)
    } catch (error) {
      throw error instanceof Refusal && error.limit ? errorWithHeaders(error) : error
    }
  }
}

/** Each answer of Yoga says the game's time where the environment has a clock for tests. */
function gameTimes({ service }: GraphqlOptions, contexts: Contexts): Plugin<Context, ServerContext> {
  return {
    onResponse({ response, serverContext }) {
      const [name, value] = gameTimeHeader(service.gameClocks, contexts.accessOf(serverContext?.res))
      if (name !== undefined && value !== undefined) response.headers.set(name, value)
    },
  }
}

/** What Yoga serves, and what it leaves to us. */
async function yogaOptions(config: Config, log: Logger) {
  return {
    schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    // `serve.ts` reads bodies, up to its own limit, and checks origins, media types and members.
    maxRequestBodySize: false,
    cors: false,
    graphiql: config.graphiql && GRAPHIQL,
    ...(config.graphiql && (await graphiqlPage(log))),
  } as const
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
  onEvent(environment: "production") {
    cursor
    occurredAt
    playerId
    handle
    data
  }
}
`

const GRAPHIQL = { title: 'Tierway', subscriptionsProtocol: 'WS', defaultQuery: DEFAULT_QUERY } as const
