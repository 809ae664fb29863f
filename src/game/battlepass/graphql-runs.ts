import { orNull } from '../../base/errors.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../../declare/graphql/page.ts'
import { answerType, enumType, playerMutation, playerQuery } from '../../declare/graphql/shapes.ts'
import { findReadable } from '../../players/graphql-readable.ts'
import { crossAnswer, crossHandleCall } from '../runs/cross-handle.ts'
import { crossedHandle, enteredNodeAnswer, executionPlan, RUN_STATUSES, type RunStatus } from '../runs/plan.ts'
import { runAnswer, runCall } from '../runs/read-run.ts'
import { RUN_CAUSES, type RunCause } from '../runs/runs.ts'
import { nextRun, startRunAnswer, startRunCall } from './start-run.ts'

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
const CAUSE_DESCRIPTION = 'The reason why it was cancelled. Null for any other run.'

answerType('CrossedHandle', crossedHandle)
answerType('EnteredNode', enteredNodeAnswer)
answerType('ExecutionPlan', executionPlan)
answerType('NextRun', nextRun)
const StartRunPayload = answerType('StartRunPayload', startRunAnswer)
const CrossHandlePayloadType = answerType('CrossHandlePayload', crossAnswer)
const RunProgressType = answerType('RunProgress', runAnswer)

builder.prismaObject('Run', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('Run', playerId, id) }),
    runId: t.exposeID('id'),
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
    type: CrossHandlePayloadType,
    description: 'Crosses a handle of an active node that the client runs.',
    ...playerMutation('CrossHandleInput', crossHandleCall),
  }),
}))

nodesOf('Run', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.run.findUnique({ where })
})

builder.prismaObjectField('Player', 'runs', (t) =>
  t.prismaConnection(
    {
      type: 'Run',
      ...PLAYERS_LIST,
      description: "The player's runs, the latest first.",
      resolve: (query, { environmentId, id: playerId }, _args, context) => {
        const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
        return context.prisma.run.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
      },
    },
    ...namesOf('Run'),
  ),
)
