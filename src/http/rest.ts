import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { toRefusal } from '../db/failures.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { refusalResponse } from './respond.ts'
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
export function createRest({ routes, context, log, metrics, allowedOrigins }: RestOptions): Hono {
  const app = new Hono({ strict: true })

  function cors(request: Request, response: Response): void {
    const origin = request.headers.get('origin')
    if (origin === null || !allowedOrigins.includes(origin)) return
    response.headers.set('access-control-allow-origin', origin)
    response.headers.append('vary', 'origin')
    response.headers.set('access-control-expose-headers', 'x-request-id, retry-after')
  }

  async function answer(route: Route, request: Request, params: Record<string, string>): Promise<Response> {
    const started = performance.now()
    const sent = request.headers.get('x-request-id')
    const requestId = sent !== null && SANE_REQUEST_ID.test(sent) ? sent : randomUUID()
    let response: Response
    try {
      response = await route.respond(context, request, params)
    } catch (error) {
      response = refusalResponse(explain(error, route.path, requestId), requestId)
    }
    response.headers.set('x-request-id', requestId)
    if (allowedOrigins.length > 0) cors(request, response)
    metrics.requests.inc({ route: route.path, status: response.status })
    metrics.requestSeconds.observe({ route: route.path }, (performance.now() - started) / 1000)
    return response
  }

  /** A bug is logged whole and answered with nothing of it. */
  function explain(error: unknown, path: string, requestId: string): Refusal {
    const refusal = toRefusal(error)
    if (refusal?.status === 503) log.warn({ path, requestId, cause: String(refusal.cause ?? '') }, 'unavailable')
    if (refusal) return refusal
    log.error({ path, requestId, err: error }, 'internal error')
    return new Refusal('internalError')
  }

  for (const route of routes)
    app.on(route.method, route.path, (c) => answer(route, c.req.raw, c.req.param() as Record<string, string>))

  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method)
    const otherMethod: Route = {
      method: 'GET',
      path,
      respond: async () => {
        throw new Refusal('methodNotAllowed')
      },
    }
    app.all(path, async (c) => {
      if (c.req.method === 'OPTIONS') return preflight(c.req.raw, methods)
      const response = await answer(otherMethod, c.req.raw, {})
      response.headers.set('allow', methods.join(', '))
      return response
    })
  }

  function preflight(request: Request, methods: readonly string[]): Response {
    const response = new Response(null, { status: 204 })
    cors(request, response)
    if (response.headers.has('access-control-allow-origin')) {
      response.headers.set('access-control-allow-methods', methods.join(', '))
      response.headers.set('access-control-allow-headers', ALLOWED_HEADERS)
      response.headers.set('access-control-max-age', '600')
    }
    return response
  }

  const unknown: Route = {
    method: 'GET',
    path: '*',
    respond: async () => {
      throw new Refusal('notFound')
    },
  }
  app.notFound((c) => answer(unknown, c.req.raw, {}))
  return app
}
