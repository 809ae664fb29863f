import { print } from '../base/json.ts'
import { arrayOf, type Column, rowsOf } from '../transactions/columns.ts'
import type { Extension, Group, NumberOf } from '../transactions/group.ts'
import type { Player } from '../transactions/player.ts'
import { plain, type Sql, sql } from '../transactions/sql.ts'
import { columnOf, EVENT_COLUMNS, EVENT_FIELDS, type NewEvent } from './catalogue.ts'

interface Appended {
  readonly event: NewEvent
  /** Its data as JSON text. */
  readonly data: string
  /** Its player, in a group from memory, which writes the event only if the player is proven. */
  readonly player: Player | null
}

const FIELDS = EVENT_FIELDS.map((field) => [columnOf(field), EVENT_COLUMNS[field].type] as const)
const rowsOfEvents = rowsOf([['environment_id', 'uuid'], ...FIELDS, ['n', 'int'], ['place', 'int']])
const names = FIELDS.map(([name]) => name)
const INSERT = plain(`INSERT INTO unnumbered_events (environment_id, ${names.join(', ')})
    SELECT e.environment_id, ${names.map((name) => `e.${name}`).join(', ')} FROM`)

/**
 * The events of a group. They are written with its other rows and without a position, so that no two groups wait for each
 * other. `numbering.ts` gives the positions after COMMIT.
 */
export class Stream implements Extension {
  static readonly stage = 'records'
  static readonly isProvable = true
  private readonly group: Group
  private readonly events: Appended[] = []

  constructor(group: Group) {
    this.group = group
  }

  append(event: NewEvent): void {
    const { group } = this
    const player = group.path === 'memory' ? group.player(event) : null
    if (player) group.change(player)
    else group.note()
    this.events.push({ event, data: print(event.data), player })
  }

  environments(): Set<string> {
    return new Set(this.events.map(({ event }) => event.environmentId))
  }

  /** Ids rise in the order of the places, and events are numbered in the order of their ids. */
  insert(numberOf: NumberOf): Sql | undefined {
    const { events } = this
    if (events.length === 0) return undefined
    const rows = rowsOfEvents([
      arrayOf(events, ({ event }) => event.environmentId),
      ...EVENT_FIELDS.map((field) => {
        const column = EVENT_COLUMNS[field] as Column<string | boolean | null>
        return arrayOf(events, ({ event, data }) => column.encode(field === 'data' ? data : event[field]))
      }),
      arrayOf(events, ({ player }) => String(player ? numberOf(player) : 0)),
      arrayOf(events, (_, index) => String(index)),
    ])
    return sql`${INSERT} ${rows} AS e LEFT JOIN proven o ON o.n = e.n WHERE e.n = 0 OR o.n IS NOT NULL ORDER BY e.place`
  }
}
