import { EVENT_FIELDS, type EventField, type StreamEvent } from './catalogue.ts'

/** A longer signal carries only the position that the stream has reached. */
const MAX_SIGNAL_LENGTH = 256 * 1024

/** A message of one instance to the others about a stream. */
export interface Signal {
  readonly instance: string
  readonly environmentId: string
  readonly end: bigint
  /** Null when the signal would be too long. */
  readonly events: readonly StreamEvent[] | null
}

/** An event in a signal: position, `EVENT_FIELDS`, time and `follows`, without their names and the environment. */
type SentEvent = readonly (string | number | boolean | null)[]

const sentOf = (event: StreamEvent): SentEvent => [
  String(event.position),
  ...EVENT_FIELDS.map((field) => event[field]),
  event.occurredAt.getTime(),
  event.follows,
]

function receivedEvent(environmentId: string, [position, ...sent]: SentEvent): StreamEvent {
  const [occurredAt, follows] = sent.slice(EVENT_FIELDS.length) as [number, number | null]
  const fields = Object.fromEntries(EVENT_FIELDS.map((field, index) => [field, sent[index]]))
  return {
    ...(fields as unknown as Pick<StreamEvent, EventField>),
    environmentId,
    position: BigInt(String(position)),
    occurredAt: new Date(occurredAt),
    follows,
  }
}

/** The text of a signal. */
export function printSignal(instance: string, environmentId: string, events: readonly StreamEvent[]): string {
  const end = String(events.at(-1)?.position ?? 0)
  const text = JSON.stringify([instance, environmentId, end, events.map(sentOf)])
  return text.length <= MAX_SIGNAL_LENGTH ? text : JSON.stringify([instance, environmentId, end, null])
}

/** Undefined for other messages: other programs, and other versions of this service, may use the same Redis. */
export function readSignal(message: string): Signal | undefined {
  try {
    const [instance, environmentId, end, sent]: [string, string, string, SentEvent[] | null] = JSON.parse(message)
    const events = sent?.map((event) => receivedEvent(environmentId, event))
    return { instance, environmentId, end: BigInt(end), events: events ?? null }
  } catch {
    return undefined
  }
}
