import type { ClipboardEvent, KeyboardEvent } from 'react'
import { sentence } from '../../ui/errors.ts'
import { useDraftText } from '../draft/draft-field.tsx'
import { type Column, faultOfCell, type PassRow } from '../model/pass-table.ts'
import { readRewards, rewardsText } from '../model/rewards.ts'
import type { Problem } from '../problems/problems.ts'
import css from './table.module.css'

const NAMES = { level: 'level', xp: 'xp', free: 'free rewards', premium: 'premium rewards' } as const

export function CellInput(props: {
  readonly row: PassRow
  readonly column: Column
  /** Identifies the cell in the page. */
  readonly place: string
  readonly problem: Problem | undefined
  readonly readOnly: boolean
  readonly onChange: (text: string) => void
  readonly onFocus: () => void
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly onPaste: (event: ClipboardEvent) => void
}) {
  const { row, column, place, problem, readOnly, onChange, onFocus, onKeyDown, onPaste } = props
  const text = useDraftText({
    value: row.cells[column],
    normalise: (typed) => (faultOfCell(column, typed) === undefined ? normalised(column, typed) : undefined),
    onChange,
  })
  const setBy = column === 'free' || column === 'premium' ? row.setBy[column] : []
  const fault = text.isUnfit
    ? faultOfCell(column, text.input.value)
    : problem?.kind === 'fault'
      ? sentence(problem.message)
      : undefined
  const note = setBy.length > 0 ? `Set by the node ${setBy.join(', ')}. Change it there.` : undefined
  return (
    <span className={css.cell}>
      <input
        {...text.input}
        onChange={(event) => text.input.onChange(event.target.value)}
        data-cell={place}
        aria-label={`Level ${row.cells.level}, ${NAMES[column]}`}
        aria-invalid={fault !== undefined || undefined}
        title={fault ?? note}
        readOnly={readOnly}
        inputMode={column === 'level' || column === 'xp' ? 'numeric' : undefined}
        onFocus={onFocus}
        onKeyDown={(event) => {
          text.input.onKeyDown(event)
          onKeyDown(event)
        }}
        onPaste={onPaste}
      />
      {setBy.length > 0 && (
        <span className="badge" title={note}>
          {setBy[0]}
        </span>
      )}
    </span>
  )
}

function normalised(column: Column, text: string): string {
  if (column === 'level' || column === 'xp') return text
  const rewards = text.trim() === '' ? undefined : readRewards(text)
  return rewards ? rewardsText(rewards) : ''
}
