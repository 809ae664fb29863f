import { type GraphQLField, type GraphQLSchema, getNamedType, isEnumType, isObjectType } from 'graphql'
import { enumName } from '../answer.ts'
import { nameNow } from './field-marks.ts'

// The refusals that mutations answer as data, from the `error` of their payloads.

/** What an `error` can be: its enum, and the names of the values that occur. */
export interface Refusals {
  readonly type: string
  readonly values: readonly string[]
}

/** The refusals of a mutation: in its payload, or in each of its `results`. Undefined for one without. */
export function refusalsOf({ type }: GraphQLField<unknown, unknown>): Refusals | undefined {
  const { error, results } = fieldsOf(type)
  const found = error ?? (results && fieldsOf(results.type).error)
  if (!found || !isEnumType(found.type)) return undefined
  const { values } = found.extensions as { readonly values?: readonly string[] }
  return { type: found.type.name, values: values?.map(enumName) ?? found.type.getValues().map(({ name }) => name) }
}

function fieldsOf(type: GraphQLField<unknown, unknown>['type']) {
  const named = getNamedType(type)
  return isObjectType(named) ? named.getFields() : {}
}

/** An enum with more values is named, not listed. */
const MOST_LISTED = 8

/** The schema, in which the description of each mutation names its refusals. */
export function withRefusals(schema: GraphQLSchema): GraphQLSchema {
  for (const mutation of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    // One under a former name refers to the present one.
    if (nameNow(mutation) !== mutation.name) continue
    const refusals = refusalsOf(mutation)
    if (!refusals) continue
    const { type, values } = refusals
    const named = values.length > MOST_LISTED ? `a \`${type}\`` : values.map((value) => `\`${value}\``).join(', ')
    mutation.description = `${mutation.description} As \`error\`: ${named}.`
  }
  return schema
}
