import { GameDays } from '../../base/game-day.ts'
import type { BonusTiers, Claimable, Offer, PassNode, Reward, XpConversion } from '../definition/definition.ts'

// What xp above the top level brings: bonus tiers, or a currency. Pure.

/** What a player's pass keeps for it. Null members have nothing to keep. */
export interface BeyondState {
  /** The bonus tiers that the player claimed on a day of the game. Kept while the pass limits them. */
  readonly claims: { readonly day: string; readonly count: number } | null
  /** Xp that was gained above the top level and did not make one of the currency yet: less than `per`. */
  readonly rest: { readonly xp: bigint; readonly per: bigint } | null
}

type BeyondNode = Pick<PassNode, 'levels' | 'beyond'>
/** What decides how many bonus tiers are earned. */
type Earning = Pick<PassNode, 'levels'> & {
  readonly beyond: Pick<BonusTiers, 'kind' | 'every' | 'max'> | XpConversion | null
}
type DayNode = Pick<PassNode, 'beyond' | 'xpRules'>

const NOTHING: BeyondState = { claims: null, rest: null }
const NO_REWARDS: readonly Reward[] = []
const UTC = new GameDays('UTC', 0)

/** The xp of the top level: what is above it counts here. */
export const topXp = ({ levels }: Pick<PassNode, 'levels'>): bigint => levels.at(-1)?.xp ?? 0n

/** How many bonus tiers a total of xp has earned. They are numbered from 1. */
export function earnedTiers(node: Earning, xp: bigint): number {
  const { beyond } = node
  const above = xp - topXp(node)
  if (beyond?.kind !== 'tiers' || above < beyond.every) return 0
  const earned = above / beyond.every
  return earned < BigInt(beyond.max) ? Number(earned) : beyond.max
}

/** What a bonus tier grants; undefined when the pass has no such tier. */
export function bonusOffer({ beyond }: Pick<PassNode, 'beyond'>, number: number): Offer | undefined {
  return beyond?.kind === 'tiers' && number >= 1 && number <= beyond.max ? beyond : undefined
}

/** The bonus tiers up to a number that are not claimed, in their order. Those that the pass does not have are left out. */
export function unclaimedTiers(
  { beyond }: Pick<PassNode, 'beyond'>,
  isClaimed: (number: number) => boolean,
  upTo: number,
): Claimable[] {
  if (beyond?.kind !== 'tiers') return []
  const numbers = Array.from({ length: Math.min(upTo, beyond.max) }, (_, index) => index + 1)
  return numbers.filter((number) => !isClaimed(number)).map((level) => ({ level, track: 'bonus' }))
}

/** How many bonus tiers the player may still claim on the day of the game; infinite without a limit. */
export function leftToday(node: DayNode, state: BeyondState | null, now: Date): number {
  const { beyond } = node
  if (beyond?.kind !== 'tiers' || beyond.perDay === null) return Number.POSITIVE_INFINITY
  return Math.max(beyond.perDay - claimsOn(node, state, now).count, 0)
}

/** The state after the player has claimed a bonus tier. */
export function countClaim(node: DayNode, state: BeyondState | null, now: Date): BeyondState | null {
  const { beyond } = node
  if (beyond?.kind !== 'tiers' || beyond.perDay === null) return state
  const { day, count } = claimsOn(node, state, now)
  return { ...(state ?? NOTHING), claims: { day, count: count + 1 } }
}

/**
 * The claims of the day of a moment. A day that is later than today stays: the clock of another instance may be ahead, and
 * an edit of the time zone must not give a day twice.
 */
function claimsOn({ xpRules }: DayNode, state: BeyondState | null, now: Date): NonNullable<BeyondState['claims']> {
  const { day } = (xpRules?.days ?? UTC).at(now.getTime())
  const claims = state?.claims
  return claims && claims.day >= day ? claims : { day, count: 0 }
}

/**
 * What becomes of xp that grows from one total to another: one of the currency for each `per` xp above the top level. The
 * rest is kept, so that it does not matter in how many calls the xp came. Where an edit has changed `per`, the rest keeps
 * its share of one of the currency, rounded down.
 */
export function convertXp(
  node: BeyondNode,
  state: BeyondState | null,
  { from, to }: { readonly from: bigint; readonly to: bigint },
): { readonly rewards: readonly Reward[]; readonly state: BeyondState | null } {
  const { beyond } = node
  if (beyond?.kind !== 'conversion') return { rewards: NO_REWARDS, state }
  const top = topXp(node)
  if (to <= top || to <= from) return { rewards: NO_REWARDS, state }
  const { currency, per } = beyond
  const kept = state?.rest ?? { xp: 0n, per }
  const xp = (kept.per === per ? kept.xp : (kept.xp * per) / kept.per) + to - (from > top ? from : top)
  const amount = xp / per
  const rest = xp % per === 0n ? null : { xp: xp % per, per }
  const claims = state?.claims ?? null
  return {
    rewards: amount === 0n ? NO_REWARDS : [{ currency, itemId: null, amount }],
    state: claims === null && rest === null ? null : { claims, rest },
  }
}
