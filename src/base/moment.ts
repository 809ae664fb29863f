const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')

/**
 * A date and time in RFC 3339, with its offset. Undefined for any other text, such as hour 24 or February 30, which
 * `Date` accepts, and for a year in UTC without four digits.
 */
export function parseMoment(text: string): Date | undefined {
  if (!RFC_3339.test(text) || dayFault(text) !== undefined) return undefined
  const date = new Date(text.toUpperCase())
  const ms = date.getTime()
  return ms >= FIRST_MS && ms <= LAST_MS ? date : undefined
}

const LOCAL = /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/

/** A local date and time without an offset, such as `2027-03-28T02:30`, in milliseconds as if it were in UTC. */
export function parseLocalTime(text: string): number | undefined {
  return LOCAL.test(text) && dayFault(text) === undefined ? Date.parse(`${text.toUpperCase()}Z`) : undefined
}

export const localTimeFault = (text: string): string =>
  dayFault(text) ?? 'must be a local date and time without an offset, such as 2027-03-28T02:30'

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

export function momentFault(text: string): string {
  return dayFault(text) ?? 'must be a date and time with an offset, such as 2026-12-01T00:00:00Z'
}

/** The fault of a day that does not exist. Undefined for one that does, and for a text that does not begin with one. */
function dayFault(text: string): string | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})/.exec(text)
  if (!match) return undefined
  const [, year = 0, month = 0, day = 0] = match.map(Number)
  const name = MONTHS[month - 1]
  if (name === undefined) return `must be a date that exists: there is no month ${match[2]}`
  // `Date.UTC` reads the year 26 as 1926, so the year is mapped to one of 2000 to 2399.
  const lastDay = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  if (day >= 1 && day <= lastDay) return undefined
  return `must be a date that exists: ${name} ${match[1]} has ${lastDay} days`
}
