import { MAX_INSIGHT_DAYS } from '../../../src/base/limits.ts'
import { DAY_MS, HOUR_MS } from '../ui/lengths.ts'

export const RANGES = [
  ['1d', 'Today'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['custom', 'From … to …'],
] as const

const DAYS: Readonly<Record<string, number>> = { '1d': 1, '7d': 7, '30d': 30, '90d': 90 }
const DEFAULT_DAYS = 7

/** Includes `from` and excludes `to`. Each is the start of a day in UTC, or of an hour for the last 24 hours. */
export interface Range {
  readonly from: string
  readonly to: string
}

/**
 * The ends of a range. Figures are counted by days in UTC, or by hours: a range that touches no part of a day or an hour
 * has no figure in common with the range before it. Of the last days the last is today, of the last 24 hours the current
 * one. The day `custom.to` is a part of the range.
 */
export function rangeOf(name: string, custom: { from: string | null; to: string | null }, now: number): Range {
  if (name === '24h') return rangeTo((Math.floor(now / HOUR_MS) + 1) * HOUR_MS, DAY_MS)
  const tomorrow = startOfDay(now) + DAY_MS
  if (name !== 'custom') return rangeTo(tomorrow, (DAYS[name] ?? DEFAULT_DAYS) * DAY_MS)
  const last = dayOf(custom.to)
  const to = last === undefined ? tomorrow : last + DAY_MS
  return { from: iso(dayOf(custom.from) ?? to - DEFAULT_DAYS * DAY_MS), to: iso(to) }
}

const rangeTo = (to: number, length: number): Range => ({ from: iso(to - length), to: iso(to) })

/** The last day that a range includes, as `2026-12-01`. */
export const lastDayOf = ({ to }: Range): string => iso(Date.parse(to) - 1).slice(0, 10)

export const daysIn = ({ from, to }: Range): number => (Date.parse(to) - Date.parse(from)) / DAY_MS

/** What is wrong with the first day of a range, in a sentence; undefined for a range that can be read. */
export function rangeFault(range: Range): string | undefined {
  if (daysIn(range) <= 0) return 'This is after the last day.'
  return daysIn(range) > MAX_INSIGHT_DAYS ? `A range has at most ${MAX_INSIGHT_DAYS} days.` : undefined
}

/** The range of the same length that ends where this range begins. */
export function rangeBefore({ from, to }: Range): Range {
  const length = Date.parse(to) - Date.parse(from)
  return { from: iso(Date.parse(from) - length), to: from }
}

/** Hours for a range of up to three days, else days: a chart cannot show more hours. */
export const stepOf = ({ from, to }: Range): 'HOUR' | 'DAY' =>
  Date.parse(to) - Date.parse(from) <= 72 * HOUR_MS ? 'HOUR' : 'DAY'

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS

const iso = (at: number): string => new Date(at).toISOString()

/** A day as `2026-12-01`, in UTC. */
function dayOf(text: string | null): number | undefined {
  const at = text === null ? Number.NaN : Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : at
}
