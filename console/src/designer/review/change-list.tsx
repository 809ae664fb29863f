import { Fragment } from 'react'
import { Empty } from '../../ui/states.tsx'
import type { ChangeGroup } from '../model/words.ts'
import css from './review.module.css'

const MARKS = { added: '+', removed: '−', changed: '~' } as const
const MAX_LINES = 300

export function ChangeList({ changes }: { changes: readonly ChangeGroup[] | undefined }) {
  if (changes === undefined) return <Empty title="One of the texts is not JSON, so they cannot be compared" />
  if (changes.length === 0)
    return (
      <Empty title="No differences">Only spaces and the order of members, nodes, levels or tiers may differ.</Empty>
    )
  let left = MAX_LINES
  const total = changes.reduce((sum, { lines }) => sum + lines.length, 0)
  return (
    <div className={css.changes}>
      {changes.map(({ title, lines }) => {
        const shown = lines.slice(0, Math.max(0, left))
        left -= shown.length
        if (shown.length === 0) return null
        return (
          <Fragment key={title}>
            <h3>{title}</h3>
            <ul>
              {shown.map(({ kind, text }) => (
                <li key={text} className={css[kind]}>
                  <span className={css.mark} aria-hidden="true">
                    {MARKS[kind]}
                  </span>
                  {text}
                </li>
              ))}
            </ul>
          </Fragment>
        )
      })}
      {total > MAX_LINES && <p className="muted">and {total - MAX_LINES} more differences</p>}
    </div>
  )
}
