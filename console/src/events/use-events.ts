import { useCallback, useEffect, useState } from 'react'
import { useClient } from 'urql'
import { useSocket } from '../session/socket.tsx'
import { CONNECTING, EventFeed, type EventFilter, type FeedState } from './feed.ts'

/** What a page knows of its feed. */
export interface LiveEvents extends FeedState {
  /** Begins a feed anew that has ended. */
  readonly restart: () => void
}

/** Follows events while a component is shown. Another filter begins anew. */
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
