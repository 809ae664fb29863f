import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import type { PrismaClient } from '../db/prisma.ts'
import type { Answer, Member } from '../declare/answer.ts'
import { builder } from '../declare/graphql/builder.ts'
import { answerTypeOf, fieldsOf, inputOf } from '../declare/graphql/shapes.ts'
import type { OperatorCall, Payload } from '../declare/operator-call.ts'
import { runCall } from './run-call.ts'

/** Makes a mutation of each call, with its input and its payload. */
export function addMutations(calls: readonly OperatorCall[]): void {
  builder.mutationFields((t) =>
    Object.fromEntries(
      calls.map((call) => [
        call.name,
        t.field({
          type: typeOf(call.answer) as never,
          description: call.summary,
          args: inputOf(`${call.name.charAt(0).toUpperCase()}${call.name.slice(1)}Input`, call.request),
          resolve: async (_root, { input }, context) => {
            const { caller, outcome, auditId } = await runCall(call, context, input)
            return { ...outcome, audit: auditRef(caller, auditId) } as never
          },
        }),
      ]),
    ),
  )
}

const payloads = new Map<Answer<object>, unknown>()

/** The type of an answer. Several calls may have it. */
function typeOf(answer: Answer<object>): unknown {
  if (!isPayload(answer)) return answerTypeOf(answer)
  const known = payloads.get(answer) ?? payloadType(answer)
  payloads.set(answer, known)
  return known
}

const isPayload = (answer: Answer<object>): answer is Payload<object> => 'payload' in answer

function payloadType({ payload, members, withoutEntry }: Payload<object>) {
  const all = Object.entries(members as Readonly<Record<string, Member<unknown>>>)
  const plain = all.filter(([, { type }]) => modelOf(type) === undefined)
  const type = builder.objectRef<Audited>(payload).implement({
    fields: (t) => ({
      ...fieldsOf(t, Object.fromEntries(plain)),
      ...Object.fromEntries(
        all.flatMap(([name, { type, isNullable = false, description }]) => {
          const model = modelOf(type)
          if (model === undefined) return []
          const resolve = (query: object, outcome: object, _args: object, { prisma }: { prisma: PrismaClient }) => {
            const id = (outcome as Record<string, string | null>)[name] ?? null
            if (id === null) return null
            const table = prisma[`${model.charAt(0).toLowerCase()}${model.slice(1)}` as 'boost']
            const found = { ...query, where: { id } }
            return isNullable ? table.findUnique(found) : table.findUniqueOrThrow(found)
          }
          const options = { type: model as 'Boost', nullable: isNullable, description, resolve: resolve as never }
          return [[name, t.prismaField(options)] as const]
        }),
      ),
    }),
  })
  addAuditEntry(type, withoutEntry)
  return type
}

/** The model of a member that is kept. */
const modelOf = (type: Member<unknown>['type']): string | undefined =>
  typeof type === 'object' && 'kept' in type ? type.kept : undefined
