import { useState } from 'react'
import { Link } from 'wouter'
import { scenariosQuery } from '../scenario/operations.ts'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button, RoleButton } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Empty } from '../ui/states.tsx'
import { PagedTable } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { discardDraft } from './draft/draft.ts'
import { draftKey, keptIds } from './draft/kept-drafts.ts'
import { NewScenarioDialog } from './new-scenario-dialog.tsx'
import { SharedDraftList } from './shared/shared-drafts.tsx'
import { CloneDialog } from './versions/clone-dialog.tsx'

interface Row {
  readonly scenarioId: string
  readonly version: number
  readonly publishedAt: string | null
  readonly hasDraft: boolean
}

export default function ScenariosPage() {
  const environment = useEnvironment()
  const { projectId } = useOperator()
  const [isNew, setNew] = useState(false)
  const [clone, setClone] = useState<Row>()
  const [discarded, setDiscarded] = useState<string>()
  const pages = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
    additionalTypenames: ['Scenario', 'ScenarioVersion'],
  })
  const drafts = keptIds(projectId, environment)
  const published = pages.rows.map((row): Row => ({ ...row, hasDraft: drafts.includes(row.scenarioId) }))
  const begun = drafts.filter((id) => !pages.hasMore && !published.some((row) => row.scenarioId === id))
  const rows = [
    ...begun.map((scenarioId): Row => ({ scenarioId, version: 0, publishedAt: null, hasDraft: true })),
    ...published,
  ]
  const add = (
    <Button tone="primary" onClick={() => setNew(true)}>
      New scenario
    </Button>
  )
  return (
    <Page title="Designer" actions={add}>
      <PagedTable
        caption={`Scenarios of ${environment}`}
        pages={{ ...pages, rows }}
        keyOf={({ scenarioId }) => scenarioId}
        empty={
          <Empty title={`There is no scenario in ${environment} yet`}>
            Begin with a season that already has levels, tiers and rewards. Nothing applies before you publish it.
          </Empty>
        }
        columns={[
          {
            title: 'Scenario',
            cell: ({ scenarioId }) => (
              <Link
                href={`/env/${environment}/scenarios/${encodeURIComponent(scenarioId)}`}
                className="clip wide"
                title={scenarioId}
              >
                {scenarioId}
              </Link>
            ),
          },
          {
            title: 'Version',
            cell: ({ version }) => (version === 0 ? <span className="badge warn">not published</span> : version),
          },
          { title: 'Published', cell: ({ publishedAt }) => (publishedAt ? <Ago at={publishedAt} /> : '') },
          {
            title: 'Draft',
            cell: ({ hasDraft }) => (hasDraft ? <span className="badge">draft in this browser</span> : ''),
          },
          {
            title: 'Actions',
            cell: (row) => (
              <>
                {row.version > 0 && (
                  <RoleButton needs="design" onClick={() => setClone(row)} label={`Clone ${row.scenarioId}`}>
                    Clone
                  </RoleButton>
                )}
                {row.hasDraft && (
                  <Button onClick={() => setDiscarded(row.scenarioId)} label={`Discard the draft of ${row.scenarioId}`}>
                    Discard draft
                  </Button>
                )}
              </>
            ),
          },
        ]}
      />
      <SharedDraftList />
      {isNew && (
        <NewScenarioDialog
          environment={environment}
          published={published.map(({ scenarioId }) => scenarioId)}
          onClose={() => setNew(false)}
        />
      )}
      {discarded !== undefined && (
        <DiscardDraft environment={environment} scenarioId={discarded} onClose={() => setDiscarded(undefined)} />
      )}
      {clone && (
        <CloneDialog
          environment={environment}
          scenarioId={clone.scenarioId}
          version={clone.version}
          onClose={() => setClone(undefined)}
        />
      )}
    </Page>
  )
}

function DiscardDraft(props: {
  readonly environment: string
  readonly scenarioId: string
  readonly onClose: () => void
}) {
  const { environment, scenarioId, onClose } = props
  const { projectId } = useOperator()
  return (
    <Dialog title={`Discard the draft of ${scenarioId}?`} onClose={onClose}>
      <p>It is only in this browser, and cannot be brought back. What is published stays as it is.</p>
      <div className="actions">
        <Button onClick={onClose}>Keep it</Button>
        <Button
          tone="danger"
          onClick={() => {
            discardDraft(draftKey(projectId, environment, scenarioId))
            onClose()
          }}
        >
          Discard
        </Button>
      </div>
    </Dialog>
  )
}
