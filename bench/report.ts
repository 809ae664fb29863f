// Prints figures: a table first, then the comparisons within each round.

/** Microseconds a call. */
export interface CallCpu {
  readonly service: number
  readonly postgres: number
}

/** Bytes a call. */
export interface CallBytes {
  /** Written to the log of Postgres. */
  readonly log: number
  /** Added to ledgers and events, with their indexes. */
  readonly kept: number
}

export interface Cell {
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms?: number
  /** Null if not measured. */
  readonly cpu: CallCpu | null
  readonly bytes?: CallBytes
}

/** The measurements by row and number of connections: a cell for each round. */
export class Figures {
  private readonly cells = new Map<string, Cell[]>()

  add(row: string, connections: number, cell: Cell): void {
    const key = `${row} ${connections}`
    this.cells.set(key, [...(this.cells.get(key) ?? []), cell])
  }

  get(row: string, connections: number): readonly Cell[] {
    return this.cells.get(`${row} ${connections}`) ?? []
  }

  /** The printed figures of a row at each number of connections. Empty where it was not measured. */
  medians(row: string, at: readonly number[], print: (medians: Medians) => string): string[] {
    return at.map((connections) => {
      const cells = this.get(row, connections)
      return cells.length === 0 ? '' : print((read) => median(cells.map((cell) => read(cell) ?? Number.NaN)))
    })
  }

  /** The first side divided by the second in each round: the median, and the lowest and highest. */
  ratio(first: Side, second: Side, read: Read): string {
    const others = this.get(...second)
    const ratios = this.get(...first).flatMap((cell, round) => {
      const other = others[round]
      const ratio = (read(cell) ?? Number.NaN) / ((other && read(other)) ?? Number.NaN)
      return Number.isFinite(ratio) ? ratio : []
    })
    return spread(ratios)
  }
}

/** The median of ratios, and the lowest and highest. */
export function spread(ratios: readonly number[]): string {
  if (ratios.length === 0) return ''
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2))
  return `${median(ratios).toFixed(2)}${ratios.length > 1 ? ` (${low}–${high})` : ''}`
}

/** A row at a number of connections. */
export type Side = readonly [row: string, connections: number]
/** One figure of a cell, if it was measured. */
export type Read = (cell: Cell) => number | null | undefined
/** The median of a figure over the rounds. */
export type Medians = (read: Read) => number

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

const NAME_WIDTH = 42
const CELL_WIDTH = 21

/** A name, and the texts of the columns. */
export type Line = readonly [name: string, values: readonly string[]]

/** Prints the title and the lines that have values. */
export function printSection(title: string, lines: readonly Line[]): void {
  const told = lines.filter(([, values]) => values.some((value) => value !== ''))
  // A header without other lines is not printed.
  if (lines.length > 0 && told.filter(([name]) => name !== 'connections').length === 0) return
  print('')
  print(title)
  for (const [name, values] of told) {
    const cells = values.map((value) => value.padStart(CELL_WIDTH)).join('')
    print(`  ${name.padEnd(NAME_WIDTH)}${cells}`.trimEnd())
  }
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const isTerminal = process.stderr.isTTY === true
const started = performance.now()

/** Prints the progress. */
export function note(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  process.stderr.write(isTerminal ? `\r\x1b[2K${seconds} s: ${text}` : `${seconds} s: ${text}\n`)
}

export function clearNote(): void {
  if (isTerminal) process.stderr.write('\r\x1b[2K')
}
