import { brandWithType } from '@pothos/core'
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { groupBy } from '../../base/group-by.ts'
import { isCleanText, MAX_INT32 } from '../../base/json.ts'
import { MAX_NODE_IDS } from '../../base/limits.ts'
import { createSemaphore, type Semaphore } from '../../base/semaphore.ts'
import { requireCaller } from '../../callers/access.ts'
import { isUuid, refuseFaults } from '../shape.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

type Part = 'uuid' | 'name' | 'number'

type Load<T> = (context: Context, parts: readonly string[]) => Promise<T | null>
type LoadAll<T> = (
  context: Context,
  ids: readonly (readonly string[])[],
  query: () => object,
) => Promise<readonly (T | null)[]>

interface Loader {
  readonly type: string
  readonly parts: readonly Part[]
  readonly load: Load<object>
  readonly loadAll?: LoadAll<object>
  readonly typeOf: (node: never) => string
}

/** An id that was read. */
interface Asked {
  readonly loader: Loader
  readonly parts: readonly string[]
}

/** Objects that one call reads at once where each takes a statement of its own: others need connections, too. */
const AT_ONCE = 4

const loaders = new Map<string, Loader>()

export const NodeType = builder.interfaceRef<object>('Node').implement({
  description: 'An object that can be read again by its id.',
  fields: (t) => ({
    id: t.id({
      description:
        'The global id, for `Query.node` and for caches: the type, a colon, and the parts of the id, such as `Player:0192…`.',
      resolve: () => {
        throw new Error('a type of nodes has no id')
      },
    }),
  }),
})

/**
 * Makes objects of a type readable by their ids. `load` refuses a caller that must not read such objects at all, and
 * returns null for one that does not exist or that the caller must not know about. `loadAll` does the same for several
 * ids in a fixed number of statements, in the order of the ids; its `query` makes Prisma's query of the selected fields.
 * `typeOf` gives the concrete type of an object, where the id's type is an interface.
 */
export function nodesOf<T extends object>(
  type: string,
  parts: readonly Part[],
  load: Load<T>,
  { loadAll, typeOf = () => type }: { readonly loadAll?: LoadAll<T>; readonly typeOf?: (node: T) => string } = {},
): void {
  loaders.set(type, { type, parts, load, loadAll, typeOf })
}

const FORMS: Readonly<Record<Part, (part: string) => boolean>> = {
  uuid: isUuid,
  name: (part) => part !== '' && isCleanText(part),
  number: (part) => /^\d{1,10}$/.test(part) && Number(part) <= MAX_INT32,
}

/** The loader of an id's type and the parts of the id; undefined for a text that is no id. */
function readId(id: string): Asked | undefined {
  const colon = id.indexOf(':')
  const loader = loaders.get(id.slice(0, Math.max(colon, 0)))
  if (!loader) return undefined
  try {
    const parts = id
      .slice(colon + 1)
      .split('/')
      .map(decodeURIComponent)
    const isOne = parts.length === loader.parts.length && loader.parts.every((form, at) => FORMS[form](parts[at] ?? ''))
    return isOne ? { loader, parts } : undefined
  } catch {
    return undefined
  }
}

const ID_FAULT = 'must be an id that this service gave'

/** Tells GraphQL the type of an object that was loaded. */
function branded<T extends object | null>({ typeOf }: Loader, node: T): T {
  if (node) brandWithType(node, typeOf(node as never) as never)
  return node
}

/** Objects of one type. A refusal stands in the place of its object, and GraphQL reports it there. */
async function loadOfType(
  { type, load, loadAll }: Loader,
  ids: readonly (readonly string[])[],
  { context, info, turns }: { context: Context; info: GraphQLResolveInfo; turns: Semaphore },
): Promise<readonly (object | null)[]> {
  const counted = { ...context, isCounted: true } as const
  if (loadAll) {
    const query = () => queryFromInfo({ context, info, typeName: type as never })
    return orRefusal(loadAll(counted, ids, query), (error) => ids.map(() => error))
  }
  return Promise.all(
    ids.map(async (parts) => {
      const release = await turns.acquire()
      try {
        return await orRefusal(load(counted, parts), (error) => error)
      } finally {
        release()
      }
    }),
  )
}

async function orRefusal<T>(loading: Promise<T>, refused: (error: Refusal) => T): Promise<T> {
  try {
    return await loading
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    throw error
  }
}

builder.queryFields((t) => ({
  node: t.field({
    type: NodeType,
    nullable: true,
    description:
      'The object with this global id. Null for a missing object, and for one that the caller must not read.',
    args: { id: t.arg.id({ required: true, description: 'The `id` of an object.' }) },
    resolve: async (_root, { id }, context) => {
      // The caller is checked first, as for every other field.
      await requireCaller(context)
      const asked = readId(id)
      if (!asked) throw invalidRequest({ path: 'id', message: ID_FAULT })
      return branded(asked.loader, await asked.loader.load({ ...context, isCounted: true }, asked.parts))
    },
  }),

  nodes: t.field({
    type: [NodeType],
    nullable: { list: false, items: true },
    description:
      'The objects with these global ids, in their order, as `node` gives each. An id may be in the list twice.',
    args: {
      ids: t.arg.idList({ required: true, description: `The \`id\`s of objects: up to ${MAX_NODE_IDS}.` }),
    },
    resolve: async (_root, { ids }, context, info) => {
      await requireCaller(context)
      if (ids.length > MAX_NODE_IDS)
        throw invalidRequest({ path: 'ids', message: `must have at most ${MAX_NODE_IDS} elements` })
      const asked = new Map<string, Asked>()
      const faults = ids.flatMap((id, index) => {
        const one = readId(id)
        if (one) asked.set(id, one)
        return one ? [] : [{ path: `ids[${index}]`, message: ID_FAULT }]
      })
      refuseFaults(faults)
      const nodes = new Map<string, object | null>()
      const call = { context, info, turns: createSemaphore(AT_ONCE) }
      const ofTypes = groupBy(asked, ([, { loader }]) => loader)
      await Promise.all(
        [...ofTypes].map(async ([loader, ofType]) => {
          const parts = ofType.map(([, one]) => one.parts)
          const loaded = await loadOfType(loader, parts, call)
          for (const [at, [id]] of ofType.entries()) {
            const node = loaded[at] ?? null
            nodes.set(id, node instanceof Error ? node : branded(loader, node))
          }
        }),
      )
      return ids.map((id) => nodes.get(id) ?? null)
    },
  }),
}))
