import { Chart, type ChartProps, type Series } from '../ui/chart.tsx'
import { Panel } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import type { InsightData } from './operations.ts'

// Charts of a pass that may show another time or season beside it.

export interface Compared {
  readonly data: InsightData
  /** The figures to compare with, and their name in legends. */
  readonly other: InsightData | undefined
  readonly otherName: string
  /** In milliseconds. Days that are not over by then are not compared. */
  readonly now: number
}

/** Figures of each level or day. The first ones are compared. */
interface ComparedSeries<Entry> {
  readonly name: string
  readonly kind?: Series['kind']
  readonly of: (entry: Entry) => number | null
}

export function LevelChart(
  props: Compared & {
    readonly title: string
    readonly format?: (value: number) => string
    readonly series: readonly ComparedSeries<InsightData['levels'][number]>[]
  },
) {
  const { title, format, data, other } = props
  const otherLevels = new Map(other?.levels.map((one) => [one.level, one]))
  const pairs = data.levels.map((one) => [one, otherLevels.get(one.level)] as const)
  return (
    <ChartPanel
      title={title}
      format={format}
      axis={{ kind: 'names', name: 'Level', values: data.levels.map(({ level }) => String(level)) }}
      series={seriesOf(props, pairs)}
    />
  )
}

/** A chart by day. Days are compared by their place in the range, not by date: the first day with the first day. */
export function DayChart(
  props: Compared & {
    readonly title: string
    readonly series: readonly ComparedSeries<InsightData['days'][number]>[]
  },
) {
  const { title, data, other } = props
  const pairs = data.days.map((one, day) => [one, other?.days[day]] as const)
  return (
    <ChartPanel
      title={title}
      axis={{ kind: 'time', name: 'Day', values: data.days.map(({ startsAt }) => Date.parse(startsAt)) }}
      series={seriesOf(props, pairs)}
    />
  )
}

function seriesOf<Entry>(
  { series, other, otherName }: Omit<Compared, 'data' | 'now'> & { readonly series: readonly ComparedSeries<Entry>[] },
  pairs: readonly (readonly [own: Entry, other: Entry | undefined])[],
): Series[] {
  const own = series.map(({ name, kind, of }) => ({ name, kind, values: pairs.map(([entry]) => of(entry)) }))
  const [first] = series
  if (!other || !first) return own
  const values = pairs.map(([, entry]) => (entry ? first.of(entry) : null))
  return [...own, { name: otherName, kind: first.kind, isFaint: true, values }]
}

export const ChartPanel = ({
  name,
  empty,
  ...chart
}: ChartProps & {
  /** The name of the chart, for its file. Default: the title. */
  readonly name?: string
  /** Said in place of a chart without series or places. */
  readonly empty?: string
}) => (
  <Panel title={chart.title}>
    {empty !== undefined && (chart.series.length === 0 || chart.axis.values.length === 0) ? (
      <Empty title={empty} />
    ) : (
      <Chart {...chart} title={name ?? chart.title} />
    )}
  </Panel>
)
