import type { IncomingMessage } from 'node:http'
import type { GraphQLError, GraphQLSchema } from 'graphql'
import { type Fault, Refusal, type RefusalKind, withUnknownOutcome } from '../../base/errors.ts'
import { MAX_LIST_CURSOR, MAX_PAGE } from '../../base/limits.ts'
import { type Caller, requirePlatform } from '../../callers/access.ts'
import { requireKey } from '../../callers/keys.ts'
import { operatorParameter, type PublishedCall, projectId, query, requiredQuery } from '../../declare/contract.ts'
import { DEFAULT_SIZE } from '../../declare/graphql/page.ts'
import { isKeyed, withKey } from '../../declare/idempotency-header.ts'
import type { OperatorCall } from '../../declare/operator-call.ts'
import type { OperatorRead } from '../../declare/operator-read.ts'
import { isRepeated, QuerySource } from '../../declare/query-source.ts'
import { json } from '../../declare/respond.ts'
import { accessFor, parametersOf, type RestContext, type Route, readSource } from '../../declare/route.ts'
import { type Field, type Fields, int32, optional, type Schema, type Shape, shape, text } from '../../declare/shape.ts'
import type { JsonSource, Source } from '../../declare/source.ts'
import { addUnknownMembers, queryFaults } from '../../declare/unknown-names.ts'
import {
  createAnswers,
  createRewording,
  type PayloadJson,
  type RestAnswers,
  type Rewording,
} from './graphql-to-rest.ts'
import { admit, runCall } from './run-call.ts'

/** The name of a call in its path: `end-boost` for `endBoost`. */
export const kebabOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/**
 * A route of each call and query: `POST /platform/v1/projects/{projectId}/end-boost` for `endBoost`, and
 * `GET /platform/v1/projects/{projectId}/grant-jobs?environment=production` for `grantJobs`.
 */
export function operatorRoutes(
  calls: readonly OperatorCall[],
  reads: readonly OperatorRead[],
  schema: GraphQLSchema,
): readonly Route[] {
  const reworded = createRewording(schema)
  const answers = createAnswers(schema, reworded)
  return [
    ...reads.filter(({ hasOwnRoute }) => !hasOwnRoute).map((read) => readRoute(read, answers, reworded)),
    ...calls.map((call) => callRoute(call, answers, reworded)),
  ]
}

const pathOf = (name: string): string => `/platform/v1/projects/:projectId/${kebabOf(name)}`
const idOf = (name: string): string => `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`

function callRoute(call: OperatorCall, { payloadOf }: RestAnswers, reworded: Rewording): Route {
  const payload = payloadOf(call.name)
  return {
    method: 'POST',
    path: pathOf(call.name),
    contract: contractOf(call, payload, reworded),
    respond: (context, message, params) => respond(call, payload, context, message, params.projectId),
  }
}

function contractOf(call: OperatorCall, { named }: PayloadJson, reworded: Rewording): PublishedCall {
  const { name, summary, request, refusals = [] } = call
  const reused: readonly RefusalKind[] = isKeyed(request) ? ['idempotencyKeyReused'] : []
  return {
    id: idOf(name),
    tag: 'Operators',
    summary: reworded(summary),
    access: 'platform',
    request,
    answer: named,
    body: { schema: reworded(bodySchema(request)) },
    parameters: [projectId, operatorParameter],
    refusals: ['notFound', 'persistedQueryRequired', ...refusals, ...reused],
  }
}

/** The key may come in the header instead. */
function bodySchema({ schema }: Shape<Fields>): Schema {
  const required = (schema.required as readonly string[]).filter((name) => name !== 'idempotencyKey')
  return { ...schema, required, additionalProperties: false }
}

async function respond(
  call: OperatorCall,
  { read }: PayloadJson,
  context: RestContext,
  message: IncomingMessage,
  project: string | undefined,
) {
  const { service, prisma } = context
  if (context.isPersistedOnly) throw new Refusal('persistedQueryRequired')
  const access = accessFor(context, message)
  // Credentials are checked before the body is read.
  const caller = await access.caller()
  const to = { access, service, ...(project !== undefined && { projectId: project.toLowerCase() }) }
  const body = await receive(context, message, caller, () => admit(call, to))
  const faults: Fault[] = [...queryFaults(parametersOf(message), [])]
  addUnknownMembers(faults, body.values, call.request.schema)
  const source = withKeyOf(call, message, body, faults)
  let outcome: object
  try {
    outcome = await runCall(call, { ...to, source, faults })
  } finally {
    // Its lists show what it changed, also when the answer is lost.
    if (caller.kind === 'platform') service.reads.changed(caller.keyId)
  }
  try {
    const { answer, errors } = await read(outcome, { ...access, service, prisma, isCounted: true })
    for (const error of errors) context.onUnread(error, call.name)
    return json(answer)
  } catch (error) {
    // The change is made: no answer may say that nothing was done, or that the caller should change something.
    throw withUnknownOutcome(error instanceof Refusal ? new Refusal('unavailable', { cause: error }) : error)
  }
}

/** Reads the body of a caller. One without the right is refused by `requireRight`, before any fault of the body. */
async function receive(
  context: RestContext,
  message: IncomingMessage,
  caller: Caller,
  requireRight: () => Promise<unknown>,
): Promise<JsonSource> {
  const body = await readSource(context, message).catch(async (error) => {
    if (error instanceof Refusal) await requireRight()
    throw error
  })
  // A body can take long to arrive.
  if (caller.kind === 'platform') await requireKey(context.service.pool, caller)
  return body
}

/** The members of the body, with the key that the header has. */
function withKeyOf(call: OperatorCall, message: IncomingMessage, body: JsonSource, faults: Fault[]): Source {
  if (message.headers['idempotency-key'] === undefined) return body
  if (isKeyed(call.request)) return withKey(body, message, faults)
  faults.push(NO_KEY)
  return body
}

const NO_KEY: Fault = { path: 'Idempotency-Key', message: 'must not be sent: this call takes no key' }

/** The parameters of a list with pages. */
const pageShape = shape({
  first: optional(
    int32(`The size of the page: 1 to ${MAX_PAGE}. Default: ${DEFAULT_SIZE}.`, { min: 1, max: MAX_PAGE }),
  ),
  after: optional(text('The `next` of the page before. Default: from the start.', { max: MAX_LIST_CURSOR })),
})

/** A query with an input takes it as a body. */
function readRoute(read: OperatorRead, { resultOf }: RestAnswers, reworded: Rewording): Route {
  const { name, summary, request, hasInput = false } = read
  const isPaged = 'pagedBy' in read && read.pagedBy !== undefined
  const fields = isPaged ? { ...request.fields, ...pageShape.fields } : request.fields
  const result = resultOf(name, isPaged)
  const parameters = hasInput ? {} : fields
  const known = Object.keys(parameters)
  const repeated = known.filter((one) => isRepeated(parameters[one] as Field<unknown>))
  return {
    method: hasInput ? 'POST' : 'GET',
    path: pathOf(name),
    contract: {
      id: idOf(name),
      tag: 'Operators',
      summary: reworded(summary),
      access: 'platform',
      answer: result.named,
      ...(hasInput && { request, body: { schema: reworded(bodySchema(request)) } }),
      parameters: [projectId, ...parametersFor(parameters, reworded), operatorParameter],
      refusals: ['notFound', 'persistedQueryRequired'],
    },
    async respond(context, message, params) {
      const { service, prisma } = context
      if (context.isPersistedOnly) throw new Refusal('persistedQueryRequired')
      const access = accessFor(context, message)
      const project = params.projectId?.toLowerCase()
      const caller = await access.caller()
      const faults: Fault[] = []
      const requireRight = () => requirePlatform(access, read.right, read.denied, project)
      const body = hasInput ? await receive(context, message, caller, requireRight) : undefined
      if (body) addUnknownMembers(faults, body.values, request.schema)
      const query = parametersOf(message)
      faults.push(...queryFaults(query, known, repeated))
      if (message.headers['idempotency-key'] !== undefined) faults.push(NO_KEY)
      const page = isPaged ? pageShape.gather(new QuerySource(query, pageShape.fields), faults) : {}
      const source = body ?? new QuerySource(query, request.fields)
      const asked = { source, faults, ...(project !== undefined && { projectId: project }) }
      const { answer, errors } = await result.read(page, { ...access, service, prisma, asked })
      // A read can be repeated: an answer without a part of it would be taken for the whole.
      const [first] = errors
      if (first) throw (first as GraphQLError).originalError ?? first
      return json(answer)
    },
  }
}

const parametersFor = (fields: Fields, reworded: Rewording): readonly Schema[] =>
  Object.entries(fields).map(([name, { description, schema, isRequired, byDefault }]) =>
    reworded((isRequired && byDefault === undefined ? requiredQuery : query)(name, description, schema)),
  )
