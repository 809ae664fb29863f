import { MAX_BOOST_PERCENT } from '../../base/limits.ts'
import type { Boost } from './stored.ts'

// Which boosts apply to xp, and what they give together. Pure.

export interface BoostedXp {
  readonly source: string
  /** Whether the player owns premium of the pass. */
  readonly isOwner: boolean
}

const MOST = BigInt(MAX_BOOST_PERCENT)

/** Whether a boost runs at a moment: from its start up to, not including, its end. */
export const runsAt = ({ startsAt, endsAt }: Pick<Boost, 'startsAt' | 'endsAt'>, now: Date): boolean =>
  startsAt <= now.getTime() && now.getTime() < endsAt

/**
 * How many percent more of a xp the boosts of a scenario give at a moment. Boosts that apply at the same time are added,
 * and give at most `MAX_BOOST_PERCENT` together.
 */
export function boostPercentAt(boosts: readonly Boost[], { source, isOwner }: BoostedXp, now: Date): bigint {
  let percent = 0n
  for (const boost of boosts) {
    const { sources, audience } = boost
    if (!runsAt(boost, now) || (audience === 'premium' && !isOwner)) continue
    if (sources.length === 0 || sources.includes(source)) percent += boost.percent
  }
  return percent < MOST ? percent : MOST
}
