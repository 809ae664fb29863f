import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type Bus, type BusListener, createLocalBus } from './bus.ts'
import { EVENT_FIELDS, type EventField, type StreamEvent } from './catalogue.ts'
import { causeOfRedis } from './redis-cause.ts'

export interface RedisBusOptions {
  readonly url: string
  /** Called with the cause, for every failed attempt to use Redis. */
  readonly onError?: (error: unknown) => void
  /** Called when Redis becomes unusable and when it is usable again. */
  readonly onChange?: (isConnected: boolean) => void
}

const CHANNELS = 'tierway:events:'
/**
 * After this timeout a subscription starts without Redis. Until Redis answers, the service reads new events from
 * Postgres each second.
 */
const SUBSCRIBE_TIMEOUT_MS = 1_000
/** How often Redis is probed: connections stay open when Redis is frozen or refuses to publish. */
const BEAT_MS = 1_000
/** A connection is replaced when Redis does not answer a command for this long. */
const ANSWER_TIMEOUT_MS = 2_500
/**
 * The channel of the probe, without subscribers. Its name has the same form as the others, so that the same access rule
 * covers it.
 */
const BEAT_CHANNEL = `${CHANNELS}beat`
/** The maximum of unanswered signals. Further signals are dropped: listeners then read the events from Postgres. */
const MAX_SIGNALS = 1_000
/** A longer signal carries only the position that the stream has reached. */
const MAX_SIGNAL_LENGTH = 256 * 1024

const OPTIONS: RedisOptions = {
  connectTimeout: 2_000,
  socketTimeout: ANSWER_TIMEOUT_MS,
  keepAlive: 10_000,
  // A signal that cannot be sent now is not worth sending later.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // The bus renews subscriptions itself: listeners must look for missed events only after signals arrive again.
  autoResubscribe: false,
  retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1_000),
}

/**
 * The bus between instances. Redis carries signals and stores nothing. While it is unreachable, events come later, from
 * Postgres, and no write fails.
 */
export function createRedisBus({ url, onError = () => {}, onChange = () => {} }: RedisBusOptions): Bus {
  const instance = randomUUID()
  const local = createLocalBus()
  const listeners = new Map<string, Set<BusListener>>()
  /** The environments whose subscription Redis has confirmed. */
  const subscribed = new Set<string>()
  const publisher = new Redis(url, OPTIONS)
  // A connection with subscriptions cannot do anything else.
  const subscriber = new Redis(url, OPTIONS)
  // Redis sends signals to all of its databases, and a copy of the Postgres database has the same environment ids.
  const { db = 0 } = publisher.options
  /** One subscription per environment and instance. */
  const channelOf = (environmentId: string): string => `${CHANNELS}${db === 0 ? '' : `${db}:`}${environmentId}`
  /** Events by environment, to be sent in the next turn of the event loop. */
  const unsent = new Map<string, StreamEvent[]>()
  let sending: NodeJS.Immediate | undefined
  let underWay = 0
  // A reachable Redis may still forbid this user to publish or subscribe.
  let mayPublish = true
  let maySubscribe = true
  let wasConnected: boolean | undefined

  const isConnected = (): boolean =>
    publisher.status === 'ready' && subscriber.status === 'ready' && mayPublish && maySubscribe

  function changed(): void {
    if (isConnected() === wasConnected) return
    wasConnected = isConnected()
    onChange(wasConnected)
  }

  function refused(error: unknown, what: 'publish' | 'subscribe'): void {
    if (what === 'publish') mayPublish = false
    else maySubscribe = false
    onError(error)
  }

  async function listen(environmentIds: readonly string[]): Promise<void> {
    try {
      await subscriber.subscribe(...environmentIds.map(channelOf))
      maySubscribe = true
    } catch (error) {
      if (error instanceof ReplyError) refused(error, 'subscribe')
      return
    }
    for (const environmentId of environmentIds) {
      const group = listeners.get(environmentId)
      if (!group || subscribed.has(environmentId)) continue
      subscribed.add(environmentId)
      // Signals may have been lost until now.
      for (const listener of group) listener.gap()
    }
  }

  async function speak(): Promise<void> {
    try {
      await publisher.publish(BEAT_CHANNEL, '')
      mayPublish = true
    } catch (error) {
      if (error instanceof ReplyError) refused(error, 'publish')
    }
  }

  async function beat(): Promise<void> {
    const missing = [...listeners.keys()].filter((environmentId) => !subscribed.has(environmentId))
    const listening = missing.length > 0 ? listen(missing) : subscriber.ping().catch(() => undefined)
    await Promise.all([speak(), listening])
    // The `close` event reports a lost connection.
    if (publisher.status === 'ready' && subscriber.status === 'ready') changed()
  }

  for (const connection of [publisher, subscriber]) {
    // An unhandled error would end the process.
    connection.on('error', (error) => void causeOfRedis(url, error).then(onError))
    connection.on('ready', beat)
    connection.on('close', changed)
  }
  subscriber.on('close', () => subscribed.clear())
  const beating = setInterval(beat, BEAT_MS).unref()

  subscriber.on('message', (_channel, message) => {
    const signal = readSignal(message)
    if (!signal || signal.instance === instance) return
    for (const listener of listeners.get(signal.environmentId) ?? []) {
      if (signal.events) listener.events(signal.events)
      else listener.reaches(signal.end)
    }
  })

  function publish(events: readonly StreamEvent[]): void {
    local.publish(events)
    const [first] = events
    if (!first) return
    const others = unsent.get(first.environmentId)
    if (others) others.push(...events)
    else unsent.set(first.environmentId, [...events])
    // Deferred: the answers of the calls that caused the events go first, and later groups may share the signal.
    sending ??= setImmediate(send)
  }

  function send(): void {
    sending = undefined
    for (const [environmentId, events] of unsent) {
      if (publisher.status !== 'ready' || underWay >= MAX_SIGNALS) break
      underWay += 1
      publisher.publish(channelOf(environmentId), printSignal(instance, environmentId, events)).then(sent, sent)
    }
    unsent.clear()
  }

  function sent(): void {
    underWay -= 1
  }

  return {
    publish,
    isConnected,

    async subscribe(environmentId, listener) {
      const leaveLocal = await local.subscribe(environmentId, listener)
      const group = listeners.get(environmentId) ?? new Set()
      listeners.set(environmentId, group.add(listener))
      if (group.size === 1 && subscriber.status === 'ready') {
        await Promise.race([listen([environmentId]), pause(SUBSCRIBE_TIMEOUT_MS, undefined, { ref: false })])
      }
      return () => {
        leaveLocal()
        group.delete(listener)
        if (group.size > 0) return
        listeners.delete(environmentId)
        subscribed.delete(environmentId)
        if (subscriber.status === 'ready') subscriber.unsubscribe(channelOf(environmentId)).catch(() => undefined)
      }
    },

    async close() {
      clearInterval(beating)
      clearImmediate(sending)
      if (sending) send()
      // Closing the bus is not reported as a lost connection.
      wasConnected = false
      listeners.clear()
      await local.close()
      publisher.disconnect()
      subscriber.disconnect()
    },
  }
}

interface Signal {
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

function printSignal(instance: string, environmentId: string, events: readonly StreamEvent[]): string {
  const end = String(events.at(-1)?.position ?? 0)
  const text = JSON.stringify([instance, environmentId, end, events.map(sentOf)])
  return text.length <= MAX_SIGNAL_LENGTH ? text : JSON.stringify([instance, environmentId, end, null])
}

/** Undefined for other messages: other programs, and other versions of this service, may use the same Redis. */
function readSignal(message: string): Signal | undefined {
  try {
    const [instance, environmentId, end, sent]: [string, string, string, SentEvent[] | null] = JSON.parse(message)
    const events = sent?.map((event) => receivedEvent(environmentId, event))
    return { instance, environmentId, end: BigInt(end), events: events ?? null }
  } catch {
    return undefined
  }
}
