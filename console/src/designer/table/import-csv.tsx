import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useFileDrop } from '../../ui/file-drop.ts'
import { readSheetTable, SheetFault, type SheetTable } from '../../ui/sheet.ts'
import { SheetChoice } from '../../ui/sheet-choice.tsx'
import { Notice } from '../../ui/states.tsx'
import type { Definition } from '../model/definition.ts'
import { type Cells, setRows } from '../model/pass-table.ts'
import { describeChanges } from '../model/words.ts'
import { ChangeList } from '../review/change-list.tsx'
import { type CsvTable, readCsv } from './spreadsheet.ts'

/** Reads a table from a file that is chosen, or dropped on the page, and shows what it would change before it does. */
export function ImportCsv(props: {
  readonly definition: Definition
  readonly passId: string
  readonly onImport: (table: readonly Cells[]) => void
}) {
  const { definition, passId, onImport } = props
  const [file, setFile] = useState<ReadFile & { readonly chosen: File }>()
  const close = () => setFile(undefined)
  const open = async (chosen: File, sheet?: string) => setFile({ chosen, ...(await readTable(chosen, sheet)) })
  useFileDrop((dropped) => void open(dropped))
  return (
    <>
      <label className="button">
        Import a table
        <input
          className="hidden"
          type="file"
          accept=".csv,.tsv,.xlsx,text/csv"
          onChange={async ({ target }) => {
            const [chosen] = target.files ?? []
            if (chosen) await open(chosen)
            target.value = ''
          }}
        />
      </label>
      {file && (
        <Dialog title={`Import ${file.chosen.name}`} onClose={close} wide>
          {file.workbook && <SheetChoice of={file.workbook} onChoose={(sheet) => void open(file.chosen, sheet)} />}
          {file.faults.length > 0 ? (
            <Notice tone="error">
              <strong>This file cannot be imported.</strong>
              <ul>
                {file.faults.slice(0, 20).map((fault) => (
                  <li key={fault}>{fault}</li>
                ))}
                {file.faults.length > 20 && <li>and {file.faults.length - 20} more</li>}
              </ul>
            </Notice>
          ) : (
            <>
              <p>
                The table has {file.rows.length} levels. It replaces the levels and tiers of {passId}:
              </p>
              <ChangeList changes={describeChanges(definition.text, setRows(passId, file.rows)(definition))} />
            </>
          )}
          <div className="actions">
            <Button onClick={close}>Cancel</Button>
            {file.faults.length === 0 && (
              <Button
                tone="primary"
                onClick={() => {
                  onImport(file.rows)
                  close()
                }}
              >
                Import
              </Button>
            )}
          </div>
        </Dialog>
      )}
    </>
  )
}

type ReadFile = CsvTable & Pick<SheetTable, 'workbook'>

async function readTable(file: File, sheet: string | undefined): Promise<ReadFile> {
  try {
    const { csv, workbook } = await readSheetTable(file, { sheet })
    return { ...readCsv(csv), workbook }
  } catch (error) {
    if (!(error instanceof SheetFault)) throw error
    return { rows: [], faults: [error.message, ...error.rows.map(({ message }) => message)], workbook: error.workbook }
  }
}
