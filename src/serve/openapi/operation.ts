import { REFUSALS, Refusal, type RefusalKind } from '../../base/errors.ts'
import { groupBy } from '../../base/group-by.ts'
import { MAX_REQUEST_ID } from '../../base/limits.ts'
import { answer, type Named, out, referTo } from '../../declare/answer.ts'
import { requiredKey } from '../../declare/common.ts'
import { type Contract, header, type PublishedCall } from '../../declare/contract.ts'
import { isKeyed } from '../../declare/idempotency-header.ts'
import type { Schema } from '../../declare/shape.ts'
import { BAN_KINDS } from '../../players/player-status.ts'

const EVERY_CALL: readonly RefusalKind[] = [
  'invalidRequest',
  'invalidToken',
  'payloadTooLarge',
  'unsupportedMediaType',
  'rateLimited',
  'internalError',
  'unavailable',
]
const CLIENT_CALL: readonly RefusalKind[] = [...EVERY_CALL.filter((kind) => kind !== 'invalidToken'), 'invalidSdkKey']

/** The credentials of a call, all of which are required, and the refusals of every such call. */
const ACCESS: Readonly<
  Record<PublishedCall['access'], { readonly security: readonly string[]; readonly refusals: readonly RefusalKind[] }>
> = {
  player: { security: ['playerToken'], refusals: [...EVERY_CALL, 'playerBanned', 'playerDeleted'] },
  client: { security: ['sdkKey'], refusals: CLIENT_CALL },
  link: { security: ['sdkKey', 'playerToken'], refusals: [...CLIENT_CALL, 'invalidToken'] },
  server: { security: ['serverKey'], refusals: [...EVERY_CALL, 'forbidden'] },
  platform: { security: ['platformKey'], refusals: [...EVERY_CALL, 'forbidden', 'environmentNotFound'] },
}

const text = { type: 'string' }

const keyHeader = header(
  'Idempotency-Key',
  'For 7 days, the same key with the same request gets the same answer. In UTF-8, without control characters, and ' +
    'without a space at its ends. `"abc"` in quotation marks is the key `abc`.',
  requiredKey.schema,
)
const tagHeader = header('If-None-Match', 'The `ETag` of an earlier answer: where it still holds, the answer is a 304.')
const TAG: Schema = {
  ETag: { description: 'The same while nothing changes but the seconds that are left. It is weak.', schema: text },
}
const REQUEST_ID: Schema = {
  description: 'Id of the request in the log. A valid `X-Request-Id` of the request is kept.',
  schema: { type: 'string', maxLength: MAX_REQUEST_ID },
}
const GAME_TIME: Schema = {
  description: "The game's time, where the environment of the caller has a clock for tests. Absent in production.",
  schema: { type: 'string', format: 'date-time' },
}
const RETRY_AFTER: Schema = { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } }
const RATE_LIMITS: Schema = {
  RateLimit: {
    description: 'The exceeded limit: calls that are left, and seconds to wait, such as `"player";r=0;t=1`.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The exceeded limit: calls in seconds, such as `"player";q=3000;w=60`.',
    schema: text,
  },
}

const faults = out.list(
  answer('A fault.', {
    path: out.text('Path of the faulty member, such as `amount`.'),
    message: out.text('The fault.'),
  }),
  'For 400: every fault of the request. For 412: the current version. For 503: that nothing was done, where that is known.',
)

/** Further facts of refusals, by the name of the member. */
const facts: Schema = {
  type: 'object',
  description: 'For some other refusals: further facts. Each member belongs to few of them.',
  properties: {
    reason: {
      type: 'object',
      description: "For `custom_auth_rejected`: why the studio's webhook denied the player.",
      required: ['code', 'text'],
      additionalProperties: false,
      properties: {
        code: out.text('A word to match on, such as `maintenance`.').schema,
        text: out.orNull(out.text('A text for the player; null for none.')).schema,
      },
    },
    ban: {
      type: 'object',
      description: 'For `player_banned`, of a ban with an end or a reason, or of logins alone.',
      required: ['kind', 'until', 'reason'],
      additionalProperties: false,
      properties: {
        kind: out.oneOf(BAN_KINDS, { description: 'The calls that are refused.' }).schema,
        until: out.orNull(out.time('When the ban ends by itself; null for one that is lifted.')).schema,
        reason: out.orNull(out.text('A text for the player; null for none.')).schema,
      },
    },
    conflict: {
      type: 'object',
      description: 'For `identity_already_linked`: the way to the other player.',
      required: ['ticket', 'expiresAt'],
      additionalProperties: false,
      properties: {
        ticket: out.text('Signs in to the player that has the identity: `authorization/switch` takes it once.').schema,
        expiresAt: out.time('The end of the ticket, in UTC.').schema,
      },
    },
  },
  additionalProperties: false,
}

export const error: Named = {
  name: 'Error',
  schema: {
    type: 'object',
    required: ['error', 'code', 'requestId'],
    additionalProperties: false,
    properties: {
      error: out.text('The error, for people.').schema,
      code: out.text('The error in snake_case, for programs.').schema,
      requestId: out.text('The same as the header `X-Request-Id`.').schema,
      details: { anyOf: [faults.schema, facts] },
    },
  },
}

export function operationOf({ access, request, body = request, refusals = [], ...call }: PublishedCall): Schema {
  const { security, refusals: common } = ACCESS[access]
  const takesKey = request !== undefined && isKeyed(request)
  const parameters = [...(call.parameters ?? []), ...(takesKey ? [keyHeader] : []), ...(call.hasTag ? [tagHeader] : [])]
  return {
    ...introOf(call),
    security: [Object.fromEntries(security.map((scheme) => [scheme, []]))],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body, call.bodyType) } }),
    responses: { ...success(call), ...refusalsOf([...common, ...refusals]), ...ANYWHERE },
  }
}

/** An operation without credentials. Its answer comes from no route and has no id. */
export const openOperation = (call: Contract): Schema => ({
  ...introOf(call),
  security: [],
  responses: { 200: { description: 'Success.', content: call.answer && contentOf(call.answer) }, ...ANYWHERE },
})

const introOf = ({ id, tag, summary }: Omit<Contract, 'refusals'>): Schema => ({
  operationId: id,
  tags: [tag],
  summary,
})

function success({ answer, headers: further, mediaType, hasTag }: Omit<Contract, 'refusals'>): Schema {
  const own = { 'X-Request-Id': REQUEST_ID, 'Tierway-Game-Time': GAME_TIME }
  const shared = { description: 'Success.', headers: { ...own, ...further, ...(hasTag && TAG) } }
  if (hasTag && answer)
    return {
      200: { ...shared, content: contentOf(answer, mediaType) },
      304: { description: 'The client has this answer.', headers: shared.headers },
    }
  return answer === null ? { 204: shared } : { 200: { ...shared, content: contentOf(answer, mediaType) } }
}

export const contentOf = (named: Named, mediaType = 'application/json'): Schema => ({
  [mediaType]: { schema: referTo(named), ...(named.example !== undefined && { example: named.example }) },
})

export const plainText = (description: string, hasId: boolean): Schema => ({
  200: {
    description,
    ...(hasId && { headers: { 'X-Request-Id': REQUEST_ID } }),
    content: { 'text/plain': { schema: text } },
  },
})

const DETAILS: Readonly<Record<number, Schema>> = {
  400: { path: 'amount', message: 'must be 1 to 9223372036854775807' },
  412: { path: 'If-Match', message: 'the current version is 5, not 4' },
}

export function refusalsOf(kinds: readonly RefusalKind[]): Schema {
  return Object.fromEntries(
    [...groupBy(new Set(kinds), (kind) => REFUSALS[kind][0])].map(([status, found]) => [
      status,
      refusal(found, found.map((kind) => `\`${REFUSALS[kind][1]}\``).join(', '), {
        ...((status === 429 || status === 503) && { 'Retry-After': RETRY_AFTER }),
        ...(status === 429 && RATE_LIMITS),
      }),
    ]),
  )
}

const refusal = (kinds: readonly RefusalKind[], description: string, headers?: Schema): Schema => ({
  description,
  headers: { 'X-Request-Id': REQUEST_ID, ...headers },
  content: { 'application/json': { schema: referTo(error), examples: Object.fromEntries(kinds.map(errorExample)) } },
})

const ALLOW: Schema = { description: 'The methods of the path, such as `POST, OPTIONS`.', schema: text }

/** Refusals of every path that come before a call is looked at. */
export const responses: Readonly<Record<string, Schema>> = {
  MethodNotAllowed: refusal(['methodNotAllowed'], 'The path has other methods: see `Allow`.', { Allow: ALLOW }),
  RequestTimeout: refusal(['requestTimeout'], 'The request did not arrive in time.'),
  ExpectationFailed: refusal(['expectationFailed'], 'The header `Expect` is not `100-continue`.'),
  HeadersTooLarge: refusal(['headersTooLarge'], 'The headers of the request exceed the limit.'),
}

/** References to them, by status. */
export const ANYWHERE: Schema = Object.fromEntries(
  Object.entries({
    405: 'MethodNotAllowed',
    408: 'RequestTimeout',
    417: 'ExpectationFailed',
    431: 'HeadersTooLarge',
  }).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
)

function errorExample(kind: RefusalKind): [name: string, example: Schema] {
  const { message: words, code, status } = new Refusal(kind)
  const detail = DETAILS[status]
  const requestId = 'b7d5a0a4-6c1e-4a53-9f57-0f6a1f6f2f6e'
  return [code, { value: { error: words, code, requestId, ...(detail && { details: [detail] }) } }]
}
