import { useCallback, useEffect, useState } from 'react'
import { type Client, type CombinedError, useClient, useQuery } from 'urql'
import { useOperator } from '../../session/permission.tsx'
import { scenarioHeadQuery, scenarioTextQuery } from '../operations.ts'
import { type Draft, findDraft, openDraft, type Version } from './draft.ts'
import { draftKey, readKept } from './kept-drafts.ts'

/** How often the page checks whether another designer has published. It also checks when a person returns to it. */
const LOOK_MS = 20_000

export interface OpenedDraft {
  /** Undefined while it is read, when reading failed, and for a scenario that is neither published nor begun here. */
  readonly draft: Draft | undefined
  /** The current version; 0 for a scenario without one. Undefined while it is not known. */
  readonly current: { readonly version: number; readonly publishedAt: string | null } | undefined
  readonly error: CombinedError | undefined
  readonly reload: () => void
}

/** The draft of a scenario: from this visit, else from this browser, else the current version. */
export function useDraft(environment: string, scenarioId: string): OpenedDraft {
  const client = useClient()
  const { projectId } = useOperator()
  const key = draftKey(projectId, environment, scenarioId)
  const [head, readHead] = useQuery({
    query: scenarioHeadQuery,
    variables: { environment, scenarioId },
    requestPolicy: 'cache-and-network',
  })
  const [draft, setDraft] = useState(() => findDraft(key))
  const [error, setError] = useState<CombinedError>()
  const published = head.data?.scenario
  const version = head.data === undefined ? undefined : (published?.version ?? 0)
  const reload = useCallback(() => readHead({ requestPolicy: 'network-only' }), [readHead])

  useEffect(() => {
    if (version === undefined) return
    let isGone = false
    const open = findDraft(key)
    if (open) {
      const { base, isChanged } = open.now()
      if (isChanged || base.version >= version) return
      // Nothing was changed here, so the page continues with the newer version.
      void readVersion(client, { environment, scenarioId, version }).then((result) => {
        if (!isGone && 'text' in result && !open.now().isChanged) open.rebase(result, result.text)
      })
    } else {
      const kept = readKept(key)
      // A shared draft of a scenario without a version opens on an empty text.
      if (version === 0 && !kept && !new URLSearchParams(location.search).has('draft')) return
      void readBase(client, { environment, scenarioId, current: version, kept: kept?.baseVersion }).then((result) => {
        if (isGone) return
        if ('error' in result) setError(result.error)
        else setDraft(openDraft(key, result, kept))
      })
    }
    return () => {
      isGone = true
    }
  }, [client, key, environment, scenarioId, version])

  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') reload()
    }
    const timer = setInterval(look, LOOK_MS)
    addEventListener('focus', look)
    return () => {
      clearInterval(timer)
      removeEventListener('focus', look)
    }
  }, [reload])

  // A service that is away for a moment leaves the draft on the page.
  const known = version ?? draft?.now().base.version
  return {
    draft,
    current: known === undefined ? undefined : { version: known, publishedAt: published?.publishedAt ?? null },
    error: error ?? (draft ? undefined : head.error),
    reload,
  }
}

interface Wanted {
  readonly environment: string
  readonly scenarioId: string
  readonly version: number
}

type Answer = Version | { readonly error: CombinedError | undefined }

/** The text of a version. Version 0 is empty. */
export async function readVersion(client: Client, wanted: Wanted): Promise<Answer> {
  if (wanted.version === 0) return { version: 0, text: '' }
  const { data, error } = await client.query(scenarioTextQuery, { ...wanted }).toPromise()
  return data?.scenario ? { version: data.scenario.version, text: data.scenario.definitionText } : { error }
}

/** The version that a kept draft began with; the current version if that one is gone, as after a restore. */
async function readBase(
  client: Client,
  { kept, current, ...ref }: Omit<Wanted, 'version'> & { readonly kept: number | undefined; readonly current: number },
): Promise<Answer> {
  const base = await readVersion(client, { ...ref, version: kept ?? current })
  return 'error' in base && kept !== undefined && kept > current
    ? readVersion(client, { ...ref, version: current })
    : base
}
