import { readCells } from '../../ui/csv.ts'
import { type Cells, COLUMNS, type Column, faultOfCell } from '../model/pass-table.ts'

/** Spreadsheets write numbers with groups of digits, in the form of the person's locale. */
const plainNumber = (text: string): string => {
  const trimmed = text.trim()
  return /^\d{1,3}([,.'\u00a0\u202f ]\d{3})+$/.test(trimmed) ? trimmed.replaceAll(/\D/g, '') : trimmed
}

const cleanCell = (column: Column, text: string): string =>
  column === 'level' || column === 'xp' ? plainNumber(text) : text.trim()

export interface PastedRow {
  /** The row, counted from the row of the paste. */
  readonly offset: number
  readonly cells: Partial<Record<Column, string>>
}

/**
 * The cells of a copied block, from a column on. Columns after the last one are left out. When the first row has names of
 * columns, these say what is below them, and other columns are left out.
 */
export function readPaste(text: string, from: Column): PastedRow[] {
  const [first = [], ...rest] = readCells(text, '\t')
  const titles = first.map((cell) => COLUMNS.find((column) => column === cell.trim().toLowerCase()))
  const hasTitles = titles.some((title) => title !== undefined)
  const columns = hasTitles ? titles : COLUMNS.slice(COLUMNS.indexOf(from))
  return (hasTitles ? rest : [first, ...rest]).map((row, offset) => ({
    offset,
    cells: Object.fromEntries(
      columns.flatMap((column, at) => {
        const cell = row[at]
        return column === undefined || cell === undefined ? [] : [[column, cleanCell(column, cell)]]
      }),
    ),
  }))
}

export interface CsvTable {
  readonly rows: readonly Cells[]
  /** The faults of the file, each with its line. */
  readonly faults: readonly string[]
}

/** Reads a table of levels. The first line names the columns, in any order; level and xp are needed. */
export function readCsv(text: string): CsvTable {
  const clean = text.replace(/^\ufeff/, '')
  const firstLine = clean.split('\n', 1)[0] ?? ''
  const separator = [',', ';', '\t'].find((one) => firstLine.includes(one)) ?? ','
  const [titles = [], ...lines] = readCells(clean, separator)
  const places = new Map(titles.map((title, at) => [title.trim().toLowerCase(), at]))
  const missing = (['level', 'xp'] as const).filter((column) => !places.has(column))
  if (missing.length > 0)
    return { rows: [], faults: [`The first line must name the columns. It lacks ${missing.join(' and ')}.`] }
  const faults: string[] = []
  const seen = new Set<string>()
  const rows = lines.flatMap((line, at): Cells[] => {
    if (line.every((cell) => cell.trim() === '')) return []
    const cell = (column: Column) => cleanCell(column, line[places.get(column) ?? -1] ?? '')
    const row = { level: cell('level'), xp: cell('xp'), free: cell('free'), premium: cell('premium') }
    for (const column of COLUMNS) {
      const fault = faultOfCell(column, row[column])
      if (fault !== undefined) faults.push(`Line ${at + 2}, ${column} “${row[column]}”: ${fault}`)
    }
    if (seen.has(row.level)) faults.push(`Line ${at + 2}: level ${row.level} is there twice.`)
    seen.add(row.level)
    return [row]
  })
  if (rows.length === 0 && faults.length === 0) faults.push('The file has no rows.')
  return { rows, faults }
}
