import { useQuery } from 'urql'
import { useLocation } from 'wouter'
import { useDenial } from '../session/permission.tsx'
import { projectQuery } from '../shell/operations.ts'
import { usePathParameters } from '../ui/address.ts'
import { Button } from '../ui/button.tsx'
import { saveRows } from '../ui/csv.ts'
import { FilterDay, FilterField, FilterSelect, useFilters } from '../ui/filters.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { ListActions, PagedTable } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { SavedViews } from '../views/saved-views.tsx'
import { actionChoices } from './actions.ts'
import { AuditAction } from './audit-action.tsx'
import { AuditEntry } from './audit-entry.tsx'
import { auditLogQuery } from './operations.ts'
import { Target } from './target.tsx'
import { Who } from './who.tsx'

const FILTERS = ['action', 'operator', 'target', 'environment', 'actor', 'from', 'to'] as const
const CSV_TITLES = [
  'occurredAt',
  'action',
  'operator',
  'actor',
  'actorLabel',
  'environment',
  'target',
  'reason',
  'attempts',
] as const

/** Without the role the log is not requested: it would record a denied attempt. */
export default function AuditPage() {
  const denial = useDenial('manage')
  if (denial === undefined) return <AuditLog />
  return (
    <Page title="Audit log">
      <Empty title="Not allowed">
        {denial} Operators read what was done to a player on the page of the player, under Audit.
      </Empty>
    </Page>
  )
}

function AuditLog() {
  const { entryId } = usePathParameters()
  const [, navigate] = useLocation()
  const filters = useFilters()
  const [{ data: project }] = useQuery({ query: projectQuery })
  const { value } = filters
  const pages = usePages({
    query: auditLogQuery,
    variables: {
      action: value('action') || undefined,
      actor: value('actor') || undefined,
      operator: value('operator') || undefined,
      target: value('target') || undefined,
      environment: value('environment') || undefined,
      from: dayOf(value('from')),
      // The last day counts as a whole.
      to: dayOf(value('to'), 1),
    },
    connectionOf: (data) => data.auditLog,
    additionalTypenames: ['AuditLogEntry'],
  })
  // An entry that is opened from the list is in the address's query, so that the list below stays as it is.
  const entry = entryId ?? (value('entry') || undefined)
  const isFiltered = filters.isSet(...FILTERS)
  const environments = project?.project.environments.map(({ name }) => name) ?? []

  return (
    <Page
      title="Audit log"
      actions={
        <>
          <SavedViews page="audit_log" />
          <ListActions pages={pages} onSave={() => saveRows('audit-log.csv', CSV_TITLES, pages.rows)} />
        </>
      }
    >
      <search className="filters">
        <FilterSelect label="Action" name="action" filters={filters} options={actionChoices(value('action'))} />
        <FilterField label="Person" name="operator" placeholder="ada@studio.example" filters={filters} />
        <FilterField label="Target" name="target" placeholder="id of a player, key, scenario" filters={filters} />
        <FilterSelect
          label="In the environment"
          name="environment"
          filters={filters}
          options={[['', 'all'], ...environments]}
        />
        <FilterField label="Key" name="actor" placeholder="platform_key:…" filters={filters} />
        <FilterDay label="From (UTC)" name="from" filters={filters} />
        <FilterDay label="To (UTC)" name="to" filters={filters} />
        {isFiltered && <Button onClick={() => filters.clear(...FILTERS)}>Clear</Button>}
      </search>
      <PagedTable
        caption="Audit log, the latest first"
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? 'Nothing matches' : 'No changes yet'}>
            {isFiltered && 'Enter the whole person, target or key: a part of it finds nothing.'}
          </Empty>
        }
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
          { title: 'Who', cell: (one) => <Who {...one} /> },
          {
            title: 'Action',
            cell: ({ id, ...entry }) => <AuditAction href={hrefOf(filters.with('entry', id))} {...entry} />,
          },
          { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
          { title: 'Environment', cell: ({ environment }) => environment ?? '–' },
          { title: 'Target', cell: (one) => <Target of={one} isClipped /> },
        ]}
      />
      {entry !== undefined && <AuditEntry id={entry} onClose={() => navigate(hrefOf(filters.with('entry', '')))} />}
    </Page>
  )
}

const hrefOf = (query: string): string => `/project/audit${query}`

/** A day of the address as a moment, plus a number of days. */
function dayOf(day: string, later = 0): string | undefined {
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : new Date(at + later * 86_400_000).toISOString()
}
