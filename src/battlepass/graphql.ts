import { ACTIONS } from '../audit/actions.ts'
import { requirePlayer } from '../auth/access.ts'
import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import { PLAYERS_LIST, pageOf } from '../graphql/page.ts'
import { thaw } from '../json.ts'
import type { Track } from '../scenario/definition.ts'
import { ExecutionPlanType } from '../scenario/graphql.ts'
import type { Granted } from '../scenario/plan.ts'
import { RewardType } from '../wallet/graphql.ts'
import { type AddXpResult, addXp } from './add-xp.ts'
import { type ClaimAllResult, type ClaimResult, claimAll, claimTier } from './claim-tier.ts'
import { type PurchaseResult, purchasePremium } from './purchase-premium.ts'
import { type Progress, readProgress } from './read-progress.ts'
import { readAddXp, readClaimAll, readClaimTier, readKey, readNodeInput, readPurchasePremium } from './wire.ts'

export const TrackType = builder.enumType('Track', {
  description: 'A track of a battle pass.',
  values: {
    free: { value: 'free', description: 'Open to every player.' },
    premium: { value: 'premium', description: 'Open to players who own premium.' },
  } as const satisfies Record<Track, unknown>,
})

const ClaimedTierType = builder.objectRef<{ level: number; track: Track }>('ClaimedTier').implement({
  description: 'A claimed tier (spec 2.2).',
  fields: (t) => ({ level: t.exposeInt('level'), track: t.expose('track', { type: TrackType }) }),
})

const BattlePassType = builder.objectRef<Progress>('BattlePass').implement({
  description: "A player's progress on a battle pass (spec 2.2).",
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

export const AddXpResultType = builder.objectRef<AddXpResult>('AddXpResult').implement({
  fields: (t) => ({
    level: t.exposeInt('level', { description: 'The level after the addition.' }),
    xp: t.field({ type: 'Int64', description: 'The xp after the addition.', resolve: (result) => result.xp }),
    leveledUp: t.exposeBoolean('leveledUp', { description: 'A level was gained.' }),
    maxLevel: t.exposeBoolean('maxLevel', { description: 'The top level is reached.' }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

export const ClaimTierResultType = builder.objectRef<ClaimResult>('ClaimTierResult').implement({
  fields: (t) => ({
    success: t.exposeBoolean('success'),
    alreadyClaimed: t.exposeBoolean('alreadyClaimed', { description: 'The tier was claimed before.' }),
    error: t.string({ nullable: true, description: 'Why it was refused.', resolve: (result) => result.error }),
    granted: t.field({
      type: [RewardType],
      description: 'What was granted, also when it was claimed before.',
      resolve: (result) => [...result.granted],
    }),
  }),
})

const GrantedTierType = builder
  .objectRef<{ level: number; track: Track; granted: readonly Granted[] }>('GrantedTier')
  .implement({
    description: 'A tier that was claimed, with what it granted.',
    fields: (t) => ({
      level: t.exposeInt('level'),
      track: t.expose('track', { type: TrackType }),
      granted: t.field({ type: [RewardType], resolve: (tier) => [...tier.granted] }),
    }),
  })

const ClaimAllResultType = builder.objectRef<ClaimAllResult>('ClaimAllResult').implement({
  fields: (t) => ({
    claimed: t.field({
      description: 'The tiers that were claimed now, by level.',
      type: [GrantedTierType],
      resolve: (result) => [...result.claimed],
    }),
  }),
})

const PurchasePremiumResultType = builder.objectRef<PurchaseResult>('PurchasePremiumResult').implement({
  fields: (t) => ({
    success: t.exposeBoolean('success'),
    error: t.string({ nullable: true, description: 'Why it was refused.', resolve: (result) => result.error }),
    plan: t.field({ type: ExecutionPlanType, nullable: true, resolve: (result) => result.plan }),
  }),
})

builder.queryField('battlePass', (t) =>
  t.field({
    type: BattlePassType,
    description: "The calling player's progress.",
    args: { scenarioId: t.arg.string({ required: true }), nodeId: t.arg.string({ required: true }) },
    resolve: async (_root, args, context) =>
      context.service.run(readProgress(await requirePlayer(context), Fields.ofInput(args).read(readNodeInput))),
  }),
)

const AddXpInput = builder.inputType('AddXpInput', {
  fields: (t) => ({
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    runId: t.string({ required: true }),
    amount: t.field({ description: 'How much xp: 1 or more.', type: 'Int64', required: true }),
    source: t.string({ required: true, description: 'Where the xp comes from: up to 64 characters.' }),
    idempotencyKey: t.string({ description: 'As the header `Idempotency-Key` of the REST endpoint.' }),
  }),
})

const ClaimTierInput = builder.inputType('ClaimTierInput', {
  fields: (t) => ({
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    runId: t.string({ required: true }),
    level: t.int({ description: 'May be left out on a level node.' }),
    track: t.field({ type: TrackType, required: true }),
    idempotencyKey: t.string({ description: 'As the header `Idempotency-Key` of the REST endpoint.' }),
  }),
})

const ClaimAllInput = builder.inputType('ClaimAllInput', {
  fields: (t) => ({
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    runId: t.string({ required: true }),
  }),
})

const PurchasePremiumInput = builder.inputType('PurchasePremiumInput', {
  fields: (t) => ({
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    runId: t.string({ required: true }),
    idempotencyKey: t.string({ description: 'The same key and request is charged once and answered alike.' }),
  }),
})

builder.mutationFields((t) => ({
  addXp: t.field({
    type: AddXpResultType,
    description: 'Adds xp to a pass (spec 4.1).',
    args: { input: t.arg({ type: AddXpInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.addXp)
      const xp = Fields.ofInput(input).read((fields) => ({ ...readAddXp(fields), idempotencyKey: readKey(fields) }))
      return context.service.run(addXp(player, xp))
    },
  }),
  claimTier: t.field({
    type: ClaimTierResultType,
    description: 'Claims one tier of one track. However often it is sent, the tier is granted once (spec 4.1).',
    args: { input: t.arg({ type: ClaimTierInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.claimTier)
      const tier = Fields.ofInput(input).read((fields) => ({
        ...readClaimTier(fields),
        idempotencyKey: readKey(fields),
      }))
      return context.service.run(claimTier(player, tier))
    },
  }),
  claimAll: t.field({
    type: ClaimAllResultType,
    description: 'Claims every tier of a pass that can be claimed now.',
    args: { input: t.arg({ type: ClaimAllInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.claimAll)
      return context.service.run(claimAll(player, Fields.ofInput(input).read(readClaimAll)))
    },
  }),
  purchasePremium: t.field({
    type: PurchasePremiumResultType,
    description: 'Buys premium for a pass from the wallet (spec 4.1).',
    args: { input: t.arg({ type: PurchasePremiumInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, ACTIONS.purchasePremium)
      return context.service.run(purchasePremium(player, Fields.ofInput(input).read(readPurchasePremium)))
    },
  }),
}))

const ClaimType = builder.prismaObject('TierClaim', {
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.field({ type: TrackType, select: { track: true }, resolve: ({ track }) => track as Track }),
    granted: t.field({ type: [RewardType], resolve: ({ granted }) => thaw(granted) as unknown as Granted[] }),
    runId: t.exposeString('runId', { description: 'The run in which it was claimed.' }),
    claimedAt: t.expose('claimedAt', { type: 'DateTime' }),
  }),
})

builder.prismaObject('XpEntry', {
  fields: (t) => ({
    id: t.exposeID('id'),
    amount: t.expose('amount', { type: 'Int64', description: 'What was added; negative for what a reset took.' }),
    source: t.exposeString('source'),
    runId: t.exposeString('runId', { description: 'The run in which it was earned.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

builder.prismaObject('Pass', {
  fields: (t) => ({
    scenarioId: t.exposeString('scenarioId'),
    nodeId: t.exposeString('nodeId'),
    xp: t.expose('xp', { type: 'Int64' }),
    level: t.exposeInt('level', {
      description:
        'The highest level whose gain was crossed: after an edit of the definition the level of its `xp` may be another.',
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
    xpLedger: t.prismaConnection({
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
    }),
  }),
})
