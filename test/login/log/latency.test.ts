import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latencyStep, percentile, type StepCount } from '../../../src/accounts/login/log/latency.ts'

const SHARES = [0.5, 0.9, 0.95, 0.99] as const

/** Realistic latencies: many short, some long, up to the last step. */
const latencies = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 19_999 })),
  { minLength: 1, maxLength: 400 },
)

function countSteps(milliseconds: readonly number[]): StepCount[] {
  const counts = new Map<number, number>()
  for (const ms of milliseconds) counts.set(latencyStep(ms), (counts.get(latencyStep(ms)) ?? 0) + 1)
  return [...counts].map(([step, count]) => ({ step, count }))
}

/** The smallest latency that this share of all does not exceed. */
function exact(milliseconds: readonly number[], share: number): number {
  const sorted = [...milliseconds].sort((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
}

describe('percentiles of counted latencies', () => {
  it('are exact below 40 ms, and at most 5 % off above', () => {
    fc.assert(
      fc.property(latencies, fc.constantFrom(...SHARES), (milliseconds, share) => {
        const told = percentile(countSteps(milliseconds), share) ?? Number.NaN
        const truth = exact(milliseconds, share)
        if (truth < 40) expect(told).toBe(truth)
        expect(Math.abs(told - truth)).toBeLessThanOrEqual(truth * 0.05)
      }),
      { numRuns: 2_000 },
    )
  })

  it('do not decrease as the share grows', () => {
    fc.assert(
      fc.property(latencies, (milliseconds) => {
        const told = SHARES.map((share) => percentile(countSteps(milliseconds), share) ?? Number.NaN)
        expect([...told].sort((a, b) => a - b)).toEqual(told)
      }),
    )
  })

  it('are undefined when nothing is counted', () => {
    expect(percentile([], 0.5)).toBeUndefined()
    expect(percentile([{ step: 7, count: 0 }], 0.5)).toBeUndefined()
  })
})

describe('the latency steps', () => {
  it('rise by at most one per millisecond, up to a last step for everything longer', () => {
    const steps = Array.from({ length: 30_000 }, (_, ms) => latencyStep(ms))
    for (const [ms, step] of steps.entries()) expect(step - (steps[ms - 1] ?? 0)).toBeOneOf([0, 1])
    expect(latencyStep(2_147_483_647)).toBe(steps.at(-1))
  })

  it('never change, because stored counts refer to them', () => {
    const pinned = [0, 1, 39, 40, 41, 42, 100, 1_000, 3_000, 9_000, 19_999, 20_000]
    expect(pinned.map(latencyStep)).toEqual([0, 1, 39, 40, 40, 41, 61, 110, 133, 155, 172, 172])
  })
})
