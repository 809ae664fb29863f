import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_NOTE } from '../../../src/base/limits.ts'
import { useDenial } from '../session/permission.tsx'
import { faultsOf, isOutcomeOpen, textOf } from '../ui/errors.ts'
import { Form, SubmitButton, TextAreaField } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { number } from '../ui/words.ts'
import { ActionKey } from './actions/action-key.ts'
import { addPlayerNoteMutation } from './actions/operations.ts'
import css from './player.module.css'

type Answer = Awaited<ReturnType<typeof send>>

/** Adds a note for other operators. The note says why by itself, so that nobody is asked for a reason. */
export function NoteForm({ playerId }: { playerId: string }) {
  const client = useClient()
  const denial = useDenial('act')
  const [text, setText] = useState('')
  const [key, setKey] = useState(() => new ActionKey())
  const [answer, setAnswer] = useState<Answer>()
  if (denial !== undefined) return null

  async function submit(): Promise<void> {
    const sent = text.trim()
    const result = await send(client, { playerId, text: sent, idempotencyKey: key.keyOf(sent) })
    setAnswer(result)
    if (result.error === undefined && result.refusal === null) {
      setText('')
      setKey(new ActionKey())
    } else if (!isOutcomeOpen(result.error)) key.onAnswer(sent)
  }

  return (
    <div className={css.note}>
      <Form onSubmit={submit} faults={faultsOf(answer?.error)} onChange={() => setAnswer(undefined)}>
        <TextAreaField
          label="Note"
          name="text"
          hint={`Up to ${number(MAX_NOTE)} characters, for operators. The player never sees it.`}
          value={text}
          onChange={setText}
          rows={2}
          maxLength={MAX_NOTE}
        />
        {answer?.refusal && <Notice tone="error">{answer.refusal}</Notice>}
        {answer?.error && <Notice tone="error">{textOf(answer.error)}</Notice>}
        <div className="actions">
          <SubmitButton disabled={text.trim() === ''}>Add the note</SubmitButton>
        </div>
      </Form>
    </div>
  )
}

async function send(
  client: ReturnType<typeof useClient>,
  input: { readonly playerId: string; readonly text: string; readonly idempotencyKey: string },
) {
  const { data, error } = await client.mutation(addPlayerNoteMutation, { input: { ...input, reason: 'note' } })
  if (!data?.result && !error) throw new Error('the answer has no result')
  return { error, refusal: data?.result?.message ?? null }
}
