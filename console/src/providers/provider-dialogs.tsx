import { useState } from 'react'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { Fields, type FieldValues, type FormField, useFields } from '../ui/fields.tsx'
import { conflictOf, effectsOf, type Settings, settingsOf } from './change.ts'
import { Effects, noEffect } from './effects.tsx'
import type { CustomProvider } from './operations.ts'
import { useRecentLogins } from './recent-logins.ts'
import { type Change, useSetProviders } from './set-providers.ts'

/** The number in a field; null when it is empty. The service refuses what is no number. */
const numberOr = (text: string): number | null => (text.trim() === '' ? null : Number(text))

/**
 * Sets or removes one provider. A change by another person to the same one is reported instead of undone. Without a
 * secret or a key, the stored one is kept.
 */
const changeOf =
  (
    name: string,
    shown: Settings | undefined,
    wanted: (Settings & { secret?: string; clientKey?: string }) | undefined,
  ): Change =>
  (current) => {
    const custom = current?.custom ?? []
    const conflict = conflictOf(name, { shown, found: custom.find((one) => one.name === name), wanted })
    if (conflict !== undefined) return conflict
    const others = custom.filter((one) => one.name !== name).map((one) => [one.name, settingsOf(one)])
    return { custom: Object.fromEntries(wanted === undefined ? others : [...others, [name, wanted]]) }
  }

const valuesOf = (provider: CustomProvider | undefined, isFirst: boolean) => ({
  name: provider?.name ?? (isFirst ? 'default' : ''),
  url: provider?.url ?? '',
  enabled: provider?.enabled ?? true,
  timeoutMs: String(provider?.timeoutMs ?? ''),
  attempts: String(provider?.attempts ?? ''),
  breakerAfter: String(provider?.breakerAfter ?? ''),
  ed25519: provider?.ed25519 === true,
  claims: provider?.claims === true,
  denialReasons: provider?.denialReasons === true,
  secret: '',
  caCertificates: provider?.caCertificates ?? '',
  clientCertificate: provider?.clientCertificate ?? '',
  clientKey: '',
})
type Values = ReturnType<typeof valuesOf>

const FIELDS: readonly FormField<Values>[] = [
  {
    name: 'url',
    label: 'Webhook',
    type: 'url',
    placeholder: 'https://login.studio.example/tierway',
    isTrimmed: true,
    required: true,
  },
  { kind: 'check', name: 'enabled', label: 'Enabled' },
  {
    name: 'timeoutMs',
    label: 'Longest time of an attempt, in milliseconds',
    hint: '100 to 3000. Empty for 3000.',
    inputMode: 'numeric',
  },
  {
    name: 'attempts',
    label: 'Most attempts',
    hint: '1 to 3, when the webhook fails or does not answer. Empty for 3.',
    inputMode: 'numeric',
  },
  {
    name: 'breakerAfter',
    label: 'Failed calls in a row that open the breaker',
    hint: '1 to 1000 within a minute: then logins fail at once, until a probe succeeds. Empty for no breaker.',
    inputMode: 'numeric',
  },
  {
    kind: 'check',
    name: 'ed25519',
    label: 'Also sign by an Ed25519 key',
    hint: 'The webhook then verifies by a public key, and needs no secret.',
  },
  {
    kind: 'check',
    name: 'claims',
    label: 'Claims in access tokens',
    hint: 'Your game servers read them, and so can the player.',
  },
  {
    kind: 'check',
    name: 'denialReasons',
    label: 'Clients see why a login is denied',
    hint: 'The client of a player whom the webhook denies receives its code and text.',
  },
]

export function EditProvider(props: {
  readonly all: readonly CustomProvider[]
  /** Undefined for a new one. */
  readonly provider?: CustomProvider
  readonly onClose: () => void
}) {
  // The provider with which the dialog was opened: the page may read it again meanwhile.
  const [provider] = useState(props.provider)
  const fields = useFields(() => valuesOf(provider, props.all.length === 0))
  const { name, secret, clientKey, ...typed } = fields.values
  const set = useSetProviders(`custom.${name}`)
  const recent = useRecentLogins(provider?.name)
  const wanted = {
    ...typed,
    timeoutMs: numberOr(typed.timeoutMs),
    attempts: numberOr(typed.attempts),
    breakerAfter: numberOr(typed.breakerAfter),
    caCertificates: typed.caCertificates.trim() === '' ? null : typed.caCertificates,
    clientCertificate: typed.clientCertificate.trim() === '' ? null : typed.clientCertificate,
  }
  const isKept = provider?.hasSecret === true
  const isComplete = name !== '' && wanted.url !== '' && (isKept || secret !== '')
  const changed = { hasNewSecret: isKept && secret !== '', hasNewClientKey: clientKey !== '' }
  const effects = isComplete ? effectsOf(name, { shown: provider, wanted, ...changed }) : []
  const secrets = { ...(secret !== '' && { secret }), ...(clientKey !== '' && { clientKey }) }
  return (
    <ActionDialog
      title={provider ? `Edit ${provider.name}` : 'New provider'}
      effect={effects.length > 0 ? <Effects of={[...effects, recent]} /> : noEffect(isComplete)}
      confirm="Save"
      disabled={effects.length === 0}
      run={(reason) =>
        set(changeOf(name, provider, { ...wanted, ...secrets }), reason, `${name} is saved. Test it next.`)
      }
      onClose={props.onClose}
    >
      <Fields
        of={fields}
        list={[
          !provider && {
            name: 'name',
            label: 'Name',
            hint: 'Clients name it in their login, unless it is default.',
            isTrimmed: true,
            required: true,
          },
          ...FIELDS,
          {
            name: 'secret',
            label: isKept ? 'New secret' : 'Secret',
            type: 'password',
            hint: isKept
              ? 'Leave it empty to keep the stored one. To replace it without failed logins, use Rotate secret.'
              : 'Shared with the webhook, which verifies the signature by it. It is stored encrypted and never shown.',
            autoComplete: 'new-password',
          },
          <Certificates key="certificates" of={fields} provider={provider} />,
        ]}
      />
    </ActionDialog>
  )
}

const Certificates = ({ of, provider }: { of: FieldValues<Values>; provider: CustomProvider | undefined }) => (
  <details open={Boolean(provider?.caCertificates || provider?.clientCertificate)}>
    <summary>Certificates</summary>
    <div className="form">
      <Fields
        of={of}
        list={[
          {
            kind: 'lines',
            name: 'caCertificates',
            label: 'Private authorities',
            hint: 'In PEM, for a webhook whose certificate no public authority signed. Empty for the public ones.',
            rows: 4,
          },
          {
            kind: 'lines',
            name: 'clientCertificate',
            label: 'Client certificate',
            hint: 'In PEM, for a webhook that recognizes its callers by a certificate (mTLS).',
            rows: 4,
          },
          {
            kind: 'lines',
            name: 'clientKey',
            label: provider?.clientCertificate ? 'New key of the client certificate' : 'Key of the client certificate',
            hint: provider?.clientCertificate
              ? 'Leave it empty to keep the stored one.'
              : 'In PEM, without a passphrase. It is stored encrypted and never shown.',
            rows: 4,
          },
        ]}
      />
    </div>
  </details>
)

export function RemoveProvider({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const [shown] = useState(provider)
  const { name } = shown
  const set = useSetProviders(`custom.${name}`)
  const recent = useRecentLogins(name)
  return (
    <ActionDialog
      title={`Remove ${name}`}
      effect={
        <Effects
          of={[
            `From the next one on, logins through ${name} fail. Its secret is lost.`,
            'Players and their identities stay: with a provider of the same name they log in again.',
            recent,
          ]}
        />
      }
      confirm="Remove"
      tone="danger"
      run={(reason) => set(changeOf(name, shown, undefined), reason, `${name} is removed.`)}
      onClose={onClose}
    />
  )
}
