import type { IncomingMessage } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { type Fault, Refusal, type RefusalKind, withUnknownOutcome } from '../../base/errors.ts'
import { requireKey } from '../../callers/keys.ts'
import { operatorParameter, type PublishedCall, projectId } from '../../declare/contract.ts'
import { isKeyed, withKey } from '../../declare/idempotency-header.ts'
import type { OperatorCall } from '../../declare/operator-call.ts'
import { json } from '../../declare/respond.ts'
import { accessFor, parametersOf, type RestContext, type Route, readSource } from '../../declare/route.ts'
import type { Fields, Schema, Shape } from '../../declare/shape.ts'
import type { JsonSource, Source } from '../../declare/source.ts'
import { addUnknownMembers, queryFaults } from '../../declare/unknown-names.ts'
import { createPayloads, createRewording, type PayloadJson, type Rewording } from './graphql-to-rest.ts'
import { admit, runCall } from './run-call.ts'

/** The name of a call in its path: `end-boost` for `endBoost`. */
export const kebabOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** A route of each call: `POST /platform/v1/projects/{projectId}/end-boost` for `endBoost`. */
export function operatorRoutes(calls: readonly OperatorCall[], schema: GraphQLSchema): readonly Route[] {
  const reworded = createRewording(schema)
  const payloadOf = createPayloads(schema, reworded)
  return calls.map((call) => {
    const payload = payloadOf(call.name)
    return {
      method: 'POST',
      path: `/platform/v1/projects/:projectId/${kebabOf(call.name)}`,
      contract: contractOf(call, payload, reworded),
      respond: (context, message, params) => respond(call, payload, context, message, params.projectId),
    }
  })
}

function contractOf(call: OperatorCall, { named }: PayloadJson, reworded: Rewording): PublishedCall {
  const { name, summary, request, refusals = [] } = call
  const reused: readonly RefusalKind[] = isKeyed(request) ? ['idempotencyKeyReused'] : []
  return {
    id: `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
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
  const body = await readSource(context, message).catch(async (error) => {
    // A caller without the right gets no other refusal.
    if (error instanceof Refusal) await admit(call, to)
    throw error
  })
  // A body can take long to arrive.
  if (caller.kind === 'platform') await requireKey(service.pool, caller)
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

/** The members of the body, with the key that the header has. */
function withKeyOf(call: OperatorCall, message: IncomingMessage, body: JsonSource, faults: Fault[]): Source {
  if (message.headers['idempotency-key'] === undefined) return body
  if (isKeyed(call.request)) return withKey(body, message, faults)
  faults.push({ path: 'Idempotency-Key', message: 'must not be sent: this call takes no key' })
  return body
}
