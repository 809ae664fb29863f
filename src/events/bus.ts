import type { StreamEvent } from './catalogue.ts'

export interface BusListener {
  /** Events of one environment, as one transaction committed them. They may arrive late, out of order, or never. */
  events(events: readonly StreamEvent[]): void
  /** The environment's stream has reached this position. The events were not sent along. */
  reaches(position: bigint): void
  /** Signals may have been lost: read the database. */
  gap(): void
}

/**
 * Announces committed events between the parts of an instance, or between instances. It is a signal, not the record:
 * listeners make up for every loss from Postgres.
 */
export interface Bus {
  /**
   * Announces events of one environment. Never throws and never waits: the events are committed, even if the signal is
   * lost.
   */
  publish(events: readonly StreamEvent[]): void
  /** Resolves once signals arrive, with a function that unsubscribes. */
  subscribe(environmentId: string, listener: BusListener): Promise<() => void>
  /** False while Redis is unreachable. Always true without Redis. */
  isConnected(): boolean
  close(): Promise<void>
}

export function createLocalBus(): Bus {
  const listeners = new Map<string, Set<BusListener>>()
  return {
    publish(events) {
      const [first] = events
      if (!first) return
      for (const listener of listeners.get(first.environmentId) ?? []) listener.events(events)
    },
    async subscribe(environmentId, listener) {
      const group = listeners.get(environmentId) ?? new Set()
      listeners.set(environmentId, group.add(listener))
      return () => {
        group.delete(listener)
        if (group.size === 0) listeners.delete(environmentId)
      }
    },
    isConnected: () => true,
    async close() {
      listeners.clear()
    },
  }
}
