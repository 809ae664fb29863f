import { useEffect, useState } from 'react'
import { useClient } from 'urql'
import { useSocket } from '../session/socket.tsx'
import { EventFeed, type EventFilter, type FeedState } from './feed.ts'

const CONNECTING: FeedState = {
  status: 'connecting',
  events: [],
  dropped: 0,
  lostAt: null,
  resumed: null,
  hasGap: false,
  ending: null,
}

/** Follows events while a component is shown. Another filter begins anew. */
export function useEvents(filter: EventFilter, limit: number): FeedState {
  const client = useClient()
  const socket = useSocket()
  const [state, setState] = useState(CONNECTING)
  const key = JSON.stringify(filter)
  useEffect(() => {
    setState(CONNECTING)
    const feed = new EventFeed({ client, socket, filter: JSON.parse(key), limit, onState: setState })
    return () => feed.close()
  }, [client, socket, key, limit])
  return state
}
