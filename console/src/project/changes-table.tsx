import { useState } from 'react'
import { CheckField } from '../ui/form.tsx'
import css from './audit.module.css'
import { changesOf } from './changes.ts'

/** With more members, unchanged ones are hidden at first. */
const FEW = 12

/** The members of a state before and after beside each other, those that differ marked. */
export function ChangesTable({ before, after }: { before: string | null; after: string | null }) {
  const changes = changesOf(before, after)
  const unchanged = changes.filter(({ isChanged }) => !isChanged).length
  const isOneSided = before === null || after === null
  const [isAll, setAll] = useState(changes.length <= FEW)
  if (changes.length === 0) return <p className="muted">The entry has no state before or after.</p>
  const shown = isAll ? changes : changes.filter(({ isChanged }) => isChanged)
  return (
    <>
      {!isOneSided && unchanged > 0 && unchanged < changes.length && (
        <CheckField
          label={`Show members that stayed as they were (${unchanged})`}
          name="all"
          value={isAll}
          onChange={setAll}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section className="table-box" aria-label="Before and after" tabIndex={0}>
        <table className={css.changes}>
          <thead>
            <tr>
              <th scope="col">Member</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ path, before: was, after: is, isChanged }) => {
              const isMarked = isChanged && !isOneSided
              return (
                <tr key={path} className={isMarked ? css.changed : undefined}>
                  <th scope="row">
                    <code>{path}</code> {isMarked && <span className="hidden">changed</span>}
                  </th>
                  <Value of={was} />
                  <Value of={is} />
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
      {shown.length === 0 && <p className="muted">No member differs.</p>}
    </>
  )
}

const Value = ({ of }: { of: string | undefined }) => (
  <td>{of === undefined ? <span className="muted">–</span> : <code>{of}</code>}</td>
)
