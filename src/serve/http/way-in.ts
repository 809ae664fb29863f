import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { type Logger, rateLimited, refusalWarnings } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { toRefusal } from '../../db/failures.ts'
import { letBy, requestIdOf } from '../../declare/request.ts'
import { closedOf, endWith, type Reply, refusalReply } from '../../declare/respond.ts'
import { gameTimeOf, type RestContext, type Route } from '../../declare/route.ts'
import { Readers } from '../live/readers.ts'
import { callable, isAllowed, readableBy } from './cross-origin.ts'
import { type Endpoint, Endpoints, type Found, type Params } from './endpoints.ts'
import { refusingSockets } from './refuse-sockets.ts'

export interface WayInOptions {
  readonly routes: readonly Route[]
  readonly context: RestContext
  readonly log: Logger
  /** Counts the answers of a route. */
  readonly answersOf: Metrics['answersOf']
  readonly allowedOrigins: readonly string[]
}

/** The one way in over HTTP: finds the route, runs it, renders errors, and sends the answer in one write. */
export function createWayIn({ routes, context, log, answersOf, allowedOrigins }: WayInOptions) {
  const endpoints = new Endpoints(routes, answersOf)
  const { nowhere } = endpoints
  const readers = new Readers()
  const entry: Entry = {
    context,
    allowedOrigins,
    endpoints,
    readers,
    log,
    warnRefused: refusalWarnings(log),
    warnCutOff: rateLimited(log),
  }
  return {
    /** The path of the route of a target, with its parameters' names; `*` without a route. */
    routeOf: (url: string): string => endpoints.find(url.split('?', 1)[0] ?? '').endpoint.path,
    /** Never fails. */
    serve: (request: IncomingMessage, response: ServerResponse): Promise<void> =>
      serve(entry, request, response, faultOf(request)),
    /** Handles Node's `checkExpectation`: expectations other than `100-continue`. */
    serveExpectation: (request: IncomingMessage, response: ServerResponse): Promise<void> =>
      serve(entry, request, response, new Refusal('expectationFailed')),
    /** Handles Node's `clientError`. */
    serveError: refusingSockets((refusal, requestId) => {
      const reply = refuse(entry, nowhere, refusal, requestId)
      nowhere.count(reply.status, 0)
      return reply
    }),
    /** Call it when the live answers have ended. Waits until the rest is sent, with a limit. */
    stop: () => readers.stop(),
  }
}

export type WayIn = ReturnType<typeof createWayIn>

/** What every request needs. */
interface Entry {
  readonly context: RestContext
  readonly allowedOrigins: readonly string[]
  readonly endpoints: Endpoints
  /** The live answers under way. */
  readonly readers: Readers
  readonly log: Logger
  readonly warnRefused: ReturnType<typeof refusalWarnings>
  readonly warnCutOff: ReturnType<typeof rateLimited>
}

/** Answers a request. A request with a fault is refused before routing. */
async function serve(
  entry: Entry,
  request: IncomingMessage,
  response: ServerResponse,
  fault: Refusal | undefined,
): Promise<void> {
  const started = performance.now()
  const requestId = requestIdOf(request)
  const found = fault ? { endpoint: entry.endpoints.nowhere, params: {} } : entry.endpoints.find(request.url ?? '')
  const { endpoint } = found
  const reply = await replyTo(entry, found, request, requestId, () => closedOf(response), fault)
  const { status, body } = reply
  letBy(request, response)
  response.writeHead(status, headersOf(entry, endpoint, reply, request, requestId))
  const count = () => endpoint.count(status, performance.now() - started)
  if (!reply.pages || request.method === 'HEAD') endWith(response, body)
  else if (reply.isLive) {
    // It lasts for as long as its client listens.
    count()
    entry.readers.add(response)
    return send(entry, endpoint, reply.pages, response)
  } else await send(entry, endpoint, reply.pages, response)
  count()
}

async function replyTo(
  entry: Entry,
  { endpoint, params }: Found,
  request: IncomingMessage,
  requestId: string,
  closed: () => AbortSignal,
  fault: Refusal | undefined,
): Promise<Reply> {
  try {
    if (fault) throw fault
    return await respond(entry, endpoint, params, request, closed)
  } catch (error) {
    return refuse(entry, endpoint, error, requestId)
  }
}

function respond(
  { context, endpoints, allowedOrigins }: Entry,
  endpoint: Endpoint,
  params: Params,
  request: IncomingMessage,
  closed: () => AbortSignal,
): Reply | Promise<Reply> {
  const { method = '' } = request
  const found = endpoint.respond.get(method)
  if (found) return found(context, request, params, closed)
  if (endpoint === endpoints.nowhere) throw new Refusal('notFound')
  const { methods, allow } = endpoint
  if (method !== 'OPTIONS' || methods === null) throw new Refusal('methodNotAllowed')
  const headers = ['allow', allow]
  if (isAllowed(endpoint, request.headers.origin, allowedOrigins)) headers.push(...callable(methods))
  return { status: 204, body: null, headers }
}

/** Logs a bug in full. The answer contains nothing of it. */
function refuse({ log, warnRefused }: Entry, { path, allow }: Endpoint, error: unknown, requestId: string): Reply {
  const refusal = toRefusal(error)
  if (refusal?.isWarned) warnRefused(refusal, { path, requestId })
  if (!refusal) log.error({ path, requestId, err: error }, 'internal error')
  const reply = refusalReply(refusal ?? new Refusal('internalError'), requestId)
  return reply.status === 405 ? { ...reply, headers: [...reply.headers, 'allow', allow] } : reply
}

/** The headers of an answer, except those of the connection: names and values in turn. */
function headersOf(
  { context, allowedOrigins }: Entry,
  endpoint: Endpoint,
  { headers, body }: Reply,
  request: IncomingMessage,
  requestId: string,
): string[] {
  const { origin } = request.headers
  const all = [...headers, 'x-request-id', requestId, ...gameTimeOf(context, request)]
  if (body !== null) all.push('content-length', String(Buffer.byteLength(body)))
  const isOpen = isAllowed(endpoint, origin, allowedOrigins)
  if (isOpen) all.push(...readableBy(origin))
  // A cache must not give one origin the preflight of another.
  if (isOpen || request.method === 'OPTIONS') all.push('vary', 'origin')
  return all
}

/**
 * Sends pages as fast as the client takes them. An error midway closes the connection, so that the answer does not look
 * complete.
 */
async function send(
  { warnCutOff }: Entry,
  { path }: Endpoint,
  pages: AsyncIterable<string>,
  response: ServerResponse,
): Promise<void> {
  try {
    await pipeline(Readable.from(pages, { highWaterMark: 1 }), response)
  } catch (error) {
    response.destroy()
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_STREAM_PREMATURE_CLOSE') warnCutOff(error, `an answer of ${path} was cut off`)
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
