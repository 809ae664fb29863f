import { builder } from '../graphql/builder.ts'
import { globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf } from '../graphql/node.ts'
import { namesOf, PLAYERS_LIST, pageOf } from '../graphql/page.ts'
import { findReadable } from '../graphql/readable.ts'
import { enumType, playerMutation, playerQuery } from '../graphql/shapes.ts'
import { thaw } from '../json.ts'
import { type Granted, TRACKS, type Track } from '../scenario/definition.ts'
import { ExecutionPlanType } from '../scenario/graphql-runs.ts'
import { currentPass } from '../scenario/scenarios.ts'
import { RewardType } from '../wallet/graphql.ts'
import { type AddXpResult, addXpCall } from './add-xp.ts'
import { type ClaimAllResult, type ClaimResult, claimAllCall, claimTierCall } from './claim-tier.ts'
import { CLAIM_ERRORS, PURCHASE_ERRORS } from './decide.ts'
import { levelOf } from './passes.ts'
import { type PurchaseResult, purchasePremiumCall } from './purchase-premium.ts'
import { type Progress, progressCall } from './read-progress.ts'

export const TrackType = enumType('Track', TRACKS, {
  description: 'A track of a battle pass.',
  values: { free: 'Open to every player.', premium: 'Open to players who own premium.' },
})

const ClaimErrorType = enumType('ClaimError', CLAIM_ERRORS, {
  description: 'The reason why a tier was not claimed.',
  values: {
    'tier not found': 'The pass has no such tier.',
    'season closed': 'Tiers can be claimed from `startsAt` to `claimUntil`.',
    'level not reached': 'The player is below the level of the tier.',
    'premium required': 'The tier is on the premium track, and the player does not own premium.',
    'balance limit exceeded': 'A balance would pass the largest 64-bit integer.',
  },
})

const PurchaseErrorType = enumType('PurchaseError', PURCHASE_ERRORS, {
  description: 'The reason why premium was not bought.',
  values: {
    'idempotency key reused': 'The key was used for another request.',
    'premium not available': 'The pass sells no premium.',
    'season closed': 'Premium is sold from `startsAt` to `endsAt`.',
    'premium already owned': 'The player already owns premium.',
    'insufficient funds': 'The wallet has less than the price.',
    'balance limit exceeded': 'A balance would pass the largest 64-bit integer.',
  },
})

const ClaimedTierType = builder.objectRef<{ level: number; track: Track }>('ClaimedTier').implement({
  description: 'A claimed tier.',
  fields: (t) => ({ level: t.exposeInt('level'), track: t.expose('track', { type: TrackType }) }),
})

const BattlePassProgressType = builder.objectRef<Progress>('BattlePassProgress').implement({
  description: "A player's progress on a battle pass.",
  fields: (t) => ({
    level: t.exposeInt('level'),
    xp: t.field({ type: 'Int64', resolve: (pass) => pass.xp }),
    premiumOwned: t.exposeBoolean('premiumOwned'),
    claimedTiers: t.field({
      description: 'The claimed tiers, by level.',
      type: [ClaimedTierType],
      resolve: (pass) => [...pass.claimedTiers],
    }),
  }),
})

export const AddXpPayloadType = builder.objectRef<AddXpResult>('AddXpPayload').implement({
  fields: (t) => ({
    level: t.exposeInt('level', { description: 'The level after the addition.' }),
    xp: t.field({ type: 'Int64', description: 'The xp after the addition.', resolve: (result) => result.xp }),
    leveledUp: t.exposeBoolean('leveledUp', { description: 'A level was gained.' }),
    maxLevel: t.exposeBoolean('maxLevel', { description: 'The top level is reached.' }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

export const ClaimTierPayloadType = builder.objectRef<ClaimResult>('ClaimTierPayload').implement({
  fields: (t) => ({
    success: t.exposeBoolean('success'),
    alreadyClaimed: t.exposeBoolean('alreadyClaimed', { description: 'The tier was claimed before.' }),
    error: t.expose('error', {
      type: ClaimErrorType,
      nullable: true,
      description: 'The reason of a refusal. Null on success.',
    }),
    granted: t.field({
      type: [RewardType],
      description: 'The rewards of the tier, even when it was claimed before.',
      resolve: (result) => [...result.granted],
    }),
  }),
})

const GrantedTierType = builder
  .objectRef<{ level: number; track: Track; granted: readonly Granted[] }>('GrantedTier')
  .implement({
    description: 'A claimed tier with its rewards.',
    fields: (t) => ({
      level: t.exposeInt('level'),
      track: t.expose('track', { type: TrackType }),
      granted: t.field({ type: [RewardType], resolve: (tier) => [...tier.granted] }),
    }),
  })

const ClaimAllPayloadType = builder.objectRef<ClaimAllResult>('ClaimAllPayload').implement({
  fields: (t) => ({
    claimed: t.field({
      description: 'The newly claimed tiers, by level.',
      type: [GrantedTierType],
      resolve: (result) => [...result.claimed],
    }),
    error: t.expose('error', {
      type: ClaimErrorType,
      nullable: true,
      description:
        'The reason why nothing was claimed. Null when a tier was claimed, and when every tier is already claimed.',
    }),
  }),
})

const PurchasePremiumPayloadType = builder.objectRef<PurchaseResult>('PurchasePremiumPayload').implement({
  fields: (t) => ({
    success: t.exposeBoolean('success'),
    error: t.expose('error', {
      type: PurchaseErrorType,
      nullable: true,
      description: 'The reason of a refusal. Null on success.',
    }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

builder.queryField('battlePass', (t) =>
  t.field({
    type: BattlePassProgressType,
    nullable: true,
    description: "The calling player's progress. Null, with an error, when the pass does not exist.",
    ...playerQuery(progressCall),
  }),
)

builder.mutationFields((t) => ({
  addXp: t.field({
    type: AddXpPayloadType,
    description: 'Adds xp to a pass. The run must be active; it need not have entered the node.',
    ...playerMutation('AddXpInput', addXpCall),
  }),
  claimTier: t.field({
    type: ClaimTierPayloadType,
    description:
      'Claims one tier of one track. Repeated calls grant the tier once. The run must be active; it need not have entered the node.',
    ...playerMutation('ClaimTierInput', claimTierCall),
  }),
  claimAll: t.field({
    type: ClaimAllPayloadType,
    description:
      'Claims every tier of a pass that can be claimed now. The run must be active; it need not have entered the node.',
    ...playerMutation('ClaimAllInput', claimAllCall),
  }),
  purchasePremium: t.field({
    type: PurchasePremiumPayloadType,
    description:
      'Buys premium for a pass from the wallet. The price is charged once. The run must be active; it need not have entered the node.',
    ...playerMutation('PurchasePremiumInput', purchasePremiumCall),
  }),
}))

const ClaimType = builder.prismaObject('TierClaim', {
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.field({ type: TrackType, select: { track: true }, resolve: ({ track }) => track as Track }),
    granted: t.field({ type: [RewardType], resolve: ({ granted }) => thaw(granted) as unknown as Granted[] }),
    runId: t.exposeString('runId', { description: 'The run in which the tier was claimed.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime' }),
  }),
})

builder.prismaObject('XpEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ playerId, id }) => globalId('XpEntry', playerId, id) }),
    amount: t.expose('amount', { type: 'Int64', description: 'The granted xp; negative for a reset.' }),
    source: t.exposeString('source'),
    runId: t.exposeString('runId', { description: 'The run in which the xp was earned.' }),
    occurredAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of the grant or reset.' }),
  }),
})

builder.prismaObject('BattlePass', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      resolve: ({ playerId, scenarioId, nodeId: node }) => globalId('BattlePass', playerId, scenarioId, node),
    }),
    scenarioId: t.exposeString('scenarioId'),
    nodeId: t.exposeString('nodeId'),
    xp: t.expose('xp', { type: 'Int64' }),
    level: t.int({
      description:
        'The level by the current version of the scenario, as in `battlePass`. A pass that the current version no longer has keeps its last level.',
      select: { environmentId: true, scenarioId: true, nodeId: true, xp: true, level: true, currentLevel: true },
      resolve: async (pass, _args, { service }) => levelOf(await service.run(currentPass(pass)), pass),
    }),
    premiumOwned: t.exposeBoolean('premiumOwned'),
    completed: t.exposeBoolean('completed', { description: '`onComplete` was crossed.' }),
    claims: t.field({
      type: [ClaimType],
      description: 'Claimed tiers, by level.',
      resolve: ({ environmentId, playerId, scenarioId, nodeId }, _args, context) =>
        context.prisma.tierClaim.findMany({
          where: { environmentId, playerId, scenarioId, nodeId },
          orderBy: [{ level: 'asc' }, { track: 'asc' }],
        }),
    }),
    xpLedger: t.prismaConnection(
      {
        type: 'XpEntry',
        ...PLAYERS_LIST,
        description: 'Every grant of xp, the latest first.',
        resolve: (query, { environmentId, playerId, scenarioId, nodeId }, _args, context) => {
          const { page, beyond } = pageOf(query, { scope: { playerId }, order: 'desc' })
          return context.prisma.xpEntry.findMany({
            ...page,
            where: { environmentId, playerId, scenarioId, nodeId, ...beyond },
          })
        },
      },
      ...namesOf('XpEntry'),
    ),
  }),
})

nodesOf('BattlePass', ['uuid', 'name', 'name'], async (context, [playerId = '', scenarioId = '', node = '']) => {
  const player = await findReadable(context, playerId)
  if (!player) return null
  const where = { environmentId_playerId_scenarioId_nodeId: { ...player, scenarioId, nodeId: node } }
  return context.prisma.battlePass.findUnique({ where })
})

nodesOf('XpEntry', ['uuid', 'uuid'], async (context, [playerId = '', id = '']) => {
  const player = await findReadable(context, playerId)
  const where = player && { environmentId_playerId_id: { ...player, id } }
  return where && context.prisma.xpEntry.findUnique({ where })
})
