import { countText } from '../ui/count-text.ts'

export interface ShownClock {
  readonly rate: number
  /** Negative when the clock is behind. */
  readonly aheadSeconds: string
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** How a clock differs from the real one, as `The clock of staging is 3 days ahead and runs 60 times as fast.` */
export function clockText(environment: string, { rate, aheadSeconds }: ShownClock): string {
  const ahead = Number(aheadSeconds)
  const seconds = Math.abs(ahead)
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? UNITS[3]
  const amount = countText(Math.round(seconds / length), unit)
  const place = seconds === 0 ? 'is at the real time' : `is ${amount} ${ahead > 0 ? 'ahead' : 'behind'}`
  return `The clock of ${environment} ${place}${rate === 1 ? '' : ` and runs ${rate.toLocaleString('en-US')} times as fast`}.`
}
