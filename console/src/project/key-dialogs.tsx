import { useState } from 'react'
import { type CombinedError, useClient, useQuery } from 'urql'
import { isProduction, MAX_LABEL } from '../../../src/base/limits.ts'
import { useOperator } from '../session/permission.tsx'
import { ROLES, type Role } from '../session/roles.ts'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { isOutcomeOpen } from '../ui/errors.ts'
import { SelectField, TextField } from '../ui/form.tsx'
import { Id } from '../ui/text.tsx'
import { type KeyRow, platformRevocation, sdkRevocation, serverRevocation } from './keys.ts'
import { useLastWayIn } from './last-way-in.tsx'
import {
  createPlatformKeyMutation,
  createSdkKeyMutation,
  createServerKeyMutation,
  keyCountsQuery,
  plannedWithKeyQuery,
  revokePlatformKeyMutation,
  revokeSdkKeyMutation,
  revokeServerKeyMutation,
} from './operations.ts'
import { clientOf, OwnKey, refusalOf } from './own-key.tsx'

const LOST =
  'The answer was lost, and a key may have been made that nobody has seen. Close this dialog and look at the list: revoke a key that was made just now, then make another.'

/** The key. No later answer contains it. */
const NewKey = ({ value }: { value: string }) => (
  <>
    <p>Copy the key now. It is not shown again.</p>
    <Id of={value} />
  </>
)

interface FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const EnvironmentField = (props: FieldProps & { readonly options: readonly string[] }) => (
  <SelectField label="Environment" name="environment" {...props} />
)

const Purpose = (props: FieldProps) => (
  <TextField
    label="Purpose"
    name="label"
    hint="What the key is for, such as “iOS client”. It cannot be changed."
    {...props}
    maxLength={MAX_LABEL}
  />
)

interface Made extends Pick<ActionResult, 'auditEntry'> {
  readonly key: string
}

const shown = ({ key, auditEntry }: Made): ActionResult => ({
  done: <NewKey value={key} />,
  isShownOnce: true,
  auditEntry,
})

export function NewSdkKey(props: {
  readonly environments: readonly string[]
  readonly environment: string
  readonly onClose: () => void
}) {
  const { environments, onClose } = props
  const client = useClient()
  const [environment, setEnvironment] = useState(props.environment)
  const [label, setLabel] = useState('')

  async function run(reason: string): Promise<ActionResult> {
    const input = { environment, label: label.trim() || undefined, reason }
    // The list is read again after a lost answer, too.
    const context = { additionalTypenames: ['SdkKey'] }
    const { data, error } = await client.mutation(createSdkKeyMutation, { input }, context)
    return data?.createSdkKey ? shown(data.createSdkKey) : isOutcomeOpen(error) ? { refusal: LOST } : { error }
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
      <EnvironmentField value={environment} onChange={setEnvironment} options={environments} />
      <Purpose value={label} onChange={setLabel} />
    </ActionDialog>
  )
}

/** Shows a secret key that was made with the operator's own key, which is then forgotten. */
const useSecret = (onMade: () => void) => {
  const [own, setOwn] = useState('')
  function secretOf(made: Made | null | undefined, error: CombinedError | undefined): ActionResult {
    if (made || isOutcomeOpen(error)) onMade()
    if (!made) return isOutcomeOpen(error) ? { refusal: LOST } : refusalOf(error)
    setOwn('')
    return shown(made)
  }
  return { own, setOwn, secretOf }
}

export function NewServerKey(props: {
  readonly environments: readonly string[]
  readonly environment: string
  /** Called when a key was made, or may have been: lists of this session do not know of a call with another key. */
  readonly onMade: () => void
  readonly onClose: () => void
}) {
  const { environments, onMade, onClose } = props
  const { projectId } = useOperator()
  const { own, setOwn, secretOf } = useSecret(onMade)
  const [environment, setEnvironment] = useState(props.environment)
  const [label, setLabel] = useState('')

  async function run(reason: string): Promise<ActionResult> {
    const client = await clientOf(own, projectId)
    if (!('mutation' in client)) return client
    const input = { environment, label: label.trim() || undefined, reason }
    const { data, error } = await client.mutation(createServerKeyMutation, { input })
    return secretOf(data?.createServerKey, error)
  }
  return (
    <ActionDialog
      title="New server key"
      effect={`Game servers with this key act for the players of ${environment}${isProduction(environment) ? ', who are real' : ''}, until the key is revoked.`}
      confirm="Make the key"
      disabled={own.trim() === '' || environment === ''}
      run={run}
      onClose={onClose}
    >
      <OwnKey value={own} onChange={setOwn} />
      <EnvironmentField value={environment} onChange={setEnvironment} options={environments} />
      <Purpose value={label} onChange={setLabel} />
    </ActionDialog>
  )
}

export function NewPlatformKey(props: {
  /** Called when a key was made, or may have been: lists of this session do not know of a call with another key. */
  readonly onMade: () => void
  readonly onClose: () => void
}) {
  const { onMade, onClose } = props
  const { projectId } = useOperator()
  const { own, setOwn, secretOf } = useSecret(onMade)
  const [role, setRole] = useState<Role>('VIEWER')
  const [label, setLabel] = useState('')

  async function run(reason: string): Promise<ActionResult> {
    const client = await clientOf(own, projectId)
    if (!('mutation' in client)) return client
    const input = { role, label: label.trim() || undefined, reason }
    const { data, error } = await client.mutation(createPlatformKeyMutation, { input })
    return secretOf(data?.createPlatformKey, error)
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
      <OwnKey value={own} onChange={setOwn} />
      <SelectField
        label="Role"
        name="role"
        value={role}
        onChange={(value) => setRole(value as Role)}
        options={ROLES.map((one) => [one, one.toLowerCase()])}
      />
      <Purpose value={label} onChange={setLabel} />
    </ActionDialog>
  )
}

export type Revoked =
  | { readonly kind: 'sdk' | 'server'; readonly key: KeyRow; readonly environment: string }
  | { readonly kind: 'platform'; readonly key: KeyRow; readonly role: Role }

export function RevokeKey({ of, onClose }: { of: Revoked; onClose: () => void }) {
  const { keyId, prefix, label } = of.key
  const client = useClient()
  const session = useOperator()
  const [{ data: counts }] = useQuery({ query: keyCountsQuery, requestPolicy: 'network-only' })
  const [{ data: planned }] = useQuery({
    query: plannedWithKeyQuery,
    variables: { id: of.key.id },
    requestPolicy: 'network-only',
    pause: of.kind !== 'platform',
  })

  const last = useLastWayIn()
  const validOf = (role: Role) => counts?.project.platformKeys.find((one) => one.role === role)?.keys

  async function run(reason: string): Promise<ActionResult> {
    const input = { id: keyId, reason }
    const done = `${prefix}… is revoked.`
    if (of.kind === 'sdk') {
      const { data, error } = await client.mutation(revokeSdkKeyMutation, { input })
      return data?.revokeSdkKey ? { done, auditEntry: data.revokeSdkKey.auditEntry } : { error }
    }
    if (of.kind === 'server') {
      const { data, error } = await client.mutation(revokeServerKeyMutation, { input })
      return data?.revokeServerKey ? { done, auditEntry: data.revokeServerKey.auditEntry } : { error }
    }
    const { allowLast } = last
    const { data, error } = await client.mutation(revokePlatformKeyMutation, { input: { ...input, allowLast } })
    last.noteRefusal(error)
    return data?.revokePlatformKey ? { done, auditEntry: data.revokePlatformKey.auditEntry } : { error }
  }

  function effectsOf(): readonly string[] {
    if (of.kind === 'platform') {
      const work = planned?.node && 'plannedPublications' in planned.node ? planned.node : null
      return platformRevocation(of.role, {
        valid: validOf(of.role),
        isOwn: keyId === session.keyId,
        planned: [
          ...(work?.plannedPublications ?? []).map(
            (one) => `the publication of ${one.scenarioId} in ${one.environment}`,
          ),
          ...(work?.openGrantJobs ?? []).map((one) => `the grant “${one.reason}” in ${one.environment}`),
        ],
      })
    }
    const counted = counts?.project.environments.find(({ name }) => name === of.environment)
    return of.kind === 'sdk'
      ? sdkRevocation(of.environment, counted?.sdkKeys)
      : serverRevocation(of.environment, counted?.serverKeys)
  }
  return (
    <ActionDialog
      title={`Revoke ${label ?? `${prefix}…`}`}
      effect={effectsOf().map((text) => <p key={text}>{text}</p>)}
      confirm="Revoke"
      tone="danger"
      run={run}
      onClose={onClose}
    >
      <p className="muted">
        Key <code>{prefix}…</code>
      </p>
      {last.field}
    </ActionDialog>
  )
}
