import { useRef, useState } from 'react'
import { useClient } from 'urql'
import { isProduction, MAX_NAME, MAX_SLUG } from '../../../src/base/limits.ts'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { codeOf, isOutcomeOpen } from '../ui/errors.ts'
import { TextField } from '../ui/form.tsx'
import { createEnvironmentMutation, renameProjectMutation } from './operations.ts'

export function CreateEnvironment({ onClose }: { onClose: () => void }) {
  const client = useClient()
  const [name, setName] = useState('')
  /** The name in a request whose answer was lost. */
  const lost = useRef<string>(undefined)

  async function run(reason: string): Promise<ActionResult> {
    const done = `${name} is created. Next, publish a scenario, set a provider and make an SDK key.`
    // The cached answer of a project without environments contains no `Environment`, so `Project` makes it expire.
    const context = { additionalTypenames: ['Project'] }
    const { data, error } = await client.mutation(createEnvironmentMutation, { input: { name, reason } }, context)
    if (data?.createEnvironment) return { done, auditEntry: data.createEnvironment.auditEntry }
    if (isOutcomeOpen(error)) lost.current = name
    if (codeOf(error) !== 'ENVIRONMENT_ALREADY_EXISTS') return { error }
    return lost.current === name
      ? { done: `${done} The audit log has the earlier request, whose answer was lost.` }
      : { refusal: `There is already an environment ${name}.` }
  }
  return (
    <ActionDialog
      title="New environment"
      effect={`Makes ${name || 'an environment'} without keys, providers, scenarios and players. ${isProduction(name) ? 'Its name marks it in red as an environment of real players. ' : ''}Environments cannot be removed or renamed.`}
      confirm="Create"
      disabled={name === ''}
      run={run}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        hint={`Letters a to z, digits, _ and -, at most ${MAX_SLUG}. Names that begin with prod or live are marked in red.`}
        value={name}
        onChange={(value) => setName(value.trim())}
        required
      />
    </ActionDialog>
  )
}

export function RenameProject({ name: before, onClose }: { name: string; onClose: () => void }) {
  const client = useClient()
  const [name, setName] = useState(before)
  async function run(reason: string): Promise<ActionResult> {
    const { data, error } = await client.mutation(renameProjectMutation, { input: { name: name.trim(), reason } })
    return data?.renameProject
      ? { done: `The project is called ${name.trim()}.`, auditEntry: data.renameProject.auditEntry }
      : { error }
  }
  return (
    <ActionDialog
      title="Rename the project"
      effect={
        name.trim() === before ? 'Enter another name.' : `${before} becomes ${name.trim()}. Keys, links and ids stay.`
      }
      confirm="Rename"
      disabled={name.trim() === '' || name.trim() === before}
      run={run}
      onClose={onClose}
    >
      <TextField label="Name" name="name" value={name} onChange={setName} maxLength={MAX_NAME} required />
    </ActionDialog>
  )
}
