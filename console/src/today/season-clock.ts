import type { PhaseStart } from '../calendar/timeline.ts'
import { countText } from '../ui/count-text.ts'
import { DAY_MS, HOUR_MS } from '../ui/lengths.ts'

// Where a season stands, from the times of its phases. Pure.

const UNITS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', 60_000],
] as const

export interface SeasonClock {
  /** What comes next and when, such as `ends in 12 days`. Null when nothing comes. */
  readonly next: string | null
  /** The day of the season and how many it has. Null unless it runs and has both ends. */
  readonly day: { readonly of: number; readonly all: number; readonly share: number } | null
}

const COMING: Readonly<Record<string, string>> = {
  ANNOUNCED: 'is announced in',
  RUNNING: 'starts in',
  ENDING: 'is about to end in',
  ENDED: 'ends in',
  CLOSED: 'claims close in',
}

export function seasonClock(phases: readonly PhaseStart[], now: number): SeasonClock {
  const at = (phase: string): number | undefined => {
    const found = phases.find((one) => one.phase === phase)
    return found && Date.parse(found.startsAt)
  }
  // The warning before the end is for players. Operators plan by the end itself.
  const next = phases.find(({ phase, startsAt }) => phase !== 'ENDING' && Date.parse(startsAt) > now)
  // Of a season whose claims close with its end, the service names the closing alone.
  const [starts, ends] = [at('RUNNING'), at('ENDED') ?? at('CLOSED')]
  const isRunning = starts !== undefined && ends !== undefined && starts <= now && now < ends
  return {
    next: next ? `${comingText(next, ends)} ${lengthText(Date.parse(next.startsAt) - now)}` : null,
    day: isRunning
      ? {
          of: Math.floor((now - starts) / DAY_MS) + 1,
          all: Math.ceil((ends - starts) / DAY_MS),
          share: (now - starts) / (ends - starts),
        }
      : null,
  }
}

const comingText = ({ phase, startsAt }: PhaseStart, ends: number | undefined): string =>
  (Date.parse(startsAt) === ends ? COMING.ENDED : COMING[phase]) ?? phase

/** A length of time by its largest unit: `12 days`, `1 hour`. */
export function lengthText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= length) ?? UNITS[2]
  return countText(Math.max(1, Math.floor(ms / length)), unit)
}
