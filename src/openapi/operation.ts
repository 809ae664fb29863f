import { REFUSALS, Refusal, type RefusalKind } from '../errors.ts'
import { requiredKey } from '../request/common.ts'
import { MAX_ID, MAX_OPERATOR, MAX_REASON, MAX_REQUEST_ID } from '../request/limits.ts'
import type { Schema } from '../request/shape.ts'
import { examples } from './examples.ts'
import { ref } from './schema-parts.ts'

export const TAGS = {
  'Battle pass': 'Xp, levels, tiers and premium, for the calling player.',
  Login: "Logins through the studio's webhook. These calls take the SDK key.",
  Player: 'The calling player, with its wallet, inventory and storage.',
  Scenarios: 'Runs of scenarios, for the calling player.',
  Platform: 'Login providers and scenarios, for operators with a platform key.',
  Service: 'The service itself: probes, metrics, keys and schemas. No credential is needed, except where noted.',
  Webhook: 'The endpoint that a studio implements and the service calls.',
}

type Tag = keyof typeof TAGS
type Security = 'playerToken' | 'platformKey' | 'sdkKey' | null

interface Operation {
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  /** With several, all are required. */
  readonly security: Security | readonly NonNullable<Security>[]
  readonly request?: string
  /** Null for a 204. */
  readonly response: string | Schema | null
  readonly refusals: readonly RefusalKind[]
  readonly parameters?: readonly Schema[]
  /** Further headers of the answer. */
  readonly headers?: Schema
  /** Default: JSON. */
  readonly mediaType?: string
}

const EVERY_CALL: readonly RefusalKind[] = [
  'invalidRequest',
  'invalidToken',
  'payloadTooLarge',
  'unsupportedMediaType',
  'rateLimited',
  'internalError',
  'unavailable',
]
export const PLAYER_CALL: readonly RefusalKind[] = [...EVERY_CALL, 'playerBanned', 'playerDeleted']
export const RUN_CALL: readonly RefusalKind[] = [
  ...PLAYER_CALL,
  'scenarioNotFound',
  'nodeNotFound',
  'runNotFound',
  'runNotActive',
]
export const PLATFORM_CALL: readonly RefusalKind[] = [...EVERY_CALL, 'forbidden', 'environmentNotFound']

export const CLIENT_CALL: readonly RefusalKind[] = [
  ...EVERY_CALL.filter((kind) => kind !== 'invalidToken'),
  'invalidSdkKey',
]
/** Spec 7.1. */
export const CUSTOM_AUTH: readonly RefusalKind[] = [
  'customAuthDisabled',
  'customAuthRejected',
  'customAuthInvalidData',
  'playerBanned',
  'playerDeleted',
  'customAuthInvalidResponse',
  'customAuthUnavailable',
]

export const query = (
  name: string,
  required: boolean,
  description: string,
  schema: Schema = { type: 'string' },
): Schema => ({
  in: 'query',
  name,
  required,
  description,
  schema,
})
const path = (name: string, description: string): Schema => ({
  in: 'path',
  name,
  required: true,
  description,
  schema: { type: 'string' },
})
export const header = (name: string, description: string): Schema => ({
  in: 'header',
  name,
  required: false,
  description,
  schema: { type: 'string' },
})
export const projectId = path('projectId', 'The project of the platform key.')
export const keyHeader: Schema = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: requiredKey.schema,
  description:
    'For 7 days, the same key with the same request gets the same answer. In UTF-8, without control characters, and ' +
    'without a space at its ends. `"abc"` in quotation marks is the key `abc`.',
}
export const operatorParameter = header(
  'X-Operator',
  `The person who acts with the key, by name or e-mail address: 1 to ${MAX_OPERATOR} characters, kept in the audit log.`,
)
export const reasonParameter = query('reason', false, `Why: 1 to ${MAX_REASON} characters, kept in the audit log.`)
export const scenarioParameters = [
  projectId,
  path('scenarioId', `The scenario: 1 to ${MAX_ID} characters.`),
  query('environment', true, 'The environment, such as `production`.'),
]

export const REQUEST_ID: Schema = {
  description: 'Id of the request in the log. A valid `X-Request-Id` of the request is kept.',
  schema: { type: 'string', maxLength: MAX_REQUEST_ID },
}
export const VERSION_TAG: Schema = {
  description:
    'The version in quotation marks, such as `"4"`. Send it as `If-Match` to publish over this version only.',
  schema: { type: 'string' },
}
export const SETTINGS_TAG: Schema = {
  description: 'Names the state of the settings of one environment. Send it as `If-Match` to change this state only.',
  schema: { type: 'string' },
}
const RATE_LIMIT: Schema = {
  description: 'The exceeded limit: calls that are left, and seconds to wait, such as `"player";r=0;t=1`.',
  schema: { type: 'string' },
}
const RATE_LIMIT_POLICY: Schema = {
  description: 'The exceeded limit: calls in seconds, such as `"player";q=3000;w=60`.',
  schema: { type: 'string' },
}
const RETRY_AFTER: Schema = { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } }

export function operation({
  id: operationId,
  tag,
  summary,
  security,
  request: body,
  response,
  refusals,
  parameters = [],
  headers: further = {},
  mediaType,
}: Operation): Schema {
  // Answers about the service itself come from no route and have no id.
  const headers = tag === 'Service' ? {} : { headers: { 'X-Request-Id': REQUEST_ID, ...further } }
  return {
    operationId,
    tags: [tag],
    summary,
    security: security === null ? [] : [Object.fromEntries([security].flat().map((scheme) => [scheme, []]))],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      ...(response === null
        ? { 204: { description: 'Success.', ...headers } }
        : { 200: { description: 'Success.', ...headers, content: contentOf(response, mediaType) } }),
      ...refusalsOf(refusals),
    },
  }
}

/** The refusals by status, each with its text and an example. */
export function refusalsOf(kinds: readonly RefusalKind[]): Schema {
  const byStatus = new Map<number, RefusalKind[]>()
  for (const kind of new Set(kinds)) {
    const [status] = REFUSALS[kind]
    byStatus.set(status, [...(byStatus.get(status) ?? []), kind])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      {
        description: found.map((kind) => `\`${REFUSALS[kind][1]}\``).join(', '),
        headers: {
          'X-Request-Id': REQUEST_ID,
          ...((status === 429 || status === 503) && { 'Retry-After': RETRY_AFTER }),
          ...(status === 429 && { RateLimit: RATE_LIMIT, 'RateLimit-Policy': RATE_LIMIT_POLICY }),
        },
        content: {
          'application/json': { schema: ref('Error'), examples: Object.fromEntries(found.map(errorExample)) },
        },
      },
    ]),
  )
}

function errorExample(kind: RefusalKind): [name: string, example: Schema] {
  const { message: error, code, status } = new Refusal(kind)
  const conflict = [{ path: 'If-Match', message: 'the current version is 5, not 4' }]
  const details = [{ path: 'amount', message: 'must be 1 to 9223372036854775807' }]
  const requestId = 'b7d5a0a4-6c1e-4a53-9f57-0f6a1f6f2f6e'
  return [
    code,
    {
      value: {
        error,
        code,
        requestId,
        ...((status === 400 || status === 412) && { details: status === 412 ? conflict : details }),
      },
    },
  ]
}

export const content = (schema: Schema): Schema => ({ 'application/json': { schema } })

export function contentOf(schema: string | Schema, mediaType?: string): Schema {
  if (mediaType !== undefined) return { [mediaType]: { schema: typeof schema === 'string' ? ref(schema) : schema } }
  if (typeof schema !== 'string') return content(schema)
  return { 'application/json': { schema: ref(schema), ...(schema in examples && { example: examples[schema] }) } }
}

export const webhookHeader = (name: string, description: string): Schema => ({
  in: 'header',
  name,
  required: true,
  description,
  schema: { type: 'string' },
})
