// Latencies are counted in steps, so that any number of logins takes a few rows, and percentiles of hours, days and
// providers can be added up. The steps are stored with the counts: they must never change.

/** A step covers 5 %: single milliseconds below 40, wider steps above. */
const GROWTH = 1.05
/** Three attempts of three seconds end below it. Longer latencies count in the last step. */
const MAX_MS = 20_000

/** The first millisecond of each step. */
const FIRST_MS: readonly number[] = listSteps()

function listSteps(): number[] {
  const steps = [0]
  for (let ms = 1; ms < MAX_MS; ms = Math.max(ms + 1, Math.floor(ms * GROWTH))) steps.push(ms)
  return steps
}

/** The step that a latency in whole milliseconds counts in. */
export function latencyStep(milliseconds: number): number {
  let step = 0
  let end = FIRST_MS.length
  while (end - step > 1) {
    const middle = (step + end) >> 1
    if ((FIRST_MS[middle] ?? 0) <= milliseconds) step = middle
    else end = middle
  }
  return step
}

export interface StepCount {
  readonly step: number
  readonly count: number
}

/**
 * The latency in milliseconds that a share (0 to 1) of the counted logins did not exceed: exact below 40, then within 5
 * %. Assumes an even distribution within a step. Undefined without counts.
 */
export function percentile(counts: readonly StepCount[], share: number): number | undefined {
  const ordered = counts.filter(({ count }) => count > 0).sort((a, b) => a.step - b.step)
  const all = ordered.reduce((sum, { count }) => sum + count, 0)
  const rank = Math.max(1, Math.ceil(share * all))
  let before = 0
  for (const { step, count } of ordered) {
    if (before + count >= rank) {
      const first = FIRST_MS[step] ?? MAX_MS
      const last = (FIRST_MS[step + 1] ?? first + 1) - 1
      return Math.round(first + ((rank - before - 0.5) / count) * (last - first))
    }
    before += count
  }
  return undefined
}
