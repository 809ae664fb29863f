import { invalidRequest, Refusal, type RefusalKind } from '../../base/errors.ts'
import { MAX_HANDLE } from '../../base/limits.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import {
  EXAMPLE_RUN,
  idempotencyKey,
  nodeId as nodeIdField,
  runId as runIdField,
  scenarioId as scenarioIdField,
  type Unkeyed,
} from '../../declare/common.ts'
import { RUN_CALL } from '../../declare/contract.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape, text } from '../../declare/shape.ts'
import { admitActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { nextNodes, type Reward } from '../definition/definition.ts'
import { SERVICE_HANDLES } from '../definition/handles.ts'
import { requireRoom } from '../wallet/holdings.ts'
import { EXAMPLE_PLAN, executionPlan } from './plan.ts'
import { askActive, askRunRows, askWalk, record, requireActiveRun, settleWalk } from './runs.ts'

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
export const crossHandle = (ref: PlayerRef, input: CrossHandle): Command<CrossResult> => cross(ref, input, 'cross')

/** Crosses a handle for a game server. Without a run, it is the active one. */
export const crossForServer = (ref: PlayerRef, input: ServerCross): Command<CrossResult> =>
  cross(ref, input, 'server.cross')

type ServerCross = Omit<CrossHandle, 'runId'> & { readonly runId: string | null }

function cross(
  ref: PlayerRef,
  { scenarioId, nodeId, runId, handle, idempotencyKey: key }: ServerCross,
  operation: 'cross' | 'server.cross',
): Command<CrossResult> {
  return {
    player: ref,
    once: {
      operation,
      key,
      request: { scenarioId, nodeId, runId, handle },
      admit: (group) => admitActive(group, ref),
      about: ({ plan }) => [plan?.runId ?? ''],
    },
    *decide(group) {
      const active = runId === null ? yield* askActive(group, ref, scenarioId) : runId
      const byClient = operation === 'cross'
      return yield* crossInRun(group, ref, { scenarioId, nodeId, runId: active, handle, byClient })
    },
  }
}

interface Crossed extends Omit<CrossHandle, 'idempotencyKey'> {
  /** Whether the player's client crosses it. */
  readonly byClient: boolean
  /** Throws a refusal for more than the caller gives at once. */
  readonly checkRewards?: (rewards: readonly Reward[]) => void
}

export function* crossInRun(
  group: Group,
  ref: PlayerRef,
  { scenarioId, nodeId, runId, handle, byClient, checkRewards }: Crossed,
): Steps<CrossResult> {
  const rows = yield* group.rows(() => askRunRows(group, ref, { scenarioId, runId }))
  const { player } = rows
  const { definition, run } = requireActiveRun(rows, scenarioId)
  const node = definition.nodes.get(nodeId)
  if (!node) throw new Refusal('nodeNotFound')
  if (node.type !== 'client' || SERVICE_HANDLES.includes(handle)) throw new Refusal('handleServerOwned')
  if (byClient && node.serverHandles.has(handle)) throw new Refusal('handleServerOwned')
  if (handle !== 'onComplete' && nextNodes(definition, nodeId, handle).length === 0)
    throw invalidRequest({ path: 'handle', message: 'must be `onComplete`, or stand on an edge of the node' })
  if (!run.active.includes(nodeId)) throw new Refusal('nodeNotActive')
  const crossings = [{ nodeId, handle, data: {}, byClient }]
  const { step, rewards } = yield* askWalk(group, player, () => settleWalk(player, definition, run, crossings))
  checkRewards?.(rewards)
  requireRoom(player, rewards)
  return { plan: record(group, player, run, step) }
}

export const REFUSALS_OF_CROSSING: readonly RefusalKind[] = [
  ...RUN_CALL,
  'handleServerOwned',
  'nodeNotActive',
  'balanceLimitExceeded',
  'idempotencyKeyReused',
]

export const crossHandleCall = playerCall({
  request: crossHandleRequest,
  action: 'run.cross_handle',
  command: crossHandle,
  contract: {
    id: 'crossHandle',
    tag: 'Scenarios',
    summary: 'Cross a handle of an active node that the client runs.',
    answer: crossAnswer,
    refusals: REFUSALS_OF_CROSSING,
  },
})
