/** Who may send xp, or cross a handle, in words. */
export const SENDERS = [
  ['client', 'clients and servers'],
  ['server', 'servers only'],
] as const

export const LIMITS = [
  ['max', 'per call'],
  ['perDay', 'per day'],
  ['perWeek', 'per week'],
  ['perSeason', 'per season'],
] as const

/** A limit of xp in words: `source.perDay` is `per day, of the source`. */
export function limitText(limitedBy: string): string {
  const [of, kind = ''] = limitedBy.split('.')
  return `${LIMITS.find(([name]) => name === kind)?.[1] ?? kind}, of the ${of}`
}
