import { type KeyboardEvent, useEffect, useId, useRef, useState, useSyncExternalStore } from 'react'
import { Button } from './button.tsx'
import css from './chart.module.css'
import { type Cell, saveFile, toCsv } from './csv.ts'
import type { Axis, Plot, Series } from './plot.ts'
import { usePreferences } from './preferences.ts'
import { Table } from './table.tsx'
import { timeText } from './time.tsx'
import { number } from './words.ts'

export type { Axis, Series } from './plot.ts'

export interface ChartProps {
  readonly title: string
  readonly axis: Axis
  readonly series: readonly Series[]
  /** Default: a number with groups of digits. */
  readonly format?: (value: number) => string
  /** `day` for values of whole days, which need no time of day. Such days are those of UTC in either zone. */
  readonly parts?: 'day' | 'minute'
}

/** How long a place is on an axis that has only one. */
const LENGTHS_MS = { day: 86_400_000, minute: 3_600_000 }

/**
 * A chart with the same figures as a table and as CSV. With the keyboard, the arrows go from place to place, and screen
 * readers read the figures of each.
 */
export function Chart({ title, axis, series, format = number, parts = 'day' }: ChartProps) {
  const [isTable, setTable] = useState(false)
  const { times } = usePreferences()
  const zone = parts === 'day' ? 'UTC' : times
  const nameOf = (place: number): string => {
    if (axis.kind === 'names') return axis.values[place] ?? ''
    const { values } = axis
    const [at = 0, length] = [values[place], (values[1] ?? Number.NaN) - (values[0] ?? Number.NaN)]
    const isOver = at + (length || LENGTHS_MS[parts]) <= Date.now()
    return `${timeText(at, zone, parts)}${isOver ? '' : ' (not over)'}`
  }
  const text = (value: number | null | undefined) => (value === null || value === undefined ? '–' : format(value))

  function save(): void {
    const rows = axis.values.map((value, place): Cell[] => [
      axis.kind === 'names' ? String(value) : new Date(Number(value)).toISOString(),
      ...series.map(({ values }) => values[place] ?? null),
    ])
    saveFile(
      `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`,
      toCsv([axis.name, ...series.map(({ name }) => name)], rows),
    )
  }

  return (
    <figure className={css.chart}>
      <figcaption className={css.caption}>
        <span className={css.legend}>
          {series.map(({ name, isFaint }, index) => (
            <span key={name}>
              <i
                className={isFaint ? css.faint : undefined}
                style={{ background: `var(--chart-${(index % 6) + 1})` }}
              />{' '}
              {name}
            </span>
          ))}
        </span>
        <span className={css.actions}>
          <Button tone="quiet" pressed={isTable} onClick={() => setTable(!isTable)} label={`Table of ${title}`}>
            Table
          </Button>
          <Button tone="quiet" onClick={save} label={`CSV of ${title}`}>
            CSV
          </Button>
        </span>
      </figcaption>
      {isTable ? (
        <Table
          caption={title}
          columns={[
            { title: axis.name, cell: (place: number) => nameOf(place) },
            ...series.map(({ name, values }) => ({
              title: name,
              isNumber: true,
              cell: (place: number) => text(values[place]),
            })),
          ]}
          rows={axis.values.map((_, place) => place)}
          keyOf={String}
        />
      ) : (
        <Drawing
          title={title}
          axis={axis}
          series={series}
          format={format}
          zone={zone}
          parts={parts}
          read={(place) =>
            `${nameOf(place)}: ${series.map(({ name, values }) => `${name} ${text(values[place])}`).join(', ')}`
          }
        />
      )}
    </figure>
  )
}

function Drawing(
  props: Omit<ChartProps, 'format'> & {
    readonly format: (value: number) => string
    readonly zone: 'UTC' | 'local'
    readonly parts: 'day' | 'minute'
    readonly read: (place: number) => string
  },
) {
  const { title, axis, series, format, zone, parts, read } = props
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(null)
  const [place, setPlace] = useState<number | null>(null)
  const { theme } = usePreferences()
  const isDark = useDark()
  const hintId = useId()
  const count = axis.values.length
  // Drawn again only when the figures change: a page that reads them again must not flicker.
  const content = JSON.stringify([axis, series])

  // biome-ignore lint/correctness/useExhaustiveDependencies: figures are compared by their content
  useEffect(() => {
    let isGone = false
    void import('./plot.ts').then(({ drawPlot }) => {
      if (isGone || element.current === null) return
      plot.current = drawPlot(element.current, { axis, series, format, parts, zone, onPlace: setPlace })
    })
    return () => {
      isGone = true
      plot.current?.destroy()
      plot.current = null
    }
  }, [content, zone, parts, theme, isDark])

  function onKey(event: KeyboardEvent): void {
    const to = { ArrowRight: (place ?? -1) + 1, ArrowLeft: (place ?? count) - 1, Home: 0, End: count - 1 }[event.key]
    if (to === undefined || count === 0) return
    event.preventDefault()
    plot.current?.show(Math.min(count - 1, Math.max(0, to)))
  }

  return (
    <>
      <div
        ref={element}
        className={css.drawing}
        role="application"
        aria-label={title}
        aria-describedby={hintId}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrows read the figures
        tabIndex={0}
        onKeyDown={onKey}
      />
      <p className={css.reading} aria-live="polite">
        {place === null ? <span id={hintId}>Point at the chart, or use the arrow keys.</span> : read(place)}
      </p>
    </>
  )
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function useDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      dark.addEventListener('change', listener)
      return () => dark.removeEventListener('change', listener)
    },
    () => dark.matches,
  )
}
