import { useEffect, useMemo, useState } from 'react'
import { useQuery } from 'urql'
import { definitionQuery } from '../battlepass/operations.ts'
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
 * Rates from the totals that the service keeps of the newest season, read every few seconds. They count everything,
 * whatever the feed below is filtered by.
 */
export function LiveFigures() {
  const environment = useEnvironment()
  const [{ data }] = useQuery({ query: liveScenariosQuery, variables: { environment } })
  const newest = useMemo(
    () => [...(data?.scenarios.nodes ?? [])].sort((a, b) => b.publishedAt.localeCompare(a.publishedAt))[0]?.scenarioId,
    [data],
  )
  const [definition] = useQuery({
    query: definitionQuery,
    variables: { environment, scenarioId: newest ?? '' },
    pause: newest === undefined,
  })
  const nodeId = readDefinition(definition.data?.scenario?.definition).passes[0]?.id
  if (newest === undefined || nodeId === undefined) return null
  return <Rates key={`${environment} ${newest} ${nodeId}`} scenarioId={newest} nodeId={nodeId} />
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
    if (!insight || fetching) return
    setSamples((before) =>
      addSample(before, {
        at: Date.now(),
        xpGrants: insight.xp.reduce((sum, { grants }) => sum + grants, 0),
        logins: data.loginStatistics.total.logins,
        levelUps: insight.levels.slice(1).reduce((sum, { reachedInRange }) => sum + reachedInRange, 0),
      }),
    )
  }, [data, fetching])

  const day = data?.battlePassInsight?.days.at(-1)
  const rate = (of: Total) => {
    const value = perMinute(samples, of)
    return (
      <>
        {value === null ? '…' : number(value)} <Sparkline values={ratesOf(samples, of)} />
      </>
    )
  }
  return (
    <>
      {error && <Notice tone="warning">The figures could not be read. The feed below goes on.</Notice>}
      <Figures
        of={[
          ['Grants of xp a minute', rate('xpGrants')],
          ['Levels reached a minute', rate('levelUps')],
          ['Logins a minute', rate('logins')],
          ['Premium today', number(day?.premium ?? 0), 'sold or granted'],
          ['Claims today', number(day?.claims ?? 0)],
          ['Players today', number(day?.players ?? 0)],
        ]}
      />
      <p className="muted">
        Counted by the service for {scenarioId} and read every {EVERY_MS / 1000} seconds. Days are in UTC. Logins are
        those that asked the studio’s webhook.
      </p>
    </>
  )
}

const startOfDay = (): string => `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`
