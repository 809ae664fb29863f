import { useState } from 'react'
import { useClient } from 'urql'
import { isProduction, useEnvironment } from '../shell/environment.tsx'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { CheckField, SelectField, TextField } from '../ui/form.tsx'
import { Id } from '../ui/text.tsx'
import { providersQuery, rotateSecretMutation, setProvidersMutation } from './operations.ts'
import type { CustomProvider } from './providers-page.tsx'

interface Settings {
  readonly enabled: boolean
  readonly url: string
  readonly secret?: string
}

/**
 * Sends all custom providers with one change. They are read again before, since the service replaces them all: what
 * somebody else has changed meanwhile stays.
 */
function useSetProvider() {
  const client = useClient()
  const environment = useEnvironment()
  return async (name: string, settings: Settings | null, reason: string, done: string): Promise<ActionResult> => {
    const read = await client.query(providersQuery, { environment }, { requestPolicy: 'network-only' })
    if (read.error) return { error: read.error }
    const known = read.data?.authProviders[0]?.custom ?? []
    const others = known
      .filter((one) => one.name !== name)
      .map((one) => [one.name, { enabled: one.enabled, url: one.url }])
    const custom = Object.fromEntries(settings === null ? others : [...others, [name, settings]])
    const input = { environment, reason, authProviders: JSON.stringify({ custom }) }
    const { data, error } = await client.mutation(setProvidersMutation, { input })
    return data ? { done, auditEntry: data.setAuthProviders.auditEntry } : { error }
  }
}

export function EditProvider(props: {
  readonly all: readonly CustomProvider[]
  /** Undefined for a new one. */
  readonly provider?: CustomProvider
  readonly onClose: () => void
}) {
  const { all, provider, onClose } = props
  const environment = useEnvironment()
  const set = useSetProvider()
  const [name, setName] = useState(provider?.name ?? (all.length === 0 ? 'default' : ''))
  const [url, setUrl] = useState(provider?.url ?? '')
  const [isEnabled, setEnabled] = useState(provider?.enabled ?? true)
  const [secret, setSecret] = useState('')
  const isTaken = provider === undefined && all.some((one) => one.name === name)
  const isReady = name !== '' && url !== '' && !isTaken && (provider?.hasSecret === true || secret !== '')

  return (
    <ActionDialog
      title={provider ? `Edit ${provider.name}` : 'New provider'}
      effect={
        isTaken
          ? `There is a provider ${name} already. Edit it instead.`
          : isEnabled
            ? `From the next login on, ${name || 'the provider'} asks ${url || 'the webhook'}${isProduction(environment) ? ', for real players' : ''}.`
            : `Logins through ${name || 'the provider'} fail with “custom auth disabled”.`
      }
      confirm="Save"
      disabled={!isReady}
      run={(reason) =>
        set(
          name,
          { enabled: isEnabled, url, ...(secret !== '' && { secret }) },
          reason,
          `${name} is saved. Test it next.`,
        )
      }
      onClose={onClose}
    >
      {!provider && (
        <TextField
          label="Name"
          name="name"
          hint="Clients name it in their login, unless it is default."
          value={name}
          onChange={(value) => setName(value.trim())}
          required
        />
      )}
      <TextField
        label="Webhook"
        name="url"
        type="url"
        placeholder="https://login.studio.example/tierway"
        value={url}
        onChange={(value) => setUrl(value.trim())}
        required
      />
      <CheckField label="Enabled" name="enabled" value={isEnabled} onChange={setEnabled} />
      <TextField
        label={provider?.hasSecret ? 'New secret' : 'Secret'}
        name="secret"
        type="password"
        hint={
          provider?.hasSecret
            ? 'Leave it empty to keep the stored one. To replace it without failed logins, use Rotate secret.'
            : 'Shared with the webhook, which verifies the signature by it. It is stored encrypted and never shown.'
        }
        value={secret}
        onChange={setSecret}
        autoComplete="off"
      />
    </ActionDialog>
  )
}

export function RemoveProvider(props: {
  readonly all: readonly CustomProvider[]
  readonly provider: CustomProvider
  readonly onClose: () => void
}) {
  const { provider, onClose } = props
  const set = useSetProvider()
  return (
    <ActionDialog
      title={`Remove ${provider.name}`}
      effect={`Logins through ${provider.name} fail from the next one on, and its secret is lost. Players and their identities stay.`}
      confirm="Remove"
      tone="danger"
      run={(reason) => set(provider.name, null, reason, `${provider.name} is removed.`)}
      onClose={onClose}
    />
  )
}

const OVERLAPS = [
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
  ['2592000', '30 days'],
  ['0', 'not at all: it ends at once'],
] as const

export function RotateSecret({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const client = useClient()
  const environment = useEnvironment()
  const [overlap, setOverlap] = useState('86400')

  async function run(reason: string): Promise<ActionResult> {
    const input = { environment, name: provider.name, overlapSeconds: Number(overlap), reason }
    const { data, error } = await client.mutation(rotateSecretMutation, { input })
    if (!data) return { error }
    const { secret, auditEntry } = data.rotateProviderSecret
    return {
      done: (
        <>
          <p>The new secret. Copy it now: it is not shown again.</p>
          {secret !== null && <Id of={secret} />}
        </>
      ),
      auditEntry,
    }
  }
  return (
    <ActionDialog
      title={`Rotate the secret of ${provider.name}`}
      effect={
        overlap === '0'
          ? 'The new secret signs from the next login on. Until the webhook knows it, every login fails.'
          : `Both secrets sign for ${OVERLAPS.find(([seconds]) => seconds === overlap)?.[1]}: webhooks that check webhook-signature accept either. X-Signature is by the new one.`
      }
      confirm="Rotate"
      tone={overlap === '0' ? 'danger' : 'primary'}
      run={run}
      onClose={onClose}
    >
      <SelectField
        label="How long the old secret still signs"
        name="overlapSeconds"
        value={overlap}
        onChange={setOverlap}
        options={OVERLAPS}
      />
    </ActionDialog>
  )
}
