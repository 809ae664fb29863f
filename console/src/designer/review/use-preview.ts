import { useCallback, useEffect, useState } from 'react'
import { type CombinedError, useClient } from 'urql'
import type { ResultOf } from '../../graphql.ts'
import { previewQuery } from '../operations.ts'

export type Preview = ResultOf<typeof previewQuery>['previewScenario']

export interface PreviewState {
  readonly preview: Preview | undefined
  readonly isLoading: boolean
  readonly error: CombinedError | undefined
  readonly retry: () => void
}

/** The effect on players of publishing a text as the next version of a scenario. An undefined text pauses. */
export function usePreview(environment: string, scenarioId: string, text: string | undefined): PreviewState {
  const client = useClient()
  const [answer, setAnswer] = useState<{ of: string; preview?: Preview; error?: CombinedError }>()
  const [attempt, setAttempt] = useState(0)

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks again
  useEffect(() => {
    if (text === undefined) return
    let isGone = false
    const timer = setTimeout(async () => {
      const input = { environment, scenarioId, definition: text }
      const { data, error } = await client.query(previewQuery, { input }, { requestPolicy: 'network-only' }).toPromise()
      if (!isGone) setAnswer({ of: text, preview: data?.previewScenario, error })
    }, 100)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [client, environment, scenarioId, text, attempt])

  const own = answer?.of === text ? answer : undefined
  return {
    preview: own?.preview,
    error: own?.error,
    isLoading: text !== undefined && own === undefined,
    retry: useCallback(() => {
      setAnswer(undefined)
      setAttempt((before) => before + 1)
    }, []),
  }
}
