import { TimeZone } from './time-zone.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** 1970-01-01 was the fourth day of its week, which begins on Monday. */
const FIRST_WEEKDAY = 3

/** A day of a game, by the dates of its first moments. */
export interface GameDay {
  /** Such as `2026-11-25`: the date on which the day begins, in its time zone. */
  readonly day: string
  /** The day with which its week begins: a Monday. */
  readonly week: string
}

interface DayRange extends GameDay {
  readonly from: number
  readonly until: number
}

const isWithin = ({ from, until }: DayRange, moment: number): boolean => from <= moment && moment < until

/** More than a year of them. */
const MOST_KNOWN = 400

/**
 * The days of a game: each begins at the same local time of a time zone. Where clocks are set back and the time comes
 * twice, the day begins at the first one. Where clocks skip the time, it begins as long after the skipped hour's
 * beginning as it would have without the change. So days never overlap, and a day has 23 to 25 hours at such dates.
 */
export class GameDays {
  private readonly startsAfterMs: number
  private readonly zone: TimeZone
  private last: DayRange | undefined
  /** Days by the UTC days of the moments that were asked for: a replay of a season asks for each of them again and again. */
  private readonly known = new Map<number, DayRange[]>()

  /** `startsAt` is in minutes after midnight. */
  constructor(timeZone: string, startsAt: number) {
    this.startsAfterMs = startsAt * MINUTE_MS
    this.zone = new TimeZone(timeZone)
  }

  /** The day of a moment, in milliseconds since 1970. Most moments are of the same day as the one before. */
  at(moment: number): GameDay {
    const { last } = this
    if (last && isWithin(last, moment)) return last
    const near = this.known.get(Math.floor(moment / DAY_MS)) ?? []
    this.last = near.find((day) => isWithin(day, moment)) ?? this.dayAt(moment, near)
    return this.last
  }

  private dayAt(moment: number, near: readonly DayRange[]): DayRange {
    let number = Math.floor((moment + this.zone.offsetAt(moment) - this.startsAfterMs) / DAY_MS)
    while (this.startOf(number) > moment) number -= 1
    while (this.startOf(number + 1) <= moment) number += 1
    const monday = number - ((((number + FIRST_WEEKDAY) % 7) + 7) % 7)
    const day = {
      day: dateOf(number),
      week: dateOf(monday),
      from: this.startOf(number),
      until: this.startOf(number + 1),
    }
    if (this.known.size >= MOST_KNOWN) this.known.clear()
    this.known.set(Math.floor(moment / DAY_MS), [...near, day])
    return day
  }

  /** The first moment of a day, which is numbered from 1970-01-01. */
  private startOf(number: number): number {
    return this.zone.momentOf(number * DAY_MS + this.startsAfterMs)
  }
}

const dateOf = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10)
