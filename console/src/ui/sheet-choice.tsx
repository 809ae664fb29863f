import { SelectField } from './form.tsx'
import type { SheetTable } from './sheet.ts'
import { Notice } from './states.tsx'
import { number } from './words.ts'

/** Says which sheet of a workbook is used, and lets a person choose another one. */
export function SheetChoice(props: {
  readonly of: NonNullable<SheetTable['workbook']>
  readonly onChoose: (sheet: string) => void
}) {
  const { sheet, sheets, hiddenRows } = props.of
  return (
    <>
      {sheets.length > 1 ? (
        <SelectField
          label="Sheet"
          hint="Hidden sheets are not used."
          value={sheet}
          onChange={props.onChoose}
          options={sheets}
        />
      ) : (
        <p>
          The sheet <strong>{sheet}</strong> is used.
        </p>
      )}
      {hiddenRows > 0 && (
        <Notice tone="warning">
          {hiddenRows === 1
            ? 'A row of the sheet is hidden, and is'
            : `${number(hiddenRows)} rows of the sheet are hidden, and are`}{' '}
          used, too.
        </Notice>
      )}
    </>
  )
}
