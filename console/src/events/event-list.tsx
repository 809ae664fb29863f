import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useRef, useState } from 'react'
import { Link } from 'wouter'
import { PlayerName } from '../players/player-name.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Ago } from '../ui/time.tsx'
import { createdNickname, describeEvent, toneOf } from './describe.ts'
import { EventDetails } from './event-details.tsx'
import css from './event-list.module.css'
import type { GameEvent } from './feed.ts'

const ROW_PX = 36
/** When the list is scrolled further down than this, a person is reading: the list must not move. */
const READING_PX = 80
const SEEK_FRAMES = 30

/** Events, the latest first. Only those that can be seen are in the page. */
export function EventList(props: {
  readonly events: readonly GameEvent[]
  /** Called with true when a person begins to read, and with false when the list is at its top again. */
  readonly onReading?: (isReading: boolean) => void
}) {
  const { events, onReading } = props
  const environment = useEnvironment()
  const scroller = useRef<HTMLDivElement>(null)
  /** The row that the arrow keys move to, counted from the latest event. */
  const sought = useRef<number | null>(null)
  const [opened, setOpened] = useState<GameEvent>()
  const virtualizer = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => events[events.length - 1 - index]?.cursor ?? index,
    overscan: 8,
  })

  function onKey(event: KeyboardEvent<HTMLElement>): void {
    const row = event.target instanceof Element ? event.target.closest('li') : null
    const from = row === null ? sought.current : Number(row.ariaPosInSet) - 1
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -events.length, End: events.length }[event.key]
    if (step === undefined) return
    if (from === null) {
      // At once: the browser would scroll thousands of rows step by step, and a busy page may interrupt it.
      if (event.key !== 'Home') return
      event.preventDefault()
      virtualizer.scrollToIndex(0)
      return
    }
    event.preventDefault()
    onReading?.(true)
    const index = Math.min(events.length - 1, Math.max(0, from + step))
    virtualizer.scrollToIndex(index)
    sought.current = index
    seek(SEEK_FRAMES)
  }

  /** Focuses a row. It is in the page only once the list has scrolled to it; until then the list has the focus. */
  function seek(frames: number): void {
    if (sought.current === null) return
    const row = scroller.current?.querySelector(`li[aria-posinset="${sought.current + 1}"]`)
    if (row) sought.current = null
    if (row) row.querySelector('button')?.focus({ preventScroll: true })
    else if (frames > 0) {
      scroller.current?.focus({ preventScroll: true })
      requestAnimationFrame(() => seek(frames - 1))
    }
  }

  /** Whether the keys have gone below the first event. The scroll event of the top of the list may come later. */
  const isBelowTop = (): boolean =>
    (sought.current ?? 0) > 0 || scroller.current?.querySelector('li:not([aria-posinset="1"]) :focus-visible') != null

  return (
    <>
      <section
        ref={scroller}
        className={css.list}
        aria-label="Events, the latest first"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        onKeyDown={onKey}
        onScroll={({ currentTarget: { scrollTop } }) => {
          if (scrollTop > READING_PX) onReading?.(true)
          else if (scrollTop <= 0 && !opened && !isBelowTop()) onReading?.(false)
        }}
      >
        <ol translate="no" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const event = events[events.length - 1 - index]
            if (!event) return null
            return (
              <li
                key={event.cursor}
                aria-posinset={index + 1}
                aria-setsize={events.length}
                className={`${css.event} ${css[toneOf(event)]}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Ago at={event.occurredAt} />
                <button
                  type="button"
                  className={css.what}
                  onClick={() => {
                    onReading?.(true)
                    setOpened(event)
                  }}
                >
                  {describeEvent(event)}
                </button>
                {event.playerId === null ? (
                  <span className={css.player} />
                ) : (
                  <span className={css.player}>
                    <PlayerName of={event.playerId} nickname={createdNickname(event)} />
                  </span>
                )}
                {event.scenarioId === null ? (
                  <span className={css.scenario} />
                ) : (
                  <Link href={`/env/${environment}/scenarios/${event.scenarioId}`} className={css.scenario}>
                    {event.scenarioId}
                  </Link>
                )}
              </li>
            )
          })}
        </ol>
      </section>
      {opened && (
        <EventDetails
          event={opened}
          onClose={() => {
            setOpened(undefined)
            if ((scroller.current?.scrollTop ?? 0) <= READING_PX) onReading?.(false)
          }}
        />
      )}
    </>
  )
}
