import { HANDLE, MAX_HANDLE } from '../../../../src/base/limits.ts'
import { HANDLES_OF, isServiceType, passedBy, SERVICE_HANDLES } from '../../../../src/game/definition/handles.ts'
import {
  itemsOf,
  type JsonArray,
  type JsonNode,
  type JsonObject,
  numberTextOf,
  parseJson,
  type SyntaxFault,
  stringOf,
  valueAt,
} from '../text/json-tree.ts'

// The readable parts of a draft. A draft may have any fault, so every part may be absent. The service names the faults.

export const TRACKS = ['free', 'premium'] as const
export type Track = (typeof TRACKS)[number]

export interface NodeModel {
  /** Its place in `nodes`. */
  readonly index: number
  readonly id: string
  readonly type: string
  readonly value: JsonObject
  readonly data: JsonObject | undefined
}

export interface EdgeModel {
  /** Its place in `edges`. */
  readonly index: number
  readonly from: string
  readonly handle: string
  readonly to: string
}

export interface Definition {
  readonly text: string
  readonly root: JsonObject
  readonly name: string
  readonly start: string
  readonly nodes: readonly NodeModel[]
  readonly edges: readonly EdgeModel[]
  /** Nodes by id. When several nodes have the same id, the first. */
  readonly byId: ReadonlyMap<string, NodeModel>
  readonly nodeList: JsonArray | undefined
  readonly edgeList: JsonArray | undefined
}

export type ReadDefinition =
  | { readonly definition: Definition; readonly fault?: undefined }
  | { readonly definition?: undefined; readonly fault: SyntaxFault }

export function readDefinition(text: string): ReadDefinition {
  const { root, fault } = parseJson(text)
  if (fault) return { fault }
  if (root?.kind !== 'object') return { fault: { at: root?.from ?? 0, message: 'A definition must be an object.' } }
  const nodeList = listOf(root, 'nodes')
  const edgeList = listOf(root, 'edges')
  const nodes = itemsOf(nodeList).flatMap((value, index): NodeModel[] => {
    if (value.kind !== 'object') return []
    const data = valueAt(value, 'data')
    return [
      {
        index,
        value,
        id: stringOf(valueAt(value, 'id')) ?? '',
        type: stringOf(valueAt(value, 'type')) ?? '',
        data: data?.kind === 'object' ? data : undefined,
      },
    ]
  })
  const edges = itemsOf(edgeList).map((value, index) => ({
    index,
    from: stringOf(valueAt(value, 'from')) ?? '',
    handle: stringOf(valueAt(value, 'handle')) ?? '',
    to: stringOf(valueAt(value, 'to')) ?? '',
  }))
  const byId = new Map<string, NodeModel>()
  for (const node of nodes) if (node.id !== '' && !byId.has(node.id)) byId.set(node.id, node)
  const definition = {
    text,
    root,
    name: stringOf(valueAt(root, 'name')) ?? '',
    start: stringOf(valueAt(root, 'start')) ?? '',
    nodes,
    edges,
    byId,
    nodeList,
    edgeList,
  }
  return { definition }
}

function listOf(root: JsonObject, name: string): JsonArray | undefined {
  const list = valueAt(root, name)
  return list?.kind === 'array' ? list : undefined
}

/** The values of the members with these names that equal the string `value`. */
export function stringsAt(node: JsonNode | undefined, names: readonly string[], value: string): JsonNode[] {
  if (node?.kind !== 'object') return []
  return node.items.flatMap((member) =>
    names.includes(member.name) && stringOf(member.value) === value ? [member.value] : [],
  )
}

/** The handles of a node: those of its type, and those of its edges. */
export function handlesOf(definition: Definition, node: NodeModel): readonly string[] {
  const own = definition.edges.flatMap(({ from, handle }) => (from === node.id && handle !== '' ? [handle] : []))
  const { type } = node
  return [...new Set(isServiceType(type) ? [...HANDLES_OF[type], ...own] : [...own, 'onComplete'])]
}

/** The handles of a client node that only servers cross. */
export function serverHandlesOf({ type, value }: NodeModel): readonly string[] {
  const handles = valueAt(value, 'handles')
  if (isServiceType(type) || handles?.kind !== 'object') return []
  const names = [...new Set(handles.items.map(({ name }) => name))]
  return names.filter((name) => stringOf(valueAt(valueAt(handles, name), 'from')) === 'server')
}

/** The reason why an edge cannot be added, in a sentence; undefined when it can. */
export function whyNoEdge(
  { byId, edges }: Definition,
  { from, handle, to }: { readonly from: string; readonly handle: string; readonly to: string },
): string | undefined {
  const [source, target] = [byId.get(from), byId.get(to)]
  if (!source || !target) return 'An edge needs a node at both ends.'
  if (target.type === 'start') return 'An edge cannot lead back to the start.'
  if (!HANDLE.test(handle) || handle.length > MAX_HANDLE)
    return `A handle is a letter, then letters, digits, _, . or -, up to ${MAX_HANDLE} in all.`
  const known: readonly string[] | undefined = isServiceType(source.type) ? HANDLES_OF[source.type] : undefined
  if (known && !known.includes(handle)) return `A ${source.type} node never crosses ${handle}.`
  if (!known && SERVICE_HANDLES.includes(handle)) return `Only the service crosses ${handle}, not the game client.`
  if (edges.some((edge) => edge.from === from && edge.handle === handle && edge.to === to))
    return 'This edge already exists.'
  if (handle === passedBy(source.type) && leadsTo(byId, edges, to, from))
    return 'These nodes run by themselves, so a circle of them would never end.'
  return undefined
}

/** Whether nodes that run by themselves lead from one node to another. */
function leadsTo(byId: ReadonlyMap<string, NodeModel>, edges: readonly EdgeModel[], from: string, to: string): boolean {
  const next = new Map<string, string[]>()
  for (const edge of edges) {
    if (edge.handle !== passedBy(byId.get(edge.from)?.type)) continue
    next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to])
  }
  const seen = new Set<string>()
  const open = [from]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true
    if (seen.has(id)) continue
    seen.add(id)
    open.push(...(next.get(id) ?? []))
  }
  return false
}

/**
 * A reward of a `reward` node or a tier, or a choice. A boost has its percentage as the name, and its minutes as the
 * amount. A faulty reward has an empty name.
 */
export interface Reward {
  readonly kind: 'currency' | 'item' | 'boost' | 'choice'
  readonly name: string
  readonly amount: string
  /** The options of a choice. */
  readonly options?: readonly (readonly Reward[])[]
}

export function rewardOf(node: JsonNode): Reward {
  const currency = stringOf(valueAt(node, 'currency'))
  const itemId = stringOf(valueAt(node, 'itemId'))
  const boost = valueAt(node, 'boost')
  if (boost?.kind === 'object' && currency === undefined && itemId === undefined)
    return {
      kind: 'boost',
      name: numberTextOf(valueAt(boost, 'percent')) ?? '',
      amount: numberTextOf(valueAt(boost, 'minutes')) ?? '',
    }
  const choice = valueAt(node, 'choice')
  if (choice?.kind === 'array' && currency === undefined && itemId === undefined)
    return { kind: 'choice', name: '', amount: '', options: choice.items.map(rewardsOf) }
  return {
    kind: itemId === undefined ? 'currency' : 'item',
    name: currency ?? itemId ?? '',
    amount: numberTextOf(valueAt(node, 'amount')) ?? '',
  }
}

export const rewardsOf = (list: JsonNode | undefined): Reward[] => itemsOf(list).map(rewardOf)
