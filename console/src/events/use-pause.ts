import { useState } from 'react'
import type { FeedState, GameEvent } from './feed.ts'

interface Pause {
  /** By its button, or since a person reads further down. */
  readonly by: 'button' | 'reading'
  readonly events: readonly GameEvent[]
  readonly heard: number
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
export function usePause({ events, heard }: Pick<FeedState, 'events' | 'heard'>): Paused {
  const [pause, setPause] = useState<Pause | null>(null)
  // A feed that ended and began anew counts from nothing.
  const waiting = pause === null ? 0 : Math.max(0, heard - pause.heard)
  return {
    isPaused: pause !== null,
    shown: pause?.events ?? events,
    waiting,
    lost: Math.max(0, waiting - events.length),
    toggle: () => setPause(pause === null ? { by: 'button', events, heard } : null),
    read: (isReading) =>
      setPause((before) => {
        if (isReading) return before ?? { by: 'reading', events, heard }
        return before?.by === 'reading' ? null : before
      }),
  }
}
