import type { Json } from '../base/json.ts'
import { boolean, type Column, nullable, text, uuid } from '../transactions/table.ts'

/** The kinds of events in an environment's stream (spec 6). */
export const EVENT_TYPES = ['crossing', 'player.created', 'run.cancelled'] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** An event that a transaction is about to append. */
export interface NewEvent {
  readonly environmentId: string
  readonly type: EventType
  /** The crossed handle; null for an event that is no crossing. */
  readonly handle: string | null
  readonly playerId: string
  readonly scenarioId: string | null
  readonly nodeId: string | null
  readonly runId: string | null
  /** A client crossed the handle of a node that the client runs. */
  readonly byClient: boolean
  /** The event's own data, such as `fromLevel` and `toLevel`. */
  readonly data: Json
}

/** The fields of an event, in the order in which they are written, read and sent to other instances. */
export const EVENT_COLUMNS = {
  type: text as Column<EventType>,
  handle: nullable(text),
  playerId: uuid,
  scenarioId: nullable(text),
  nodeId: nullable(text),
  runId: nullable(uuid),
  byClient: boolean,
  /** JSON text. */
  data: text,
} satisfies { [Field in keyof Omit<NewEvent, 'environmentId' | 'data'>]: Column<NewEvent[Field]> } & {
  data: Column<string>
}

export type EventField = keyof typeof EVENT_COLUMNS
export const EVENT_FIELDS = Object.keys(EVENT_COLUMNS) as EventField[]

/** The column of a field: `player_id`. */
export const columnOf = (field: EventField): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** An event at its place in the stream: positions are gapless and in commit order. */
export interface StreamEvent extends Omit<NewEvent, 'data'> {
  readonly position: bigint
  /** JSON text. */
  readonly data: string
  readonly occurredAt: Date
  /** When the event before it occurred, in milliseconds. Null when that is not known. */
  readonly follows: number | null
}
