import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import { type CombinedError, useClient, useQuery } from 'urql'
import type { DraftState } from '../draft/draft.ts'
import { namesQuery, validateQuery } from '../operations.ts'
import { hintsOf, type KnownNames } from './hints.ts'
import { noticesOf, type Problem, problemsOf, syntaxProblem } from './problems.ts'

/** A draft is checked once a person pauses. */
const PAUSE_MS = 350

export interface Check {
  readonly problems: readonly Problem[]
  /** Whether the problems are those of the draft as it stands. */
  readonly isFresh: boolean
  readonly error: CombinedError | undefined
  readonly retry: () => void
}

/** The last answer, for other views of the same draft. */
let last: { readonly of: string; readonly problems: readonly Problem[]; readonly error?: CombinedError } | undefined

export function useCheck(environment: string, { history: { text }, read }: DraftState): Check {
  const client = useClient()
  const [checked, setChecked] = useState(() => (last?.of === text ? last : undefined))
  const [attempt, setAttempt] = useState(0)

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks again
  useEffect(() => {
    if (read.fault || (last?.of === text && !last.error)) return
    let isGone = false
    const timer = setTimeout(async () => {
      const input = { environment, definition: text }
      const { data, error } = await client
        .query(validateQuery, { input }, { requestPolicy: 'network-only' })
        .toPromise()
      if (isGone) return
      const problems = data ? problemsOf(text, data.validateScenario) : []
      last = { of: text, problems: data ? problems : (last?.problems ?? []), error }
      setChecked(last)
    }, PAUSE_MS)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [client, environment, text, read, attempt])

  const known = useKnownNames(environment)
  const hints = useMemo(() => {
    const { definition } = read
    return definition ? noticesOf(definition, hintsOf(definition, known)) : []
  }, [read, known])
  const retry = useCallback(() => setAttempt((before) => before + 1), [])
  if (read.fault) return { problems: syntaxProblem(text, read), isFresh: true, error: undefined, retry }
  return {
    problems: [...(checked?.problems ?? []), ...hints],
    isFresh: checked?.of === text && checked.error === undefined,
    error: checked?.of === text ? checked.error : undefined,
    retry,
  }
}

/** The names of an environment. Undefined while they are not read, and when there are more than one page of them. */
function useKnownNames(environment: string): KnownNames | undefined {
  const [{ data }] = useQuery({ query: namesQuery, variables: { environment } })
  return useMemo(() => {
    if (!data || data.currencies.pageInfo.hasNextPage || data.items.pageInfo.hasNextPage) return undefined
    return {
      currencies: data.currencies.nodes.map(({ name }) => name),
      items: data.items.nodes.map(({ itemId }) => itemId),
    }
  }, [data])
}

const ProblemsContext = createContext<readonly Problem[]>([])

export const ProblemsProvider = ProblemsContext.Provider

export function useProblemsAt(pathText: string): readonly Problem[] {
  const problems = useContext(ProblemsContext)
  return pathText === '' ? [] : problems.filter((problem) => problem.pathText === pathText)
}

export function useProblemsUnder(pathText: string): readonly Problem[] {
  const problems = useContext(ProblemsContext)
  return problems.filter(
    (one) => one.pathText.startsWith(pathText) && ['', '.', '['].includes(one.pathText[pathText.length] ?? ''),
  )
}
