import type { Fault } from '../base/errors.ts'
import { type Field, mapped, moment, optional } from './shape.ts'

// Time ranges of figures. Days and hours are in UTC.

/** Includes `from` and excludes `to`. Days and hours that the range touches count as a whole. */
export interface Range {
  readonly from: Date
  readonly to: Date
}

/** When figures were read. */
export interface Dated {
  readonly asOf: Date
}

export const STEPS = ['hour', 'day'] as const
export type Step = (typeof STEPS)[number]

export const LENGTH_MS = { hour: 3_600_000, day: 86_400_000 } as const satisfies Record<Step, number>

export const floorTo = (step: Step, moment: Date): Date =>
  new Date(Math.floor(moment.getTime() / LENGTH_MS[step]) * LENGTH_MS[step])

/** The start of the first whole day or hour at or after a moment. */
export const ceilTo = (step: Step, moment: Date): Date =>
  new Date(Math.ceil(moment.getTime() / LENGTH_MS[step]) * LENGTH_MS[step])

/** The starts of the days or hours that a range touches, in order. */
export function stepsIn(step: Step, range: Range): Date[] {
  const { from, to } = wholeSteps(step, range)
  const length = LENGTH_MS[step]
  const count = (to.getTime() - from.getTime()) / length
  return Array.from({ length: count }, (_, index) => new Date(from.getTime() + index * length))
}

const daysAgo = (days: number, moment: Date): Date => new Date(moment.getTime() - days * LENGTH_MS.day)
const daysOf = ({ from, to }: Range): number => (to.getTime() - from.getTime()) / LENGTH_MS.day

/** Hours of xp and logins are readable for this long; older ones are readable only by day. */
export const HOURS_KEPT_DAYS = 90
/** The same for all other figures of passes: there are too many of them at each level. */
export const RECENT_HOURS_DAYS = 14

/** The first moment with readable hours: the start of a day. */
export const hoursKeptFrom = (days = HOURS_KEPT_DAYS, now = new Date()): Date => daysAgo(days, floorTo('day', now))

/** All of the days or hours that a range touches. */
export const wholeSteps = (step: Step, { from, to }: Range): Range => ({
  from: floorTo(step, from),
  to: ceilTo(step, to),
})

/** The end of a range, which is now by default. */
export const rangeEnd = (description: string): Field<Date> =>
  mapped(optional(moment(description)), (to) => to ?? new Date())

export interface RangeLimits {
  /** The days before its end at which a range starts by default. */
  readonly days: number
  readonly maxDays: number
  /** By default it starts at the start of a day, so that it touches exactly `days` days. */
  readonly inDays?: true
}

interface Ends {
  readonly from: Date | null
  readonly to: Date
}

/** The range of a request. */
export function rangeOf({ from, to }: Ends, { days, inDays }: RangeLimits): Range {
  return { from: from ?? daysAgo(days, inDays ? ceilTo('day', to) : to), to }
}

export function rangeFaults(asked: Ends, limits: RangeLimits): Fault[] {
  const range = rangeOf(asked, limits)
  const { maxDays } = limits
  const faults: Fault[] = []
  if (range.from >= range.to) faults.push({ path: 'from', message: 'must be before to' })
  if (daysOf(range) > maxDays) faults.push({ path: 'from', message: `must be at most ${maxDays} days before to` })
  return faults
}

export function stepFaults(by: Step, range: Range, maxDaysByHour: number, keptDays = HOURS_KEPT_DAYS): Fault[] {
  if (by !== 'hour') return []
  if (daysOf(range) > maxDaysByHour) return [{ path: 'by', message: `must be DAY for more than ${maxDaysByHour} days` }]
  if (range.from >= hoursKeptFrom(keptDays)) return []
  return [{ path: 'by', message: `must be DAY for what is more than ${keptDays} days ago` }]
}
