import { useQuery } from 'urql'
import { Link, useSearchParams } from 'wouter'
import { useGameNow } from '../shell/clock.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { withParameters } from '../ui/filters.tsx'
import { SelectField } from '../ui/form.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Empty, Failed, Loading, Notice } from '../ui/states.tsx'
import { timeText } from '../ui/time.tsx'
import css from './calendar.module.css'
import { type Calendar, conflictText, entriesOf, grantText, hrefOf, isPlanned, PHASES, startOf } from './entries.ts'
import { EntryTable } from './entry-table.tsx'
import { calendarQuery } from './operations.ts'
import { dayText, partsOf, placeOf, type Span, spanOf, ticksOf, ZOOMS, zoomOf } from './timeline.ts'

/** Seasons, boosts, publications and grants of an environment, past and to come, on one line of time. */
export default function CalendarPage() {
  const environment = useEnvironment()
  const [search, setSearch] = useSearchParams()
  const now = useGameNow()
  const days = zoomOf(search.get('days'))
  const span = spanOf(search.get('from'), days, now)
  const [{ data, error }] = useQuery({
    query: calendarQuery,
    variables: { environment, from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() },
    requestPolicy: 'cache-and-network',
  })
  const change = (values: { days?: string; from?: string }) => setSearch((before) => withParameters(before, values))
  const move = (by: number) => change({ from: dayText(span.from + by * (span.to - span.from)) })
  const calendar = data?.calendar
  return (
    <Page
      title="Calendar"
      actions={
        <>
          <Button onClick={() => move(-0.5)}>Earlier</Button>
          <Button onClick={() => change({ from: '' })}>Today</Button>
          <Button onClick={() => move(0.5)}>Later</Button>
          <SelectField
            label="Shows"
            name="days"
            value={String(days)}
            onChange={(value) => change({ days: value })}
            options={ZOOMS}
          />
        </>
      }
    >
      {error && !calendar && <Failed error={error} />}
      {!error && !calendar && <Loading what="Reading the calendar" />}
      {calendar && (
        <>
          {calendar.conflicts.map((conflict) => (
            <Notice key={JSON.stringify(conflict)} tone="warning">
              {conflictText(conflict, calendar)}
            </Notice>
          ))}
          <Panel title={`${dayText(span.from)} to ${dayText(span.to)}`}>
            <Chart calendar={calendar} span={span} now={now} environment={environment} />
          </Panel>
          <Entries calendar={calendar} environment={environment} />
        </>
      )}
    </Page>
  )
}

interface ChartProps {
  readonly calendar: Calendar
  readonly span: Span
  readonly now: number
  readonly environment: string
}

function Chart({ calendar, span, now, environment }: ChartProps) {
  const { boosts, publications, grantJobs } = calendar
  const seasons = [...calendar.seasons, ...calendar.plannedSeasons]
  if (seasons.length + boosts.length + publications.length + grantJobs.length === 0)
    return (
      <Empty title="Nothing lies in this time">
        Seasons with dates, boosts, planned publications and grants stand here. The designer gives a season its dates.
      </Empty>
    )
  const today = placeOf(span, now, now)
  const line = today && <div className={css.now} style={{ left: `${today.left}%` }} />
  return (
    <div className={css.chart}>
      <div className={css.rows}>
        <span className="muted">UTC</span>
        <div className={css.axis}>
          {ticksOf(span).map((at) => (
            <span key={at} className="muted" style={{ left: `${placeOf(span, at, at)?.left ?? 0}%` }}>
              {dayText(at).slice(5)}
            </span>
          ))}
        </div>
        {seasons.map((season) => (
          <Row
            key={`${season.scenarioId} ${season.nodeId} ${season.publicationId}`}
            name={`${season.scenarioId} · ${season.nodeId}${isPlanned(season) ? ' (planned)' : ''}`}
            href={hrefOf(environment, season)}
          >
            {partsOf(season.phases).map(({ phase, from, to }) => (
              <Bar
                key={phase}
                span={span}
                from={from}
                to={to}
                look={css[phase.toLowerCase()]}
                label={PHASES[phase] ?? phase}
              />
            ))}
            {line}
          </Row>
        ))}
        {boosts.map(({ boostId, name, percent, startsAt, endsAt, endedAt }) => (
          <Row key={boostId} name={`+${percent} % · ${name}`}>
            <Bar
              span={span}
              from={Date.parse(startsAt)}
              to={Date.parse(endedAt ?? endsAt)}
              look={css.boost}
              label={`${percent} % more xp`}
            />
            {line}
          </Row>
        ))}
        {[...new Set(publications.map(({ scenarioId }) => scenarioId))].map((scenarioId) => (
          <Row key={scenarioId} name={`Publications · ${scenarioId}`}>
            {publications
              .filter((one) => one.scenarioId === scenarioId)
              .map(({ publicationId, publishAt, state }) => (
                <Bar
                  key={publicationId}
                  span={span}
                  from={Date.parse(publishAt)}
                  to={Date.parse(publishAt)}
                  look={css.point}
                  label={`publication, ${state.toLowerCase()}`}
                />
              ))}
            {line}
          </Row>
        ))}
        {grantJobs.length > 0 && (
          <Row name="Grants" href={`/env/${encodeURIComponent(environment)}/grants`}>
            {grantJobs.map((job) => (
              <Bar
                key={job.jobId}
                span={span}
                from={Date.parse(startOf(job))}
                to={Date.parse(startOf(job))}
                look={css.point}
                label={grantText(job)}
              />
            ))}
            {line}
          </Row>
        )}
      </div>
    </div>
  )
}

function Row({ name, href, children }: { name: string; href?: string; children: React.ReactNode }) {
  return (
    <>
      <span className={css.name} title={name}>
        {href ? <Link href={href}>{name}</Link> : name}
      </span>
      <div className={css.track}>{children}</div>
    </>
  )
}

interface BarProps {
  readonly span: Span
  readonly from: number | null
  readonly to: number | null
  readonly look: string | undefined
  readonly label: string
}

function Bar({ span, from, to, look, label }: BarProps) {
  const place = placeOf(span, from, to)
  if (!place) return null
  const ends = [from, to].map((at) => (at === null ? '…' : `${timeText(at, 'UTC', 'minute')}`))
  const style = { left: `${place.left}%`, width: from === to ? undefined : `${place.width}%` }
  return <div className={`${css.bar} ${look ?? ''}`} style={style} title={`${label}: ${ends.join(' to ')} UTC`} />
}

/** The same in words, by time. */
function Entries({ calendar, environment }: Pick<ChartProps, 'calendar' | 'environment'>) {
  const entries = entriesOf(calendar, environment)
  if (entries.length === 0) return null
  return (
    <Panel title="In order">
      <EntryTable caption="What happens, by time" entries={entries} />
    </Panel>
  )
}
