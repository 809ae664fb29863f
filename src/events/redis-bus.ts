import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type Bus, type BusListener, createLocalBus } from './bus.ts'
import type { StreamEvent } from './catalogue.ts'
import { causeOfRedis } from './redis-cause.ts'
import { printSignal, readSignal } from './redis-signal.ts'

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
  const publisher = new Redis(url, OPTIONS)
  // A connection with subscriptions cannot do anything else.
  const subscriber = new Redis(url, OPTIONS)
  // Redis sends signals to all of its databases, and a copy of the Postgres database has the same environment ids.
  const { db = 0 } = publisher.options
  /** One subscription per environment and instance. */
  const channelOf = (environmentId: string): string => `${CHANNELS}${db === 0 ? '' : `${db}:`}${environmentId}`
  const state = new State(publisher, subscriber, { onError, onChange })
  const listeners = new Listeners(subscriber, state, channelOf)
  const outbox = new Outbox(publisher, instance, channelOf)

  async function speak(): Promise<void> {
    try {
      await publisher.publish(BEAT_CHANNEL, '')
      state.mayPublish = true
    } catch (error) {
      if (error instanceof ReplyError) state.refused(error, 'publish')
    }
  }

  async function beat(): Promise<void> {
    const missing = listeners.missing()
    const listening = missing.length > 0 ? listeners.listen(missing) : subscriber.ping().catch(() => undefined)
    await Promise.all([speak(), listening])
    // The `close` event reports a lost connection.
    if (state.isOpen) state.changed()
  }

  for (const connection of [publisher, subscriber]) {
    // An unhandled error would end the process.
    connection.on('error', (error) => void causeOfRedis(url, error).then(onError))
    connection.on('ready', beat)
    connection.on('close', () => state.changed())
  }
  subscriber.on('close', () => listeners.unconfirm())
  const beating = setInterval(beat, BEAT_MS).unref()

  subscriber.on('message', (_channel, message) => {
    const signal = readSignal(message)
    if (!signal || signal.instance === instance) return
    for (const listener of listeners.of(signal.environmentId)) {
      if (signal.events) listener.events(signal.events)
      else listener.reaches(signal.end)
    }
  })

  return {
    publish(events) {
      local.publish(events)
      outbox.add(events)
    },

    isConnected: () => state.isConnected,

    async subscribe(environmentId, listener) {
      const leaveLocal = await local.subscribe(environmentId, listener)
      const leave = await listeners.add(environmentId, listener)
      return () => {
        leaveLocal()
        leave()
      }
    },

    async close() {
      clearInterval(beating)
      outbox.close()
      state.close()
      listeners.clear()
      await local.close()
      publisher.disconnect()
      subscriber.disconnect()
    },
  }
}

/** Whether Redis is usable: both connections are open, and this user may publish and subscribe. */
class State {
  // A reachable Redis may still forbid this user to publish or subscribe.
  mayPublish = true
  maySubscribe = true
  private readonly publisher: Redis
  private readonly subscriber: Redis
  private readonly report: Required<Pick<RedisBusOptions, 'onError' | 'onChange'>>
  private wasConnected: boolean | undefined

  constructor(publisher: Redis, subscriber: Redis, report: Required<Pick<RedisBusOptions, 'onError' | 'onChange'>>) {
    this.publisher = publisher
    this.subscriber = subscriber
    this.report = report
  }

  get isOpen(): boolean {
    return this.publisher.status === 'ready' && this.subscriber.status === 'ready'
  }

  get isConnected(): boolean {
    return this.isOpen && this.mayPublish && this.maySubscribe
  }

  /** Reports a change, once. */
  changed(): void {
    if (this.isConnected === this.wasConnected) return
    this.wasConnected = this.isConnected
    this.report.onChange(this.wasConnected)
  }

  refused(error: unknown, what: 'publish' | 'subscribe'): void {
    if (what === 'publish') this.mayPublish = false
    else this.maySubscribe = false
    this.report.onError(error)
  }

  /** Closing the bus is not reported as a lost connection. */
  close(): void {
    this.wasConnected = false
  }
}

/** The listeners of an instance. Redis is asked for the signals of their environments only. */
class Listeners {
  private readonly subscriber: Redis
  private readonly state: State
  private readonly channelOf: (environmentId: string) => string
  private readonly listeners = new Map<string, Set<BusListener>>()
  /** The environments whose subscription Redis has confirmed. */
  private readonly subscribed = new Set<string>()

  constructor(subscriber: Redis, state: State, channelOf: (environmentId: string) => string) {
    this.subscriber = subscriber
    this.state = state
    this.channelOf = channelOf
  }

  of(environmentId: string): Iterable<BusListener> {
    return this.listeners.get(environmentId) ?? []
  }

  /** The environments whose subscription Redis has not confirmed. */
  missing(): string[] {
    return [...this.listeners.keys()].filter((environmentId) => !this.subscribed.has(environmentId))
  }

  /** The connection was lost, and its subscriptions with it. */
  unconfirm(): void {
    this.subscribed.clear()
  }

  clear(): void {
    this.listeners.clear()
  }

  /** Resolves once signals arrive, or Redis takes too long, with a function that unsubscribes. */
  async add(environmentId: string, listener: BusListener): Promise<() => void> {
    const { listeners, subscribed, subscriber, channelOf } = this
    const group = listeners.get(environmentId) ?? new Set()
    listeners.set(environmentId, group.add(listener))
    if (group.size === 1 && subscriber.status === 'ready') {
      await Promise.race([this.listen([environmentId]), pause(SUBSCRIBE_TIMEOUT_MS, undefined, { ref: false })])
    }
    return () => {
      group.delete(listener)
      if (group.size > 0) return
      listeners.delete(environmentId)
      subscribed.delete(environmentId)
      if (subscriber.status === 'ready') subscriber.unsubscribe(channelOf(environmentId)).catch(() => undefined)
    }
  }

  async listen(environmentIds: readonly string[]): Promise<void> {
    try {
      await this.subscriber.subscribe(...environmentIds.map(this.channelOf))
      this.state.maySubscribe = true
    } catch (error) {
      if (error instanceof ReplyError) this.state.refused(error, 'subscribe')
      return
    }
    for (const environmentId of environmentIds) {
      const group = this.listeners.get(environmentId)
      if (!group || this.subscribed.has(environmentId)) continue
      this.subscribed.add(environmentId)
      // Signals may have been lost until now.
      for (const listener of group) listener.gap()
    }
  }
}

/** Sends events to the other instances, in the next turn of the event loop. */
class Outbox {
  private readonly publisher: Redis
  private readonly instance: string
  private readonly channelOf: (environmentId: string) => string
  /** Events by environment. */
  private readonly unsent = new Map<string, StreamEvent[]>()
  private sending: NodeJS.Immediate | undefined
  /** Signals that Redis has not answered. */
  private underWay = 0
  private readonly sent = (): void => {
    this.underWay -= 1
  }

  constructor(publisher: Redis, instance: string, channelOf: (environmentId: string) => string) {
    this.publisher = publisher
    this.instance = instance
    this.channelOf = channelOf
  }

  /** Adds events of one environment. */
  add(events: readonly StreamEvent[]): void {
    const [first] = events
    if (!first) return
    const others = this.unsent.get(first.environmentId)
    if (others) others.push(...events)
    else this.unsent.set(first.environmentId, [...events])
    // Deferred: the answers of the calls that caused the events go first, and later groups may share the signal.
    this.sending ??= setImmediate(() => this.send())
  }

  /** Sends what was added. */
  close(): void {
    clearImmediate(this.sending)
    if (this.sending) this.send()
  }

  private send(): void {
    const { publisher, instance, channelOf, sent } = this
    this.sending = undefined
    for (const [environmentId, events] of this.unsent) {
      if (publisher.status !== 'ready' || this.underWay >= MAX_SIGNALS) break
      this.underWay += 1
      publisher.publish(channelOf(environmentId), printSignal(instance, environmentId, events)).then(sent, sent)
    }
    this.unsent.clear()
  }
}
