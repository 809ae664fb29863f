import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { schema } from '../../../src/schema.ts'

// Documents for any field of the schema, with values by the names of its arguments. Tests call every field with them,
// future fields included.

export type Kind = 'Query' | 'Mutation' | 'Subscription'

/** Values of arguments and members of inputs, by name. */
export type Values = Readonly<Record<string, unknown>>

export const KINDS: readonly Kind[] = ['Query', 'Mutation', 'Subscription']

export type RootField = GraphQLField<unknown, unknown>

export function rootFields(kind: Kind): RootField[] {
  const types = { Query: schema.getQueryType(), Mutation: schema.getMutationType() }
  const type = kind === 'Subscription' ? schema.getSubscriptionType() : types[kind]
  return Object.values(type?.getFields() ?? {})
}

/** The name of the type of a mutation's input. */
export function inputTypeOf(mutation: string): string {
  const [input] = schema.getMutationType()?.getFields()[mutation]?.args ?? []
  if (!input) throw new Error(`no mutation is named ${mutation}`)
  return getNamedType(input.type).name
}

/**
 * A document for a field, with its required arguments and those that `values` has. It selects the plain fields down to
 * a depth: by default three for a query, none for others.
 */
export function documentOf(
  kind: Kind,
  field: RootField,
  values: Values,
  depth = kind === 'Query' ? 3 : 0,
): { query: string; variables: Values } {
  const given = field.args.filter(({ name, type }) => isNonNullType(type) || name in values)
  const variables = Object.fromEntries(given.map(({ name, type }) => [name, sample(type, name, values)]))
  const declared = given.map(({ name, type }) => `$${name}: ${type}`).join(', ')
  const passed = given.map(({ name }) => `${name}: $${name}`).join(', ')
  const selection = selectionOf(field.type, depth)
  const query = `${kind.toLowerCase()} ${declared && `(${declared})`} { ${field.name} ${passed && `(${passed})`} ${selection} }`
  return { query, variables }
}

/** Fields of a player that are for platform keys only, also when the caller is that player. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['loginLog', 'auditLog', 'notes', 'timeline'])

function selectionOf(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type)
  if (isLeafType(named)) return ''
  const fields = isObjectType(named) || isInterfaceType(named) ? Object.values(named.getFields()) : []
  const selected = fields
    .filter(({ args, name }) => !args.some((arg) => isNonNullType(arg.type)) && !FOR_OPERATORS.has(name))
    .filter((field) => (isLeafType(getNamedType(field.type)) ? depth > 0 : depth > 1))
    .map((field) => `${field.name} ${selectionOf(field.type, depth - 1)}`)
  return `{ __typename ${selected.join(' ')} }`
}

const BY_TYPE: Values = { Boolean: true, DateTime: '2026-01-01T00:00:00Z', Float: 1, ID: 'x', Int: 1, Int64: '1' }

function sample(type: GraphQLInputType, name: string, values: Values): unknown {
  if (isNonNullType(type)) return sample(type.ofType, name, values)
  if (isListType(type)) return [sample(type.ofType, name, values)]
  if (isInputObjectType(type)) {
    const given = Object.values(type.getFields()).filter((field) => isNonNullType(field.type) || field.name in values)
    return Object.fromEntries(given.map((field) => [field.name, sample(field.type, field.name, values)]))
  }
  if (name in values) return values[name]
  if (isEnumType(type)) return type.getValues()[0]?.name
  return type.name === 'JSONObject' ? '{}' : (BY_TYPE[type.name] ?? 'x')
}
