import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_INT64 } from '../../src/base/json.ts'
import { levelAt } from '../../src/game/battlepass/decide.ts'

describe('levelAt', () => {
  const anyLevels = fc
    .uniqueArray(fc.bigInt({ min: 0n, max: MAX_INT64 }), { minLength: 1, maxLength: 50 })
    .map((totals) => totals.sort((a, b) => (a < b ? -1 : 1)).map((xp, index) => ({ level: index * 3 + 1, xp })))
  const anyXp = fc.bigInt({ min: 0n, max: MAX_INT64 })

  it('is the highest level whose xp is reached, 0 if none', () => {
    fc.assert(
      fc.property(
        anyLevels,
        anyXp,
        (levels, xp) =>
          void expect(levelAt({ levels }, xp)).toBe(levels.findLast((entry) => entry.xp <= xp)?.level ?? 0),
      ),
    )
  })

  it('reaches a level exactly at its xp', () => {
    fc.assert(
      fc.property(anyLevels, (levels) => {
        for (const { level, xp } of levels) {
          expect(levelAt({ levels }, xp)).toBe(level)
          expect(levelAt({ levels }, xp - 1n)).toBeLessThan(level)
        }
      }),
    )
  })

  it('never falls as xp grows', () => {
    fc.assert(
      fc.property(anyLevels, anyXp, anyXp, (levels, a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a]
        expect(levelAt({ levels }, less)).toBeLessThanOrEqual(levelAt({ levels }, more))
      }),
    )
  })
})
