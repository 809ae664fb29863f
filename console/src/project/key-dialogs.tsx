import { type TypedDocumentNode, useQuery } from 'urql'
import { isProduction, MAX_LABEL } from '../../../src/base/limits.ts'
import { useOperator } from '../session/permission.tsx'
import { ROLES, type Role } from '../session/roles.ts'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { isOutcomeOpen } from '../ui/errors.ts'
import { Fields, useFields } from '../ui/fields.tsx'
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
import { clientOf, OWN_KEY, refusalOf } from './own-key.ts'

export type KeyKind = 'sdk' | 'server' | 'platform'

const LOST =
  'The answer was lost, and a key may have been made that nobody has seen. Close this dialog and look at the list: revoke a key that was made just now, then make another.'

interface NewKeyKind {
  readonly title: string
  readonly effect: (of: { readonly environment: string; readonly role: Role }) => string
  readonly mutation: TypedDocumentNode<
    Readonly<Record<string, { readonly key: string } | null>>,
    { readonly input: never }
  >
}

const NEW: Readonly<Record<KeyKind, NewKeyKind>> = {
  sdk: {
    title: 'New SDK key',
    effect: ({ environment }) =>
      `Game clients with this key log in to ${environment}${isProduction(environment) ? ', which has real players' : ''}.`,
    mutation: createSdkKeyMutation,
  },
  server: {
    title: 'New server key',
    effect: ({ environment }) =>
      `Game servers with this key act for the players of ${environment}${isProduction(environment) ? ', who are real' : ''}, until the key is revoked.`,
    mutation: createServerKeyMutation,
  },
  platform: {
    title: 'New platform key',
    effect: ({ role }) =>
      `Its holder has the rights of ${role.toLowerCase()} in all environments of the project, until the key is revoked.`,
    mutation: createPlatformKeyMutation,
  },
}

/** Makes a key. Only an SDK key is no secret: a session makes it. Others take the operator's own key, which is then forgotten. */
export function NewKey(props: {
  readonly kind: KeyKind
  readonly environments: readonly string[]
  readonly environment: string
  /** Called when a key was made, or may have been: lists of this session do not know of a call with another key. */
  readonly onMade: () => void
  readonly onClose: () => void
}) {
  const { kind, environments, onMade, onClose } = props
  const { projectId } = useOperator()
  const fields = useFields({ own: '', environment: props.environment, role: 'VIEWER' as Role, label: '' })
  const { own, environment, role, label } = fields.values
  const isSecret = kind !== 'sdk'
  const isOfRole = kind === 'platform'
  return (
    <ChangeDialog
      title={NEW[kind].title}
      effect={NEW[kind].effect(fields.values)}
      confirm="Make the key"
      disabled={(isSecret && own.trim() === '') || (!isOfRole && environment === '')}
      mutation={NEW[kind].mutation}
      input={{ ...(isOfRole ? { role } : { environment }), label: label.trim() || undefined } as never}
      via={isSecret ? () => clientOf(own, projectId) : undefined}
      done={({ key }) => {
        onMade()
        fields.set({ own: '' })
        return { done: <MadeKey value={key} />, isShownOnce: true }
      }}
      refused={(error) => {
        if (!isOutcomeOpen(error)) return isSecret ? refusalOf(error) : undefined
        onMade()
        return { refusal: LOST }
      }}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          isSecret && OWN_KEY,
          isOfRole
            ? { kind: 'choice', name: 'role', label: 'Role', options: ROLES.map((one) => [one, one.toLowerCase()]) }
            : { kind: 'choice', name: 'environment', label: 'Environment', options: environments },
          {
            name: 'label',
            label: 'Purpose',
            hint: 'What the key is for, such as “iOS client”. It cannot be changed.',
            maxLength: MAX_LABEL,
          },
        ]}
      />
    </ChangeDialog>
  )
}

/** The key. No later answer contains it. */
const MadeKey = ({ value }: { value: string }) => (
  <>
    <p>Copy the key now. It is not shown again.</p>
    <Id of={value} />
  </>
)

export type Revoked =
  | { readonly kind: 'sdk' | 'server'; readonly key: KeyRow; readonly environment: string }
  | { readonly kind: 'platform'; readonly key: KeyRow; readonly role: Role }

const REVOKE: Readonly<Record<KeyKind, TypedDocumentNode<object, { readonly input: never }>>> = {
  sdk: revokeSdkKeyMutation,
  server: revokeServerKeyMutation,
  platform: revokePlatformKeyMutation,
}

export function RevokeKey({ of, onClose }: { of: Revoked; onClose: () => void }) {
  const { keyId, prefix, label } = of.key
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
    <ChangeDialog
      title={`Revoke ${label ?? `${prefix}…`}`}
      effect={effectsOf().map((text) => <p key={text}>{text}</p>)}
      confirm="Revoke"
      tone="danger"
      mutation={REVOKE[of.kind]}
      input={(of.kind === 'platform' ? { id: keyId, allowLast: last.allowLast } : { id: keyId }) as never}
      done={`${prefix}… is revoked.`}
      refused={last.noteRefusal}
      onClose={onClose}
    >
      <p className="muted">
        Key <code>{prefix}…</code>
      </p>
      {last.field}
    </ChangeDialog>
  )
}
