import { Attempts } from '../players/attempts.tsx'
import { PlayerName } from '../players/player-name.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { saveRows } from '../ui/csv.ts'
import { FilterField, useFilters } from '../ui/filters.tsx'
import { Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { ListActions, PagedTable } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { loginLogQuery } from './operations.ts'
import { noteName, outcomeName } from './words.ts'

const CSV_TITLES = [
  'occurredAt',
  'operation',
  'outcome',
  'provider',
  'subject',
  'playerId',
  'milliseconds',
  'attempts',
  'cause',
] as const

/** Logins and links of the last 30 days, each with its attempts at the webhook. */
export function LoginLog() {
  const environment = useEnvironment()
  const filters = useFilters()
  const provider = filters.value('provider')
  const isFiltered = filters.isSet('provider', 'subject', 'player')
  const pages = usePages({
    query: loginLogQuery,
    variables: {
      environment,
      provider: provider || undefined,
      subject: filters.value('subject') || undefined,
      playerId: filters.value('player') || undefined,
    },
    connectionOf: (data) => data.loginLog,
    additionalTypenames: ['LoginLogEntry'],
  })

  function save(): void {
    const rows = pages.rows.map((entry) => ({
      ...entry,
      attempts: entry.attempts.map(({ status, error }) => status ?? error).join(' '),
      cause: entry.attempts.at(-1)?.cause ?? '',
    }))
    saveRows(`logins-${environment}.csv`, CSV_TITLES, rows)
  }

  return (
    <Panel
      title={provider === '' ? 'Login log' : `Login log of ${provider}`}
      actions={<ListActions pages={pages} onSave={save} />}
    >
      <div className="filters">
        <FilterField label="Subject" name="subject" placeholder="the studio’s id, whole" filters={filters} />
        <FilterField label="Player" name="player" placeholder="a player’s id" filters={filters} />
      </div>
      <PagedTable
        caption="Login log"
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? 'No login matches' : 'No login in the last 30 days'}>
            {isFiltered ? (
              <Button onClick={() => filters.clear('provider', 'subject', 'player')}>Clear the filters</Button>
            ) : (
              'Logins through a provider that is not set up, or is disabled, are not listed.'
            )}
          </Empty>
        }
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
          {
            title: 'Outcome',
            cell: ({ outcome, operation }) => (
              <>
                <span className={outcome === 'OK' ? 'badge good' : 'badge bad'}>{outcomeName(outcome)}</span>{' '}
                {operation === 'LINK' && 'link'}
              </>
            ),
          },
          { title: 'Provider', cell: (entry) => entry.provider },
          { title: 'Subject', cell: ({ subject }) => subject ?? '–' },
          {
            title: 'Player',
            cell: ({ playerId }) => (playerId === null ? '–' : <PlayerName of={playerId} />),
          },
          { title: 'Time taken', isNumber: true, cell: ({ milliseconds }) => `${number(milliseconds)} ms` },
          {
            title: 'Calls of the webhook',
            cell: ({ attempts, notes }) => (
              <>
                <Attempts of={attempts} />
                {notes.length > 0 && <p className="hint">Ignored: {notes.map(noteName).join(', ')}.</p>}
              </>
            ),
          },
        ]}
      />
    </Panel>
  )
}
