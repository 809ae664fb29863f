import { useMemo } from 'react'
import { useQuery } from 'urql'
import { scenarioTextQuery } from '../operations.ts'

/** The text of one version of a scenario; undefined until it is read. */
export function useVersion(environment: string, scenarioId: string, version: number) {
  const [{ data, error }] = useQuery({ query: scenarioTextQuery, variables: { environment, scenarioId, version } })
  const scenario = data?.scenario
  return useMemo(
    () => ({ version: scenario ? { version: scenario.version, text: scenario.definitionText } : undefined, error }),
    [scenario, error],
  )
}
