import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { type CalendarSeason, conflictsOf, type Planned } from '../../src/operations/calendar/conflicts.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'

// What an environment has between two times, and what does not fit together.

const QUERY = `query ($environment: String!, $from: DateTime!, $to: DateTime!) {
  calendar(environment: $environment, from: $from, to: $to) {
    seasons { scenarioId nodeId phase phases { phase startsAt } nextScenarioId publicationId }
    plannedSeasons { scenarioId publicationId phases { startsAt } }
    boosts { name percent }
    publications { scenarioId publishAt state }
    conflicts { kind scenarioId nodeId boostId publicationId startsAt endsAt } } }`

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game.stop())

interface Season {
  readonly scenarioId: string
  readonly publicationId: string | null
  readonly phases: readonly { readonly startsAt: string }[]
}

const read = (from: string, to: string, environment = 'production') =>
  game.graphql(game.platformKey, QUERY, { environment, from, to })
const day = (text: string): string => `${text}T00:00:00.000Z`
const act = async (mutation: string, type: string, input: object) => {
  const answer = await game.graphql(
    game.platformKey,
    `mutation ($input: ${type}!) { ${mutation}(input: $input) { auditEntry { id } } }`,
    { input: { environment: 'production', reason: 'test', ...input } },
  )
  expect(answer.errors).toBeUndefined()
}

describe('the calendar', () => {
  beforeAll(async () => {
    const publish = async (id: string, more: object) =>
      expect((await game.publish(id, season({ more: more as never }))).status).toBe(200)
    await publish('always', {})
    const spring = {
      ...{ announcedAt: day('2097-02-20'), startsAt: day('2097-03-01'), endsAt: day('2097-05-01') },
      ...{ claimUntil: day('2097-05-08'), next: { scenarioId: 'summer' } },
    }
    await publish('spring', spring)
    await publish('summer', {
      startsAt: day('2097-05-03'),
      endsAt: day('2097-08-01'),
      next: { scenarioId: 'autumn' },
    })
    const boost = { percent: 100, scenarios: ['spring'] }
    await act('createBoost', 'CreateBoostInput', {
      ...{ ...boost, name: 'weekend', startsAt: day('2097-03-07'), endsAt: day('2097-03-09') },
    })
    await act('createBoost', 'CreateBoostInput', {
      ...{ ...boost, name: 'too late', startsAt: day('2097-05-02'), endsAt: day('2097-05-04') },
    })
    const definition = print(season({ price: { currency: 'gems', amount: 900 }, more: spring }))
    for (const [publishAt, expectedVersion] of [
      [day('2097-04-01'), 1],
      [day('2097-04-02'), 1],
    ] as const)
      await act('schedulePublication', 'SchedulePublicationInput', {
        ...{ scenarioId: 'spring', definition, publishAt, expectedVersion },
      })
  })

  it('has the seasons, boosts and publications of a time, with what does not fit together', async () => {
    const { data, errors } = await read(day('2097-01-01'), day('2098-01-01'))
    expect(errors).toBeUndefined()
    const { seasons, boosts, publications, conflicts } = data.calendar
    expect(seasons).toEqual([
      {
        ...{ scenarioId: 'spring', nodeId: 'pass', phase: 'PLANNED', nextScenarioId: 'summer', publicationId: null },
        phases: [
          { phase: 'ANNOUNCED', startsAt: day('2097-02-20') },
          { phase: 'RUNNING', startsAt: day('2097-03-01') },
          { phase: 'ENDED', startsAt: day('2097-05-01') },
          { phase: 'CLOSED', startsAt: day('2097-05-08') },
        ],
      },
      {
        ...{ scenarioId: 'summer', nodeId: 'pass', phase: 'PLANNED', nextScenarioId: 'autumn', publicationId: null },
        phases: [
          { phase: 'RUNNING', startsAt: day('2097-05-03') },
          { phase: 'CLOSED', startsAt: day('2097-08-01') },
        ],
      },
    ])
    expect(boosts.map(({ name }: { name: string }) => name)).toEqual(['weekend', 'too late'])
    expect(publications.map(({ publishAt }: { publishAt: string }) => publishAt)).toEqual([
      day('2097-04-01'),
      day('2097-04-02'),
    ])
    expect(conflicts).toMatchObject([
      { kind: 'BOOST_WITHOUT_SEASON', startsAt: day('2097-05-02'), endsAt: day('2097-05-04') },
      { kind: 'GAP_BETWEEN_SEASONS', scenarioId: 'spring', startsAt: day('2097-05-01'), endsAt: day('2097-05-03') },
      { kind: 'NEXT_SEASON_MISSING', scenarioId: 'summer', startsAt: day('2097-08-01'), endsAt: null },
      { kind: 'PUBLICATION_OUTDATED', scenarioId: 'spring', startsAt: day('2097-04-02') },
    ])
  })

  it('is empty where nothing lies, and in another environment', async () => {
    const nothing = { seasons: [], plannedSeasons: [], boosts: [], publications: [], conflicts: [] }
    expect((await read(day('2090-01-01'), day('2090-02-01'))).data.calendar).toEqual(nothing)
    expect((await read(day('2097-01-01'), day('2098-01-01'), 'staging')).data.calendar).toEqual(nothing)
  })

  it('follows an edit at once', async () => {
    await game.publish('edited', season({ more: { startsAt: day('2080-01-01'), endsAt: day('2080-02-01') } }))
    const of = async () => (await read(day('2080-01-01'), day('2080-03-01'))).data.calendar.seasons.length
    expect(await of()).toBe(1)
    await game.publish('edited', season())
    expect(await of()).toBe(0)
  })

  it('has the season that a planned publication brings, and the dates that one changes', async () => {
    const dates = (startsAt: string, endsAt: string) => ({ startsAt: day(startsAt), endsAt: day(endsAt) })
    const first = season({ more: { ...dates('2060-03-01', '2060-04-01'), next: { scenarioId: 'planned' } } })
    await game.publish('first', first)
    const calendar = async () => (await read(day('2060-02-01'), day('2060-08-01'))).data.calendar
    const plan = (scenarioId: string, definition: Json, publishAt: string) =>
      act('schedulePublication', 'SchedulePublicationInput', {
        ...{ scenarioId, definition: print(definition), publishAt: day(publishAt) },
      })
    expect((await calendar()).conflicts).toMatchObject([{ kind: 'NEXT_SEASON_MISSING', scenarioId: 'first' }])
    // It is published before the time that is read.
    await plan('planned', season({ more: dates('2060-04-01', '2060-05-01') }), '2060-01-15')
    // One that changes no date is no season of its own.
    await plan('first', first, '2060-01-16')
    const shown = async () => {
      const { seasons, plannedSeasons, publications, conflicts } = await calendar()
      expect(publications).toEqual([])
      return [
        ...[...seasons, ...plannedSeasons].map(({ scenarioId, publicationId, phases }: Season) => [
          ...[scenarioId, publicationId !== null, phases[0]?.startsAt],
        ]),
        ...conflicts.map(({ kind }: { kind: string }) => kind),
      ]
    }
    const current = ['first', false, day('2060-03-01')]
    expect(await shown()).toEqual([current, ['planned', true, day('2060-04-01')]])
    // Both move by ten days, one after the other: they overlap until the second plan.
    const moved = { ...dates('2060-03-01', '2060-04-11'), next: { scenarioId: 'planned' } }
    await plan('first', season({ more: moved }), '2060-01-17')
    const longer = ['first', true, day('2060-03-01')]
    expect(await shown()).toEqual([current, longer, ['planned', true, day('2060-04-01')], 'SEASONS_OVERLAP'])
    await plan('planned', season({ more: dates('2060-04-11', '2060-05-11') }), '2060-01-18')
    expect(await shown()).toEqual([
      ...[current, longer, ['planned', true, day('2060-04-01')], ['planned', true, day('2060-04-11')]],
    ])
  })

  it('refuses a time that does not pass', async () => {
    const { errors } = await read(day('2097-01-01'), day('2097-01-01'))
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'to' }] })
  })
})

describe('conflicts', () => {
  const at = (text: string): Date => new Date(day(text))
  const of = (scenarioId: string, startsAt: string | null, endsAt: string | null, next: string | null = null) =>
    ({
      ...{ scenarioId, nodeId: 'pass', announcedAt: null, endingAt: null, claimUntil: null },
      ...{ startsAt: startsAt && at(startsAt), endsAt: endsAt && at(endsAt) },
      next: next === null ? null : { scenarioId: next, nodeId: null, convert: [], carry: {} },
    }) as CalendarSeason
  const boost = (startsAt: string, endsAt: string, ...scenarios: string[]) => ({
    ...{ id: 'boost', startsAt: at(startsAt), endsAt: at(endsAt), scenarios },
  })
  const plan = (publishAt: string, expectedVersion: number | null) => ({
    ...{ id: publishAt, scenarioId: 'a', publishAt: at(publishAt), expectedVersion },
  })
  const NONE: Planned = { seasons: [], effective: [], boosts: [], plans: [], versions: new Map() }

  it.each<[string, Partial<Planned>, string[]]>([
    [
      'a boost in a season',
      { seasons: [of('a', null, '2030-02-01')], boosts: [boost('2030-01-31', '2030-03-01')] },
      [],
    ],
    [
      'a boost that starts as its season ends',
      { seasons: [of('a', null, '2030-02-01')], boosts: [boost('2030-02-01', '2030-03-01')] },
      ['boost without season'],
    ],
    [
      'a boost of another scenario',
      { seasons: [of('a', null, null)], boosts: [boost('2030-01-01', '2030-03-01', 'b')] },
      ['boost without season'],
    ],
    ['seasons one after the other', { seasons: [of('a', null, '2030-02-01', 'b'), of('b', '2030-02-01', null)] }, []],
    [
      'seasons that overlap',
      { seasons: [of('a', null, '2030-02-01', 'b'), of('b', '2030-01-01', null)] },
      ['seasons overlap'],
    ],
    ['a next season that always runs', { seasons: [of('a', null, '2030-02-01', 'b'), of('b', null, null)] }, []],
    [
      'publications that follow one another',
      {
        plans: [plan('2030-01-01', 3), plan('2030-01-02', 4), plan('2030-01-03', null)],
        versions: new Map([['a', 3]]),
      },
      [],
    ],
    [
      'two publications that expect one version',
      { plans: [plan('2030-01-01', 0), plan('2030-01-02', 0)] },
      ['publication outdated'],
    ],
    [
      'two publications within one second',
      { plans: [plan('2030-01-01', null), plan('2030-01-01', null), plan('2030-01-02', null)] },
      ['publications at once'],
    ],
    [
      'publications of two scenarios at once',
      { plans: [plan('2030-01-01', null), { ...plan('2030-01-01', null), scenarioId: 'b' }] },
      [],
    ],
  ])('of %s', (_what, planned, kinds) => {
    expect(conflictsOf({ ...NONE, effective: planned.seasons ?? [], ...planned }).map(({ kind }) => kind)).toEqual(
      kinds,
    )
  })
})
