// How figures are printed: a table first, and below it what is compared within each round.

/** Microseconds a call. */
export interface CallCpu {
  readonly service: number
  readonly postgres: number
}

export interface Cell {
  readonly perSecond: number
  readonly medianMs: number
  /** Null where it is not measured. */
  readonly cpu: CallCpu | null
}

/** What was measured, by row and number of connections: a cell for each round. */
export class Figures {
  private readonly cells = new Map<string, Cell[]>()

  add(row: string, connections: number, cell: Cell): void {
    const key = `${row} ${connections}`
    this.cells.set(key, [...(this.cells.get(key) ?? []), cell])
  }

  get(row: string, connections: number): readonly Cell[] {
    return this.cells.get(`${row} ${connections}`) ?? []
  }

  /** Something of a row at each number of connections, as the median of its rounds. */
  medians(
    row: string,
    at: readonly number[],
    print: (of: (read: (cell: Cell) => number) => number) => string,
  ): string[] {
    return at.map((connections) => {
      const cells = this.get(row, connections)
      return cells.length === 0 ? '' : print((read) => median(cells.map(read)))
    })
  }

  /** Ours divided by the other's in each round: the median of that, and the lowest and highest. */
  ratio(ours: Side, other: Side, read: (cell: Cell) => number | undefined): string {
    const others = this.get(...other)
    const ratios = this.get(...ours).flatMap((cell, round) => {
      const against = others[round]
      const ratio = (read(cell) ?? Number.NaN) / ((against && read(against)) ?? Number.NaN)
      return Number.isFinite(ratio) ? ratio : []
    })
    if (ratios.length === 0) return ''
    const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2))
    return `${median(ratios).toFixed(2)}${ratios.length > 1 ? ` (${low}–${high})` : ''}`
  }
}

/** A row at a number of connections. */
export type Side = readonly [row: string, connections: number]

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

const NAME_WIDTH = 42
const CELL_WIDTH = 18

export function printLine(name: string, values: readonly string[]): void {
  // Lines of nothing are left out.
  if (values.every((value) => value === '')) return
  const cells = values.map((value) => value.padStart(CELL_WIDTH)).join('')
  print(`  ${name.padEnd(NAME_WIDTH)}${cells}`.trimEnd())
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const isTerminal = process.stderr.isTTY === true
const started = performance.now()

/** Says what is being done. */
export function note(text: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  process.stderr.write(isTerminal ? `\r\x1b[2K${seconds} s: ${text}` : `${seconds} s: ${text}\n`)
}

export function clearNote(): void {
  if (isTerminal) process.stderr.write('\r\x1b[2K')
}
