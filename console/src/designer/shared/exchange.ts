import type { Client } from 'urql'
import type { ResultOf } from '../../graphql.ts'
import { codeOf } from '../../ui/errors.ts'
import type { Draft } from '../draft/draft.ts'
import { readVersion } from '../draft/use-draft.ts'
import { mergeDefinitions } from '../model/merge.ts'
import { type draftFragment, draftQuery, enterDraftMutation, saveDraftMutation } from './operations.ts'

export type SharedDraft = ResultOf<typeof draftFragment>

/** What an exchange found. */
export type Exchanged =
  /** The shared draft, with which this browser's text agrees now. */
  | { readonly kind: 'agreed'; readonly draft: SharedDraft }
  /** Both have changed the same values, or one text is not JSON: a person decides. */
  | { readonly kind: 'conflict'; readonly draft: SharedDraft }
  /** It was published or deleted. */
  | { readonly kind: 'gone' }
  /** The service could not be asked. */
  | { readonly kind: 'away' }

interface Place {
  readonly environment: string
  readonly scenarioId: string
  /** False for a person who may only read drafts. */
  readonly canSave: boolean
}

/**
 * Exchanges changes with the shared draft: takes what others have written, then sends what was written here. Changes of
 * different values are merged; for others a person decides, with `prefer`.
 */
export async function exchange(
  client: Client,
  local: Draft,
  { environment, scenarioId, canSave }: Place,
  prefer?: 'mine' | 'theirs',
): Promise<Exchanged> {
  const { shared } = local.now()
  if (!shared) return { kind: 'gone' }
  const { draftId } = shared
  const remote = await read()
  if (remote === undefined) return { kind: 'away' }
  if (remote === null) return { kind: 'gone' }
  if (remote.revision !== shared.revision && !(await take(remote))) return { kind: 'conflict', draft: remote }

  const { text } = local
  const synced = local.now().shared
  const { base } = local.now()
  if (!canSave || !synced || (text === synced.text && base.version === remote.baseVersion))
    return { kind: 'agreed', draft: remote }
  const input = { environment, draftId, expectedRevision: synced.revision, definition: text, baseVersion: base.version }
  const { data, error } = await client.mutation(saveDraftMutation, { input })
  const saved = data?.saveScenarioDraft?.draft
  if (saved) {
    link(saved)
    return { kind: 'agreed', draft: saved }
  }
  // Somebody was faster: the next exchange takes what they have written.
  return codeOf(error) === 'VERSION_CONFLICT' ? { kind: 'agreed', draft: remote } : { kind: 'away' }

  async function read(): Promise<SharedDraft | null | undefined> {
    if (canSave) {
      const { data, error } = await client.mutation(enterDraftMutation, { input: { environment, draftId } })
      if (codeOf(error) === 'NOT_FOUND') return null
      return data?.enterScenarioDraft ? data.enterScenarioDraft.draft : undefined
    }
    const { data } = await client.query(draftQuery, { environment, draftId }, { requestPolicy: 'network-only' })
    return data?.scenarioDraft
  }

  /** Takes another revision. False when a person must decide. */
  async function take(remote: SharedDraft): Promise<boolean> {
    const before = local.now().shared
    if (!before) return false
    const mine = local.text
    let text: string
    if (mine === before.text || prefer === 'theirs') text = remote.definitionText
    else if (mine === remote.definitionText) text = mine
    else {
      const merge = mergeDefinitions(before.text, mine, remote.definitionText, 'mine')
      if (prefer !== 'mine' && (!merge || merge.conflicts.length > 0 || merge.lost.length > 0)) return false
      text = merge?.text ?? mine
    }
    const { base } = local.now()
    if (remote.baseVersion !== base.version) {
      const other = await readVersion(client, { environment, scenarioId, version: remote.baseVersion })
      if ('error' in other) return false
      local.rebase(other, text)
    } else local.setText(text)
    link(remote)
    return true
  }

  function link({ draftId, name, revision, definitionText }: SharedDraft): void {
    local.link({ draftId, name, revision, text: definitionText })
  }
}
