export type Cell = string | number | boolean | null

/**
 * A table as CSV (RFC 4180). Texts that a spreadsheet would run as a formula begin with an apostrophe.
 */
export const toCsv = (titles: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [titles, ...rows].map((row) => `${row.map(cellText).join(',')}\r\n`).join('')

function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const isNumber = /^-?\d+(\.\d+)?$/.test(cell)
  // A spreadsheet may take another sign for the one between cells, by the language of the computer.
  const text = isNumber ? cell : cell.replaceAll(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'")
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
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
