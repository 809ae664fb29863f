const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** How long ago a moment was, in words: `just now`, `5 minutes ago`, `yesterday`. */
export function agoText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= length) ?? []
  return unit === undefined ? 'just now' : relative.format(-Math.floor(ms / length), unit)
}
