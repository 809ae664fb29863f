import { useState } from 'react'
import type { FeedState, GameEvent } from '../events/feed.ts'

interface Pause {
  /** By its button, or since a person reads further down. */
  readonly by: 'button' | 'reading'
  readonly events: readonly GameEvent[]
  readonly dropped: number
}

export interface Paused {
  readonly isPaused: boolean
  /** The events of the moment of the pause, or the present ones. */
  readonly shown: readonly GameEvent[]
  /** Events that came since, and those of them that will not be shown, as there were more than are kept. */
  readonly waiting: number
  readonly lost: number
  readonly toggle: () => void
  /** Pauses for a person who reads, and goes on when they have read. */
  readonly read: (isReading: boolean) => void
}

/** Holds a list still while its feed goes on. */
export function usePause({ events, dropped }: Pick<FeedState, 'events' | 'dropped'>): Paused {
  const [pause, setPause] = useState<Pause | null>(null)
  const since = pause === null ? 0 : dropped + events.length - (pause.dropped + pause.events.length)
  return {
    isPaused: pause !== null,
    shown: pause?.events ?? events,
    waiting: since,
    lost: Math.max(0, since - events.length),
    toggle: () => setPause(pause === null ? { by: 'button', events, dropped } : null),
    read: (isReading) =>
      setPause((before) => {
        if (isReading) return before ?? { by: 'reading', events, dropped }
        return before?.by === 'reading' ? null : before
      }),
  }
}
