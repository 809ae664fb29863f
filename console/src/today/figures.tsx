import type { ResultOf } from '../graphql.ts'
import { figure } from '../ui/words.ts'
import { type AtHour, type Comparison, changeOf, compare, type Days } from './compare.ts'
import { Course } from './course.tsx'
import type { todayQuery } from './operations.ts'
import css from './today.module.css'

type Data = ResultOf<typeof todayQuery>
type PassTime = Data['passes']['times'][number]

/** The figures of today, each beside those of yesterday and of a week ago at the same hour. */
export function TodayFigures({ data, days }: { data: Data; days: Days }) {
  const { passes, logins, loginsLastWeek } = data
  const ofPasses = (of: (time: PassTime) => number | string): AtHour[] =>
    passes.times.map((time) => ({ at: Date.parse(time.startsAt), value: Number(of(time)) }))
  const ofLogins = [...logins.times, ...loginsLastWeek.times].map(({ startsAt, figures }) => ({
    at: Date.parse(startsAt),
    value: figures.logins,
  }))
  return (
    <dl className={css.cards}>
      <Card name="Players" note="earned xp, claimed or bought" values={ofPasses((at) => at.players)} days={days} />
      <Card name="New players" note="began a pass" values={ofPasses((at) => at.newPlayers)} days={days} />
      <Card name="Logins" note="by webhook or ID token" values={ofLogins} days={days} />
      <Card name="Xp" note="granted" values={ofPasses((at) => at.xp)} days={days} />
      <Card name="Claims" note="of tiers" values={ofPasses((at) => at.claims)} days={days} />
      <Card name="Premium sold" note="purchases" values={ofPasses((at) => at.sold)} days={days} />
      {passes.sales.map(({ currency, times }) => (
        <Card
          key={currency}
          name={`Sales in ${currency}`}
          note="prices of premium"
          values={times.map(({ startsAt, amount }) => ({ at: Date.parse(startsAt), value: Number(amount) }))}
          days={days}
        />
      ))}
    </dl>
  )
}

function Card({ name, note, values, days }: { name: string; note: string; values: readonly AtHour[]; days: Days }) {
  const compared = compare(values, days)
  return (
    <div className={`panel ${css.card}`}>
      <dt>
        {name}
        <small className="muted" title={note}>
          {note}
        </small>
      </dt>
      <dd translate="no">
        <span className={css.value}>{figure(compared.total)}</span>
        <Course name={name} course={compared.course} before={compared.courseBefore} />
        <Change of={compared} hours={days.hours} />
      </dd>
    </div>
  )
}

const hourText = (hours: number): string => `${String(hours).padStart(2, '0')}:00`

function Change({ of: { byNow, yesterday, lastWeek }, hours }: { of: Comparison; hours: number }) {
  if (hours === 0) return <p className="muted">Compared once an hour of the day is over.</p>
  const title = `By ${hourText(hours)} UTC: ${figure(byNow)} today, ${figure(yesterday)} yesterday, ${figure(lastWeek)} a week ago`
  return (
    <p className={css.changes} title={title}>
      <ChangeText now={byNow} before={yesterday} than="yesterday" />
      <ChangeText now={byNow} before={lastWeek} than="a week ago" />
      <span className="hidden">{title}.</span>
    </p>
  )
}

/** Above this, a change in percent is no figure to read. */
const MANY_TIMES = 100

function ChangeText({ now, before, than }: { now: number; before: number; than: string }) {
  const change = changeOf(now, before)
  if (change === null) return <span className="muted">0 {than}</span>
  const percent = Math.abs(change * 100).toLocaleString('en-US', {
    maximumFractionDigits: Math.abs(change) < 0.1 ? 1 : 0,
  })
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±'
  return (
    <span>
      <strong className={change > 0 ? css.up : change < 0 ? css.down : undefined}>
        {change >= MANY_TIMES ? `× ${figure(Math.round(now / before))}` : `${sign}${percent} %`}
      </strong>{' '}
      <span className="muted">vs. {than}</span>
    </span>
  )
}
