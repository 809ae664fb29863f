import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { inWords, sentence, textOf } from '../../ui/errors.ts'
import { Notice } from '../../ui/states.tsx'
import css from './problem-list.module.css'
import type { Problem } from './problems.ts'
import type { Check } from './use-problems.ts'

const FIRST = 20

/** Every fault and notice of a draft. Pressing one goes to its place in the open view. */
export function ProblemList({ check, onJump }: { check: Check; onJump: (problem: Problem) => void }) {
  const { problems, isFresh, error, retry } = check
  const [isWhole, setWhole] = useState(false)
  const faults = problems.filter(({ kind }) => kind === 'fault').length
  const notices = problems.length - faults
  const shown = isWhole ? problems : problems.slice(0, FIRST)
  return (
    <section className="panel" aria-label="Check">
      <header>
        <h2>Check</h2>
        <span role="status" className={css.summary}>
          {!isFresh && !error ? (
            'Checking…'
          ) : faults > 0 ? (
            <span className="badge bad">{faults === 1 ? '1 fault' : `${faults} faults`}</span>
          ) : error ? null : (
            <span className="badge good">No faults: it can be published</span>
          )}{' '}
          {notices > 0 && <span className="badge">{notices === 1 ? '1 notice' : `${notices} notices`}</span>}
        </span>
      </header>
      {error && (
        <Notice tone="error">
          {textOf(error)} <Button onClick={retry}>Check again</Button>
        </Notice>
      )}
      {problems.length > 0 && (
        <ul className={css.list}>
          {shown.map((problem) => (
            <li key={`${problem.kind} ${problem.pathText} ${problem.message}`}>
              <button type="button" className={css.problem} onClick={() => onJump(problem)}>
                <span className={problem.kind === 'fault' ? 'badge bad' : 'badge'}>{problem.kind}</span>
                <strong>{problem.place}</strong>
                <span>{sentence(inWords(problem.message))}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {problems.length > shown.length && (
        <div>
          <Button tone="quiet" onClick={() => setWhole(true)}>
            Show all {problems.length}
          </Button>
        </div>
      )}
    </section>
  )
}
