import { useState } from 'react'
import type { FeedState, GameEvent } from './feed.ts'

interface Pause {
  /** Paused by the button, or because a person reads further down. */
  readonly by: 'button' | 'reading'
  readonly events: readonly GameEvent[]
  readonly heard: number
}

export interface Paused {
  readonly isPaused: boolean
  readonly shown: readonly GameEvent[]
  /** How many events came since, and how many of them will not be shown because they are no longer kept. */
  readonly waiting: number
  readonly lost: number
  readonly toggle: () => void
  readonly read: (isReading: boolean) => void
}

/** Keeps a list unchanged while its feed continues. */
export function usePause({ events, heard }: Pick<FeedState, 'events' | 'heard'>): Paused {
  const [pause, setPause] = useState<Pause | null>(null)
  // A feed that ended and began again counts from 0.
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
