import { useState } from 'react'
import { useQuery } from 'urql'
import { rangeOf, stepOf } from '../battlepass/ranges.ts'
import type { ResultOf } from '../graphql.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { Chart } from '../ui/chart.tsx'
import { saveRows } from '../ui/csv.ts'
import { FilterSelect, useFilters } from '../ui/filters.tsx'
import { Figures, Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number, percent } from '../ui/words.ts'
import { loginStatisticsQuery } from './operations.ts'
import { outcomeName } from './words.ts'

type Statistics = ResultOf<typeof loginStatisticsQuery>['loginStatistics']
type LoginFigures = Statistics['total']

/** Up to the 31 days that the service answers. */
const RANGES = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const

/** Hours are known for 7 days at most. */
const HAS_HOURS: readonly string[] = ['24h', '7d']

/** Figures of logins: outcomes and the time of the webhook. */
export function LoginStatistics({ providers }: { providers: readonly string[] }) {
  const environment = useEnvironment()
  const filters = useFilters()
  const [now] = useState(Date.now)
  const [name] = RANGES.find(([known]) => known === filters.value('range')) ?? RANGES[0]
  const provider = filters.value('provider')
  const range = rangeOf(name, { from: null, to: null }, now)
  const asked = { hour: 'HOUR', day: 'DAY' }[filters.value('by')] as 'HOUR' | 'DAY' | undefined
  const by = HAS_HOURS.includes(name) ? (asked ?? stepOf(range)) : 'DAY'
  const [result, read] = useQuery({
    query: loginStatisticsQuery,
    variables: { environment, provider: provider || undefined, ...range, by },
  })
  // Removed providers have figures, too.
  const known = result.data?.loginStatistics.providers.map((one) => one.provider) ?? []
  const choices = [...new Set([...providers, ...known, ...(provider === '' ? [] : [provider])])].sort()
  return (
    <Panel title={provider === '' ? 'Logins' : `Logins through ${provider}`}>
      <div className="filters">
        <FilterSelect label="Provider" name="provider" filters={filters} options={[['', 'all'], ...choices]} />
        <FilterSelect label="Time" name="range" value={name} filters={filters} options={RANGES} />
        {HAS_HOURS.includes(name) && (
          <FilterSelect label="By" name="by" value={by.toLowerCase()} filters={filters} options={['hour', 'day']} />
        )}
      </div>
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ loginStatistics }) =>
          loginStatistics.total.logins === 0 ? (
            <Empty title="No login in this time" />
          ) : (
            <>
              <Totals of={loginStatistics.total} />
              <Charts of={loginStatistics.times} by={by} />
              {provider === '' && <ByProvider of={loginStatistics.providers} />}
            </>
          )
        }
      </Answer>
    </Panel>
  )
}

const milliseconds = (value: number | undefined): string => (value === undefined ? '–' : `${number(value)} ms`)

const failedOf = ({
  outcomes,
}: {
  outcomes: readonly { readonly outcome: string; readonly logins: number }[]
}): number => outcomes.reduce((sum, one) => sum + (one.outcome === 'OK' ? 0 : one.logins), 0)

const Totals = ({ of: { logins, outcomes, attemptsPerLogin, latency } }: { of: LoginFigures }) => (
  <Figures
    of={[
      ['Logins', number(logins)],
      ...outcomes.map((one) => [outcomeName(one.outcome), number(one.logins), percent(one.rate)] as const),
      ['Calls a login', attemptsPerLogin?.toFixed(2) ?? '–'],
      ['Webhook, half within', milliseconds(latency?.p50)],
      ['90 % within', milliseconds(latency?.p90)],
      ['95 % within', milliseconds(latency?.p95)],
      ['99 % within', milliseconds(latency?.p99)],
    ]}
  />
)

function Charts({ of, by }: { of: Statistics['times']; by: 'HOUR' | 'DAY' }) {
  const axis = {
    kind: 'time' as const,
    name: by === 'HOUR' ? 'Hour' : 'Day',
    values: of.map(({ startsAt }) => Date.parse(startsAt)),
  }
  const parts = by === 'HOUR' ? 'minute' : 'day'
  return (
    <div className="columns">
      <div>
        <h3>Logins by outcome</h3>
        <Chart
          title="Logins by outcome"
          parts={parts}
          axis={axis}
          series={[
            { name: 'succeeded', values: of.map(({ figures }) => figures.logins - failedOf(figures)) },
            { name: 'failed', values: of.map(({ figures }) => failedOf(figures)) },
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
            { name: 'half within', values: of.map(({ figures }) => figures.latency?.p50 ?? null) },
            { name: '95 % within', values: of.map(({ figures }) => figures.latency?.p95 ?? null) },
          ]}
        />
      </div>
    </div>
  )
}

function ByProvider({ of }: { of: Statistics['providers'] }) {
  function save(): void {
    const rows = of.map(({ provider, figures }) => ({
      provider,
      logins: figures.logins,
      failed: failedOf(figures),
      callsPerLogin: figures.attemptsPerLogin,
      p50: figures.latency?.p50 ?? null,
      p90: figures.latency?.p90 ?? null,
      p95: figures.latency?.p95 ?? null,
      p99: figures.latency?.p99 ?? null,
    }))
    const titles = ['provider', 'logins', 'failed', 'callsPerLogin', 'p50', 'p90', 'p95', 'p99'] as const
    saveRows('logins-by-provider.csv', titles, rows)
  }
  return (
    <div>
      <div className="page-header">
        <h3>By provider</h3>
        <Button tone="quiet" onClick={save} label="CSV of By provider">
          CSV
        </Button>
      </div>
      <Table
        whole
        caption="Logins by provider"
        rows={of}
        keyOf={({ provider }) => provider}
        columns={[
          { title: 'Provider', cell: ({ provider }) => provider },
          { title: 'Logins', isNumber: true, cell: ({ figures }) => number(figures.logins) },
          {
            title: 'Failed',
            isNumber: true,
            cell: ({ figures }) =>
              `${number(failedOf(figures))} (${percent(figures.logins === 0 ? null : failedOf(figures) / figures.logins)})`,
          },
          {
            title: 'Calls a login',
            isNumber: true,
            cell: ({ figures }) => figures.attemptsPerLogin?.toFixed(2) ?? '–',
          },
          { title: 'Half within', isNumber: true, cell: ({ figures }) => milliseconds(figures.latency?.p50) },
          { title: '95 % within', isNumber: true, cell: ({ figures }) => milliseconds(figures.latency?.p95) },
          { title: '99 % within', isNumber: true, cell: ({ figures }) => milliseconds(figures.latency?.p99) },
        ]}
      />
    </div>
  )
}
