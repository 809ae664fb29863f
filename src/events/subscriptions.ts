import type { Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { Buffers } from './buffers.ts'
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
  const buffers = new Buffers({ reader, bus, onError, onExpired, onDelivery })
  const { begun } = buffers
  let isClosed = false

  return {
    async end(environmentId) {
      await settle(environmentId)
      return reader.end(environmentId)
    },

    async open({ environmentId, after, filter }) {
      if (isClosed) throw new Refusal('unavailable')
      const buffer = await buffers.join(environmentId)
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
      buffers.stop()
      for (const buffer of begun.values()) for (const subscription of buffer.subscriptions) subscription.end()
    },
  }
}
