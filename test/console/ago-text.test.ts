import { expect, it } from 'vitest'
import { agoText } from '../../console/src/ui/ago-text.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000] as const

it.each([
  [0, 'just now'],
  [14_999, 'just now'],
  [15_000, '15 seconds ago'],
  [59_999, '45 seconds ago'],
  [MINUTE, '1 minute ago'],
  [3 * MINUTE + 59_999, '3 minutes ago'],
  [HOUR - 1, '59 minutes ago'],
  [25 * HOUR, '1 day ago'],
  [29 * DAY, '29 days ago'],
  [70 * DAY, '2 months ago'],
  [800 * DAY, '2 years ago'],
  // The clock of the service may be a little ahead.
  [-4_000, 'just now'],
  [-30_000, 'in less than a minute'],
  [-MINUTE, 'in 1 minute'],
  [-90 * MINUTE, 'in 1 hour'],
  [-2 * DAY - HOUR, 'in 2 days'],
])('the time %d ms ago is in words: %s', (ms, text) => {
  expect(agoText(ms)).toBe(text)
})
