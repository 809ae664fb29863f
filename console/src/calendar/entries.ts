import { jobHref } from '../grants/addresses.ts'
import { type Job, jobText, targetText } from '../grants/gift.ts'
import type { ResultOf } from '../graphql.ts'
import { playersText } from '../ui/players-text.ts'
import { timeText } from '../ui/time.tsx'
import { words } from '../ui/words.ts'
import type { calendarQuery } from './operations.ts'

// What a calendar has, in words.

export type Calendar = ResultOf<typeof calendarQuery>['calendar']

export const PHASES: Readonly<Record<string, string>> = {
  ANNOUNCED: 'announced',
  RUNNING: 'running',
  ENDING: 'about to end',
  ENDED: 'claims only',
  CLOSED: 'closed',
}

export interface Entry {
  readonly at: string
  readonly what: string
  readonly href: string | undefined
}

/** What happens, by time. */
export function entriesOf(
  { seasons, plannedSeasons, boosts, publications, grantJobs }: Calendar,
  environment: string,
): readonly Entry[] {
  return [
    ...[...seasons, ...plannedSeasons].flatMap((season) =>
      season.phases.map(({ phase, startsAt }) => ({
        at: startsAt,
        what: `${season.scenarioId}, ${season.nodeId}: ${PHASES[phase] ?? phase}${isPlanned(season) ? ', as planned' : ''}`,
        href: hrefOf(environment, season),
      })),
    ),
    ...boosts.flatMap(({ name, percent, startsAt, endsAt, endedAt }) => [
      { at: startsAt, what: `${name}: ${percent} % more xp`, href: undefined },
      { at: endedAt ?? endsAt, what: `${name}: over`, href: undefined },
    ]),
    ...publications.map(({ scenarioId, publishAt, state, version, failure, reason }) => ({
      at: publishAt,
      what: `${scenarioId}: publication ${state.toLowerCase()}${version === null ? '' : ` as version ${version}`}${failure === null ? '' : `, ${failure}`} (${reason})`,
      href: versionsHref(environment, scenarioId),
    })),
    ...grantJobs.map((job) => ({
      at: startOf(job),
      what: `${grantText(job)} (${job.reason})`,
      href: jobHref(environment, job.jobId),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** The start of a grant job. */
export const startOf = ({ startsAt, createdAt }: Job): string => startsAt ?? createdAt

/** A grant job in words, such as `grant, done: 100 gold, 312 players`. A planned one has no players yet. */
export const grantText = (job: Job): string =>
  `grant, ${words(job.state)}: ${jobText(job)}, ${job.state === 'PLANNED' ? `for ${targetText(job.target)}` : playersText(job.players)}`

export const seasonHref = (environment: string, scenarioId: string, nodeId: string): string =>
  `/env/${encodeURIComponent(environment)}/battle-pass/${encodeURIComponent(scenarioId)}/${encodeURIComponent(nodeId)}`

export const versionsHref = (environment: string, scenarioId: string): string =>
  `/env/${encodeURIComponent(environment)}/scenarios/${encodeURIComponent(scenarioId)}/versions`

type Season = Calendar['seasons'][number]

/** Whether a planned publication brings the season, or changes its dates. */
export const isPlanned = ({ publicationId }: Season): boolean => publicationId !== null

/** The page of a season; of the versions, with what is planned, where it is not published. */
export const hrefOf = (environment: string, season: Season): string =>
  isPlanned(season)
    ? versionsHref(environment, season.scenarioId)
    : seasonHref(environment, season.scenarioId, season.nodeId)

/** What does not fit together, in a sentence. */
export function conflictText(
  { kind, scenarioId, boostId, startsAt, endsAt }: Calendar['conflicts'][number],
  { boosts }: Calendar,
) {
  const day = (at: string | null): string => (at === null ? '…' : `${timeText(at, 'UTC', 'minute')} UTC`)
  switch (kind) {
    case 'BOOST_WITHOUT_SEASON':
      return `The boost “${boosts.find((boost) => boost.boostId === boostId)?.name ?? boostId}” gives nothing: no season that it is for takes xp from ${day(startsAt)} to ${day(endsAt)}.`
    case 'SEASONS_OVERLAP':
      return `The season after ${scenarioId} starts before it has ended: both take xp from ${day(startsAt)} to ${day(endsAt)}.`
    case 'GAP_BETWEEN_SEASONS':
      return `Between ${scenarioId} and its next season nothing takes xp: from ${day(startsAt)} to ${day(endsAt)}.`
    case 'NEXT_SEASON_MISSING':
      return `The next season of ${scenarioId} is not published. It ends ${day(startsAt)}.`
    case 'PUBLICATIONS_AT_ONCE':
      return `Two publications of ${scenarioId} are planned for ${day(startsAt)}: either may be current afterwards.`
    default:
      return `The publication of ${scenarioId} ${day(startsAt)} would fail: another version than it expects is current.`
  }
}
