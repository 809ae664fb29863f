import { useQuery } from 'urql'
import { Link } from 'wouter'
import { useEnvironment } from '../../shell/environment.tsx'
import { Panel } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'
import { number } from '../../ui/words.ts'
import { draftsQuery } from './operations.ts'

/** The drafts that designers share in an environment. Nothing while there are none. */
export function SharedDraftList() {
  const environment = useEnvironment()
  const [{ data }] = useQuery({
    query: draftsQuery,
    variables: { environment, scenarioId: null },
    requestPolicy: 'cache-and-network',
  })
  const drafts = data?.scenarioDrafts ?? []
  if (drafts.length === 0) return null
  return (
    <Panel title="Shared drafts">
      <Table
        caption={`Shared drafts of ${environment}`}
        rows={drafts}
        keyOf={({ draftId }) => draftId}
        columns={[
          {
            title: 'Draft',
            cell: ({ draftId, scenarioId, name }) => (
              <Link href={`/env/${environment}/scenarios/${encodeURIComponent(scenarioId)}/graph?draft=${draftId}`}>
                {name}
              </Link>
            ),
          },
          { title: 'Scenario', cell: ({ scenarioId }) => scenarioId },
          {
            title: 'Changed',
            cell: ({ changedBy, changedAt }) => (
              <>
                {changedBy}, <Ago at={changedAt} />
              </>
            ),
          },
          {
            title: 'Approval',
            cell: ({ approval }) =>
              approval?.isCurrent ? (
                <span className="badge good">approved by {approval.by}</span>
              ) : (
                <span className="badge">not approved</span>
              ),
          },
          {
            title: 'Open comments',
            isNumber: true,
            cell: ({ comments }) => number(comments.filter(({ resolvedBy }) => resolvedBy === null).length),
          },
        ]}
      />
    </Panel>
  )
}
