import type { PassNode } from '../definition/definition.ts'
import { bonusOf } from './decide.ts'
import { allowXp, maySend, type SentXp, type XpCounts } from './xp-limits.ts'

// How far a player would have come with another pass. Pure.

/** Xp that a player sent, whatever was granted of it. */
export interface PlayedXp extends SentXp {
  readonly at: Date
}

export interface ReplayedPlayer {
  /** What the pass grants of it, with the bonus of premium. */
  readonly xp: bigint
  /** When each level was reached that was, in their order: milliseconds after the player's first xp. */
  readonly reachedMs: readonly number[]
}

/** Repeats the xp of a player, in the order of its time, by the rules of a pass. Boosts of then are left out. */
export function replayPlayer(
  node: Pick<PassNode, 'levels' | 'xpRules' | 'premiumXpPercent'>,
  premiumOwned: boolean,
  played: readonly PlayedXp[],
): ReplayedPlayer {
  const { levels, xpRules: rules } = node
  const first = played[0]?.at.getTime() ?? 0
  const reachedMs: number[] = []
  let counts: XpCounts | null = null
  let xp = 0n
  const reach = (ms: number): void => {
    for (let next = levels[reachedMs.length]; next && next.xp <= xp; next = levels[reachedMs.length]) reachedMs.push(ms)
  }
  // Levels without xp are there from the start.
  reach(0)
  for (const { at, ...sent } of played) {
    if (!maySend(rules, sent)) continue
    const allowed = allowXp(rules, counts, sent, at)
    counts = allowed.counts
    const given = { ...sent, amount: allowed.granted }
    xp += allowed.granted + bonusOf(node, { premiumOwned }, given, { boosts: [], now: at })
    reach(at.getTime() - first)
  }
  return { xp, reachedMs }
}
