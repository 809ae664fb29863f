import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'
import { number, words } from '../../ui/words.ts'
import { Attempts } from '../attempts.tsx'
import { loginsQuery } from '../operations.ts'
import type { TabProps } from './tab.ts'

export function LoginsTab({ player }: TabProps) {
  const pages = usePages({
    query: loginsQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.loginLog,
    additionalTypenames: ['LoginLogEntry'],
  })
  return (
    <PagedTable
      caption="Logins of the last 30 days"
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="No login in the last 30 days">Renewing a token is no login.</Empty>}
      columns={[
        { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
        { title: 'What', cell: ({ operation }) => words(operation) },
        {
          title: 'Outcome',
          cell: ({ outcome }) => (
            <span className={outcome === 'OK' ? 'badge good' : 'badge bad'}>{words(outcome)}</span>
          ),
        },
        { title: 'Provider', cell: ({ provider }) => provider },
        { title: 'Subject', cell: ({ subject }) => (subject === null ? '–' : <code>{subject}</code>) },
        { title: 'Time taken', isNumber: true, cell: ({ milliseconds }) => `${number(milliseconds)} ms` },
        { title: 'Attempts at the webhook', cell: ({ attempts }) => <Attempts of={attempts} /> },
        { title: 'Notes', cell: ({ notes }) => notes.map(words).join(', ') || '–' },
      ]}
    />
  )
}
