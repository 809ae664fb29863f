import { number } from './words.ts'

/** Beyond this, the library unpacks in a worker of its own, which the policy of the page refuses. */
const MAX_WORKBOOK_BYTES = 500_000

/** Why a file cannot be read, in a sentence. */
export class SheetFault extends Error {}

export const isWorkbook = ({ name }: File): boolean => /\.xlsx$/i.test(name)

/** The text of a table: that of a CSV file as it is, and that of the first sheet of an Excel workbook as CSV. */
export async function csvOf(file: File): Promise<string> {
  if (!isWorkbook(file)) return file.text()
  if (file.size > MAX_WORKBOOK_BYTES)
    throw new SheetFault(
      `The workbook has more than ${number(MAX_WORKBOOK_BYTES / 1000)} kB. Save its sheet as CSV, and take that.`,
    )
  // Few people need it: it is loaded with the first workbook.
  const { readSheet } = await import('read-excel-file/universal')
  let rows: readonly (readonly unknown[])[]
  try {
    rows = await readSheet(await file.arrayBuffer())
  } catch {
    throw new SheetFault('The file is no workbook that can be read. Save its sheet as CSV, and take that.')
  }
  return rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('')
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  // A workbook keeps fifteen digits of a number.
  if (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value))
    throw new SheetFault(`The workbook has rounded the number ${value}. Write it as text, or save the sheet as CSV.`)
  const text = value instanceof Date ? value.toISOString() : String(value)
  return `"${text.replaceAll('"', '""')}"`
}
