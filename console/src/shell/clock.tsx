import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { useQuery } from 'urql'
import { type GameClock, gameTimeAt } from '../../../src/base/game-clock.ts'
import { isProduction } from '../../../src/base/limits.ts'
import { Notice } from '../ui/states.tsx'
import { clockText } from './clock-text.ts'
import { clocksQuery } from './operations.ts'

const ClockContext = createContext<GameClock | null>(null)

/** The game's time of the environment now, in milliseconds. */
export function useGameNow(): number {
  return gameTimeAt(useContext(ClockContext), Date.now())
}

interface ClockProps {
  readonly environment: string
  readonly children: ReactNode
}

/** Says on every page of an environment that its clock is not the real one. It is read again with each page. */
export function EnvironmentClock({ environment, children }: ClockProps) {
  const [{ data }] = useQuery({
    query: clocksQuery,
    pause: environment === '' || isProduction(environment),
    requestPolicy: 'cache-and-network',
  })
  const clock = data?.project.environments.find(({ name }) => name === environment)?.clock ?? null
  const received = useMemo(
    () => clock && { at: Date.parse(clock.now), setAt: Date.now(), rate: clock.rate },
    // The same clock arrives again with each answer.
    [clock],
  )
  return (
    <ClockContext.Provider value={received}>
      {clock && <Notice tone="warning">{clockText(environment, clock)}</Notice>}
      {children}
    </ClockContext.Provider>
  )
}
