import { LiveFeed } from '../../events/live-feed.tsx'
import type { TabProps } from './tab.ts'

export const EventsTab = ({ player: { environment, playerId } }: TabProps) => (
  <LiveFeed filter={{ environment, playerId }} empty="No events yet" />
)
