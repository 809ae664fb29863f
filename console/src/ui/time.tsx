import { agoText } from './ago-text.ts'
import { useNow } from './now.ts'
import { usePreferences } from './preferences.ts'

type Zone = 'UTC' | 'local'

const formats = new Map<string, Intl.DateTimeFormat>()

/** A moment as text, such as `2026-12-01 10:00:00`, in UTC or in the time of this computer. */
export function timeText(at: string | number | Date, zone: Zone, parts: 'time' | 'minute' | 'day' = 'time'): string {
  const key = `${zone} ${parts}`
  let format = formats.get(key)
  if (!format) {
    const day = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
    const minute = { ...day, hour: '2-digit', minute: '2-digit' } as const
    const options = { day, minute, time: { ...minute, second: '2-digit' } as const }[parts]
    // The Swedish form is that of ISO 8601.
    format = new Intl.DateTimeFormat('sv-SE', { ...options, timeZone: zone === 'UTC' ? 'UTC' : undefined })
    formats.set(key, format)
  }
  return format.format(new Date(at))
}

/** A moment in the preferred zone. The other zone shows when a pointer rests on it. */
export function Time({ at, parts = 'time' }: { at: string | null; parts?: 'time' | 'minute' | 'day' }) {
  const { times } = usePreferences()
  if (at === null) return <span className="muted">never</span>
  const title = `${timeText(at, 'UTC')} UTC, ${timeText(at, 'local')} local time`
  return (
    <time translate="no" dateTime={at} title={title} className="time">
      {parts === 'time' ? (
        <>
          <span className="date">{timeText(at, times, 'day')} </span>
          {timeText(at, times).slice(11)}
        </>
      ) : (
        timeText(at, times, parts)
      )}
      {parts !== 'day' && <span className="zone"> {times}</span>}
    </time>
  )
}

/**
 * How long ago a moment was, or how long it still takes: for lists, which are read from now. The exact time shows when a
 * pointer rests on it, and in its place for a person who prefers exact times.
 */
export function Ago({ at }: { at: string | null }) {
  const { times, lists } = usePreferences()
  const now = useNow()
  if (at === null || lists === 'exact') return <Time at={at} />
  return (
    <time translate="no" dateTime={at} title={`${timeText(at, times)} ${times}`} className="time">
      {agoText(now - Date.parse(at))}
    </time>
  )
}

/** An exact moment, and how long ago it was: for the facts about one thing. */
export function Moment({ at }: { at: string | null }) {
  const now = useNow()
  return (
    <span className="moment">
      <Time at={at} />
      {at !== null && <small className="muted">, {agoText(now - Date.parse(at))}</small>}
    </span>
  )
}
