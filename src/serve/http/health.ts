import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Config } from '../../base/config.ts'
import { Refusal } from '../../base/errors.ts'
import { print } from '../../base/json.ts'
import type { Metrics } from '../../base/metrics.ts'
import { requirePlatform } from '../../callers/access.ts'
import type { Tokens } from '../../callers/tokens.ts'
import { JSON_TYPE, type Reply } from '../../declare/respond.ts'
import { accessFor, type Route } from '../../declare/route.ts'
import { definitionSchemaText } from '../../game/definition/schema.ts'
import { printedSchema } from '../../schema.ts'
import { openapi } from '../openapi/document.ts'

export interface HealthOptions {
  readonly metrics: Metrics
  readonly tokens: Tokens
  readonly config: Config
  /** Why this instance should get no calls; undefined when it should. Rejects when Postgres cannot be used. */
  readonly whyUnready: () => Promise<string | undefined>
  /** Why Postgres refuses writes although it answers; undefined when it takes them. */
  readonly whyReadOnly: () => Promise<string | undefined>
  /** Everything works, but some of it more slowly: Redis is unreachable. */
  readonly isDegraded: () => boolean
}

export interface Readiness {
  readonly isUp: boolean
  /** Postgres answers and refuses writes. */
  readonly isReadOnly: boolean
  /** Why it is not up, or refuses writes, for a person. */
  readonly reason: string | undefined
}

/** The log has the cause. The answer has none, since anyone may ask. */
const UNREADY: Readiness = { isUp: false, isReadOnly: false, reason: 'Postgres does not answer' }
/** Readiness must answer even when the database hangs. */
const READY_TIMEOUT_MS = 1_000

/** The routes for machines: health, metrics, public keys, descriptions of the API and of scenarios. */
export function createHealth({ metrics, tokens, config, whyUnready, whyReadOnly, isDegraded }: HealthOptions) {
  let look: Promise<Readiness> | undefined

  /** Concurrent requests share one check: each check takes a connection of the database. */
  function looked(): Promise<Readiness> {
    look ??= Promise.all([whyUnready(), whyReadOnly()])
      .then(([unready, readOnly]) => ({
        isUp: unready === undefined,
        isReadOnly: unready === undefined && readOnly !== undefined,
        reason: unready ?? readOnly,
      }))
      .catch(() => UNREADY)
      .finally(() => {
        look = undefined
      })
    return look
  }

  function ready(): Promise<Readiness> {
    const timeout = new Promise<Readiness>((resolve) => setTimeout(resolve, READY_TIMEOUT_MS, UNREADY).unref())
    return Promise.race([looked(), timeout])
  }

  async function respondReady(): Promise<Reply> {
    const { isUp, isReadOnly, reason } = await ready()
    const status = isDegraded() ? 'degraded' : 'ready'
    const body = {
      status: isUp ? status : 'unavailable',
      ...(isReadOnly && { writes: 'refused' }),
      ...(reason !== undefined && { reason }),
    }
    return text(print(body), isUp ? 200 : 503)
  }

  async function respondMetrics(_context: unknown, { headers }: IncomingMessage): Promise<Reply> {
    const { metricsPort, metricsToken } = config
    if (metricsPort === null && metricsToken !== null && !hasToken(headers, metricsToken))
      throw new Refusal('invalidToken')
    const { registry } = metrics
    return { status: 200, body: await registry.metrics(), headers: ['content-type', registry.contentType] }
  }

  let schemaText: Buffer | undefined

  /** Open where introspection is allowed; elsewhere it requires a platform key. */
  const respondSchema: Route['respond'] = async (context, request) => {
    if (!config.introspection) await requirePlatform(accessFor(context, request), 'read')
    schemaText ??= Buffer.from(printedSchema())
    return { status: 200, body: schemaText, headers: ['content-type', 'text/plain; charset=utf-8'] }
  }

  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, respond })
  // Bytes, since a text of this length would be encoded for each answer.
  const document = Buffer.from(JSON.stringify(openapi))
  const definitionSchema = Buffer.from(definitionSchemaText)
  const jwks = JSON.stringify(tokens.jwks)
  const hasMetrics = config.metricsPort === null && (config.metricsToken !== null || !config.production)
  return {
    routes: [
      get('/livez', () => text(print({ status: 'live' }))),
      get('/readyz', respondReady),
      ...(hasMetrics ? [get('/metrics', respondMetrics)] : []),
      get('/.well-known/jwks.json', () => text(jwks)),
      get('/openapi.json', () => text(document)),
      get('/schemas/scenario.json', () => text(definitionSchema)),
      get('/schema.graphql', respondSchema),
    ],
    ready,
    /** The metrics on a separate port, at any path. */
    metricsRoutes: [get('*', respondMetrics)],
  }
}

const text = (body: string | Buffer, status = 200): Reply => ({ status, body, headers: JSON_TYPE })

function hasToken({ authorization }: IncomingHttpHeaders, token: string): boolean {
  const sent = Buffer.from(authorization?.replace(/^Bearer +/i, '') ?? '')
  const expected = Buffer.from(token)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}
