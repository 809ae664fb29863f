import { EventList } from '../../events/event-list.tsx'
import { FeedBadge, FeedNotices } from '../../events/feed-status.tsx'
import { useEvents } from '../../events/use-events.ts'
import { Empty, Loading } from '../../ui/states.tsx'
import type { TabProps } from './tab.ts'

const LIMIT = 1_000

export function EventsTab({ player }: TabProps) {
  const state = useEvents({ environment: player.environment, playerId: player.playerId }, LIMIT)
  return (
    <>
      <p>
        <FeedBadge status={state.status} /> Events of this player as they happen, and the latest before.
      </p>
      <FeedNotices state={state} />
      {state.events.length > 0 ? (
        <EventList events={state.events} />
      ) : state.status === 'connecting' ? (
        <Loading what="Connecting" />
      ) : (
        <Empty title="No events yet" />
      )}
    </>
  )
}
