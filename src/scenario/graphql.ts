import type { EnumRef, SchemaTypes } from '@pothos/core'
import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../auth/access.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import type { Fault } from '../errors.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf, orNull } from '../graphql/node.ts'
import { forwardPage, namesOf, pageOf, readList } from '../graphql/page.ts'
import { findOwnEnvironment, findReadable } from '../graphql/readable.ts'
import { jsonOrNull } from '../graphql/scalars.ts'
import { argsOf, enumType, inputOf, playerMutation, playerQuery } from '../graphql/shapes.ts'
import { MAX_INT32, RawJson } from '../json.ts'
import { findEnvironment } from '../projects/projects.ts'
import { printCursor, readCursor } from '../request/cursor.ts'
import { PriceType, RewardType } from '../wallet/graphql.ts'
import { cloneScenario } from './clone.ts'
import type { PassPreview } from './compare-passes.ts'
import { type CrossResult, crossHandleCall } from './cross-handle.ts'
import { type Reward, type Track, type Validation, validateDefinition } from './definition.ts'
import type {
  Change,
  ChangedNode,
  DiffedLevel,
  DiffedNode,
  DiffedTier,
  Edge,
  PassDiff,
  ScenarioDiff,
  ValueChange,
} from './diff.ts'
import type { EnteredNode, ExecutionPlan } from './plan.ts'
import type { ScenarioPreview } from './preview.ts'
import { type Publication, type PublishedScenario, publishScenario, readScenario } from './publish.ts'
import { type RunResult, runCall } from './read-run.ts'
import {
  cloneRequest,
  diffRequest,
  previewRequest,
  publishRequest,
  scenarioRequest,
  scenariosRequest,
  validateRequest,
  versionRequest,
} from './requests.ts'
import { RUN_CAUSES, RUN_STATUSES, type RunCause, type RunStatus } from './runs.ts'
import type { ScenarioRef } from './scenarios.ts'
import { type StartResult, startRunCall } from './start-run.ts'
import { countVersions, diffVersions, listVersions, type VersionSummary } from './versions.ts'

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
  'Why it was cancelled. Null for any other run, and for one that was cancelled before causes were recorded.'

export const ExecutionPlanType = builder.objectRef<ExecutionPlan>('ExecutionPlan').implement({
  description: 'The continuation of a run after a call (spec 2.2).',
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

const ScenarioVersionType = builder
  .objectRef<PublishedScenario & { environment: string }>('ScenarioVersion')
  .implement({
    description: 'A published version of a scenario.',
    interfaces: [NodeType],
    fields: (t) => ({
      id: t.id({
        resolve: ({ environment, scenarioId, version }) =>
          globalId('ScenarioVersion', environment, scenarioId, version),
      }),
      scenarioId: t.exposeString('scenarioId'),
      environment: t.exposeString('environment'),
      version: t.exposeInt('version'),
      definition: t.field({
        type: 'JSON',
        description: 'The definition as values. Of members with the same name, the last counts.',
        resolve: (scenario) => scenario.definition,
      }),
      definitionText: t.string({
        description: 'The definition as JSON text, byte for byte as it was published. Publishing it changes nothing.',
        resolve: (scenario) => scenario.definition.text,
      }),
      publishedAt: t.field({ type: 'DateTime', resolve: (scenario) => new Date(scenario.publishedAt) }),
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

builder.prismaObject('Scenario', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      select: { id: true, environment: { select: { name: true } } },
      resolve: ({ environment, id }) => globalId('Scenario', environment.name, id),
    }),
    scenarioId: t.exposeString('id'),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    version: t.exposeInt('version'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
  }),
})

const VersionSummaryType = builder.objectRef<VersionSummary>('ScenarioVersionSummary').implement({
  description: 'A published version of a scenario, without its definition, which `scenario` has.',
  fields: (t) => ({
    version: t.exposeInt('version'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
    isCurrent: t.exposeBoolean('isCurrent', { description: 'Whether it is the current version.' }),
    bytes: t.exposeInt('bytes', { description: 'The length of the definition, in bytes.' }),
    sha256: t.exposeString('sha256', { description: "SHA-256 of the definition's text, in hex." }),
  }),
})

const FaultType = builder.objectRef<Fault>('ScenarioFault').implement({
  description: 'A fault or notice of a definition, with its place, such as `nodes[2].data.levels[0].xp`.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Its place.' }),
    message: t.exposeString('message', { description: 'The text of the fault or notice.' }),
  }),
})

const ValidationType = builder.objectRef<Validation>('ValidateScenarioResult').implement({
  fields: (t) => ({
    valid: t.boolean({ resolve: ({ faults }) => faults.length === 0 }),
    faults: t.field({ type: [FaultType], resolve: ({ faults }) => [...faults] }),
    notices: t.field({
      type: [FaultType],
      description:
        'Notes for the designer about a definition without faults, such as how often each reward node pays a player.',
      resolve: ({ notices }) => [...notices],
    }),
  }),
})

// The battle pass owns this type and depends on these types, so here the type is referred to by name.
const TrackType = 'Track' as unknown as EnumRef<SchemaTypes, Track, Track>

const LevelPlayersType = builder.objectRef<PassPreview['levels'][number]>('LevelPlayers').implement({
  description: 'Players at a level, before and after.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    before: t.expose('before', { type: 'Count', description: 'Players at the level as published.' }),
    after: t.expose('after', { type: 'Count', description: 'Players at the level after the edit.' }),
  }),
})

const TierPlayersType = builder.objectRef<{ level: number; players: number }>('TierPlayers').implement({
  description: 'The number of players for a tier.',
  fields: (t) => ({ level: t.exposeInt('level'), players: t.expose('players', { type: 'Count' }) }),
})

const NewlyClaimableType = builder.objectRef<PassPreview['newlyClaimable'][number]>('NewlyClaimable').implement({
  description: 'Tiers of a track that become claimable, for players who have not claimed them.',
  fields: (t) => ({
    track: t.expose('track', { type: TrackType }),
    players: t.expose('players', { type: 'Count', description: 'Players with at least one such tier.' }),
    tiers: t.field({
      type: [TierPlayersType],
      description: 'By level; tiers without such players are left out.',
      resolve: ({ tiers }) => [...tiers],
    }),
  }),
})

const RemovedClaimsType = builder.objectRef<PassPreview['removedClaims'][number]>('RemovedClaims').implement({
  description: 'Players who have claimed a tier that would no longer exist. The claims remain.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.expose('track', { type: TrackType }),
    players: t.expose('players', { type: 'Count' }),
  }),
})

const PassPreviewType = builder.objectRef<PassPreview>('BattlePassPreview').implement({
  description: 'A battle pass before and after. A missing pass counts as one without levels, tiers and price.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    isAdded: t.exposeBoolean('isAdded', { description: 'It is missing before.' }),
    isRemoved: t.exposeBoolean('isRemoved', { description: 'It is missing after.' }),
    players: t.expose('players', { type: 'Count', description: 'Players with a pass.' }),
    premiumOwners: t.expose('premiumOwners', { type: 'Count', description: 'Those of them that own premium.' }),
    levelGained: t.expose('levelGained', { type: 'Count', description: 'Players whose level would be higher.' }),
    levelLost: t.expose('levelLost', {
      type: 'Count',
      description: 'Players whose level would be lower. Their claims remain.',
    }),
    levels: t.field({
      type: [LevelPlayersType],
      description: 'Players by level: 0, and every level before or after.',
      resolve: ({ levels }) => [...levels],
    }),
    priceBefore: t.field({
      description: 'What premium costs; null when none is sold.',
      type: PriceType,
      nullable: true,
      resolve: (pass) => pass.priceBefore,
    }),
    priceAfter: t.field({
      description: 'What premium would cost; null when none would be sold.',
      type: PriceType,
      nullable: true,
      resolve: (pass) => pass.priceAfter,
    }),
    claimsOpenBefore: t.exposeBoolean('claimsOpenBefore', { description: 'Tiers can be claimed at this time.' }),
    claimsOpenAfter: t.exposeBoolean('claimsOpenAfter', { description: 'Tiers could be claimed at this time.' }),
    newlyClaimable: t.field({
      type: [NewlyClaimableType],
      description: 'For each track.',
      resolve: (pass) => [...pass.newlyClaimable],
    }),
    removedClaims: t.field({
      type: [RemovedClaimsType],
      description: 'By level, the free track first; unclaimed tiers are left out.',
      resolve: (pass) => [...pass.removedClaims],
    }),
  }),
})

const RemovedNodeType = builder.objectRef<ScenarioPreview['removedNodes'][number]>('RemovedNode').implement({
  description: 'A removed node.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    type: t.exposeString('type'),
    activeRuns: t.expose('activeRuns', { type: 'Count', description: 'Active runs in which the node is active.' }),
  }),
})

const PreviewType = builder.objectRef<ScenarioPreview>('PreviewScenarioResult').implement({
  description:
    'The effect of publishing a definition on current players. A player has a pass from its first xp, claim or purchase on; deleted players do not count.',
  fields: (t) => ({
    valid: t.boolean({ resolve: ({ faults }) => faults.length === 0 }),
    faults: t.field({
      type: [FaultType],
      description: 'With any, nothing is counted.',
      resolve: ({ faults }) => [...faults],
    }),
    currentVersion: t.exposeInt('currentVersion', {
      nullable: true,
      description: 'The compared version; null when none is published yet, and when nothing is counted.',
    }),
    passes: t.field({
      type: [PassPreviewType],
      description: 'The battle passes of the definition, then removed ones.',
      resolve: ({ passes }) => [...passes],
    }),
    removedNodes: t.field({
      type: [RemovedNodeType],
      description: 'Removed nodes.',
      resolve: ({ removedNodes }) => [...removedNodes],
    }),
  }),
})

const ValueChangeType = builder.objectRef<ValueChange>('ValueChange').implement({
  description: 'A changed value.',
  fields: (t) => ({
    path: t.exposeString('path', {
      description:
        'Such as `data.offer.sizes[2]`; levels and tiers are named by their keys: `data.levels[level=5].xp`.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value in version `from`; null for none.',
      resolve: ({ before }) => jsonOrNull(before),
    }),
    beforeText: t.exposeString('before', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value in version `to`; null for none.',
      resolve: ({ after }) => jsonOrNull(after),
    }),
    afterText: t.exposeString('after', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
  }),
})

const DiffedNodeType = builder.objectRef<DiffedNode>('DiffedNode').implement({
  description: 'A node that only one of two versions has.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    type: t.exposeString('type'),
    node: t.field({ type: 'JSON', description: 'The node.', resolve: ({ text }) => new RawJson(text) }),
    nodeText: t.exposeString('text', { description: 'The node as JSON text, as it was published.' }),
  }),
})

const DiffedLevelType = builder.objectRef<DiffedLevel>('DiffedLevel').implement({
  description: 'A level that only one of two definitions has.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    xp: t.field({ description: 'The total of xp that reaches it.', type: 'Int64', resolve: ({ xp }) => xp }),
  }),
})

const ChangedLevelType = builder.objectRef<PassDiff['levelsChanged'][number]>('ChangedLevel').implement({
  description: 'A level with another total of xp.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    xpBefore: t.field({
      description: 'The total of xp that reaches it in version `from`.',
      type: 'Int64',
      resolve: ({ xpBefore }) => xpBefore,
    }),
    xpAfter: t.field({
      description: 'The total of xp that reaches it in version `to`.',
      type: 'Int64',
      resolve: ({ xpAfter }) => xpAfter,
    }),
  }),
})

const DiffedTierType = builder.objectRef<DiffedTier>('DiffedTier').implement({
  description: 'A tier that only one of two definitions has.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.expose('track', { type: TrackType }),
    rewards: t.field({ type: [RewardType], resolve: ({ rewards }): Reward[] => [...rewards] }),
  }),
})

const ChangedTierType = builder.objectRef<PassDiff['tiersChanged'][number]>('ChangedTier').implement({
  description: 'A tier with other rewards.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.expose('track', { type: TrackType }),
    rewardsBefore: t.field({
      description: 'Its rewards in version `from`.',
      type: [RewardType],
      resolve: ({ rewardsBefore }): Reward[] => [...rewardsBefore],
    }),
    rewardsAfter: t.field({
      description: 'Its rewards in version `to`.',
      type: [RewardType],
      resolve: ({ rewardsAfter }): Reward[] => [...rewardsAfter],
    }),
  }),
})

const ChangedPriceType = builder.objectRef<NonNullable<PassDiff['price']>>('ChangedPrice').implement({
  description: 'A price before and after; null where there is none.',
  fields: (t) => ({
    before: t.field({
      description: 'The price in version `from`.',
      type: PriceType,
      nullable: true,
      resolve: ({ before }) => before,
    }),
    after: t.field({
      description: 'The price in version `to`.',
      type: PriceType,
      nullable: true,
      resolve: ({ after }) => after,
    }),
  }),
})

const ChangedDateType = builder.objectRef<Change<Date>>('ChangedDate').implement({
  description: 'A date before and after; null where there is none.',
  fields: (t) => ({
    before: t.field({
      description: 'The date in version `from`.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ before }) => before,
    }),
    after: t.field({
      description: 'The date in version `to`.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ after }) => after,
    }),
  }),
})

const PassDiffType = builder.objectRef<PassDiff>('BattlePassDiff').implement({
  description: 'The difference between two definitions of a battle pass. An unchanged price or date is null.',
  fields: (t) => ({
    levelsAdded: t.field({
      description: 'Levels that only version `to` has.',
      type: [DiffedLevelType],
      resolve: (diff) => [...diff.levelsAdded],
    }),
    levelsRemoved: t.field({
      description: 'Levels that only version `from` has.',
      type: [DiffedLevelType],
      resolve: (diff) => [...diff.levelsRemoved],
    }),
    levelsChanged: t.field({
      description: 'Levels with another total of xp.',
      type: [ChangedLevelType],
      resolve: (diff) => [...diff.levelsChanged],
    }),
    tiersAdded: t.field({
      description: 'Tiers that only version `to` has.',
      type: [DiffedTierType],
      resolve: (diff) => [...diff.tiersAdded],
    }),
    tiersRemoved: t.field({
      description: 'Tiers that only version `from` has.',
      type: [DiffedTierType],
      resolve: (diff) => [...diff.tiersRemoved],
    }),
    tiersChanged: t.field({
      description: 'Tiers with other rewards.',
      type: [ChangedTierType],
      resolve: (diff) => [...diff.tiersChanged],
    }),
    price: t.field({
      description: 'What premium costs.',
      type: ChangedPriceType,
      nullable: true,
      resolve: (diff) => diff.price,
    }),
    startsAt: t.field({
      description: 'The beginning of the season.',
      type: ChangedDateType,
      nullable: true,
      resolve: (diff) => diff.startsAt,
    }),
    endsAt: t.field({
      description: 'The end of the season.',
      type: ChangedDateType,
      nullable: true,
      resolve: (diff) => diff.endsAt,
    }),
    claimUntil: t.field({
      type: ChangedDateType,
      nullable: true,
      description: 'The effective value: `endsAt` where it is not given.',
      resolve: (diff) => diff.claimUntil,
    }),
  }),
})

const ChangedNodeType = builder.objectRef<ChangedNode>('ChangedNode').implement({
  description: 'A changed node.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    typeBefore: t.exposeString('typeBefore', { description: 'Its type in version `from`.' }),
    typeAfter: t.exposeString('typeAfter', { description: 'Its type in version `to`.' }),
    changes: t.field({
      type: [ValueChangeType],
      description: 'Every changed value of the node.',
      resolve: (node) => [...node.changes],
    }),
    pass: t.field({
      type: PassDiffType,
      nullable: true,
      description: 'The change in terms of a battle pass; null unless the node is a battle pass before and after.',
      resolve: (node) => node.pass,
    }),
  }),
})

const EdgeType = builder.objectRef<Edge>('DefinitionEdge').implement({
  description: 'An edge of the graph: the node that a crossing of the handle enters.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    to: t.exposeString('to', { description: 'The id of the node that is entered.' }),
  }),
})

const ChangedEdgeType = builder.objectRef<ScenarioDiff['edgesChanged'][number]>('ChangedEdge').implement({
  description: 'An edge with other values beside its three.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    to: t.exposeString('to', { description: 'The id of the node that is entered.' }),
    changes: t.field({
      description: 'The changed values.',
      type: [ValueChangeType],
      resolve: (edge) => [...edge.changes],
    }),
  }),
})

const ReorderedEdgesType = builder.objectRef<ScenarioDiff['edgesReordered'][number]>('ReorderedEdges').implement({
  description: 'A handle whose nodes are entered in another order.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    before: t.stringList({
      description: 'Ids of the nodes, in the order of version `from`.',
      resolve: ({ before }) => [...before],
    }),
    after: t.stringList({
      description: 'Ids of the nodes, in the order of version `to`.',
      resolve: ({ after }) => [...after],
    }),
  }),
})

const DiffType = builder.objectRef<ScenarioDiff & { from: number; to: number }>('ScenarioDiff').implement({
  description:
    'The difference between two versions. Whitespace and the order of members, nodes, levels and tiers count only for `isSameText`.',
  fields: (t) => ({
    from: t.exposeInt('from', { description: 'The version that is compared.' }),
    to: t.exposeInt('to', { description: 'The version that it is compared with.' }),
    isSameText: t.exposeBoolean('isSameText', { description: 'Whether the texts are equal, byte for byte.' }),
    changes: t.field({
      type: [ValueChangeType],
      description:
        'Changes outside of nodes and edges: the name, the start, and members that the service does not know.',
      resolve: (diff) => [...diff.changes],
    }),
    nodesAdded: t.field({
      description: 'Nodes that only version `to` has.',
      type: [DiffedNodeType],
      resolve: (diff) => [...diff.nodesAdded],
    }),
    nodesRemoved: t.field({
      description: 'Nodes that only version `from` has.',
      type: [DiffedNodeType],
      resolve: (diff) => [...diff.nodesRemoved],
    }),
    nodesChanged: t.field({
      description: 'Changed nodes.',
      type: [ChangedNodeType],
      resolve: (diff) => [...diff.nodesChanged],
    }),
    edgesAdded: t.field({
      description: 'Edges that only version `to` has.',
      type: [EdgeType],
      resolve: (diff) => [...diff.edgesAdded],
    }),
    edgesRemoved: t.field({
      description: 'Edges that only version `from` has.',
      type: [EdgeType],
      resolve: (diff) => [...diff.edgesRemoved],
    }),
    edgesChanged: t.field({
      type: [ChangedEdgeType],
      description: 'Edges whose further members changed, which the service does not know.',
      resolve: (diff) => [...diff.edgesChanged],
    }),
    edgesReordered: t.field({
      description: 'Handles whose nodes are entered in another order.',
      type: [ReorderedEdgesType],
      resolve: (diff) => [...diff.edgesReordered],
    }),
    hasMoreChanges: t.exposeBoolean('hasMoreChanges', {
      description:
        'True when some `changes` were left out: at most 2,000 are listed. Every changed node and edge is listed.',
    }),
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
  scenario: t.field({
    type: ScenarioVersionType,
    nullable: true,
    description: 'The current version of a scenario, or an older one. Null for a missing one.',
    args: argsOf(versionRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, scenarioId, version } = versionRequest.readInput(args)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const ref = { environmentId, scenarioId }
      const published = await orNull(readScenario(context.service.operatorPool, ref, version), 'scenarioNotFound')
      return published && { environment, ...published }
    },
  }),
  scenarioVersions: t.connection(
    {
      type: VersionSummaryType,
      description: 'The versions of a scenario, the newest first.',
      args: argsOf(scenarioRequest),
      resolve: async (_root, args, context) => {
        const { projectId } = await requirePlatform(context, 'viewer')
        const { size, after, ...place } = readList(scenarioRequest, args, readVersionCursor)
        const scenario = await findScenario(context, projectId, place)
        const found = await listVersions(context.service.operatorPool, scenario, { after, limit: size + 1 })
        const page = forwardPage(found, { size, after }, ({ version }) => printCursor('version', version))
        return { ...page, scenario }
      },
    },
    {
      ...namesOf('ScenarioVersionSummary')[0],
      fields: (t) => ({
        totalCount: t.field({
          type: 'Count',
          description: 'The length of the whole list.',
          resolve: (connection, _args, { service }) =>
            countVersions(service.operatorPool, (connection as unknown as { scenario: ScenarioRef }).scenario),
        }),
      }),
    },
    namesOf('ScenarioVersionSummary')[1],
  ),
  scenarioDiff: t.field({
    type: DiffType,
    nullable: true,
    description: 'The difference between two versions of a scenario, in either direction.',
    args: argsOf(diffRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { from, to, ...place } = diffRequest.readInput(args)
      const scenario = await findScenario(context, projectId, place)
      return { from, to, ...(await diffVersions(context.service.operatorPool, scenario, { from, to })) }
    },
  }),
  validateScenario: t.field({
    type: ValidationType,
    description: 'Validates a definition: every reason why publishing would refuse it.',
    args: inputOf('ValidateScenarioInput', validateRequest),
    resolve: async (_root, { input }, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, definition } = validateRequest.readInput(input)
      await findEnvironment(context.service.pool, projectId, environment)
      return validateDefinition(definition)
    },
  }),
  previewScenario: t.field({
    type: PreviewType,
    description:
      'Previews the effect of publishing a definition on current players. Writes nothing and blocks nothing.',
    args: inputOf('PreviewScenarioInput', previewRequest),
    resolve: async (_root, { input }, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { definition, ...place } = previewRequest.readInput(input)
      return context.service.previewScenario(await findScenario(context, projectId, place), definition)
    },
  }),
  scenarios: t.prismaConnection(
    {
      type: 'Scenario',
      cursor: 'environmentId_id',
      description: 'The scenarios of an environment, by id.',
      args: argsOf(scenariosRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requirePlatform(context, 'viewer')
        const { environment } = scenariosRequest.readInput(args)
        const environmentId = await findEnvironment(context.service.pool, projectId, environment)
        const { page, beyond } = pageOf(query, { scope: { environmentId }, order: 'asc', ids: 'names' })
        return context.prisma.scenario.findMany({ ...page, where: { environmentId, ...beyond } })
      },
    },
    ...namesOf('Scenario'),
  ),
}))

interface Published extends Audited {
  readonly scenario: PublishedScenario & { environment: string }
  readonly notices: readonly Fault[]
}

function published(caller: PlatformCaller, { environment }: { environment: string }, done: Publication): Published {
  const { scenario, auditId, notices } = done
  return { scenario: { environment, ...scenario }, audit: auditRef(caller, auditId), notices }
}

const payloadType = (name: string) => {
  const payload = builder.objectRef<Published>(name).implement({
    fields: (t) => ({
      scenario: t.field({ type: ScenarioVersionType, resolve: (payload) => payload.scenario }),
      notices: t.field({
        type: [FaultType],
        description:
          'Notes for the designer, such as a tier whose rewards a level node replaces. The same as in `validateScenario`.',
        resolve: ({ notices }) => [...notices],
      }),
    }),
  })
  addAuditEntry(payload, 'Null when the text was current already, so that nothing changed.')
  return payload
}
const PublishScenarioPayload = payloadType('PublishScenarioPayload')
const CloneScenarioPayload = payloadType('CloneScenarioPayload')

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
  publishScenario: t.field({
    type: PublishScenarioPayload,
    description:
      'Publishes a definition as the next version. Every fault is named at once, and then nothing is written.',
    args: inputOf('PublishScenarioInput', publishRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requirePlatform(context, 'admin', {
        action: ACTIONS.publishScenario,
        target: input.scenarioId,
      })
      const { definition, reason, expectedVersion: expected, ...place } = publishRequest.readInput(input)
      const scenario = await findScenario(context, caller.projectId, place)
      const publisher = { caller, reason, expected }
      return published(
        caller,
        place,
        await publishScenario(context.service.operatorPool, scenario, definition, publisher),
      )
    },
  }),
  cloneScenario: t.field({
    type: CloneScenarioPayload,
    description:
      'Publishes the text of a version, byte for byte, in another environment of the project, or under another id. With an older version and the same place it goes back to that version.',
    args: inputOf('CloneScenarioInput', cloneRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requirePlatform(context, 'admin', {
        action: ACTIONS.cloneScenario,
        target: input.toScenarioId,
      })
      const { toEnvironment, toScenarioId, version, expectedVersion, reason, ...place } = cloneRequest.readInput(input)
      const target = { environment: toEnvironment, scenarioId: toScenarioId }
      const cloned = await cloneScenario(context.service.operatorPool, caller, {
        from: await findScenario(context, caller.projectId, place),
        fromEnvironment: place.environment,
        version,
        to: await findScenario(context, caller.projectId, target),
        expected: expectedVersion,
        reason,
      })
      return published(caller, target, cloned)
    },
  }),
}))

/** A scenario of the key's project. An environment of another project counts as missing. */
async function findScenario(
  { service }: Context,
  projectId: string,
  { environment, scenarioId }: { environment: string; scenarioId: string },
): Promise<ScenarioRef> {
  return { environmentId: await findEnvironment(service.pool, projectId, environment), scenarioId }
}

/** The version that a cursor names; undefined for a cursor of another list. */
function readVersionCursor(cursor: string): number | undefined {
  const version = Number(readCursor('version', cursor))
  return version >= 1 && version <= MAX_INT32 ? version : undefined
}

nodesOf('Run', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.run.findUnique({ where })
})

nodesOf('Scenario', ['name', 'name'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  const where = environmentId === null ? null : { environmentId_id: { environmentId, id } }
  return where && context.prisma.scenario.findUnique({ where })
})

nodesOf('ScenarioVersion', ['name', 'name', 'number'], async (context, parts) => {
  const [environment = '', scenarioId = '', version] = parts
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const ref = { environmentId, scenarioId }
  const found = await orNull(readScenario(context.service.operatorPool, ref, Number(version)), 'scenarioNotFound')
  return found && { environment, ...found }
})
