import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_NAME } from '../../../../src/base/limits.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { faultsOf, textOf } from '../../ui/errors.ts'
import { Form, SubmitButton, TextField } from '../../ui/form.tsx'
import { Notice } from '../../ui/states.tsx'
import type { Draft } from '../draft/draft.ts'
import { createDraftMutation } from './operations.ts'

type Answer = Awaited<ReturnType<ReturnType<typeof useClient>['mutation']>>

/** Shares the draft of this browser under a name. A press that is repeated shares it once. */
export function ShareDialog(props: {
  readonly local: Draft
  readonly environment: string
  readonly scenarioId: string
  readonly onClose: () => void
}) {
  const { local, environment, scenarioId, onClose } = props
  const client = useClient()
  const [name, setName] = useState('')
  const [error, setError] = useState<Answer['error']>()

  async function submit(): Promise<void> {
    const { base } = local.now()
    const input = { environment, scenarioId, name: name.trim(), definition: local.text, baseVersion: base.version }
    const { data, error } = await client.mutation(createDraftMutation, { input })
    setError(error)
    const made = data?.createScenarioDraft?.draft
    if (!made) return
    const { draftId, revision, definitionText } = made
    local.link({ draftId, name: made.name, revision, text: definitionText })
    onClose()
  }
  return (
    <Dialog title={`Share the draft of ${scenarioId}`} onClose={onClose}>
      <Form onSubmit={submit} faults={faultsOf(error)} onChange={() => setError(undefined)}>
        <TextField
          label="Name"
          name="name"
          hint="What it is about, such as “Season 2: fewer gems”."
          value={name}
          onChange={setName}
          maxLength={MAX_NAME}
          required
          autoFocus
        />
        <p className="effect">
          The other designers of the project see it, edit it with you, and comment on it. What you change is sent as you
          write. It applies to nobody before it is published.
        </p>
        {error && faultsOf(error).length === 0 && <Notice tone="error">{textOf(error)}</Notice>}
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton disabled={name.trim() === ''}>Share</SubmitButton>
        </div>
      </Form>
    </Dialog>
  )
}
