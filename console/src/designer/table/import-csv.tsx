import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useFileDrop } from '../../ui/file-drop.ts'
import { csvOf, SheetFault } from '../../ui/sheet.ts'
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
  const [file, setFile] = useState<CsvTable & { readonly name: string }>()
  const close = () => setFile(undefined)
  const open = async (chosen: File) => setFile({ name: chosen.name, ...(await readTable(chosen)) })
  useFileDrop(open)
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
        <Dialog title={`Import ${file.name}`} onClose={close} wide>
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

async function readTable(file: File): Promise<CsvTable> {
  try {
    return readCsv(await csvOf(file))
  } catch (error) {
    if (error instanceof SheetFault) return { rows: [], faults: [error.message] }
    throw error
  }
}
