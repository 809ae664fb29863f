import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_NOTE } from '../../../../src/base/limits.ts'
import { useDenial } from '../../session/permission.tsx'
import type { ActionResult } from '../../ui/action-dialog.tsx'
import { RoleButton } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { faultsOf, textOf } from '../../ui/errors.ts'
import { Form, SubmitButton, TextAreaField } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { useSend } from '../../ui/send.ts'
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
  const send = useSend()
  const denial = useDenial('design')
  const [text, setText] = useState('')
  const [failed, setFailed] = useState<ActionResult>()
  if (denial !== undefined) return null

  async function submit(): Promise<void> {
    setFailed(undefined)
    const input = { environment, draftId: draft.draftId, text: text.trim() }
    const { answer, ...refused } = await send({ mutation: commentMutation, input, isOnce: true })
    if (!answer) return setFailed(refused)
    setText('')
    onChange()
  }
  return (
    <Form onSubmit={submit} faults={faultsOf(failed?.error)} onChange={() => setFailed(undefined)}>
      <TextAreaField label="Comment" name="text" value={text} onChange={setText} rows={2} maxLength={MAX_NOTE} />
      {failed?.refusal && <Notice tone="error">{failed.refusal}</Notice>}
      {failed?.error && <Notice tone="error">{textOf(failed.error)}</Notice>}
      <div className="actions">
        <SubmitButton disabled={text.trim() === ''}>Add the comment</SubmitButton>
      </div>
    </Form>
  )
}

function Approve({ environment, draft, onClose }: { environment: string; draft: SharedDraft; onClose: () => void }) {
  const [{ draftId, revision, name }] = useState(draft)
  return (
    <ChangeDialog
      title={`Approve ${name}`}
      effect={`You say that revision ${revision} may be published. A later change needs another approval.`}
      confirm="Approve"
      mutation={approveMutation}
      input={{ environment, draftId, revision }}
      done={`Revision ${revision} is approved.`}
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
  return (
    <ChangeDialog
      title={`Delete ${name}`}
      effect="The shared draft ends for everybody, with its comments. What each browser has of it stays there."
      confirm="Delete"
      tone="danger"
      mutation={deleteDraftMutation}
      input={{ environment, draftId }}
      done="The shared draft is deleted."
      onClose={onClose}
    />
  )
}
