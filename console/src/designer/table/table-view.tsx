import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type ClipboardEvent,
  Fragment,
  type KeyboardEvent,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Button } from '../../ui/button.tsx'
import { saveRows } from '../../ui/csv.ts'
import { SelectField } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { toast } from '../../ui/toast.tsx'
import { number } from '../../ui/words.ts'
import { type Draft, useDraftState } from '../draft/draft.ts'
import type { Definition, NodeModel } from '../model/definition.ts'
import {
  addLevels,
  COLUMNS,
  type Column,
  nextCells,
  type PassRow,
  passesOf,
  removeLevels,
  rowsOf,
  setCell,
  setRows,
} from '../model/pass-table.ts'
import type { Problem } from '../problems/problems.ts'
import { PassTotals, usePasses, XpCurve } from '../review/pass-totals.tsx'
import { CellInput } from './cell-input.tsx'
import { ImportCsv } from './import-csv.tsx'
import { pasteAt } from './paste.ts'
import css from './table.module.css'

const ROW_PX = 38

/** A cell that a jump goes to. */
interface Target {
  readonly level: string
  /** The place in `levels`, as two rows can have one level. Undefined for a tier. */
  readonly index: number | undefined
  readonly column: Column
}

export function TableView(props: {
  readonly draft: Draft
  readonly definition: Definition
  readonly problems: readonly Problem[]
  readonly passId: string | undefined
  readonly onPass: (passId: string) => void
  readonly target: Target | undefined
  /** The number of the jump: the same place can be jumped to again. */
  readonly jump: number
}) {
  const { draft, definition, problems, onPass, target, jump } = props
  const passes = passesOf(definition)
  const pass = passes.find(({ id }) => id === props.passId) ?? passes[0]
  if (!pass)
    return (
      <Empty title="This scenario has no battle pass">
        Add a node of the type battle-pass in the graph. Its levels and tiers then appear here.
      </Empty>
    )
  return (
    <>
      <PassTable
        key={pass.id}
        draft={draft}
        definition={definition}
        pass={pass}
        problems={problems.filter(({ nodeId }) => nodeId === pass.id)}
        target={target}
        jump={jump}
      >
        {passes.length > 1 && (
          <SelectField
            label="Pass"
            name="pass"
            value={pass.id}
            onChange={onPass}
            options={passes.map(({ id }) => id)}
          />
        )}
      </PassTable>
      <Totals draft={draft} passId={pass.id} />
    </>
  )
}

/** The sum of the rewards and the curve of xp, beside the table. They follow once a person pauses. */
function Totals({ draft, passId }: { draft: Draft; passId: string }) {
  const { history } = useDraftState(draft)
  const pass = usePasses(useDeferredValue(history.text)).find(({ id }) => id === passId)
  return (
    pass !== undefined &&
    pass.levels.length > 1 && (
      <div className="columns">
        <PassTotals passes={[pass]} />
        <XpCurve pass={pass} />
      </div>
    )
  )
}

function PassTable(props: {
  readonly draft: Draft
  readonly definition: Definition
  readonly pass: NodeModel
  readonly problems: readonly Problem[]
  readonly target: Target | undefined
  readonly jump: number
  readonly children: React.ReactNode
}) {
  const { draft, definition, pass, problems, target, jump } = props
  const rows = useMemo(() => rowsOf(definition, pass), [definition, pass])
  const scroller = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState<number>()
  const [wanted, setWanted] = useState<{ readonly index: number; readonly column: Column }>()
  const [faults, setFaults] = useState<readonly string[]>([])
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    // The row in which a person types stays in the page.
    rangeExtractor: ({ startIndex, endIndex, overscan, count }) => {
      const from = Math.max(0, startIndex - overscan)
      const to = Math.min(count - 1, endIndex + overscan)
      const range = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at)
      if (focused === undefined || focused >= count || (focused >= from && focused <= to)) return range
      return [...range, focused].sort((a, b) => a - b)
    },
  })
  const marks = useMemo(() => marksOf(problems), [problems])

  /** Draws the row, wherever it is, and then moves the focus to its cell. */
  const focusCell = (index: number, column: Column) => {
    setFocused(index)
    setWanted({ index, column })
  }

  useLayoutEffect(() => {
    const cell = wanted && scroller.current?.querySelector<HTMLInputElement>(`[data-cell="${placeOf(wanted)}"]`)
    if (!cell) return
    setWanted(undefined)
    // The focus scrolls to the cell.
    cell.focus()
    cell.select()
  })

  const isTarget = ({ index, cells }: PassRow) =>
    target?.index === undefined ? cells.level === target?.level : index === target.index
  const targetIndex = target ? rows.findIndex(isTarget) : -1
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each jump
  useEffect(() => {
    if (target && targetIndex >= 0) focusCell(targetIndex, target.column)
  }, [target?.level, target?.index, target?.column, jump])

  function onKey(event: KeyboardEvent, index: number, column: Column): void {
    const step = { ArrowDown: 1, ArrowUp: -1, Enter: event.shiftKey ? -1 : 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    if (index + step >= 0 && index + step < rows.length) focusCell(index + step, column)
  }

  function onPaste(event: ClipboardEvent, index: number, column: Column): void {
    const text = event.clipboardData.getData('text/plain')
    if (!/[\t\n]/.test(text.replace(/\r?\n$/, ''))) return
    event.preventDefault()
    const pasted = pasteAt(rows, index, column, text)
    setFaults(pasted.faults)
    if (pasted.faults.length > 0) return
    draft.edit(setRows(pass.id, pasted.table))
    const added = pasted.table.length - rows.length
    toast(added > 0 ? `Pasted. New levels: ${added}.` : 'Pasted.', 'success')
  }

  const save = () =>
    saveRows(
      `${pass.id}.csv`,
      COLUMNS,
      rows.map(({ cells }) => cells),
    )

  function remove(index: number, row: PassRow): void {
    draft.edit(removeLevels(pass, [row]))
    focusCell(Math.max(0, Math.min(index, rows.length - 2)), 'level')
  }

  const items = virtualizer.getVirtualItems()
  return (
    <Panel
      title={`Levels and tiers of ${pass.id}`}
      actions={
        <>
          {props.children}
          <Button
            onClick={() => {
              draft.edit(addLevels(pass, [nextCells(rows)]))
              focusCell(rows.length, 'xp')
            }}
          >
            Add level
          </Button>
          <ImportCsv
            definition={definition}
            passId={pass.id}
            onImport={(table) => draft.edit(setRows(pass.id, table))}
          />
          <Button onClick={save}>Export CSV</Button>
        </>
      }
    >
      <p className="hint">
        Xp is the total that reaches a level. Rewards are written as <code>50 gold, 1 item:sword</code>. An empty cell
        is no tier. Rows of a spreadsheet can be pasted into any cell.
      </p>
      {faults.length > 0 && (
        <Notice tone="error">
          <strong>Nothing was pasted.</strong>
          <ul>
            {faults.slice(0, 10).map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
            {faults.length > 10 && <li>and {faults.length - 10} more</li>}
          </ul>
        </Notice>
      )}
      {rows.length === 0 ? (
        <Empty title="This pass has no levels">Add the first one.</Empty>
      ) : (
        <section ref={scroller} className={`table-box ${css.scroller}`} aria-label={`Levels of ${pass.id}`}>
          <table aria-rowcount={rows.length + 1} className={css.table}>
            <caption className="hidden">Levels and tiers of {pass.id}</caption>
            <thead>
              <tr>
                <th scope="col" className={css.numeric}>
                  Level
                </th>
                <th scope="col" className={css.numeric}>
                  Xp
                </th>
                <th scope="col" className="number">
                  Step
                </th>
                <th scope="col">Free rewards</th>
                <th scope="col">Premium rewards</th>
                <th scope="col">
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              <Gap height={items[0]?.start ?? 0} />
              {items.map(({ index, start }, at) => {
                const row = rows[index]
                if (!row) return null
                const gap = start - (items[at - 1]?.end ?? start)
                return (
                  // A row stays itself, with the focus, when the rows before it change.
                  <Fragment key={index}>
                    {gap > 0 && <Gap height={gap} />}
                    <tr aria-rowindex={index + 2}>
                      {COLUMNS.map((column) => [
                        <td key={column} className={css[column]}>
                          <CellInput
                            row={row}
                            column={column}
                            place={placeOf({ index, column })}
                            problem={marks.get(`${row.cells.level} ${column}`)}
                            readOnly={row.index === undefined && (column === 'level' || column === 'xp')}
                            onChange={(text) => draft.edit(setCell(pass, row, column, text), `cell ${index} ${column}`)}
                            onFocus={() => setFocused(index)}
                            onKeyDown={(event) => onKey(event, index, column)}
                            onPaste={(event) => onPaste(event, index, column)}
                          />
                        </td>,
                        column === 'xp' && (
                          <td key="step" className={`number ${css.step}`}>
                            {stepOf(rows[index - 1], row)}
                          </td>
                        ),
                      ])}
                      <td className={css.actions}>
                        <Button
                          tone="quiet"
                          label={`Delete level ${row.cells.level}`}
                          onClick={() => remove(index, row)}
                        >
                          ×
                        </Button>
                      </td>
                    </tr>
                  </Fragment>
                )
              })}
              <Gap height={virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0)} />
            </tbody>
          </table>
        </section>
      )}
    </Panel>
  )
}

const placeOf = ({ index, column }: { readonly index: number; readonly column: Column }): string => `${index} ${column}`

const Gap = ({ height }: { height: number }) =>
  height > 0 ? (
    <tr>
      <td className="gap" colSpan={6} style={{ height }} />
    </tr>
  ) : null

/** The xp from the level before. */
function stepOf(before: PassRow | undefined, { cells: { xp } }: PassRow): string {
  if (!before || !/^\d+$/.test(xp) || !/^\d+$/.test(before.cells.xp)) return ''
  return number(String(BigInt(xp) - BigInt(before.cells.xp)))
}

function marksOf(problems: readonly Problem[]): ReadonlyMap<string, Problem> {
  const marks = new Map<string, Problem>()
  for (const problem of problems) {
    const { cell } = problem
    if (!cell) continue
    const key = `${cell.level} ${cell.column}`
    if (!marks.has(key) || problem.kind === 'fault') marks.set(key, problem)
  }
  return marks
}
