import { brandWithType } from '@pothos/core'
import { invalidRequest, Refusal, type RefusalKind } from '../../base/errors.ts'
import { isCleanText, MAX_INT32 } from '../../base/json.ts'
import { requireCaller } from '../../callers/access.ts'
import { isUuid } from '../shape.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'

type Part = 'uuid' | 'name' | 'number'

interface Loader {
  readonly parts: readonly Part[]
  load(context: Context, parts: readonly string[]): Promise<object | null>
  /** The concrete type of an object, where the id's type is an interface. */
  readonly typeOf: (node: never) => string
}

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
 * returns null for one that does not exist or that the caller must not know about.
 */
export function nodesOf<T extends object>(
  type: string,
  parts: readonly Part[],
  load: (context: Context, parts: readonly string[]) => Promise<T | null>,
  typeOf: (node: T) => string = () => type,
): void {
  loaders.set(type, { parts, load, typeOf })
}

/** Returns null instead of one of these refusals. */
export async function orNull<T>(found: Promise<T> | T, ...absent: readonly RefusalKind[]): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Refusal && absent.includes(error.kind)) return null
    throw error
  }
}

const FORMS: Readonly<Record<Part, (part: string) => boolean>> = {
  uuid: isUuid,
  name: (part) => part !== '' && isCleanText(part),
  number: (part) => /^\d{1,10}$/.test(part) && Number(part) <= MAX_INT32,
}

/** The loader of an id's type and the parts of the id; undefined for a text that is no id. */
function readId(id: string): { loader: Loader; parts: readonly string[] } | undefined {
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

builder.queryField('node', (t) =>
  t.field({
    type: NodeType,
    nullable: true,
    description:
      'The object with this global id. Null for a missing object, and for one that the caller must not read.',
    args: { id: t.arg.id({ required: true, description: 'The `id` of an object.' }) },
    resolve: async (_root, { id }, context) => {
      // The caller is checked first, as for every other field.
      await requireCaller(context)
      const found = readId(id)
      if (!found) throw invalidRequest({ path: 'id', message: 'must be an id that this service gave' })
      const node = await found.loader.load({ ...context, isCounted: true }, found.parts)
      if (node) brandWithType(node, found.loader.typeOf(node as never) as never)
      return node
    },
  }),
)
