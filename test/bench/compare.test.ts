import { describe, expect, it } from 'vitest'
import { compare } from '../../bench/compare.ts'

/** Rounds in which the first costs this many times the second, on a machine whose speed changes from round to round. */
const rounds = (ratios: readonly number[]) => {
  const second = ratios.map((_, round) => 100 * (1 + (round % 3)))
  return compare(
    ratios.map((ratio, round) => ratio * (second[round] ?? 0)),
    second,
  )
}

describe('two builds, compared round by round', () => {
  it.each([
    ['dearer', [1.1, 1.12, 1.09, 1.11], 1.1],
    ['cheaper', [0.9, 0.88, 0.91, 0.9], 0.9],
  ])('are told apart when the interval of their ratio leaves out 1: %s', (verdict, ratios, ratio) => {
    const found = rounds(ratios)
    expect([found.verdict, found.isDecided]).toEqual([verdict, true])
    expect(found.ratio).toBeCloseTo(ratio, 1)
  })

  it.each([
    [[1.02, 0.97, 1.04, 0.99], /^undecided: it takes some \d+ rounds$/],
    [[1.1, 0.9, 1.1, 0.9], /^undecided: no difference can be seen$/],
    [[1.5], /^undecided: it takes three rounds at least$/],
    [[1, 1, 1], /^undecided: no difference can be seen$/],
  ])('are not told apart by %j, and it says what that would take', (ratios, verdict) => {
    expect(rounds(ratios)).toMatchObject({ verdict: expect.stringMatching(verdict), isDecided: false })
  })

  it('that differ in every round by as much as a noisy round does need more rounds than they had', () => {
    const { verdict } = rounds([1.2, 0.95, 1.1, 1.0])
    expect(Number(/\d+/.exec(verdict)?.[0])).toBeGreaterThan(4)
  })
})
