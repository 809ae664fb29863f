import { lazy, Suspense, useState } from 'react'
import { useQuery } from 'urql'
import { definitionQuery } from '../../battlepass/operations.ts'
import type { ResultOf } from '../../graphql.ts'
import { member, readDefinition } from '../../scenario/read-definition.ts'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty, Loading } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Id, words } from '../../ui/text.tsx'
import { Time } from '../../ui/time.tsx'
import { cancelRunAction, resetRewardAction } from '../actions/pass-actions.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { runsQuery } from '../operations.ts'
import type { TabProps } from './tab.ts'

const ScenarioGraph = lazy(() => import('../../scenario/graph.tsx'))

type Run = NonNullable<ResultOf<typeof runsQuery>['player']>['runs']['nodes'][number]

export function RunsTab(props: TabProps) {
  const [chosen, setChosen] = useState<string>()
  const pages = usePages({
    query: runsQuery,
    variables: { id: props.player.playerId },
    connectionOf: (data) => data.player?.runs,
    additionalTypenames: ['Run'],
  })
  const run = pages.rows.find(({ runId }) => runId === chosen) ?? pages.rows[0]
  return (
    <>
      <PagedTable
        caption="Runs"
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="No run">A run begins when the game starts a scenario for the player.</Empty>}
        columns={[
          { title: 'Scenario', cell: ({ scenarioId }) => scenarioId },
          {
            title: 'Status',
            cell: ({ status, cause }) => (
              <>
                <span className={status === 'ACTIVE' ? 'badge good' : 'badge'}>{words(status)}</span>{' '}
                {cause !== null && words(cause)}
              </>
            ),
          },
          { title: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
          { title: 'Ended', cell: ({ endedAt }) => (endedAt === null ? '–' : <Time at={endedAt} />) },
          { title: 'Active nodes', cell: ({ activeNodes }) => activeNodes.join(', ') || '–' },
          {
            title: 'Graph',
            cell: ({ runId }) => (
              <Button tone="quiet" pressed={runId === run?.runId} onClick={() => setChosen(runId)}>
                Show
              </Button>
            ),
          },
        ]}
      />
      {run && <RunGraph key={run.runId} run={run} {...props} />}
    </>
  )
}

function RunGraph({ player, open, run }: TabProps & { readonly run: Run }) {
  const [{ data, fetching }] = useQuery({
    query: definitionQuery,
    variables: { environment: player.environment, scenarioId: run.scenarioId },
  })
  const definition = data?.scenario?.definition
  const view = readDefinition(definition)
  const nodes = member(definition, 'nodes')
  const rewards = Array.isArray(nodes)
    ? nodes.filter((node) => member(node, 'type') === 'reward').map((node) => String(member(node, 'id')))
    : []
  return (
    <Panel
      title={`Run of ${run.scenarioId}`}
      actions={
        player.status === 'DELETED' ? undefined : (
          <>
            {rewards.length > 0 && (
              <ActionButton onClick={() => open(resetRewardAction(player, run.scenarioId, rewards))}>
                Reset a reward node
              </ActionButton>
            )}
            {run.status === 'ACTIVE' && (
              <ActionButton tone="danger" onClick={() => open(cancelRunAction(player, run.runId, run.scenarioId))}>
                Cancel the run
              </ActionButton>
            )}
          </>
        )
      }
    >
      <p>
        <Id of={run.runId} /> Active: {run.activeNodes.join(', ') || 'no node'}. The graph is that of the published
        version.
      </p>
      {definition === undefined ? (
        fetching ? (
          <Loading />
        ) : (
          <Empty title="The scenario is not published any more" />
        )
      ) : (
        <Suspense fallback={<Loading what="Drawing" />}>
          <ScenarioGraph definition={view} marked={new Set(run.activeNodes)} />
        </Suspense>
      )}
    </Panel>
  )
}
