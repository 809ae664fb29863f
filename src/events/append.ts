import { PART_ORDER, type Part, type Row, type Statement } from '../commit/group.ts'
import { print } from '../json.ts'
import type { NewEvent, StreamEvent } from './catalogue.ts'

/**
 * The events of a group. Their positions come from the environment's counter row, which is locked by the transaction's
 * last statement: so commit order is position order, without a gap, and the lock is held for one round trip only.
 */
export class Stream implements Part {
  static readonly order = PART_ORDER.stream
  private readonly events: (NewEvent & { text: string })[] = []
  private readonly appended: StreamEvent[][] = []

  append(event: NewEvent): void {
    this.events.push({ ...event, text: print(event.data) })
  }

  /** After the save: the events with their positions, a list for each environment. */
  get written(): readonly (readonly StreamEvent[])[] {
    return this.appended
  }

  load(): Statement[] {
    return []
  }

  save(): Statement[] {
    if (this.events.length === 0) return []
    // One environment after the other in the order of their ids, so that two groups never wait for each other.
    const environments = [...new Set(this.events.map((event) => event.environmentId))].sort()
    return environments.map((environmentId) => {
      const events = this.events.filter((event) => event.environmentId === environmentId)
      return {
        name: 'stream-append',
        text: `WITH moved AS (
            INSERT INTO streams AS s (environment_id, position) VALUES ($1::uuid, $2::bigint)
            ON CONFLICT (environment_id) DO UPDATE SET position = s.position + excluded.position
            RETURNING position, clock_timestamp() AS at
          )
          INSERT INTO events (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data, occurred_at)
          SELECT $1::uuid, moved.position - $2::bigint + e.ordinality, e.type, e.handle, e.player_id, e.scenario_id, e.node_id, e.run_id, e.data, moved.at
          FROM moved, unnest($3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::uuid[], $9::text[])
            WITH ORDINALITY AS e(type, handle, player_id, scenario_id, node_id, run_id, data, ordinality)
          RETURNING position, extract(epoch FROM occurred_at) * 1000`,
        values: [
          environmentId,
          events.length,
          ...(['type', 'handle', 'playerId', 'scenarioId', 'nodeId', 'runId', 'text'] as const).map((name) =>
            events.map((event) => event[name]),
          ),
        ],
        take: (rows: Row[]) => {
          const end = rows.reduce(
            (highest, [position]) => (BigInt(position) > highest ? BigInt(position) : highest),
            0n,
          )
          const occurredAt = new Date(Number(rows[0]?.[1]))
          this.appended.push(
            events.map(({ text, ...event }, index) => {
              return { ...event, data: text, position: end - BigInt(events.length - 1 - index), occurredAt }
            }),
          )
        },
      }
    })
  }
}
