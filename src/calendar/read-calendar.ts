import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Definition } from '../scenario/definition.ts'
import { DerivedValues } from '../scenario/derived.ts'
import { parseDefinition } from '../scenario/parse-definition.ts'
import { type CalendarBoost, type CalendarPlan, type CalendarSeason, type Conflict, conflictsOf } from './conflicts.ts'

/** The last grant jobs of a span that a calendar has. */
export const MAX_CALENDAR_JOBS = 100

const passes = new DerivedValues<readonly CalendarSeason[]>({
  derive: (definition, scenarioId) => seasonsOf(definition, scenarioId, null),
  sizeOf: (seasons) => 1 + seasons.length,
  maxSize: 10_000,
})

/** The seasons of planned publications, by their ids. The text of a publication never changes. */
const planned = new LRUCache<string, readonly CalendarSeason[]>({ max: 1_000 })

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
  // A season begins after its publication, which may lie before the span.
  const { rows: publications } = await pool.query<Publication>(
    `SELECT id, scenario_id AS "scenarioId", publish_at AS "publishAt", expected_version AS "expectedVersion", state,
       CASE WHEN state = 'planned' THEN definition END AS definition
     FROM scheduled_publications
     WHERE environment_id = $1 AND (state = 'planned' OR publish_at >= $2 AND publish_at < $3) ORDER BY publish_at, id`,
    [environmentId, from, to],
  )
  const plans = publications.filter(({ state }) => state === 'planned')
  const all = [...seasons, ...plans.flatMap(seasonsOfPlan).filter((season) => isNews(season, seasons))]
  const { rows: jobs } = await pool.query<{ readonly id: string }>(
    `SELECT id FROM grant_jobs
     WHERE environment_id = $1 AND coalesce(starts_at, created_at) < $3 AND coalesce(finished_at, 'infinity') >= $2
     ORDER BY id DESC LIMIT ${MAX_CALENDAR_JOBS}`,
    [environmentId, from, to],
  )
  const versions = new Map(current.map(({ scenarioId, version }) => [scenarioId, version]))
  const conflicts = conflictsOf({ seasons: all, boosts, plans, versions })
  return {
    seasons: all.filter((season) => isWithin(season, { from, to })).sort((a, b) => beginOf(a) - beginOf(b)),
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

interface Publication extends CalendarPlan {
  readonly state: string
  /** Null for one that has ended. */
  readonly definition: string | null
}

function seasonsOfPlan({ id, scenarioId, definition }: Publication): readonly CalendarSeason[] {
  const known = planned.get(id)
  if (known || definition === null) return known ?? []
  const parsed = parseDefinition(definition, { isStored: true, scenarioId })
  const seasons = parsed.ok ? seasonsOf(parsed.definition, scenarioId, id) : []
  planned.set(id, seasons)
  return seasons
}

/** Whether a planned publication brings a season, or changes the dates of one. */
function isNews(season: CalendarSeason, seasons: readonly CalendarSeason[]): boolean {
  const current = seasons.find((one) => one.scenarioId === season.scenarioId && one.nodeId === season.nodeId)
  return !current || DATES.some((date) => current[date]?.getTime() !== season[date]?.getTime())
}

const DATES = ['announcedAt', 'startsAt', 'endingAt', 'endsAt', 'claimUntil'] as const

function seasonsOf({ nodes }: Definition, scenarioId: string, publicationId: string | null): CalendarSeason[] {
  return [...nodes.values()].flatMap((node) => {
    if (node.type !== 'battle-pass') return []
    const { id: nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next } = node
    return [{ scenarioId, nodeId, announcedAt, startsAt, endingAt, endsAt, claimUntil, next, publicationId }]
  })
}
