import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { createClient } from '../session/client.ts'
import { ROLES, type Role } from '../session/session.ts'
import { isProduction } from '../shell/environment.tsx'
import { projectQuery } from '../shell/operations.ts'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import { Id } from '../ui/text.tsx'
import {
  createPlatformKeyMutation,
  createSdkKeyMutation,
  revokePlatformKeyMutation,
  revokeSdkKeyMutation,
} from './operations.ts'

const LABEL_HINT = 'What the key is for, such as “iOS client”. It cannot be changed.'

/** The key, which no other answer has again. */
const NewKey = ({ value }: { value: string }) => (
  <>
    <p>Copy the key now. It is not shown again.</p>
    <Id of={value} />
  </>
)

export function NewSdkKey({ onClose }: { onClose: () => void }) {
  const client = useClient()
  const [{ data }] = useQuery({ query: projectQuery })
  const names = data?.project.environments.map(({ name }) => name) ?? []
  const [chosen, setChosen] = useState('')
  const [label, setLabel] = useState('')
  const environment = chosen || (names[0] ?? '')

  async function run(reason: string): Promise<ActionResult> {
    const input = { environment, label: label.trim() || undefined, reason }
    const { data: made, error } = await client.mutation(createSdkKeyMutation, { input })
    return made
      ? { done: <NewKey value={made.createSdkKey.key} />, auditEntry: made.createSdkKey.auditEntry }
      : { error }
  }
  return (
    <ActionDialog
      title="New SDK key"
      effect={`Game clients with this key log in to ${environment}${isProduction(environment) ? ', which has real players' : ''}.`}
      confirm="Make the key"
      disabled={environment === ''}
      run={run}
      onClose={onClose}
    >
      <SelectField
        label="Environment"
        name="environment"
        value={environment}
        onChange={setChosen}
        options={names.map((name) => [name, name])}
      />
      <TextField label="Purpose" name="label" hint={LABEL_HINT} value={label} onChange={setLabel} maxLength={64} />
    </ActionDialog>
  )
}

/** A platform key outlives the session, so only the holder of a platform key can make one. */
export function NewPlatformKey({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const [own, setOwn] = useState('')
  const [role, setRole] = useState<Role>('VIEWER')
  const [label, setLabel] = useState('')

  async function run(reason: string): Promise<ActionResult> {
    const input = { role, label: label.trim() || undefined, reason }
    const { data, error } = await createClient(own.trim(), { endsSession: false }).mutation(createPlatformKeyMutation, {
      input,
    })
    if (!data) return { error }
    // The lists of this page do not know of a call with another key.
    onMade()
    return { done: <NewKey value={data.createPlatformKey.key} />, auditEntry: data.createPlatformKey.auditEntry }
  }
  return (
    <ActionDialog
      title="New platform key"
      effect={`Its holder has the rights of ${role.toLowerCase()} in all environments of the project, until the key is revoked.`}
      confirm="Make the key"
      disabled={own.trim() === ''}
      run={run}
      onClose={onClose}
    >
      <TextField
        label="Your platform key"
        name="own"
        type="password"
        hint="A session cannot make keys, since they outlive it. This key is used for the one call, and not kept."
        value={own}
        onChange={setOwn}
        autoComplete="off"
        required
      />
      <SelectField
        label="Role"
        name="role"
        value={role}
        onChange={(value) => setRole(value as Role)}
        options={ROLES.map((one) => [one, one.toLowerCase()])}
      />
      <TextField label="Purpose" name="label" hint={LABEL_HINT} value={label} onChange={setLabel} maxLength={64} />
    </ActionDialog>
  )
}

export function RevokeKey(props: {
  readonly of: 'sdk' | 'platform'
  readonly keyId: string
  readonly prefix: string
  readonly onClose: () => void
}) {
  const { of, keyId, prefix, onClose } = props
  const client = useClient()

  async function run(reason: string): Promise<ActionResult> {
    const input = { id: keyId, reason }
    const done = `${prefix}… is revoked.`
    if (of === 'sdk') {
      const { data, error } = await client.mutation(revokeSdkKeyMutation, { input })
      return data ? { done, auditEntry: data.revokeSdkKey.auditEntry } : { error }
    }
    const { data, error } = await client.mutation(revokePlatformKeyMutation, { input })
    return data ? { done, auditEntry: data.revokePlatformKey.auditEntry } : { error }
  }
  return (
    <ActionDialog
      title={`Revoke ${prefix}…`}
      effect={
        of === 'sdk'
          ? 'The next call with this key is refused: clients that have it can no longer log in. Players who are logged in go on. This cannot be undone.'
          : 'The next call with this key is refused. Operator tokens that it made end, too, and open connections close. This cannot be undone.'
      }
      confirm="Revoke"
      tone="danger"
      run={run}
      onClose={onClose}
    />
  )
}
