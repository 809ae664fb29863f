import type { Fields } from '../fields.ts'

const DEFAULT_SIZE = 20
const MAX_SIZE = 200

/** The arguments of a connection that pages by itself; those of Prisma's are bounded by their plugin. */
export interface PageArgs {
  readonly first?: number | null
  readonly last?: number | null
  readonly after?: string | null
  readonly before?: string | null
}

/** How many, and from which end. */
export function readPage(
  fields: Fields,
  { first, last, after, before }: PageArgs,
): { size: number; backwards: boolean } {
  for (const [path, size] of Object.entries({ first, last })) {
    if (typeof size === 'number' && (size < 1 || size > MAX_SIZE)) fields.fault(path, `must be 1 to ${MAX_SIZE}`, null)
  }
  if (typeof first === 'number' && typeof last === 'number')
    fields.fault('last', 'must not be given beside first', null)
  const backwards = typeof last === 'number' || (typeof first !== 'number' && Boolean(before) && !after)
  return { size: first ?? last ?? DEFAULT_SIZE, backwards }
}

/** How many of a list that is paged from its beginning only. */
export function readForwardPage(fields: Fields, { first, last, after, before }: PageArgs): number {
  for (const [path, value] of Object.entries({ last, before })) {
    if (value !== null && value !== undefined) fields.fault(path, 'is not supported here: use first and after', null)
  }
  return readPage(fields, { first, after }).size
}
