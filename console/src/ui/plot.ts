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
  /** The places of an axis of time are whole days, or hours. */
  readonly parts: 'day' | 'minute'
  readonly zone: 'UTC' | 'local'
  readonly onPlace: (place: number | null) => void
}

export interface Plot {
  show(place: number): void
  destroy(): void
}

const HEIGHT = 240
const COLOURS = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5', '--chart-6']

export function drawPlot(element: HTMLElement, { axis, series, format, parts, zone, onPlace }: PlotOptions): Plot {
  const colour = colourReader(element)
  const isTime = axis.kind === 'time'
  const xs = isTime ? axis.values.map((at) => at / 1000) : axis.values.map((_, index) => index)
  const plot = new uPlot(
    {
      width: Math.max(200, element.clientWidth),
      height: HEIGHT,
      // The last label is not cut.
      padding: [null, 24, null, null],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (at) => (zone === 'UTC' ? uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') : new Date(at * 1000)),
      scales: {
        x: isTime
          ? { time: true, range: (_plot, low, high) => rangeAround(low, high, parts) }
          : { time: false, range: (_plot, low, high) => [low - 0.6, high + 0.6] },
        y: { range: (_plot, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 1, 1) * 1.05] },
      },
      axes: [axisOfPlaces(axis, colour, parts, zone), axisOfValues(series, colour, format)],
      series: [{}, ...drawnSeries(series, colour, xs.length)],
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

type Colour = ReturnType<typeof colourReader>

function drawnSeries(series: readonly Series[], colour: Colour, places: number): uPlot.Series[] {
  const barCount = series.filter(({ kind }) => kind === 'bars').length
  let bars = 0
  return series.map(({ name, kind, isFaint }, index): uPlot.Series => {
    const stroke = colour(COLOURS[index % COLOURS.length] ?? '--accent')
    if (kind !== 'bars') {
      return {
        label: name,
        stroke,
        width: 2,
        dash: isFaint ? [6, 5] : undefined,
        points: { show: places < 40, size: 5 },
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
}

/** The horizontal axis. */
function axisOfPlaces(axis: Axis, colour: Colour, parts: PlotOptions['parts'], zone: PlotOptions['zone']): uPlot.Axis {
  return {
    stroke: colour('--muted'),
    grid: { show: false },
    ticks: { stroke: colour('--line') },
    ...(axis.kind === 'time'
      ? {
          space: 60,
          incrs: parts === 'day' ? DAY_STEPS : HOUR_STEPS,
          values: (_plot: uPlot, splits: number[]) => splits.map((at) => tickText(at * 1000, parts, zone)),
        }
      : {
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
          values: (_plot: uPlot, splits: number[]) => splits.map((at) => axis.values[at] ?? ''),
        }),
  }
}

/** The vertical axis. */
function axisOfValues(series: readonly Series[], colour: Colour, format: PlotOptions['format']): uPlot.Axis {
  const isWhole = series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)))
  return {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    size: (_plot, texts) => Math.max(40, ...(texts ?? []).map((text) => 16 + 7.5 * text.length)),
    // Of players and xp there are no parts.
    incrs: isWhole ? WHOLE_STEPS : undefined,
    values: (_plot, splits) => splits.map((value) => shortText(value, format)),
  }
}

/** `rgb(1, 2, 3)` at a third of its strength. */
const faint = (colour: string): string => colour.replace(/^rgb\((\d+), (\d+), (\d+)\)$/, 'rgb($1 $2 $3 / 35%)')

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
const HOUR_STEPS = [1, 2, 3, 6, 12, 24, 48].map((hours) => hours * HOUR_S)
const DAY_STEPS = [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_S)
const WHOLE_STEPS = Array.from({ length: 19 }, (_, zeros) => [1, 2, 5].map((digit) => digit * 10 ** zeros)).flat()

/** The text below a tick: a day, or an hour. The hour at which a day begins has the day. */
function tickText(at: number, parts: 'day' | 'minute', zone: 'UTC' | 'local'): string {
  const hour = timeText(at, zone, 'minute').slice(11)
  return parts === 'day' || hour === '00:00' ? timeText(at, zone, 'day').slice(5) : hour
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 })

/** The text beside a tick: short enough for the axis. */
function shortText(value: number, format: (value: number) => string): string {
  const text = format(value)
  return text.length > 7 ? compact.format(value) : text
}

/** The range of an axis of time, in seconds: one place alone is in the middle of its own length. */
function rangeAround(low: number, high: number, parts: 'day' | 'minute'): [number, number] {
  const half = (parts === 'day' ? DAY_S : HOUR_S) / 2
  return low === high ? [low - half, high + half] : [low, high]
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
