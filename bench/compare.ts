import { median } from './report.ts'

/** Student's t for 95 % of the time, by the number of rounds less one. Further on it is 2. */
const T = [Number.NaN, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13]
const MOST_ROUNDS = 1_000

export interface Comparison {
  /** The first divided by the second: the median of the rounds. */
  readonly ratio: number
  /** Whether the interval leaves out 1: the difference is none of chance. */
  readonly isDecided: boolean
  /** The ratio and its interval. */
  readonly text: string
  /** In words. An undecided comparison says how many rounds would decide it. */
  readonly verdict: string
}

/** Compares what two builds cost in rounds that they measured in turn: the first of one with the first of the other. */
export function compare(first: readonly number[], second: readonly number[]): Comparison {
  const logs = first.map((cost, round) => Math.log(cost / (second[round] ?? Number.NaN)))
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length
  const deviation = Math.sqrt(logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (logs.length - 1))
  const half = ((T[logs.length - 1] ?? 2) * deviation) / Math.sqrt(logs.length)
  const [low, high] = [Math.exp(mean - half), Math.exp(mean + half)]
  const ratio = Math.exp(median(logs))
  const isDecided = low > 1 || high < 1
  return {
    ratio,
    isDecided,
    text: Number.isNaN(half) ? ratio.toFixed(2) : `${ratio.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`,
    verdict: isDecided ? (ratio > 1 ? 'dearer' : 'cheaper') : `undecided: ${needed(logs.length, mean, deviation)}`,
  }
}

/** The number of rounds after which a difference of this size would be decided. */
function needed(rounds: number, mean: number, deviation: number): string {
  if (rounds < 2) return 'it takes three rounds at least'
  // NaN without any difference.
  const all = Math.max(rounds + 1, Math.ceil(((2 * deviation) / mean) ** 2))
  return all <= MOST_ROUNDS ? `it takes some ${all} rounds` : 'no difference can be seen'
}
