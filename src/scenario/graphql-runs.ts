import { builder } from '../graphql/builder.ts'
import { globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf, orNull } from '../graphql/node.ts'
import { findReadable } from '../graphql/readable.ts'
import { enumType, playerMutation, playerQuery } from '../graphql/shapes.ts'
import { RewardType } from '../wallet/graphql.ts'
import { type CrossResult, crossHandleCall } from './cross-handle.ts'
import type { EnteredNode, ExecutionPlan } from './plan.ts'
import { type RunResult, runCall } from './read-run.ts'
import { RUN_CAUSES, RUN_STATUSES, type RunCause, type RunStatus } from './runs.ts'
import { type StartResult, startRunCall } from './start-run.ts'

const CrossedHandleType = builder.objectRef<{ nodeId: string; handle: string }>('CrossedHandle').implement({
  description: 'A crossed handle.',
  fields: (t) => ({ nodeId: t.exposeString('nodeId'), handle: t.exposeString('handle') }),
})

const EnteredNodeType = builder.objectRef<EnteredNode>('EnteredNode').implement({
  description: 'An entered node of a scenario. The client runs the types that the service does not run.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    type: t.exposeString('type'),
    data: t.field({
      description: 'The data of the node, as it was published.',
      type: 'JSON',
      resolve: (node) => node.data,
    }),
  }),
})

const RunStatusType = enumType('RunStatus', RUN_STATUSES, {
  description: 'The status of a run.',
  values: {
    active: 'Handles can be crossed.',
    completed: 'No node is active.',
    cancelled: 'It was cancelled. `cause` gives the reason.',
  },
})

export const RunCauseEnum = enumType('RunCause', RUN_CAUSES, {
  description: 'The cause of a cancelled run.',
  values: {
    'cancelled by support': 'An operator ended it.',
    'definition changed': 'An edit removed all of its active nodes, and the player started again.',
  },
})
const CAUSE_DESCRIPTION =
  'The reason why it was cancelled. Null for any other run, and for one that was cancelled before causes were recorded.'

export const ExecutionPlanType = builder.objectRef<ExecutionPlan>('ExecutionPlan').implement({
  description: 'The continuation of a run after a call.',
  fields: (t) => ({
    runId: t.exposeString('runId'),
    status: t.expose('status', {
      type: RunStatusType,
      description: '`ACTIVE` or `COMPLETED`.',
    }),
    crossed: t.field({
      description: 'The crossed handles, in order.',
      type: [CrossedHandleType],
      resolve: (plan) => [...plan.crossed],
    }),
    entered: t.field({
      description: 'The entered nodes, in order.',
      type: [EnteredNodeType],
      resolve: (plan) => [...plan.entered],
    }),
    granted: t.field({ type: [RewardType], resolve: (plan) => [...plan.granted] }),
  }),
})

const StartRunPayload = builder.objectRef<StartResult>('StartRunPayload').implement({
  fields: (t) => ({
    runId: t.exposeString('runId'),
    resumed: t.exposeBoolean('resumed', { description: 'True when the run was already active.' }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

const CrossHandlePayload = builder.objectRef<CrossResult>('CrossHandlePayload').implement({
  fields: (t) => ({ plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }) }),
})

const RunProgressType = builder.objectRef<RunResult>('RunProgress').implement({
  description: 'A run of the calling player.',
  fields: (t) => ({
    runId: t.exposeString('runId'),
    scenarioId: t.exposeString('scenarioId'),
    status: t.expose('status', { type: RunStatusType, description: 'The status of the run.' }),
    active: t.field({
      description: 'The active nodes: entered and not left.',
      type: [EnteredNodeType],
      resolve: (run) => [...run.active],
    }),
    plan: t.field({
      type: ExecutionPlanType,
      nullable: true,
      description: 'The last plan.',
      resolve: (run) => run.plan,
    }),
    cause: t.expose('cause', { type: RunCauseEnum, nullable: true, description: CAUSE_DESCRIPTION }),
  }),
})

builder.prismaObject('Run', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('Run', playerId, id) }),
    runId: t.exposeString('id'),
    scenarioId: t.exposeString('scenarioId'),
    status: t.field({
      type: RunStatusType,
      description: 'The status of the run.',
      select: { status: true },
      resolve: ({ status }) => status as RunStatus,
    }),
    activeNodes: t.stringList({
      description: 'Ids of the active nodes: entered and not left.',
      resolve: ({ active }) => JSON.parse(active),
    }),
    cause: t.field({
      type: RunCauseEnum,
      nullable: true,
      description: CAUSE_DESCRIPTION,
      select: { cause: true },
      resolve: ({ cause }) => cause as RunCause | null,
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime' }),
    endedAt: t.expose('completedAt', { type: 'DateTime', nullable: true }),
  }),
})

const askRun = playerQuery(runCall)

builder.queryFields((t) => ({
  run: t.field({
    type: RunProgressType,
    nullable: true,
    description: 'A run of the calling player. Null for a missing one.',
    args: askRun.args,
    resolve: (root, args, context) => orNull(askRun.resolve(root, args, context), 'runNotFound'),
  }),
}))

builder.mutationFields((t) => ({
  startRun: t.field({
    type: StartRunPayload,
    description: 'Starts the run of a scenario, or resumes the one that is active.',
    ...playerMutation('StartRunInput', startRunCall),
  }),
  crossHandle: t.field({
    type: CrossHandlePayload,
    description: 'Crosses a handle of an active node that the client runs.',
    ...playerMutation('CrossHandleInput', crossHandleCall),
  }),
}))

nodesOf('Run', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.run.findUnique({ where })
})
