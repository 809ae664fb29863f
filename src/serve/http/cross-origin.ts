import type { Endpoint } from './endpoints.ts'

// What pages of other origins may do (CORS).

const ALLOWED_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, traceparent, tracestate, x-operator, ' +
  'x-request-id, x-sdk-key'
const EXPOSED_HEADERS =
  'date, etag, ratelimit, ratelimit-policy, retry-after, tierway-as-of, tierway-game-time, x-request-id'

/** Whether pages of the origin may call the endpoint, and read its answers. */
export const isAllowed = (
  { isOfServers }: Endpoint,
  origin: string | undefined,
  allowedOrigins: readonly string[],
): origin is string => !isOfServers && origin !== undefined && allowedOrigins.includes(origin)

/** The headers by which a page of the origin may read an answer. */
export const readableBy = (origin: string): string[] => [
  'access-control-allow-origin',
  origin,
  'access-control-expose-headers',
  EXPOSED_HEADERS,
]

/** The headers of the answer to a preflight: which calls a page may make. */
export const callable = (methods: string): string[] => [
  'access-control-allow-methods',
  methods,
  'access-control-allow-headers',
  ALLOWED_HEADERS,
  'access-control-max-age',
  '600',
]
