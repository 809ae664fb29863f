import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from './button.tsx'
import type { Pages } from './pages.ts'
import { Failed, Loading } from './states.tsx'
import { number } from './words.ts'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean
}

interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Shown in place of a table without rows. */
  readonly empty?: ReactNode
  readonly keyOf: (row: Row) => string
  readonly children?: ReactNode
  /** The table grows with its rows instead of scrolling, and all of them are in the page. */
  readonly whole?: boolean
}

/** With more rows, only visible rows are in the page. */
const MANY_ROWS = 100
const ROW_PX = 37

/** A table. A long one scrolls in itself and keeps only visible rows in the page. */
export function Table<Row>({ caption, columns, rows, empty, keyOf, children, whole }: TableProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const isVirtual = !whole && rows.length > MANY_ROWS
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: isVirtual,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  if (rows.length === 0 && empty !== undefined) return empty
  const items = isVirtual ? virtualizer.getVirtualItems() : []
  const shown = isVirtual
    ? items.flatMap(({ index }) => (rows[index] === undefined ? [] : [[index, rows[index]] as const]))
    : rows.map((row, index) => [index, row] as const)
  const above = items[0]?.start ?? 0
  const below = isVirtual ? virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0) : 0
  return (
    <section
      ref={scroller}
      className={whole ? 'table-box' : 'table-box scrolls'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={caption}
    >
      <table className="rows" aria-rowcount={rows.length + 1}>
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" className={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Gap height={above} columns={columns.length} />}
          {shown.map(([index, row]) => (
            <tr
              key={keyOf(row)}
              aria-rowindex={index + 2}
              data-index={index}
              ref={isVirtual ? virtualizer.measureElement : undefined}
            >
              {columns.map(({ title, cell, isNumber }) => (
                <td
                  key={title}
                  data-title={title}
                  className={isNumber ? 'number' : undefined}
                  translate={isNumber ? 'no' : undefined}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {below > 0 && <Gap height={below} columns={columns.length} />}
        </tbody>
      </table>
      {children}
    </section>
  )
}

/** Fills the space of rows that are not in the page. */
const Gap = ({ height, columns }: { height: number; columns: number }) => (
  <tr>
    <td className="gap" colSpan={columns} style={{ height }} />
  </tr>
)

/** The buttons of a list: to read it again, and to save the rows that are shown. */
export const ListActions = ({ pages, onSave }: { pages: Pages<unknown>; onSave: () => void }) => (
  <>
    <Button onClick={pages.reload} busy={pages.isLoading}>
      Refresh
    </Button>
    <Button onClick={onSave} disabled={pages.rows.length === 0}>
      CSV of the shown
    </Button>
  </>
)

/** After this many empty pages, the next page is read only when the person asks for it. */
const MAX_FOLLOWED = 5

export function PagedTable<Row>({
  pages,
  total,
  empty,
  ...table
}: Omit<TableProps<Row>, 'rows' | 'children' | 'empty'> & {
  readonly pages: Pages<Row>
  /** How many entries the whole list has, in words. */
  readonly total?: string | undefined
  readonly empty: ReactNode
}) {
  const { rows, error, isLoading, isStale, hasMore, more, reload } = pages
  // A page may end before it has found anything.
  const isFruitless = rows.length === 0 && hasMore && !isLoading && !isStale && !error
  const followed = useRef(0)
  useEffect(() => {
    if (!isFruitless || followed.current >= MAX_FOLLOWED) return
    followed.current += 1
    more()
  }, [isFruitless, more])
  if (rows.length === 0 && error) return <Failed error={error} onRetry={reload} />
  if (rows.length === 0 && !hasMore) return isLoading ? <Loading /> : empty
  return (
    <Table {...table} rows={rows}>
      {error && <Failed error={error} onRetry={more} />}
      {hasMore && (
        <div className="more">
          <Button onClick={more} busy={isLoading || isStale}>
            {isLoading ? 'Loading…' : 'Show more'}
          </Button>
          <span className="muted">
            {rows.length === 0 && !isLoading
              ? 'Nothing found so far. The list continues.'
              : shownText(rows.length, total)}
          </span>
        </div>
      )}
    </Table>
  )
}

const shownText = (shown: number, total: string | undefined): string =>
  `${number(shown)} ${total === undefined ? '' : `of ${total} `}shown`
