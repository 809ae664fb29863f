import type { Client } from 'urql'
import type { ResultOf } from '../../graphql.ts'
import { codeOf } from '../../ui/errors.ts'
import type { Draft, Version } from '../draft/draft.ts'
import { readVersion } from '../draft/use-draft.ts'
import { mergeDefinitions } from '../model/merge.ts'
import { type draftFragment, draftQuery, openDraftMutation, saveDraftMutation } from './operations.ts'

export type SharedDraft = ResultOf<typeof draftFragment>

/** What an exchange found. */
export type Exchanged =
  /** The shared draft, with which this browser's text agrees now, but for what was typed meanwhile. */
  | { readonly kind: 'agreed'; readonly draft: SharedDraft }
  /** Both have changed the same values, or one text is not JSON: a person decides. */
  | { readonly kind: 'conflict'; readonly draft: SharedDraft }
  /** It was published or deleted. */
  | { readonly kind: 'gone' }
  /** The service could not be asked. */
  | { readonly kind: 'away' }
  /** The person has left it, or opened another one, while it was asked for. */
  | { readonly kind: 'left' }

interface Place {
  readonly environment: string
  readonly scenarioId: string
  /** False for a person who may only read drafts. */
  readonly canSave: boolean
}

/** The texts that were sent last. One whose answer was lost comes back as a revision of the own. */
const sent = new WeakMap<Draft, string>()

/**
 * Exchanges changes with the shared draft: takes what others have written, then sends what was written here. Changes of
 * different values are merged; for others a person decides, with `prefer`. After each wait, it continues only while the
 * page still has the same shared draft.
 */
export async function exchange(
  client: Client,
  local: Draft,
  { environment, scenarioId, canSave }: Place,
  prefer?: 'mine' | 'theirs',
): Promise<Exchanged> {
  const linked = local.now().shared
  if (!linked) return { kind: 'left' }
  const { draftId } = linked
  const isLeft = (): boolean => local.now().shared?.draftId !== draftId

  const remote = await read()
  if (isLeft()) return { kind: 'left' }
  if (remote === undefined) return { kind: 'away' }
  if (remote === null) return { kind: 'gone' }

  const before = local.now()
  // Another tab of this browser may have a later revision already.
  if (before.shared && remote.revision > before.shared.revision) {
    let base: Version | undefined
    if (remote.baseVersion !== before.base.version) {
      const found = await readVersion(client, { environment, scenarioId, version: remote.baseVersion })
      if (isLeft()) return { kind: 'left' }
      if ('error' in found) return { kind: 'away' }
      base = found
    }
    if (!take(remote, base)) return { kind: 'conflict', draft: remote }
  }

  const { text } = local
  const { shared, base } = local.now()
  if (!canSave || !shared || (text === shared.text && base.version === remote.baseVersion))
    return { kind: 'agreed', draft: remote }
  const input = { environment, draftId, expectedRevision: shared.revision, definition: text, baseVersion: base.version }
  sent.set(local, text)
  const { data, error } = await client.mutation(saveDraftMutation, { input })
  if (isLeft()) return { kind: 'left' }
  const saved = data?.saveScenarioDraft?.draft
  if (saved) {
    link(saved)
    return { kind: 'agreed', draft: saved }
  }
  // Somebody was faster: the next exchange takes what they have written.
  return codeOf(error) === 'VERSION_CONFLICT' ? { kind: 'agreed', draft: remote } : { kind: 'away' }

  async function read(): Promise<SharedDraft | null | undefined> {
    if (canSave) {
      const { data, error } = await client.mutation(openDraftMutation, { input: { environment, draftId } })
      if (codeOf(error) === 'NOT_FOUND') return null
      return data?.openScenarioDraft ? data.openScenarioDraft.draft : undefined
    }
    const { data } = await client.query(draftQuery, { environment, draftId }, { requestPolicy: 'network-only' })
    return data?.scenarioDraft
  }

  /** Takes another revision, without a wait: nothing that is typed is lost. False when a person must decide. */
  function take(remote: SharedDraft, base: Version | undefined): boolean {
    const { shared } = local.now()
    if (!shared) return false
    const mine = local.text
    const theirs = remote.definitionText
    let text = theirs
    if (theirs === sent.get(local)) text = mine
    else if (mine !== shared.text && mine !== theirs && prefer !== 'theirs') {
      const merge = mergeDefinitions(shared.text, mine, theirs, 'mine')
      if (prefer !== 'mine' && (!merge || merge.conflicts.length > 0 || merge.lost.length > 0)) return false
      text = merge?.text ?? mine
    }
    if (base) local.rebase(base, text)
    else local.setText(text)
    link(remote)
    return true
  }

  function link({ draftId, name, revision, definitionText }: SharedDraft): void {
    local.link({ draftId, name, revision, text: definitionText })
  }
}
