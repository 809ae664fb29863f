import { printCsv } from './csv.ts'
import { number } from './words.ts'

/** Beyond this, the library unpacks in a worker of its own, which the policy of the page refuses. */
const MAX_WORKBOOK_BYTES = 500_000
/** Cells that a refusal names. */
const MAX_CELLS = 100

/** Why a file cannot be read, in a sentence, and the rows that are at fault. */
export class SheetFault extends Error {
  readonly rows: readonly { readonly row: string; readonly message: string }[]
  /** The sheets of the workbook, when another one may be chosen. */
  readonly workbook: SheetTable['workbook']

  constructor(message: string, rows: SheetFault['rows'] = [], workbook?: SheetTable['workbook']) {
    super(message)
    this.rows = rows
    this.workbook = workbook
  }
}

/** A table as CSV, and the sheets of its workbook. A text file has none. */
export interface SheetTable {
  readonly csv: string
  readonly workbook?: {
    /** The sheet that was read. */
    readonly sheet: string
    /** The sheets that can be read: those that are not hidden. */
    readonly sheets: readonly string[]
    /** Rows of the sheet that a filter or a person has hidden. They are read, too. */
    readonly hiddenRows: number
  }
}

interface Options {
  /** Titles of columns whose cells must be text. Their letter case does not count. */
  readonly textColumns?: readonly string[]
  /** The sheet of a workbook. Default: the first that is not hidden. */
  readonly sheet?: string | undefined
}

/** Reads a table from a text file in UTF-8 or UTF-16, or from a sheet of an Excel workbook. */
export async function readSheetTable(file: File, { textColumns = [], sheet }: Options = {}): Promise<SheetTable> {
  const bytes = await file.arrayBuffer()
  if (!/\.xlsx$/i.test(file.name)) return { csv: textOf(bytes) }
  if (file.size > MAX_WORKBOOK_BYTES)
    throw new SheetFault(
      `The workbook has more than ${number(MAX_WORKBOOK_BYTES / 1000)} kB. Save its sheet as CSV, and take that.`,
    )
  const visible = await visibleSheets(bytes)
  const used = visible.find(({ name }) => name === sheet) ?? visible[0]
  if (!used) throw new SheetFault('The workbook has no sheet that can be seen. Unhide the sheet, and save it again.')
  const workbook = { sheet: used.name, sheets: visible.map(({ name }) => name), hiddenRows: used.hiddenRows }
  const faults = faultsOf(used.rows, new Set(textColumns.map((title) => title.toLowerCase())))
  if (faults.length > 0)
    throw new SheetFault(`The sheet “${used.name}” has cells that must be text. ${AS_TEXT}`, faults, workbook)
  return { csv: printCsv(used.rows.map((row) => row.map(textOfCell))), workbook }
}

function textOf(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes)
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw new SheetFault('The file is no text in UTF-8. Save it as “CSV UTF-8”, and take that.')
  }
}

/** A number as the workbook stores it. Its format, such as leading zeros, is not known. */
class NumberCell {
  readonly value: number
  constructor(stored: string) {
    this.value = Number(stored)
  }
}

interface Sheet {
  readonly name: string
  readonly rows: readonly (readonly unknown[])[]
  readonly hiddenRows: number
}

async function visibleSheets(bytes: ArrayBuffer): Promise<readonly Sheet[]> {
  try {
    // Few people need them: they are loaded with the first workbook.
    const [{ default: readSheets }, { strFromU8, unzipSync }] = await Promise.all([
      import('read-excel-file/universal'),
      import('fflate'),
    ])
    const sheets = await readSheets(bytes, { parseNumber: (stored) => new NumberCell(stored) })
    // The library does not read what is hidden.
    const files = unzipSync(new Uint8Array(bytes), { filter: ({ name }) => /\.(xml|rels)$/.test(name) })
    const tagsOf = (path: string, tag: string): readonly string[] =>
      strFromU8(files[path] ?? new Uint8Array()).match(
        new RegExp(`<(?:\\w+:)?${tag}\\s(?:[^>"']|"[^"]*"|'[^']*')*>`, 'g'),
      ) ?? []
    const paths = new Map(
      tagsOf('xl/_rels/workbook.xml.rels', 'Relationship').map((tag) => [
        attribute(tag, 'Id'),
        attribute(tag, 'Target'),
      ]),
    )
    const tags = tagsOf('xl/workbook.xml', 'sheet')
    return sheets.flatMap(({ sheet, data }, at) => {
      const tag = tags[at] ?? ''
      // A sheet without rows of its own is a chart.
      if (/hidden$/i.test(attribute(tag, 'state')) || !data) return []
      const path = paths.get(attribute(tag, 'r:id'))?.replace(/^(\/?xl\/)?/, 'xl/') ?? ''
      const hidden = tagsOf(path, 'row').filter((row) => /^(1|true)$/.test(attribute(row, 'hidden')))
      return [{ name: sheet, rows: data, hiddenRows: hidden.length }]
    })
  } catch {
    throw new SheetFault('The file is no workbook that can be read. Save its sheet as CSV, and take that.')
  }
}

/** An attribute of a tag of XML. Empty without one. */
const attribute = (tag: string, name: string): string =>
  new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`)
    .exec(tag)
    ?.slice(1)
    .find((value) => value !== undefined) ?? ''

const AS_TEXT =
  'A spreadsheet drops leading zeros and rounds long numbers. In the workbook, select the column, choose Format cells and Text, and enter its cells again.'

/** The cells that a spreadsheet may have changed. */
function faultsOf(rows: Sheet['rows'], textColumns: ReadonlySet<string>): SheetFault['rows'] {
  const mustBeText = (rows[0] ?? []).map((title) => textColumns.has(String(title).trim().toLowerCase()))
  const faults = rows.flatMap((cells, at) =>
    cells.flatMap((cell, column) => {
      const fault = cell === null || at === 0 ? undefined : faultOf(cell, mustBeText[column] ?? false)
      return fault ? [{ row: String(at + 1), message: `Cell ${columnName(column)}${at + 1} ${fault}.` }] : []
    }),
  )
  const more = faults.length - MAX_CELLS
  return more > 0 ? [...faults.slice(0, MAX_CELLS), { row: '', message: `${number(more)} cells more.` }] : faults
}

function faultOf(cell: unknown, mustBeText: boolean): string | undefined {
  if (cell instanceof NumberCell) {
    if (mustBeText) return `is the number ${cell.value}`
    // A workbook keeps fifteen digits of a number.
    return Number.isInteger(cell.value) && Math.abs(cell.value) >= 1e15
      ? `is a number of more than fifteen digits, ${cell.value}`
      : undefined
  }
  if (!mustBeText || typeof cell === 'string') return undefined
  return cell instanceof Date ? 'is a date' : `is the value ${String(cell).toUpperCase()}`
}

/** The name of a column, from `A`. */
function columnName(at: number): string {
  const rest = Math.floor(at / 26)
  return `${rest > 0 ? columnName(rest - 1) : ''}${String.fromCharCode(65 + (at % 26))}`
}

function textOfCell(cell: unknown): string {
  if (cell === null || cell === undefined) return ''
  return cell instanceof NumberCell ? String(cell.value) : cell instanceof Date ? cell.toISOString() : String(cell)
}
