import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Buckets } from '../../../src/base/rate-limits/rate-limits.ts'

describe('a bucket', () => {
  it('allows its whole limit at once, then one call in each refill interval', () => {
    const buckets = new Buckets({ calls: 60, seconds: 60 })
    for (let call = 0; call < 60; call += 1) expect(buckets.take('ada', 0)).toBe(0)
    expect(buckets.take('ada', 0)).toBe(1000)
    expect(buckets.take('ada', 400)).toBeCloseTo(600)
    expect(buckets.take('ada', 1000)).toBe(0)
    expect(buckets.take('ada', 1000)).toBe(1000)
    expect(buckets.take('grace', 1000)).toBe(0)
  })

  it('takes several calls at once, and at most the whole limit', () => {
    const buckets = new Buckets({ calls: 60, seconds: 60 })
    expect(buckets.take('ada', 0, 40)).toBe(0)
    expect(buckets.take('ada', 0, 30)).toBe(10_000)
    expect(buckets.take('ada', 0, 20)).toBe(0)
    expect(buckets.take('grace', 0, 1_000)).toBe(0)
    expect(buckets.take('grace', 0, 1_000)).toBe(60_000)
  })

  it('never allows more than its limit plus its refill, and the wait that it answers is enough', () => {
    const limits = fc.record({ calls: fc.integer({ min: 1, max: 50 }), seconds: fc.integer({ min: 1, max: 100 }) })
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 }), (limit, pauses) => {
        const buckets = new Buckets(limit)
        let now = 0
        let allowed = 0
        for (const pause of pauses) {
          now += pause
          const wait = buckets.take('ada', now)
          if (wait === 0) allowed += 1
          else {
            expect(buckets.take('ada', now)).toBeGreaterThan(0)
            // Rounding may leave the bucket a millionth short.
            now += wait + 1e-6
            expect(buckets.take('ada', now)).toBe(0)
            allowed += 1
          }
          expect(allowed).toBeLessThanOrEqual(limit.calls + (now / 1000) * (limit.calls / limit.seconds) + 1e-6)
        }
      }),
    )
  })

  it('is dropped after two generations of keys, so that a flood of keys uses bounded memory', () => {
    const buckets = new Buckets({ calls: 1, seconds: 3_600 }, 1_000)
    for (let key = 0; key < 100_000; key += 1) buckets.take(`key ${key}`, 0)
    expect(buckets.size).toBeLessThanOrEqual(2_000)
    expect(buckets.take('key 99999', 0)).toBeGreaterThan(0)
    expect(buckets.take('key 0', 0)).toBe(0)
  })
})
