import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { toRefusal } from '../db/failures.ts'
import { causeOf, Refusal, type RefusalKind } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { type Reply, refusalReply } from './respond.ts'
import type { RestContext, Route } from './route.ts'

export interface RestOptions {
  readonly routes: readonly Route[]
  readonly context: RestContext
  readonly log: Logger
  readonly metrics: Metrics
  readonly allowedOrigins: readonly string[]
}

/** What a caller may name a request, so that it can never break a log or a header. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/
const ALLOWED_HEADERS = 'authorization, content-type, idempotency-key, x-request-id, x-sdk-key'

/** The REST surface: finds the route, runs it, and renders whatever it throws. */
export function createRest({
  routes,
  context,
  log,
  metrics,
  allowedOrigins,
}: RestOptions): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>({ strict: true })

  function cors({ headers: { origin } }: IncomingMessage, headers: Record<string, string>): boolean {
    if (origin === undefined || !allowedOrigins.includes(origin)) return false
    headers['access-control-allow-origin'] = origin
    headers['access-control-expose-headers'] = 'x-request-id, retry-after'
    headers.vary = 'origin'
    return true
  }

  async function answer(
    route: Route,
    { incoming: request, outgoing }: HttpBindings,
    params: Record<string, string>,
  ): Promise<Reply> {
    const started = performance.now()
    const sent = request.headers['x-request-id']
    const requestId = typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID()
    let reply: Reply
    try {
      reply = await route.respond(context, request, params, outgoing as ServerResponse)
    } catch (error) {
      reply = refusalReply(explain(error, route.path, requestId), requestId)
    }
    reply.headers['x-request-id'] = requestId
    cors(request, reply.headers)
    metrics.requests.inc({ route: route.path, status: reply.status })
    metrics.requestSeconds.observe({ route: route.path }, (performance.now() - started) / 1000)
    return reply
  }

  /** A bug is logged whole and answered with nothing of it. */
  function explain(error: unknown, path: string, requestId: string): Refusal {
    const refusal = toRefusal(error)
    if (refusal?.status === 503) log.warn({ path, requestId, cause: causeOf(refusal) }, refusal.message)
    if (refusal) return refusal
    log.error({ path, requestId, err: error }, 'internal error')
    return new Refusal('internalError')
  }

  for (const route of routes) {
    app.on(route.method, route.path, async (c) =>
      send(await answer(route, c.env, c.req.param() as Record<string, string>)),
    )
  }

  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.flatMap((route) => (route.path === path ? [route.method] : [])).join(', ')
    app.all(path, async (c) => {
      if (c.req.method === 'OPTIONS') return preflight(c.env.incoming, methods)
      const reply = await answer(refusing('methodNotAllowed', path), c.env, {})
      reply.headers.allow = methods
      return send(reply)
    })
  }
  app.notFound(async (c) => send(await answer(refusing('notFound', '*'), c.env, {})))

  function preflight(request: IncomingMessage, methods: string): Response {
    const headers: Record<string, string> = {}
    if (cors(request, headers)) {
      headers['access-control-allow-methods'] = methods
      headers['access-control-allow-headers'] = ALLOWED_HEADERS
      headers['access-control-max-age'] = '600'
    }
    return new Response(null, { status: 204, headers })
  }

  return app
}

/** Made whole in one go, headers and all: then it is written to the socket as it is, without the objects of fetch. */
function send({ status, body, headers }: Reply): Response {
  return new Response(body, { status, headers })
}

/** What stands where there is no route, so that it is answered and counted like one. */
function refusing(kind: RefusalKind, path: string): Route {
  return {
    method: 'GET',
    path,
    respond: async () => {
      throw new Refusal(kind)
    },
  }
}
