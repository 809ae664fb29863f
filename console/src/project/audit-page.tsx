import { Link, useLocation, useParams, useSearchParams } from 'wouter'
import { Button } from '../ui/button.tsx'
import { saveFile, toCsv } from '../ui/csv.ts'
import { TextField } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { AuditEntry } from './audit-entry.tsx'
import { auditLogQuery } from './operations.ts'

const ACTIONS = [
  'player.credit_wallet',
  'player.debit_wallet',
  'player.grant_xp',
  'player.grant_tier',
  'player.grant_premium',
  'player.ban',
  'player.delete',
  'scenario.publish',
  'scenario.clone',
  'auth_providers.set',
  'auth_providers.rotate_secret',
  'sdk_key.create',
  'platform_key.create',
  'operator_token.create',
  'environment.create',
]

export default function AuditPage() {
  const { entryId } = useParams()
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const value = (name: string) => search.get(name) ?? ''
  const day = (name: string, days = 0) => {
    const at = Date.parse(`${value(name)}T00:00:00Z`)
    return Number.isNaN(at) ? undefined : new Date(at + days * 86_400_000).toISOString()
  }
  const pages = usePages({
    query: auditLogQuery,
    variables: {
      action: value('action') || undefined,
      actor: value('actor') || undefined,
      operator: value('operator') || undefined,
      target: value('target') || undefined,
      environment: value('environment') || undefined,
      from: day('from'),
      // The last day counts as a whole.
      to: day('to', 1),
    },
    connectionOf: (data) => data.auditLog,
    additionalTypenames: ['AuditLogEntry'],
  })
  const query = search.size > 0 ? `?${search}` : ''
  const set = (name: string, entered: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before)
        if (entered === '') after.delete(name)
        else after.set(name, entered)
        return after
      },
      { replace: true },
    )
  const field = (name: string, label: string, placeholder = '', type = 'search', suggestions?: readonly string[]) => (
    <TextField
      label={label}
      name={name}
      type={type}
      placeholder={placeholder}
      suggestions={suggestions}
      value={value(name)}
      onChange={(entered) => set(name, entered.trim())}
    />
  )

  function save(): void {
    const titles = ['occurredAt', 'action', 'operator', 'actor', 'environment', 'target', 'reason', 'attempts']
    const rows = pages.rows.map((entry) => [
      entry.occurredAt,
      entry.action,
      entry.operator,
      entry.actor,
      entry.environment,
      entry.target,
      entry.reason,
      entry.attempts,
    ])
    saveFile('audit-log.csv', toCsv(titles, rows))
  }

  return (
    <Page
      title="Audit log"
      actions={
        <Button onClick={save} disabled={pages.rows.length === 0}>
          CSV of the shown
        </Button>
      }
    >
      <div className="filters">
        {field('action', 'Action', 'player.ban', 'search', ACTIONS)}
        {field('operator', 'Person', 'ada@studio.example')}
        {field('target', 'Target', 'id of a player, a key, a scenario')}
        {field('environment', 'Environment', 'all')}
        {field('actor', 'Key', 'platform_key:…')}
        {field('from', 'From (UTC)', '', 'date')}
        {field('to', 'To (UTC)', '', 'date')}
      </div>
      <PagedTable
        caption="Audit log, the latest first"
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title={search.size > 0 ? 'Nothing matches' : 'Nobody has changed anything yet'} />}
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
          { title: 'Who', cell: (entry) => <Who {...entry} /> },
          {
            title: 'Action',
            cell: ({ id, action, attempts }) => (
              <>
                <Link href={`/project/audit/${id}${query}`}>{action}</Link>{' '}
                {action.endsWith('.denied') && (
                  <span className="badge bad">{attempts > 1 ? `denied ${attempts} times` : 'denied'}</span>
                )}
              </>
            ),
          },
          { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
          { title: 'Environment', cell: ({ environment }) => environment ?? '–' },
          {
            title: 'Target',
            cell: ({ target }) => (
              <code className="clip" title={target}>
                {target}
              </code>
            ),
          },
        ]}
      />
      {entryId !== undefined && <AuditEntry id={entryId} onClose={() => navigate(`/project/audit${query}`)} />}
    </Page>
  )
}

/** The person behind a change, else the key. A name that the call itself gave is marked. */
export function Who(entry: {
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly actor: string
  readonly actorLabel: string | null
}) {
  const { operator, operatorIsClaimed, actor, actorLabel } = entry
  if (operator === null) return <span title={actor}>{actorLabel ?? shortActor(actor)}</span>
  return (
    <span title={actor}>
      {operator}
      {operatorIsClaimed && (
        <span className="badge warn" title="The call itself gave this name. Nobody has verified it.">
          claimed
        </span>
      )}
    </span>
  )
}

/** `platform_key:01a2…f3c4`: the ends tell keys apart. */
const shortActor = (actor: string): string => actor.replace(/:(\w{4})[\w-]+(\w{4})$/, ':$1…$2')
