import { type ReactNode, useState } from 'react'
import { useQuery } from 'urql'
import { seasonAt } from '../../../src/game/definition/season.ts'
import { type PassView, seasonDatesOf } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { FilterDay, FilterSelect, useFilters } from '../ui/filters.tsx'
import { Answer, Notice } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { Charts } from './charts.tsx'
import { insightQuery } from './operations.ts'
import { daysIn, lastDayOf, RANGES, type Range, rangeBefore, rangeFault, rangeOf, stepOf } from './ranges.ts'
import { Settlement } from './settlement.tsx'

/** The figures of one pass over a range, compared with another range or pass. The address keeps the choice. */
export function Insight(props: {
  readonly scenarioId: string
  readonly nodeId: string
  readonly pass: PassView | undefined
  readonly scenarioIds: readonly string[]
  readonly children: ReactNode
}) {
  const environment = useEnvironment()
  const { scenarioId, nodeId, pass } = props
  const filters = useFilters()
  const [now, setNow] = useState(Date.now)
  const [rangeName] = RANGES.find(([known]) => known === filters.value('range')) ?? ['7d']
  const range = rangeOf(rangeName, { from: filters.value('from'), to: filters.value('to') }, now)
  const fault = rangeFault(range)
  // A season is not compared with itself: its address may have been that of another one.
  const compared = filters.value('compare') === scenarioId ? '' : filters.value('compare')

  const [result, read] = useInsight({ environment, scenarioId, nodeId, ...range }, fault !== undefined)
  const other = otherOf({ compared, scenarioId, nodeId, range, begins: filters.value('begins') })
  const [otherResult] = useInsight(
    { environment, ...(other ?? { scenarioId, nodeId, ...range }) },
    other === undefined || fault !== undefined,
  )

  return (
    <>
      <div className="filters">
        {props.children}
        <FilterSelect label="Time" name="range" value={rangeName} filters={filters} options={RANGES} />
        {rangeName === 'custom' && (
          <>
            <FilterDay
              label="From (UTC)"
              name="from"
              value={range.from.slice(0, 10)}
              faults={fault === undefined ? [] : [fault]}
              filters={filters}
            />
            <FilterDay label="To, included (UTC)" name="to" value={lastDayOf(range)} filters={filters} />
          </>
        )}
        <FilterSelect
          label="Compare with"
          name="compare"
          value={compared}
          filters={filters}
          options={[
            ['', 'nothing'],
            ['before', 'the same time before'],
            ...props.scenarioIds.filter((id) => id !== scenarioId).map((id) => [id, `the season ${id}`] as const),
          ]}
        />
        {other && compared !== 'before' && (
          <FilterDay
            label="Its first day (UTC)"
            name="begins"
            hint="The charts show day 1 of both seasons beside each other."
            value={other.from.slice(0, 10)}
            filters={filters}
          />
        )}
        <Button onClick={() => setNow(Date.now())} busy={result.fetching}>
          Refresh
        </Button>
      </div>
      {pass && <Times pass={pass} now={now} />}
      {pass?.grantsAtEnd && <Settlement key={now} scenarioId={scenarioId} nodeId={nodeId} />}
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ battlePassInsight: data }) =>
          fault !== undefined ? null : data === null ? (
            <Notice tone="warning">This pass is not in the published version.</Notice>
          ) : (
            <>
              {other && otherResult.error && (
                <Notice tone="warning">
                  The season to compare with could not be read: it may have no pass with the id {nodeId}.
                </Notice>
              )}
              <p className="muted">
                {rangeText(range)}.{other && ` Compared with ${rangeText(other)}.`} Days are those of UTC.
                {Date.parse(range.to) > now && ' Today is not over: its figures still grow.'}
              </p>
              <Charts
                data={data}
                now={now}
                other={(other && otherResult.data?.battlePassInsight) || undefined}
                otherName={compared === 'before' ? 'before' : compared}
                by={stepOf(range)}
                scenarioId={scenarioId}
                nodeId={nodeId}
                pass={pass}
                outliersTo={isoEarlier(range.to, now)}
              />
            </>
          )
        }
      </Answer>
    </>
  )
}

/** Both days are a part of the range. */
const rangeText = (range: Range): string => {
  const days = daysIn(range)
  return days === 1 ? range.from.slice(0, 10) : `${range.from.slice(0, 10)} to ${lastDayOf(range)}, ${days} days`
}

/** The end of a range, and no later than the current minute: outliers are those of the 24 hours before it. */
const isoEarlier = (to: string, now: number): string =>
  new Date(Math.min(Date.parse(to), Math.ceil(now / 60_000) * 60_000)).toISOString()

interface Wanted extends Range {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The figures of a pass. The figures of the last range stay until new ones arrive, so that nothing flickers. */
function useInsight({ environment, scenarioId, nodeId, from, to }: Wanted & { environment: string }, pause = false) {
  const by = stepOf({ from, to })
  return useQuery({
    query: insightQuery,
    variables: { environment, scenarioId, nodeId, from, to, by },
    requestPolicy: 'cache-and-network',
    pause,
  })
}

interface Comparison {
  readonly compared: string
  readonly scenarioId: string
  readonly nodeId: string
  readonly range: Range
  readonly begins: string
}

/** The figures to compare with: the same pass in the range before, or the pass with the same id in another scenario. */
function otherOf({ compared, scenarioId, nodeId, range, begins }: Comparison): Wanted | undefined {
  if (compared === '') return undefined
  if (compared === 'before') return { scenarioId, nodeId, ...rangeBefore(range) }
  const at = Date.parse(`${begins}T00:00:00Z`)
  if (Number.isNaN(at)) return { scenarioId: compared, nodeId, ...range }
  const length = Date.parse(range.to) - Date.parse(range.from)
  return { scenarioId: compared, nodeId, from: new Date(at).toISOString(), to: new Date(at + length).toISOString() }
}

/** Where the season stands, if its definition has times. */
function Times({ pass, now }: { pass: PassView; now: number }) {
  const dates = seasonDatesOf(pass)
  const { phase, next } = seasonAt(dates, new Date(now))
  const at = (date: Date | null) => <Time at={date?.toISOString() ?? ''} parts="minute" />
  switch (phase) {
    case 'planned':
    case 'announced':
      return (
        <Notice tone="info">
          The season {phase === 'announced' ? 'is announced, and ' : ''}has not started. It starts {at(dates.startsAt)}.
        </Notice>
      )
    case 'ended':
    case 'closed':
      return (
        <Notice tone="info">
          The season ended {at(dates.endsAt)}
          {dates.claimUntil?.getTime() !== dates.endsAt?.getTime() && (
            <>
              ; tiers {phase === 'ended' ? 'can' : 'could'} be claimed until {at(dates.claimUntil)}
            </>
          )}
          .
        </Notice>
      )
    case 'ending':
      return <Notice tone="info">The season is about to end. It ends {at(dates.endsAt)}.</Notice>
    case 'running':
      return next === null ? null : <p className="muted">The season ends {at(dates.endsAt)}.</p>
  }
}
