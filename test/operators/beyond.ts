import type { Field } from '../../src/declare/shape.ts'

/** A value that is of the field's type, and not within its limits. Undefined for a field that GraphQL checks alone. */
export function beyond({ schema, type }: Field<unknown>): unknown {
  const { maxLength, minimum, maxItems } = schema as Readonly<Record<string, number | undefined>>
  if (maxLength !== undefined) return 'x'.repeat(maxLength + 1)
  if (type === 'Strings' && maxItems !== undefined)
    return Array.from({ length: maxItems + 1 }, (_, index) => `s${index}`)
  if (minimum !== undefined) return type === 'Int64' ? String(BigInt(minimum) - 1n) : minimum - 1
  return undefined
}
