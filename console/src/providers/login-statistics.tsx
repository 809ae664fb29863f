import { useState } from 'react'
import { useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { rangeOf, stepOf } from '../battlepass/ranges.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Chart } from '../ui/chart.tsx'
import { SelectField } from '../ui/form.tsx'
import { Figures, Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { number, percent, words } from '../ui/text.tsx'
import { loginStatisticsQuery } from './operations.ts'

const RANGES = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const

/** How logins went: outcomes and the time of the webhook. */
export function LoginStatistics() {
  const environment = useEnvironment()
  const [search, setSearch] = useSearchParams()
  const [now] = useState(Date.now)
  const name = search.get('range') ?? '24h'
  const range = rangeOf(name, { from: null, to: null }, now)
  const by = stepOf(range)
  const [result, read] = useQuery({ query: loginStatisticsQuery, variables: { environment, ...range, by } })
  return (
    <Panel
      title="Logins"
      actions={
        <SelectField
          label="Time"
          name="range"
          value={name}
          onChange={(value) => setSearch({ range: value }, { replace: true })}
          options={RANGES}
        />
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ loginStatistics: { total, times } }) => {
          if (total.logins === 0) return <Empty title="No login asked a webhook in this time" />
          const failed = (outcomes: readonly { readonly outcome: string; readonly logins: number }[]) =>
            outcomes.reduce((sum, one) => sum + (one.outcome === 'OK' ? 0 : one.logins), 0)
          const axis = {
            kind: 'time' as const,
            name: by === 'HOUR' ? 'Hour' : 'Day',
            values: times.map(({ startsAt }) => Date.parse(startsAt)),
          }
          const parts = by === 'HOUR' ? 'minute' : 'day'
          return (
            <>
              <Figures
                of={[
                  ['Logins', number(total.logins)],
                  ...total.outcomes.map(
                    ({ outcome, logins, rate }) => [words(outcome), number(logins), percent(rate)] as const,
                  ),
                  ['Attempts a login', total.attemptsPerLogin?.toFixed(2) ?? '–'],
                  ['Webhook, half within', total.latency ? `${number(total.latency.p50)} ms` : '–'],
                  ['95 % within', total.latency ? `${number(total.latency.p95)} ms` : '–'],
                  ['99 % within', total.latency ? `${number(total.latency.p99)} ms` : '–'],
                ]}
              />
              <div className="columns">
                <div>
                  <h3>Logins by outcome</h3>
                  <Chart
                    title="Logins by outcome"
                    parts={parts}
                    axis={axis}
                    series={[
                      {
                        name: 'succeeded',
                        values: times.map(({ figures }) => figures.logins - failed(figures.outcomes)),
                      },
                      { name: 'failed', values: times.map(({ figures }) => failed(figures.outcomes)) },
                    ]}
                  />
                </div>
                <div>
                  <h3>Time of the webhook in milliseconds</h3>
                  <Chart
                    title="Time of the webhook in milliseconds"
                    parts={parts}
                    axis={axis}
                    series={[
                      { name: 'half within', values: times.map(({ figures }) => figures.latency?.p50 ?? null) },
                      { name: '95 % within', values: times.map(({ figures }) => figures.latency?.p95 ?? null) },
                    ]}
                  />
                </div>
              </div>
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}
