import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import { MAX_PAGE } from '../../base/limits.ts'
import * as weights from '../../declare/graphql/cost-weights.ts'
import { DEFAULT_SIZE } from '../../declare/graphql/page.ts'

/** The values of an operation's variables, as the client sent them. */
type Variables = Readonly<Record<string, unknown>>

/** The size of a list: fixed, or known with the variables. */
type Size = number | ((variables: Variables) => number)

/** A cost: a fixed part, and lists whose size the variables give. */
interface Cost {
  fixed: number
  readonly lists: { readonly size: (variables: Variables) => number; readonly each: Cost }[]
}

/**
 * The cost of an operation, from its document and variables, before it runs: an object is 1, and a list is its size
 * times its entry. docs/graphql.md has the rules. A fixed cost is counted once for each document.
 */
export function costOf(
  operation: OperationDefinitionNode,
  { schema, document, variables }: { schema: GraphQLSchema; document: DocumentNode; variables: Variables },
): number {
  let cost = known.get(operation)
  if (!cost) {
    cost = new Counting(schema, document, operation).count()
    known.set(operation, cost)
  }
  return Math.max(1, total(cost, variables))
}

const known = new WeakMap<OperationDefinitionNode, Cost>()

function total({ fixed, lists }: Cost, variables: Variables): number {
  let sum = fixed
  for (const { size, each } of lists) sum += size(variables) * total(each, variables)
  return sum
}

function add(sum: Cost, cost: Cost, size: Size = 1): void {
  if (typeof size === 'function') {
    sum.lists.push({ size, each: cost })
    return
  }
  sum.fixed += size * cost.fixed
  for (const list of cost.lists) {
    sum.lists.push(size === 1 ? list : { size: (variables) => size * list.size(variables), each: list.each })
  }
}

class Counting {
  private readonly schema: GraphQLSchema
  private readonly document: DocumentNode
  private readonly operation: OperationDefinitionNode

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) {
    this.schema = schema
    this.document = document
    this.operation = operation
  }

  count(): Cost {
    const { operation, selectionSet } = this.operation
    const root = this.schema.getRootType(operation)
    return root ? this.selections(selectionSet, root, 1) : { fixed: 0, lists: [] }
  }

  /** `page` is the size of the connection that the selections belong to. */
  private selections({ selections }: SelectionSetNode, parent: GraphQLNamedType, page: Size): Cost {
    const sum: Cost = { fixed: 0, lists: [] }
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        this.addField(sum, selection, parent, page)
        continue
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragment(selection.name.value) : selection
      const condition = fragment?.typeCondition?.name.value
      const type = condition === undefined ? parent : this.schema.getType(condition)
      if (fragment && type) add(sum, this.selections(fragment.selectionSet, type, page))
    }
    return sum
  }

  private fragment(name: string): FragmentDefinitionNode | undefined {
    return this.document.definitions.find(
      (definition) => definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name,
    ) as FragmentDefinitionNode | undefined
  }

  private addField(sum: Cost, node: FieldNode, parent: GraphQLNamedType, page: Size): void {
    const name = node.name.value
    if (name === '__schema' || name === '__type') sum.fixed += weights.INTROSPECTION
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
    if (!field) return
    const type = getNamedType(field.type)
    const below = this.below(node, field, type)
    const isPage = isConnection(parent) && (name === 'nodes' || name === 'edges')
    // The node of an edge is the edge's own entry.
    below.fixed += isEdge(parent) && name === 'node' ? 0 : this.weightOf(field, parent)
    add(sum, below, isPage ? page : this.sizeOf(node, field, parent))
  }

  private below(node: FieldNode, field: GraphQLField<unknown, unknown>, type: GraphQLNamedType): Cost {
    if (!node.selectionSet) return { fixed: 0, lists: [] }
    const page = isConnection(type) ? this.argument(node, field, ['first', 'last'], DEFAULT_SIZE, MAX_PAGE) : 1
    return this.selections(node.selectionSet, type, page)
  }

  private weightOf(field: GraphQLField<unknown, unknown>, parent: GraphQLNamedType): number {
    const weight = field.extensions.cost ?? weights.WEIGHTS[`${parent.name}.${field.name}`]
    if (typeof weight === 'number') return weight
    const { operation } = this.operation
    if (parent === this.schema.getRootType(operation)) {
      if (operation === OperationTypeNode.MUTATION) return weights.MUTATION
      if (operation === OperationTypeNode.SUBSCRIPTION) return weights.SUBSCRIPTION
    }
    if (isConnection(parent)) {
      if (field.name === 'totalCount') return weights.TOTAL_COUNT
      if (field.name === 'pageInfo') return 0
    }
    return isLeafType(getNamedType(field.type)) ? 0 : 1
  }

  /** The size of a plain list. A list of plain values costs nothing. */
  private sizeOf(node: FieldNode, field: GraphQLField<unknown, unknown>, parent: GraphQLNamedType): Size {
    if (!isListType(getNullableType(field.type)) || isLeafType(getNamedType(field.type))) return 1
    const name = `${parent.name}.${field.name}`
    const { size: usual = weights.LIST_SIZE } = field.extensions as { readonly size?: number }
    const argument = weights.SIZE_ARGUMENTS[name]
    return argument === undefined ? usual : this.argument(node, field, [argument], usual)
  }

  /** The size that arguments give, between 1 and `max`: execution refuses any other. */
  private argument(
    node: FieldNode,
    { args }: GraphQLField<unknown, unknown>,
    names: readonly string[],
    usual: number,
    max = Number.MAX_SAFE_INTEGER,
  ): Size {
    const values = names.flatMap((name) => {
      const value = node.arguments?.find((argument) => argument.name.value === name)?.value
      return value ? [value] : []
    })
    const declared = args.find(({ name }) => names.includes(name))?.defaultValue
    const otherwise = sizeIn(declared) ?? usual
    const read = (variables: Variables): number => {
      const sizes = values.flatMap((value) => sizeIn(this.valueOf(value, variables)) ?? [])
      return sizes.length === 0 ? otherwise : Math.min(max, Math.max(1, ...sizes))
    }
    return values.some(({ kind }) => kind === Kind.VARIABLE) ? read : read({})
  }

  private valueOf(value: ValueNode, variables: Variables): unknown {
    if (value.kind !== Kind.VARIABLE) return valueFromASTUntyped(value)
    const name = value.name.value
    if (variables[name] !== undefined) return variables[name]
    const definition = this.operation.variableDefinitions?.find(({ variable }) => variable.name.value === name)
    return definition?.defaultValue && valueFromASTUntyped(definition.defaultValue)
  }
}

function sizeIn(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Named so by the schema's conventions. */
const isConnection = ({ name }: GraphQLNamedType): boolean => name.endsWith('Connection')
const isEdge = ({ name }: GraphQLNamedType): boolean => name.endsWith('Edge') && name !== 'DefinitionEdge'
