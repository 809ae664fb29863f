import { Link } from 'wouter'
import { seasonHref } from '../calendar/entries.ts'
import type { PassView } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { useFilters } from '../ui/filters.tsx'
import { DAY_MS } from '../ui/lengths.ts'
import { Figures } from '../ui/page.tsx'
import { Empty, Notice } from '../ui/states.tsx'
import { sum } from '../ui/sum.ts'
import { number, percent } from '../ui/words.ts'
import { ChartPanel, type Compared, DayChart, LevelChart } from './compared-chart.tsx'
import type { InsightData } from './operations.ts'
import { Sales } from './sales.tsx'
import { findStall } from './stall.ts'
import { Steps } from './steps.tsx'
import { ClippedXp, OriginChart, Sources, XpChart } from './xp-charts.tsx'
import { XpOutliers } from './xp-outliers.tsx'

interface ChartsProps extends Compared {
  readonly by: 'HOUR' | 'DAY'
  readonly scenarioId: string
  readonly nodeId: string
  readonly pass: PassView | undefined
  /** The end of the 24 hours in which outliers are sought. */
  readonly outliersTo: string
}

const VIEWS = [
  ['steps', 'Steps', StepsView],
  ['players', 'Players', PlayersView],
  ['xp', 'Xp', XpView],
  ['premium', 'Premium', PremiumView],
  ['claims', 'Claims', ClaimsView],
] as const

/** The figures of a pass: a summary, and below it the steps from level to level, or another view of the address. */
export function Charts(props: ChartsProps) {
  const filters = useFilters()
  const environment = useEnvironment()
  const base = seasonHref(environment, props.scenarioId, props.nodeId)
  const { completion, days } = props.data
  if (completion.players === 0 && days.every(({ players }) => players === 0))
    return (
      <Empty title="Nobody has played this pass yet">
        Figures appear with the first xp, claim or purchase of a player.
      </Empty>
    )
  const [view, , View] = VIEWS.find(([name]) => name === filters.value('view')) ?? VIEWS[0]
  return (
    <>
      <Summary {...props} />
      <nav className="tabs" aria-label="Figures of the pass">
        {VIEWS.map(([name, title]) => (
          <Link
            key={name}
            href={`${base}${filters.with('view', name === VIEWS[0][0] ? '' : name)}`}
            replace
            aria-current={view === name ? 'page' : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <View {...props} />
    </>
  )
}

function StepsView(props: ChartsProps) {
  const { data, scenarioId, nodeId, pass } = props
  const { levels } = data
  const stall = findStall(levels)
  const next = levels.find(({ level }) => stall !== undefined && level > stall.level)
  return (
    <>
      {stall && (
        <Notice tone="warning">
          <strong>Players stop most at level {stall.level}.</strong> Of the{' '}
          {number(levels.find(({ level }) => level === stall.level)?.reached ?? 0)} who have reached it,{' '}
          {number(stall.players)} ({percent(stall.share)}) have not reached level {next?.level}. Some of them may still
          be playing: {number(next?.reachedInRange ?? 0)} reached level {next?.level} in this time.
        </Notice>
      )}
      <Steps levels={levels} pass={pass} place={{ scenarioId, nodeId }} />
      <div className="columns">
        <LevelChart
          title="Players at each level"
          {...props}
          series={[{ name: 'at the level', kind: 'bars', of: ({ players }) => players }]}
        />
        <LevelChart
          title="Players who have reached a level"
          {...props}
          series={[
            { name: 'reached it', of: ({ reached }) => reached },
            { name: 'of them with premium', of: ({ reachedPremium }) => reachedPremium },
          ]}
        />
      </div>
    </>
  )
}

function PlayersView(props: ChartsProps) {
  return (
    <div className="columns">
      <DayChart
        title="Players by day"
        {...props}
        series={[
          { name: 'played', of: ({ players }) => players },
          { name: 'began the pass', of: ({ newPlayers }) => newPlayers },
        ]}
      />
      <DayChart
        title="Completion by day"
        {...props}
        series={[{ name: 'completed the pass', of: ({ completed }) => completed }]}
      />
    </div>
  )
}

function XpView({ data, by, scenarioId, nodeId, outliersTo }: ChartsProps) {
  return (
    <>
      <div className="columns">
        <Sources data={data} />
        <ClippedXp data={data} />
        <XpChart data={data} by={by} />
        <OriginChart data={data} by={by} />
      </div>
      <XpOutliers scenarioId={scenarioId} nodeId={nodeId} to={outliersTo} />
    </>
  )
}

function PremiumView(props: ChartsProps) {
  return (
    <div className="columns">
      <Sales data={props.data} />
      <DayChart
        title="Premium by day"
        {...props}
        series={[
          { name: 'sold', of: ({ sold }) => sold },
          { name: 'granted, minus revoked', of: ({ premium, sold }) => premium - sold },
        ]}
      />
      <LevelChart
        title="Premium by level reached"
        {...props}
        format={percent}
        series={[{ name: 'of those who reached it have premium', of: ({ conversion }) => conversion }]}
      />
      <LevelChart
        title="Premium in this time by level"
        {...props}
        series={[{ name: 'bought or granted at the level', kind: 'bars', of: ({ premiumInRange }) => premiumInRange }]}
      />
    </div>
  )
}

function ClaimsView(props: ChartsProps) {
  return (
    <div className="columns">
      <DayChart title="Claimed tiers by day" {...props} series={[{ name: 'claimed', of: ({ claims }) => claims }]} />
      <ClaimChart data={props.data} track="FREE" />
      <ClaimChart data={props.data} track="PREMIUM" />
    </div>
  )
}

function Summary({ data, other, otherName, now }: Compared) {
  const finished = other && Math.min(finishedDays(data, now), finishedDays(other, now))
  const inTime = (of: InsightData, days?: number) => {
    const counted = of.days.slice(0, days)
    return {
      newPlayers: sum(counted.map(({ newPlayers }) => newPlayers)),
      sold: sum(counted.map(({ sold }) => sold)),
      premium: sum(counted.map(({ premium, sold }) => premium - sold)),
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
        changed('Premium sold in this time', 'sold'),
        changed('Granted, minus revoked', 'premium'),
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
