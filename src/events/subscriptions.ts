import type { Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { createSemaphore } from '../base/semaphore.ts'
import { StreamBuffer } from './buffer.ts'
import type { Bus } from './bus.ts'
import type { StreamEvent } from './catalogue.ts'
import type { StreamPoint } from './cursor.ts'
import type { EventFilter } from './filter.ts'
import { createStreamReader } from './read-stream.ts'
import { Subscription } from './subscription.ts'

export interface SubscriptionsOptions {
  readonly pool: Pool
  readonly bus: Bus
  /** Resolves once all events that were committed before have their positions. */
  readonly settle: (environmentId: string) => Promise<void>
  /** Called when the database could not be read. The next second tries again. */
  readonly onError?: (error: unknown) => void
  /** Called when the database no longer has the events that subscriptions of an environment have received. */
  readonly onExpired?: (environmentId: string) => void
  /** Called with the oldest event of each delivered batch. */
  readonly onDelivery?: (event: StreamEvent) => void
}

export interface Subscriptions {
  /** An environment's last committed event. */
  end(environmentId: string): Promise<StreamPoint>
  /**
   * Opens a subscription. Throws `cursor expired` for a point that retention has removed, that does not exist yet, or
   * that belongs to another history.
   */
  open(request: SubscriptionRequest): Promise<Subscription>
  /** Events that exist and are not in memory yet, over all streams with subscriptions. */
  lag(): number
  /** Ends every subscription, and refuses new ones. */
  close(): Promise<void>
}

export interface SubscriptionRequest {
  readonly environmentId: string
  /** The first event is the one after this point. Null begins at the present end. */
  readonly after: StreamPoint | null
  readonly filter: EventFilter
}

/** Pages of single players that are read at once. Many players can return together, and the game needs the database. */
const MAX_PLAYER_READS = 2
/** How often the ends of the streams are compared with the database: a lost signal delays events and loses none. */
const QUIET_MS = 1_000

/** The subscriptions of this instance: one buffer for each environment with a subscription. */
export function createSubscriptions({
  pool,
  bus,
  settle,
  onError = () => {},
  onExpired = () => {},
  onDelivery = () => {},
}: SubscriptionsOptions): Subscriptions {
  const reader = createStreamReader(pool)
  const playerReads = createSemaphore(MAX_PLAYER_READS)
  const buffers = new Map<string, Promise<StreamBuffer>>()
  const begun = new Map<string, StreamBuffer>()
  let quiet: NodeJS.Timeout | undefined
  let isClosed = false

  /** One statement for all environments, once a second. */
  async function compareEnds(): Promise<void> {
    const known = new Map<StreamBuffer, bigint>()
    for (const buffer of begun.values()) {
      buffer.tick()
      known.set(buffer, buffer.head)
    }
    try {
      for (const [environmentId, end] of await reader.ends([...begun.keys()])) {
        const buffer = begun.get(environmentId)
        if (buffer) buffer.compare(known.get(buffer) ?? 0n, end)
      }
    } catch (error) {
      onError(error)
    }
    if (begun.size > 0) scheduleQuiet()
  }

  function scheduleQuiet(): void {
    clearTimeout(quiet)
    quiet = setTimeout(compareEnds, QUIET_MS).unref()
  }

  function acquire(environmentId: string): Promise<StreamBuffer> {
    const known = buffers.get(environmentId)
    if (known) return known
    const opening = begin(environmentId)
    buffers.set(environmentId, opening)
    opening.catch(() => buffers.delete(environmentId))
    return opening
  }

  async function join(environmentId: string): Promise<StreamBuffer> {
    for (;;) {
      const opening = acquire(environmentId)
      const buffer = await opening
      // Its last subscription may have ended in the meantime.
      if (buffers.get(environmentId) !== opening) continue
      buffer.join()
      return buffer
    }
  }

  async function begin(environmentId: string): Promise<StreamBuffer> {
    const forget = () => {
      if (begun.get(environmentId) !== buffer) return
      leave()
      buffers.delete(environmentId)
      begun.delete(environmentId)
      if (begun.size === 0) clearTimeout(quiet)
    }
    const buffer = new StreamBuffer({
      environmentId,
      reader,
      playerReads,
      onError,
      onDelivery,
      onIdle: forget,
      onExpired: () => {
        if (begun.get(environmentId) === buffer) onExpired(environmentId)
        forget()
      },
    })
    // Signals arrive before the end is read, so nothing falls in between.
    const leave = await bus.subscribe(environmentId, buffer)
    try {
      buffer.begin(await reader.end(environmentId))
    } catch (error) {
      leave()
      throw error
    }
    if (begun.size === 0) scheduleQuiet()
    begun.set(environmentId, buffer)
    return buffer
  }

  return {
    async end(environmentId) {
      await settle(environmentId)
      return reader.end(environmentId)
    },

    async open({ environmentId, after, filter }) {
      if (isClosed) throw new Refusal('unavailable')
      const buffer = await join(environmentId)
      try {
        // Events of calls that were answered before belong to the past.
        if (after === null) await settle(environmentId)
        if (after !== null && !(await buffer.has(after, filter.playerId))) throw new Refusal('cursorExpired')
        const position = after?.position ?? buffer.head
        const isAtHand = position > buffer.head || buffer.recentAfter(position) !== undefined
        const first = isAtHand ? null : await buffer.readAfter(position, filter.playerId)
        if (isClosed) throw new Refusal('unavailable')
        if (begun.get(environmentId) !== buffer) throw new Refusal('cursorExpired')
        return new Subscription(buffer, { filter, position, first })
      } catch (error) {
        buffer.leave()
        throw error
      }
    },

    lag() {
      let lag = 0n
      for (const { target, head } of begun.values()) if (target > head) lag += target - head
      return Number(lag)
    },

    async close() {
      isClosed = true
      clearTimeout(quiet)
      for (const buffer of begun.values()) for (const subscription of buffer.subscriptions) subscription.end()
    },
  }
}
