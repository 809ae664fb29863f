import type { Json } from '../json.ts'

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

/** An event at its place in the stream: positions are gapless and in commit order. */
export interface StreamEvent extends Omit<NewEvent, 'data'> {
  readonly position: bigint
  /** JSON text. */
  readonly data: string
  readonly occurredAt: Date
  /** When the event before it occurred, in milliseconds. Null when that is not known. */
  readonly follows: number | null
}
