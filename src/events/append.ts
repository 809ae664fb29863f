import { print } from '../base/json.ts'
import type { Extension, Group } from '../transactions/group.ts'
import type { Row, Statement } from '../transactions/statement.ts'
import { arrayOf, type Column } from '../transactions/table.ts'
import type { Bus } from './bus.ts'
import { columnOf, EVENT_COLUMNS, EVENT_FIELDS, type NewEvent, type StreamEvent } from './catalogue.ts'

type Printed = Omit<NewEvent, 'data'> & { readonly data: string }

const columns = EVENT_FIELDS.map(columnOf).join(', ')

const PARAMETERS = `unnest(${Object.values(EVENT_COLUMNS)
  .map(({ type }, index) => `$${index + 2}::${type}[]`)
  .join(', ')}) WITH ORDINALITY AS e(${columns}, n)`

const append = (events: string): string => `WITH emitted AS (
    SELECT e.*, row_number() OVER (ORDER BY e.n) AS place FROM ${events}
  ), moved AS (
    INSERT INTO streams AS s (environment_id, position, reached_position, reached_at)
    SELECT $1::uuid, count(*), count(*), clock_timestamp() FROM emitted HAVING count(*) > 0
    ON CONFLICT (environment_id) DO UPDATE SET
      position = s.position + excluded.position,
      reached_position = s.position + excluded.position,
      reached_at = clock_timestamp(),
      reached_before = CASE WHEN s.reached_position = s.position THEN s.reached_at END
    RETURNING position, reached_at AS at, reached_before
  ), written AS (
    INSERT INTO events (environment_id, position, ${columns}, occurred_at)
    SELECT $1::uuid, m.position - (SELECT count(*) FROM emitted) + t.place,
      ${columns}, m.at
    FROM moved m, emitted t
  )
  SELECT position, extract(epoch FROM at) * 1000, extract(epoch FROM reached_before) * 1000 FROM moved`

const ALL = append(PARAMETERS)
/** Rows of players for which the same transaction has written this version. */
const PROVEN = append(`${PARAMETERS} CROSS JOIN LATERAL (
      SELECT FROM player_versions v
      WHERE v.environment_id = $1::uuid AND v.player_id = e.player_id AND v.version = $${EVENT_FIELDS.length + 2}::bigint LIMIT 1
    ) v`)

/**
 * The events of a group. Their positions come from the environment's counter row, which the transaction's last
 * statement locks: commit order is position order, without gaps, and the lock is held for one round trip.
 */
export class Stream implements Extension {
  static readonly stage = 'numbers'
  static readonly isProvable = true
  private readonly group: Group
  private readonly events: Printed[] = []
  private readonly appended: StreamEvent[][] = []

  constructor(group: Group) {
    this.group = group
  }

  append(event: NewEvent): void {
    this.group.note()
    this.events.push({ ...event, data: print(event.data) })
  }

  /** After the save: the events with their positions, as one list for each environment. */
  get written(): readonly (readonly StreamEvent[])[] {
    return this.appended
  }

  save(): Statement[] {
    if (this.events.length === 0) return []
    // Environments go in the order of their ids, so that two groups never wait for each other.
    const environments = [...new Set(this.events.map((event) => event.environmentId))].sort()
    const isProving = this.group.path === 'memory'
    return environments.map((environmentId) => {
      const events = this.events.filter((event) => event.environmentId === environmentId)
      const arrays = EVENT_FIELDS.map((field) =>
        arrayOf(events, (event) => (EVENT_COLUMNS[field] as Column<string | boolean | null>).encode(event[field])),
      )
      return {
        name: isProving ? 'stream-append-proven' : 'stream-append',
        text: isProving ? PROVEN : ALL,
        values: [environmentId, ...arrays, ...(isProving ? [this.group.version] : [])],
        take: ([row]: Row[]) => {
          if (!row) return
          const emitted = events.filter(({ playerId }) => !this.isUnproven(environmentId, playerId))
          const end = BigInt(row[0])
          const occurredAt = new Date(Number(row[1]))
          const before = row[2] === null ? null : Math.trunc(Number(row[2]))
          this.appended.push(
            emitted.map((event, index) => ({
              ...event,
              position: end - BigInt(emitted.length - 1 - index),
              occurredAt,
              follows: index === 0 ? before : occurredAt.getTime(),
            })),
          )
        },
      }
    })
  }

  private isUnproven(environmentId: string, playerId: string): boolean {
    for (const player of this.group.unproven)
      if (player.playerId === playerId && player.environmentId === environmentId) return true
    return false
  }
}

/** Publishes the appended events of each group. Call it after COMMIT. */
export function publishTo(bus: Bus): (group: Group) => void {
  return (group) => {
    if (group.has(Stream)) for (const events of group.of(Stream).written) bus.publish(events)
  }
}
