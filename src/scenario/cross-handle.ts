import { invalidRequest, Refusal } from '../base/errors.ts'
import { MAX_HANDLE } from '../base/limits.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import {
  EXAMPLE_RUN,
  idempotencyKey,
  nodeId as nodeIdField,
  runId as runIdField,
  scenarioId as scenarioIdField,
  type Unkeyed,
} from '../declare/common.ts'
import { RUN_CALL } from '../declare/contract.ts'
import { playerCall } from '../declare/player-call.ts'
import { type RequestOf, shape, text } from '../declare/shape.ts'
import { admitActive } from '../players/player-status.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { requireRoom } from '../wallet/holdings.ts'
import { nextNodes, SERVICE_HANDLES } from './definition.ts'
import { EXAMPLE_PLAN, executionPlan } from './plan.ts'
import { askRunRows, askWalk, record, requireActiveRun, settleWalk } from './runs.ts'

export const crossHandleRequest = shape(
  {
    scenarioId: scenarioIdField,
    runId: runIdField,
    nodeId: nodeIdField,
    handle: text('A handle of the node, such as `onClick`.', { max: MAX_HANDLE }),
    idempotencyKey,
  },
  { name: 'CrossRequest', example: { ...EXAMPLE_RUN, nodeId: 'shop', handle: 'onBought' } },
)
export type CrossHandle = Unkeyed<RequestOf<typeof crossHandleRequest>>

export const crossAnswer = answer(
  'The steps that the crossing caused.',
  { plan: out.orNull(executionPlan) },
  {
    name: 'CrossResponse',
    example: {
      plan: {
        ...EXAMPLE_PLAN,
        crossed: [{ nodeId: 'shop', handle: 'onBought' }],
        entered: [{ nodeId: 'gift', type: 'reward', data: { rewards: [{ currency: 'gold', amount: 5 }] } }],
        granted: [{ amount: 5, currency: 'gold', itemId: null }],
      },
    },
  },
)
export type CrossResult = AnswerOf<typeof crossAnswer>

/**
 * Crosses a handle of an active node that the client runs. Refuses nodes that the service runs, and handles that only
 * the service crosses, or only servers: a client cannot reach a level by claiming so.
 */
export function crossHandle(ref: PlayerRef, input: CrossHandle, { byServer = false } = {}): Command<CrossResult> {
  const { scenarioId, nodeId, runId, handle, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'cross',
      key,
      request: { scenarioId, nodeId, runId, handle },
      admit: (group) => admitActive(group, ref),
      about: () => [runId.toLowerCase()],
    },
    *decide(group) {
      const rows = yield* group.rows(() => askRunRows(group, ref, input))
      const { player } = rows
      const { definition, run } = requireActiveRun(rows, scenarioId)
      const node = definition.nodes.get(nodeId)
      if (!node) throw new Refusal('nodeNotFound')
      if (node.type !== 'client' || SERVICE_HANDLES.includes(handle)) throw new Refusal('handleServerOwned')
      if (!byServer && node.serverHandles.has(handle)) throw new Refusal('handleServerOwned')
      if (handle !== 'onComplete' && nextNodes(definition, nodeId, handle).length === 0)
        throw invalidRequest({ path: 'handle', message: 'must be `onComplete`, or stand on an edge of the node' })
      if (!run.active.includes(nodeId)) throw new Refusal('nodeNotActive')
      const crossings = [{ nodeId, handle, data: {}, byClient: !byServer }]
      const { step, rewards } = yield* askWalk(group, player, () => settleWalk(player, definition, run, crossings))
      requireRoom(player, rewards)
      return { plan: record(group, player, run, step) }
    },
  }
}

export const crossHandleCall = playerCall({
  request: crossHandleRequest,
  action: 'run.cross_handle',
  command: crossHandle,
  contract: {
    id: 'crossHandle',
    tag: 'Scenarios',
    summary: 'Cross a handle of an active node that the client runs.',
    answer: crossAnswer,
    refusals: [...RUN_CALL, 'handleServerOwned', 'nodeNotActive', 'balanceLimitExceeded', 'idempotencyKeyReused'],
  },
})
