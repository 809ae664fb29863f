import { useEffect, useState } from 'react'
import { type Client, useClient } from 'urql'
import { useSearchParams } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { Figures } from '../ui/page.tsx'
import { playersText } from '../ui/players-text.ts'
import { Notice } from '../ui/states.tsx'
import { sum } from '../ui/sum.ts'
import { number } from '../ui/words.ts'
import { type LivePass, MAX_LIVE_PASSES, useLivePasses } from './live-passes.ts'
import { liveEnvironmentQuery, livePassQuery } from './operations.ts'
import { addSample, perMinute, ratesOf, type Sample, type Total } from './rates.ts'
import { Sparkline } from './sparkline.tsx'

const EVERY_MS = 5_000
/** A season with fewer players is said to have hardly any. */
const FEW_PLAYERS = 10

/**
 * Rates from the service's totals, read every few seconds: of the season of the feed's filter, else of all running
 * seasons together. They count every player.
 */
export function LiveFigures() {
  const environment = useEnvironment()
  const [search] = useSearchParams()
  const chosen = search.get('scenario') || null
  const passes = useLivePasses(environment, chosen)
  if (passes === undefined) return <Frame rate={() => null} of="" />
  return <Rates key={JSON.stringify([environment, passes])} passes={passes} isChosen={chosen !== null} />
}

interface LiveData {
  readonly calls: number
  readonly logins: number
  readonly levelUps: number
  readonly today: Today
  /** The players of each pass since its beginning, in the order of the passes. */
  readonly playersOf: readonly number[]
}

interface Today {
  readonly premium: number
  readonly claims: number
  readonly players: number
}

function Rates({ passes, isChosen }: { passes: readonly LivePass[]; isChosen: boolean }) {
  const environment = useEnvironment()
  const client = useClient()
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const [data, setData] = useState<LiveData>()
  const [hasFailed, setFailed] = useState(false)

  // biome-ignore lint/correctness/useExhaustiveDependencies: other passes are another component
  useEffect(() => {
    let isGone = false
    let isReading = false
    async function read(): Promise<void> {
      if (isReading || document.visibilityState !== 'visible') return
      isReading = true
      const answer = await readLive(client, environment, passes)
      isReading = false
      if (isGone) return
      setFailed(answer === undefined)
      if (answer === undefined) return
      const { calls, logins, levelUps } = answer
      setData(answer)
      setSamples((before) => addSample(before, { at: Date.now(), calls, logins, levelUps }))
    }
    void read()
    const timer = setInterval(() => void read(), EVERY_MS)
    return () => {
      isGone = true
      clearInterval(timer)
    }
  }, [client, environment])

  return (
    <>
      {hasFailed && <Notice tone="warning">The figures could not be read. The previous ones are shown.</Notice>}
      <Frame
        day={data?.today}
        of={passes.length === 1 ? (passes[0]?.scenarioId ?? '') : `${passes.length} seasons`}
        hasPasses={passes.length > 0}
        rate={(of) => {
          const value = perMinute(samples, of)
          return value === null ? null : { value, before: ratesOf(samples, of) }
        }}
      />
      {/* A translation of the browser would keep parts of it, and React could not take them away. */}
      <p className="muted" translate="no">
        {passes.length === 0 ? (
          isChosen ? (
            'This scenario has no battle pass.'
          ) : (
            'No season is running.'
          )
        ) : (
          <>
            Levels, premium, claims and players are those of <Names of={passes} playersOf={data?.playersOf} />
            {passes.length === MAX_LIVE_PASSES && ', and of no older season'}, of all players
            {passes.length > 1 && '; who plays several seasons counts in each'}.
          </>
        )}{' '}
        Read every {EVERY_MS / 1000} seconds. Days are in UTC. Only logins that called the studio’s webhook count.
      </p>
    </>
  )
}

/** The passes by name. It says which of them hardly anybody plays, as the figures then say little about it. */
const Names = ({ of, playersOf }: { of: readonly LivePass[]; playersOf: readonly number[] | undefined }) =>
  of.map(({ scenarioId, nodeId }, index) => {
    const players = playersOf?.[index]
    const isShared = of.some((other) => other.scenarioId === scenarioId && other.nodeId !== nodeId)
    return (
      <span key={`${scenarioId} ${nodeId}`}>
        {index > 0 && (index === of.length - 1 ? ' and ' : ', ')}
        <strong>{scenarioId}</strong>
        {isShared && ` (${nodeId})`}
        {players !== undefined && players < FEW_PLAYERS && (
          <> ({players === 0 ? 'no player yet' : `only ${playersText(players)}`})</>
        )}
      </span>
    )
  })

/** Undefined when one of them could not be read. */
async function readLive(
  client: Client,
  environment: string,
  passes: readonly LivePass[],
): Promise<LiveData | undefined> {
  const from = startOfDay()
  const fresh = { requestPolicy: 'network-only' } as const
  const [whole, ...answers] = await Promise.all([
    client.query(liveEnvironmentQuery, { environment, from }, fresh).toPromise(),
    ...passes.map((pass) => client.query(livePassQuery, { environment, ...pass, from }, fresh).toPromise()),
  ])
  const insights = answers.flatMap(({ data, error }) => (error ? [] : (data?.battlePassInsight ?? [])))
  if (!whole.data || whole.error || insights.length < passes.length) return undefined
  const today = insights.map(({ days }) => days.at(-1))
  return {
    calls: whole.data.callStatistics.calls,
    logins: whole.data.loginStatistics.total.logins,
    levelUps: sum(insights.map(({ levels }) => sum(levels.slice(1).map(({ reachedInRange }) => reachedInRange)))),
    today: {
      premium: sum(today.map((day) => day?.premium ?? 0)),
      claims: sum(today.map((day) => day?.claims ?? 0)),
      players: sum(today.map((day) => day?.players ?? 0)),
    },
    playersOf: insights.map(({ completion }) => completion.players),
  }
}

interface Rate {
  readonly value: number
  readonly before: readonly number[]
}

function Frame(props: {
  readonly day?: Today
  /** What the figures of seasons count: the name of one, or the number of them. */
  readonly of: string
  readonly hasPasses?: boolean
  /** Null while it is not known. */
  readonly rate: (of: Total) => Rate | null
}) {
  const { day, of, hasPasses = true } = props
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
  const ofPasses = [
    ['Levels a minute', rate('levelUps'), of],
    ['Premium today', count(day?.premium), `${of}, bought or granted, minus revoked`],
    ['Claims today', count(day?.claims), of],
    ['Players today', count(day?.players), of],
  ] as const
  return (
    <Figures
      of={[
        ['Calls a minute', rate('calls'), 'of all players of the environment'],
        ['Logins a minute', rate('logins'), 'of the environment'],
        ...(hasPasses ? ofPasses : []),
      ]}
    />
  )
}

const startOfDay = (): string => `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`
