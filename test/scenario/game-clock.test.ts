import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GameClock, gameTimeAt, LAST_GAME_TIME, realMsBetween } from '../../src/base/game-clock.ts'
import { MAX_CLOCK_RATE } from '../../src/base/limits.ts'

const moments = fc.integer({ min: 0, max: Date.UTC(2100) })
const clocks = fc.record({ at: moments, setAt: moments, rate: fc.integer({ min: 1, max: MAX_CLOCK_RATE }) })
const anyClock: fc.Arbitrary<GameClock | null> = fc.option(clocks)
/** Real milliseconds since the clock was set. */
const since = fc.nat(10 * 365 * 86_400_000)

describe("the game's time, by its rule", () => {
  it('is the real time without a clock, and where the clock says at the time of its setting', () => {
    fc.assert(
      fc.property(clocks, moments, (clock, real) => {
        expect(gameTimeAt(null, real)).toBe(real)
        expect(gameTimeAt(clock, clock.setAt)).toBe(clock.at)
      }),
    )
  })

  it('never runs back while the real time goes on, and passes its rate of the real time up to its last moment', () => {
    fc.assert(
      fc.property(anyClock, since, fc.nat(86_400_000), (clock, sinceMs, passed) => {
        const real = (clock?.setAt ?? 0) + sinceMs
        const [from, to] = [gameTimeAt(clock, real), gameTimeAt(clock, real + passed)]
        expect(to).toBeGreaterThanOrEqual(from)
        expect(to).toBe(Math.min(LAST_GAME_TIME, from + passed * (clock?.rate ?? 1)))
      }),
    )
  })

  it('reaches a moment in the real time that is left until then, and not before', () => {
    fc.assert(
      fc.property(anyClock, since, fc.integer({ min: 1, max: 1_000_000_000 }), (clock, sinceMs, later) => {
        const real = (clock?.setAt ?? 0) + sinceMs
        const now = gameTimeAt(clock, real)
        fc.pre(now + later <= LAST_GAME_TIME)
        const left = realMsBetween(clock, now, now + later)
        expect(gameTimeAt(clock, real + left)).toBeGreaterThanOrEqual(now + later)
        expect(gameTimeAt(clock, real + left - 1)).toBeLessThan(now + later)
      }),
    )
  })

  it('has a text of four digits of the year at all times', () => {
    expect(new Date(gameTimeAt({ at: LAST_GAME_TIME - 1, setAt: 0, rate: MAX_CLOCK_RATE }, 1)).toISOString()).toBe(
      '9999-12-31T23:59:59.999Z',
    )
  })
})
