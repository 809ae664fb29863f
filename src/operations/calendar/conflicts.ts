import type { NextSeason } from '../../game/definition/next-season.ts'
import type { SeasonDates } from '../../game/definition/season.ts'

// What does not fit together on a calendar. Pure.

/** A season: a pass of the current version of a scenario, or of a planned publication. */
export interface CalendarSeason extends SeasonDates {
  readonly scenarioId: string
  readonly nodeId: string
  readonly next: NextSeason | null
  /** Null for the current version. */
  readonly publicationId: string | null
}

/** A boost that was not ended early. */
export interface CalendarBoost {
  readonly id: string
  readonly startsAt: Date
  readonly endsAt: Date
  /** Empty for all. */
  readonly scenarios: readonly string[]
}

/** A publication whose time is to come. */
export interface CalendarPlan {
  readonly id: string
  readonly scenarioId: string
  readonly publishAt: Date
  readonly expectedVersion: number | null
}

export const CONFLICT_KINDS = [
  'boost without season',
  'seasons overlap',
  'gap between seasons',
  'next season missing',
  'publication outdated',
  'publications at once',
] as const
export type ConflictKind = (typeof CONFLICT_KINDS)[number]

export interface Conflict {
  readonly kind: ConflictKind
  /** The scenario that it concerns. Null for a boost. */
  readonly scenarioId: string | null
  readonly nodeId: string | null
  readonly boostId: string | null
  readonly publicationId: string | null
  /** From when, up to when. Null where it has no such end. */
  readonly startsAt: Date | null
  readonly endsAt: Date | null
}

export interface Planned {
  /** Of current versions and of planned publications. */
  readonly seasons: readonly CalendarSeason[]
  /** Each season once, as it is after all planned publications. */
  readonly effective: readonly CalendarSeason[]
  readonly boosts: readonly CalendarBoost[]
  /** By their times. */
  readonly plans: readonly CalendarPlan[]
  /** The current versions of scenarios. */
  readonly versions: ReadonlyMap<string, number>
}

const NOTHING = { scenarioId: null, nodeId: null, boostId: null, publicationId: null, startsAt: null, endsAt: null }

export const conflictsOf = (planned: Planned): Conflict[] => [
  ...planned.boosts.flatMap((boost) => idleBoost(boost, planned.seasons)),
  ...planned.effective.flatMap((season) => brokenChain(season, planned.effective)),
  ...outdated(planned),
  ...atOnce(planned),
]

const ms = (at: Date | null, otherwise: number): number => at?.getTime() ?? otherwise

/** A boost gives nothing while no pass that it is for takes xp. */
function idleBoost({ id, startsAt, endsAt, scenarios }: CalendarBoost, seasons: readonly CalendarSeason[]): Conflict[] {
  const concerned = seasons.filter(({ scenarioId }) => scenarios.length === 0 || scenarios.includes(scenarioId))
  const isUsed = concerned.some(
    (season) =>
      ms(season.startsAt, Number.NEGATIVE_INFINITY) < endsAt.getTime() &&
      ms(season.endsAt, Number.POSITIVE_INFINITY) > startsAt.getTime(),
  )
  return isUsed ? [] : [{ ...NOTHING, kind: 'boost without season', boostId: id, startsAt, endsAt }]
}

/** A season and the one that it names as the next one: neither both at once, nor a time without either. */
function brokenChain(season: CalendarSeason, seasons: readonly CalendarSeason[]): Conflict[] {
  const { scenarioId, nodeId, next, endsAt } = season
  if (!next?.scenarioId || !endsAt) return []
  const at = { ...NOTHING, scenarioId, nodeId }
  const after = seasons.find(
    (other) => other.scenarioId === next.scenarioId && other.nodeId === (next.nodeId ?? nodeId),
  )
  if (!after) return [{ ...at, kind: 'next season missing', startsAt: endsAt }]
  const { startsAt } = after
  if (startsAt && startsAt > endsAt) return [{ ...at, kind: 'gap between seasons', startsAt: endsAt, endsAt: startsAt }]
  if (startsAt && startsAt < endsAt) return [{ ...at, kind: 'seasons overlap', startsAt, endsAt }]
  return []
}

/** Publications that would fail: another version would be current than the one that they expect. */
function outdated({ plans, versions }: Planned): Conflict[] {
  const current = new Map(versions)
  return plans.flatMap(({ id, scenarioId, publishAt, expectedVersion }): Conflict[] => {
    const version = current.get(scenarioId) ?? 0
    if (expectedVersion !== null && expectedVersion !== version)
      return [{ ...NOTHING, kind: 'publication outdated', scenarioId, publicationId: id, startsAt: publishAt }]
    current.set(scenarioId, version + 1)
    return []
  })
}

/** Publications of a scenario for the same second, of which nobody has said which one stays. By their times. */
const atOnce = ({ plans }: Planned): Conflict[] =>
  plans.flatMap(({ id, scenarioId, publishAt }, index): Conflict[] => {
    const isTwice = plans
      .slice(0, index)
      .some((other) => other.scenarioId === scenarioId && secondOf(other.publishAt) === secondOf(publishAt))
    return isTwice
      ? [{ ...NOTHING, kind: 'publications at once', scenarioId, publicationId: id, startsAt: publishAt }]
      : []
  })

const secondOf = (at: Date): number => Math.floor(at.getTime() / 1000)
