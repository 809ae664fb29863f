import { DAY_MS, HOUR_MS } from '../ui/lengths.ts'
import { sum } from '../ui/sum.ts'

// The figures of today against those of other days at the same hour. Days are those of UTC. Pure.

const HOURS = 24

/** A figure of an hour. */
export interface AtHour {
  readonly at: number
  readonly value: number
}

/** The times that a page of today reads, as of a moment. */
export interface Days {
  readonly today: number
  readonly yesterday: number
  readonly lastWeek: number
  /** The end of the hour that is not over. */
  readonly to: number
  /** How many hours of today are over. */
  readonly hours: number
}

export function daysAt(now: number): Days {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const hours = Math.floor((now - today) / HOUR_MS)
  const to = today + (hours + 1) * HOUR_MS
  return { today, yesterday: today - DAY_MS, lastWeek: today - 7 * DAY_MS, to, hours }
}

export interface Comparison {
  /** All of today, with the hour that is not over. */
  readonly total: number
  /** The hours that are over, today and on the other days. */
  readonly byNow: number
  readonly yesterday: number
  readonly lastWeek: number
  /** Sums from the start of the day, at the end of each hour: of today up to now, and of yesterday. */
  readonly course: readonly number[]
  readonly courseBefore: readonly number[]
}

export function compare(values: readonly AtHour[], days: Days): Comparison {
  const known = new Map(values.map(({ at, value }) => [at, value]))
  const hoursOf = (day: number): number[] =>
    Array.from({ length: HOURS }, (_, hour) => known.get(day + hour * HOUR_MS) ?? 0)
  const [today, yesterday, lastWeek] = [days.today, days.yesterday, days.lastWeek].map(hoursOf) as [
    number[],
    number[],
    number[],
  ]
  const byNow = (of: readonly number[]): number => sum(of.slice(0, days.hours))
  return {
    total: sum(today),
    byNow: byNow(today),
    yesterday: byNow(yesterday),
    lastWeek: byNow(lastWeek),
    course: courseOf(today.slice(0, days.hours + 1)),
    courseBefore: courseOf(yesterday),
  }
}

/** The change from one value to another as a share, such as 0.12. Null where it says nothing. */
export const changeOf = (now: number, before: number): number | null => (before === 0 ? null : (now - before) / before)

function courseOf(values: readonly number[]): number[] {
  let total = 0
  return values.map((value) => {
    total += value
    return total
  })
}
