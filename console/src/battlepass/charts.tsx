import { Chart, type ChartProps, type Series } from '../ui/chart.tsx'
import { Figures, Panel } from '../ui/page.tsx'
import { Empty, Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number, percent } from '../ui/text.tsx'
import type { InsightData } from './insight.tsx'
import { DAY_MS } from './ranges.ts'
import { findStall } from './stall.ts'
import { type XpTimes, xpOverTime } from './xp-over-time.ts'

interface Compared {
  readonly data: InsightData
  /** The figures to compare with, and their name in legends. */
  readonly other: InsightData | undefined
  readonly otherName: string
  /** In milliseconds. Days that are not over by then are not compared. */
  readonly now: number
}

export function Charts({ by, ...compared }: Compared & { readonly by: 'HOUR' | 'DAY' }) {
  const { data } = compared
  const { completion, days, levels } = data
  if (completion.players === 0 && days.every(({ players }) => players === 0))
    return (
      <Empty title="Nobody has played this pass yet">
        Figures appear with the first xp, claim or purchase of a player.
      </Empty>
    )
  const stall = findStall(levels)
  const next = levels.find(({ level }) => stall !== undefined && level > stall.level)
  return (
    <>
      <Summary {...compared} />
      {stall && (
        <Notice tone="warning">
          <strong>Most players stop at level {stall.level}.</strong> Of the{' '}
          {number(levels.find(({ level }) => level === stall.level)?.reached ?? 0)} who have reached it,{' '}
          {number(stall.players)} ({percent(stall.share)}) have not reached level {next?.level}. Some of them may still
          be playing: {number(next?.reachedInRange ?? 0)} reached level {next?.level} in this time.
        </Notice>
      )}
      <div className="columns">
        <LevelChart
          title="Players at each level"
          {...compared}
          series={[{ name: 'at the level', kind: 'bars', of: ({ players }) => players }]}
        />
        <LevelChart
          title="Players who have reached a level"
          {...compared}
          series={[
            { name: 'reached it', of: ({ reached }) => reached },
            { name: 'of them with premium', of: ({ reachedPremium }) => reachedPremium },
          ]}
        />
        <DayChart
          title="Players by day"
          {...compared}
          series={[
            { name: 'played', of: ({ players }) => players },
            { name: 'began the pass', of: ({ newPlayers }) => newPlayers },
          ]}
        />
        <DayChart
          title="Claimed tiers by day"
          {...compared}
          series={[{ name: 'claimed', of: ({ claims }) => claims }]}
        />
        <DayChart
          title="Premium and completion by day"
          {...compared}
          series={[
            { name: 'premium bought or granted', of: ({ premium }) => premium },
            { name: 'completed the pass', of: ({ completed }) => completed },
          ]}
        />
        <XpChart data={data} by={by} />
        <OriginChart data={data} by={by} />
        <ClippedXp data={data} />
        <LevelChart
          title="Premium by level reached"
          {...compared}
          format={percent}
          series={[{ name: 'of those who reached it have premium', of: ({ conversion }) => conversion }]}
        />
        <ClaimChart data={data} track="FREE" />
        <ClaimChart data={data} track="PREMIUM" />
      </div>
    </>
  )
}

function Summary({ data, other, otherName, now }: Compared) {
  const finished = other && Math.min(finishedDays(data, now), finishedDays(other, now))
  const inTime = (of: InsightData, days?: number) => {
    const counted = of.days.slice(0, days)
    return {
      newPlayers: sum(counted.map(({ newPlayers }) => newPlayers)),
      premium: sum(counted.map(({ premium }) => premium)),
      claims: sum(counted.map(({ claims }) => claims)),
    }
  }
  const [all, whole, then] = [inTime(data), inTime(data, finished), other && inTime(other, finished)]
  // A day that is not over has fewer hours than the one that it would be compared with.
  const changed = (name: string, of: keyof typeof all) => {
    const isWhole = finished === data.days.length
    const ownNote = isWhole ? '' : `on the days that are over: ${number(whole[of])}; `
    const compared = finished === 0 ? `${otherName}: compared when a day is over` : undefined
    return [name, number(all[of]), then && (compared ?? `${ownNote}${otherName}: ${number(then[of])}`)] as const
  }
  const { players, atTopLevel, completed, rate } = data.completion
  const premium = premiumOf(data)
  const note = (value: number | undefined) => (value === undefined ? undefined : `${otherName}: ${number(value)}`)
  return (
    <Figures
      of={[
        ['Players of the pass', number(players), note(other?.completion.players)],
        changed('Began in this time', 'newPlayers'),
        [
          'With premium',
          `${number(premium.players)} (${percent(premium.share)})`,
          other && `${otherName}: ${percent(premiumOf(other).share)}`,
        ],
        changed('Premium in this time', 'premium'),
        changed('Claims in this time', 'claims'),
        ['At the top level', number(atTopLevel), note(other?.completion.atTopLevel)],
        [
          'Completed',
          `${number(completed)} (${percent(rate)})`,
          other && `${otherName}: ${percent(other.completion.rate)}`,
        ],
      ]}
    />
  )
}

const finishedDays = ({ days }: InsightData, now: number): number =>
  days.filter(({ startsAt }) => Date.parse(startsAt) + DAY_MS <= now).length

function premiumOf({ levels, completion }: InsightData): { readonly players: number; readonly share: number | null } {
  const players = levels[0]?.reachedPremium ?? 0
  return { players, share: completion.players === 0 ? null : players / completion.players }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Figures of each level or day. The first ones are compared. */
interface ComparedSeries<Entry> {
  readonly name: string
  readonly kind?: Series['kind']
  readonly of: (entry: Entry) => number | null
}

function LevelChart(
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
function DayChart(
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

interface OverTime {
  readonly data: InsightData
  readonly by: 'HOUR' | 'DAY'
}

function XpChart({ data, by }: OverTime) {
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

function OriginChart({ data, by }: OverTime) {
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

/** Xp that was sent and not granted. */
const ClippedXp = ({ data }: { data: InsightData }) => (
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

function ClaimChart({ data, track }: { data: InsightData; track: 'FREE' | 'PREMIUM' }) {
  const tiers = data.tiers.filter((tier) => tier.track === track)
  return (
    <ChartPanel
      title={`Claims of the ${track.toLowerCase()} track`}
      empty={`The pass has no ${track.toLowerCase()} tiers`}
      axis={{ kind: 'names', name: 'Level', values: tiers.map(({ level }) => String(level)) }}
      series={[
        { name: 'could claim', values: tiers.map(({ entitled }) => entitled) },
        { name: 'have claimed', values: tiers.map(({ claimed }) => claimed) },
        { name: 'have reached the level', isFaint: true, values: tiers.map(({ reached }) => reached) },
      ]}
    />
  )
}

const ChartPanel = ({
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
