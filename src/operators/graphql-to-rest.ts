import {
  execute,
  type GraphQLFieldConfig,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  getNamedType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  parse,
} from 'graphql'
import { REFUSALS, Refusal, type RefusalKind } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import type { Named } from '../declare/answer.ts'
import type { Context } from '../declare/graphql/context.ts'
import type { Schema } from '../declare/shape.ts'

// What REST answers to operators' calls, made from the types of GraphQL, so that both surfaces show the same. A payload
// has all its members. Another object has its values and the objects that are parts of it, and none that it refers to.

interface PayloadJson {
  readonly named: Named
  /** The answer for an outcome, which is a payload's value in GraphQL. Throws what a field throws. */
  readonly read: (outcome: object, context: Context) => Promise<Json>
}

interface RestObject {
  readonly type: GraphQLObjectType
  readonly named: Named
}

/** The scalars by their JSON Schema. */
const SCALARS: Readonly<Record<string, Schema>> = {
  Boolean: { type: 'boolean' },
  Count: { type: 'integer' },
  DateTime: { type: 'string', format: 'date-time' },
  ID: { type: 'string' },
  Int: { type: 'integer', format: 'int32' },
  Int64: { type: 'integer', format: 'int64' },
  JSON: {},
  String: { type: 'string' },
}

/** Values that REST sends exactly, where GraphQL has another form. */
const EXACT: Readonly<Record<string, (value: unknown) => unknown>> = {
  Int64: (value) => BigInt(value as bigint),
  JSON: (value) => value,
}

/** The payloads of mutations, by name. */
export function createPayloads(schema: GraphQLSchema): (mutation: string) => PayloadJson {
  const objects = new Map<string, RestObject>()
  const payloads = new Map<string, RestObject>()
  const leaves = new Map<string, GraphQLScalarType>()
  const roots: Record<string, GraphQLFieldConfig<object, Context>> = {}
  let answers: GraphQLSchema | undefined

  /** The type that REST has instead of one of GraphQL. */
  function restType(type: GraphQLOutputType): GraphQLOutputType {
    if (isNonNullType(type)) return new GraphQLNonNull(restType(type.ofType))
    if (isListType(type)) return new GraphQLList(restType(type.ofType))
    if (isObjectType(type)) return objectOf(type).type
    const leaf = leaves.get(type.name) ?? leafOf(type)
    leaves.set(type.name, leaf)
    return leaf
  }

  function objectOf(type: GraphQLObjectType) {
    const known = objects.get(type.name) ?? makeObject(type, `Platform${type.name}`, isPart)
    objects.set(type.name, known)
    return known
  }

  function makeObject(
    type: GraphQLObjectType,
    name: string | undefined,
    isMember: (type: GraphQLOutputType) => boolean,
  ) {
    const { fields, ...config } = type.toConfig()
    // A field with arguments is a request of its own.
    const members = Object.entries(fields).filter(
      ([, { args = {}, type }]) => Object.keys(args).length === 0 && isMember(type),
    )
    const parts = new Map<string, Named>()
    const properties = members.map(([name, { type, description }]) => [name, member(type, description, parts)])
    return {
      type: new GraphQLObjectType({
        ...config,
        interfaces: [],
        fields: Object.fromEntries(members.map(([name, field]) => [name, { ...field, type: restType(field.type) }])),
      }),
      named: {
        ...(name !== undefined && { name }),
        schema: {
          type: 'object',
          ...(type.description && { description: type.description }),
          properties: Object.fromEntries(properties),
          required: members.map(([name]) => name),
          additionalProperties: false,
        },
        parts: [...parts.values()],
      },
    }
  }

  /** The JSON Schema of a member. Adds the objects that it refers to. */
  function member(type: GraphQLOutputType, description: string | null | undefined, parts: Map<string, Named>): Schema {
    return { ...schemaOf(type, parts), ...(description && { description }) }
  }

  function schemaOf(type: GraphQLOutputType, parts: Map<string, Named>): Schema {
    if (!isNonNullType(type)) return { anyOf: [schemaOf(new GraphQLNonNull(type), parts), { type: 'null' }] }
    const inner = type.ofType
    if (isListType(inner)) return { type: 'array', items: schemaOf(inner.ofType, parts) }
    if (isEnumType(inner)) return { type: 'string', enum: inner.getValues().map(({ value }) => value) }
    if (!isObjectType(inner)) return SCALARS[inner.name] ?? {}
    const { named } = objectOf(inner)
    parts.set(inner.name, named)
    return { $ref: `#/components/schemas/${named.name}` }
  }

  return (name) => {
    const field = schema.getMutationType()?.getFields()[name]
    const type = field && getNamedType(field.type)
    if (!field || !isObjectType(type)) throw new Error(`${name} is no mutation with an object`)
    // Calls may share a payload.
    const payload = payloads.get(type.name) ?? makeObject(type, undefined, () => true)
    payloads.set(type.name, payload)
    roots[name] = { type: new GraphQLNonNull(payload.type), resolve: (outcome) => outcome }
    const document = parse(`{ ${name} ${selectionOf(payload.type)} }`)
    return {
      named: payload.named,
      async read(outcome, contextValue) {
        answers ??= new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Answers', fields: roots }) })
        const result = await execute({ schema: answers, document, rootValue: outcome, contextValue })
        const [error] = result.errors ?? []
        if (error) throw error.originalError ?? error
        return result.data?.[name] as Json
      },
    }
  }
}

/** An object without an id of its own, or a value. */
const isPart = (type: GraphQLOutputType): boolean => {
  const named = getNamedType(type)
  return !isObjectType(named) || !named.getInterfaces().some(({ name }) => name === 'Node')
}

/** A scalar as REST sends it. An enum has its values, not the names of GraphQL. */
function leafOf(type: GraphQLOutputType): GraphQLScalarType {
  if (isEnumType(type)) return new GraphQLScalarType({ name: type.name, serialize: (value) => value })
  if (!isScalarType(type) || !(type.name in SCALARS)) throw new Error(`REST has no form of ${type}`)
  const serialize = EXACT[type.name]
  return serialize ? new GraphQLScalarType({ name: type.name, serialize }) : type
}

function selectionOf(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields()).map((field) => {
    const named = getNamedType(field.type)
    return isObjectType(named) ? `${field.name} ${selectionOf(named)}` : field.name
  })
  return `{ ${fields.join(' ')} }`
}

/** Names of GraphQL in backticks that REST writes otherwise: values of enums, and codes of refusals. */
function wordsOf(schema: GraphQLSchema): ReadonlyMap<string, string> {
  const codes = Object.keys(REFUSALS).map((kind) => new Refusal(kind as RefusalKind).code)
  const words = new Map(codes.map((code) => [code.toUpperCase(), code]))
  for (const type of Object.values(schema.getTypeMap()))
    if (isEnumType(type)) for (const { name, value } of type.getValues()) words.set(name, String(value))
  return words
}

/** Puts descriptions of GraphQL into the words of REST: `unknown currency` for `UNKNOWN_CURRENCY`. */
export function createRewording(schema: GraphQLSchema): <T>(described: T) => T {
  const words = wordsOf(schema)
  const reword = (text: string) => text.replaceAll(/(?<=`)[A-Z][A-Z_]+(?=`)/g, (name) => words.get(name) ?? name)
  return (described) => JSON.parse(reword(JSON.stringify(described)))
}
