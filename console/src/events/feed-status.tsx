import { Notice } from '../ui/states.tsx'
import { number } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import type { FeedState } from './feed.ts'

const TEXTS = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting', ended: 'Ended' } as const
const TONES = { connecting: '', live: 'good', reconnecting: 'warn', ended: 'bad' } as const

export const FeedBadge = ({ status }: Pick<FeedState, 'status'>) => (
  <span className={`badge ${TONES[status]}`} role="status">
    {TEXTS[status]}
  </span>
)

/** What a person must know of a feed: that the connection is lost, what was caught up, what is missing. */
export function FeedNotices({ state }: { state: FeedState }) {
  const { status, lostAt, resumed, hasGap, dropped, ending } = state
  return (
    <>
      {status === 'reconnecting' && lostAt !== null && (
        <Notice tone="warning">
          The connection was lost at <Time at={new Date(lostAt).toISOString()} />. Nothing will be missed: what happens
          meanwhile is told when it is back.
        </Notice>
      )}
      {status === 'live' && resumed && (
        <Notice tone="success">
          Back after {seconds(resumed.awayMs)}, without a gap:{' '}
          {resumed.caughtUp === 1 ? '1 event was' : `${number(resumed.caughtUp)} events were`} caught up.
        </Notice>
      )}
      {hasGap && (
        <Notice tone="warning">
          Some events between those shown have left the history. They cannot be shown any more.
        </Notice>
      )}
      {dropped > 0 && (
        <p className="muted">
          The page keeps {number(state.events.length)} events. {number(dropped)} older ones are no longer shown.
        </p>
      )}
      {ending !== null && <Notice tone="error">{ending}</Notice>}
    </>
  )
}

const seconds = (ms: number): string =>
  ms < 90_000 ? `${Math.max(1, Math.round(ms / 1000))} s` : `${Math.round(ms / 60_000)} min`
