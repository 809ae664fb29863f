import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { describeEvent } from '../events/describe.ts'
import type { GameEvent } from '../events/feed.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Id } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import css from './event-list.module.css'

const ROW_PX = 36
/** Scrolled further down than this, a person reads: the list must not move. */
const READING_PX = 80

/** Events, the latest first. Only those that can be seen are in the page. */
export function EventList(props: {
  readonly events: readonly GameEvent[]
  /** Called when a person scrolls down to read. */
  readonly onRead?: () => void
}) {
  const { events, onRead } = props
  const environment = useEnvironment()
  const scroller = useRef<HTMLDivElement>(null)
  const [opened, setOpened] = useState<GameEvent>()
  const virtualizer = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => events[events.length - 1 - index]?.cursor ?? index,
    overscan: 8,
  })
  return (
    <>
      <section
        ref={scroller}
        className={css.list}
        aria-label="Events, the latest first"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          if (currentTarget.scrollTop > READING_PX) onRead?.()
        }}
      >
        <ol style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const event = events[events.length - 1 - index]
            if (!event) return null
            return (
              <li key={event.cursor} className={css.event} style={{ transform: `translateY(${start}px)` }}>
                <Time at={event.occurredAt} />
                <button type="button" className={css.what} onClick={() => setOpened(event)}>
                  {describeEvent(event)}
                </button>
                <Link href={`/env/${environment}/players/${event.playerId}`} className={css.player}>
                  {event.playerId}
                </Link>
                <span className={css.scenario}>{event.scenarioId ?? '–'}</span>
              </li>
            )
          })}
        </ol>
      </section>
      {opened && (
        <Dialog title={describeEvent(opened)} onClose={() => setOpened(undefined)}>
          <dl className={css.details}>
            <dt>Time of the call</dt>
            <dd>
              <Time at={opened.occurredAt} />
            </dd>
            <dt>Player</dt>
            <dd>
              <Link href={`/env/${environment}/players/${opened.playerId}`}>{opened.playerId}</Link>
            </dd>
            <dt>Run</dt>
            <dd>{opened.runId === null ? '–' : <Id of={opened.runId} />}</dd>
          </dl>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
          <pre tabIndex={0}>{JSON.stringify(opened, null, 2)}</pre>
        </Dialog>
      )}
    </>
  )
}
