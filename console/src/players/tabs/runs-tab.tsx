import { Button } from '../../ui/button.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../ui/words.ts'
import { runsQuery } from '../operations.ts'
import { RunPanel } from '../run-panel.tsx'
import { useParameter } from '../use-parameter.ts'
import type { TabProps } from './tab.ts'

export function RunsTab(props: TabProps) {
  const [chosen, setChosen] = useParameter('run')
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
          {
            title: 'Scenario',
            cell: ({ scenarioId }) => (
              <span className="clip" title={scenarioId}>
                {scenarioId}
              </span>
            ),
          },
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
      {run && <RunPanel key={run.runId} run={run} {...props} />}
    </>
  )
}
