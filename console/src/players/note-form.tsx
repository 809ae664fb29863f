import { useState } from 'react'
import { MAX_NOTE } from '../../../src/base/limits.ts'
import { useDenial } from '../session/permission.tsx'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { faultsOf, textOf } from '../ui/errors.ts'
import { Form, SubmitButton, TextAreaField } from '../ui/form.tsx'
import { useSend } from '../ui/send.ts'
import { Notice } from '../ui/states.tsx'
import { number } from '../ui/words.ts'
import { addPlayerNoteMutation } from './actions/operations.ts'
import css from './player.module.css'

/** Adds a note for other operators. The note says why by itself, so that nobody is asked for a reason. */
export function NoteForm({ playerId }: { playerId: string }) {
  const send = useSend()
  const denial = useDenial('act')
  const [text, setText] = useState('')
  const [failed, setFailed] = useState<ActionResult>()
  if (denial !== undefined) return null

  async function submit(): Promise<void> {
    setFailed(undefined)
    const call = { mutation: addPlayerNoteMutation, input: { playerId, text: text.trim() }, isOnce: true }
    const { answer, error, refusal = answer?.message } = await send(call, 'note')
    if (error || refusal) setFailed({ error, refusal })
    else setText('')
  }

  return (
    <div className={css.note}>
      <Form onSubmit={submit} faults={faultsOf(failed?.error)} onChange={() => setFailed(undefined)}>
        <TextAreaField
          label="Note"
          name="text"
          hint={`Up to ${number(MAX_NOTE)} characters, for operators. The player never sees it.`}
          value={text}
          onChange={setText}
          rows={2}
          maxLength={MAX_NOTE}
        />
        {failed?.refusal && <Notice tone="error">{failed.refusal}</Notice>}
        {failed?.error && <Notice tone="error">{textOf(failed.error)}</Notice>}
        <div className="actions">
          <SubmitButton disabled={text.trim() === ''}>Add the note</SubmitButton>
        </div>
      </Form>
    </div>
  )
}
