export const RANGES = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['custom', 'From … to …'],
] as const

const HOUR_MS = 3_600_000
const LENGTHS_MS: Readonly<Record<string, number>> = {
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
}

export interface Range {
  readonly from: string
  readonly to: string
}

/** The ends of a range. A relative range ends with the current minute, so that a query is the same for a minute. */
export function rangeOf(name: string, custom: { from: string | null; to: string | null }, now: number): Range {
  const to = Math.ceil(now / 60_000) * 60_000
  if (name === 'custom') {
    const end = dayOf(custom.to) ?? to
    return { from: iso(dayOf(custom.from) ?? end - 7 * 24 * HOUR_MS), to: iso(end) }
  }
  return { from: iso(to - (LENGTHS_MS[name] ?? 7 * 24 * HOUR_MS)), to: iso(to) }
}

/** The range of the same length that ends where this range begins. */
export function rangeBefore({ from, to }: Range): Range {
  const length = Date.parse(to) - Date.parse(from)
  return { from: iso(Date.parse(from) - length), to: from }
}

/** Hours for a range of up to three days, else days: a chart cannot show more hours. */
export const stepOf = ({ from, to }: Range): 'HOUR' | 'DAY' =>
  Date.parse(to) - Date.parse(from) <= 72 * HOUR_MS ? 'HOUR' : 'DAY'

const iso = (at: number): string => new Date(at).toISOString()

/** A day as `2026-12-01`, in UTC. */
function dayOf(text: string | null): number | undefined {
  const at = text === null ? Number.NaN : Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : at
}
