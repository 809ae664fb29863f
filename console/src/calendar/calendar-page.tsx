import { useQuery } from 'urql'
import { Link, useSearchParams } from 'wouter'
import { jobHref } from '../grants/addresses.ts'
import { type Job, jobText, playersText, targetText } from '../grants/gift.ts'
import type { ResultOf } from '../graphql.ts'
import { useGameNow } from '../shell/clock.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { withParameters } from '../ui/filters.tsx'
import { SelectField } from '../ui/form.tsx'
import { Page, Panel } from '../ui/page.tsx'
import { Empty, Failed, Loading, Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { words } from '../ui/text.tsx'
import { Time, timeText } from '../ui/time.tsx'
import css from './calendar.module.css'
import { calendarQuery } from './operations.ts'
import { dayText, partsOf, placeOf, type Span, spanOf, ticksOf, ZOOMS, zoomOf } from './timeline.ts'

const PHASES: Readonly<Record<string, string>> = {
  ANNOUNCED: 'announced',
  RUNNING: 'running',
  ENDING: 'about to end',
  ENDED: 'claims only',
  CLOSED: 'closed',
}

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

type Calendar = ResultOf<typeof calendarQuery>['calendar']

interface ChartProps {
  readonly calendar: Calendar
  readonly span: Span
  readonly now: number
  readonly environment: string
}

function Chart({ calendar: { seasons, boosts, publications, grantJobs }, span, now, environment }: ChartProps) {
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
        {seasons.map(({ scenarioId, nodeId, phases }) => (
          <Row
            key={`${scenarioId} ${nodeId}`}
            name={`${scenarioId} · ${nodeId}`}
            href={seasonHref(environment, scenarioId, nodeId)}
          >
            {partsOf(phases).map(({ phase, from, to }) => (
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

/** The start of a grant job. */
const startOf = ({ startsAt, createdAt }: Job): string => startsAt ?? createdAt

/** A grant job in words, such as `grant, done: 100 gold, 312 players`. A planned one has no players yet. */
const grantText = (job: Job): string =>
  `grant, ${words(job.state)}: ${jobText(job)}, ${job.state === 'PLANNED' ? `for ${targetText(job.target)}` : playersText(job.players)}`

const seasonHref = (environment: string, scenarioId: string, nodeId: string): string =>
  `/env/${encodeURIComponent(environment)}/battle-pass/${encodeURIComponent(scenarioId)}/${encodeURIComponent(nodeId)}`

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
function Entries({
  calendar: { seasons, boosts, publications, grantJobs },
  environment,
}: Pick<ChartProps, 'calendar' | 'environment'>) {
  const entries = [
    ...seasons.flatMap(({ scenarioId, nodeId, phases }) =>
      phases.map(({ phase, startsAt }) => ({
        at: startsAt,
        what: `${scenarioId}, ${nodeId}: ${PHASES[phase] ?? phase}`,
        href: seasonHref(environment, scenarioId, nodeId),
      })),
    ),
    ...boosts.flatMap(({ name, percent, startsAt, endsAt, endedAt }) => [
      { at: startsAt, what: `${name}: ${percent} % more xp`, href: undefined },
      { at: endedAt ?? endsAt, what: `${name}: over`, href: undefined },
    ]),
    ...publications.map(({ scenarioId, publishAt, state, version, failure, reason }) => ({
      at: publishAt,
      what: `${scenarioId}: publication ${state.toLowerCase()}${version === null ? '' : ` as version ${version}`}${failure === null ? '' : `, ${failure}`} (${reason})`,
      href: `/env/${encodeURIComponent(environment)}/scenarios/${encodeURIComponent(scenarioId)}/versions`,
    })),
    ...grantJobs.map((job) => ({
      at: startOf(job),
      what: `${grantText(job)} (${job.reason})`,
      href: jobHref(environment, job.jobId),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : 1))
  if (entries.length === 0) return null
  return (
    <Panel title="In order">
      <Table
        caption="What happens, by time"
        rows={entries}
        keyOf={({ at, what }) => `${at} ${what}`}
        columns={[
          { title: 'At', cell: ({ at }) => <Time at={at} parts="minute" /> },
          { title: 'What', cell: ({ what, href }) => (href ? <Link href={href}>{what}</Link> : what) },
        ]}
      />
    </Panel>
  )
}

function conflictText(
  { kind, scenarioId, boostId, startsAt, endsAt }: Calendar['conflicts'][number],
  { boosts }: Calendar,
) {
  const day = (at: string | null): string => (at === null ? '…' : `${timeText(at, 'UTC', 'minute')} UTC`)
  switch (kind) {
    case 'BOOST_WITHOUT_SEASON':
      return `The boost “${boosts.find((boost) => boost.boostId === boostId)?.name ?? boostId}” gives nothing: no season that it is for takes xp from ${day(startsAt)} to ${day(endsAt)}.`
    case 'SEASONS_OVERLAP':
      return `The season after ${scenarioId} starts before it has ended: both take xp from ${day(startsAt)} to ${day(endsAt)}.`
    case 'GAP_BETWEEN_SEASONS':
      return `Between ${scenarioId} and its next season nothing takes xp: from ${day(startsAt)} to ${day(endsAt)}.`
    case 'NEXT_SEASON_MISSING':
      return `The next season of ${scenarioId} is not published. It ends ${day(startsAt)}.`
    default:
      return `The publication of ${scenarioId} ${day(startsAt)} would fail: another version than it expects is current.`
  }
}
