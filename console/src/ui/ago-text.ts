const UNITS = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const
/** Below a minute, words change this often: those of a feed distinguish its rows without a clock that runs. */
export const STEP_MS = 15_000
/** A moment of just now may seem to be ahead: clocks differ a little. */
const NEAR_MS = 5_000
const relative = new Intl.RelativeTimeFormat('en')

/**
 * How long ago a moment was, in words: `just now`, `15 seconds ago`, `5 minutes ago`. A negative time is ahead: `in 2 days`.
 * It is rounded down, so a moment ahead does not come earlier than the words say.
 */
export function agoText(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? []
  if (unit === undefined && ms >= STEP_MS) return `${Math.floor(ms / STEP_MS) * (STEP_MS / 1_000)} seconds ago`
  if (unit === undefined) return ms > -NEAR_MS ? 'just now' : 'in less than a minute'
  return relative.format(-Math.trunc(ms / length), unit)
}
