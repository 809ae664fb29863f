import { Button } from '../ui/button.tsx'
import { Empty, Loading } from '../ui/states.tsx'
import { number } from '../ui/words.ts'
import { EventList } from './event-list.tsx'
import type { EventFilter } from './feed.ts'
import { FeedBadge, FeedNotices } from './feed-status.tsx'
import css from './live-feed.module.css'
import { useEventRate } from './use-event-rate.ts'
import { useEvents } from './use-events.ts'
import { usePause } from './use-pause.ts'

const LIMIT = 5_000

interface LiveFeedProps {
  readonly filter: EventFilter
  readonly empty: string
}

/** The events that match a filter, as they happen. With another filter the feed begins again, not paused. */
export const LiveFeed = (props: LiveFeedProps) => <Feed key={JSON.stringify(props.filter)} {...props} />

function Feed({ filter, empty }: LiveFeedProps) {
  const state = useEvents(filter, LIMIT)
  const { isPaused, shown, waiting, lost, toggle, read } = usePause(state)
  const rate = useEventRate(state)
  return (
    <section className={css.feed} aria-label="Feed">
      <div className={css.bar}>
        <Button tone={isPaused ? 'primary' : 'plain'} onClick={toggle}>
          {!isPaused ? 'Pause' : waiting === 0 ? 'Resume' : `Resume: ${number(waiting)} waiting`}
        </Button>
        <FeedBadge status={state.status} />
        {shown.length > 0 && (
          <span className="muted">
            {number(shown.length)} shown
            {rate !== null && `, ${number(rate)} arrived in the last minute`}
            {state.dropped > 0 &&
              `. The page keeps the latest ${number(LIMIT)}: ${number(state.dropped)} older ones are not shown`}
            {lost > 0 && `. ${number(lost)} of those waiting will not be shown either`}
          </span>
        )}
      </div>
      <FeedNotices state={state} />
      {shown.length > 0 ? (
        <EventList events={shown} onReading={read} />
      ) : state.status === 'connecting' ? (
        <Loading what="Connecting" />
      ) : state.status === 'ended' ? null : (
        <Empty title={empty}>They appear here as players log in, reach levels and buy premium.</Empty>
      )}
    </section>
  )
}
