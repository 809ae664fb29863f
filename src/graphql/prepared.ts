import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import { isPromise } from 'graphql-yoga'
import type { Context } from './context.ts'

/** Completes a resolver's value. Throws for anything but plain values. */
type Complete = (value: unknown) => unknown

/** An operation of one field. All fields below it have plain values, or resolvers that read only their parent. */
interface Prepared {
  readonly operation: OperationDefinitionNode
  readonly field: GraphQLField<unknown, unknown>
  readonly node: FieldNode
  readonly name: string
  readonly complete: Complete
  /** The resolve info without the variables, for every call. */
  readonly info: Omit<GraphQLResolveInfo, 'variableValues' | 'rootValue'>
}

/** Null for operations that are not this simple. Each cached document is examined once. */
const known = new WeakMap<OperationDefinitionNode, Prepared | null>()

/**
 * Runs the small operations of players with functions that are built once for each operation. They need no promise,
 * path or `info` for each field, which saves a third of the work. They do not handle errors. On any problem the
 * executor takes over: it receives the resolver's result and does the rest again.
 */
export function executePrepared(args: ExecutionArgs, execute: Execute): ExecutionResult | Promise<ExecutionResult> {
  const prepared = prepare(args.schema, args.document, args.operationName)
  return prepared ? run(prepared, args, execute) : execute(args)
}

/** The resolvers that return a known outcome instead of running again. Fields of any other are not prepared. */
const resolvers = new WeakSet<GraphQLFieldResolver<never, never, never>>()

/** The resolver of a root field, which never runs when its operation's outcome is known. */
export function resolvedOnce<Parent, Args extends object>(
  resolver: GraphQLFieldResolver<Parent, object, Args>,
): GraphQLFieldResolver<Parent, object, Args> {
  const once: typeof resolver = (parent, args, context, info) => {
    const { outcome } = context as Pick<Context, 'outcome'>
    return outcome ? outcome() : resolver(parent, args, context, info)
  }
  resolvers.add(once)
  return once
}

/** Executes an operation, whatever its size. */
export type Execute = (args: ExecutionArgs) => ExecutionResult | Promise<ExecutionResult>

async function run(
  { operation, field, node, name, complete, info }: Prepared,
  args: ExecutionArgs,
  execute: Execute,
): Promise<ExecutionResult> {
  const { schema, rootValue, contextValue } = args
  const variableValues = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    args.variableValues ?? {},
  ).coerced
  if (!variableValues) return execute(args)
  let values: Record<string, unknown>
  try {
    values = getArgumentValues(field, node, variableValues)
  } catch {
    return execute(args)
  }
  let outcome: Context['outcome']
  try {
    const value = await field.resolve?.(rootValue, values, contextValue, { ...info, rootValue, variableValues })
    outcome = () => value
    return { data: { [name]: complete(value) } }
  } catch (error) {
    outcome ??= () => {
      throw error
    }
    return execute({ ...args, contextValue: { ...(contextValue as Context), outcome } })
  }
}

function prepare(schema: GraphQLSchema, document: DocumentNode, operationName: unknown): Prepared | null {
  const operation = getOperationAST(document, operationName as string | null | undefined)
  if (!operation) return null
  const before = known.get(operation)
  if (before !== undefined) return before
  const prepared = prepareNew(schema, operation)
  known.set(operation, prepared)
  return prepared
}

function prepareNew(schema: GraphQLSchema, operation: OperationDefinitionNode): Prepared | null {
  const [node, ...more] = plainFields(operation) ?? []
  const parentType = schema.getRootType(operation.operation)
  const field = node && parentType?.getFields()[node.name.value]
  // A resolver that ran must not run again: the executor takes over with its outcome.
  if (!node || !field?.resolve || !resolvers.has(field.resolve)) return null
  const complete = completerOf(field.type, node)
  if (!parentType || !complete || more.length > 0) return null
  const name = responseName(node)
  const path = { prev: undefined, key: name, typename: parentType.name }
  const { name: fieldName, type: returnType } = field
  const info = { fieldName, fieldNodes: [node], returnType, parentType, path, schema, fragments: {}, operation }
  return { operation, field, node, name, complete, info }
}

function completerOf(type: GraphQLOutputType, node: FieldNode): Complete | undefined {
  const isRequired = isNonNullType(type)
  const complete = completerOfValue(isRequired ? type.ofType : type, node)
  return (
    complete &&
    ((value) => {
      if (value !== null && value !== undefined) return complete(value)
      if (isRequired) throw new TypeError('a value is missing')
      return null
    })
  )
}

function completerOfValue(type: GraphQLOutputType, node: FieldNode): Complete | undefined {
  if (isLeafType(type)) {
    return (value) => {
      const printed = isOdd(value) ? null : type.serialize(value)
      if (printed === null || printed === undefined) throw new TypeError('a value cannot be printed')
      return printed
    }
  }
  if (isListType(type)) {
    const complete = completerOf(type.ofType, node)
    return (
      complete &&
      ((value) => {
        if (!Array.isArray(value)) throw new TypeError('a value is no list')
        return value.map(complete)
      })
    )
  }
  if (!isObjectType(type) || type.isTypeOf) return undefined
  const members = plainFields(node)?.map((member) => memberOf(type, member))
  if (!members?.every((member) => member !== undefined)) return undefined
  return (value) => {
    if (typeof value !== 'object' || isOdd(value)) throw new TypeError('a value is no object')
    const answer: Record<string, unknown> = {}
    for (const [name, read] of members) answer[name] = read(value as Source)
    return answer
  }
}

type Source = Readonly<Record<string, unknown>>

/** The name in the answer, and how to read the member from its object. */
function memberOf(type: GraphQLObjectType, node: FieldNode): [string, (source: Source) => unknown] | undefined {
  const key = node.name.value
  if (key === '__typename') return [responseName(node), () => type.name]
  const field = type.getFields()[key]
  const complete = field && isPlain(field) && completerOf(field.type, node)
  if (!complete) return undefined
  const resolve = field.resolve as ((source: Source) => unknown) | undefined
  return [responseName(node), (source) => complete(resolve ? resolve(source) : source[key])]
}

/** Whether the executor would await, call or throw a value. */
function isOdd(value: unknown): boolean {
  if (typeof value === 'function' || value instanceof Error) return true
  if (!isPromise(value)) return false
  // The executor awaits it again.
  value.catch(() => undefined)
  return true
}

/** A resolver with its parent as the only parameter uses neither caller nor arguments. */
const isPlain = ({ args, resolve }: GraphQLField<unknown, unknown>): boolean =>
  args.length === 0 && (resolve === undefined || resolve.length === 1)

/** The fields of a selection; undefined with fragments, directives, or a repeated name. */
function plainFields({ selectionSet }: OperationDefinitionNode | FieldNode): readonly FieldNode[] | undefined {
  const nodes = selectionSet?.selections ?? []
  const names = new Set<string>(['__proto__'])
  for (const node of nodes) {
    if (node.kind !== Kind.FIELD || node.directives?.length || names.has(responseName(node))) return undefined
    names.add(responseName(node))
  }
  return nodes as readonly FieldNode[]
}

const responseName = ({ alias, name }: FieldNode): string => (alias ?? name).value
