import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PHASES, type Phase, phasesOf, seasonAt } from '../../src/game/definition/season.ts'
import { passNode, scenario, tier } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'

const at = (text: string | null) => (text === null ? null : new Date(text))

/** The dates of a season, each as a day of January 2027 or null. */
function dates(announced: number | null, start: number | null, ending: number | null, end: number | null, claim = end) {
  const day = (of: number | null) => at(of === null ? null : `2027-01-${String(of).padStart(2, '0')}T00:00:00Z`)
  return {
    announcedAt: day(announced),
    startsAt: day(start),
    endingAt: day(ending),
    endsAt: day(end),
    claimUntil: day(claim),
  }
}

describe('the phase of a season', () => {
  const WHOLE = dates(5, 10, 18, 20, 25)
  const OPEN = dates(null, null, null, null)

  it.each<[string, typeof WHOLE, string, Phase, Phase | null]>([
    ['long before', WHOLE, '2026-12-01T00:00:00Z', 'planned', 'announced'],
    ['just before it is announced', WHOLE, '2027-01-04T23:59:59.999Z', 'planned', 'announced'],
    ['once it is announced', WHOLE, '2027-01-05T00:00:00Z', 'announced', 'running'],
    ['at its start', WHOLE, '2027-01-10T00:00:00Z', 'running', 'ending'],
    ['when it is about to end', WHOLE, '2027-01-18T00:00:00Z', 'ending', 'ended'],
    ['at its end', WHOLE, '2027-01-20T00:00:00Z', 'ended', 'closed'],
    ['after the last claim', WHOLE, '2027-01-25T00:00:00Z', 'closed', null],
    [
      'before its start, without an announcement',
      dates(null, 10, null, 20),
      '2027-01-01T00:00:00Z',
      'planned',
      'running',
    ],
    ['at its end, when claims close then, too', dates(null, 10, null, 20), '2027-01-20T00:00:00Z', 'closed', null],
    ['when it is about to end from its start on', dates(null, 10, 10, 20), '2027-01-10T00:00:00Z', 'ending', 'closed'],
    ['at any time, without dates', OPEN, '2027-01-20T00:00:00Z', 'running', null],
    ['after its start, without an end', dates(null, 10, null, null), '2027-01-20T00:00:00Z', 'running', null],
    ['after the last claim, when xp goes on', dates(null, 10, null, null, 15), '2027-01-20T00:00:00Z', 'running', null],
    ['before its end, without a start', dates(null, null, null, 20), '2027-01-01T00:00:00Z', 'running', 'closed'],
  ])('%s', (_when, season, now, phase, next) => {
    const found = seasonAt(season, new Date(now))
    expect([found.phase, found.next?.phase ?? null]).toEqual([phase, next])
  })

  it('never goes back, and is the next one when that begins', () => {
    const days = fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 5, maxLength: 5 })
    const absent = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean())
    fc.assert(
      fc.property(
        days,
        absent,
        fc.integer({ min: -3, max: 40 }),
        (chosen, [noAnnouncement, noEnding, noGrace], day) => {
          const [announced = 0, start = 0, ending = 0, end = 0, claim = 0] = chosen.sort((a, b) => a - b)
          const season = dates(
            noAnnouncement ? null : announced,
            start,
            noEnding ? null : ending,
            end,
            noGrace ? end : claim,
          )
          const now = new Date(Date.UTC(2027, 0, day))
          const { phase, next } = seasonAt(season, now)
          if (next) {
            expect(next.at.getTime()).toBeGreaterThan(now.getTime())
            expect(PHASES.indexOf(next.phase)).toBeGreaterThan(PHASES.indexOf(phase))
            expect(seasonAt(season, next.at).phase).toBe(next.phase)
            expect(seasonAt(season, new Date(next.at.getTime() - 1)).phase).toBe(phase)
          } else expect(phase).toBe(phasesOf(season).at(-1)?.phase)
        },
      ),
    )
  })
})

describe('a season as a player reads it', () => {
  let game: Game
  beforeAll(async () => {
    game = await startGame()
  })
  afterAll(() => game.stop())

  async function publish(more: object): Promise<void> {
    const pass = passNode('pass', { levels: [0, 100], tiers: [tier(1, 'free')], more: more as never })
    const { status, body } = await game.publish('season', scenario([pass], []))
    expect([status, body]).toEqual([200, expect.anything()])
  }

  it('has its dates, its phase, and the seconds to the next one by the clock of the database', async () => {
    const { rows } = await game.app.pool.query("SELECT date_trunc('second', now()) AS now")
    const from = (hours: number) => new Date(rows[0].now.getTime() + hours * 3_600_000).toISOString()
    await publish({
      announcedAt: from(-48),
      startsAt: from(-24),
      endingHours: 3,
      endsAt: from(5),
      claimUntil: from(29),
    })
    const player = await game.player()
    const { status, body } = await player.post('/sdk/v1/battlepass/season', { scenarioId: 'season', nodeId: 'pass' })
    const { secondsToNextPhase, now, ...dates } = body
    expect([status, dates]).toEqual([
      200,
      {
        phase: 'running',
        announcedAt: from(-48),
        startsAt: from(-24),
        endingAt: from(2),
        endsAt: from(5),
        claimUntil: from(29),
        nextPhase: 'ending',
        nextPhaseAt: from(2),
        boosts: [],
      },
    ])
    const until = Date.parse(from(2)) - Date.parse(now)
    expect(secondsToNextPhase).toBe(Math.ceil(until / 1000))
    const { data } = await player.graphql(
      '{ season(scenarioId: "season", nodeId: "pass") { phase nextPhase nextPhaseAt startsAt } }',
    )
    expect(data.season).toEqual({ phase: 'RUNNING', nextPhase: 'ENDING', nextPhaseAt: from(2), startsAt: from(-24) })
  })

  it('has the moments of local times, and follows an edit at once', async () => {
    await publish({
      startsAt: { at: '2097-03-31T02:30', timeZone: 'Europe/Berlin' },
      endsAt: { at: '2097-12-01T09:00:30', timeZone: 'America/New_York' },
    })
    const player = await game.player()
    const read = async () =>
      (await player.post('/sdk/v1/battlepass/season', { scenarioId: 'season', nodeId: 'pass' })).body
    expect(await read()).toMatchObject({
      phase: 'planned',
      // The clocks skip this time in this night.
      startsAt: '2097-03-31T01:30:00.000Z',
      endsAt: '2097-12-01T14:00:30.000Z',
      // More seconds than an Int has.
      secondsToNextPhase: expect.any(Number),
    })
    await publish({ endsAt: '2020-01-01T00:00:00Z' })
    expect(await read()).toMatchObject({
      phase: 'closed',
      nextPhase: null,
      nextPhaseAt: null,
      secondsToNextPhase: null,
    })
  })
})
