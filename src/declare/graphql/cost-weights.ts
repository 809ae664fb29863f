// The weights of operations. Fields are named `Type.field`; a test compares the names with the schema.

/** Root fields that cost more than others: long reads, and calls of a studio's webhook. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  'Mutation.loginCustom': 50,
  'Mutation.linkCustom': 50,
  'Mutation.testAuthProvider': 50,
  'Mutation.createGrantJob': 50,
  'Mutation.publishScenario': 50,
  'Mutation.cloneScenario': 50,
  'Mutation.schedulePublication': 50,
  'Query.battlePassInsight': 50,
  'Query.calendar': 50,
  'Query.callStatistics': 50,
  'Query.loginStatistics': 50,
  'Query.previewBoost': 100,
  'Query.previewGrantJob': 100,
  'Query.previewGrantUndo': 100,
  'Query.previewScenario': 100,
  'Query.scenarioDiff': 50,
  'Query.validateScenario': 50,
}

/** The sizes of lists that have no size in the request, where they differ from {@link LIST_SIZE}. */
export const LIST_SIZES: Readonly<Record<string, number>> = {
  'BattlePass.claims': 100,
  'BattlePassInsight.clippedXp': 20,
  'BattlePassInsight.days': 30,
  'BattlePassInsight.levels': 100,
  'BattlePassInsight.tiers': 100,
  'BattlePassInsight.xp': 20,
  'BattlePassInsight.xpByOrigin': 4,
  'BattlePassPreview.levels': 100,
  'BattlePassPreview.newlyClaimable': 2,
  'BattlePassPreview.removedClaims': 100,
  'BattlePassProgress.claimedTiers': 100,
  'CallStatistics.minutes': 60,
  'ClaimAllMessagesPayload.claimed': 100,
  'ClaimAllPayload.claimed': 100,
  'ClaimMessagePayload.granted': 2,
  'ClaimTierPayload.granted': 2,
  'BonusView.choice': 1,
  'BonusView.rewards': 2,
  'DiffedTier.choice': 1,
  'DiffedTier.rewards': 2,
  'ChangedTier.choiceAfter': 1,
  'ChangedTier.choiceBefore': 1,
  'ChangedTier.rewardsAfter': 2,
  'ChangedTier.rewardsBefore': 2,
  'GrantJob.failedByCause': 3,
  'GrantJob.largest': 10,
  'GrantJob.message': 2,
  'GrantJob.total': 2,
  'GrantJob.undos': 1,
  'GrantJobPlayer.granted': 2,
  'Gift.rewards': 2,
  'GrantedMessage.granted': 2,
  'GrantedTier.granted': 2,
  'Inbox.messages': 50,
  'InboxMessage.rewards': 2,
  'InboxMessage.texts': 5,
  'InboxReceivedEvent.rewards': 2,
  'LoginStatistics.times': 100,
  'NewlyClaimable.tiers': 100,
  'OptionView.rewards': 2,
  'PassState.boosts': 2,
  'PassState.claimable': 10,
  'PassState.claimed': 100,
  'PassView.levels': 100,
  'PassView.tiers': 200,
  'Player.identities': 2,
  'Player.passes': 5,
  'PremiumView.instant': 2,
  'PreviewBoostResult.passes': 3,
  'PreviewGrantJobResult.failing': 3,
  'PreviewGrantJobResult.largest': 10,
  'PreviewGrantJobResult.total': 2,
  'PreviewGrantUndoResult.given': 2,
  'PreviewGrantUndoResult.taken': 2,
  'PreviewScenarioResult.passes': 3,
  'Query.segments': 100,
  'Query.sharedViews': 50,
  'ReceivedMessage.rewards': 2,
  'RewardOption.rewards': 2,
  'ScenarioView.passes': 1,
  'Season.boosts': 2,
  'TierClaim.granted': 2,
  'TierView.choice': 1,
  'TierView.rewards': 2,
  'XpOfOrigin.times': 100,
  'XpOutliers.top': 20,
  'XpSource.times': 100,
}

/** The arguments that give the size of a plain list: a number, or a list with a value for each entry. */
export const SIZE_ARGUMENTS: Readonly<Record<string, string>> = {
  'BattlePassInsight.clippedXp': 'sources',
  'BattlePassInsight.xp': 'sources',
  'Player.storage': 'keys',
  'Query.nodes': 'ids',
}

/** The size of any other plain list. */
export const LIST_SIZE = 10
export const MUTATION = 10
export const SUBSCRIPTION = 10
/** `totalCount` reads beyond the page. */
export const TOTAL_COUNT = 10
/** `__schema` and `__type`, with any selections. */
export const INTROSPECTION = 100
