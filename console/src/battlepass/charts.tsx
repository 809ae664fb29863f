import { type Axis, Chart, type Series } from '../ui/chart.tsx'
import { Figures, Panel } from '../ui/page.tsx'
import { Empty, Notice } from '../ui/states.tsx'
import { number, percent } from '../ui/text.tsx'
import type { InsightData } from './insight.tsx'
import { findStall } from './stall.ts'
import { xpOverTime } from './xp-over-time.ts'

interface ChartsProps {
  readonly data: InsightData
  /** The figures to compare with, and their name in legends. */
  readonly other: InsightData | undefined
  readonly otherName: string
  readonly by: 'HOUR' | 'DAY'
}

export function Charts({ data, other, otherName, by }: ChartsProps) {
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
      <Summary data={data} other={other} otherName={otherName} />
      {stall && (
        <Notice tone="warning">
          <strong>Most players stop at level {stall.level}.</strong> Of the{' '}
          {number(levels.find(({ level }) => level === stall.level)?.reached ?? 0)} who have reached it,{' '}
          {number(stall.players)} ({percent(stall.share)}) have not reached level {next?.level}. Some of them may still
          be playing: {number(next?.reachedInRange ?? 0)} reached level {next?.level} in this time.
        </Notice>
      )}
      <div className="columns">
        <Panel title="Players at each level">
          <LevelChart
            title="Players at each level"
            data={data}
            other={other}
            otherName={otherName}
            figures={[['players', 'at the level', 'bars']]}
          />
        </Panel>
        <Panel title="Players who have reached a level">
          <LevelChart
            title="Players who have reached a level"
            data={data}
            other={other}
            otherName={otherName}
            figures={[
              ['reached', 'reached it', 'line'],
              ['reachedPremium', 'of them with premium', 'line'],
            ]}
          />
        </Panel>
        <Panel title="Players by day">
          <DayChart
            title="Players by day"
            data={data}
            other={other}
            otherName={otherName}
            figures={[
              ['players', 'played'],
              ['newPlayers', 'began the pass'],
            ]}
          />
        </Panel>
        <Panel title="Claimed tiers by day">
          <DayChart
            title="Claimed tiers by day"
            data={data}
            other={other}
            otherName={otherName}
            figures={[['claims', 'claimed']]}
          />
        </Panel>
        <Panel title="Premium and completion by day">
          <DayChart
            title="Premium and completion by day"
            data={data}
            other={other}
            otherName={otherName}
            figures={[
              ['premium', 'premium bought or granted'],
              ['completed', 'completed the pass'],
            ]}
          />
        </Panel>
        <Panel title={by === 'HOUR' ? 'Xp by source and hour' : 'Xp by source and day'}>
          <XpChart data={data} by={by} />
        </Panel>
        <Panel title="Premium by level reached">
          <Chart
            title="Premium by level reached"
            axis={levelAxis(data)}
            format={(value) => percent(value)}
            series={[
              { name: 'of those who reached it have premium', values: levels.map(({ conversion }) => conversion) },
              ...(other
                ? [{ name: otherName, isFaint: true, values: byLevel(data, other, ({ conversion }) => conversion) }]
                : []),
            ]}
          />
        </Panel>
        {(['FREE', 'PREMIUM'] as const).map((track) => (
          <Panel key={track} title={`Claims of the ${track.toLowerCase()} track`}>
            <ClaimChart data={data} track={track} />
          </Panel>
        ))}
      </div>
    </>
  )
}

function Summary({ data, other, otherName }: Omit<ChartsProps, 'by'>) {
  const figures = (of: InsightData) => {
    const premium = of.levels[0]?.reachedPremium ?? 0
    return {
      players: of.completion.players,
      begun: sum(of.days.map(({ newPlayers }) => newPlayers)),
      premium,
      share: of.completion.players === 0 ? null : premium / of.completion.players,
      sold: sum(of.days.map((day) => day.premium)),
      claims: sum(of.days.map(({ claims }) => claims)),
      top: of.completion.atTopLevel,
      completed: of.completion.completed,
      rate: of.completion.rate,
    }
  }
  const now = figures(data)
  const then = other && figures(other)
  const note = (value: number | undefined) => (value === undefined ? undefined : `${otherName}: ${number(value)}`)
  return (
    <Figures
      of={[
        ['Players of the pass', number(now.players), note(then?.players)],
        ['Began in this time', number(now.begun), note(then?.begun)],
        [
          'With premium',
          `${number(now.premium)} (${percent(now.share)})`,
          then && `${otherName}: ${percent(then.share)}`,
        ],
        ['Premium in this time', number(now.sold), note(then?.sold)],
        ['Claims in this time', number(now.claims), note(then?.claims)],
        ['At the top level', number(now.top), note(then?.top)],
        ['Completed', `${number(now.completed)} (${percent(now.rate)})`, then && `${otherName}: ${percent(then.rate)}`],
      ]}
    />
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

type Level = InsightData['levels'][number]

const levelAxis = ({ levels }: InsightData): Axis => ({
  kind: 'names',
  name: 'Level',
  values: levels.map(({ level }) => String(level)),
})

/** Figures of another pass at the levels of this one. */
function byLevel(data: InsightData, other: InsightData, pick: (level: Level) => number | null): (number | null)[] {
  const known = new Map(other.levels.map((one) => [one.level, pick(one)]))
  return data.levels.map(({ level }) => known.get(level) ?? null)
}

function LevelChart(
  props: Omit<ChartsProps, 'by'> & {
    readonly title: string
    readonly figures: readonly (readonly ['players' | 'reached' | 'reachedPremium', string, Series['kind']])[]
  },
) {
  const { title, data, other, otherName, figures } = props
  const series = figures.map(
    ([field, name, kind]): Series => ({ name, kind, values: data.levels.map((level) => level[field]) }),
  )
  const [first] = figures
  if (other && first) {
    const [field, , kind] = first
    series.push({ name: otherName, kind, isFaint: true, values: byLevel(data, other, (level) => level[field]) })
  }
  return <Chart title={title} axis={levelAxis(data)} series={series} />
}

function DayChart(
  props: Omit<ChartsProps, 'by'> & {
    readonly title: string
    readonly figures: readonly (readonly ['players' | 'newPlayers' | 'claims' | 'premium' | 'completed', string])[]
  },
) {
  const { title, data, other, otherName, figures } = props
  const series = figures.map(([field, name]): Series => ({ name, values: data.days.map((day) => day[field]) }))
  const [first] = figures
  if (other && first) {
    // Days are compared by their place in the range, not by date: the first day with the first day.
    series.push({
      name: otherName,
      isFaint: true,
      values: data.days.map((_, day) => other.days[day]?.[first[0]] ?? null),
    })
  }
  const axis: Axis = { kind: 'time', name: 'Day', values: data.days.map(({ startsAt }) => Date.parse(startsAt)) }
  return <Chart title={title} axis={axis} series={series} />
}

function XpChart({ data, by }: { data: InsightData; by: 'HOUR' | 'DAY' }) {
  if (data.xp.length === 0) return <Empty title="No xp was granted in this time" />
  const shown = data.xp.slice(0, 6)
  const { starts, values } = xpOverTime(shown, { from: data.from, to: data.to, by })
  return (
    <Chart
      title="Xp by source"
      parts={by === 'HOUR' ? 'minute' : 'day'}
      axis={{
        kind: 'time',
        name: by === 'HOUR' ? 'Hour' : 'Day',
        values: starts,
      }}
      series={shown.map(({ source }, index) => ({
        name: source === null ? 'all others' : source === '' ? 'no source' : source,
        values: values[index] ?? [],
      }))}
    />
  )
}

function ClaimChart({ data, track }: { data: InsightData; track: 'FREE' | 'PREMIUM' }) {
  const tiers = data.tiers.filter((tier) => tier.track === track)
  if (tiers.length === 0) return <Empty title={`The pass has no ${track.toLowerCase()} tiers`} />
  return (
    <Chart
      title={`Claims of the ${track.toLowerCase()} track`}
      axis={{ kind: 'names', name: 'Level', values: tiers.map(({ level }) => String(level)) }}
      series={[
        { name: 'could claim', values: tiers.map(({ entitled }) => entitled) },
        { name: 'have claimed', values: tiers.map(({ claimed }) => claimed) },
        { name: 'have reached the level', isFaint: true, values: tiers.map(({ reached }) => reached) },
      ]}
    />
  )
}
