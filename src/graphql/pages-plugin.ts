import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  PothosValidationError,
  type SchemaTypes,
} from '@pothos/core'
import {
  type FieldNode,
  type GraphQLFieldResolver,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getNamedType,
  type SelectionSetNode,
} from 'graphql'
import { type Fault, invalidRequest, Refusal } from '../errors.ts'
import { FOREIGN_CURSOR, faultsOfPage, type PageArgs } from './page.ts'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      pages: PagesPlugin<Types>
    }
  }
}

/**
 * Refuses pages that make no sense, of every connection of the schema alike. Sizes are looked at below a query or a
 * mutation as a whole before it begins: a mutation whose answer could not be paged changes nothing.
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
      const faults = isRoot ? [...faultsBelow(info)] : []
      // Nothing is changed for an answer that could not be paged.
      if (faults.length > 0 && kind === 'Mutation') throw invalidRequest(...faults)
      const withoutPage = async () => resolver(parent, { ...args, ...NO_PAGE }, context, info)
      if (faults.length > 0) return refuse(faults, withoutPage)
      if (!isPaged) return resolver(parent, args, context, info)
      return readable(
        async () => resolver(parent, args, context, info),
        () => refuse([faultOfPaging(args)], withoutPage),
      )
    }
  }
}

const NO_PAGE: PageArgs = { first: null, last: null, after: null, before: null }

SchemaBuilder.registerPlugin('pages', PagesPlugin)

/** Relay's names: so end those of connections, and no others. */
const isConnection = (typeName: string): boolean => typeName.endsWith('Connection')

/** What is wrong with the pages that are asked for, in the root field itself and everywhere below it. */
function* faultsBelow(info: GraphQLResolveInfo): Generator<Fault> {
  for (const node of info.fieldNodes) yield* faultsOf(info, info.parentType, node, '')
}

function* faultsOf(
  info: GraphQLResolveInfo,
  parent: GraphQLNamedType,
  node: FieldNode,
  path: string,
): Generator<Fault> {
  const field = 'getFields' in parent ? parent.getFields()[node.name.value] : undefined
  if (!field || !('args' in field)) return
  const type = getNamedType(field.type)
  if (isConnection(type.name)) {
    const args: PageArgs = getArgumentValues(field, node, info.variableValues)
    for (const fault of faultsOfPage(args)) yield { ...fault, path: path + fault.path }
  }
  if (node.selectionSet) yield* faultsAmong(info, type, node.selectionSet, path)
}

function* faultsAmong(
  info: GraphQLResolveInfo,
  parent: GraphQLNamedType,
  { selections }: SelectionSetNode,
  path: string,
): Generator<Fault> {
  for (const selection of selections) {
    if (selection.kind === 'Field') {
      yield* faultsOf(info, parent, selection, `${path}${(selection.alias ?? selection.name).value}.`)
      continue
    }
    const fragment = selection.kind === 'FragmentSpread' ? info.fragments[selection.name.value] : selection
    const condition = fragment?.typeCondition?.name.value
    const type = condition === undefined ? parent : info.schema.getType(condition)
    if (fragment && type) yield* faultsAmong(info, type, fragment.selectionSet, path)
  }
}

/** Refuses, unless what was asked is refused for who asks; names what else is wrong with it, too. */
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

/** Reads a page, unless the paging itself makes no sense of its arguments. */
async function readable<T>(read: () => Promise<T>, otherwise: () => Promise<never>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof PothosValidationError) return otherwise()
    throw error
  }
}

/** Which argument it is. */
function faultOfPaging({ first, last, after, before }: PageArgs): Fault {
  if (isGiven(before) && isGiven(after)) return { path: 'before', message: 'must not be given beside after' }
  if (isGiven(before) && isGiven(first)) return { path: 'before', message: 'must be given with last, not with first' }
  if (isGiven(after) && isGiven(last)) return { path: 'after', message: 'must be given with first, not with last' }
  return { path: isGiven(before) ? 'before' : 'after', message: FOREIGN_CURSOR }
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined
