import { Link } from 'wouter'
import { type Calendar, PHASES, seasonHref } from '../calendar/entries.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { words } from '../ui/words.ts'
import { seasonClock } from './season-clock.ts'
import css from './today.module.css'

/** The seasons that are announced, running or open for claims, each with its clock. */
export function Seasons({ seasons, now }: { seasons: Calendar['seasons']; now: number }) {
  const environment = useEnvironment()
  const shown = seasons.filter(({ phase }) => phase !== 'CLOSED')
  if (shown.length === 0)
    return (
      <p className="muted">
        No season has dates. Give a pass its dates in the{' '}
        <Link href={`/env/${encodeURIComponent(environment)}/scenarios`}>designer</Link>: its clock stands here then.
      </p>
    )
  return (
    <ul className={css.seasons}>
      {shown.map(({ scenarioId, nodeId, phase, phases }) => {
        const { next, day } = seasonClock(phases, now)
        return (
          <li key={`${scenarioId} ${nodeId}`} className={`panel ${css.season}`}>
            <Link
              href={seasonHref(environment, scenarioId, nodeId)}
              className="clip"
              title={`${scenarioId}, ${nodeId}`}
            >
              {scenarioId}
            </Link>
            <span className={phase === 'RUNNING' || phase === 'ENDING' ? 'badge good' : 'badge'}>
              {PHASES[phase] ?? words(phase)}
            </span>
            <span className="muted">{[day && `day ${day.of} of ${day.all}`, next].filter(Boolean).join(', ')}</span>
            {day && <progress value={day.share} max={1} aria-label={`How much of ${scenarioId} is over`} />}
          </li>
        )
      })}
    </ul>
  )
}
