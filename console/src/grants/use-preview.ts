import { useEffect, useState } from 'react'
import { type CombinedError, useClient } from 'urql'
import type { ResultOf } from '../graphql.ts'
import type { PreviewInput } from './gift.ts'
import { previewJobQuery } from './operations.ts'

export type Preview = ResultOf<typeof previewJobQuery>['previewGrantJob']

interface Answer {
  readonly of: string
  readonly preview?: Preview | undefined
  readonly error?: CombinedError | undefined
}

/** Typing continues for a while: a preview may look at many players. */
const PAUSE_MS = 400

/** What a grant would do now. Undefined until it is known, and while the fields are incomplete. */
export function usePreview(input: PreviewInput | undefined, attempt: number): Answer | undefined {
  const client = useClient()
  const [answer, setAnswer] = useState<Answer>()
  const asked = input && JSON.stringify(input)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks again
  useEffect(() => {
    if (asked === undefined) return
    let isGone = false
    setAnswer(undefined)
    const timer = setTimeout(async () => {
      const { data, error } = await client
        .query(previewJobQuery, { input: JSON.parse(asked) }, { requestPolicy: 'network-only' })
        .toPromise()
      if (!isGone) setAnswer({ of: asked, preview: data?.previewGrantJob, error })
    }, PAUSE_MS)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [client, asked, attempt])
  return answer?.of === asked ? answer : undefined
}
