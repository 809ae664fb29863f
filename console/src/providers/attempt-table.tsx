import type { Attempt } from '../players/attempts.tsx'
import { Table } from '../ui/table.tsx'
import { number } from '../ui/words.ts'
import { errorName } from './words.ts'

/** Each call of a webhook, or the check of an ID token. The webhook is called again only after a failed call. */
export const AttemptTable = ({ of }: { of: readonly Attempt[] }) => (
  <Table
    whole
    caption="Attempts"
    rows={of.map((attempt, index) => ({ ...attempt, place: index + 1 }))}
    empty={<p className="muted">The webhook was not called.</p>}
    keyOf={({ place }) => String(place)}
    columns={[
      { title: 'Attempt', cell: ({ place }) => place },
      { title: 'Status', cell: ({ status, error }) => status ?? (error === null ? 'token checked' : 'no answer') },
      { title: 'Time', isNumber: true, cell: ({ milliseconds }) => `${number(milliseconds)} ms` },
      {
        title: 'What went wrong',
        cell: ({ error, cause, hint }) => [error && errorName(error), cause, hint].filter(Boolean).join('; ') || '–',
      },
      { title: 'Beginning of the answer', cell: ({ excerpt }) => (excerpt === null ? '–' : <q>{excerpt}</q>) },
    ]}
  />
)
