import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TimeZone } from '../../src/base/time-zone.ts'

describe('the moment of a local time', () => {
  it.each([
    ['UTC', '2027-03-28T02:30:00Z', '2027-03-28T02:30:00.000Z'],
    ['Europe/Berlin', '2027-03-27T02:30:00Z', '2027-03-27T01:30:00.000Z'],
    // The clocks skip 02:30, which counts as 03:30.
    ['Europe/Berlin', '2027-03-28T02:30:00Z', '2027-03-28T01:30:00.000Z'],
    ['Europe/Berlin', '2027-03-28T03:30:00Z', '2027-03-28T01:30:00.000Z'],
    // The clocks show 02:30 twice: the first time counts.
    ['Europe/Berlin', '2026-10-25T02:30:00Z', '2026-10-25T00:30:00.000Z'],
    ['America/St_Johns', '2026-12-01T00:00:00Z', '2026-12-01T03:30:00.000Z'],
    // Lord Howe Island changes its clocks by half an hour.
    ['Australia/Lord_Howe', '2026-10-04T02:15:00Z', '2026-10-03T15:45:00.000Z'],
    ['Pacific/Apia', '2011-12-31T00:00:00Z', '2011-12-30T10:00:00.000Z'],
  ])('in %s, %s is %s', (zone, local, moment) => {
    expect(new Date(new TimeZone(zone).momentOf(Date.parse(local))).toISOString()).toBe(moment)
  })

  it('is one at which the local clock shows that time, or a later one where it skips the time', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe']
    const minutes = fc.integer({ min: Date.UTC(2000, 0) / 60_000, max: Date.UTC(2037, 0) / 60_000 })
    fc.assert(
      fc.property(fc.constantFrom(...zones), minutes, (name, minute) => {
        const zone = new TimeZone(name)
        const local = minute * 60_000
        const moment = zone.momentOf(local)
        const shown = moment + zone.offsetAt(moment)
        expect(shown - local).toBeGreaterThanOrEqual(0)
        expect(shown - local).toBeLessThanOrEqual(3_600_000)
        // A skipped time is the only one that is shown later.
        if (shown !== local) expect(zone.offsetAt(moment)).toBeGreaterThan(zone.offsetAt(moment - 3_600_000))
      }),
    )
  })
})
