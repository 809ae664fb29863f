import { builder } from '../../declare/graphql/builder.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { PhaseEnum } from '../../game/definition/graphql.ts'
import { phasesOf, seasonAt } from '../../game/definition/season.ts'
import { PublicationType } from '../publishing/graphql-scheduled.ts'
import { readPublications } from '../publishing/scheduled.ts'
import { type CalendarSeason, CONFLICT_KINDS, type Conflict } from './conflicts.ts'
import { type Calendar, MAX_CALENDAR_JOBS } from './read-calendar.ts'

const KindType = enumType('CalendarConflictKind', CONFLICT_KINDS, {
  description: 'What does not fit together.',
  values: {
    'boost without season': 'A boost for times in which no pass that it is for takes xp.',
    'seasons overlap': 'The next season starts before the season has ended: both take xp.',
    'gap between seasons': 'The next season starts after the season has ended: none takes xp in between.',
    'next season missing': 'The next season of a season is not published.',
    'publication outdated': 'A planned publication that would fail as of now: another version is current.',
    'publications at once':
      'A planned publication for the same second as another one of its scenario: either may be current afterwards.',
  },
})

const PhaseType = builder.objectRef<{ phase: never; at: Date }>('CalendarPhase').implement({
  description: 'The beginning of a phase of a season.',
  fields: (t) => ({
    phase: t.field({ type: PhaseEnum, description: 'The phase.', resolve: ({ phase }) => phase }),
    startsAt: t.field({ type: 'DateTime', description: 'When it begins.', resolve: ({ at }) => at }),
  }),
})

const SeasonType = builder.objectRef<CalendarSeason & { readonly now: Date }>('CalendarSeason').implement({
  description: 'A season: a pass with dates, by the current version of its scenario or by a planned publication.',
  fields: (t) => ({
    scenarioId: t.exposeString('scenarioId', { description: 'The scenario.' }),
    nodeId: t.exposeString('nodeId', { description: 'The pass.' }),
    phase: t.field({
      type: PhaseEnum,
      description: 'Where it stands now.',
      resolve: (season) => seasonAt(season, season.now).phase,
    }),
    phases: t.field({
      type: [PhaseType],
      description: 'Its phases in their order. A season without `startsAt` runs from the beginning.',
      resolve: (season) => phasesOf(season) as never,
    }),
    nextScenarioId: t.string({
      nullable: true,
      description: 'The scenario of the next season. Null when it names none.',
      resolve: ({ next }) => next?.scenarioId,
    }),
    publicationId: t.exposeID('publicationId', {
      nullable: true,
      description:
        'The planned publication that brings the season, or changes its dates. Null for the current version.',
    }),
  }),
})

const ConflictType = builder.objectRef<Conflict>('CalendarConflict').implement({
  description: 'Something on the calendar that does not fit together.',
  fields: (t) => ({
    kind: t.field({ type: KindType, description: 'What it is.', resolve: ({ kind }) => kind }),
    scenarioId: t.exposeString('scenarioId', { nullable: true, description: 'The scenario. Null for a boost.' }),
    nodeId: t.exposeString('nodeId', { nullable: true, description: 'The pass. Null for a boost or a publication.' }),
    boostId: t.exposeID('boostId', { nullable: true, description: 'The boost, if it is about one.' }),
    publicationId: t.exposeID('publicationId', {
      nullable: true,
      description: 'The planned publication, if it is about one.',
    }),
    startsAt: t.expose('startsAt', { type: 'DateTime', nullable: true, description: 'From when. Null for always.' }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Up to when. Null where it has no end, or is at one time.',
    }),
  }),
})

builder.objectRef<Calendar>('Calendar').implement({
  description: 'What an environment has between two times.',
  fields: (t) => ({
    seasons: t.field({
      type: [SeasonType],
      description:
        'Seasons with dates, by the current versions, from their announcement until claims close, by their beginning.',
      resolve: ({ seasons, now }) => seasons.map((season) => ({ ...season, now })),
    }),
    plannedSeasons: t.field({
      type: [SeasonType],
      description:
        'Seasons that planned publications bring, or whose dates they change, as they are from then on, by their beginning.',
      resolve: ({ plannedSeasons, now }) => plannedSeasons.map((season) => ({ ...season, now })),
    }),
    boosts: t.prismaField({
      type: ['Boost'],
      description: 'Boosts, by their start. One that was cancelled before its start is left out.',
      resolve: (query, { boostIds }, _args, { prisma }) =>
        prisma.boost.findMany({
          ...query,
          where: { id: { in: [...boostIds] } },
          orderBy: [{ startsAt: 'asc' }, { id: 'asc' }],
        }),
    }),
    publications: t.field({
      type: [PublicationType],
      description: 'Planned publications and those that have ended, by their time.',
      resolve: async ({ environment, environmentId, publicationIds }, _args, { service }) => {
        const found = await readPublications(service.operatorPool, environmentId, publicationIds)
        return found.map((one) => ({ ...one, environment, environmentId }))
      },
    }),
    grantJobs: t.prismaField({
      type: ['GrantJob'],
      description: `Grant jobs, by their creation: the last ${MAX_CALENDAR_JOBS} of this time.`,
      resolve: (query, { grantJobIds }, _args, { prisma }) =>
        prisma.grantJob.findMany({ ...query, where: { id: { in: [...grantJobIds] } }, orderBy: { id: 'asc' } }),
    }),
    conflicts: t.field({
      type: [ConflictType],
      description: 'What does not fit together.',
      resolve: ({ conflicts }) => [...conflicts],
    }),
  }),
})
