import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_NOTE } from '../../../../src/base/limits.ts'
import { ActionKey } from '../../players/actions/action-key.ts'
import { useDenial } from '../../session/permission.tsx'
import { ActionDialog } from '../../ui/action-dialog.tsx'
import { RoleButton } from '../../ui/button.tsx'
import { faultsOf, isOutcomeOpen, textOf } from '../../ui/errors.ts'
import { Form, SubmitButton, TextAreaField } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { Ago } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { Approval } from './approval.tsx'
import type { SharedDraft } from './exchange.ts'
import { approveMutation, commentMutation, deleteDraftMutation, resolveMutation } from './operations.ts'
import css from './shared.module.css'

interface DiscussionProps {
  readonly environment: string
  readonly draft: SharedDraft
  /** Looks at the draft again. */
  readonly onChange: () => void
}

/** What designers say about a shared draft, and whether a second person has approved it. */
export function Discussion(props: DiscussionProps) {
  const { environment, draft, onChange } = props
  const [open, setOpen] = useState<'approve' | 'delete'>()
  const { approval, comments, name } = draft
  const close = () => {
    setOpen(undefined)
    onChange()
  }
  return (
    <Panel
      title="Comments and approval"
      actions={
        <>
          <RoleButton needs="design" tone="quiet" onClick={() => setOpen('delete')}>
            Delete the shared draft
          </RoleButton>
          <RoleButton needs="design" onClick={() => setOpen('approve')} disabled={approval?.isCurrent}>
            Approve
          </RoleButton>
        </>
      }
    >
      <Approval draft={draft} />
      {comments.length === 0 ? (
        <Empty title="Nobody has said anything yet" />
      ) : (
        <ul className={css.comments} aria-label="Comments">
          {comments.map((comment) => (
            <li key={comment.commentId}>
              <div>
                <strong>{comment.createdBy}</strong> <Ago at={comment.createdAt} />{' '}
                <span className="muted">
                  on revision {comment.revision}
                  {comment.path !== null && `, ${comment.path}`}
                </span>{' '}
                {comment.resolvedBy === null ? (
                  <Resolve {...props} commentId={comment.commentId} />
                ) : (
                  <span className="badge good">done by {comment.resolvedBy}</span>
                )}
              </div>
              <p>{comment.text}</p>
            </li>
          ))}
        </ul>
      )}
      <CommentForm {...props} />
      {open === 'approve' && <Approve environment={environment} draft={draft} onClose={close} />}
      {open === 'delete' && <Delete environment={environment} draftId={draft.draftId} name={name} onClose={close} />}
    </Panel>
  )
}

function Resolve({ environment, draft, commentId, onChange }: DiscussionProps & { readonly commentId: string }) {
  const client = useClient()
  const [isBusy, setBusy] = useState(false)
  async function resolve(): Promise<void> {
    setBusy(true)
    const input = { environment, draftId: draft.draftId, commentId }
    const { error } = await client.mutation(resolveMutation, { input })
    if (error) toast(textOf(error), 'error')
    onChange()
    setBusy(false)
  }
  return (
    <RoleButton needs="design" tone="quiet" busy={isBusy} onClick={() => void resolve()}>
      Done
    </RoleButton>
  )
}

function CommentForm({ environment, draft, onChange }: DiscussionProps) {
  const client = useClient()
  const denial = useDenial('design')
  const [text, setText] = useState('')
  const [key, setKey] = useState(() => new ActionKey())
  const [error, setError] = useState<Parameters<typeof textOf>[0]>()
  if (denial !== undefined) return null

  async function submit(): Promise<void> {
    const sent = text.trim()
    const input = { environment, draftId: draft.draftId, text: sent, idempotencyKey: key.keyOf(sent) }
    const { error } = await client.mutation(commentMutation, { input })
    setError(error)
    if (error) {
      if (!isOutcomeOpen(error)) key.onAnswer(sent)
      return
    }
    setText('')
    setKey(new ActionKey())
    onChange()
  }
  return (
    <Form onSubmit={submit} faults={faultsOf(error)} onChange={() => setError(undefined)}>
      <TextAreaField label="Comment" name="text" value={text} onChange={setText} rows={2} maxLength={MAX_NOTE} />
      {error && <Notice tone="error">{textOf(error)}</Notice>}
      <div className="actions">
        <SubmitButton disabled={text.trim() === ''}>Add the comment</SubmitButton>
      </div>
    </Form>
  )
}

function Approve({ environment, draft, onClose }: { environment: string; draft: SharedDraft; onClose: () => void }) {
  const client = useClient()
  const [{ draftId, revision, name }] = useState(draft)
  return (
    <ActionDialog
      title={`Approve ${name}`}
      effect={`You say that revision ${revision} may be published. A later change needs another approval.`}
      confirm="Approve"
      run={async (reason) => {
        const input = { environment, draftId, revision, reason }
        const { data, error } = await client.mutation(approveMutation, { input })
        if (!data?.approveScenarioDraft) return { error }
        return { done: `Revision ${revision} is approved.`, auditEntry: data.approveScenarioDraft.auditEntry }
      }}
      onClose={onClose}
    />
  )
}

function Delete(props: {
  readonly environment: string
  readonly draftId: string
  readonly name: string
  readonly onClose: () => void
}) {
  const { environment, draftId, name, onClose } = props
  const client = useClient()
  return (
    <ActionDialog
      title={`Delete ${name}`}
      effect="The shared draft ends for everybody, with its comments. What each browser has of it stays there."
      confirm="Delete"
      tone="danger"
      run={async (reason) => {
        const { data, error } = await client.mutation(deleteDraftMutation, { input: { environment, draftId, reason } })
        if (!data?.deleteScenarioDraft) return { error }
        return { done: 'The shared draft is deleted.', auditEntry: data.deleteScenarioDraft.auditEntry }
      }}
      onClose={onClose}
    />
  )
}
