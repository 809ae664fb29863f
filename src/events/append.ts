import { print } from '../base/json.ts'
import type { Extension, Group, NumberOf } from '../transactions/group.ts'
import type { Player } from '../transactions/player.ts'
import { plain, type Sql, sql } from '../transactions/sql.ts'
import type { Statement } from '../transactions/statement.ts'
import { arrayOf, type Column, rowsOf } from '../transactions/table.ts'
import { columnOf, EVENT_COLUMNS, EVENT_FIELDS, type NewEvent } from './catalogue.ts'

/** An event of a group, with its data as JSON text. */
type Printed = Omit<NewEvent, 'data'> & {
  readonly data: string
  /** Its player, in a group from memory. */
  readonly player: Player | null
}

const columns = EVENT_FIELDS.map(columnOf).join(', ')
const WRITTEN = [
  ['environment_id', 'uuid'],
  ...EVENT_FIELDS.map((field) => [columnOf(field), EVENT_COLUMNS[field].type]),
] as [string, string][]
/** Ids rise in this order, and events are numbered in the order of their ids. */
const provenRows = rowsOf([...WRITTEN, ['n', 'int'], ['place', 'int']])
const INSERT = `INSERT INTO unnumbered_events (environment_id, ${columns})`
const INSERT_PROVEN = plain(
  `${INSERT} SELECT e.environment_id, ${EVENT_FIELDS.map((field) => `e.${columnOf(field)}`).join(', ')} FROM`,
)
const INSERT_ALL = `${INSERT} SELECT environment_id, ${columns}
  FROM unnest(${WRITTEN.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')})
    WITH ORDINALITY AS e(environment_id, ${columns}, place)
  ORDER BY place`

/**
 * The events of a group. They are written with its other rows and without a position, so that no two groups wait for each
 * other. `numbering.ts` gives the positions after COMMIT.
 */
export class Stream implements Extension {
  static readonly stage = 'records'
  static readonly isProvable = true
  private readonly group: Group
  private readonly events: Printed[] = []

  constructor(group: Group) {
    this.group = group
  }

  append(event: NewEvent): void {
    const { group } = this
    const player = group.path === 'memory' ? group.player(event) : null
    // Events of players who are not proven are not written, so the statement must prove this one.
    if (player) group.change(player)
    else group.note()
    this.events.push({ ...event, data: print(event.data), player })
  }

  /** The environments of the events. */
  environments(): Set<string> {
    return new Set(this.events.map(({ environmentId }) => environmentId))
  }

  insert(numberOf: NumberOf): Sql | undefined {
    if (this.group.path !== 'memory' || this.events.length === 0) return undefined
    const rows = provenRows([
      ...this.values(),
      arrayOf(this.events, ({ player }) => String(numberOf(player as Player))),
      arrayOf(this.events, (_, index) => String(index)),
    ])
    return sql`${INSERT_PROVEN} ${rows} AS e JOIN proven o ON o.n = e.n ORDER BY e.place`
  }

  save(): Statement[] {
    if (this.group.path === 'memory' || this.events.length === 0) return []
    return [{ name: 'stream-append', text: INSERT_ALL, values: this.values() }]
  }

  /** An array for each column. */
  private values(): string[] {
    const { events } = this
    return [
      arrayOf(events, ({ environmentId }) => environmentId),
      ...EVENT_FIELDS.map((field) =>
        arrayOf(events, (event) => (EVENT_COLUMNS[field] as Column<string | boolean | null>).encode(event[field])),
      ),
    ]
  }
}
