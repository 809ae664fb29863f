import { createContext, useContext, useEffect, useState } from 'react'
import { type CombinedError, useClient } from 'urql'
import type { DraftState } from '../draft/draft.ts'
import { validateQuery } from '../operations.ts'
import { type Problem, problemsOf, syntaxProblem } from './problems.ts'

/** A draft is checked once a person pauses. */
const PAUSE_MS = 350

export interface Check {
  readonly problems: readonly Problem[]
  /** Whether the problems are those of the draft as it stands. */
  readonly isFresh: boolean
  readonly error: CombinedError | undefined
}

/** The faults and notices of a draft, by the service's own rules. */
export function useCheck(environment: string, { history: { text }, read }: DraftState): Check {
  const client = useClient()
  const [checked, setChecked] = useState<{ of: string; problems: readonly Problem[]; error?: CombinedError }>()

  useEffect(() => {
    if (read.fault) return
    let isGone = false
    const timer = setTimeout(async () => {
      const input = { environment, definition: text }
      const { data, error } = await client
        .query(validateQuery, { input }, { requestPolicy: 'network-only' })
        .toPromise()
      if (isGone) return
      const problems = data ? problemsOf(text, data.validateScenario) : []
      setChecked((before) => ({ of: text, problems: data ? problems : (before?.problems ?? []), error }))
    }, PAUSE_MS)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [client, environment, text, read])

  if (read.fault) return { problems: syntaxProblem(text, read), isFresh: true, error: undefined }
  return {
    problems: checked?.problems ?? [],
    isFresh: checked?.of === text && checked.error === undefined,
    error: checked?.of === text ? checked.error : undefined,
  }
}

const ProblemsContext = createContext<readonly Problem[]>([])

export const ProblemsProvider = ProblemsContext.Provider

/** The problems at a place, for the field that shows it. */
export function useProblemsAt(pathText: string): readonly Problem[] {
  const problems = useContext(ProblemsContext)
  return pathText === '' ? [] : problems.filter((problem) => problem.pathText === pathText)
}
