import type { Fields } from '../fields.ts'

// Ranges of time that figures are asked for. Days and hours are those of UTC, which begin at whole ones since 1970.

/** From this moment up to, not including, that one. Days and hours that it touches count whole. */
export interface Range {
  readonly from: Date
  readonly to: Date
}

export type Step = 'hour' | 'day'

export const LENGTH_MS = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<Step, number>

/** The first moment of the day or hour of a moment. */
export const floorTo = (step: Step, moment: Date): Date =>
  new Date(Math.floor(moment.getTime() / LENGTH_MS[step]) * LENGTH_MS[step])

/** The first moment that is in no day or hour before a moment. */
export const ceilTo = (step: Step, moment: Date): Date =>
  new Date(Math.ceil(moment.getTime() / LENGTH_MS[step]) * LENGTH_MS[step])

const daysAgo = (days: number, moment: Date): Date => new Date(moment.getTime() - days * LENGTH_MS.day)
const daysOf = ({ from, to }: Range): number => (to.getTime() - from.getTime()) / LENGTH_MS.day

/** What is counted by the hour is told by the hour this long, and by the day from then on. */
export const HOURS_KEPT_DAYS = 90

/** The first moment of which hours are told: the first of a day. */
export const hoursKeptFrom = (now = new Date()): Date => daysAgo(HOURS_KEPT_DAYS, floorTo('day', now))

/** The range that is asked for: up to now, and so many days, unless said otherwise. */
export function readRange(
  fields: Fields,
  { from, to }: { from?: Date | null; to?: Date | null },
  { days, maxDays }: { days: number; maxDays: number },
): Range {
  const end = to ?? new Date()
  const range = { from: from ?? daysAgo(days, end), to: end }
  if (range.from >= range.to) fields.fault('from', 'must be before to', null)
  if (daysOf(range) > maxDays) fields.fault('from', `must be at most ${maxDays} days before to`, null)
  return range
}

/** Whether a range is told by the hour: when it is short, and its hours are kept. */
export function checkStep(fields: Fields, by: Step, range: Range, maxDaysByHour: number): void {
  if (by !== 'hour') return
  if (daysOf(range) > maxDaysByHour) fields.fault('by', `must be DAY for more than ${maxDaysByHour} days`, null)
  else if (range.from < hoursKeptFrom())
    fields.fault('by', `must be DAY for what is more than ${HOURS_KEPT_DAYS} days ago`, null)
}
