import type { IncomingMessage } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { type Fault, Refusal } from '../base/errors.ts'
import { type Access, requirePlatform } from '../callers/access.ts'
import { operatorParameter, projectId } from '../declare/contract.ts'
import type { Context } from '../declare/graphql/context.ts'
import { withKey } from '../declare/idempotency-header.ts'
import type { OperatorCall } from '../declare/operator-call.ts'
import { json } from '../declare/respond.ts'
import { accessFor, parametersOf, type RestContext, type Route, readSource } from '../declare/route.ts'
import type { JsonSource } from '../declare/shape.ts'
import { addUnknownMembers, queryFaults } from '../declare/unknown-names.ts'
import { createPayloads, createRewording } from './graphql-to-rest.ts'
import { attemptOf, runCall } from './run-call.ts'

/** The name of a call in its path: `end-boost` for `endBoost`. */
export const kebabOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** A route of each call: `POST /platform/v1/projects/{projectId}/end-boost` for `endBoost`. */
export function operatorRoutes(calls: readonly OperatorCall[], schema: GraphQLSchema): readonly Route[] {
  const payloadOf = createPayloads(schema)
  const reworded = createRewording(schema)
  return calls.map((call) => {
    const { name, request } = call
    const { schema: known } = request
    const isKeyed = 'idempotencyKey' in request.fields
    const { named, read } = payloadOf(name)
    return {
      method: 'POST',
      path: `/platform/v1/projects/:projectId/${kebabOf(name)}`,
      contract: {
        id: `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        tag: 'Operators',
        summary: reworded(call.summary),
        access: 'platform',
        request,
        parameters: [projectId, operatorParameter],
        refusals: ['notFound', ...(call.refusals ?? []), ...(isKeyed ? (['idempotencyKeyReused'] as const) : [])],
        body: { schema: reworded(known) },
        answer: reworded(named),
      },
      async respond(context, sent, params) {
        const { service } = context
        const access = accessFor(context, sent)
        const project = params.projectId?.toLowerCase()
        const body = await bodyOf(context, sent, access, () =>
          requirePlatform(access, call.right, attemptOf(call), project),
        )
        const faults: Fault[] = [...queryFaults(parametersOf(sent), [])]
        addUnknownMembers(faults, body.values, known)
        const source = isKeyed && sent.headers['idempotency-key'] !== undefined ? withKey(body, sent, faults) : body
        const { caller, outcome } = await runCall(call, { access, service, source, faults, projectId: project })
        service.reads.changed(caller.keyId)
        return json(await read(outcome, answering(context, access)))
      },
    }
  })
}

/**
 * The members of a body. Nobody without credentials sends one. Where it cannot be read, a caller without the right
 * learns only that it has none.
 */
async function bodyOf(
  context: RestContext,
  request: IncomingMessage,
  { caller }: Access,
  require: () => Promise<unknown>,
): Promise<JsonSource> {
  await caller()
  try {
    return await readSource(context, request)
  } catch (error) {
    if (error instanceof Refusal) await require()
    throw error
  }
}

/** The context of an answer's fields. They take no arguments, and so need no more of it. */
const answering = ({ service, prisma }: RestContext, access: Access): Context =>
  ({ ...access, service, prisma, isCounted: true }) as unknown as Context
