import { DAY_MS } from '../ui/lengths.ts'

// The places of things on a timeline. Pure.

/** How much of time a timeline shows, in days. */
export const ZOOMS = [
  ['30', 'A month'],
  ['90', 'Three months'],
  ['365', 'A year'],
] as const
export const zoomOf = (text: string | null): number => Number(ZOOMS.find(([days]) => days === text)?.[0] ?? 90)

export interface Span {
  readonly from: number
  readonly to: number
}

/** The span that begins at a day; without one, a quarter of it lies before today. */
export function spanOf(from: string | null, days: number, now: number): Span {
  const asked = from === null ? Number.NaN : Date.parse(`${from}T00:00:00Z`)
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const start = Number.isNaN(asked) ? today - Math.floor(days / 4) * DAY_MS : asked
  return { from: start, to: start + days * DAY_MS }
}

export const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

export interface Place {
  /** In percent of the span. */
  readonly left: number
  readonly width: number
}

/** Where a time lies. Null for one outside of the span. An open end reaches the edge. */
export function placeOf({ from, to }: Span, startsAt: number | null, endsAt: number | null): Place | null {
  const [start, end] = [Math.max(from, startsAt ?? from), Math.min(to, endsAt ?? to)]
  if (start > to || end < from || end < start) return null
  const length = to - from
  return { left: ((start - from) / length) * 100, width: ((end - start) / length) * 100 }
}

/** The first days of months in the span; of weeks where it is short. */
export function ticksOf({ from, to }: Span): number[] {
  const ticks: number[] = []
  const isShort = to - from <= 45 * DAY_MS
  for (let at = Math.ceil(from / DAY_MS) * DAY_MS; at < to; at += DAY_MS) {
    const day = new Date(at)
    if (isShort ? day.getUTCDay() === 1 : day.getUTCDate() === 1) ticks.push(at)
  }
  return ticks
}

export interface PhaseStart {
  readonly phase: string
  readonly startsAt: string
}

/** The parts of a season, one for each phase. A season without a start has run from the beginning. */
export function partsOf(phases: readonly PhaseStart[]): { phase: string; from: number | null; to: number | null }[] {
  const begun = phases.map(({ phase, startsAt }) => ({ phase, from: Date.parse(startsAt) as number | null }))
  const isOpen = !phases.some(({ phase }) => phase === 'ANNOUNCED' || phase === 'RUNNING')
  const all = isOpen ? [{ phase: 'RUNNING', from: null }, ...begun] : begun
  return all.map((part, index) => ({ ...part, to: all[index + 1]?.from ?? null }))
}
