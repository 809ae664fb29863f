import { GraphQLError, Kind, type ValueNode } from 'graphql'
import {
  depthExceeds,
  elements,
  kindOf,
  MAX_INT64,
  MIN_INT64,
  members,
  objectText,
  RawJson,
  readInt,
} from '../../base/json.ts'
import { MAX_DEPTH } from '../../base/limits.ts'

/** A 64-bit integer. Output: a decimal string. Input: a decimal string or an integer, exact over the whole range. */
export function parseInt64(value: unknown): bigint {
  const exact =
    typeof value === 'string' ? readInt(value) : Number.isSafeInteger(value) ? BigInt(value as number) : undefined
  // JSON's numbers are read as doubles: another integer may have been sent.
  if (exact === undefined && Number.isInteger(value))
    throw new GraphQLError('Int64 beyond 9007199254740991 must be a string of its digits: as a number it was rounded')
  if (exact === undefined) throw new GraphQLError('Int64 must be an integer, or its decimal digits as a string')
  if (exact < MIN_INT64 || exact > MAX_INT64) throw new GraphQLError('Int64 must be a 64-bit integer')
  return exact
}

export function parseInt64Literal(node: ValueNode): bigint {
  return located(node, () => parseInt64(node.kind === Kind.INT || node.kind === Kind.STRING ? node.value : undefined))
}

/** Adds the literal's place in the document to an error. */
function located<T>(node: ValueNode, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof GraphQLError ? new GraphQLError(error.message, { nodes: node }) : error
  }
}

const OBJECT = 'JSONObject must be a JSON object, or its text as a string'
/** The same limit as for a REST body, which counts the surrounding object. */
const MAX_OBJECT_DEPTH = MAX_DEPTH - 1

export function parseObject(value: unknown): RawJson {
  if (typeof value === 'string') return readObject(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new GraphQLError(OBJECT)
  return readObject(JSON.stringify(value))
}

/** A JSON object from a document. Its numbers keep their digits. */
export function parseObjectLiteral(node: ValueNode, variables?: Readonly<Record<string, unknown>> | null): RawJson {
  return located(node, () => {
    if (node.kind === Kind.STRING) return readObject(node.value)
    if (node.kind !== Kind.OBJECT) throw new GraphQLError(OBJECT)
    return readObject(literalText(node, variables ?? {}))
  })
}

function readObject(text: string): RawJson {
  if (depthExceeds(text, MAX_OBJECT_DEPTH))
    throw new GraphQLError(`JSONObject must not nest deeper than ${MAX_OBJECT_DEPTH}`)
  try {
    JSON.parse(text)
  } catch {
    throw new GraphQLError(OBJECT)
  }
  // Only the white space of JSON is allowed around it.
  const trimmed = text.trim()
  if (kindOf(trimmed) !== 'object' || !trimmed.isWellFormed()) throw new GraphQLError(OBJECT)
  return new RawJson(trimmed)
}

function literalText(node: ValueNode, variables: Readonly<Record<string, unknown>>): string {
  switch (node.kind) {
    case Kind.OBJECT:
      return objectText(node.fields.map(({ name, value }) => [name.value, literalText(value, variables)]))
    case Kind.LIST:
      return `[${node.values.map((value) => literalText(value, variables)).join(',')}]`
    case Kind.STRING:
    case Kind.ENUM:
      return JSON.stringify(node.value)
    case Kind.VARIABLE:
      return variableText(variables[node.name.value])
    case Kind.NULL:
      return 'null'
    default:
      return String(node.value)
  }
}

/** The text of a variable's value inside a literal. A number that is no integer has lost its digits already. */
function variableText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(variableText).join(',')}]`
  if (typeof value === 'bigint' || typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  throw new GraphQLError(
    'JSONObject must not hold a variable that loses its digits: use one of String, Boolean, Int, Int64 or JSONObject',
  )
}

/** JSON text that may be null, for a field of the scalar JSON. */
export const jsonOrNull = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

/** JSON text as a value. Integers beyond 2^53 become decimal strings, like Int64, as do numbers beyond a double. */
export function plainJson({ text }: RawJson): unknown {
  switch (kindOf(text)) {
    case 'object':
      return Object.fromEntries([...members(text)].map(([key, raw]) => [key, plainJson(new RawJson(raw))]))
    case 'array':
      return elements(text).map((raw) => plainJson(new RawJson(raw)))
    case 'number': {
      const value: number = JSON.parse(text)
      return !Number.isFinite(value) || (readInt(text) !== undefined && !Number.isSafeInteger(value)) ? text : value
    }
    default:
      return JSON.parse(text)
  }
}
