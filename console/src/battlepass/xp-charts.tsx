import { Panel } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number, percent } from '../ui/words.ts'
import { ChartPanel } from './compared-chart.tsx'
import type { InsightData } from './operations.ts'
import { type XpTimes, xpOverTime } from './xp-over-time.ts'

interface OverTime {
  readonly data: InsightData
  readonly by: 'HOUR' | 'DAY'
}

export function XpChart({ data, by }: OverTime) {
  const shown = data.xp.slice(0, 6)
  return (
    <XpOverTime
      name="Xp by source"
      data={data}
      by={by}
      of={shown.map(({ source, times }) => ({ name: sourceName(source), times }))}
    />
  )
}

const ORIGINS = { CLIENT: 'clients', SERVER: 'servers', OPERATOR: 'operators', SEASON: 'the season before' } as const

export function OriginChart({ data, by }: OverTime) {
  const shown = data.xpByOrigin.filter(({ times }) => times.length > 0)
  return (
    <XpOverTime
      name="Xp by origin"
      data={data}
      by={by}
      of={shown.map(({ origin, xp, times }) => ({ name: `${ORIGINS[origin]}: ${number(xp)}`, times }))}
    />
  )
}

function XpOverTime(
  props: OverTime & { readonly name: string; readonly of: readonly (XpTimes & { readonly name: string })[] },
) {
  const { name, data, by, of } = props
  const { starts, values } = xpOverTime(of, { from: data.from, to: data.to, by })
  return (
    <ChartPanel
      title={by === 'HOUR' ? `${name} and hour` : `${name} and day`}
      name={name}
      empty="No xp was granted in this time"
      parts={by === 'HOUR' ? 'minute' : 'day'}
      axis={{ kind: 'time', name: by === 'HOUR' ? 'Hour' : 'Day', values: starts }}
      series={of.map((one, index) => ({ name: one.name, values: values[index] ?? [] }))}
    />
  )
}

const sourceName = (source: string | null): string =>
  source === null ? 'all others' : source === '' ? 'no source' : source

/** The xp of each source in all, and its share. Resets by support count down. */
export function Sources({ data }: { data: InsightData }) {
  const total = data.xp.reduce((sum, { xp }) => sum + BigInt(xp), 0n)
  return (
    <Panel title="Xp by source in all">
      <Table
        caption="Xp by source in all"
        rows={data.xp}
        keyOf={({ source }) => JSON.stringify(source)}
        empty={<Empty title="No xp was granted in this time" />}
        columns={[
          { title: 'Source', cell: ({ source }) => sourceName(source) },
          { title: 'Xp', isNumber: true, cell: ({ xp }) => number(xp) },
          {
            title: 'Share',
            isNumber: true,
            cell: ({ xp }) => percent(total > 0n ? Number(xp) / Number(total) : null),
          },
          { title: 'Grants', isNumber: true, cell: ({ grants }) => number(grants) },
        ]}
      />
    </Panel>
  )
}

/** Xp that was sent and not granted. */
export const ClippedXp = ({ data }: { data: InsightData }) => (
  <Panel title="Xp that limits held back">
    <Table
      caption="Xp that limits held back, by source"
      rows={data.clippedXp}
      keyOf={({ source }) => JSON.stringify(source)}
      empty={<Empty title="No xp was held back in this time">The xp rules of a pass set its limits.</Empty>}
      columns={[
        { title: 'Source', cell: ({ source }) => sourceName(source) },
        { title: 'Calls', isNumber: true, cell: ({ calls }) => number(calls) },
        { title: 'Xp', isNumber: true, cell: ({ xp }) => number(xp) },
      ]}
    />
  </Panel>
)
