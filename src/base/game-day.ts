import { LRUCache } from 'lru-cache'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** 1970-01-01 was the fourth day of its week, which begins on Monday. */
const FIRST_WEEKDAY = 3

/** The clocks of the zones that were used last: making one takes longer than reading the definition that names it. */
const clocks = new LRUCache<string, Intl.DateTimeFormat>({ max: 100 })

/** Throws for a time zone that this process does not know. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone)
  if (known) return known
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  clocks.set(timeZone, clock)
  return clock
}

/** Whether this process knows a time zone of the IANA database, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    clockOf(name)
    return true
  } catch {
    return false
  }
}

/** A day of a game, by the dates of its first moments. */
export interface GameDay {
  /** Such as `2026-11-25`: the date on which the day begins, in its time zone. */
  readonly day: string
  /** The day with which its week begins: a Monday. */
  readonly week: string
}

/**
 * The days of a game: each begins at the same local time of a time zone. Where clocks are set back and the time comes
 * twice, the day begins at the first one. Where clocks skip the time, it begins as long after the skipped hour's
 * beginning as it would have without the change. So days never overlap, and a day has 23 to 25 hours at such dates.
 */
export class GameDays {
  private readonly startsAfterMs: number
  private readonly local: Intl.DateTimeFormat
  private last: (GameDay & { readonly from: number; readonly until: number }) | undefined

  /** `startsAt` is in minutes after midnight. */
  constructor(timeZone: string, startsAt: number) {
    this.startsAfterMs = startsAt * MINUTE_MS
    this.local = clockOf(timeZone)
  }

  /** The day of a moment, in milliseconds since 1970. Most moments are of the same day as the one before. */
  at(moment: number): GameDay {
    const { last } = this
    if (last && last.from <= moment && moment < last.until) return last
    let number = Math.floor((moment + this.offsetAt(moment) - this.startsAfterMs) / DAY_MS)
    while (this.startOf(number) > moment) number -= 1
    while (this.startOf(number + 1) <= moment) number += 1
    const monday = number - ((((number + FIRST_WEEKDAY) % 7) + 7) % 7)
    this.last = {
      day: dateOf(number),
      week: dateOf(monday),
      from: this.startOf(number),
      until: this.startOf(number + 1),
    }
    return this.last
  }

  /** The first moment of a day, which is numbered from 1970-01-01. */
  private startOf(number: number): number {
    const local = number * DAY_MS + this.startsAfterMs
    const before = local - this.offsetAt(local - DAY_MS)
    const after = local - this.offsetAt(local + DAY_MS)
    const [first, second] = before < after ? [before, after] : [after, before]
    if (first + this.offsetAt(first) === local) return first
    if (second + this.offsetAt(second) === local) return second
    // The clocks skip this time.
    return before
  }

  /** How far the local clock is ahead of UTC at a moment, in milliseconds. */
  private offsetAt(moment: number): number {
    const part: Record<string, number> = {}
    for (const { type, value } of this.local.formatToParts(moment)) part[type] = Number(value)
    const { year = 0, month = 1, day, hour, minute, second } = part
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1000) * 1000
  }
}

const dateOf = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10)
