import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import findMyWay from 'find-my-way'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { type Logger, rateLimited, refusalWarnings } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { toRefusal } from '../../db/failures.ts'
import { LINGER_MS, letBy, requestIdOf } from '../../declare/request.ts'
import { closedOf, endWith, headOf, type Reply, refusalReply } from '../../declare/respond.ts'
import { gameTimeOf, type RestContext, type Route } from '../../declare/route.ts'
import { Readers } from '../live/readers.ts'
import { answerOf } from './upgrades.ts'

export interface WayInOptions {
  readonly routes: readonly Route[]
  readonly context: RestContext
  readonly log: Logger
  /** Counts the answers of a route. */
  readonly answersOf: Metrics['answersOf']
  readonly allowedOrigins: readonly string[]
}

const ALLOWED_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, traceparent, tracestate, x-operator, ' +
  'x-request-id, x-sdk-key'
const EXPOSED_HEADERS =
  'date, etag, ratelimit, ratelimit-policy, retry-after, tierway-as-of, tierway-game-time, x-request-id'

interface Endpoint {
  readonly path: string
  readonly respond: ReadonlyMap<string, Route['respond']>
  /** The methods that a preflight allows; null where OPTIONS is refused. */
  readonly methods: string | null
  /** The methods that OPTIONS and a 405 list. */
  readonly allow: string
  /** Whether every origin is refused, also a listed one. */
  readonly isOfServers: boolean
  readonly count: (status: number, milliseconds: number) => void
}

type Params = Readonly<Record<string, string>>

interface Found {
  readonly endpoint: Endpoint
  readonly params: Params
}

/** The one way in over HTTP: finds the route, runs it, renders errors, and sends the answer in one write. */
export function createWayIn({ routes, context, log, answersOf, allowedOrigins }: WayInOptions) {
  const warnRefused = refusalWarnings(log)
  const warnCutOff = rateLimited(log)
  const router = findMyWay({
    // Node limits the whole target. The handler reports faults of a parameter.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: () => ({}),
  })
  // One tree for all methods, so that a wrong method differs from a wrong path.
  for (const path of new Set(routes.map((route) => route.path))) {
    router.on('GET', path, () => undefined, endpointOf(path, answersOf, routes))
  }
  const nowhere = endpointOf('*', answersOf, [])
  const readers = new Readers()
  const NOWHERE: Found = { endpoint: nowhere, params: {} }

  function find(url: string): Found {
    // Text that is not valid percent-encoding is taken literally.
    const found = router.find('GET', url) ?? (url.includes('%') ? router.find('GET', url.replaceAll('%', '%25')) : null)
    const params = (found?.params ?? {}) as Params
    for (const name in params) if (params[name] === '') return { endpoint: nowhere, params }
    return { endpoint: found?.store ?? nowhere, params }
  }

  /** Answers a request. A request with a fault is refused before routing. */
  async function serve(request: IncomingMessage, response: ServerResponse, fault: Refusal | undefined): Promise<void> {
    const started = performance.now()
    const requestId = requestIdOf(request)
    const found = fault ? NOWHERE : find(request.url ?? '')
    const { endpoint } = found
    const reply = await replyTo(found, request, requestId, () => closedOf(response), fault)
    const { status, body } = reply
    letBy(request, response)
    response.writeHead(status, headersOf(endpoint, reply, request, requestId))
    const count = () => endpoint.count(status, performance.now() - started)
    if (!reply.pages || request.method === 'HEAD') endWith(response, body)
    else if (reply.isLive) {
      // It lasts for as long as its client listens.
      count()
      readers.add(response)
      return send(endpoint, reply.pages, response)
    } else await send(endpoint, reply.pages, response)
    count()
  }

  async function replyTo(
    { endpoint, params }: Found,
    request: IncomingMessage,
    requestId: string,
    closed: () => AbortSignal,
    fault: Refusal | undefined,
  ): Promise<Reply> {
    try {
      if (fault) throw fault
      return await respond(endpoint, params, request, closed)
    } catch (error) {
      return refuse(endpoint, error, requestId)
    }
  }

  /** The headers of an answer, except those of the connection: names and values in turn. */
  function headersOf(
    endpoint: Endpoint,
    { headers, body }: Reply,
    request: IncomingMessage,
    requestId: string,
  ): string[] {
    const { origin } = request.headers
    const all = [...headers, 'x-request-id', requestId, ...gameTimeOf(context, request)]
    if (body !== null) all.push('content-length', String(Buffer.byteLength(body)))
    const isOpen = isAllowed(endpoint, origin)
    if (isOpen) all.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED_HEADERS)
    // A cache must not give one origin the preflight of another.
    if (isOpen || request.method === 'OPTIONS') all.push('vary', 'origin')
    return all
  }

  /**
   * Sends pages as fast as the client takes them. An error midway closes the connection, so that the answer does not
   * look complete.
   */
  async function send({ path }: Endpoint, pages: AsyncIterable<string>, response: ServerResponse): Promise<void> {
    try {
      await pipeline(Readable.from(pages, { highWaterMark: 1 }), response)
    } catch (error) {
      response.destroy()
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ERR_STREAM_PREMATURE_CLOSE') warnCutOff(error, `an answer of ${path} was cut off`)
    }
  }

  function respond(
    endpoint: Endpoint,
    params: Params,
    request: IncomingMessage,
    closed: () => AbortSignal,
  ): Reply | Promise<Reply> {
    const { method = '' } = request
    const found = endpoint.respond.get(method)
    if (found) return found(context, request, params, closed)
    if (endpoint === nowhere) throw new Refusal('notFound')
    const { methods, allow } = endpoint
    if (method !== 'OPTIONS' || methods === null) throw new Refusal('methodNotAllowed')
    const headers = ['allow', allow]
    if (isAllowed(endpoint, request.headers.origin)) {
      headers.push('access-control-allow-methods', methods, 'access-control-allow-headers', ALLOWED_HEADERS)
      headers.push('access-control-max-age', '600')
    }
    return { status: 204, body: null, headers }
  }

  /** Logs a bug in full. The answer contains nothing of it. */
  function refuse({ path, allow }: Endpoint, error: unknown, requestId: string): Reply {
    const refusal = toRefusal(error)
    if (refusal?.isWarned) warnRefused(refusal, { path, requestId })
    if (!refusal) log.error({ path, requestId, err: error }, 'internal error')
    const reply = refusalReply(refusal ?? new Refusal('internalError'), requestId)
    return reply.status === 405 ? { ...reply, headers: [...reply.headers, 'allow', allow] } : reply
  }

  const isAllowed = ({ isOfServers }: Endpoint, origin: string | undefined): origin is string =>
    !isOfServers && origin !== undefined && allowedOrigins.includes(origin)

  const refused = new WeakSet<Duplex>()

  /** Handles Node's `clientError`: the bytes are no request, so there is a socket and no response. */
  function serveError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!refused.has(socket)) refuseSocket(error, socket)
    refused.add(socket)
  }

  function refuseSocket(error: NodeJS.ErrnoException, socket: Duplex): void {
    const answer = answerOf(socket)
    // The previous call is answered first, or its caller would take this answer for its own.
    if (answer?.req.complete) answer.once('close', () => refuseSocket(error, socket))
    else if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) socket.destroy()
    else {
      const requestId = randomUUID()
      const { status, headers, body } = refuse(nowhere, refusalOf(error), requestId)
      const all = [...headers, 'x-request-id', requestId, 'content-length', String(Buffer.byteLength(body ?? ''))]
      const date = new Date().toUTCString()
      nowhere.count(status, 0)
      // After a parse error the rest is discarded for a moment; a request that was only late may still arrive.
      const isOver = error.code?.startsWith('HPE_')
      if (isOver) setTimeout(() => socket.destroy(), LINGER_MS).unref()
      socket.end(
        `${headOf(status, all)}date: ${date}\r\nconnection: close\r\n\r\n${body}`,
        () => isOver || socket.destroy(),
      )
    }
  }

  return {
    /** The path of the route of a target, with its parameters' names; `*` without a route. */
    routeOf: (url: string): string => find(url.split('?', 1)[0] ?? '').endpoint.path,
    /** Never fails. */
    serve: (request: IncomingMessage, response: ServerResponse): Promise<void> =>
      serve(request, response, faultOf(request)),
    /** Handles Node's `checkExpectation`: expectations other than `100-continue`. */
    serveExpectation: (request: IncomingMessage, response: ServerResponse): Promise<void> =>
      serve(request, response, new Refusal('expectationFailed')),
    serveError,
    /** Call it when the live answers have ended. Waits until the rest is sent, with a limit. */
    stop: () => readers.stop(),
  }
}

export type WayIn = ReturnType<typeof createWayIn>

function endpointOf(path: string, answersOf: Metrics['answersOf'], routes: readonly Route[]): Endpoint {
  const here = routes.filter((route) => route.path === path)
  const respond = new Map<string, Route['respond']>(here.map((route) => [route.method, route.respond]))
  const get = respond.get('GET')
  if (get) respond.set('HEAD', get)
  const all = [...respond.keys()].sort().join(', ')
  const isPage = here.some((route) => route.isPage)
  return {
    path,
    respond,
    methods: isPage ? null : here.map(({ method }) => method).join(', '),
    allow: isPage ? all : `${all}, OPTIONS`,
    isOfServers: here.some((route) => route.isOfServers),
    count: answersOf(path),
  }
}

/**
 * The fault of a request that is found before routing: its target is no path, its host is missing or invalid, or it has
 * two credentials.
 */
function faultOf(request: IncomingMessage): Refusal | undefined {
  if (request.url?.[0] !== '/') return invalidRequest({ path: 'target', message: 'must be a path' })
  const repeated = repeatedHeader(request)
  if (repeated !== undefined) return invalidRequest({ path: repeated, message: 'must be sent once' })
  const fault = faultOfHost(request)
  return fault && invalidRequest(fault)
}

/** The fault of a host that is no name or address. HTTP/1.0 has requests without a host. */
export function faultOfHost({ headers: { host } }: IncomingMessage): Fault | undefined {
  if (host === undefined || (!/[/?#@\\]/.test(host) && URL.canParse(`http://${host}`))) return undefined
  return { path: 'host', message: 'must be the name or address of a host' }
}

/**
 * The header that a request does not have once: the host, which every version but HTTP/1.0 requires, and `Authorization`,
 * which some calls do not need. Of several, Node gives only the first: a proxy that takes another would serve other
 * calls, or other callers, than it allows.
 */
export function repeatedHeader({ rawHeaders, httpVersion }: IncomingMessage): 'host' | 'Authorization' | undefined {
  let hosts = 0
  let credentials = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 13 && name.toLowerCase() === 'authorization') credentials += 1
  }
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0')) return 'host'
  return credentials > 1 ? 'Authorization' : undefined
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headersTooLarge')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new Refusal('payloadTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('requestTimeout')
  return invalidRequest({ path: '', message: 'the request must be HTTP' })
}
