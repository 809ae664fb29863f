import type { StreamEvent } from './catalogue.ts'
import type { EventFilter } from './filter.ts'

export interface Topic<S> {
  readonly shape: number
  readonly keys: readonly string[]
  readonly subscriptions: Set<S>
  /** Matching events that were not delivered yet. */
  events: StreamEvent[]
}

/** One topic, or several whose filters overlap. */
type Entry<S> = Topic<S> | Topic<S>[]

// The shape of a filter: the fields that it fixes, as bits.
const PLAYER = 1
const SCENARIO = 2
const NODE = 4
const TYPE = 8
const HANDLE = 16
const BY_CLIENT = 32

/** Text in Postgres contains no NUL, so keys stay unambiguous. */
const SEPARATOR = '\0'

/**
 * Finds the subscriptions that an event matches by lookups: one for each combination of fields that a filter fixes. The
 * number of subscriptions does not matter.
 */
export class SubscriptionIndex<S> {
  private readonly shapes = new Map<number, Map<string, Entry<S>>>()

  /** Adds a subscription. To remove it, pass the topic to `delete`. */
  add(filter: EventFilter, subscription: S): Topic<S> {
    const shape = shapeOf(filter)
    const keys = keysOf(filter)
    const topic = this.find(shape, keys) ?? this.create(shape, keys)
    topic.subscriptions.add(subscription)
    return topic
  }

  delete(topic: Topic<S>, subscription: S): void {
    if (topic.subscriptions.delete(subscription) && topic.subscriptions.size === 0) this.remove(topic)
  }

  /** Calls `visit` once with each topic whose filter the event matches. */
  visit(event: StreamEvent, visit: (topic: Topic<S>) => void): void {
    for (const [shape, topics] of this.shapes) {
      const key = keyOf(event, shape)
      const entry = key === null ? undefined : topics.get(key)
      if (Array.isArray(entry)) for (const topic of entry) visit(topic)
      else if (entry) visit(entry)
    }
  }

  get size(): number {
    let size = 0
    for (const topics of this.shapes.values()) size += topics.size
    return size
  }

  private find(shape: number, keys: readonly string[]): Topic<S> | undefined {
    const entry = this.shapes.get(shape)?.get(keys[0] ?? '')
    const found = Array.isArray(entry) ? entry : entry ? [entry] : []
    return found.find((topic) => topic.keys.length === keys.length && topic.keys.every((key, at) => key === keys[at]))
  }

  private create(shape: number, keys: readonly string[]): Topic<S> {
    const topic: Topic<S> = { shape, keys, subscriptions: new Set(), events: [] }
    const topics = this.shapes.get(shape) ?? new Map<string, Entry<S>>()
    // A filter with an empty list matches nothing, and has no key.
    if (keys.length > 0) this.shapes.set(shape, topics)
    for (const key of keys) {
      const entry = topics.get(key)
      topics.set(key, entry === undefined ? topic : [entry, topic].flat())
    }
    return topic
  }

  private remove(topic: Topic<S>): void {
    const topics = this.shapes.get(topic.shape)
    if (!topics) return
    for (const key of topic.keys) {
      const entry = topics.get(key)
      const [first, ...others] = Array.isArray(entry) ? entry.filter((other) => other !== topic) : []
      if (first) topics.set(key, others.length > 0 ? [first, ...others] : first)
      else topics.delete(key)
    }
    if (topics.size === 0) this.shapes.delete(topic.shape)
  }
}

function shapeOf({ playerId, scenarioId, nodeId, types, handles, byClient }: EventFilter): number {
  return (
    (playerId === null ? 0 : PLAYER) |
    (scenarioId === null ? 0 : SCENARIO) |
    (nodeId === null ? 0 : NODE) |
    (types === null ? 0 : TYPE) |
    (handles === null ? 0 : HANDLE) |
    (byClient === null ? 0 : BY_CLIENT)
  )
}

/** A key for each combination of a type and a handle of the filter, in a fixed order. */
function keysOf({ playerId, scenarioId, nodeId, types, handles, byClient }: EventFilter): string[] {
  const keys: string[] = []
  for (const type of types ? [...types].sort() : [null]) {
    for (const handle of handles ? [...handles].sort() : [null]) {
      keys.push(join([playerId, scenarioId, nodeId, type, handle, byClient]))
    }
  }
  return keys
}

/** Null when the event lacks a field that the shape fixes. */
function keyOf({ playerId, scenarioId, nodeId, type, handle, byClient }: StreamEvent, shape: number): string | null {
  // The key of a player who follows all of its own events is the player's id.
  if (shape === PLAYER) return playerId
  if ((shape & SCENARIO && scenarioId === null) || (shape & NODE && nodeId === null)) return null
  if (shape & HANDLE && handle === null) return null
  return join([
    shape & PLAYER ? playerId : null,
    shape & SCENARIO ? scenarioId : null,
    shape & NODE ? nodeId : null,
    shape & TYPE ? type : null,
    shape & HANDLE ? handle : null,
    shape & BY_CLIENT ? byClient : null,
  ])
}

const join = (fields: readonly (string | boolean | null)[]): string =>
  fields.filter((field) => field !== null).join(SEPARATOR)
