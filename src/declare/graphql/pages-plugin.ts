import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  PothosValidationError,
  type SchemaTypes,
} from '@pothos/core'
import { parsePrismaCursor } from '@pothos/plugin-prisma'
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getNamedType,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { FOREIGN_CURSOR } from '../cursor.ts'
import { bareId } from '../global-id.ts'
import { isUuid } from '../shape.ts'
import { faultsOfPage, isGiven, type PageArgs } from './page.ts'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      pages: PagesPlugin<Types>
    }
  }
}

/**
 * Refuses faulty page arguments, for every connection of the schema. All page sizes are checked before a query or
 * mutation begins, and so are cursors below a mutation: a mutation whose answer could not be paged changes nothing.
 */
class PagesPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind, type }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const isPaged = type.kind === 'Object' && isConnection(this.builder.configStore.getTypeConfig(type.ref).name)
    const isRoot = kind === 'Query' || kind === 'Mutation'
    if (!isPaged && !isRoot) return resolver
    return (parent, args: PageArgs, context, info) => {
      const faults = isRoot ? faultsBelow(info, kind === 'Mutation' ? (args as MutationArgs).input : undefined) : []
      // A mutation whose answer could not be paged changes nothing.
      if (faults.length > 0 && kind === 'Mutation') throw invalidRequest(...faults)
      const withoutPage = async () => resolver(parent, { ...args, ...NO_PAGE }, context, info)
      if (faults.length > 0) return refuse(faults, withoutPage)
      if (!isPaged) return resolver(parent, args, context, info)
      return readable(
        async () => resolver(parent, args, context, withPageInfo(info)),
        () => refuse([faultOfPaging(args)], withoutPage),
      )
    }
  }
}

type Input = Readonly<Record<string, unknown>>
interface MutationArgs {
  readonly input?: Input
}

const NO_PAGE: PageArgs = { first: null, last: null, after: null, before: null }

SchemaBuilder.registerPlugin('pages', PagesPlugin)

/** By Relay's convention, only names of connections end like this. */
const isConnection = (typeName: string): boolean => typeName.endsWith('Connection')

const PAGE_INFO: FieldNode = {
  kind: Kind.FIELD,
  name: { kind: Kind.NAME, value: 'pageInfo' },
  selectionSet: {
    kind: Kind.SELECTION_SET,
    selections: [{ kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } }],
  },
}

/**
 * When only the type of a list is requested, the list is resolved like any other: otherwise Pothos would skip its
 * resolver, which checks the caller.
 */
function withPageInfo(info: GraphQLResolveInfo): GraphQLResolveInfo {
  const isBare = ({ selectionSet }: FieldNode) =>
    selectionSet?.selections.every((node) => node.kind === 'Field' && node.name.value === '__typename')
  const [first, ...more] = info.fieldNodes
  if (!first || !info.fieldNodes.every(isBare)) return info
  const selections = [...(first.selectionSet?.selections ?? []), PAGE_INFO]
  return { ...info, fieldNodes: [{ ...first, selectionSet: { kind: Kind.SELECTION_SET, selections } }, ...more] }
}

/** Faults of the requested pages, in the root field itself and everywhere below it. */
function faultsBelow(info: GraphQLResolveInfo, input: Input | undefined): Fault[] {
  return info.fieldNodes
    .flatMap((node) => listsBelow(info, node))
    .flatMap(({ field, node, path }) => {
      const args: PageArgs = getArgumentValues(field, node, info.variableValues)
      const faults = [...faultsOfPage(args), ...(input ? faultsOfCursors(field, args, input) : [])]
      return faults.map((fault) => ({ ...fault, path: path + fault.path }))
    })
}

/** A requested connection and its path, which ends with a point or is empty. */
interface List {
  readonly field: GraphQLField<unknown, unknown>
  readonly node: FieldNode
  readonly path: string
}

/** Computed once for a cached document: most operations of players have no list. */
const lists = new WeakMap<FieldNode, readonly List[]>()

function listsBelow(info: GraphQLResolveInfo, node: FieldNode): readonly List[] {
  const known = lists.get(node)
  if (known) return known
  const found = [...listsOf(info, info.parentType, node, '')]
  lists.set(node, found)
  return found
}

function* listsOf(info: GraphQLResolveInfo, parent: GraphQLNamedType, node: FieldNode, path: string): Generator<List> {
  const field = 'getFields' in parent ? parent.getFields()[node.name.value] : undefined
  if (!field || !('args' in field)) return
  const type = getNamedType(field.type)
  if (isConnection(type.name)) yield { field, node, path }
  if (node.selectionSet) yield* listsAmong(info, type, node.selectionSet, path)
}

function* listsAmong(
  info: GraphQLResolveInfo,
  parent: GraphQLNamedType,
  { selections }: SelectionSetNode,
  path: string,
): Generator<List> {
  for (const selection of selections) {
    if (selection.kind === 'Field') {
      yield* listsOf(info, parent, selection, `${path}${(selection.alias ?? selection.name).value}.`)
      continue
    }
    const fragment = selection.kind === 'FragmentSpread' ? info.fragments[selection.name.value] : selection
    const condition = fragment?.typeCondition?.name.value
    const type = condition === undefined ? parent : info.schema.getType(condition)
    if (fragment && type) yield* listsAmong(info, type, fragment.selectionSet, path)
  }
}

/** Faults of the cursors of a list below a mutation. The list belongs to the object of the mutation. */
function faultsOfCursors(field: GraphQLField<unknown, unknown>, args: PageArgs, input: Input): Fault[] {
  const ends = faultOfEnds(args)
  if (ends) return [ends]
  // Cursors of other lists do not name their owner.
  const { cursorNames: names } = field.extensions as { readonly cursorNames?: readonly string[] }
  return (['after', 'before'] as const).flatMap((path) => {
    if (!isGiven(args[path])) return []
    if (!names) return [{ path, message: 'is not taken below a mutation: read on with a query' }]
    return isCursorOf(names, args[path], input) ? [] : [{ path, message: FOREIGN_CURSOR }]
  })
}

/** Whether a cursor is of a list with these values and the ids of the input. */
function isCursorOf(names: readonly string[], cursor: unknown, input: Input): boolean {
  try {
    const parts = parsePrismaCursor(cursor)
    if (!Array.isArray(parts) || parts.length !== names.length) return false
    return names.every((name, index) => {
      const part: unknown = parts[index]
      return (
        typeof part === 'string' &&
        isUuid(part) &&
        (!(name in input) || part === bareId('Player', String(input[name])).toLowerCase())
      )
    })
  } catch {
    return false
  }
}

/** Refuses with these faults and any others of the request. If the caller itself is refused, throws that refusal. */
async function refuse(faults: readonly Fault[], readWithoutPage: () => Promise<unknown>): Promise<never> {
  try {
    await readWithoutPage()
  } catch (error) {
    if (!(error instanceof Refusal && error.kind === 'invalidRequest')) throw error
    const paths = new Set(faults.map(({ path }) => path))
    throw invalidRequest(...faults, ...error.faults.filter(({ path }) => !paths.has(path)))
  }
  throw invalidRequest(...faults)
}

/** Reads a page, unless the paging arguments themselves are faulty. */
async function readable<T>(read: () => Promise<T>, otherwise: () => Promise<never>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof PothosValidationError) return otherwise()
    throw error
  }
}

/** The fault of the arguments with which Pothos could not read a page. */
const faultOfPaging = (args: PageArgs): Fault =>
  faultOfEnds(args) ?? { path: isGiven(args.before) ? 'before' : 'after', message: FOREIGN_CURSOR }

/** The fault of cursors and sizes that do not go together. */
function faultOfEnds({ first, last, after, before }: PageArgs): Fault | undefined {
  if (isGiven(before) && isGiven(after)) return { path: 'before', message: 'must not be given with after' }
  if (isGiven(before) && isGiven(first)) return { path: 'before', message: 'must be given with last, not with first' }
  if (isGiven(after) && isGiven(last)) return { path: 'after', message: 'must be given with first, not with last' }
  return undefined
}
