import type { Fault } from '../base/errors.ts'
import { MAX_NAME, MAX_NOTICES, meantBy } from './nearest.ts'
import type { Schema } from './shape.ts'

// Names that a request has and its call does not know. They are refused: a misspelt filter would match everybody.

const unknownName = (name: string, known: readonly string[]): string =>
  `is unknown; ${known.length === 0 ? 'this call takes none' : meantBy(name, known)}`

/**
 * The faults of a query string: parameters that the call does not know, and those that come more than once, but for
 * `repeated` ones.
 */
export function queryFaults(
  query: URLSearchParams,
  known: readonly string[],
  repeated: readonly string[] = [],
): readonly Fault[] {
  const faults: Fault[] = []
  for (const name of new Set(query.keys())) {
    if (faults.length >= MAX_NOTICES) break
    const path = name.slice(0, MAX_NAME)
    if (!known.includes(name)) faults.push({ path, message: unknownName(name, known) })
    else if (query.getAll(name).length > 1 && !repeated.includes(name))
      faults.push({ path, message: 'must be given once' })
  }
  return faults
}

interface Nested {
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Adds the members of a JSON value, at any depth, that its schema does not know. */
export function addUnknownMembers(faults: Fault[], value: unknown, schema: Schema, place = ''): void {
  if (typeof value !== 'object' || value === null || faults.length >= MAX_NOTICES) return
  // An optional member has its schema, or null.
  const { items, properties } = ((schema.anyOf as readonly Schema[] | undefined)?.[0] ?? schema) as Nested
  if (Array.isArray(value)) {
    if (items) for (const [index, one] of value.entries()) addUnknownMembers(faults, one, items, `${place}[${index}]`)
    return
  }
  if (!properties) return
  for (const [name, member] of Object.entries(value)) {
    if (faults.length >= MAX_NOTICES) return
    const short = name.slice(0, MAX_NAME)
    const path = place === '' ? short : `${place}.${short}`
    if (Object.hasOwn(properties, name)) addUnknownMembers(faults, member, properties[name] as Schema, path)
    else faults.push({ path, message: unknownName(name, Object.keys(properties)) })
  }
}
