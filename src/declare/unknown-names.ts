import type { Fault } from '../base/errors.ts'
import { nearestName } from '../base/nearest-name.ts'
import type { Schema } from './shape.ts'

// Names that a request has and its call does not know. They are refused: a misspelt filter would match everybody.

/** What a refusal names at most. */
const MAX_NAMED = 100
/** Characters of a name that a refusal repeats. */
const MAX_LENGTH = 64

function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  if (nearest !== undefined) return `is unknown; did you mean ${nearest}?`
  return known.length === 0 ? 'is unknown; this call takes none' : `is unknown; known are ${known.join(', ')}`
}

/** The faults of a query string: parameters that the call does not know, and those that come more than once. */
export function queryFaults(query: URLSearchParams, known: readonly string[]): readonly Fault[] {
  const faults: Fault[] = []
  for (const name of new Set(query.keys())) {
    if (faults.length >= MAX_NAMED) break
    const path = name.slice(0, MAX_LENGTH)
    if (!known.includes(name)) faults.push({ path, message: unknownName(name, known) })
    else if (query.getAll(name).length > 1) faults.push({ path, message: 'must be given once' })
  }
  return faults
}

/** Adds the members of a JSON value, at any depth, that its schema does not know. */
export function addUnknownMembers(faults: Fault[], value: unknown, schema: Schema, place = ''): void {
  if (typeof value !== 'object' || value === null || faults.length >= MAX_NAMED) return
  if (Array.isArray(value)) {
    const items = schema.items as Schema | undefined
    if (items) for (const [index, one] of value.entries()) addUnknownMembers(faults, one, items, `${place}[${index}]`)
    return
  }
  const properties = schema.properties as Readonly<Record<string, Schema>> | undefined
  if (!properties) return
  for (const [name, member] of Object.entries(value)) {
    if (faults.length >= MAX_NAMED) return
    const short = name.slice(0, MAX_LENGTH)
    const path = place === '' ? short : `${place}.${short}`
    if (Object.hasOwn(properties, name)) addUnknownMembers(faults, member, properties[name] as Schema, path)
    else faults.push({ path, message: unknownName(name, Object.keys(properties)) })
  }
}
