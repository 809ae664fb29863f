import { useQuery } from 'urql'
import { latestEventsQuery } from '../events/operations.ts'
import type { ResultOf } from '../graphql.ts'
import { definitionQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { onDemand } from '../ui/on-demand.tsx'
import { Panel } from '../ui/page.tsx'
import { Empty, Failed, Loading } from '../ui/states.tsx'
import { Id } from '../ui/text.tsx'
import { cancelRunAction, resetRewardAction } from './actions/pass-actions.ts'
import { ActionButton } from './actions/use-action.tsx'
import type { runsQuery } from './operations.ts'
import css from './run-graph.module.css'
import { type NodeState, type RunNode, readRun } from './run-nodes.ts'
import type { TabProps } from './tabs/tab.ts'

const RunGraph = onDemand(() => import('./run-graph.tsx'), 'Drawing')

export type Run = NonNullable<ResultOf<typeof runsQuery>['player']>['runs']['nodes'][number]

/** The number of the scenario's latest events that show the crossings of the run. */
const EVENTS = 200
const BADGES: Readonly<Record<NodeState, string>> = {
  active: 'badge good',
  crossed: 'badge',
  entered: 'badge',
  'not reached': 'muted',
}

export function RunPanel({ player, open, run }: TabProps & { readonly run: Run }) {
  const { environment, playerId } = player
  const { scenarioId } = run
  const [scenario, read] = useQuery({ query: definitionQuery, variables: { environment, scenarioId } })
  const [latest] = useQuery({
    query: latestEventsQuery,
    variables: { environment, playerId, scenarioId, last: EVENTS },
    requestPolicy: 'cache-and-network',
  })
  const definition = readDefinition(scenario.data?.scenario?.definition)
  const events = latest.data?.events.nodes ?? []
  const { nodes, isCrossed } = readRun(definition, run, events)
  const rewards = nodes.filter(({ type }) => type === 'reward').map(({ id }) => id)
  return (
    <Panel
      title={`Run of ${scenarioId}`}
      actions={
        player.status === 'DELETED' ? undefined : (
          <>
            {rewards.length > 0 && (
              <ActionButton onClick={() => open(resetRewardAction(scenarioId, rewards))}>
                Reset a reward node
              </ActionButton>
            )}
            {run.status === 'ACTIVE' && (
              <ActionButton tone="danger" onClick={() => open(cancelRunAction(run.runId, scenarioId, run.activeNodes))}>
                Cancel the run
              </ActionButton>
            )}
          </>
        )
      }
    >
      <p>
        <Id of={run.runId} />
      </p>
      <p className="muted">
        The nodes are those of the published version.{' '}
        {latest.error
          ? 'The events could not be read: what was crossed is not known.'
          : events.length === EVENTS
            ? `What was crossed is known from the latest ${EVENTS} events of the player in this scenario.`
            : 'What was crossed is known from the events that are still kept.'}
      </p>
      {scenario.data?.scenario ? (
        <div className={css.run}>
          <RunGraph nodes={nodes} edges={definition.edges} isCrossed={isCrossed} />
          <NodeList nodes={nodes} />
        </div>
      ) : scenario.fetching ? (
        <Loading />
      ) : scenario.error ? (
        <Failed error={scenario.error} onRetry={() => read({ requestPolicy: 'network-only' })} />
      ) : (
        <Empty title="The scenario is not published any more" />
      )}
    </Panel>
  )
}

const NodeList = ({ nodes }: { nodes: readonly RunNode[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
  <ul className={css.nodes} aria-label="Nodes of the run" tabIndex={0}>
    {nodes.map(({ id, type, state, handles }) => (
      <li key={id}>
        {id} <span className={BADGES[state]}>{state}</span>
        <small>
          {type}
          {handles.length > 0 && ` · ${handles.join(', ')}`}
        </small>
      </li>
    ))}
  </ul>
)
