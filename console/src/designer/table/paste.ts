import { type Cells, COLUMNS, type Column, faultOfCell, nextCells, type PassRow } from '../model/pass-table.ts'
import { readPaste } from './spreadsheet.ts'

export interface Pasted {
  readonly table: readonly Cells[]
  /** With faults, nothing is pasted. */
  readonly faults: readonly string[]
}

/** The table after a copied block was pasted at a cell. Rows after the last one become new levels. */
export function pasteAt(rows: readonly PassRow[], at: number, column: Column, text: string): Pasted {
  const table: Cells[] = rows.map(({ cells }) => cells)
  const faults: string[] = []
  for (const { offset, cells } of readPaste(text, column)) {
    const index = at + offset
    const before = table[index] ?? nextCells(table.map((row, place) => ({ index: place, cells: row, setBy: NONE })))
    const row = { ...before, ...cells }
    for (const name of COLUMNS) {
      const pasted = cells[name]
      const fault = pasted === undefined ? undefined : faultOfCell(name, pasted)
      if (fault) faults.push(`Row ${offset + 1}, ${name} “${pasted}”: ${fault}`)
    }
    if (index < table.length) table[index] = row
    else table.push(row)
  }
  const seen = new Set<string>()
  for (const { level } of table) {
    if (seen.has(level)) faults.push(`Level ${level} would be there twice.`)
    seen.add(level)
  }
  return { table, faults }
}

const NONE = { free: [], premium: [] }
