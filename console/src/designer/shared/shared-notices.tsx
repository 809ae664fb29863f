import { useEffect, useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { useOperator } from '../../session/permission.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Notice } from '../../ui/states.tsx'
import { Ago } from '../../ui/time.tsx'
import { type Draft, useDraftState } from '../draft/draft.ts'
import { readVersion } from '../draft/use-draft.ts'
import { draftQuery, draftsQuery } from './operations.ts'
import type { Sharing } from './use-shared-draft.ts'

interface Place {
  readonly local: Draft
  readonly environment: string
  readonly scenarioId: string
}

/** The state of a shared draft: who edits it, and what a person must decide. Without one, the drafts to open. */
export function SharedNotices({ sharing, ...place }: Place & { readonly sharing: Sharing }) {
  const { local } = place
  const { shared } = useDraftState(local)
  const { actor } = useOperator()
  const { draft, conflict, isGone, isAway } = sharing
  const others = draft?.editors.filter((name) => name !== actor) ?? []
  return (
    <>
      {shared && (
        <Notice tone={isAway ? 'warning' : 'info'}>
          Shared as <strong>{shared.name}</strong>, revision {shared.revision}
          {draft && (
            <>
              , last changed by {draft.changedBy} <Ago at={draft.changedAt} />
            </>
          )}
          .{' '}
          {isAway
            ? 'The service does not answer: what you write is kept in this browser and sent later.'
            : others.length > 0 && `${others.join(', ')} ${others.length === 1 ? 'has' : 'have'} it open, too.`}{' '}
          <Leave {...place} />
        </Notice>
      )}
      {conflict && (
        <Notice tone="warning">
          {conflict.changedBy} has changed the same values as you, in revision {conflict.revision}.{' '}
          <Button onClick={() => sharing.decide('mine')}>Keep mine</Button>{' '}
          <Button onClick={() => sharing.decide('theirs')}>Take theirs</Button>
        </Notice>
      )}
      {isGone && (
        <Notice tone="info">
          The shared draft is no more: it was published or deleted. What you have is in this browser.{' '}
          <Button tone="quiet" onClick={sharing.forget}>
            Close
          </Button>
        </Notice>
      )}
      {!shared && <SharedDrafts {...place} />}
    </>
  )
}

/** Goes back to the current version. The shared draft stays. */
function Leave({ local }: Place) {
  const { base } = useDraftState(local)
  return (
    <Button
      tone="quiet"
      onClick={() => {
        local.link(null)
        local.setText(base.text)
      }}
    >
      Leave it
    </Button>
  )
}

/** The shared drafts of the scenario. `?draft=` opens one at once. */
function SharedDrafts({ local, environment, scenarioId }: Place) {
  const client = useClient()
  const [search, setSearch] = useSearchParams()
  const [asked, setAsked] = useState<string>()
  const { isChanged } = useDraftState(local)
  const [{ data }] = useQuery({
    query: draftsQuery,
    variables: { environment, scenarioId },
    requestPolicy: 'cache-and-network',
  })
  const linked = search.get('draft')

  async function open(draftId: string, mayReplace = false): Promise<void> {
    setAsked(undefined)
    const { data } = await client.query(draftQuery, { environment, draftId }, { requestPolicy: 'network-only' })
    const found = data?.scenarioDraft
    if (!found) return
    const base = await readVersion(client, { environment, scenarioId, version: found.baseVersion })
    if ('error' in base) return
    // Something may have been typed while it was read.
    const { isChanged, shared } = local.now()
    if (!mayReplace && (isChanged || shared)) {
      setAsked(draftId)
      return
    }
    local.rebase(base, found.definitionText)
    local.link({ draftId, name: found.name, revision: found.revision, text: found.definitionText })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for the address
  useEffect(() => {
    if (linked === null) return
    setSearch((before) => {
      before.delete('draft')
      return before
    })
    if (isChanged) setAsked(linked)
    else void open(linked)
  }, [linked])

  const drafts = data?.scenarioDrafts ?? []
  return (
    <>
      {drafts.length > 0 && (
        <Notice tone="info">
          Shared drafts:{' '}
          {drafts.map(({ draftId, name, changedBy, changedAt, approval }) => (
            <span key={draftId}>
              <Button
                label={`Open the shared draft ${name}`}
                onClick={() => (isChanged ? setAsked(draftId) : void open(draftId))}
              >
                {name}
              </Button>{' '}
              <span className="muted">
                {changedBy}, <Ago at={changedAt} />
                {approval?.isCurrent && `, approved by ${approval.by}`}{' '}
              </span>
            </span>
          ))}
        </Notice>
      )}
      {asked !== undefined && (
        <Dialog title="Replace your draft?" onClose={() => setAsked(undefined)}>
          <p>
            You have a draft of your own in this browser. The shared one would take its place. Undo brings yours back as
            long as this page is open; share it first to keep both.
          </p>
          <div className="actions">
            <Button onClick={() => setAsked(undefined)}>Keep mine</Button>
            <Button tone="danger" onClick={() => void open(asked, true)}>
              Open the shared draft
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
