import { useQuery } from 'urql'
import { outliersQuery } from '../battlepass/operations.ts'
import { outlierColumns } from '../battlepass/xp-outliers.tsx'
import type { Calendar } from '../calendar/entries.ts'
import { useDenial } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'

/** Many times the xp of the player in the middle: a cheat, or a fault of the game. */
const TIMES_MEDIAN = 20
/** Each reads the ledger of a day. */
const MOST_SEASONS = 3
const MOST = 5

/** Players of the running seasons with much more xp in 24 hours than others. */
export function Outliers({ seasons, to }: { seasons: Calendar['seasons']; to: string }) {
  const denial = useDenial('players')
  const running = seasons.filter(({ phase }) => phase === 'RUNNING' || phase === 'ENDING').slice(0, MOST_SEASONS)
  return (
    <Panel
      title="Unusual xp in 24 hours"
      about={`Players of running seasons with at least ${TIMES_MEDIAN} times the xp of the player in the middle: a cheat, or a fault of the game. Xp from operators does not count.`}
    >
      {running.length === 0 && (
        <Empty title="No season with dates runs">Battle pass has the xp of passes without dates.</Empty>
      )}
      {denial !== undefined && running.length > 0 && <Empty title="Not shown">{denial}</Empty>}
      {(denial === undefined ? running : []).map(({ scenarioId, nodeId }) => (
        <OfSeason key={`${scenarioId} ${nodeId}`} scenarioId={scenarioId} nodeId={nodeId} to={to} />
      ))}
    </Panel>
  )
}

function OfSeason(place: { readonly scenarioId: string; readonly nodeId: string; readonly to: string }) {
  const environment = useEnvironment()
  const [result, read] = useQuery({ query: outliersQuery, variables: { environment, ...place } })
  return (
    <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
      {({ battlePassInsight }) => {
        const top = battlePassInsight?.xpOutliers.top.filter(({ timesMedian }) => timesMedian >= TIMES_MEDIAN) ?? []
        if (top.length === 0)
          return (
            <p className="muted">
              {place.scenarioId}: nobody earned {TIMES_MEDIAN} times the median or more.
            </p>
          )
        return (
          <Table
            caption={`Unusual xp in ${place.scenarioId}`}
            rows={top.slice(0, MOST)}
            keyOf={({ player }) => player.id}
            columns={outlierColumns(`Player of ${place.scenarioId}`)}
          />
        )
      }}
    </Answer>
  )
}
