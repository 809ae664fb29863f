import { builder } from '../../declare/graphql/builder.ts'
import type { Choice, Reward } from '../definition/definition.ts'
import { FaultType } from '../definition/graphql.ts'
import { ChangedNodeType } from '../definition/graphql-diff.ts'
import { PriceType, RewardOrBoostType } from '../wallet/graphql.ts'
import type { PassPreview } from './compare-passes.ts'
import { type Change, type DiffedLevel, type DiffedTier, diffPasses, type PassDiff } from './diff-passes.ts'
import { TrackType } from './graphql.ts'
import type { ScenarioPreview } from './preview.ts'

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
      extensions: { size: 100 },
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
    isAdded: t.exposeBoolean('isAdded', { description: 'The pass is missing before.' }),
    isRemoved: t.exposeBoolean('isRemoved', { description: 'The pass is missing after.' }),
    players: t.expose('players', { type: 'Count', description: 'Players with a pass.' }),
    premiumOwners: t.expose('premiumOwners', { type: 'Count', description: 'Players who own premium.' }),
    levelGained: t.expose('levelGained', { type: 'Count', description: 'Players whose level would be higher.' }),
    levelLost: t.expose('levelLost', {
      type: 'Count',
      description: 'Players whose level would be lower. Their claims remain.',
    }),
    levels: t.field({
      extensions: { size: 100 },
      type: [LevelPlayersType],
      description: 'Players by level: 0, and every level before or after.',
      resolve: ({ levels }) => [...levels],
    }),
    priceBefore: t.field({
      description: 'The price of premium; null when it is not sold.',
      type: PriceType,
      nullable: true,
      resolve: (pass) => pass.priceBefore,
    }),
    priceAfter: t.field({
      description: 'The price that premium would have; null when it would not be sold.',
      type: PriceType,
      nullable: true,
      resolve: (pass) => pass.priceAfter,
    }),
    claimsOpenBefore: t.exposeBoolean('claimsOpenBefore', { description: 'Tiers can be claimed at this time.' }),
    claimsOpenAfter: t.exposeBoolean('claimsOpenAfter', { description: 'Tiers could be claimed at this time.' }),
    newlyClaimable: t.field({
      extensions: { size: 2 },
      type: [NewlyClaimableType],
      description: 'For each track.',
      resolve: (pass) => [...pass.newlyClaimable],
    }),
    removedClaims: t.field({
      extensions: { size: 100 },
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

builder.objectRef<ScenarioPreview>('PreviewScenarioResult').implement({
  description:
    'The effect of publishing a definition on current players. A player has a pass from its first xp, claim or purchase on; deleted players do not count.',
  fields: (t) => ({
    valid: t.boolean({ resolve: ({ faults }) => faults.length === 0 }),
    asOf: t.field({ type: 'DateTime', resolve: ({ asOf }) => asOf }),
    faults: t.field({
      type: [FaultType],
      description: 'The faults of the definition. With faults, nothing is counted.',
      resolve: ({ faults }) => [...faults],
    }),
    currentVersion: t.exposeInt('currentVersion', {
      nullable: true,
      description: 'The compared version; null when none is published yet, and when nothing is counted.',
    }),
    passes: t.field({
      extensions: { size: 3 },
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

const OptionType = builder.objectRef<Choice[number]>('RewardOption').implement({
  description: 'An option of the choice of a tier.',
  fields: (t) => ({
    rewards: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      resolve: (rewards): Reward[] => [...rewards],
    }),
  }),
})

const DiffedTierType = builder.objectRef<DiffedTier>('DiffedTier').implement({
  description: 'A tier that only one of two definitions has.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.expose('track', { type: TrackType }),
    rewards: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      resolve: ({ rewards }): Reward[] => [...rewards],
    }),
    choice: t.field({
      extensions: { size: 1 },
      description: 'The options of its choice. Empty without one.',
      type: [OptionType],
      resolve: ({ choice = [] }) => [...choice],
    }),
  }),
})

const ChangedTierType = builder.objectRef<PassDiff['tiersChanged'][number]>('ChangedTier').implement({
  description: 'A tier with other rewards.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    track: t.expose('track', { type: TrackType }),
    rewardsBefore: t.field({
      extensions: { size: 2 },
      description: 'Its rewards in version `from`.',
      type: [RewardOrBoostType],
      resolve: ({ rewardsBefore }): Reward[] => [...rewardsBefore],
    }),
    rewardsAfter: t.field({
      extensions: { size: 2 },
      description: 'Its rewards in version `to`.',
      type: [RewardOrBoostType],
      resolve: ({ rewardsAfter }): Reward[] => [...rewardsAfter],
    }),
    choiceBefore: t.field({
      extensions: { size: 1 },
      description: 'The options of its choice in version `from`. Empty without one.',
      type: [OptionType],
      resolve: ({ choiceBefore = [] }) => [...choiceBefore],
    }),
    choiceAfter: t.field({
      extensions: { size: 1 },
      description: 'The options of its choice in version `to`. Empty without one.',
      type: [OptionType],
      resolve: ({ choiceAfter = [] }) => [...choiceAfter],
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
      description: 'The price of premium.',
      type: ChangedPriceType,
      nullable: true,
      resolve: (diff) => diff.price,
    }),
    announcedAt: t.field({
      description: 'The time at which the season is announced.',
      type: ChangedDateType,
      nullable: true,
      resolve: (diff) => diff.announcedAt,
    }),
    endingAt: t.field({
      description: 'The time from which the season is about to end: `endingHours` before `endsAt`.',
      type: ChangedDateType,
      nullable: true,
      resolve: (diff) => diff.endingAt,
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

builder.objectField(ChangedNodeType, 'pass', (t) =>
  t.field({
    type: PassDiffType,
    nullable: true,
    description: 'The change in terms of a battle pass; null unless the node is a battle pass before and after.',
    resolve: ({ before, after }) => diffPasses(before, after),
  }),
)
