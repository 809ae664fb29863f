import { MapperKind, mapSchema } from '@graphql-tools/utils'
import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { nameNow, rightOf } from '../declare/graphql/field-marks.ts'

// The parts of the schema that a game's client and a dashboard use. `docs/access.md` says who may call which field of
// Query, Mutation and Subscription, and a test calls each as each caller.

/** Columns of the table in `docs/access.md`. */
const CALLERS = {
  player: ['SDK key', 'player'],
  operator: ['analyst', 'designer', 'viewer', 'support', 'operator', 'admin'],
} as const
export type Audience = keyof typeof CALLERS

/** The fields of Query, Mutation and Subscription that an audience may call, by the page `docs/access.md`. */
function rootFieldsOf(audience: Audience, page: string): ReadonlySet<string> {
  const found = new Set<string>()
  let columns: readonly string[] = []
  for (const line of page.split('\n')) {
    const [, first = '', ...cells] = line.split('|').map((cell) => cell.trim())
    if (['fields', 'queries', 'mutations'].includes(first)) columns = cells
    const mayCall = CALLERS[audience].some((caller) => cells[columns.indexOf(caller)] === 'yes')
    if (first.startsWith('`') && mayCall) for (const [, name = ''] of first.matchAll(/`(\w+)`/g)) found.add(name)
  }
  return found
}

/** The schema as one audience sees it: the fields that it may call, and the types that these reach. */
export function printSchemaFor(audience: Audience, schema: GraphQLSchema, page: string): string {
  const mayCall = rootFieldsOf(audience, page)
  const callable = mapSchema(schema, {
    [MapperKind.ROOT_FIELD]: (field, name) =>
      mayCall.has(nameNow({ name, extensions: field.extensions ?? {} })) ? field : null,
    [MapperKind.OBJECT_FIELD]: (field) =>
      audience === 'player' && rightOf(field.extensions ?? {}) !== undefined ? null : field,
  })
  const used = typesIn(callable)
  const part = mapSchema(callable, { [MapperKind.TYPE]: (type) => (used.has(type.name) ? type : null) })
  return `${printSchema(lexicographicSortSchema(part))}\n`
}

/** Interfaces that say what objects have in common. An object that is reached by one alone is of no use to the audience. */
const TRAITS: readonly string[] = ['Node', 'Refused']

/** The names of the types that fields reach. */
function typesIn(schema: GraphQLSchema): ReadonlySet<string> {
  const found = new Set<string>()
  function reach(type: GraphQLNamedType): void {
    if (found.has(type.name)) return
    found.add(type.name)
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const one of type.getInterfaces()) reach(one)
      for (const { type: of, args } of Object.values(type.getFields()))
        for (const named of [of, ...args.map((argument) => argument.type)]) reach(getNamedType(named))
    }
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) reach(getNamedType(field.type))
    if (isAbstractType(type) && !TRAITS.includes(type.name)) for (const one of schema.getPossibleTypes(type)) reach(one)
  }
  for (const root of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()])
    if (root) reach(root)
  for (const type of Object.values(schema.getTypeMap()))
    if (isSpecifiedScalarType(type) || type.name.startsWith('__')) found.add(type.name)
  return found
}
