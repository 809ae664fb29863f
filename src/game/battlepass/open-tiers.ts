import { byLevel, type Claimable, TRACKS, tierKey } from '../definition/definition.ts'
import { earnedTiers, leftToday, unclaimedTiers } from './beyond.ts'
import type { ClaimedBy } from './decide.ts'
import type { PassHandle } from './passes.ts'

/** The tiers that a player has earned and not claimed, by level; of bonus tiers only those that it may claim on the day. */
export function earnedOf(pass: PassHandle, by: ClaimedBy, now: Date): Claimable[] {
  const { premiumOwned, claimed } = pass.current
  const { level } = pass
  const listed = tiersOf(pass).filter(
    (tier) =>
      tier.level <= level && (tier.track === 'free' || premiumOwned) && !claimed.has(tierKey(tier.level, tier.track)),
  )
  return [...listed, ...earnedBonusTiers(pass, by, now)].sort(byLevel)
}

/** The tiers that are listed behind a node. */
export function tiersOf({ node, levelNode }: PassHandle): Claimable[] {
  if (levelNode) return TRACKS.map((track) => ({ level: levelNode.levelNumber, track }))
  return [...node.tiers.values()]
}

/** The bonus tiers that the player has earned and not claimed; to claim by itself only those of the day. */
function earnedBonusTiers(pass: PassHandle, by: ClaimedBy, now: Date): Claimable[] {
  const { node, current } = pass
  if (node.beyond?.kind !== 'tiers') return []
  const open = unclaimedTiers(node, isBonusClaimed(pass), earnedTiers(node, current.xp))
  return by === 'player' ? open.slice(0, leftToday(node, current.beyond, now)) : open
}

/** The bonus tiers that can be claimed, and the next one, which shows why no other can. */
export function openBonusTiers(pass: PassHandle, now: Date): Claimable[] {
  const { node, levelNode, current } = pass
  if (node.beyond?.kind !== 'tiers' || levelNode) return []
  const open = unclaimedTiers(node, isBonusClaimed(pass), earnedTiers(node, current.xp) + 1)
  return open.slice(0, leftToday(node, current.beyond, now) + 1)
}

function isBonusClaimed({ current: { claimed } }: PassHandle): (number: number) => boolean {
  return (number) => claimed.has(tierKey(number, 'bonus'))
}
