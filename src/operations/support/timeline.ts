import type { Pool } from 'pg'
import { LOGIN_LOG_DAYS } from '../../accounts/login/log/login-log.ts'
import { isCleanText } from '../../base/json.ts'
import { databaseNow, firstIdAt } from '../../db/ids.ts'
import { printCursor, readCursor } from '../../declare/cursor.ts'
import { isUuid } from '../../declare/shape.ts'
import type { PlayerRef } from '../../players/player-status.ts'

// What happened to a player, from several logs, the latest first. Each log is read in the order of its own index, and the
// logs are merged by time. A cursor has a bound for each log, so that a page repeats and leaves out nothing, whatever the
// clocks of instances say and whatever is added meanwhile.

export const TIMELINE_KINDS = ['login', 'level', 'claim', 'purchase', 'support', 'mail', 'note'] as const
export type TimelineKind = (typeof TIMELINE_KINDS)[number]

/** The handles of events, by the kind of entry that they make. */
const HANDLES: Partial<Readonly<Record<TimelineKind, readonly string[]>>> = {
  level: ['onLevelUp', 'onMaxLevel'],
  purchase: ['onPremiumPurchase'],
}

type Source = 'login' | 'event' | 'claim' | 'support' | 'mail' | 'note'
const sourceOf = (kind: TimelineKind): Source => (HANDLES[kind] ? 'event' : (kind as Source))

/**
 * The rows of a log below a bound, the latest first. Parameters: the environment, the player, the project, the handles, the
 * first id of the login log, and the rows at most.
 */
interface Log {
  readonly table: string
  readonly place: keyof typeof PLACES
  readonly kind: string
  readonly at: string
  readonly where: string
}
const OF_PLAYER = 'environment_id = $1 AND player_id = $2'
const LOGS: Readonly<Record<Source, Log>> = {
  login: { table: 'login_log', place: 'id', kind: "'login'", at: 'created_at', where: `${OF_PLAYER} AND id >= $5` },
  event: {
    table: 'events',
    place: 'position',
    kind: "CASE handle WHEN 'onPremiumPurchase' THEN 'purchase' ELSE 'level' END",
    at: 'occurred_at',
    where: `${OF_PLAYER} AND handle = ANY ($4::text[])`,
  },
  claim: { table: 'tier_claims', place: 'claim', kind: "'claim'", at: 'claimed_at', where: OF_PLAYER },
  support: {
    table: 'audit_log',
    place: 'id',
    kind: "'support'",
    at: 'created_at',
    // A note is an entry itself.
    where: `project_id = $3 AND target = $2::text AND action <> 'player.add_note'`,
  },
  mail: { table: 'inbox_messages', place: 'id', kind: "'mail'", at: 'sent_at', where: OF_PLAYER },
  note: { table: 'player_notes', place: 'id', kind: "'note'", at: 'created_at', where: OF_PLAYER },
}
const PARAMETERS = 6

/** How a row's place reads, the place above all rows of a log, the one below them, and the one just above a row. */
const PLACES = {
  id: {
    sql: 'id',
    type: 'uuid',
    top: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    bottom: '00000000-0000-0000-0000-000000000000',
    isPlace: isUuid,
    above: (id: string) => {
      const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
      return next.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    },
  },
  position: {
    sql: 'position',
    type: 'bigint',
    top: '9223372036854775807',
    bottom: '0',
    isPlace: (text: string) => /^\d{1,18}$/.test(text) || text === '9223372036854775807',
    above: (position: string) => String(BigInt(position) + 1n),
  },
  // Claims have no index by time: a player has as many as its passes have tiers.
  claim: {
    sql: `(to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US ') ||
      json_build_array(scenario_id, node_id, level, track)) COLLATE "C"`,
    type: 'text',
    top: '~',
    bottom: '',
    isPlace: isCleanText,
    above: (claim: string) => `${claim} `,
  },
} as const

/** The places below which a page begins, by log. */
export type TimelineBounds = ReadonlyMap<Source, string>

export interface TimelineEntry {
  readonly kind: TimelineKind
  /** The id or the position of its row. */
  readonly place: string
  readonly occurredAt: Date
  /** Where the list continues after it. */
  readonly bounds: TimelineBounds
}

/** Reads up to `limit` entries of these kinds. Without bounds, from the latest on. */
export async function readTimeline(
  pool: Pool,
  { environmentId, playerId, projectId }: PlayerRef & { readonly projectId: string },
  { kinds, after, limit }: { kinds: ReadonlySet<TimelineKind>; after: TimelineBounds | null; limit: number },
): Promise<TimelineEntry[]> {
  const sources = [...new Set(TIMELINE_KINDS.filter((kind) => kinds.has(kind)).map(sourceOf))]
  const handles = [...kinds].flatMap((kind) => HANDLES[kind] ?? [])
  const bounds = sources.map((source) => after?.get(source) ?? PLACES[LOGS[source].place].top)
  const oldestLogin = firstIdAt(databaseNow() - LOGIN_LOG_DAYS * 86_400_000)
  const { rows } = await pool.query<Row>({
    name: `timeline-${sources.join('-')}`,
    text: statementOf(sources),
    values: [environmentId, playerId, projectId, handles, oldestLogin, limit, ...bounds],
  })
  return merge(sources, rows, after).slice(0, limit)
}

interface Row {
  readonly source: Source
  readonly kind: TimelineKind
  readonly place: string
  readonly at: Date
}

const statementOf = (sources: readonly Source[]): string => {
  const branches = sources.map((source, index) => {
    const { table, place, kind, at, where } = LOGS[source]
    const { sql, type } = PLACES[place]
    return `(SELECT '${source}' AS source, ${kind} AS kind, ${sql}::text AS place, ${at} AS at FROM ${table}
      WHERE ${where} AND ${sql} < $${PARAMETERS + 1 + index}::${type} ORDER BY ${sql} DESC LIMIT $6)`
  })
  // Each parameter has its type, whatever logs are asked.
  return `WITH given AS (SELECT $1::uuid, $2::uuid, $3::uuid, $4::text[], $5::uuid, $6::int)
    ${branches.join(' UNION ALL ')}`
}

/** Merges logs by time. Each keeps its own order, in which Postgres appends it. */
function merge(sources: readonly Source[], rows: readonly Row[], after: TimelineBounds | null): TimelineEntry[] {
  const logs = sources.map((source) => rows.filter((row) => row.source === source))
  let bounds = new Map(
    sources.map((source, index) => [source, after?.get(source) ?? startOf(source, logs[index]?.[0])]),
  )
  const entries: TimelineEntry[] = []
  for (;;) {
    const heads = logs.flatMap((log) => log[0] ?? [])
    const next = heads.reduce<Row | undefined>((best, row) => (best && best.at >= row.at ? best : row), undefined)
    if (!next) return entries
    logs[sources.indexOf(next.source)]?.shift()
    bounds = new Map(bounds).set(next.source, next.place)
    entries.push({ kind: next.kind, place: next.place, occurredAt: next.at, bounds })
  }
}

/** Where a log begins on the first page: what is added to it later is not on later pages. */
function startOf(source: Source, first: Row | undefined): string {
  const { above, bottom } = PLACES[LOGS[source].place]
  return first ? above(first.place) : bottom
}

const listOf = ({ playerId }: PlayerRef): string => `timeline ${playerId}`

export const printTimelineCursor = (player: PlayerRef, bounds: TimelineBounds): string =>
  printCursor(listOf(player), JSON.stringify([...bounds]))

/** The bounds of a cursor. Undefined for a cursor of another list. */
export function readTimelineCursor(player: PlayerRef, cursor: string): TimelineBounds | undefined {
  const text = readCursor(listOf(player), cursor)
  const bounds = text === undefined ? undefined : parsed(text)
  if (!Array.isArray(bounds)) return undefined
  const isOurs = bounds.every((bound) => {
    const [source, place] = Array.isArray(bound) ? bound : []
    return isSource(source) && typeof place === 'string' && PLACES[LOGS[source].place].isPlace(place)
  })
  return isOurs ? new Map(bounds) : undefined
}

const isSource = (name: unknown): name is Source => typeof name === 'string' && Object.hasOwn(LOGS, name)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The claim at a place. */
export function claimAt(place: string) {
  const [scenarioId, nodeId, level, track] = JSON.parse(place.slice(place.indexOf('['))) as [
    string,
    string,
    number,
    string,
  ]
  return { scenarioId, nodeId, level, track }
}

/** Whether the bounds are of a list of these kinds. */
export const areBoundsOf = (bounds: TimelineBounds, kinds: ReadonlySet<TimelineKind>): boolean =>
  [...kinds].every((kind) => bounds.has(sourceOf(kind)))
