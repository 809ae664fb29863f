import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import type { Resumption } from './catch-up.ts'
import type { FeedState, Gap } from './feed.ts'
import type { LiveEvents } from './use-events.ts'

const TEXTS = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting', ended: 'Ended' } as const
const TONES = { connecting: '', live: 'good', reconnecting: 'warn', ended: 'bad' } as const

export const FeedBadge = ({ status }: Pick<FeedState, 'status'>) => (
  <span className={`badge ${TONES[status]}`} role="status">
    {TEXTS[status]}
  </span>
)

/** The notices about a feed: the connection is lost, events were caught up, or events may be missing. */
export function FeedNotices({ state }: { state: LiveEvents }) {
  const { status, lostAt, resumed, gap, problem, restart } = state
  return (
    <>
      {status === 'reconnecting' && lostAt !== null && (
        <Notice tone="warning">
          The connection was lost at <Time at={new Date(lostAt).toISOString()} />. {problem} The page keeps trying, and
          then shows what happened meanwhile.
        </Notice>
      )}
      {status === 'live' && resumed && <BackNotice key={resumed.awayMs} resumed={resumed} />}
      {gap && <GapNotice key={`${gap.from} ${gap.to}`} gap={gap} />}
      {status === 'ended' && (
        <Notice tone="error">
          {problem} <Button onClick={restart}>Try again</Button>
        </Notice>
      )}
    </>
  )
}

function BackNotice({ resumed: { awayMs, caughtUp, isDone } }: { resumed: Resumption }) {
  const [isRead, setRead] = useState(false)
  if (isRead) return null
  return (
    <Notice tone="success">
      Back after {duration(awayMs)}
      {caughtTextOf(caughtUp, isDone)}{' '}
      <Button tone="quiet" label="Dismiss" onClick={() => setRead(true)}>
        ×
      </Button>
    </Notice>
  )
}

function caughtTextOf(caughtUp: number | null, isDone: boolean): string {
  if (caughtUp === null) return ', without a gap. How many events were caught up could not be read.'
  const events = caughtUp === 1 ? '1 event' : `${number(caughtUp)} events`
  return isDone
    ? `, without a gap: ${events} ${caughtUp === 1 ? 'was' : 'were'} caught up.`
    : `. Catching up: ${events} so far.`
}

function GapNotice({ gap: { from, to } }: { gap: Gap }) {
  const [isRead, setRead] = useState(false)
  if (isRead) return null
  return (
    <Notice tone="warning">
      The service no longer has the last event that was shown
      {from !== null && (
        <>
          , of <Time at={from} />
        </>
      )}
      . The event was removed because of its age, or the database was restored from a backup. The list was read again
      {to !== null && (
        <>
          {' '}
          and begins at <Time at={to} />
        </>
      )}
      . Events between the two may be missing, and what was shown before may have been undone.{' '}
      <Button tone="quiet" label="Dismiss" onClick={() => setRead(true)}>
        ×
      </Button>
    </Notice>
  )
}

const duration = (ms: number): string =>
  ms < 90_000 ? `${Math.max(1, Math.round(ms / 1000))} s` : `${Math.round(ms / 60_000)} min`
