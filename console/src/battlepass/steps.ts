// How players went on from level to level. Pure.

export interface StepLevel {
  readonly level: number
  readonly players: number
  readonly reached: number
  readonly reachedInRange: number
}

export interface Step extends StepLevel {
  /** The share of all players of the pass that has reached the level, 0 to 1. */
  readonly share: number
  /** Of the players who reached the level, those who have reached the next one. Null for the last level. */
  readonly wentOn: { readonly players: number; readonly share: number | null } | null
  /** The xp from this level to the next. Null where the current version does not say. */
  readonly xp: bigint | null
}

export function stepsOf(
  levels: readonly StepLevel[],
  definition: readonly { readonly level: number; readonly xp: bigint }[],
): Step[] {
  const all = levels[0]?.reached ?? 0
  const xpOf = new Map(definition.map(({ level, xp }) => [level, xp]))
  return levels.map((one, index): Step => {
    const next = levels[index + 1]
    const [from, to] = [xpOf.get(one.level), next && xpOf.get(next.level)]
    return {
      ...one,
      share: all === 0 ? 0 : one.reached / all,
      wentOn: next ? { players: next.reached, share: one.reached === 0 ? null : next.reached / one.reached } : null,
      xp: from === undefined || to === undefined ? null : to - from,
    }
  })
}

/** A median of days: `3.4 days`, `30 h`, `under 1 h`. A dash for null. */
export function stepTimeText(days: number | null): string {
  if (days === null) return '–'
  const hours = Math.round(days * 24)
  if (hours >= 48) return `${Math.round(days * 10) / 10} days`
  return hours === 0 ? 'under 1 h' : `${hours} h`
}
