import { useState } from 'react'
import { useQuery } from 'urql'
import { RoleButton } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Panel } from '../../ui/page.tsx'
import { Notice } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { cancelPlanMutation, plannedQuery } from '../operations.ts'

const STATES = { PLANNED: 'planned', PUBLISHED: 'published', FAILED: 'failed', CANCELLED: 'cancelled' } as const

interface Place {
  readonly environment: string
  readonly scenarioId: string
}

/** The publications of a scenario at later times. Nothing while there are none. */
export function PlannedPublications({ environment, scenarioId }: Place) {
  const [cancelled, setCancelled] = useState<string>()
  const [{ data, error }] = useQuery({
    query: plannedQuery,
    variables: { environment, scenarioId },
    requestPolicy: 'cache-and-network',
  })
  if (error) return <Notice tone="warning">Planned publications could not be read.</Notice>
  const rows = data?.scheduledPublications ?? []
  if (rows.length === 0) return null
  const meant = rows.find(({ publicationId }) => publicationId === cancelled)
  return (
    <Panel title="Planned publications">
      <Table
        caption="Planned publications"
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          { title: 'At', cell: ({ publishAt }) => <Time at={publishAt} /> },
          {
            title: 'State',
            cell: ({ state, version, failure }) => (
              <>
                {STATES[state]}
                {version !== null && ` as version ${version}`}
                {failure !== null && `: ${failure}`}
              </>
            ),
          },
          { title: 'By', cell: ({ operator }) => operator ?? <span className="muted">–</span> },
          { title: 'Reason', cell: ({ reason }) => reason },
          {
            title: 'Actions',
            cell: ({ state, publicationId }) =>
              state === 'PLANNED' && (
                <RoleButton needs="design" onClick={() => setCancelled(publicationId)}>
                  Cancel it
                </RoleButton>
              ),
          },
        ]}
      />
      {meant && (
        <CancelDialog
          environment={environment}
          publicationId={meant.publicationId}
          at={meant.publishAt}
          onClose={() => setCancelled(undefined)}
        />
      )}
    </Panel>
  )
}

function CancelDialog(props: {
  readonly environment: string
  readonly publicationId: string
  readonly at: string
  readonly onClose: () => void
}) {
  const { environment, publicationId, at, onClose } = props
  return (
    <ChangeDialog
      title="Cancel a planned publication"
      confirm="Cancel the publication"
      tone="danger"
      effect={
        <p>
          Nothing is published <Time at={at} parts="minute" />. The current version stays.
        </p>
      }
      mutation={cancelPlanMutation}
      input={{ environment, publicationId }}
      done={({ publication: { state } }) =>
        state === 'CANCELLED'
          ? { done: 'The publication is cancelled. Nothing will be published.' }
          : { refusal: `It has ended already: ${STATES[state]}.` }
      }
      onClose={onClose}
    />
  )
}
