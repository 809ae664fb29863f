import Papa from 'papaparse'

export type Cell = string | number | boolean | null

/**
 * A table as CSV (RFC 4180). Texts that a spreadsheet would run as a formula begin with an apostrophe.
 */
export const toCsv = (titles: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  printCsv([titles, ...rows.map((row) => row.map(cellText))])

// A spreadsheet may take another sign for the one between cells, by the language of the computer.
const quotes = (cell: Cell): boolean => typeof cell === 'string' && /[",;\t\r\n]/.test(cell)

export const printCsv = (rows: readonly (readonly Cell[])[]): string =>
  `${Papa.unparse(rows as Cell[][], { newline: '\r\n', quotes })}\r\n`

/** A text that no spreadsheet runs as a formula. */
function cellText(cell: Cell): Cell {
  if (typeof cell !== 'string' || /^-?\d+(\.\d+)?$/.test(cell)) return cell
  return cell.replaceAll(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'")
}

/** The cells of a text as spreadsheets copy it (tabs) or save it (commas or semicolons). */
export function readCells(text: string, delimiter: string): string[][] {
  const { data } = Papa.parse<string[]>(text.replaceAll('\r\n', '\n'), { delimiter, newline: '\n' })
  // The end of the last line begins no other.
  const last = data.at(-1)
  return last?.length === 1 && last[0] === '' ? data.slice(0, -1) : data
}

/** Saves some members of each row as a CSV file. */
export const saveRows = <Title extends string>(
  name: string,
  titles: readonly Title[],
  rows: readonly Readonly<Record<Title, Cell>>[],
): void =>
  saveFile(
    name,
    toCsv(
      titles,
      rows.map((row) => titles.map((title) => row[title])),
    ),
  )

/** Without it, spreadsheets take a CSV file for one in the encoding of the computer. */
const MARK = '\ufeff'

/** Saves a text or bytes as a file of the person's computer. */
export function saveFile(name: string, content: string | Blob, type = 'text/csv'): void {
  const parts = type === 'text/csv' ? [MARK, content] : [content]
  const address = URL.createObjectURL(new Blob(parts, { type: `${type};charset=utf-8` }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The download reads the address after this call.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
