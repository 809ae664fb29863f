import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Definition } from '../../game/definition/definition.ts'
import { DerivedValues } from '../../game/definition/derived.ts'
import { parseDefinition } from '../../game/definition/parse.ts'
import { type CalendarBoost, type CalendarPlan, type CalendarSeason, type Conflict, conflictsOf } from './conflicts.ts'

/** The last grant jobs of a span that a calendar has. */
export const MAX_CALENDAR_JOBS = 100

const passes = new DerivedValues<readonly CalendarSeason[]>({
  derive: (definition, scenarioId) => seasonsOf(definition, scenarioId, null),
  sizeOf: (seasons) => 1 + seasons.length,
  maxSize: 10_000,
})

/** The seasons of planned publications, by their ids. The text of a publication never changes. */
const ofPublication = new LRUCache<string, readonly CalendarSeason[]>({ max: 1_000 })

export interface Span {
  readonly from: Date
  readonly to: Date
}

interface CalendarRows {
  readonly seasons: readonly CalendarSeason[]
  readonly plannedSeasons: readonly CalendarSeason[]
  /** Ids of the boosts, publications and grant jobs of the span. */
  readonly boostIds: readonly string[]
  readonly publicationIds: readonly string[]
  readonly grantJobIds: readonly string[]
  readonly conflicts: readonly Conflict[]
}

export interface Calendar extends CalendarRows {
  readonly environment: string
  readonly environmentId: string
  /** The game's time. */
  readonly now: Date
}

/**
 * Reads what an environment has between two times, and what does not fit together. Seasons without any date are left out:
 * they always run.
 */
export async function readCalendar(pool: Pool, environmentId: string, span: Span): Promise<CalendarRows> {
  const { from, to } = span
  const current = await passes.read(pool, environmentId)
  const seasons = current.flatMap(({ value }) => value)
  const { rows: boosts } = await pool.query<CalendarBoost>(
    `SELECT id, starts_at AS "startsAt", least(ends_at, ended_at) AS "endsAt", scenarios FROM boosts
     WHERE environment_id = $1 AND starts_at < coalesce(ended_at, ends_at) AND starts_at < $3
       AND least(ends_at, ended_at) > $2
     ORDER BY starts_at, id`,
    [environmentId, from, to],
  )
  // A season begins after its publication, which may lie before the span.
  const { rows: publications } = await pool.query<CalendarPlan & { readonly state: string }>(
    `SELECT id, scenario_id AS "scenarioId", publish_at AS "publishAt", expected_version AS "expectedVersion", state
     FROM scheduled_publications
     WHERE environment_id = $1 AND (state = 'planned' OR publish_at >= $2 AND publish_at < $3) ORDER BY publish_at, id`,
    [environmentId, from, to],
  )
  const plans = publications.filter(({ state }) => state === 'planned')
  const { planned, effective } = afterPlans(seasons, await seasonsOfPlans(pool, environmentId, plans))
  const { rows: jobs } = await pool.query<{ readonly id: string }>(
    `SELECT id FROM grant_jobs
     WHERE environment_id = $1 AND coalesce(starts_at, created_at) < $3 AND coalesce(finished_at, 'infinity') >= $2
     ORDER BY id DESC LIMIT ${MAX_CALENDAR_JOBS}`,
    [environmentId, from, to],
  )
  const versions = new Map(current.map(({ scenarioId, version }) => [scenarioId, version]))
  const conflicts = conflictsOf({ seasons: [...seasons, ...planned], effective, boosts, plans, versions })
  const drawn = (all: readonly CalendarSeason[]) =>
    all.filter((season) => isWithin(season, span)).sort((a, b) => beginOf(a) - beginOf(b))
  return {
    seasons: drawn(seasons),
    plannedSeasons: drawn(planned),
    boostIds: boosts.map(({ id }) => id),
    publicationIds: publications.filter(({ publishAt }) => publishAt >= from && publishAt < to).map(({ id }) => id),
    grantJobIds: jobs.map(({ id }) => id),
    conflicts: conflicts.filter(({ startsAt, endsAt }) => {
      const end = endsAt ?? startsAt
      return (startsAt === null || startsAt < to) && (end === null || end >= from)
    }),
  }
}

const beginOf = ({ announcedAt, startsAt }: CalendarSeason): number => (announcedAt ?? startsAt)?.getTime() ?? 0

function isWithin({ announcedAt, startsAt, endsAt, claimUntil }: CalendarSeason, { from, to }: Span): boolean {
  if (!announcedAt && !startsAt && !endsAt) return false
  const [first, last] = [announcedAt ?? startsAt, endsAt && (claimUntil ?? endsAt)]
  return (first === null || first < to) && (last === null || last >= from)
}

interface PlannedSeason {
  readonly season: CalendarSeason
  readonly publishAt: Date
}

/** The seasons of planned publications, by the times of these. */
async function seasonsOfPlans(
  pool: Pool,
  environmentId: string,
  plans: readonly CalendarPlan[],
): Promise<readonly PlannedSeason[]> {
  const unknown = plans.flatMap(({ id }) => (ofPublication.has(id) ? [] : [id]))
  if (unknown.length > 0) {
    const { rows } = await pool.query<{
      readonly id: string
      readonly scenarioId: string
      readonly definition: string
    }>(
      `SELECT id, scenario_id AS "scenarioId", definition FROM scheduled_publications
       WHERE environment_id = $1 AND id = ANY ($2)`,
      [environmentId, unknown],
    )
    for (const { id, scenarioId, definition } of rows) {
      const parsed = parseDefinition(definition, { isStored: true, scenarioId })
      ofPublication.set(id, parsed.ok ? seasonsOf(parsed.definition, scenarioId, id) : [])
    }
  }
  return plans.flatMap(({ id, publishAt }) => (ofPublication.get(id) ?? []).map((season) => ({ season, publishAt })))
}

const DATES = ['announcedAt', 'startsAt', 'endingAt', 'endsAt', 'claimUntil'] as const

/** The planned seasons whose dates are new, and every season as it is after all plans. */
function afterPlans(seasons: readonly CalendarSeason[], plans: readonly PlannedSeason[]) {
  const keyOf = ({ scenarioId, nodeId }: CalendarSeason) => JSON.stringify([scenarioId, nodeId])
  const last = new Map<string, { season: CalendarSeason; publishAt: Date | null }>(
    seasons.map((season) => [keyOf(season), { season, publishAt: null }]),
  )
  const planned = plans.flatMap((plan) => {
    const { season, publishAt } = plan
    const before = last.get(keyOf(season))?.season
    last.set(keyOf(season), plan)
    const isNews = !before || DATES.some((date) => before[date]?.getTime() !== season[date]?.getTime())
    return isNews ? [asOf(season, publishAt)] : []
  })
  const effective = [...last.values()].map(({ season, publishAt }) => (publishAt ? asOf(season, publishAt) : season))
  return { planned, effective }
}

/** A season as it is from its publication on. */
function asOf(season: CalendarSeason, publishAt: Date): CalendarSeason {
  const { announcedAt, startsAt } = season
  return {
    ...season,
    announcedAt: announcedAt && later(announcedAt, publishAt),
    startsAt: startsAt && later(startsAt, publishAt),
  }
}

const later = (one: Date, other: Date): Date => (one > other ? one : other)

function seasonsOf({ nodes }: Definition, scenarioId: string, publicationId: string | null): CalendarSeason[] {
  return [...nodes.values()].flatMap((node) => {
    if (node.type !== 'battle-pass') return []
    const { id: nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next } = node
    return [{ scenarioId, nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next, publicationId }]
  })
}
