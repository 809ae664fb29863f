import type { Pool } from 'pg'
import type { Definition } from '../scenario/definition.ts'
import { DerivedValues } from '../scenario/derived.ts'
import { type CalendarBoost, type CalendarPlan, type CalendarSeason, type Conflict, conflictsOf } from './conflicts.ts'

/** The last grant jobs of a span that a calendar has. */
export const MAX_CALENDAR_JOBS = 100

const passes = new DerivedValues<readonly CalendarSeason[]>({
  derive: seasonsOf,
  sizeOf: (seasons) => 1 + seasons.length,
  maxSize: 10_000,
})

export interface Span {
  readonly from: Date
  readonly to: Date
}

export interface CalendarRows {
  readonly seasons: readonly CalendarSeason[]
  /** Ids of the boosts, publications and grant jobs of the span. */
  readonly boostIds: readonly string[]
  readonly publicationIds: readonly string[]
  readonly grantJobIds: readonly string[]
  readonly conflicts: readonly Conflict[]
}

/**
 * Reads what an environment has between two times, and what does not fit together. Seasons without any date are left out:
 * they always run.
 */
export async function readCalendar(pool: Pool, environmentId: string, { from, to }: Span): Promise<CalendarRows> {
  const current = await passes.read(pool, environmentId)
  const seasons = current.flatMap(({ value }) => value)
  const { rows: boosts } = await pool.query<CalendarBoost>(
    `SELECT id, starts_at AS "startsAt", least(ends_at, ended_at) AS "endsAt", scenarios FROM boosts
     WHERE environment_id = $1 AND starts_at < coalesce(ended_at, ends_at) AND starts_at < $3
       AND least(ends_at, ended_at) > $2
     ORDER BY starts_at, id`,
    [environmentId, from, to],
  )
  const { rows: plans } = await pool.query<CalendarPlan & { readonly state: string }>(
    `SELECT id, scenario_id AS "scenarioId", publish_at AS "publishAt", expected_version AS "expectedVersion", state
     FROM scheduled_publications
     WHERE environment_id = $1 AND publish_at >= $2 AND publish_at < $3 ORDER BY publish_at, id`,
    [environmentId, from, to],
  )
  const { rows: jobs } = await pool.query<{ readonly id: string }>(
    `SELECT id FROM grant_jobs
     WHERE environment_id = $1 AND coalesce(starts_at, created_at) < $3 AND coalesce(finished_at, 'infinity') >= $2
     ORDER BY id DESC LIMIT ${MAX_CALENDAR_JOBS}`,
    [environmentId, from, to],
  )
  const versions = new Map(current.map(({ scenarioId, version }) => [scenarioId, version]))
  const conflicts = conflictsOf({ seasons, boosts, plans: plans.filter(({ state }) => state === 'planned'), versions })
  return {
    seasons: seasons.filter((season) => isWithin(season, { from, to })).sort((a, b) => beginOf(a) - beginOf(b)),
    boostIds: boosts.map(({ id }) => id),
    publicationIds: plans.map(({ id }) => id),
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

function seasonsOf({ nodes }: Definition, scenarioId: string): CalendarSeason[] {
  return [...nodes.values()].flatMap((node) => {
    if (node.type !== 'battle-pass') return []
    const { id: nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next } = node
    return [{ scenarioId, nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next }]
  })
}
