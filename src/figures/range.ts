import type { Fault } from '../base/errors.ts'
import type { Field, Fields, RequestOf, Shape } from '../declare/shape.ts'

// Time ranges of figures. Days and hours are in UTC.

/** Includes `from` and excludes `to`. Days and hours that the range touches count as a whole. */
export interface Range {
  readonly from: Date
  readonly to: Date
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

/** The fields of a request with a range. Either end may be left out. */
type Ranged = { from: Field<Date | null>; to: Field<Date | null> }

/**
 * Reads a request with a range. By default it ends now, and starts `days` days before its end: with `inDays` at the start
 * of a day, so that it touches exactly so many days.
 */
export function readRanged<F extends Fields & Ranged>(
  request: Shape<F>,
  args: object,
  { days, maxDays, inDays = false }: { days: number; maxDays: number; inDays?: boolean },
): RequestOf<Shape<F>> & { range: Range } {
  const now = new Date()
  const rangeOf = (values: RequestOf<Shape<F>>): Range => {
    const { from, to } = values as RequestOf<Shape<Ranged>>
    const end = to ?? now
    return { from: from ?? daysAgo(days, inDays ? ceilTo('day', end) : end), to: end }
  }
  const values = request.readInput(args, (read) => {
    const range = rangeOf(read)
    const faults: Fault[] = []
    if (range.from >= range.to) faults.push({ path: 'from', message: 'must be before to' })
    if (daysOf(range) > maxDays) faults.push({ path: 'from', message: `must be at most ${maxDays} days before to` })
    return faults
  })
  return { ...values, range: rangeOf(values) }
}

export function stepFaults(by: Step, range: Range, maxDaysByHour: number, keptDays = HOURS_KEPT_DAYS): Fault[] {
  if (by !== 'hour') return []
  if (daysOf(range) > maxDaysByHour) return [{ path: 'by', message: `must be DAY for more than ${maxDaysByHour} days` }]
  if (range.from >= hoursKeptFrom(keptDays)) return []
  return [{ path: 'by', message: `must be DAY for what is more than ${keptDays} days ago` }]
}
