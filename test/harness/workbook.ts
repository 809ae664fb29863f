import { strToU8, zipSync } from 'fflate'

type Cell = string | number | null

interface Sheet {
  readonly name: string
  readonly rows: readonly (readonly Cell[])[]
  readonly state?: 'hidden' | 'veryHidden'
  /** Indices of hidden rows. */
  readonly hiddenRows?: readonly number[]
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** An Excel workbook with one sheet. */
export const workbook = (rows: Sheet['rows']): Buffer => workbookOf([{ name: 'Sheet1', rows }])

/** An Excel workbook, as a spreadsheet program saves it: texts in a table of their own. */
export function workbookOf(sheets: readonly Sheet[]): Buffer {
  const texts = [...new Set(sheets.flatMap(({ rows }) => rows.flat()).filter((cell) => typeof cell === 'string'))]
  const cellOf = (cell: Cell, column: number, row: number): string => {
    const at = `r="${String.fromCharCode(65 + column)}${row + 1}"`
    if (cell === null) return ''
    return typeof cell === 'number' ? `<c ${at}><v>${cell}</v></c>` : `<c ${at} t="s"><v>${texts.indexOf(cell)}</v></c>`
  }
  const dataOf = ({ rows, hiddenRows = [] }: Sheet) =>
    rows
      .map((row, at) => {
        const hidden = hiddenRows.includes(at) ? ' hidden="1"' : ''
        return `<row r="${at + 1}"${hidden}>${row.map((cell, column) => cellOf(cell, column, at)).join('')}</row>`
      })
      .join('')
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
  const relations = 'http://schemas.openxmlformats.org/package/2006/relationships'
  const of = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
  const each = (print: (sheet: Sheet, id: number) => string) => sheets.map((sheet, at) => print(sheet, at + 1)).join('')
  const files = {
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
      <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
      <Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>
      ${each((_, id) => `<Override PartName="/xl/worksheets/sheet${id}.xml" ContentType="${type}.worksheet+xml"/>`)}
      <Override PartName="/xl/sharedStrings.xml" ContentType="${type}.sharedStrings+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${of}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${of}"><sheets>${each(
      ({ name, state }, id) =>
        `<sheet name="${escaped(name)}" sheetId="${id}"${state ? ` state="${state}"` : ''} r:id="rId${id}"/>`,
    )}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${relations}">
      ${each((_, id) => `<Relationship Id="rId${id}" Type="${of}/worksheet" Target="worksheets/sheet${id}.xml"/>`)}
      <Relationship Id="rId${sheets.length + 1}" Type="${of}/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
    ...Object.fromEntries(
      sheets.map((sheet, at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        `<worksheet xmlns="${main}"><sheetData>${dataOf(sheet)}</sheetData></worksheet>`,
      ]),
    ),
    'xl/sharedStrings.xml': `<sst xmlns="${main}">${texts.map((text) => `<si><t>${escaped(text)}</t></si>`).join('')}</sst>`,
  }
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(head + text)]))),
  )
}
