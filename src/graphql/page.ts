import { type Fault, invalidRequest } from '../errors.ts'

const DEFAULT_SIZE = 20
const MAX_SIZE = 200

/** The arguments of a connection that pages by itself; those of Prisma's are bounded by their plugin. */
export interface PageArgs {
  readonly first?: number | null
  readonly last?: number | null
  readonly after?: string | null
  readonly before?: string | null
}

/** How many, and from which end. Refuses what makes no sense, every fault at once. */
export function readPage({ first, last, after, before }: PageArgs): { size: number; backwards: boolean } {
  const faults = Object.entries({ first, last }).flatMap(([path, size]): Fault[] =>
    typeof size === 'number' && (size < 1 || size > MAX_SIZE) ? [{ path, message: `must be 1 to ${MAX_SIZE}` }] : [],
  )
  if (typeof first === 'number' && typeof last === 'number')
    faults.push({ path: 'last', message: 'must not be given beside first' })
  if (faults.length > 0) throw invalidRequest(...faults)
  const backwards = typeof last === 'number' || (typeof first !== 'number' && Boolean(before) && !after)
  return { size: first ?? last ?? DEFAULT_SIZE, backwards }
}

/** How many of a list that is paged from its beginning only. */
export function readForwardPage(args: PageArgs): number {
  const faults = (['last', 'before'] as const).flatMap((path): Fault[] =>
    args[path] === null || args[path] === undefined
      ? []
      : [{ path, message: 'is not supported here: use first and after' }],
  )
  if (faults.length > 0) throw invalidRequest(...faults)
  return readPage(args).size
}
