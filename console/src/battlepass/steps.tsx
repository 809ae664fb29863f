import { Link } from 'wouter'
import { filterParameters } from '../players/filters.ts'
import type { PassView } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { Panel } from '../ui/page.tsx'
import { Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number, percent } from '../ui/words.ts'
import css from './steps.module.css'
import { type Step, type StepLevel, stepsOf, stepTimeText } from './steps.ts'
import { useStepTimes } from './use-step-times.ts'

/** Each level with the players who reached it, went on, and are still there. The last ones open as a list. */
export function Steps(props: {
  readonly levels: readonly StepLevel[]
  readonly pass: PassView | undefined
  readonly place: { readonly scenarioId: string; readonly nodeId: string }
}) {
  const { levels, pass, place } = props
  const environment = useEnvironment()
  const times = useStepTimes(environment, place)
  const playersAt = (level: number): string =>
    `/env/${encodeURIComponent(environment)}/players?${filterParameters({ ...place, levelFrom: level, levelTo: level })}`
  return (
    <Panel
      title="From level to level"
      about="Of those who reached a level, how many went on to the next one, and how many are still there. A bar opens these players."
      actions={
        <Button onClick={times.read} busy={times.isReading}>
          Time of each step
        </Button>
      }
    >
      {times.fault !== undefined && <Notice tone="error">{times.fault}</Notice>}
      <Table
        caption="From level to level"
        rows={stepsOf(levels, pass?.levels ?? [])}
        keyOf={({ level }) => String(level)}
        columns={[
          { title: 'Level', isNumber: true, cell: ({ level }) => level },
          {
            title: 'Reached it',
            cell: ({ reached, share }) => (
              <span className={css.bar}>
                <span style={{ width: `${share * 100}%` }} />
                {number(reached)}
              </span>
            ),
          },
          { title: 'Of all', isNumber: true, cell: ({ share }) => percent(share) },
          { title: 'Went on', isNumber: true, cell: ({ wentOn }) => (wentOn ? percent(wentOn.share) : '–') },
          {
            title: 'Still there',
            isNumber: true,
            cell: ({ level, players }) =>
              players === 0 ? (
                '0'
              ) : (
                <Link href={playersAt(level)} aria-label={`${number(players)} at level ${level}`}>
                  {number(players)}
                </Link>
              ),
          },
          { title: 'Reached in this time', isNumber: true, cell: ({ reachedInRange }) => number(reachedInRange) },
          { title: 'Xp to the next', isNumber: true, cell: ({ xp }) => (xp === null ? '–' : number(String(xp))) },
          ...(times.days === undefined
            ? []
            : [
                {
                  title: 'Time to the next (median)',
                  isNumber: true,
                  cell: ({ level }: Step) => stepTimeText(times.days?.get(level) ?? null),
                },
              ]),
        ]}
      />
    </Panel>
  )
}
