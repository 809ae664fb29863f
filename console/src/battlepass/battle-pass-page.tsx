import { useMemo } from 'react'
import { useQuery } from 'urql'
import { Link, useLocation, useSearchParams } from 'wouter'
import { definitionQuery, scenariosQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { usePathParameters } from '../ui/address.ts'
import { SelectField } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { Answer, Empty, Failed, Loading } from '../ui/states.tsx'
import { Insight } from './insight.tsx'

export default function BattlePassPage() {
  const environment = useEnvironment()
  const params = usePathParameters()
  const scenarios = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
  })
  const { rows, isLoading, error, reload } = scenarios
  const newest = useMemo(() => [...rows].sort((a, b) => b.publishedAt.localeCompare(a.publishedAt))[0], [rows])
  const scenarioId = params.scenarioId ?? newest?.scenarioId

  return (
    <Page title="Battle pass">
      {scenarioId !== undefined ? (
        <Season
          key={`${environment} ${scenarioId}`}
          scenarioId={scenarioId}
          nodeId={params.nodeId}
          scenarioIds={[...new Set([scenarioId, ...rows.map((one) => one.scenarioId)])]}
        />
      ) : error ? (
        <Failed error={error} onRetry={reload} />
      ) : isLoading ? (
        <Loading />
      ) : (
        <Empty title={`There is no scenario in ${environment} yet`}>
          <Link href={`/env/${environment}/scenarios`}>Design one</Link>
        </Empty>
      )}
    </Page>
  )
}

function Season(props: {
  readonly scenarioId: string
  readonly nodeId: string | undefined
  readonly scenarioIds: readonly string[]
}) {
  const environment = useEnvironment()
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const { scenarioId } = props
  const [result, read] = useQuery({ query: definitionQuery, variables: { environment, scenarioId } })
  const query = search.size > 0 ? `?${search}` : ''
  const base = `/env/${environment}/battle-pass`
  return (
    <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
      {({ scenario }) => {
        const passes = readDefinition(scenario?.definition).passes
        const nodeId = props.nodeId ?? passes[0]?.id
        const choice = (
          <>
            <SelectField
              label="Scenario"
              name="scenario"
              value={scenarioId}
              onChange={(id) => navigate(`${base}/${encodeURIComponent(id)}${query}`)}
              options={props.scenarioIds}
            />
            {passes.length > 1 && (
              <SelectField
                label="Pass"
                name="pass"
                value={nodeId ?? ''}
                onChange={(id) =>
                  navigate(`${base}/${encodeURIComponent(scenarioId)}/${encodeURIComponent(id)}${query}`)
                }
                options={passes.map(({ id }) => id)}
              />
            )}
          </>
        )
        return (
          <>
            {nodeId === undefined && <div className="filters">{choice}</div>}
            {scenario === null ? (
              <Empty title={`There is no scenario ${scenarioId} in ${environment}`} />
            ) : nodeId === undefined ? (
              <Empty title="This scenario has no battle pass">Choose another scenario.</Empty>
            ) : (
              <Insight
                key={nodeId}
                scenarioId={scenarioId}
                nodeId={nodeId}
                pass={passes.find(({ id }) => id === nodeId)}
                scenarioIds={props.scenarioIds}
              >
                {choice}
              </Insight>
            )}
          </>
        )
      }}
    </Answer>
  )
}
