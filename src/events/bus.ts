import type { StreamEvent } from './catalogue.ts'

export interface BusListener {
  /** Events of one environment, as one transaction committed them. They may arrive late, out of order, or never. */
  events(events: readonly StreamEvent[]): void
  /** The environment's stream is known to reach this position, whose events did not come along. */
  reaches(position: bigint): void
  /** Signals may have been missed: look at the database. */
  gap(): void
}

/**
 * Carries the news of committed events between the parts of an instance, or between instances. It is a signal, not the
 * record: whoever listens makes good every loss from Postgres.
 */
export interface Bus {
  /** Events of one environment. Never throws and never waits: they are committed, whatever becomes of the signal. */
  publish(events: readonly StreamEvent[]): void
  /** Resolves once signals are heard; call the answer to end it. */
  subscribe(environmentId: string, listener: BusListener): Promise<() => void>
  /** Whether signals reach other instances now. Where there are none, they do. */
  isConnected(): boolean
  close(): Promise<void>
}

/** The bus of a single instance. */
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
