import { useMemo } from 'react'
import type { Json } from '../../graphql.ts'
import { type PassView, readDefinition } from '../../scenario/read-definition.ts'
import { Chart } from '../../ui/chart.tsx'
import { Panel } from '../../ui/page.tsx'
import { totalsOf } from '../model/totals.ts'
import css from './review.module.css'

/** The passes of a text that is JSON, and none of another one. */
export function usePasses(text: string): readonly PassView[] {
  return useMemo(() => {
    try {
      return readDefinition(JSON.parse(text) as Json).passes
    } catch {
      return []
    }
  }, [text])
}

/** What the passes give in all, in words. */
export const PassTotals = ({ passes }: { passes: readonly PassView[] }) =>
  passes.map((pass) => {
    const { size, gives, notes } = totalsOf(pass)
    return (
      <Panel key={pass.id} title={passes.length === 1 ? 'What the season gives' : `What ${pass.id} gives`}>
        <ul className={css.sentences}>
          {[size, ...gives, ...notes].map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </Panel>
    )
  })

/** The xp of each step from level to level: a step that is too long stands out. */
export const XpCurve = ({ pass: { levels } }: { pass: PassView }) => (
  <Panel title="Xp from level to level">
    <Chart
      title="Xp from level to level"
      axis={{ kind: 'names', name: 'Level', values: levels.slice(1).map(({ level }) => String(level)) }}
      series={[
        {
          name: 'xp from the level before',
          kind: 'bars',
          values: levels.slice(1).map(({ xp }, index) => Number(xp - (levels[index]?.xp ?? 0n))),
        },
      ]}
    />
  </Panel>
)
