import {
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  getNamedType,
  getOperationAST,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { Refusal } from '../../base/errors.ts'
import { hasRight, type Right } from '../../callers/roles.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { rightOf } from '../../declare/graphql/field-marks.ts'
import { errorWithHeaders } from './cost-limit.ts'

type Variables = Readonly<Record<string, unknown>>

interface Needed {
  readonly right: Right
  /** The field in the answer, by its names there: `updateProfile.player.timeline`. */
  readonly path: string
}

/** Mutations whose answers need no right, whatever their variables. */
const free = new WeakSet<OperationDefinitionNode>()

/**
 * Refuses a mutation before it runs when its caller may not read a part of the answer that it asks for. A caller that
 * cannot be found is left to the resolvers, which refuse it.
 */
export function refuseForbiddenAnswer(args: ExecutionArgs): Promise<ExecutionResult | undefined> | undefined {
  const operation = getOperationAST(args.document, args.operationName)
  if (operation?.operation !== OperationTypeNode.MUTATION || free.has(operation)) return undefined
  if (neededRights(args, operation, () => true).length === 0) {
    free.add(operation)
    return undefined
  }
  const needed = neededRights(args, operation, (node) => isIncluded(node, operation, args.variableValues ?? {}))
  return needed.length === 0 ? undefined : refuseWithout(needed, args.contextValue as Context)
}

async function refuseWithout(needed: readonly Needed[], context: Context): Promise<ExecutionResult | undefined> {
  const caller = await callerOf(context)
  if (!caller) return undefined
  const faults = needed
    .filter(({ right }) => caller.kind !== 'platform' || !hasRight(caller.role, right))
    .map(({ path }) => ({ path, message: 'may not be read by this caller; nothing was changed' }))
  return faults.length === 0 ? undefined : { errors: [errorWithHeaders(new Refusal('forbidden', { faults }))] }
}

async function callerOf({ caller }: Context) {
  try {
    return await caller()
  } catch {
    return undefined
  }
}

function neededRights(
  { schema, document }: ExecutionArgs,
  operation: OperationDefinitionNode,
  isAsked: (node: SelectionNode) => boolean,
): readonly Needed[] {
  const found = new Map<string, Needed>()
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const one of document.definitions) if (one.kind === Kind.FRAGMENT_DEFINITION) fragments.set(one.name.value, one)

  function walk({ selections }: SelectionSetNode, parent: GraphQLNamedType, place: string): void {
    for (const node of selections) {
      if (!isAsked(node)) continue
      if (node.kind === Kind.FIELD) enter(node, parent, place)
      else {
        const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node
        const condition = fragment?.typeCondition?.name.value
        const type = condition === undefined ? parent : schema.getType(condition)
        if (fragment && type) walk(fragment.selectionSet, type, place)
      }
    }
  }

  function enter(node: FieldNode, parent: GraphQLNamedType, place: string): void {
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[node.name.value] : undefined
    if (!field) return
    const path = `${place}${(node.alias ?? node.name).value}`
    const right = rightOf(field.extensions)
    if (right !== undefined) found.set(path, { right, path })
    if (node.selectionSet) walk(node.selectionSet, getNamedType(field.type), `${path}.`)
  }

  const root = schema.getMutationType()
  if (root) walk(operation.selectionSet, root, '')
  return [...found.values()]
}

/** The values that the client sent stand before the defaults of the operation: execution has not read either yet. */
function isIncluded(node: SelectionNode, operation: OperationDefinitionNode, sent: Variables): boolean {
  return !node.directives?.some(({ name, arguments: given }) => {
    if (name.value !== 'skip' && name.value !== 'include') return false
    const value = given?.find((one) => one.name.value === 'if')?.value
    return value !== undefined && conditionOf(value, operation, sent) === (name.value === 'skip')
  })
}

/** Undefined for a variable without a value. */
function conditionOf(value: ValueNode, { variableDefinitions }: OperationDefinitionNode, sent: Variables): unknown {
  if (value.kind === Kind.BOOLEAN) return value.value
  if (value.kind !== Kind.VARIABLE) return undefined
  const name = value.name.value
  if (sent[name] !== undefined) return sent[name]
  const usual = variableDefinitions?.find(({ variable }) => variable.name.value === name)?.defaultValue
  return usual?.kind === Kind.BOOLEAN ? usual.value : undefined
}
