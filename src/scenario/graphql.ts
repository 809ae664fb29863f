import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import { requirePlatform, requirePlayer } from '../graphql/context.ts'
import { RewardType } from '../wallet/graphql.ts'
import type { CrossResult } from './cross-handle.ts'
import type { EnteredNode, ExecutionPlan } from './plan.ts'
import type { PublishedScenario } from './publish.ts'
import type { RunResult } from './read-run.ts'
import type { StartResult } from './start-run.ts'
import { readCrossHandle, readRunId, readScenarioId } from './wire.ts'

const CrossedHandleType = builder.objectRef<{ nodeId: string; handle: string }>('CrossedHandle').implement({
  fields: (t) => ({ nodeId: t.exposeString('nodeId'), handle: t.exposeString('handle') }),
})

const EnteredNodeType = builder.objectRef<EnteredNode>('EnteredNode').implement({
  description: 'A node of a scenario that was entered. Types that the service does not run are for the client.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    type: t.exposeString('type'),
    data: t.field({ type: 'JSON', resolve: (node) => node.data }),
  }),
})

export const ExecutionPlanType = builder.objectRef<ExecutionPlan>('ExecutionPlan').implement({
  description: 'The continuation of a run that a call caused (spec 2.2).',
  fields: (t) => ({
    runId: t.exposeString('runId'),
    status: t.exposeString('status', { description: '`active` or `completed`.' }),
    crossed: t.field({ type: [CrossedHandleType], resolve: (plan) => [...plan.crossed] }),
    entered: t.field({ type: [EnteredNodeType], resolve: (plan) => [...plan.entered] }),
    granted: t.field({ type: [RewardType], resolve: (plan) => [...plan.granted] }),
  }),
})

const StartRunResultType = builder.objectRef<StartResult>('StartRunResult').implement({
  fields: (t) => ({
    runId: t.exposeString('runId'),
    resumed: t.exposeBoolean('resumed', { description: 'The run was active already.' }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

const CrossHandleResultType = builder.objectRef<CrossResult>('CrossHandleResult').implement({
  fields: (t) => ({ plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }) }),
})

const ScenarioRunType = builder.objectRef<RunResult>('ScenarioRun').implement({
  fields: (t) => ({
    runId: t.exposeString('runId'),
    scenarioId: t.exposeString('scenarioId'),
    status: t.exposeString('status', { description: '`active`, `completed` or `cancelled`.' }),
    active: t.field({ type: [EnteredNodeType], resolve: (run) => [...run.active] }),
    plan: t.field({
      type: ExecutionPlanType,
      nullable: true,
      description: 'The last plan.',
      resolve: (run) => run.plan,
    }),
  }),
})

const ScenarioVersionType = builder
  .objectRef<PublishedScenario & { environment: string }>('ScenarioVersion')
  .implement({
    description: 'A published version of a scenario.',
    fields: (t) => ({
      scenarioId: t.exposeString('scenarioId'),
      environment: t.exposeString('environment'),
      version: t.exposeInt('version'),
      definition: t.field({ type: 'JSON', resolve: (scenario) => scenario.definition }),
      publishedAt: t.field({ type: 'DateTime', resolve: (scenario) => new Date(scenario.publishedAt) }),
    }),
  })

builder.prismaObject('Run', {
  fields: (t) => ({
    runId: t.exposeString('id'),
    scenarioId: t.exposeString('scenarioId'),
    status: t.exposeString('status', { description: '`active`, `completed` or `cancelled`.' }),
    activeNodes: t.stringList({
      description: 'Ids of the nodes that were entered and not left.',
      resolve: ({ active }) => JSON.parse(active),
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime' }),
    endedAt: t.expose('completedAt', { type: 'DateTime', nullable: true }),
  }),
})

builder.prismaObject('Scenario', {
  fields: (t) => ({
    scenarioId: t.exposeString('id'),
    version: t.exposeInt('version'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
  }),
})

builder.queryFields((t) => ({
  run: t.field({
    type: ScenarioRunType,
    description: 'A run of the calling player.',
    args: { runId: t.arg.string({ required: true }) },
    resolve: async (_root, args, context) =>
      context.operations.readRun(
        await requirePlayer(context),
        Fields.ofInput(args).read((fields) => ({ runId: readRunId(fields) })),
      ),
  }),
  scenario: t.field({
    type: ScenarioVersionType,
    description: 'The current version of a scenario, or an older one.',
    args: {
      environment: t.arg.string({ required: true }),
      scenarioId: t.arg.string({ required: true }),
      version: t.arg.int(),
    },
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, scenarioId, version } = Fields.ofInput(args).read(readVersionedScenario)
      const environmentId = await context.operations.findEnvironment(projectId, environment)
      return { environment, ...(await context.operations.readScenario({ environmentId, scenarioId }, version)) }
    },
  }),
  scenarios: t.prismaConnection({
    type: 'Scenario',
    cursor: 'environmentId_id',
    description: 'The scenarios of an environment, by id.',
    args: { environment: t.arg.string({ required: true }) },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const environment = Fields.ofInput(args).read((fields) => fields.text('environment', { max: 32 }))
      const environmentId = await context.operations.findEnvironment(projectId, environment)
      return context.prisma.scenario.findMany({ ...query, where: { environmentId }, orderBy: { id: 'asc' } })
    },
  }),
}))

const StartRunInput = builder.inputType('StartRunInput', {
  fields: (t) => ({ scenarioId: t.string({ required: true }) }),
})

const CrossHandleInput = builder.inputType('CrossHandleInput', {
  fields: (t) => ({
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    runId: t.string({ required: true }),
    handle: t.string({ required: true }),
  }),
})

const PublishScenarioInput = builder.inputType('PublishScenarioInput', {
  fields: (t) => ({
    environment: t.string({ required: true }),
    scenarioId: t.string({ required: true }),
    definition: t.string({
      required: true,
      description: 'The definition as JSON text, so that nothing of it is rounded.',
    }),
  }),
})

const PublishScenarioPayload = builder
  .objectRef<{ scenario: PublishedScenario & { environment: string } }>('PublishScenarioPayload')
  .implement({
    fields: (t) => ({ scenario: t.field({ type: ScenarioVersionType, resolve: (payload) => payload.scenario }) }),
  })

builder.mutationFields((t) => ({
  startRun: t.field({
    type: StartRunResultType,
    description: 'Starts the run of a scenario, or resumes the one that is active.',
    args: { input: t.arg({ type: StartRunInput, required: true }) },
    resolve: async (_root, { input }, context) =>
      context.operations.startRun(
        await requirePlayer(context),
        Fields.ofInput(input).read((fields) => ({ scenarioId: readScenarioId(fields) })),
      ),
  }),
  crossHandle: t.field({
    type: CrossHandleResultType,
    description: 'Crosses a handle of an active node that the client runs.',
    args: { input: t.arg({ type: CrossHandleInput, required: true }) },
    resolve: async (_root, { input }, context) =>
      context.operations.crossHandle(await requirePlayer(context), Fields.ofInput(input).read(readCrossHandle)),
  }),
  publishScenario: t.field({
    type: PublishScenarioPayload,
    description:
      'Publishes a definition as the next version. Every fault is named at once, and then nothing is written.',
    args: { input: t.arg({ type: PublishScenarioInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { projectId } = await requirePlatform(context, 'admin')
      const { environment, scenarioId, definition } = Fields.ofInput(input).read((fields) => ({
        ...readVersionedScenario(fields),
        definition: fields.text('definition', { max: Number.MAX_SAFE_INTEGER, min: 0 }).trim(),
      }))
      const environmentId = await context.operations.findEnvironment(projectId, environment)
      const published = await context.operations.publishScenario({ environmentId, scenarioId }, definition)
      return { scenario: { environment, ...published } }
    },
  }),
}))

function readVersionedScenario(fields: Fields) {
  return {
    environment: fields.text('environment', { max: 32 }),
    scenarioId: readScenarioId(fields),
    version: fields.optionalInt32('version', { min: 1 }),
  }
}
