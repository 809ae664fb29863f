import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { networkOf } from '../../base/rate-limits/client-address.ts'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { type Tracing, traceHeadersOf, tracing } from '../../base/tracing.ts'
import { Stall } from '../live/stall.ts'
import { createTurns, type Serve } from './turns.ts'
import { answerOf, ignoreUpgrades, type Upgrade } from './upgrades.ts'
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
/** A connection is closed whose client takes nothing of an answer for this long: unread answers stay in memory. */
const UNREAD_SECONDS = 30
const READING_TURNS = 5
/** Turns of the event loop in which a closing server accepts connections, at most: they can come for ever. */
const MAX_ACCEPTING_TURNS = 100

export function openServer({
  wayIn,
  serve = wayIn.serve,
  webSocket,
  connectionLimits = null,
  maxConnections,
  onDropped,
}: ServerOptions): HttpServer {
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  }
  const connections = new Map<Socket, Stall>()
  let opened = 0
  const { inTurn, hasWaiting } = createTurns()
  let isDraining = false

  function taking(next: Serve): Serve {
    const inOrder = inTurn((request, response) => {
      takePath(request)
      if (isDraining) closeWith(response)
      next(request, response)
    })
    return (request, response) => {
      const running = answerOf(request.socket)
      // The answer to this request closes the connection instead.
      if (isDraining && running && !running.headersSent) running.removeHeader('connection')
      inOrder(request, response)
    }
  }

  /** The last answer of a connection closes it. */
  function closeWith(answer: ServerResponse): void {
    if (!answer.headersSent && !hasWaiting(answer.req.socket)) answer.setHeader('connection', 'close')
  }

  const server = createServer(limits, taking(serve))
    .on('clientError', wayIn.serveError)
    .on('checkContinue', taking(continuing(serve)))
    .on('checkExpectation', taking(wayIn.serveExpectation))
  ignoreUpgrades(server, {
    isTaken: (request) => webSocket !== undefined && isWebSocket(request),
    upgrade: (request, socket, head) => webSocket?.(request, socket, head),
    refuse: wayIn.serveError,
  })
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  let isFull = false
  server.on('drop', () => {
    isFull = true
    onDropped?.()
  })
  server.on('connection', (socket: Socket) => {
    opened += 1
    connections.set(socket, new Stall(socket, UNREAD_SECONDS))
    socket.once('close', () => connections.delete(socket))
    if (connectionLimits === null) return
    const release = connectionLimits.hold('connections', networkOf(socket.remoteAddress ?? ''))
    if (release) socket.once('close', release)
    else socket.destroy()
  })

  /** Once a second. Connections that wait for a next request make room when there is none. */
  function tend(): void {
    for (const [socket, stall] of connections) if (stall.tick()) socket.destroy()
    if (isFull) server.closeIdleConnections()
    isFull = false
  }

  /** Node counts a connection as idle before its client has read the last answer, and would cut this answer off. */
  function closeIdle(): void {
    for (const { writableLength } of connections.keys()) if (writableLength > 0) return
    server.closeIdleConnections()
  }

  /** From now on each answer closes its connection, also that of a call that runs. */
  function closeWithAnswers(): void {
    isDraining = true
    for (const socket of connections.keys()) {
      const answer = answerOf(socket)
      if (answer) closeWith(answer)
    }
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
        server.listen(port, host ?? undefined, () => {
          server.off('error', reject)
          const timer = setInterval(tend, 1_000).unref()
          server.once('close', () => clearInterval(timer))
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
      // The `close` of HTTP would also close idle connections.
      const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
      closeIdle()
      const deadline = setTimeout(() => {
        for (const socket of connections.keys()) socket.destroy()
      }, DRAIN_MS)
      // Browsers and balancers open connections in advance. Node counts a connection as idle only after an answer.
      const silent = setTimeout(async () => {
        // What has arrived is read first, also when the process was frozen for as long.
        for (let turn = 0; turn < READING_TURNS; turn += 1) await new Promise(setImmediate)
        for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy()
      }, FIRST_REQUEST_MS)
      // A connection that was answering a call when the stop began becomes idle with its answer.
      const idle = setInterval(closeIdle, 50)
      await closed
      // Ends Node's own timers.
      server.close()
      clearInterval(idle)
      clearTimeout(silent)
      clearTimeout(deadline)
    },
  }
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

/** A proxy may send the whole address as the target. Every server must accept it (RFC 9112, 3.2.2). */
function takePath(request: IncomingMessage): void {
  const { url = '' } = request
  if (url[0] === '/' || !/^https?:/.test(url) || !URL.canParse(url)) return
  const { pathname, search } = new URL(url)
  request.url = pathname + search
}
