import { useState } from 'react'
import { Link } from 'wouter'
import { Attempts } from '../players/attempts.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { TextField } from '../ui/form.tsx'
import { Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { number, words } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { loginLogQuery } from './operations.ts'

/** Logins and links of the last 30 days, each with its attempts at the webhook. */
export function LoginLog() {
  const environment = useEnvironment()
  const [provider, setProvider] = useState('')
  const [subject, setSubject] = useState('')
  const pages = usePages({
    query: loginLogQuery,
    variables: { environment, provider: provider || undefined, subject: subject || undefined },
    connectionOf: (data) => data.loginLog,
    additionalTypenames: ['LoginLogEntry'],
  })
  return (
    <Panel title="Login log">
      <div className="filters">
        <TextField
          label="Provider"
          name="provider"
          type="search"
          placeholder="all"
          value={provider}
          onChange={(value) => setProvider(value.trim())}
        />
        <TextField
          label="Subject"
          name="subject"
          type="search"
          placeholder="all"
          value={subject}
          onChange={(value) => setSubject(value.trim())}
        />
      </div>
      <PagedTable
        caption="Login log"
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty title={provider || subject ? 'No login matches' : 'No login in the last 30 days'}>
            Logins that asked no webhook, such as those with an unknown provider, are not listed.
          </Empty>
        }
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
          {
            title: 'Outcome',
            cell: ({ outcome, operation }) => (
              <>
                <span className={outcome === 'OK' ? 'badge good' : 'badge bad'}>{words(outcome)}</span>{' '}
                {operation === 'LINK' && 'link'}
              </>
            ),
          },
          { title: 'Provider', cell: (entry) => entry.provider },
          {
            title: 'Player',
            cell: (entry) =>
              entry.playerId === null ? (
                (entry.subject ?? '–')
              ) : (
                <Link href={`/env/${environment}/players/${entry.playerId}`}>{entry.subject ?? entry.playerId}</Link>
              ),
          },
          { title: 'Time taken', isNumber: true, cell: ({ milliseconds }) => `${number(milliseconds)} ms` },
          { title: 'Attempts', cell: ({ attempts }) => <Attempts of={attempts} /> },
        ]}
      />
    </Panel>
  )
}
