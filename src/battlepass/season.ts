import type { PassNode } from '../scenario/definition.ts'

// The phases of a season: what the dates of a pass say at a moment.

export const PHASES = ['planned', 'announced', 'running', 'ending', 'ended', 'closed'] as const
export type Phase = (typeof PHASES)[number]

type Dates = Pick<PassNode, 'announcedAt' | 'startsAt' | 'endingAt' | 'endsAt' | 'claimUntil'>

export interface PhaseStart {
  readonly phase: Phase
  readonly at: Date
}

/**
 * The phases that a season goes through, in their order, each with its beginning. Of phases that begin at one moment
 * only the last counts: a season whose claims close with its end is closed then, and never ended.
 */
export function phasesOf({ announcedAt, startsAt, endingAt, endsAt, claimUntil }: Dates): readonly PhaseStart[] {
  const starts: readonly (readonly [Phase, Date | null])[] = [
    ['announced', announcedAt],
    ['running', startsAt],
    ['ending', endingAt],
    ['ended', endsAt],
    // Without an end, xp goes on after the last claim.
    ['closed', endsAt && claimUntil],
  ]
  const all = starts.flatMap(([phase, at]) => (at === null ? [] : [{ phase, at }]))
  return all.filter(({ at }, index) => all[index + 1]?.at.getTime() !== at.getTime())
}

/** The phase of a season at a moment, and the next one; null when no other phase follows. */
export function seasonAt(dates: Dates, now: Date): { readonly phase: Phase; readonly next: PhaseStart | null } {
  const phases = phasesOf(dates)
  const begun = phases.filter(({ at }) => at <= now)
  const first = dates.startsAt === null ? 'running' : 'planned'
  return { phase: begun.at(-1)?.phase ?? first, next: phases[begun.length] ?? null }
}
