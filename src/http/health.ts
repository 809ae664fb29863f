import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Tokens } from '../auth/tokens.ts'
import type { Config } from '../config.ts'
import { print } from '../json.ts'
import type { Metrics } from '../metrics.ts'
import { openapi } from '../openapi.ts'
import { definitionSchemaText } from '../scenario/definition-schema.ts'

export interface HealthOptions {
  readonly metrics: Metrics
  readonly tokens: Tokens
  readonly config: Config
  /** Migrated, and the database answers. */
  readonly isReady: () => Promise<boolean>
  /** All works, but something is slower for it: Redis is away. */
  readonly isDegraded: () => boolean
}

/** Readiness is asked often and must never hang with the database. */
const READY_TIMEOUT_MS = 1_000

/** What machines ask the service about itself: health, metrics, public keys, descriptions of the API and of scenarios. */
export function createHealth({ metrics, tokens, config, isReady, isDegraded }: HealthOptions) {
  const document = JSON.stringify(openapi)
  const jwks = JSON.stringify(tokens.jwks)
  const openMetrics = config.metricsPort === null && (config.metricsToken !== null || !config.production)

  let look: Promise<boolean> | undefined

  /** One look at a time, whoever asks meanwhile: each would take a connection of the database. */
  function looked(): Promise<boolean> {
    look ??= isReady()
      .catch(() => false)
      .finally(() => {
        look = undefined
      })
    return look
  }

  async function serveReady(response: ServerResponse): Promise<void> {
    const timeout = new Promise<boolean>((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, false).unref())
    const ready = await Promise.race([looked(), timeout])
    const status = isDegraded() ? 'degraded' : 'ready'
    send(response, ready ? 200 : 503, print({ status: ready ? status : 'unavailable' }))
  }

  function serveMetrics(request: IncomingMessage, response: ServerResponse): void {
    if (config.metricsPort === null && config.metricsToken !== null && !hasToken(request, config.metricsToken)) {
      send(response, 401, print({ error: 'invalid token', code: 'invalid_token' }))
      return
    }
    metrics.registry.metrics().then(
      (text) => send(response, 200, text, metrics.registry.contentType),
      () => send(response, 500, print({ error: 'internal error', code: 'internal_error' })),
    )
  }

  /** Answers when the path is one of these; false leaves the request to others. */
  function serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    switch (path) {
      case '/livez':
        send(response, 200, print({ status: 'live' }))
        return true
      case '/readyz':
        void serveReady(response)
        return true
      case '/metrics':
        if (openMetrics) serveMetrics(request, response)
        return openMetrics
      case '/.well-known/jwks.json':
        send(response, 200, jwks)
        return true
      case '/openapi.json':
        send(response, 200, document)
        return true
      case '/schemas/scenario.json':
        send(response, 200, definitionSchemaText)
        return true
      default:
        return false
    }
  }

  return { serve, serveMetrics }
}

function hasToken(request: IncomingMessage, token: string): boolean {
  const sent = Buffer.from(request.headers.authorization?.replace(/^Bearer +/i, '') ?? '')
  const expected = Buffer.from(token)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function send(response: ServerResponse, status: number, body: string, type = 'application/json; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
