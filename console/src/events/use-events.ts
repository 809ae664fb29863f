import { useCallback, useEffect, useState } from 'react'
import { useClient } from 'urql'
import { useSocket } from '../session/socket.tsx'
import { CONNECTING, EventFeed, type EventFilter, type FeedState } from './feed.ts'

export interface LiveEvents extends FeedState {
  /** Begins an ended feed again. */
  readonly restart: () => void
}

/** Follows events while a component is shown. Another filter begins another feed. */
export function useEvents(filter: EventFilter, limit: number): LiveEvents {
  const client = useClient()
  const socket = useSocket()
  const [state, setState] = useState(CONNECTING)
  const [attempt, setAttempt] = useState(0)
  const key = JSON.stringify(filter)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another feed
  useEffect(() => {
    setState(CONNECTING)
    const feed = new EventFeed({ client, socket, filter: JSON.parse(key), limit, onState: setState })
    return () => feed.close()
  }, [client, socket, key, limit, attempt])
  const restart = useCallback(() => setAttempt((before) => before + 1), [])
  return { ...state, restart }
}
