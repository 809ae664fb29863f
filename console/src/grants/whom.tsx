import { useState } from 'react'
import { useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { MAX_LIST_ROWS, MAX_SUPPORT_PLAYERS } from '../../../src/base/limits.ts'
import { FirstPlayers } from '../players/first-players.tsx'
import { PlayerFilters } from '../players/player-filters.tsx'
import { PlayerName } from '../players/player-name.tsx'
import { segmentNamesQuery } from '../segments/operations.ts'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { sentence } from '../ui/errors.ts'
import { withParameters } from '../ui/filters.tsx'
import { SelectField, TextAreaField, TextField } from '../ui/form.tsx'
import { Panel } from '../ui/page.tsx'
import { playersText } from '../ui/players-text.ts'
import { readSheetTable, SheetFault, type SheetTable } from '../ui/sheet.ts'
import { SheetChoice } from '../ui/sheet-choice.tsx'
import { Loading, Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number } from '../ui/words.ts'
import { idsOf } from './gift.ts'
import css from './grants.module.css'
import { type FirstRow, type PlayerList, type Uploaded, uploadList } from './player-list.ts'

export const WHOM = [
  ['filter', 'By filters'],
  ['segment', 'A segment'],
  ['players', 'Ids'],
  ['list', 'A file'],
] as const
export type Whom = (typeof WHOM)[number][0]

export const whomOf = (address: URLSearchParams): Whom =>
  WHOM.find(([name]) => name === address.get('whom'))?.[0] ?? 'filter'

/** The upload of a list of players. */
export interface Upload {
  readonly isBusy: boolean
  /** The list, or why there is none. */
  readonly result: Uploaded | undefined
  /** The sheets of the file, if it is a workbook. */
  readonly workbook: SheetTable['workbook']
  readonly send: (file: File) => Promise<void>
  /** Sends another sheet of the same workbook. */
  readonly sendSheet: (sheet: string) => Promise<void>
}

/** Columns of a list whose cells name a player. */
const ID_COLUMNS = ['playerId', 'provider', 'subject']

export function useUpload(): Upload {
  const environment = useEnvironment()
  const { projectId } = useOperator()
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<Uploaded>()
  const [sent, setSent] = useState<{ readonly file: File; readonly workbook: SheetTable['workbook'] }>()
  async function send(file: File, sheet?: string): Promise<void> {
    setBusy(true)
    setResult(undefined)
    try {
      const { csv, workbook } = await readSheetTable(file, { textColumns: ID_COLUMNS, sheet })
      setSent({ file, workbook })
      setResult(await uploadList(projectId, environment, csv))
    } catch (error) {
      if (!(error instanceof SheetFault)) throw error
      setSent({ file, workbook: error.workbook })
      setResult({ problem: error.message, faults: error.rows })
    }
    setBusy(false)
  }
  return {
    isBusy,
    result,
    workbook: sent?.workbook,
    send,
    sendSheet: async (sheet) => sent && send(sent.file, sheet),
  }
}

interface WhomProps {
  readonly ids: string
  readonly onIds: (text: string) => void
  readonly upload: Upload
  readonly limit: string
  readonly onLimit: (text: string) => void
}

/** The first step: the players. Filters and the segment are in the address of the page. */
export function WhomPanel(props: WhomProps) {
  const [search, setSearch] = useSearchParams()
  const whom = whomOf(search)
  const choose = (chosen: Whom) => setSearch((before) => withParameters(before, { whom: chosen }), { replace: true })
  return (
    <Panel title="1. Whom">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame of its own */}
      <div className="actions" role="group" aria-label="How the players are chosen">
        {WHOM.map(([name, text]) => (
          <Button key={name} pressed={name === whom} onClick={() => choose(name)}>
            {text}
          </Button>
        ))}
      </div>
      {whom === 'filter' && <PlayerFilters withoutSearch />}
      {whom === 'segment' && <SegmentField />}
      {whom === 'players' && <Ids {...props} onAsList={() => choose('list')} />}
      {whom === 'list' && <CsvFile upload={props.upload} />}
      {(whom === 'filter' || whom === 'segment') && (
        <TextField
          label="Maximum number of players"
          name="limit"
          hint="When more match, nothing is given."
          inputMode="numeric"
          pattern="[1-9][0-9]*"
          value={props.limit}
          onChange={props.onLimit}
        />
      )}
    </Panel>
  )
}

function SegmentField() {
  const environment = useEnvironment()
  const [search, setSearch] = useSearchParams()
  const [{ data }] = useQuery({ query: segmentNamesQuery, variables: { environment } })
  const names = data?.segments.map(({ name }) => name) ?? []
  const chosen = search.get('segment') ?? ''
  return (
    <SelectField
      label="Segment"
      name="segment"
      hint="Its filters count as they are when the grant is made. Later changes of the segment do not change the grant."
      value={chosen}
      onChange={(segment) =>
        setSearch((before) => withParameters(before, { segment: segment || null }), { replace: true })
      }
      options={[['', 'choose'], ...new Set([...(chosen ? [chosen] : []), ...names])]}
    />
  )
}

/** Pasted ids. More of them than a request takes are sent as a list. */
function Ids({ ids: text, onIds, upload, onAsList }: WhomProps & { readonly onAsList: () => void }) {
  const ids = idsOf(text)
  return (
    <>
      <TextAreaField
        label="Ids of players"
        name="playerIds"
        hint={`One a line, or with commas between them. ${number(ids.length)} now.`}
        value={text}
        onChange={onIds}
        rows={6}
      />
      <FirstPlayers ids={ids} />
      {ids.length > MAX_SUPPORT_PLAYERS && (
        <div className="actions">
          <Button
            busy={upload.isBusy}
            onClick={() => {
              onAsList()
              void upload.send(new File([['playerId', ...ids].join('\n')], 'ids.csv'))
            }}
          >
            {`Send these ${number(ids.length)} ids as a list`}
          </Button>
          <span className="muted">More than {number(MAX_SUPPORT_PLAYERS)} must be sent as a list.</span>
        </div>
      )}
    </>
  )
}

/** A file that is dropped or chosen. It is sent at once, and its faulty rows are shown. */
function CsvFile({ upload: { isBusy, result, workbook, send, sendSheet } }: { readonly upload: Upload }) {
  const [isOver, setOver] = useState(false)
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the field inside takes files, too */}
      <div
        className={css.drop}
        data-over={isOver}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setOver(false)
          const [file] = event.dataTransfer.files
          if (file) void send(file)
        }}
      >
        <label>
          <strong>CSV file or workbook</strong>{' '}
          <input
            type="file"
            accept=".csv,.xlsx,text/csv"
            onChange={(event) => {
              const [file] = event.target.files ?? []
              if (file) void send(file)
              // The same file can be chosen again after a change.
              event.target.value = ''
            }}
          />
        </label>
        <p className="hint">
          Drop a file here, or choose one: up to {number(MAX_LIST_ROWS)} rows. The first row names the columns:
          playerId, or provider and subject; and amount, if players get different amounts. In a workbook, format columns
          of ids as text.
        </p>
      </div>
      {isBusy && <Loading what="Checking the file" />}
      {workbook && <SheetChoice of={workbook} onChoose={(sheet) => void sendSheet(sheet)} />}
      {result && 'listId' in result && (
        <>
          <Notice tone="success">
            The file names {playersText(result.players)}
            {result.hasAmounts ? ', each with an amount.' : '.'}
          </Notice>
          <FirstRows of={result} />
        </>
      )}
      {result && 'problem' in result && (
        <>
          <Notice tone="error">{result.problem}</Notice>
          {result.faults.length > 0 && (
            <Table
              caption="What is wrong with the file"
              rows={result.faults}
              keyOf={({ row, message }) => `${row} ${message}`}
              columns={[
                { title: 'Row', cell: ({ row }) => row ?? 'file' },
                { title: 'What is wrong', cell: ({ message }) => sentence(message) },
              ]}
            />
          )}
        </>
      )}
    </>
  )
}

/** The first rows of a list beside the players that they name, so that a person sees whether the ids are the right ones. */
const FirstRows = ({ of: { first, players, hasAmounts } }: { readonly of: PlayerList }) => (
  <Table
    caption={
      first.length < players ? `The first ${first.length} of ${playersText(players)}` : 'The players of the file'
    }
    rows={first}
    keyOf={({ playerId }) => playerId}
    columns={[
      { title: 'Row', isNumber: true, cell: ({ row }) => row },
      ...(first.some(({ subject }) => subject !== null)
        ? [{ title: 'Subject', cell: ({ provider, subject }: FirstRow) => `${provider}: ${subject}` }]
        : []),
      { title: 'Player', cell: ({ playerId }) => <PlayerName of={playerId} /> },
      ...(hasAmounts ? [{ title: 'Amount', isNumber: true, cell: ({ amount }: FirstRow) => number(amount ?? 0) }] : []),
    ]}
  />
)
