import type { Json } from '../../base/json.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN } from '../../declare/common.ts'
import {
  boosts,
  type Definition,
  granted,
  type Node,
  nextNodes,
  type Repeat,
  type Reward,
  type RewardNode,
  reward,
  typeOf,
} from '../definition/definition.ts'

export const RUN_STATUSES = ['active', 'completed', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

export interface Crossing {
  readonly nodeId: string
  readonly handle: string
  readonly data: Json
  /** A client crossed it. The client runs the node. */
  readonly byClient?: boolean
}

export const crossedHandle = answer('A crossed handle.', {
  nodeId: out.text('Id of the node.'),
  handle: out.text('The crossed handle.'),
})

export const enteredNodeAnswer = answer(
  'An entered node.',
  {
    nodeId: out.text('Id of the node.'),
    type: out.text('Type of the node, such as `battle-pass`.'),
    data: out.object('Data of the node, as it was published.'),
  },
  { name: 'EnteredNode' },
)
export type EnteredNode = AnswerOf<typeof enteredNodeAnswer>

/** The continuation that a call caused (contract 2.2). The client continues with the nodes in `entered`. */
export const executionPlan = answer(
  'The steps of the run that the call caused; null when it caused none. Of a pass with `autoClaim` also what it claimed for the player.',
  {
    runId: out.id('Id of the run.'),
    status: out.oneOf(['active', 'completed'], { description: 'The status of the run.', among: RUN_STATUSES }),
    crossed: out.list(crossedHandle, 'Crossed handles, in order.'),
    entered: out.list(
      enteredNodeAnswer,
      'Entered nodes, in order. The client runs the types that the service does not know.',
    ),
    granted: out.list(
      reward,
      'Rewards that reward nodes granted, and those of tiers that a pass with `autoClaim` claimed.',
    ),
    boosts,
  },
  { name: 'ExecutionPlan' },
)
export type ExecutionPlan = AnswerOf<typeof executionPlan>

export const EXAMPLE_PLAN = {
  runId: EXAMPLE_RUN.runId,
  status: 'active',
  crossed: [{ nodeId: 'pass', handle: 'onLevelUp' }],
  entered: [],
  granted: [],
}

/** The plan of two steps of one call, in this order. */
export const joined = (first: ExecutionPlan | null, then: ExecutionPlan): ExecutionPlan =>
  first === null
    ? then
    : {
        ...then,
        crossed: [...first.crossed, ...then.crossed],
        entered: [...first.entered, ...then.entered],
        granted: [...first.granted, ...then.granted],
        boosts: first.boosts && then.boosts ? [...first.boosts, ...then.boosts] : (first.boosts ?? then.boosts),
      }

/** A reward node that was entered. */
export interface Grant {
  readonly nodeId: string
  readonly rewards: readonly Reward[]
  readonly repeat: Repeat
  /** Its `onComplete`, with the granted rewards. */
  readonly crossing: Crossing
}

/**
 * The result of a walk: every crossing in order, every node entered, and the rewards of the nodes that the service
 * runs.
 */
export interface Walk {
  readonly crossings: readonly Crossing[]
  readonly entered: readonly EnteredNode[]
  readonly grants: readonly Grant[]
  /** Ids of the nodes that are active after the walk. */
  readonly active: readonly string[]
  /** Nothing more can happen in the run. */
  readonly completed: boolean
}

/**
 * Follows the edges of crossings through the graph. Nodes that the service runs are run at once and their own
 * crossings followed; others are left active for the client.
 *
 * A node stays active until it crosses `onComplete`. A battle-pass node stays active even then: its owner may still
 * earn xp or buy premium. For the same reason a run of a scenario with a battle pass is never completed. Any other run
 * is completed when no node is active. One crossing enters each node at most once, so a walk ends in any graph.
 */
export function walk(definition: Definition, active: readonly string[], causes: readonly Crossing[]): Walk {
  const now = new Set(active.filter((nodeId) => definition.nodes.has(nodeId)))
  const crossings: Crossing[] = []
  const entered: EnteredNode[] = []
  const grants: Grant[] = []

  for (const cause of causes) {
    const seen = new Set<string>()
    const queue: Crossing[] = [cause]
    for (let crossing = queue.shift(); crossing; crossing = queue.shift()) {
      crossings.push(crossing)
      if (crossing.handle === 'onComplete' && definition.nodes.get(crossing.nodeId)?.type !== 'battle-pass') {
        now.delete(crossing.nodeId)
      }
      for (const nodeId of nextNodes(definition, crossing.nodeId, crossing.handle)) {
        const node = definition.nodes.get(nodeId)
        if (!node || seen.has(nodeId)) continue
        seen.add(nodeId)
        entered.push(enteredNode(node))
        if (node.type === 'reward') {
          const grant = grantOf(node)
          grants.push(grant)
          queue.push(grant.crossing)
        } else {
          now.add(nodeId)
        }
      }
    }
  }
  return { crossings, entered, grants, active: [...now], completed: now.size === 0 && !hasPass(definition) }
}

/** Enters a scenario at its start node. The service may run that node itself. */
export function begin(definition: Definition): Walk {
  const start = definition.nodes.get(definition.start)
  if (!start) throw new Error('a published scenario has a start node')
  const entered = enteredNode(start)
  if (start.type === 'start') {
    const onward = walk(definition, [], [{ nodeId: start.id, handle: 'onStart', data: {} }])
    return { ...onward, entered: [entered, ...onward.entered] }
  }
  if (start.type === 'reward') {
    const grant = grantOf(start)
    const onward = walk(definition, [], [grant.crossing])
    return { ...onward, entered: [entered, ...onward.entered], grants: [grant, ...onward.grants] }
  }
  return { crossings: [], entered: [entered], grants: [], active: [start.id], completed: false }
}

function grantOf({ id: nodeId, rewards, repeat }: RewardNode): Grant {
  const crossing = { nodeId, handle: 'onComplete', data: { granted: rewards.map(granted) } }
  return { nodeId, rewards, repeat, crossing }
}

/** A walk without the rewards that are already paid. Their nodes are still entered and left. */
export function withoutPaid(step: Walk, isPaid: (grant: Grant) => boolean): Walk {
  const paid = new Set(step.grants.filter(isPaid))
  if (paid.size === 0) return step
  const unpaid = new Set([...paid].map(({ crossing }) => crossing))
  return {
    ...step,
    grants: step.grants.filter((grant) => !paid.has(grant)),
    crossings: step.crossings.map((crossing) =>
      unpaid.has(crossing) ? { ...crossing, data: { granted: [] } } : crossing,
    ),
  }
}

/**
 * Whether an edit has left a run without anything to do: none of its active nodes exists. A run without active nodes
 * has something to do only while the scenario has a battle pass.
 */
export function isLost(definition: Definition, { active }: { readonly active: readonly string[] }): boolean {
  if (active.length === 0) return !hasPass(definition)
  return !active.some((nodeId) => definition.nodes.has(nodeId))
}

function hasPass({ nodes }: Definition): boolean {
  return [...nodes.values()].some(({ type }) => type === 'battle-pass')
}

export function enteredNode(node: Node): EnteredNode {
  return { nodeId: node.id, type: typeOf(node), data: node.data }
}
