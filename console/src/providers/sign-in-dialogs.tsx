import { useState } from 'react'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { Fields, type FormField, useFields } from '../ui/fields.tsx'
import { Effects, noEffect } from './effects.tsx'
import { useRecentLogins } from './recent-logins.ts'
import { useSetProviders } from './set-providers.ts'
import { type Issuer, linesOf, type SignIn } from './sign-in.ts'

/** The settings of each issuer, as the service takes them. */
const issuersOf = (issuers: readonly Issuer[] = []): Record<string, object> =>
  Object.fromEntries(issuers.map(({ name, updatedAt: _, ...settings }) => [name, settings]))

const effectOf = (isEnabled: boolean, who: string): string =>
  isEnabled ? `From the next login on, ${who} can sign in.` : `From the next login on, ${who} cannot sign in.`

const WHO: Readonly<Record<SignIn['kind'], string>> = {
  google: 'players with an ID token of Google',
  apple: 'players with an ID token of Apple',
  oidc: 'players with an ID token of this issuer',
  device: 'guests',
}

export function EditSignIn(props: { readonly signIn: SignIn; readonly onClose: () => void }) {
  // As it was when the dialog was opened: the page may read it again meanwhile.
  const [{ kind, title, isEnabled, clients }] = useState(props.signIn)
  const set = useSetProviders(kind)
  const recent = useRecentLogins(isEnabled === null ? undefined : kind)
  const fields = useFields({ enabled: isEnabled ?? true, clientIds: clients.join('\n') })
  const { enabled } = fields.values
  const clientIds = linesOf(fields.values.clientIds)
  const isComplete = kind === 'device' || clientIds.length > 0
  const isChanged = enabled !== isEnabled || (kind !== 'device' && clientIds.join() !== clients.join())
  return (
    <ActionDialog
      title={`${isEnabled === null ? 'Set up' : 'Edit'} ${title}`}
      effect={isComplete && isChanged ? <Effects of={[effectOf(enabled, WHO[kind]), recent]} /> : noEffect(isComplete)}
      confirm="Save"
      disabled={!isComplete || !isChanged}
      run={(reason) =>
        set(
          (current) =>
            kind === 'device' || kind === 'oidc'
              ? { device: { enabled } }
              : // Members that no login uses stay as they are.
                { [kind]: { ...(current?.[kind] as object | null), enabled, clientIds } },
          reason,
          `${title} is saved.`,
        )
      }
      onClose={props.onClose}
    >
      <Fields
        of={fields}
        list={[
          { kind: 'check', name: 'enabled', label: 'Enabled' },
          kind !== 'device' && {
            kind: 'lines',
            name: 'clientIds',
            label: 'Client ids',
            hint: 'The ids of your apps at the platform, one on each line: those of Android, iOS and the web.',
            rows: 3,
            required: true,
          },
        ]}
      />
    </ActionDialog>
  )
}

const valuesOf = (shown: Issuer | undefined) => ({
  name: shown?.name ?? '',
  issuer: shown?.issuer ?? '',
  audiences: shown?.audiences.join('\n') ?? '',
  enabled: shown?.enabled ?? true,
  jwksUrl: shown?.jwksUrl ?? '',
  subjectClaim: shown?.subjectClaim ?? 'sub',
  nicknameClaim: shown?.nicknameClaim ?? '',
})

const FIELDS: readonly FormField<ReturnType<typeof valuesOf>>[] = [
  {
    name: 'issuer',
    label: 'Issuer',
    type: 'url',
    hint: 'Exactly as its tokens name it (iss).',
    placeholder: 'https://id.studio.example',
    isTrimmed: true,
    required: true,
  },
  {
    kind: 'lines',
    name: 'audiences',
    label: 'Audiences',
    hint: 'The ids of your clients at the issuer, one on each line.',
    rows: 2,
    required: true,
  },
  { kind: 'check', name: 'enabled', label: 'Enabled' },
  {
    name: 'jwksUrl',
    label: 'Address of the keys',
    type: 'url',
    hint: 'Empty: the issuer’s configuration names it.',
    isTrimmed: true,
  },
  { name: 'subjectClaim', label: 'Claim that names the player', isTrimmed: true },
  {
    name: 'nicknameClaim',
    label: 'Claim with the nickname',
    hint: 'Empty: the client names the player.',
    isTrimmed: true,
  },
]

export function EditIssuer(props: { readonly signIn?: SignIn; readonly onClose: () => void }) {
  const [shown] = useState(props.signIn?.issuer)
  const fields = useFields(() => valuesOf(shown))
  const { name, ...typed } = fields.values
  const set = useSetProviders(`oidc.${name}`)
  const recent = useRecentLogins(shown && `oidc:${shown.name}`)
  const settings = {
    ...typed,
    audiences: linesOf(typed.audiences),
    jwksUrl: typed.jwksUrl || null,
    subjectClaim: typed.subjectClaim || null,
    nicknameClaim: typed.nicknameClaim || null,
    maxAgeSeconds: shown?.maxAgeSeconds ?? null,
  }
  const isComplete = name !== '' && settings.issuer !== '' && settings.audiences.length > 0
  return (
    <ActionDialog
      title={shown ? `Edit ${shown.name}` : 'New issuer'}
      effect={
        isComplete ? (
          <Effects
            of={[
              effectOf(settings.enabled, `players with an ID token of ${settings.issuer}`),
              shown &&
                shown.subjectClaim !== typed.subjectClaim &&
                'Another claim names the player: players who signed in before become other players.',
              recent,
            ]}
          />
        ) : (
          noEffect(false)
        )
      }
      confirm="Save"
      disabled={!isComplete}
      run={(reason) =>
        set(
          (current) => ({ oidc: { ...issuersOf(current?.oidc), [name]: settings } }),
          reason,
          `${name} is saved. Test it next.`,
        )
      }
      onClose={props.onClose}
    >
      <Fields
        of={fields}
        list={[
          !shown && {
            name: 'name',
            label: 'Name',
            hint: 'Clients name it in their login.',
            isTrimmed: true,
            required: true,
          },
          ...FIELDS,
        ]}
      />
    </ActionDialog>
  )
}

export function RemoveIssuer({ signIn, onClose }: { signIn: SignIn; onClose: () => void }) {
  const [{ title, provider }] = useState(signIn)
  const set = useSetProviders(`oidc.${title}`)
  const recent = useRecentLogins(provider)
  return (
    <ActionDialog
      title={`Remove ${title}`}
      effect={
        <Effects
          of={[
            `From the next one on, logins through ${title} fail.`,
            'Players and their identities stay: with an issuer of the same name they log in again.',
            recent,
          ]}
        />
      }
      confirm="Remove"
      tone="danger"
      run={(reason) =>
        set(
          (current) => ({ oidc: issuersOf(current?.oidc.filter(({ name }) => name !== title)) }),
          reason,
          `${title} is removed.`,
        )
      }
      onClose={onClose}
    />
  )
}
