import type { ClientBase, Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { inSnapshot } from '../db/transaction.ts'
import { columnOf, EVENT_FIELDS, PLAYER_EVENT_TYPES, type StreamEvent } from './catalogue.ts'
import { agree, type StreamPoint } from './cursor.ts'
import type { EventFilter } from './filter.ts'

/** The requested events of a stream. A null field matches any value. */
export interface HistoryFilter extends EventFilter {
  readonly environmentId: string
  /** The start of the range, included. */
  readonly from: Date | null
  /** The end of the range, not included. */
  readonly to: Date | null
}

/** A page of the events between two points: the first of them or, backwards, the last. */
export interface EventPage {
  readonly after: StreamPoint | null
  readonly before: StreamPoint | null
  readonly limit: number
  /** Reads from the end backwards. The events are in that order, too. */
  readonly backwards: boolean
}

/** An event as it is read: its other fields are those of a `StreamEvent`. */
type EventRow = Omit<StreamEvent, 'environmentId' | 'position' | 'follows'> & { readonly position: string }

export const SELECTED_EVENT = `position, ${EVENT_FIELDS.map((field) => `${columnOf(field)} AS "${field}"`).join(', ')}, occurred_at AS "occurredAt"`

export const eventOf = (environmentId: string, row: EventRow): StreamEvent => ({
  ...row,
  environmentId,
  position: BigInt(row.position),
  follows: null,
})

export interface EndRow {
  readonly position: string
  readonly reached_at: Date | null
}

/** Columns of `streams`. */
export const END_COLUMNS = 'position, reached_at'

export const endOf = (row: EndRow): StreamPoint => ({
  position: BigInt(row.position),
  at: row.reached_at?.getTime() ?? null,
})

export interface History {
  readonly events: readonly StreamEvent[]
  /** The end of the stream before the events were read: a subscription from here misses nothing. */
  readonly end: StreamPoint
}

/**
 * Reads a page of a stream's history. Refuses a point that was removed, does not exist yet or belongs to another history
 * with `cursor expired`.
 */
export function readEvents(pool: Pool, filter: HistoryFilter, page: EventPage): Promise<History> {
  // Retention may remove events at any time: a page from two moments could have a gap without an error.
  return inSnapshot(pool, (client) => readPage(client, filter, page))
}

async function readPage(client: ClientBase, filter: HistoryFilter, page: EventPage): Promise<History> {
  const { environmentId } = filter
  const bounds = await readBounds(client, environmentId)
  const { after, before } = page
  if (after !== null && (after.position + 1n < bounds.first || after.position > bounds.end.position)) {
    throw new Refusal('cursorExpired')
  }
  for (const point of [after, before]) {
    if (point !== null && !(await isOfHistory(client, environmentId, bounds.end, point))) {
      throw new Refusal('cursorExpired')
    }
  }
  const from = filter.from && (await positionAt(client, environmentId, bounds, filter.from))
  const to = filter.to && (await positionAt(client, environmentId, bounds, filter.to))
  const values: unknown[] = [environmentId]
  const conditions = ['environment_id = $1']
  // The statement contains only the given conditions, so that each combination has its own plan.
  const ask = (value: unknown, condition: (parameter: string) => string) => {
    if (value === null) return
    values.push(value instanceof Set ? [...value] : value)
    conditions.push(condition(`$${values.length}`))
  }
  ask(after?.position ?? null, (parameter) => `position > ${parameter}`)
  ask(before?.position ?? null, (parameter) => `position < ${parameter}`)
  ask(from, (parameter) => `position >= ${parameter}`)
  ask(to, (parameter) => `position < ${parameter}`)
  ask(filter.playerId, (parameter) => `player_id = ${parameter}`)
  ask(filter.scenarioId, (parameter) => `scenario_id = ${parameter}`)
  ask(filter.nodeId, (parameter) => `node_id = ${parameter}`)
  ask(filter.types, (parameter) => `type = ANY (${parameter}::text[])`)
  ask(filter.handles, (parameter) => `handle = ANY (${parameter}::text[])`)
  // The few events that are no player's are together in the index by player. Otherwise all others would be read.
  if (filter.types && !PLAYER_EVENT_TYPES.some((type) => filter.types?.has(type))) conditions.push('player_id IS NULL')
  const { rows } = await client.query<EventRow>(
    `SELECT ${SELECTED_EVENT} FROM events WHERE ${conditions.join(' AND ')}
     ORDER BY position ${page.backwards ? 'DESC' : 'ASC'} LIMIT ${page.limit}`,
    values,
  )
  return { events: rows.map((row) => eventOf(environmentId, row)), end: bounds.end }
}

interface Bounds {
  /** The first stored position; one past the end when none is stored. */
  readonly first: bigint
  readonly end: StreamPoint
}

async function readBounds(client: ClientBase, environmentId: string): Promise<Bounds> {
  const { rows } = await client.query<EndRow & { first: string | null }>({
    name: 'stream-bounds',
    text: `SELECT ${END_COLUMNS}, (SELECT min(e.position) FROM events e WHERE e.environment_id = $1) AS first
      FROM streams WHERE environment_id = $1`,
    values: [environmentId],
  })
  const end = rows[0] ? endOf(rows[0]) : { position: 0n, at: null }
  return { first: BigInt(rows[0]?.first ?? end.position + 1n), end }
}

/**
 * The first position at or after a moment. Positions are in the order of time without gaps, so a binary search finds
 * it, and events need no index on the time.
 */
async function positionAt(
  client: ClientBase,
  environmentId: string,
  { first, end }: Bounds,
  moment: Date,
): Promise<bigint> {
  const { rows } = await client.query<{ position: string }>({
    name: 'stream-position-at',
    text: `WITH RECURSIVE range(low, high) AS (
        SELECT $2::bigint, $3::bigint
        UNION ALL
        SELECT CASE WHEN e.occurred_at < $4 THEN m.middle + 1 ELSE r.low END,
          CASE WHEN e.occurred_at < $4 THEN r.high ELSE m.middle END
        FROM range r CROSS JOIN LATERAL (SELECT (r.low + r.high) / 2 AS middle) m
        CROSS JOIN LATERAL (
          SELECT occurred_at FROM events WHERE environment_id = $1 AND position = m.middle LIMIT 1
        ) e
        WHERE r.low < r.high
      )
      SELECT max(low) AS position FROM range`,
    values: [environmentId, first, end.position + 1n, moment],
  })
  return BigInt(rows[0]?.position ?? 0)
}

/**
 * False when the stream, which ends at `end`, has another event at the position of a point. True when retention has
 * removed the event.
 */
export async function isOfHistory(
  client: Pick<ClientBase, 'query'>,
  environmentId: string,
  end: StreamPoint,
  point: StreamPoint,
): Promise<boolean> {
  if (point.at === null) return true
  const { rows } = await client.query<{ occurred_at: Date }>({
    name: 'stream-moment',
    text: 'SELECT occurred_at FROM events WHERE environment_id = $1 AND position = $2',
    values: [environmentId, point.position],
  })
  const at = rows[0]?.occurred_at.getTime() ?? (point.position === end.position ? end.at : null)
  return agree(point.at, at)
}

/** The event at a point; null when it does not exist or was removed. */
export async function readEvent(
  pool: Pool,
  environmentId: string,
  { position, at }: StreamPoint,
): Promise<StreamEvent | null> {
  const { rows } = await pool.query<EventRow>(
    `SELECT ${SELECTED_EVENT} FROM events WHERE environment_id = $1 AND position = $2`,
    [environmentId, position],
  )
  return rows[0] && agree(at, rows[0].occurredAt.getTime()) ? eventOf(environmentId, rows[0]) : null
}

/** The events at these positions that are still there, by position. */
export async function readEventsAt(
  pool: Pool,
  environmentId: string,
  positions: readonly string[],
): Promise<ReadonlyMap<string, StreamEvent>> {
  if (positions.length === 0) return new Map()
  const { rows } = await pool.query<EventRow>({
    name: 'events-at',
    text: `SELECT ${SELECTED_EVENT} FROM events WHERE environment_id = $1 AND position = ANY ($2::bigint[])`,
    values: [environmentId, positions],
  })
  return new Map(rows.map((row) => [row.position, eventOf(environmentId, row)]))
}
