import { useQuery } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { PlayerName } from '../players/player-name.tsx'
import { useDenial } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Panel } from '../ui/page.tsx'
import { playersText } from '../ui/players-text.ts'
import { Answer, Empty } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { outliersQuery } from './operations.ts'

type Outlier = NonNullable<ResultOf<typeof outliersQuery>['battlePassInsight']>['xpOutliers']['top'][number]

/** A player with much xp, and how much it is. */
export const outlierColumns = (title: string): readonly Column<Outlier>[] => [
  {
    title,
    cell: ({ player: { playerId, nickname } }) => <PlayerName of={playerId} nickname={nickname} tab="passes" />,
  },
  { title: 'Xp', isNumber: true, cell: ({ xp }) => number(xp) },
  {
    title: 'Times the median',
    isNumber: true,
    cell: ({ timesMedian }) => timesMedian.toLocaleString('en-US', { maximumFractionDigits: 1 }),
  },
]

interface OutliersProps {
  readonly scenarioId: string
  readonly nodeId: string
  readonly to: string
}

export function XpOutliers(props: OutliersProps) {
  const denial = useDenial('players')
  if (denial === undefined) return <Outliers {...props} />
  return (
    <Panel title="Players with the most xp in a day">
      <Empty title="Not shown">{denial}</Empty>
    </Panel>
  )
}

function Outliers(props: OutliersProps) {
  const environment = useEnvironment()
  const [result, read] = useQuery({
    query: outliersQuery,
    variables: { environment, ...props },
    requestPolicy: 'cache-and-network',
  })
  return (
    <Panel title="Players with the most xp in a day">
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ battlePassInsight }) => {
          const outliers = battlePassInsight?.xpOutliers
          if (!outliers || outliers.median === null)
            return <Empty title="Nobody earned xp in the last 24 hours of this time" />
          return (
            <>
              <p className="muted">
                <Time at={outliers.from} parts="minute" /> to <Time at={outliers.to} parts="minute" />, without xp from
                operators. {playersText(outliers.players)} earned xp; the median is {number(outliers.median)}.
              </p>
              <Table
                caption="Players with the most xp in a day"
                rows={outliers.top}
                keyOf={({ player }) => player.id}
                columns={[
                  ...outlierColumns('Player'),
                  { title: 'Grants', isNumber: true, cell: ({ grants }) => number(grants) },
                ]}
              />
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}
