import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { definitionQuery } from '../scenario/operations.ts'
import { readDefinition } from '../scenario/read-definition.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Figures } from '../ui/page.tsx'
import { Notice } from '../ui/states.tsx'
import { number } from '../ui/text.tsx'
import { liveFiguresQuery, liveScenariosQuery } from './operations.ts'
import { addSample, perMinute, ratesOf, type Sample, type Total } from './rates.ts'
import { Sparkline } from './sparkline.tsx'

const EVERY_MS = 5_000

/**
 * Rates from the service's totals of a season, read every few seconds: the season of the feed's filter, else the newest
 * one. The rates count every player.
 */
export function LiveFigures() {
  const environment = useEnvironment()
  const [search] = useSearchParams()
  const [scenarios] = useQuery({ query: liveScenariosQuery, variables: { environment } })
  const all = scenarios.data?.scenarios.nodes ?? []
  const newest = [...all].sort((a, b) => b.publishedAt.localeCompare(a.publishedAt))[0]
  const chosen = all.find(({ scenarioId }) => scenarioId === search.get('scenario')) ?? newest
  const scenarioId = chosen?.scenarioId
  const [definition] = useQuery({
    query: definitionQuery,
    variables: { environment, scenarioId: scenarioId ?? '' },
    pause: scenarioId === undefined,
  })
  const nodeId = readDefinition(definition.data?.scenario?.definition).passes[0]?.id
  if (scenarios.fetching || definition.fetching) return <Frame rate={() => null} />
  if (scenarioId === undefined || nodeId === undefined) return null
  return <Rates key={`${environment} ${scenarioId} ${nodeId}`} scenarioId={scenarioId} nodeId={nodeId} />
}

function Rates({ scenarioId, nodeId }: { scenarioId: string; nodeId: string }) {
  const environment = useEnvironment()
  const [today, setToday] = useState(startOfDay)
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const [{ data, error, fetching }, read] = useQuery({
    query: liveFiguresQuery,
    variables: { environment, scenarioId, nodeId, from: today },
    requestPolicy: 'network-only',
  })

  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return
      setToday(startOfDay())
      read({ requestPolicy: 'network-only' })
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [read])

  useEffect(() => {
    const insight = data?.battlePassInsight
    // After a failed read the data are old.
    if (!insight || fetching || error) return
    setSamples((before) =>
      addSample(before, {
        at: Date.now(),
        calls: data.callStatistics.calls,
        logins: data.loginStatistics.total.logins,
        levelUps: insight.levels.slice(1).reduce((sum, { reachedInRange }) => sum + reachedInRange, 0),
      }),
    )
  }, [data, error, fetching])

  return (
    <>
      {error && <Notice tone="warning">The figures could not be read. The previous ones are shown.</Notice>}
      <Frame
        day={data?.battlePassInsight?.days.at(-1)}
        rate={(of) => {
          const value = perMinute(samples, of)
          return value === null ? null : { value, before: ratesOf(samples, of) }
        }}
      />
      <p className="muted">
        {scenarioId}, all players, read every {EVERY_MS / 1000} seconds. Days are in UTC. Calls and logins are those of
        the whole environment; only logins that called the studio’s webhook count.
      </p>
    </>
  )
}

interface Rate {
  readonly value: number
  readonly before: readonly number[]
}

function Frame(props: {
  readonly day?: { readonly premium: number; readonly claims: number; readonly players: number }
  /** Null while it is not known. */
  readonly rate: (of: Total) => Rate | null
}) {
  const { day } = props
  const rate = (of: Total) => {
    const found = props.rate(of)
    if (found === null) return '…'
    return (
      <>
        {number(found.value)} <Sparkline values={found.before} />
      </>
    )
  }
  const count = (value: number | undefined) => (value === undefined ? '…' : number(value))
  return (
    <Figures
      of={[
        ['Calls a minute', rate('calls'), 'of all players of the environment'],
        ['Levels a minute', rate('levelUps')],
        ['Logins a minute', rate('logins')],
        ['Premium today', count(day?.premium), 'bought or granted, minus revoked'],
        ['Claims today', count(day?.claims)],
        ['Players today', count(day?.players)],
      ]}
    />
  )
}

const startOfDay = (): string => `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`
