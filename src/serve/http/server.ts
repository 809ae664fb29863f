import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { type Tracing, traceHeadersOf, tracing } from '../../base/tracing.ts'
import { Connections } from './connections.ts'
import type { Serve } from './turns.ts'
import { ignoreUpgrades, type Upgrade } from './upgrades.ts'
import { repeatedHeader, type WayIn } from './way-in.ts'

export interface ServerOptions {
  /** Also answers requests that Node cannot read: a missing host, a faulty head, a request that is too slow. */
  readonly wayIn: WayIn
  /** Default: the way in. */
  readonly serve?: Serve
  /** Takes over a WebSocket at GraphQL's path. Every other upgrade is ignored. */
  readonly webSocket?: Upgrade
  /** Limits the connections of an address. Null behind proxies, where all connections have the address of a proxy. */
  readonly connectionLimits?: ConnectionLimits | null
  /** Further connections are closed at once, so that the process keeps descriptors for Postgres and for files. */
  readonly maxConnections?: number
  /** Called for each of these. */
  readonly onDropped?: () => void
}

export interface HttpServer {
  /** Resolves with the port once the server listens, on all addresses of IPv4 and IPv6 without a host. */
  listen(port: number, host: string | null): Promise<number>
  /** From now on each answer closes its connection. Resolves after the grace, at once if the server does not listen. */
  drain(graceMs: number): Promise<void>
  /** Accepts no more connections. Resolves when the calls that run are answered and all connections are closed. */
  close(): Promise<void>
}

/** How long a connection may be idle, as its answers say. */
const KEEP_ALIVE_MS = 65_000
/**
 * How long running calls may take after the server was closed. A login whose webhook does not answer takes 9.6 s, and
 * more on a busy machine.
 */
const DRAIN_MS = 12_000
/** How long a connection that was opened in the last moment may take to send its request. */
const FIRST_REQUEST_MS = 500
const LIMITS = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requireHostHeader: false,
}

export function openServer({
  wayIn,
  serve = wayIn.serve,
  webSocket,
  connectionLimits = null,
  maxConnections,
  onDropped,
}: ServerOptions): HttpServer {
  const connections = new Connections(connectionLimits)
  const server = createServer(LIMITS, connections.taking(withPath(serve)))
    .on('clientError', wayIn.serveError)
    .on('checkContinue', connections.taking(withPath(continuing(serve))))
    .on('checkExpectation', connections.taking(withPath(wayIn.serveExpectation)))
  ignoreUpgrades(server, {
    isTaken: (request) => webSocket !== undefined && isWebSocket(request),
    upgrade: (request, socket, head) => webSocket?.(request, socket, head),
    refuse: wayIn.serveError,
  })
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  server.on('drop', () => {
    connections.noteDropped()
    onDropped?.()
  })
  server.on('connection', (socket) => connections.accept(socket))

  return {
    listen: (port, host) => listen(server, connections, port, host),
    async drain(graceMs) {
      connections.drain()
      if (server.listening) await delay(graceMs)
    },
    close: () => close(server, connections),
  }
}

function listen(server: Server, connections: Connections, port: number, host: string | null): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host ?? undefined, () => {
      server.off('error', reject)
      const timer = setInterval(() => connections.tend(server), 1_000).unref()
      server.once('close', () => clearInterval(timer))
      resolve((server.address() as AddressInfo).port)
    })
  })
}

async function close(server: Server, connections: Connections): Promise<void> {
  connections.drain()
  await connections.acceptWaiting()
  // The `close` of HTTP would also close idle connections.
  const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
  connections.closeIdle(server)
  const deadline = setTimeout(() => connections.closeAll(), DRAIN_MS)
  // Browsers and balancers open connections in advance. Node counts a connection as idle only after an answer.
  const silent = setTimeout(() => connections.closeSilent(), FIRST_REQUEST_MS)
  // A connection that was answering a call when the stop began becomes idle with its answer.
  const idle = setInterval(() => connections.closeIdle(server), 50)
  await closed
  // Ends Node's own timers.
  server.close()
  clearInterval(idle)
  clearTimeout(silent)
  clearTimeout(deadline)
}

/** Serves GraphQL at its path and everything else through the way in. With traces on, each call has a span. */
export function serveCalls(wayIn: WayIn, graphql: { readonly serve: WayIn['serve'] }): Serve {
  return (request, response) => {
    const isGraphql = isGraphqlPath(request.url ?? '') && repeatedHeader(request) === undefined
    const way = isGraphql ? graphql : wayIn
    const traces = tracing()
    if (traces === null) void way.serve(request, response)
    else {
      const route = isGraphql ? '/graphql' : wayIn.routeOf(request.url ?? '')
      serveTraced(traces, route, request, response, () => way.serve(request, response))
    }
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
  if (!isAsked || method !== 'GET' || httpVersion === '1.0') return false
  return isGraphqlPath(url) && repeatedHeader(request) === undefined
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

const withPath =
  (next: Serve): Serve =>
  (request, response) => {
    takePath(request)
    next(request, response)
  }

/** A proxy may send the whole address as the target. Every server must accept it (RFC 9112, 3.2.2). */
function takePath(request: IncomingMessage): void {
  const { url = '' } = request
  if (url[0] === '/' || !/^https?:/.test(url) || !URL.canParse(url)) return
  const { pathname, search } = new URL(url)
  request.url = pathname + search
}
