import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { useDenial } from '../../session/permission.tsx'
import { type Draft, useDraftState } from '../draft/draft.ts'
import { type Exchanged, exchange, type SharedDraft } from './exchange.ts'

/** The pause between two looks at what others have written. */
const LOOK_MS = 5_000
/** What is written here is sent after this pause in typing. */
const SEND_MS = 1_000

export interface Sharing {
  /** The shared draft as it is on the service. Undefined before the first answer, and for a draft of this browser alone. */
  readonly draft: SharedDraft | undefined
  readonly conflict: SharedDraft | undefined
  /** Set when the shared draft is no more, until the person has seen it. */
  readonly isGone: boolean
  readonly isAway: boolean
  readonly decide: (prefer: 'mine' | 'theirs') => void
  /** Looks at once, such as after a comment. */
  readonly look: () => void
  readonly forget: () => void
}

/** Keeps a draft and the shared one that it is a copy of the same, as long as the page is open. */
export function useSharedDraft(local: Draft, environment: string, scenarioId: string): Sharing {
  const client = useClient()
  const canSave = useDenial('design') === undefined
  const { shared, history } = useDraftState(local)
  const [draft, setDraft] = useState<SharedDraft>()
  const [conflict, setConflict] = useState<SharedDraft>()
  const [isGone, setGone] = useState(false)
  const [isAway, setAway] = useState(false)
  const isRunning = useRef(false)
  const wanted = useRef<'mine' | 'theirs'>(undefined)
  const draftId = shared?.draftId

  const run = useCallback(
    async (prefer?: 'mine' | 'theirs') => {
      // A decision is taken when the exchange under way has ended.
      if (isRunning.current) wanted.current = prefer ?? wanted.current
      if (isRunning.current || !local.now().shared) return
      isRunning.current = true
      let found: Exchanged
      try {
        found = await exchange(client, local, { environment, scenarioId, canSave }, prefer)
      } finally {
        isRunning.current = false
      }
      const next = wanted.current
      wanted.current = undefined
      if (next !== undefined) {
        void run(next)
        return
      }
      if (found.kind === 'left') return
      setAway(found.kind === 'away')
      if (found.kind === 'away') return
      setConflict(found.kind === 'conflict' ? found.draft : undefined)
      setDraft(found.kind === 'gone' ? undefined : found.draft)
      if (found.kind !== 'gone' || !local.now().shared) return
      local.link(null)
      setGone(true)
    },
    [client, local, environment, scenarioId, canSave],
  )

  useEffect(() => {
    setDraft(undefined)
    setConflict(undefined)
    if (draftId === undefined) return
    setGone(false)
    void run()
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void run()
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [draftId, run])

  useEffect(() => {
    if (!shared || history.text === shared.text || conflict) return
    const timer = setTimeout(() => void run(), SEND_MS)
    return () => clearTimeout(timer)
  }, [shared, history.text, conflict, run])

  return {
    draft: draftId === undefined ? undefined : draft,
    conflict,
    isGone,
    isAway,
    decide: (prefer) => void run(prefer),
    look: () => void run(),
    forget: () => setGone(false),
  }
}
