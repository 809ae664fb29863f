import { playersText } from '../ui/players-text.ts'
import { Time } from '../ui/time.tsx'
import { number, words } from '../ui/words.ts'
import { type Job, STATE_TONES } from './gift.ts'
import css from './grants.module.css'

export const StateBadge = ({ state }: Pick<Job, 'state'>) => (
  <span className={`badge ${STATE_TONES[state]}`}>{words(state)}</span>
)

/** How many of the players of a job have their outcome. */
export function Progress(job: Pick<Job, 'state' | 'players' | 'granted' | 'failed' | 'startsAt'>) {
  const { state, players, granted, failed, startsAt } = job
  if (state === 'PLANNED' && startsAt !== null)
    return (
      <span>
        starts <Time at={startsAt} parts="minute" />
      </span>
    )
  const text =
    state === 'COLLECTING' ? `${playersText(players)} so far` : `${number(granted + failed)} of ${number(players)}`
  return (
    <div className={css.progress}>
      <progress aria-label="Players with an outcome" max={Math.max(players, 1)} value={granted + failed} />
      <span>
        {text}
        {failed > 0 && <span className={css.failed}>, {number(failed)} failed</span>}
      </span>
    </div>
  )
}
