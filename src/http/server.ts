import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { networkOf } from '../rate-limits/client-address.ts'
import type { ConnectionLimits } from '../rate-limits/connection-limits.ts'
import { type Tracing, traceHeadersOf, tracing } from '../request/tracing.ts'
import { answerOf, ignoreUpgrades, type Upgrade } from './upgrades.ts'
import { hasOneHost, type WayIn } from './way-in.ts'
import { KEEP_ALIVE_MS, takeWholeRequests, type WholeRequest } from './whole-requests.ts'

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface ServerOptions {
  /** Also answers requests that Node cannot read: a missing host, a faulty head, a request that is too slow. */
  readonly wayIn: WayIn
  /** Default: the way in. */
  readonly serve?: Serve
  /** Answers requests that arrived in one read, instead of `serve`. It returns null for a request that Node must read. */
  readonly serveWhole?: (request: WholeRequest) => Promise<void> | null
  /** Takes over a WebSocket at GraphQL's path. Every other upgrade is ignored. */
  readonly webSocket?: Upgrade
  /** Limits the connections of an address. Null behind proxies, where all connections have the address of a proxy. */
  readonly connectionLimits?: ConnectionLimits | null
}

export interface HttpServer {
  /** Resolves with the port once the server listens. */
  listen(port: number, host: string): Promise<number>
  /** From now on each answer closes its connection. Resolves after the grace, at once if the server does not listen. */
  drain(graceMs: number): Promise<void>
  /** Accepts no more connections. Resolves when the calls that run are answered and all connections are closed. */
  close(): Promise<void>
}

/** How long running calls may take after the server was closed. */
const DRAIN_MS = 10_000
/** How long a connection that was opened in the last moment may take to send its request. */
const FIRST_REQUEST_MS = 500
const READING_TURNS = 5
/** Turns of the event loop in which a closing server accepts connections, at most: they can come for ever. */
const MAX_ACCEPTING_TURNS = 100

export function openServer({
  wayIn,
  serve = wayIn.serve,
  serveWhole,
  webSocket,
  connectionLimits = null,
}: ServerOptions): HttpServer {
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  }
  const connections = new Set<Socket>()
  let opened = 0
  const inTurn = createTurns()
  let isDraining = false

  const prepared =
    (next: Serve): Serve =>
    (request, response) => {
      takePath(request)
      if (isDraining) response.setHeader('connection', 'close')
      next(request, response)
    }

  const server = createServer(limits, inTurn(prepared(serve)))
    .on('clientError', wayIn.serveError)
    .on('checkContinue', inTurn(prepared(continuing(serve))))
    .on('checkExpectation', inTurn(prepared(wayIn.serveExpectation)))
  ignoreUpgrades(server, {
    isTaken: (request) => webSocket !== undefined && isWebSocket(request),
    upgrade: (request, socket, head) => webSocket?.(request, socket, head),
    refuse: wayIn.serveError,
    onParsed: stopParsingOnceDestroyed,
  })
  // While the server drains, Node reads all requests and closes their connections.
  const whole =
    serveWhole &&
    takeWholeRequests(server, (request) => (isDraining ? null : serveWhole(request)), stopParsingOnceDestroyed)
  server.on('connection', (socket: Socket) => {
    stopParsingOnceDestroyed(socket)
    opened += 1
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    if (connectionLimits === null) return
    const release = connectionLimits.hold('connections', networkOf(socket.remoteAddress ?? ''))
    if (release) socket.once('close', release)
    else socket.destroy()
  })
  function closeIdle(): void {
    server.closeIdleConnections()
    whole?.closeIdle()
  }

  /** From now on each answer closes its connection, also that of a call that runs. */
  function closeWithAnswers(): void {
    isDraining = true
    for (const socket of connections) {
      const answer = answerOf(socket)
      if (answer && !answer.headersSent) answer.setHeader('connection', 'close')
    }
    whole?.closeWithAnswers()
  }

  /** Accepts the connections that wait for it. They would be reset when the server stops listening. */
  async function acceptWaiting(): Promise<void> {
    for (let turn = 0, before = -1; turn < MAX_ACCEPTING_TURNS && before !== opened; turn += 1) {
      before = opened
      await new Promise(setImmediate)
    }
  }

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve((server.address() as AddressInfo).port)
        })
      }),

    async drain(graceMs) {
      closeWithAnswers()
      if (server.listening) await delay(graceMs)
    },

    async close() {
      closeWithAnswers()
      await acceptWaiting()
      const closed = new Promise((resolve) => server.close(resolve))
      closeIdle()
      const deadline = setTimeout(() => {
        for (const socket of connections) socket.destroy()
      }, DRAIN_MS)
      // Browsers and balancers open connections in advance. Node counts a connection as idle only after an answer.
      const silent = setTimeout(async () => {
        // What has arrived is read first, also when the process was frozen for as long.
        for (let turn = 0; turn < READING_TURNS; turn += 1) await new Promise(setImmediate)
        for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
      }, FIRST_REQUEST_MS)
      // A connection that was answering a call when the stop began becomes idle with its answer.
      const idle = setInterval(closeIdle, 50)
      await closed
      clearInterval(idle)
      clearTimeout(silent)
      clearTimeout(deadline)
    },
  }
}

/** Serves GraphQL at its path and everything else through the way in. With traces on, each call has a span. */
export function serveCalls(wayIn: WayIn, graphql: { readonly serve: WayIn['serve'] }): Serve {
  return (request, response) => {
    const isGraphql = isGraphqlPath(request.url ?? '') && hasOneHost(request)
    const way = isGraphql ? graphql : wayIn
    const traces = tracing()
    if (traces === null) void way.serve(request, response)
    else {
      const route = isGraphql ? '/graphql' : wayIn.routeOf(request.url ?? '')
      serveTraced(traces, route, request, response, () => way.serve(request, response))
    }
  }
}

/** The same for requests that arrived in one read. With traces on, Node reads all requests. */
export function serveWholeCalls(
  wayIn: WayIn,
  graphql: { readonly serveWhole: (request: WholeRequest) => Promise<void> | null },
): (request: WholeRequest) => Promise<void> | null {
  return (request) => {
    if (tracing() !== null) return null
    return request.url === '/graphql' ? graphql.serveWhole(request) : wayIn.serveWhole(request)
  }
}

function isGraphqlPath(url: string): boolean {
  return url.startsWith('/graphql') && (url.length === 8 || url[8] === '?')
}

/** Whether a request opens a WebSocket for GraphQL. HTTP/1.0 has no upgrades. */
function isWebSocket(request: IncomingMessage): boolean {
  takePath(request)
  const { method, httpVersion, headers, url = '' } = request
  const isAsked = headers.upgrade?.toLowerCase() === 'websocket'
  return isAsked && method === 'GET' && httpVersion !== '1.0' && isGraphqlPath(url) && hasOneHost(request)
}

/**
 * Asks the client for the body of its request once something reads it. A refusal that the head decides is then the only
 * answer, and the body is never sent.
 */
const continuing =
  (next: Serve): Serve =>
  (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    next(request, response)
  }

/** Serves a request in a span with the name of its route. */
function serveTraced(
  traces: Tracing,
  route: string,
  request: IncomingMessage,
  response: ServerResponse,
  serve: () => Promise<void>,
): void {
  const { method = '', headers } = request
  void traces.call(`${method} ${route}`, traceHeadersOf(headers), (span) => {
    span.set('http.request.method', method)
    span.set('http.route', route)
    response.once('close', () => {
      const { statusCode } = response
      span.set('http.response.status_code', statusCode)
      span.end(statusCode >= 500 ? `status ${statusCode}` : undefined)
    })
    return serve()
  })
}

/** A proxy may send the whole address as the target. Every server must accept it (RFC 9112, 3.2.2). */
function takePath(request: IncomingMessage): void {
  const { url = '' } = request
  if (url[0] === '/' || !/^https?:/.test(url) || !URL.canParse(url)) return
  const { pathname, search } = new URL(url)
  request.url = pathname + search
}

/** Requests of one connection that wait for earlier answers. Clients that use pipelining send a few ahead. */
const MAX_WAITING = 8
/** The time for waiting requests in one turn of the event loop. Then all other work has its turn. */
const TURN_MS = 5

interface Connection {
  /** The number of requests that wait. */
  waiting: number
  /** `bytesRead` when a request was last served at once. Other requests in the same bytes wait for their turn. */
  servedAt: number
}

/** A request that waits only for the requests before it in the queue. */
interface Due {
  readonly serve: Serve
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: Connection
}

/** Node's parser of a connection. Not in Node's documentation, so it may be absent. */
interface Parsed {
  readonly parser?: { onIncoming?: ((...head: unknown[]) => unknown) | null } | null
}

/**
 * Serves the requests of one connection one after the other, and those of many connections in fair turns. Node emits
 * pipelined requests as fast as it reads them, so that thousands from one connection would run before the requests of
 * other connections, and their answers would stay in memory while the client does not read. A connection with too many
 * waiting requests is closed.
 */
export function createTurns(): (serve: Serve) => Serve {
  const connections = new WeakMap<Socket, Connection>()
  let due: Due[] = []
  let isScheduled = false

  function wait(one: Due): void {
    due.push(one)
    if (isScheduled) return
    isScheduled = true
    setImmediate(takeTurn)
  }

  function takeTurn(): void {
    const turn = due
    due = []
    isScheduled = false
    const end = performance.now() + TURN_MS
    let served = 0
    for (const { serve, request, response, connection } of turn) {
      served += 1
      const { socket } = request
      connection.waiting -= 1
      // A request that has not begun has no effect when its client is gone.
      if (socket.destroyed) continue
      serve(request, response)
      if (performance.now() >= end) break
    }
    if (served === turn.length) return
    due = [...turn.slice(served), ...due]
    if (isScheduled) return
    isScheduled = true
    setImmediate(takeTurn)
  }

  return (serve) => (request, response) => {
    const { socket } = request
    let connection = connections.get(socket)
    if (!connection) {
      connection = { waiting: 0, servedAt: -1 }
      connections.set(socket, connection)
    }
    // Null while an earlier response uses the connection.
    const isFree = response.socket !== null
    const { bytesRead } = socket
    if (isFree && connection.servedAt !== bytesRead) {
      connection.servedAt = bytesRead
      return serve(request, response)
    }
    if (socket.destroyed) return
    connection.waiting += 1
    const one = { serve, request, response, connection }
    if (connection.waiting > MAX_WAITING) socket.destroy()
    else if (isFree) wait(one)
    else response.once('socket', () => wait(one))
  }
}

/**
 * Ends the parsing of a connection when the connection is destroyed. Node would parse all that it has read, a thousand
 * requests or more, and then report each as aborted.
 */
export function stopParsingOnceDestroyed(socket: Socket): void {
  const { parser } = socket as Parsed
  const take = parser?.onIncoming
  if (!parser || !take) return
  parser.onIncoming = (...head) => (socket.destroyed ? PARSER_ERROR : take.apply(parser, head))
}

/** What the callbacks of Node's parser return to end it with an error. */
const PARSER_ERROR = -1
