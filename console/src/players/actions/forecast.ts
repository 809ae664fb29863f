import { levelAt } from '../../../../src/game/battlepass/decide.ts'
import { type ClaimTrack, earnedBonus, type PassView, rewardText } from '../../scenario/read-definition.ts'

/** A player's state on a pass, as far as actions depend on it. `xp` is a decimal text. */
export interface PassState {
  readonly xp: string
  readonly premiumOwned: boolean
  readonly claims: readonly { readonly level: number; readonly track: ClaimTrack }[]
}

/** A tier by its level and track, or by the number of a bonus tier. */
export interface ClaimableTier {
  readonly level: number
  readonly track: ClaimTrack
}

export const isClaimed = ({ claims }: PassState, { level, track }: ClaimableTier): boolean =>
  claims.some((claim) => claim.level === level && claim.track === track)

/**
 * The tiers that the player can claim now: reached, not claimed, and of a track that the player owns. Bonus tiers come last,
 * also those above the number of a day.
 */
export function claimableTiers(view: PassView, state: PassState): readonly ClaimableTier[] {
  const reached = levelAt(view, BigInt(state.xp))
  const bonus = Array.from({ length: earnedBonus(view, BigInt(state.xp)) }, (_, index) => bonusTier(index + 1))
  const listed = view.tiers.filter(
    (tier) => tier.level <= reached && (tier.track === 'FREE' || state.premiumOwned) && !isClaimed(state, tier),
  )
  return [...listed, ...bonus.filter((tier) => !isClaimed(state, tier))]
}

const bonusTier = (level: number): ClaimableTier => ({ level, track: 'BONUS' })

export function newlyClaimable(view: PassView, before: PassState, after: PassState): readonly ClaimableTier[] {
  const known = new Set(claimableTiers(view, before).map(keyOf))
  return claimableTiers(view, after).filter((tier) => !known.has(keyOf(tier)))
}

const keyOf = ({ level, track }: ClaimableTier): string => `${track} ${level}`

/** The bonus tiers of a player in a sentence. Undefined while the pass has none, or the player has earned none. */
export function bonusText(view: PassView, state: PassState): string | undefined {
  const earned = earnedBonus(view, BigInt(state.xp))
  const claimed = state.claims.filter(({ track }) => track === 'BONUS').length
  if (view.bonus === null || (earned === 0 && claimed === 0)) return undefined
  const daily = view.bonus.perDay === null ? '' : `, at most ${view.bonus.perDay} on a day`
  return `Bonus tiers: ${earned} earned, ${claimed} claimed${daily}.`
}

/** The reason why the season takes no xp at a moment, in a sentence. Undefined while it is open. */
export const closedSeason = ({ startsAt, endsAt }: PassView, now: number): string | undefined =>
  closed(startsAt, endsAt, now, 'The season')

/** The reason why tiers cannot be claimed at a moment, in a sentence. Support can grant them nevertheless. */
export const closedClaims = ({ startsAt, endsAt, claimUntil }: PassView, now: number): string | undefined =>
  closed(startsAt, claimUntil ?? endsAt, now, 'The time to claim')

function closed(from: string | null, to: string | null, now: number, what: string): string | undefined {
  if (from !== null && now < Date.parse(from)) return `${what} begins ${minute(from)} UTC.`
  if (to !== null && now >= Date.parse(to)) return `${what} ended ${minute(to)} UTC.`
  return undefined
}

const minute = (at: string): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ')

/** Tiers in words: `free 2, premium 2 and 3 more`. */
export function tiersText(tiers: readonly ClaimableTier[], shown = 4): string {
  const named = tiers.slice(0, shown).map(({ level, track }) => `${track.toLowerCase()} ${level}`)
  return `${named.join(', ')}${tiers.length > shown ? ` and ${tiers.length - shown} more` : ''}`
}

/** What premium brings besides its tiers, and what a grant of it does not bring. */
export function premiumText({ xpPercent, instant }: PassView): string {
  const bonus = xpPercent === null ? '' : ` From then on the player gets ${xpPercent}% more xp.`
  const kept = instant.map(rewardText).join(', ')
  return `${bonus}${kept === '' ? '' : ` What the purchase grants at once is not granted: ${kept}.`}`
}
