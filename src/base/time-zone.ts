/** Enough for the zones of a service's games. */
const MAX_CLOCKS = 100

/** The clocks of the zones that were used last: making one takes longer than reading the definition that names it. */
const clocks = new Map<string, Intl.DateTimeFormat>()

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
  if (clocks.size >= MAX_CLOCKS) clocks.clear()
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

const DAY_MS = 86_400_000

/** A time zone of the IANA database. All times are in milliseconds since 1970; local ones as if they were in UTC. */
export class TimeZone {
  private readonly clock: Intl.DateTimeFormat

  /** Throws for a name that this process does not know. */
  constructor(name: string) {
    this.clock = clockOf(name)
  }

  /**
   * The moment at which local clocks show a time. Where clocks are set back and show it twice, the first one. Where
   * clocks skip it, the moment that would have been this time without the change.
   */
  momentOf(local: number): number {
    const before = local - this.offsetAt(local - DAY_MS)
    const after = local - this.offsetAt(local + DAY_MS)
    const [first, second] = before < after ? [before, after] : [after, before]
    if (first + this.offsetAt(first) === local) return first
    if (second + this.offsetAt(second) === local) return second
    // The clocks skip this time.
    return before
  }

  /** How far the local clock is ahead of UTC at a moment. */
  offsetAt(moment: number): number {
    const part: Record<string, number> = {}
    for (const { type, value } of this.clock.formatToParts(moment)) part[type] = Number(value)
    const { year = 0, month = 1, day, hour, minute, second } = part
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1000) * 1000
  }
}
