import type { Audited } from '../../audit/audit-log.ts'
import { addAuditEntry } from '../../audit/graphql.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Answer, Member } from '../../declare/answer.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { answerTypeOf, fieldsOf, inputOf, interfacesOf, messageOf, outputOf } from '../../declare/graphql/shapes.ts'
import type { OperatorCall, Payload } from '../../declare/operator-call.ts'
import { InputSource } from '../../declare/source.ts'
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
          extensions: { cost: call.cost, formerly: call.formerly },
          args: inputOf(call.input ?? inputName(call.name), call.request),
          resolve: async (_root, { input }, context) => {
            const { service } = context
            const outcome = await runCall(call, { access: context, service, source: new InputSource(input) })
            return outcome as never
          },
        }),
      ]),
    ),
  )
}

/** The name of the input of a field: `EndBoostInput` for `endBoost`. */
export const inputName = (field: string): string => `${field.charAt(0).toUpperCase()}${field.slice(1)}Input`

const payloads = new Map<Answer<object>, unknown>()

/** The type of an answer. Several calls may have it. */
function typeOf(answer: OperatorCall['answer']): unknown {
  if (!('members' in answer)) return outputOf(answer.type)
  if (!isPayload(answer)) return answerTypeOf(answer)
  const known = payloads.get(answer) ?? payloadType(answer)
  payloads.set(answer, known)
  return known
}

const isPayload = (answer: Answer<object>): answer is Payload<object> => 'payload' in answer

function payloadType({ payload, description, members: ofOutcome, withoutEntry }: Payload<object>) {
  const members = ofOutcome as Readonly<Record<string, Member<unknown>>>
  const type = builder.objectRef<Audited>(payload).implement({
    ...(description !== '' && { description }),
    interfaces: interfacesOf(members),
    fields: (t) => {
      const fields = Object.entries(members).map(([name, member]) => {
        const kept = keptField(name, member)
        if (kept) return [name, t.prismaField(kept as never)]
        const later = laterField(name, member)
        return later ? [name, t.field(later as never)] : [name, fieldsOf(t, { [name]: member })[name]]
      })
      return { ...Object.fromEntries(fields), ...messageOf(t, members) }
    },
  })
  if (withoutEntry !== null) addAuditEntry(type, withoutEntry)
  return type
}

/** Prisma's functions for a model. All models have the same ones. */
export const tableOf = (prisma: PrismaClient, model: string) =>
  prisma[`${model.charAt(0).toLowerCase()}${model.slice(1)}` as 'boost']

/** The key of a row: its id, or the columns of its key in their order. */
type Key = string | Readonly<Record<string, string>>

/**
 * The field of a member that is kept, whose value is the key of a row, or a list of such keys. Undefined for any other
 * member.
 */
export function keptField(name: string, { type, isNullable = false, description }: Member<unknown>) {
  const isList = typeof type === 'object' && 'listOf' in type
  const of = isList ? type.listOf : type
  if (typeof of === 'string' || !('kept' in of)) return undefined
  const { kept: model } = of
  return {
    type: isList ? [model] : model,
    nullable: isNullable,
    description,
    extensions: { isDeclared: true },
    resolve(query: object, outcome: object, _args: object, { prisma }: { prisma: PrismaClient }) {
      // Pothos asks in tests that a query is used, also where there is nothing to read.
      const selection = { ...query }
      const value = (outcome as Readonly<Record<string, Key | readonly Key[] | null>>)[name] ?? null
      if (value === null) return null
      if (isList) {
        const rows = (value as readonly Key[]).map((key) => (typeof key === 'string' ? { id: key } : key))
        return tableOf(prisma, model).findMany({ ...selection, where: { OR: rows }, orderBy: { id: 'asc' } })
      }
      const where = typeof value === 'string' ? { id: value } : { [Object.keys(value).join('_')]: value }
      const found = { ...selection, where: where as never }
      return isNullable ? tableOf(prisma, model).findUnique(found) : tableOf(prisma, model).findUniqueOrThrow(found)
    },
  }
}

/** The field of a member that is read once it is asked for. Undefined for any other member. */
function laterField(name: string, { type, isNullable = false, description }: Member<unknown>) {
  if (typeof type === 'string' || !('later' in type)) return undefined
  return {
    type: type.later,
    nullable: isNullable,
    description,
    extensions: { isDeclared: true },
    resolve: (outcome: object) => (outcome as Readonly<Record<string, () => Promise<unknown>>>)[name]?.() ?? null,
  }
}
