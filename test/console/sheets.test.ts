import { describe, expect, it } from 'vitest'
import { readSheetTable, SheetFault } from '../../console/src/ui/sheet.ts'
import { workbook, workbookOf } from '../harness/workbook.ts'

const textColumns = ['playerId', 'provider', 'subject']
const fileOf = (content: Buffer | string, name = 'list.xlsx') => new File([content as BlobPart], name)

const refusalOf = async (content: Buffer): Promise<SheetFault> => {
  const fault = await readSheetTable(fileOf(content), { textColumns }).catch((error) => error)
  expect(fault).toBeInstanceOf(SheetFault)
  return fault
}

describe('the ids of a workbook', () => {
  it('are text: each cell that is a number is a fault with its name, also where its format shows other digits', async () => {
    const fault = await refusalOf(
      workbook([
        ['provider', 'Subject ', 'amount'],
        ['custom', 123, 5],
        ['custom', '000123', 5],
        ['custom', 1234567890123450, 5],
        [7, '8', 5],
      ]),
    )
    expect(fault.message).toMatch(/^The sheet “Sheet1” has cells that must be text\..* Format cells and Text/)
    expect(fault.rows).toEqual([
      { row: '2', message: 'Cell B2 is the number 123.' },
      { row: '4', message: 'Cell B4 is the number 1234567890123450.' },
      { row: '5', message: 'Cell A5 is the number 7.' },
    ])
  })

  it('are read as they are written, beside amounts that are numbers', async () => {
    const rows = [
      ['provider', 'subject', 'amount'],
      ['custom', '000123', 5],
      ['custom', '1234567890123456', 100000],
    ]
    expect((await readSheetTable(fileOf(workbook(rows)), { textColumns })).csv).toBe(
      'provider,subject,amount\r\ncustom,000123,5\r\ncustom,1234567890123456,100000\r\n',
    )
  })

  it('name the first hundred faulty cells, and how many there are more', async () => {
    const fault = await refusalOf(workbook([['subject'], ...Array.from({ length: 130 }, (_, at) => [at])]))
    expect(fault.rows).toHaveLength(101)
    expect(fault.rows.at(-1)?.message).toBe('30 cells more.')
  })
})

it('refuses a number of a workbook that a spreadsheet has rounded, in any column', async () => {
  const amount = [
    ['note', 'amount'],
    ['x', 1234567890123450],
  ]
  expect((await refusalOf(workbook(amount))).rows).toEqual([
    { row: '2', message: 'Cell B2 is a number of more than fifteen digits, 1234567890123450.' },
  ])
})

describe('the sheet of a workbook', () => {
  const rowsOf = (name: string) => [['subject'], [name]]
  const sheets = [
    { name: 'old', rows: rowsOf('hidden'), state: 'hidden' },
    { name: 'macro', rows: rowsOf('very hidden'), state: 'veryHidden' },
    { name: 'May & "June" <1>', rows: rowsOf('first') },
    { name: 'July', rows: rowsOf('second'), hiddenRows: [0, 1] },
  ] as const

  it('is the first that is not hidden, or the one that is named, with the number of its hidden rows', async () => {
    const first = await readSheetTable(fileOf(workbookOf(sheets)))
    expect(first.csv).toContain('first')
    const names = ['May & "June" <1>', 'July']
    expect(first.workbook).toEqual({ sheet: names[0], sheets: names, hiddenRows: 0 })
    const second = await readSheetTable(fileOf(workbookOf(sheets)), { sheet: 'July' })
    expect(second.csv).toContain('second')
    expect(second.workbook).toEqual({ sheet: 'July', sheets: names, hiddenRows: 2 })
  })

  it('is none when all are hidden', async () => {
    expect((await refusalOf(workbookOf(sheets.slice(0, 2)))).message).toMatch(/no sheet that can be seen/)
  })
})

describe('a text file', () => {
  const text = 'subject;amount\r\nJosé;5\r\n'
  it.each([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16, little-endian', Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['UTF-16, big-endian', Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ])('is read in %s', async (_name, bytes) => {
    expect(await readSheetTable(fileOf(bytes, 'list.csv'))).toEqual({ csv: text })
  })

  it('is refused in another encoding, with what to do', async () => {
    await expect(readSheetTable(fileOf(Buffer.from(text, 'latin1'), 'list.csv'))).rejects.toThrow(
      /Save it as “CSV UTF-8”/,
    )
  })
})
