import { isServiceType } from '../../../../src/game/definition/handles.ts'
import { type Definition, handlesOf, type NodeModel, rewardsOf, serverHandlesOf } from '../model/definition.ts'
import { NODE_KINDS } from '../model/forms.ts'
import { rewardsText } from '../model/rewards.ts'
import type { Problem } from '../problems/problems.ts'
import { itemsOf, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'

export interface Card {
  /** Unique in the graph, even while two nodes have the same id. */
  readonly key: string
  readonly id: string
  readonly type: string
  readonly title: string
  readonly summary: string
  readonly handles: readonly string[]
  readonly serverHandles: readonly string[]
  readonly index: number
  readonly isStart: boolean
  readonly faults: number
  readonly notices: number
}

/** The types of the game client share one colour. */
export const colourOf = (type: string): string => (isServiceType(type) ? NODE_KINDS[type].colour : 'var(--chart-4)')

export const CARD_WIDTH = 240
const HEAD_HEIGHT = 76
const HANDLE_HEIGHT = 24

export const heightOf = ({ handles }: Card): number => HEAD_HEIGHT + handles.length * HANDLE_HEIGHT

export function cardsOf(definition: Definition, problems: readonly Problem[]): Card[] {
  const count = (id: string, kind: Problem['kind']) =>
    problems.filter((problem) => problem.nodeId === id && problem.kind === kind).length
  const handles = handlesByNode(definition)
  return definition.nodes.map((node) => ({
    key: keyOf(definition, node),
    id: node.id,
    type: node.type,
    title: titleOf(node),
    summary: summaryOf(node),
    handles: handles.get(node.id) ?? handlesOf(definition, node),
    serverHandles: serverHandlesOf(node),
    index: node.index,
    isStart: node.id === definition.start,
    faults: count(node.id, 'fault'),
    notices: count(node.id, 'notice'),
  }))
}

export const keyOf = ({ byId }: Definition, node: NodeModel): string =>
  byId.get(node.id) === node ? node.id : `\0${node.index}`

function handlesByNode(definition: Definition): ReadonlyMap<string, readonly string[]> {
  const used = new Map<string, Definition['edges'][number][]>()
  for (const edge of definition.edges) {
    const list = used.get(edge.from)
    if (list) list.push(edge)
    else used.set(edge.from, [edge])
  }
  return new Map(
    definition.nodes.map((node) => [node.id, handlesOf({ ...definition, edges: used.get(node.id) ?? [] }, node)]),
  )
}

function titleOf({ id, data }: NodeModel): string {
  const own = ['title', 'name', 'label'].map((name) => stringOf(valueAt(data, name))).find((text) => text)
  return own ?? (id === '' ? '(no id)' : id)
}

function summaryOf({ type, data }: NodeModel): string {
  switch (type) {
    case 'battle-pass': {
      const levels = itemsOf(valueAt(data, 'levels')).length
      const price = valueAt(valueAt(data, 'premium'), 'price')
      const cost = price
        ? `${numberTextOf(valueAt(price, 'amount')) ?? '?'} ${stringOf(valueAt(price, 'currency')) ?? '?'}`
        : 'no premium'
      return `${levels === 1 ? '1 level' : `${levels} levels`}, ${cost}`
    }
    case 'battle-pass-level': {
      const level = valueAt(data, 'levelNumber')
      return `level ${numberTextOf(level) ?? stringOf(level) ?? '?'} of ${stringOf(valueAt(data, 'passNodeId')) ?? '?'}`
    }
    case 'reward':
      return rewardsText(rewardsOf(valueAt(data, 'rewards')))
    default:
      return ''
  }
}
