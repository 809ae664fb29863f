import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GameDays } from '../../src/base/game-day.ts'
import { isTimeZone } from '../../src/base/time-zone.ts'

const dayAt = (zone: string, startsAt: string, moment: string) => {
  const [hours, minutes] = startsAt.split(':').map(Number) as [number, number]
  return new GameDays(zone, hours * 60 + minutes).at(Date.parse(moment))
}

describe('the day of a game', () => {
  it.each([
    ['UTC', '00:00', '2026-11-25T23:59:59.999Z', '2026-11-25'],
    ['UTC', '00:00', '2026-11-26T00:00:00.000Z', '2026-11-26'],
    ['Europe/Berlin', '04:00', '2026-11-26T02:59:59.999Z', '2026-11-25'],
    ['Europe/Berlin', '04:00', '2026-11-26T03:00:00.000Z', '2026-11-26'],
    ['America/Los_Angeles', '00:00', '2026-11-26T07:59:59.999Z', '2026-11-25'],
    ['Pacific/Kiritimati', '00:00', '2026-11-25T10:00:00.000Z', '2026-11-26'],
    ['Asia/Kathmandu', '12:30', '2026-11-25T06:45:00.000Z', '2026-11-25'],
    // The clocks go back at 03:00, so that 02:30 comes twice: the day begins at the first.
    ['Europe/Berlin', '02:30', '2026-10-25T00:29:59.999Z', '2026-10-24'],
    ['Europe/Berlin', '02:30', '2026-10-25T00:30:00.000Z', '2026-10-25'],
    ['Europe/Berlin', '02:30', '2026-10-25T01:15:00.000Z', '2026-10-25'],
    // The clocks skip 02:30: the day begins half an hour after the change.
    ['Europe/Berlin', '02:30', '2026-03-29T01:29:59.999Z', '2026-03-28'],
    ['Europe/Berlin', '02:30', '2026-03-29T01:30:00.000Z', '2026-03-29'],
    // The island skipped a whole day.
    ['Pacific/Apia', '00:00', '2011-12-30T09:59:59.999Z', '2011-12-29'],
    ['Pacific/Apia', '00:00', '2011-12-30T10:00:00.000Z', '2011-12-31'],
  ])('in %s from %s on, %s is of %s', (zone, startsAt, moment, day) => {
    expect(dayAt(zone, startsAt, moment).day).toBe(day)
  })

  it.each([
    ['2026-11-29T23:59:59.999Z', '2026-11-23'],
    ['2026-11-30T00:00:00.000Z', '2026-11-30'],
    ['1969-12-31T12:00:00.000Z', '1969-12-29'],
  ])('%s is in the week of Monday, %s', (moment, week) => {
    expect(dayAt('UTC', '00:00', moment).week).toBe(week)
  })

  it('never goes back as time passes, and changes once in 22 to 26 hours', () => {
    const zones = fc.constantFrom(
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'UTC',
    )
    const moments = fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2028, 0) })
    fc.assert(
      fc.property(zones, fc.integer({ min: 0, max: 1439 }), moments, (zone, startsAt, moment) => {
        const days = new GameDays(zone, startsAt)
        const fresh = new GameDays(zone, startsAt)
        let last = days.at(moment)
        let changes = 0
        for (let minute = 0; minute <= 26 * 60; minute += 30) {
          const next = days.at(moment + minute * 60_000)
          expect(next.day >= last.day && next.week >= last.week).toBe(true)
          if (next.day !== last.day) changes += 1
          last = next
        }
        expect(changes).toBeGreaterThanOrEqual(1)
        expect(changes).toBeLessThanOrEqual(2)
        expect(fresh.at(moment + 26 * 3_600_000).day).toBe(last.day)
      }),
      { numRuns: 30 },
    )
  })

  it('needs a time zone that exists', () => {
    expect(['Europe/Berlin', 'UTC', 'Mars/Olympus', '', 'Europe/Berlin\n'].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })
})
