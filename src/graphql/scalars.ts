import { GraphQLError, Kind, type ValueNode } from 'graphql'
import { elements, kindOf, MAX_INT64, MIN_INT64, members, RawJson, readInt } from '../json.ts'

/** A 64-bit integer: a decimal string out; a decimal string or an integer in, exact over the whole range. */
export function parseInt64(value: unknown): bigint {
  const exact =
    typeof value === 'string' ? readInt(value) : Number.isSafeInteger(value) ? BigInt(value as number) : undefined
  if (exact === undefined) throw new GraphQLError('Int64 must be an integer, or its decimal digits as a string')
  if (exact < MIN_INT64 || exact > MAX_INT64) throw new GraphQLError('Int64 must be a 64-bit integer')
  return exact
}

export function parseInt64Literal(node: ValueNode): bigint {
  if (node.kind === Kind.INT || node.kind === Kind.STRING) return parseInt64(node.value)
  throw new GraphQLError('Int64 must be an integer, or its decimal digits as a string')
}

/** JSON text as a value. Integers that a double cannot hold become decimal strings, like Int64. */
export function plainJson({ text }: RawJson): unknown {
  switch (kindOf(text)) {
    case 'object':
      return Object.fromEntries([...members(text)].map(([key, raw]) => [key, plainJson(new RawJson(raw))]))
    case 'array':
      return elements(text).map((raw) => plainJson(new RawJson(raw)))
    case 'number': {
      const value: number = JSON.parse(text)
      return readInt(text) !== undefined && !Number.isSafeInteger(value) ? text : value
    }
    default:
      return JSON.parse(text)
  }
}
