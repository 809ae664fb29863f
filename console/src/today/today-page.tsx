import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { Link } from 'wouter'
import { conflictText, entriesOf } from '../calendar/entries.ts'
import { EntryTable } from '../calendar/entry-table.tsx'
import { calendarQuery } from '../calendar/operations.ts'
import { useGameNow } from '../shell/clock.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { DAY_MS } from '../ui/lengths.ts'
import { Page, Panel } from '../ui/page.tsx'
import { Answer, Empty, Notice } from '../ui/states.tsx'
import { Changes } from './changes.tsx'
import { daysAt } from './compare.ts'
import { TodayFigures } from './figures.tsx'
import { todayQuery } from './operations.ts'
import { Outliers } from './outliers.tsx'
import { Problems } from './problems.tsx'
import { Seasons } from './seasons.tsx'
import css from './today.module.css'
import { useFresh } from './use-fresh.ts'

const EVERY_MS = 60_000
const AHEAD_DAYS = 14
const MOST_ENTRIES = 8

/** How the environment is now: seasons, figures, what is wrong, what changed, what comes next. */
export default function TodayPage() {
  const environment = useEnvironment()
  const [now, readAgain] = useEveryMinute()
  return (
    <Page
      title="Today"
      actions={
        <>
          <span className="muted">{dayText(now)}, UTC</span>
          <Button onClick={readAgain}>Refresh</Button>
        </>
      }
    >
      <Today key={environment} now={now} />
    </Page>
  )
}

function Today({ now }: { now: number }) {
  const environment = useEnvironment()
  const days = daysAt(now)
  const { today, yesterday, lastWeek, to, hours } = days
  const iso = (at: number): string => new Date(at).toISOString()
  const [figures, readFigures] = useQuery({
    query: todayQuery,
    variables: {
      environment,
      lastWeek: iso(lastWeek),
      lastWeekEnd: iso(lastWeek + DAY_MS),
      yesterday: iso(yesterday),
      to: iso(to),
    },
    requestPolicy: 'cache-and-network',
    context: useFresh(now),
  })
  // Seasons follow the game's clock. To the minute, so that the same question is not asked again and again.
  const gameNow = Math.floor(useGameNow() / EVERY_MS) * EVERY_MS
  const [calendar, readCalendar] = useQuery({
    query: calendarQuery,
    variables: { environment, from: iso(gameNow), to: iso(gameNow + AHEAD_DAYS * DAY_MS) },
    requestPolicy: 'cache-and-network',
  })
  return (
    <>
      <Answer of={calendar} onRetry={() => readCalendar({ requestPolicy: 'network-only' })}>
        {(data) => <Seasons seasons={data.calendar.seasons} now={gameNow} />}
      </Answer>
      <Answer of={figures} onRetry={() => readFigures({ requestPolicy: 'network-only' })}>
        {(data) => (
          <>
            <TodayFigures data={data} days={days} />
            <p className="muted">
              {hours === 0
                ? 'The day has just begun. '
                : `Compared by ${String(hours).padStart(2, '0')}:00 UTC with yesterday and ${weekday(today)} of last week. `}
              The grey line is yesterday. A player of several seasons counts in each.
            </p>
          </>
        )}
      </Answer>
      <div className={css.halves}>
        <Problems at={now} />
        <Answer of={calendar}>
          {(data) => {
            const entries = entriesOf(data.calendar, environment).filter(({ at }) => Date.parse(at) >= gameNow)
            return (
              <Panel
                title="What comes next"
                actions={<Link href={`/env/${encodeURIComponent(environment)}/calendar`}>Calendar</Link>}
              >
                {data.calendar.conflicts.map((conflict) => (
                  <Notice key={JSON.stringify(conflict)} tone="warning">
                    {conflictText(conflict, data.calendar)}
                  </Notice>
                ))}
                {entries.length === 0 ? (
                  <Empty title={`Nothing is planned for the next ${AHEAD_DAYS} days`} />
                ) : (
                  <EntryTable caption="What comes next" entries={entries.slice(0, MOST_ENTRIES)} />
                )}
              </Panel>
            )
          }}
        </Answer>
        <Changes from={iso(today - 7 * DAY_MS)} at={now} />
        <Answer of={calendar}>
          {(data) => <Outliers seasons={data.calendar.seasons} to={iso(Math.ceil(now / EVERY_MS) * EVERY_MS)} />}
        </Answer>
      </div>
    </>
  )
}

const inDays = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
  return (at: number): string => format.format(at)
}
const dayText = inDays({ weekday: 'long', day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit' })
const weekday = inDays({ weekday: 'long' })

/** The time of the last reading. It is read again each minute while a person can see the page. */
function useEveryMinute(): readonly [now: number, readAgain: () => void] {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(Date.now())
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return [now, () => setNow(Date.now())]
}
