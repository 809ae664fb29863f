import {
  areSameOffers,
  type Choice,
  type Node,
  type Offer,
  type PassNode,
  type Reward,
  type Track,
} from '../definition/definition.ts'

// The difference between two definitions of a battle pass. Pure.

export interface DiffedLevel {
  readonly level: number
  readonly xp: bigint
}

export interface DiffedTier extends Offer {
  readonly level: number
  readonly track: Track
}

/** A value before and after; null where there is none. */
export interface Change<T> {
  readonly before: T | null
  readonly after: T | null
}

/** The difference between two definitions of a battle pass. An unchanged price or date is null. */
export interface PassDiff {
  readonly levelsAdded: readonly DiffedLevel[]
  readonly levelsRemoved: readonly DiffedLevel[]
  readonly levelsChanged: readonly { readonly level: number; readonly xpBefore: bigint; readonly xpAfter: bigint }[]
  readonly tiersAdded: readonly DiffedTier[]
  readonly tiersRemoved: readonly DiffedTier[]
  readonly tiersChanged: readonly {
    readonly level: number
    readonly track: Track
    readonly rewardsBefore: readonly Reward[]
    readonly rewardsAfter: readonly Reward[]
    readonly choiceBefore?: Choice | undefined
    readonly choiceAfter?: Choice | undefined
  }[]
  readonly price: Change<NonNullable<PassNode['premium']>> | null
  readonly announcedAt: Change<Date> | null
  readonly startsAt: Change<Date> | null
  readonly endingAt: Change<Date> | null
  readonly endsAt: Change<Date> | null
  /** The effective value: `endsAt` where it is not given. */
  readonly claimUntil: Change<Date> | null
}

/** Null unless the node is a battle pass before and after. */
export function diffPasses(before: Node, after: Node): PassDiff | null {
  if (before.type !== 'battle-pass' || after.type !== 'battle-pass') return null
  const levels = split(
    new Map(before.levels.map((entry) => [entry.level, entry])),
    new Map(after.levels.map((entry) => [entry.level, entry])),
  )
  const tiers = split(before.tiers, after.tiers)
  return {
    levelsAdded: levels.added,
    levelsRemoved: levels.removed,
    levelsChanged: levels.kept.flatMap(([{ level, xp: xpBefore }, { xp: xpAfter }]) =>
      xpBefore === xpAfter ? [] : [{ level, xpBefore, xpAfter }],
    ),
    tiersAdded: tiers.added,
    tiersRemoved: tiers.removed,
    tiersChanged: tiers.kept.flatMap(([one, two]) => {
      if (areSameOffers(one, two)) return []
      const { level, track, rewards: rewardsBefore, choice: choiceBefore } = one
      return [{ level, track, rewardsBefore, rewardsAfter: two.rewards, choiceBefore, choiceAfter: two.choice }]
    }),
    price: changeOf(
      before.premium,
      after.premium,
      (one, two) => one.currency === two.currency && one.amount === two.amount,
    ),
    announcedAt: changeOf(before.announcedAt, after.announcedAt, isSameMoment),
    startsAt: changeOf(before.startsAt, after.startsAt, isSameMoment),
    endingAt: changeOf(before.endingAt, after.endingAt, isSameMoment),
    endsAt: changeOf(before.endsAt, after.endsAt, isSameMoment),
    claimUntil: changeOf(before.claimUntil, after.claimUntil, isSameMoment),
  }
}

/** The entries of only one of two maps, and those of both, in their order. */
function split<K, T>(before: ReadonlyMap<K, T>, after: ReadonlyMap<K, T>) {
  return {
    added: [...after].flatMap(([key, value]) => (before.has(key) ? [] : [value])),
    removed: [...before].flatMap(([key, value]) => (after.has(key) ? [] : [value])),
    kept: [...before].flatMap(([key, one]): [T, T][] => {
      const two = after.get(key)
      return two === undefined ? [] : [[one, two]]
    }),
  }
}

function changeOf<T>(before: T | null, after: T | null, isSame: (one: T, two: T) => boolean): Change<T> | null {
  if (before === null && after === null) return null
  return before !== null && after !== null && isSame(before, after) ? null : { before, after }
}

const isSameMoment = (one: Date, two: Date): boolean => one.getTime() === two.getTime()
