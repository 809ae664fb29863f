import { useQuery } from 'urql'
import { definitionQuery } from '../../scenario/operations.ts'
import { readDefinition } from '../../scenario/read-definition.ts'
import { usePages } from '../../ui/pages.ts'
import { Empty, Failed, Loading } from '../../ui/states.tsx'
import { runsQuery } from '../operations.ts'
import { PassPanel } from '../pass-panel.tsx'
import { notBegun } from '../running-pass.ts'
import type { TabProps } from './tab.ts'

/** The passes of a player, and the passes of its active runs that it has not begun. */
export function PassesTab(props: TabProps) {
  const { player } = props
  const runs = usePages({
    query: runsQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.runs,
    additionalTypenames: ['Run'],
  })
  const active = new Set(runs.rows.filter(({ status }) => status === 'ACTIVE').map(({ scenarioId }) => scenarioId))
  const scenarioIds = new Set([...player.passes.map(({ scenarioId }) => scenarioId), ...active])
  if (scenarioIds.size === 0)
    return runs.isLoading ? (
      <Loading />
    ) : runs.error ? (
      <Failed error={runs.error} onRetry={runs.reload} />
    ) : (
      <Empty title="No pass">
        The player takes part in no scenario with a battle pass. A pass begins with a run of its scenario.
      </Empty>
    )
  // Only the latest runs are read. If there are more, a scenario may have an older run that is active.
  const isKnown = runs.rows.length > 0 || (!runs.isLoading && !runs.error)
  return [...scenarioIds].map((scenarioId) => (
    <ScenarioPasses
      key={scenarioId}
      {...props}
      scenarioId={scenarioId}
      hasRun={active.has(scenarioId) ? true : isKnown && !runs.hasMore ? false : undefined}
    />
  ))
}

function ScenarioPasses(props: TabProps & { readonly scenarioId: string; readonly hasRun: boolean | undefined }) {
  const { player, scenarioId, hasRun } = props
  const [{ data, fetching, error }] = useQuery({
    query: definitionQuery,
    variables: { environment: player.environment, scenarioId },
  })
  const views = readDefinition(data?.scenario?.definition).passes
  const begun = player.passes.filter((pass) => pass.scenarioId === scenarioId)
  const open = hasRun ? views.filter(({ id }) => begun.every(({ nodeId }) => nodeId !== id)) : []
  const state = error ? 'failed' : fetching && !data ? 'loading' : 'read'
  return (
    <>
      {begun.map((pass) => (
        <PassPanel
          key={pass.id}
          {...props}
          pass={pass}
          view={views.find(({ id }) => id === pass.nodeId)}
          definition={state}
        />
      ))}
      {open.map((view) => (
        <PassPanel key={view.id} {...props} pass={notBegun(scenarioId, view)} view={view} definition={state} />
      ))}
    </>
  )
}
