// The phases of a season: what the dates of a pass say at a moment.

export const PHASES = ['planned', 'announced', 'running', 'ending', 'ended', 'closed'] as const
export type Phase = (typeof PHASES)[number]

/** The dates of a season. Null is a date that it does not have. */
export interface SeasonDates {
  readonly announcedAt: Date | null
  readonly startsAt: Date | null
  readonly endingAt: Date | null
  readonly endsAt: Date | null
  readonly claimUntil: Date | null
}

export interface PhaseStart {
  readonly phase: Exclude<Phase, 'planned'>
  readonly at: Date
}

/** The beginnings of the phases of a season, in their order. Some may begin at one moment. */
export function beginningsOf({ announcedAt, startsAt, endingAt, endsAt, claimUntil }: SeasonDates): PhaseStart[] {
  const beginnings: readonly (readonly [PhaseStart['phase'], Date | null])[] = [
    ['announced', announcedAt],
    ['running', startsAt],
    ['ending', endingAt],
    ['ended', endsAt],
    // Without an end, xp continues after the last claim.
    ['closed', endsAt && claimUntil],
  ]
  return beginnings.flatMap(([phase, at]) => (at === null ? [] : [{ phase, at }]))
}

/**
 * The phases that a season is in, one after the other. Of phases that begin at one moment only the last counts: a season
 * whose claims close with its end is closed then, and never ended.
 */
export function phasesOf(dates: SeasonDates): readonly PhaseStart[] {
  const all = beginningsOf(dates)
  return all.filter(({ at }, index) => all[index + 1]?.at.getTime() !== at.getTime())
}

/** The phase of a season at a moment, and the next one; null when no other phase follows. */
export function seasonAt(dates: SeasonDates, now: Date): { readonly phase: Phase; readonly next: PhaseStart | null } {
  const phases = phasesOf(dates)
  const begun = phases.filter(({ at }) => at <= now)
  const first = dates.startsAt === null ? 'running' : 'planned'
  return { phase: begun.at(-1)?.phase ?? first, next: phases[begun.length] ?? null }
}
