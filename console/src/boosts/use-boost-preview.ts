import { useEffect, useState } from 'react'
import { useClient } from 'urql'
import { textOf } from '../ui/errors.ts'
import { type effectOf, previewText } from './boost-fields.ts'
import { previewBoostQuery } from './operations.ts'

/** Typing continues for a while: a preview reads the xp of days. */
const PAUSE_MS = 400

/** What a boost would have done in the last days, in a sentence. Undefined until it is known. */
export function useBoostPreview(environment: string, effect: ReturnType<typeof effectOf>, days: number) {
  const client = useClient()
  const [answer, setAnswer] = useState<{ readonly of: string; readonly text: string }>()
  const variables = effect && JSON.stringify({ environment, ...effect, days })

  useEffect(() => {
    if (variables === undefined) return
    let isGone = false
    const timer = setTimeout(async () => {
      const asked = JSON.parse(variables)
      const { data, error } = await client
        .query(previewBoostQuery, asked, { requestPolicy: 'network-only' })
        .toPromise()
      if (isGone) return
      const text = error ? `It could not be previewed. ${textOf(error)}` : data && previewText(data.previewBoost, days)
      if (text) setAnswer({ of: variables, text })
    }, PAUSE_MS)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [client, variables, days])

  return answer?.of === variables ? answer?.text : undefined
}
