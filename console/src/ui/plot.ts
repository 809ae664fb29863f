import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { timeText } from './time.tsx'

/** One line or row of bars. `values` has an entry for each place of the axis; null leaves a gap. */
export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
  readonly kind?: 'line' | 'bars'
  /** Drawn faintly, for comparison. */
  readonly isFaint?: boolean
}

/** The horizontal axis: moments in milliseconds, or names in their order. */
export type Axis =
  | { readonly kind: 'time'; readonly name: string; readonly values: readonly number[] }
  | { readonly kind: 'names'; readonly name: string; readonly values: readonly string[] }

export interface PlotOptions {
  readonly axis: Axis
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly zone: 'UTC' | 'local'
  readonly onPlace: (place: number | null) => void
}

export interface Plot {
  show(place: number): void
  destroy(): void
}

const HEIGHT = 240
const COLOURS = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5', '--chart-6']

export function drawPlot(element: HTMLElement, { axis, series, format, zone, onPlace }: PlotOptions): Plot {
  const colour = colourReader(element)
  const isTime = axis.kind === 'time'
  const xs = isTime ? axis.values.map((at) => at / 1000) : axis.values.map((_, index) => index)
  const barCount = series.filter(({ kind }) => kind === 'bars').length
  let bars = 0

  const drawn = series.map(({ name, kind, isFaint }, index): uPlot.Series => {
    const stroke = colour(COLOURS[index % COLOURS.length] ?? '--accent')
    if (kind !== 'bars') {
      return {
        label: name,
        stroke,
        width: 2,
        dash: isFaint ? [6, 5] : undefined,
        points: { show: xs.length < 40, size: 5 },
      }
    }
    bars += 1
    // Two rows of bars are beside each other.
    const align = barCount < 2 ? 0 : bars === 1 ? -1 : 1
    const size = barCount < 2 ? 0.8 : 0.4
    return {
      label: name,
      stroke,
      fill: isFaint ? faint(stroke) : stroke,
      width: 0,
      paths: uPlot.paths.bars?.({ size: [size, 60], align }),
      points: { show: false },
    }
  })

  const plot = new uPlot(
    {
      width: Math.max(200, element.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (at) => (zone === 'UTC' ? uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') : new Date(at * 1000)),
      scales: {
        x: isTime ? { time: true } : { time: false, range: (_plot, low, high) => [low - 0.6, high + 0.6] },
        y: { range: (_plot, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 1, 1) * 1.05] },
      },
      axes: [
        {
          stroke: colour('--muted'),
          grid: { show: false },
          ticks: { stroke: colour('--line') },
          ...(isTime
            ? { space: 90, values: (_plot, splits) => splits.map((at) => tickText(at * 1000, axis.values, zone)) }
            : {
                incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
                values: (_plot, splits) => splits.map((at) => axis.values[at] ?? ''),
              }),
        },
        {
          stroke: colour('--muted'),
          grid: { stroke: colour('--line'), width: 1 },
          ticks: { show: false },
          size: 64,
          values: (_plot, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [{}, ...drawn],
      hooks: { setCursor: [({ cursor }) => onPlace(cursor.idx ?? null)] },
    },
    [xs, ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
    element,
  )
  const resized = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT }))
  resized.observe(element)
  return {
    show(place) {
      plot.setCursor({ left: plot.valToPos(xs[place] ?? 0, 'x'), top: 0 })
    },
    destroy() {
      resized.disconnect()
      plot.destroy()
    },
  }
}

/** `rgb(1, 2, 3)` at a third of its strength. */
const faint = (colour: string): string => colour.replace(/^rgb\((\d+), (\d+), (\d+)\)$/, 'rgb($1 $2 $3 / 35%)')

const DAY_MS = 86_400_000

/** The text below a tick: a day, or the hour of a range of at most two days. */
function tickText(at: number, all: readonly number[], zone: 'UTC' | 'local'): string {
  const length = (all.at(-1) ?? 0) - (all[0] ?? 0)
  return length > 2 * DAY_MS ? timeText(at, zone, 'day').slice(5) : timeText(at, zone, 'minute').slice(11)
}

/** Reads colours as the browser has computed them: a canvas knows no variables. */
function colourReader(element: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${name})`
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
