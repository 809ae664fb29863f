import { type Fault, invalidRequest } from '../../base/errors.ts'
import { isCleanText } from '../../base/json.ts'
import { MAX_PAGE } from '../../base/limits.ts'
import { FOREIGN_CURSOR } from '../cursor.ts'
import { type Check, type Fields, isUuid, type RequestOf, refuseFaults, type Shape } from '../shape.ts'
import { InputSource } from '../source.ts'

export const DEFAULT_SIZE = 20

/** A list of one player's objects. Its cursors name the player. They are checked before a mutation begins. */
export const PLAYERS_LIST = {
  cursor: 'environmentId_playerId_id',
  extensions: { cursorNames: ['environmentId', 'playerId', 'id'] },
} as const

/** The names of a connection of these nodes and of its edges, as the options of both. */
export const namesOf = (node: string) => [{ name: `${node}Connection` }, { name: `${node}Edge` }] as const

export interface PageArgs {
  readonly first?: number | null
  readonly last?: number | null
  readonly after?: string | null
  readonly before?: string | null
}

export const isGiven = (value: unknown): boolean => value !== null && value !== undefined

/** Faults of page arguments, by the rules that apply to every list. */
export function faultsOfPage({ first, last }: PageArgs): Fault[] {
  const faults = Object.entries({ first, last }).flatMap(([path, size]) =>
    typeof size === 'number' && (size < 1 || size > MAX_PAGE) ? [{ path, message: `must be 1 to ${MAX_PAGE}` }] : [],
  )
  if (typeof first !== 'number' || typeof last !== 'number') return faults
  return [...faults, { path: 'last', message: 'must not be given with first' }]
}

/** Size and direction of a page, for a connection that pages by itself. Adds faults to the list. */
export function readPage(args: PageArgs, faults: Fault[]): { size: number; backwards: boolean } {
  const { first, last, after, before } = args
  faults.push(...faultsOfPage(args))
  const backwards = typeof last === 'number' || (typeof first !== 'number' && Boolean(before) && !after)
  return { size: first ?? last ?? DEFAULT_SIZE, backwards }
}

/**
 * The arguments of a list that is paged forwards only: those of its request, the size, and the place that the cursor
 * names. `readCursor` returns undefined for a cursor of another list.
 */
export function readList<F extends Fields, Place>(
  request: Shape<F>,
  args: PageArgs,
  readCursor: (cursor: string) => Place | undefined,
  check?: Check<RequestOf<Shape<F>>>,
): RequestOf<Shape<F>> & { size: number; after: Place | null } {
  const faults: Fault[] = []
  const { first, last, after, before } = args
  for (const [path, value] of Object.entries({ last, before })) {
    if (isGiven(value)) faults.push({ path, message: 'is not supported here: use first and after' })
  }
  const { size } = readPage({ first, after }, faults)
  const place = isGiven(after) ? readCursor(after as string) : null
  if (place === undefined) faults.push({ path: 'after', message: FOREIGN_CURSOR })
  const values = request.gather(new InputSource(args), faults)
  if (check) faults.push(...check(values))
  refuseFaults(faults)
  return { ...values, size, after: place ?? null } as never
}

/** A page of a list that is paged forwards only. The rows must include one more than the page has. */
export function forwardPage<T>(
  found: readonly T[],
  { size, after }: { size: number; after: unknown },
  cursorOf: (node: T) => string,
) {
  const edges = found.slice(0, size).map((node) => ({ cursor: cursorOf(node), node }))
  return {
    edges,
    pageInfo: {
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
      hasPreviousPage: after !== null,
      hasNextPage: found.length > size,
    },
  }
}

/** The arguments of Prisma's connections. */
interface PrismaPage {
  readonly cursor?: object
  readonly skip?: number
  readonly take?: number
}

/** The list of a page, and the order of its ids. */
interface PageOf {
  /** The values that all entries of the list share. Its cursors contain them; cursors with other values are refused. */
  readonly scope: Readonly<Record<string, string>>
  readonly order: 'asc' | 'desc'
  /** Ids are UUIDs unless they are names. */
  readonly ids?: 'names'
}

type Beyond = { id?: { lt: string } | { gt: string } }

/**
 * A page of a list in the order of its ids. Prisma would look up the row of a cursor: without the row, for example
 * after its removal, the page would be empty, and a caller could learn that another project has it. Here a cursor is a
 * place.
 */
export function pageOf<Query extends PrismaPage>(
  query: Query,
  { scope, order, ids }: PageOf,
): { page: Omit<Query, 'cursor' | 'skip'> & { orderBy: { id: 'asc' | 'desc' } }; beyond: Beyond } {
  const { cursor, skip: _, ...rest } = query
  const page = { ...rest, orderBy: { id: order } }
  if (!cursor) return { page, beyond: {} }
  const backwards = (query.take ?? 0) < 0
  const [key] = Object.values(cursor)
  const parts: Readonly<Record<string, unknown>> = typeof key === 'object' && key !== null ? key : { id: key }
  const { id } = parts
  const isOurs = Object.entries(scope).every(([name, value]) => parts[name] === value)
  if (!isOurs || typeof id !== 'string' || !(ids === 'names' ? isCleanText(id) : isUuid(id))) {
    throw invalidRequest({ path: backwards ? 'before' : 'after', message: FOREIGN_CURSOR })
  }
  return { page, beyond: { id: backwards === (order === 'asc') ? { lt: id } : { gt: id } } }
}
