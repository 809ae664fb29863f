import {
  type ExecutionArgs,
  type GraphQLInputType,
  getNamedType,
  getOperationAST,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql'
import { elements, members } from '../../base/json.ts'
import type { Context } from './context.ts'

/**
 * The variables of an operation, in which every object of a `JSONObject` is replaced by its text as it was sent.
 * `JSON.parse` has rounded its numbers and dropped its duplicate keys; the scalar reads the text, which it also takes
 * from a caller.
 */
export function exactVariables(args: ExecutionArgs): ExecutionArgs['variableValues'] {
  const { schema, document, operationName, variableValues } = args
  const operation = variableValues ? getOperationAST(document, operationName) : undefined
  if (!variableValues || !operation || !takesObjects(operation, args)) return variableValues
  const text = (args.contextValue as Context).variablesText()
  if (text === undefined) return variableValues
  const texts = members(text)
  const exact: Record<string, unknown> = { ...variableValues }
  for (const { variable, type: node } of operation.variableDefinitions ?? []) {
    const name = variable.name.value
    const type = typeFromAST(schema, node as never) as GraphQLInputType | undefined
    const raw = texts.get(name)
    if (type && raw !== undefined) exact[name] = exactValue(type, variableValues[name], raw)
  }
  return exact
}

/** Computed once for a cached document: hardly any operation has such a variable. */
const taking = new WeakMap<OperationDefinitionNode, boolean>()

function takesObjects(operation: OperationDefinitionNode, { schema }: ExecutionArgs): boolean {
  const known = taking.get(operation)
  if (known !== undefined) return known
  const takes = (operation.variableDefinitions ?? []).some(({ type: node }) => {
    const type = typeFromAST(schema, node as never) as GraphQLInputType | undefined
    return type !== undefined && holdsObjects(type)
  })
  taking.set(operation, takes)
  return takes
}

function holdsObjects(type: GraphQLInputType, seen: Set<unknown> = new Set()): boolean {
  const named = getNamedType(type)
  if (!isInputObjectType(named)) return named.name === 'JSONObject'
  if (seen.has(named)) return false
  seen.add(named)
  return Object.values(named.getFields()).some((field) => holdsObjects(field.type, seen))
}

/** A value with the texts of its objects. A value that does not fit its type is left to the coercion, which refuses it. */
function exactValue(type: GraphQLInputType, value: unknown, raw: string): unknown {
  if (isNonNullType(type)) return exactValue(type.ofType, value, raw)
  if (typeof value !== 'object' || value === null) return value
  if (isListType(type)) {
    if (!Array.isArray(value)) return exactValue(type.ofType, value, raw)
    const texts = elements(raw)
    return value.map((element, index) => exactValue(type.ofType, element, texts[index] ?? ''))
  }
  if (Array.isArray(value)) return value
  if (!isInputObjectType(type)) return type.name === 'JSONObject' ? raw : value
  const texts = members(raw)
  const fields = type.getFields()
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = fields[name]
      return [name, field ? exactValue(field.type, member, texts.get(name) ?? '') : member]
    }),
  )
}
