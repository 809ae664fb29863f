import {
  type DocumentNode,
  execute,
  type GraphQLField,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  getNamedType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  parse,
} from 'graphql'
import { REFUSALS, Refusal, type RefusalKind } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import type { Access } from '../../callers/access.ts'
import type { Named } from '../../declare/answer.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { isLong, isOnRequest, rightOf } from '../../declare/graphql/field-marks.ts'
import type { PageArgs } from '../../declare/graphql/page.ts'
import type { Schema } from '../../declare/shape.ts'
import type { RestRead } from './run-read.ts'

// What REST answers to operators' calls and queries, made from the types of GraphQL, so that both surfaces show the same.
// A payload has all its members. Another object has its values and the objects that are parts of it, and none that it
// refers to.

/** What the fields of an answer may use. */
type AnswerContext = Access & Pick<Context, 'service' | 'prisma'>

export interface PayloadJson {
  readonly named: Named
  /**
   * The answer for the value of a payload, with the errors of members that are null for them. Throws where a member that
   * is never null cannot be read.
   */
  readonly read: (
    payload: object,
    context: AnswerContext,
  ) => Promise<{ readonly answer: Json; readonly errors: readonly Error[] }>
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
  Float: { type: 'number' },
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

interface ObjectOptions {
  /** In `openapi.json`. One without a name stands where it is used. */
  readonly name?: string
  /** It has its parts and also the objects that it refers to, with their parts. */
  readonly isWhole?: boolean
  /** It is one of a list, and has no long texts. */
  readonly isEntry?: boolean
}

interface Objects {
  readonly makeObject: (type: GraphQLObjectType, options: ObjectOptions) => RestObject
  /** Makes the value of a query, which is whole unless it is an object that others refer to. */
  readonly addValue: (type: GraphQLOutputType) => void
}

/** Makes what REST has instead of objects of GraphQL. */
function createObjects(reworded: Rewording): Objects {
  const objects = new Map<string, RestObject>()
  const leaves = new Map<string, GraphQLScalarType>()

  /** The type that REST has instead of one of GraphQL. */
  function restType(type: GraphQLOutputType, isEntry = false): GraphQLOutputType {
    if (isNonNullType(type)) return new GraphQLNonNull(restType(type.ofType, isEntry))
    if (isListType(type)) return new GraphQLList(restType(type.ofType, true))
    if (isObjectType(type)) return objectOf(type, isEntry).type
    const leaf = leaves.get(type.name) ?? leafOf(type)
    leaves.set(type.name, leaf)
    return leaf
  }

  function objectOf(type: GraphQLObjectType, isEntry: boolean) {
    const isShort = isEntry && Object.values(type.getFields()).some(({ extensions }) => isLong(extensions))
    const name = isShort ? `${type.name}Entry` : type.name
    const known = objects.get(name) ?? makeObject(type, { name: `Platform${name}`, isEntry: isShort })
    objects.set(name, known)
    return known
  }

  function makeObject(type: GraphQLObjectType, { name, isWhole = false, isEntry = false }: ObjectOptions): RestObject {
    const { fields, ...config } = type.toConfig()
    const isMember = (field: GraphQLFieldConfig<unknown, unknown>) =>
      isOfAnswer(field) && (isWhole || isPart(field.type)) && !(isEntry && isLong(field.extensions ?? {}))
    const members = Object.entries(fields).filter(([, field]) => isMember(field))
    const parts = new Map<string, Named>()
    const properties = members.map(([name, { type, description }]) => [
      name,
      { ...schemaOf(type, parts), ...(description && { description }) },
    ])
    return {
      type: new GraphQLObjectType({
        ...config,
        // Pothos finds what it must read of an object by the name of its type.
        name: isEntry ? `${config.name}Entry` : config.name,
        interfaces: [],
        fields: Object.fromEntries(members.map(([name, field]) => [name, { ...field, type: restType(field.type) }])),
      }),
      named: {
        ...(name !== undefined && { name }),
        schema: reworded({
          type: 'object',
          ...(type.description && { description: type.description }),
          properties: Object.fromEntries(properties),
          required: members.map(([name]) => name),
          additionalProperties: false,
        }),
        parts: [...parts.values()],
      },
    }
  }

  /** The JSON Schema of a member. Adds the objects that it refers to. */
  function schemaOf(type: GraphQLOutputType, parts: Map<string, Named>, isEntry = false): Schema {
    if (!isNonNullType(type)) return { anyOf: [schemaOf(new GraphQLNonNull(type), parts, isEntry), { type: 'null' }] }
    const inner = type.ofType
    if (isListType(inner)) return { type: 'array', items: schemaOf(inner.ofType, parts, true) }
    if (isEnumType(inner)) return { type: 'string', enum: inner.getValues().map(({ value }) => value) }
    if (!isObjectType(inner)) return SCALARS[inner.name] ?? {}
    const { named } = objectOf(inner, isEntry)
    parts.set(String(named.name), named)
    return { $ref: `#/components/schemas/${named.name}` }
  }

  function addValue(type: GraphQLOutputType): void {
    if (!isObjectType(type) || !isPart(type) || objects.has(type.name)) return
    objects.set(type.name, makeObject(type, { name: `Platform${type.name}`, isWhole: true }))
  }

  return { makeObject, addValue }
}

/** What REST answers to a query. */
export interface ResultJson {
  readonly named: Named
  readonly read: (
    page: PageArgs,
    context: AnswerContext & RestRead,
  ) => Promise<{ readonly answer: Json; readonly errors: readonly Error[] }>
}

export interface RestAnswers {
  /** The payload of a mutation, by its name. */
  readonly payloadOf: (mutation: string) => PayloadJson
  /** The result of a query, by its name: an object with one member of that name, and `next` for a list with pages. */
  readonly resultOf: (query: string, isPaged: boolean) => ResultJson
}

export function createAnswers(schema: GraphQLSchema, reworded: Rewording): RestAnswers {
  const { makeObject, addValue } = createObjects(reworded)
  const payloads = new Map<string, RestObject>()
  const roots: Record<string, GraphQLFieldConfig<object, AnswerContext>> = {}
  let answers: GraphQLSchema | undefined

  function schemaOfAnswers(): GraphQLSchema {
    answers ??= new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Answers', fields: roots }) })
    return answers
  }

  return {
    payloadOf(name) {
      const field = schema.getMutationType()?.getFields()[name]
      const type = field && getNamedType(field.type)
      if (!field || !isObjectType(type)) throw new Error(`${name} is no mutation with an object`)
      // Calls may share a payload.
      const payload = payloads.get(type.name) ?? makeObject(type, { isWhole: true })
      payloads.set(type.name, payload)
      roots[name] = { type: payload.type, resolve: (payload) => payload }
      return { named: payload.named, read: readerOf(name, payload.type, schemaOfAnswers) }
    },

    resultOf(name, isPaged) {
      const field = schema.getQueryType()?.getFields()[name]
      if (!field) throw new Error(`${name} is no query`)
      if (!isPaged) addValue(getNamedType(field.type))
      const { type, named } = makeObject(isPaged ? pageType(field) : resultType(name, field), { isWhole: true })
      const root = `${name}Result`
      roots[root] = { type, resolve: isPaged ? resolverOf(field) : () => ({}) }
      const read = readerOf(root, type, schemaOfAnswers)
      if (!isPaged) return { named, read }
      return {
        named: { ...named, schema: renamed(named.schema, name) },
        async read(page, context) {
          const { answer, errors } = await read(page, context)
          const { [NODES]: nodes = null, ...rest } = answer as { readonly [member: string]: Json }
          return { answer: { [name]: nodes, ...rest }, errors }
        },
      }
    },
  }
}

type QueryField = GraphQLField<unknown, unknown>

/** Resolves a query with the values of a page as its arguments. */
const resolverOf =
  ({ resolve }: QueryField): GraphQLFieldResolver<object, unknown> =>
  (page, _args, context, info) =>
    resolve?.({}, page, context, info)

/** The nodes of a page stand under this name, by which Pothos finds what it must read of them. */
const NODES = 'nodes'

/** The schema of a page, with the name that the nodes have in REST. */
function renamed(schema: Schema, name: string): Schema {
  const { [NODES]: nodes = {}, ...others } = schema.properties as { readonly [member: string]: Json }
  const required = (schema.required as readonly string[]).map((one) => (one === NODES ? name : one))
  return { ...schema, properties: { [name]: nodes, ...others }, required }
}

interface Connection {
  readonly edges: readonly { readonly node: unknown }[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

/** A page of a connection: its nodes, and the cursor for the next page. */
function pageType({ type, description }: QueryField): GraphQLObjectType {
  const connection = getNamedType(type) as GraphQLObjectType
  const node = getNamedType(connection.getFields()[NODES]?.type)
  return new GraphQLObjectType<Connection>({
    name: `${connection.name}Page`,
    fields: {
      [NODES]: {
        type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(node as GraphQLOutputType))),
        description,
        resolve: ({ edges }) => edges.map(({ node }) => node),
      },
      next: {
        type: GraphQLString,
        description: 'For `after` of the next page. Null on the last page.',
        resolve: ({ pageInfo: { hasNextPage, endCursor } }) => (hasNextPage ? endCursor : null),
      },
    },
  })
}

/** A result with one member, which the query resolves. */
function resultType(name: string, field: QueryField): GraphQLObjectType {
  const { type, description, extensions } = field
  return new GraphQLObjectType({
    name: `${name}Result`,
    fields: { [name]: { type, description, extensions, resolve: resolverOf(field) } },
  })
}

/** Reads a payload. The schema is made with the first one. */
function readerOf(name: string, type: GraphQLObjectType, answers: () => GraphQLSchema): PayloadJson['read'] {
  let document: DocumentNode | undefined
  return async (rootValue, contextValue) => {
    document ??= parse(`{ ${name} ${selectionOf(type)} }`)
    const { data, errors = [] } = await execute({ schema: answers(), document, rootValue, contextValue })
    const answer = data?.[name] as Json | undefined
    const [first] = errors
    if (first && (answer ?? null) === null) throw first.originalError ?? first
    return { answer: answer as Json, errors }
  }
}

/**
 * Whether each answer has a field: one without arguments, which would be a request of its own, without a right of its
 * own, and without work of its own.
 */
function isOfAnswer({ args = {}, extensions }: GraphQLFieldConfig<unknown, unknown>): boolean {
  const marks = extensions ?? {}
  return Object.keys(args).length === 0 && rightOf(marks) === undefined && !isOnRequest(marks)
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

/**
 * Names of GraphQL in backticks that REST writes otherwise: values of enums, and codes of refusals. Null for a name with
 * several values.
 */
function wordsOf(schema: GraphQLSchema): ReadonlyMap<string, string | null> {
  const codes = Object.keys(REFUSALS).map((kind) => new Refusal(kind as RefusalKind).code)
  const words = new Map(codes.map((code) => [code.toUpperCase(), code]))
  const ofEnums = new Map<string, string | null>()
  for (const type of Object.values(schema.getTypeMap()))
    if (isEnumType(type))
      for (const { name, value } of type.getValues())
        ofEnums.set(name, (ofEnums.get(name) ?? value) === value ? value : null)
  return new Map([...words, ...ofEnums])
}

/** Puts descriptions of GraphQL into the words of REST: `unknown currency` for `UNKNOWN_CURRENCY`. */
export type Rewording = <T extends Json>(described: T) => T

export function createRewording(schema: GraphQLSchema): Rewording {
  const words = wordsOf(schema)
  const wordOf = (name: string): string => {
    const word = words.get(name)
    if (word === null) throw new Error(`${name} has several values: a description of REST cannot name it`)
    return word ?? name
  }
  const reword = (text: string) => text.replaceAll(/(?<=`)[A-Z][A-Z_]+(?=`)/g, wordOf)
  return (described) => JSON.parse(reword(JSON.stringify(described)))
}
