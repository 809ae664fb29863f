import { useState } from 'react'
import { isProduction } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { CheckField, TextAreaField, TextField } from '../ui/form.tsx'
import { effectsOf } from './change.ts'
import type { CustomProvider } from './operations.ts'
import { useRecentLogins } from './recent-logins.ts'
import { useSetProvider } from './set-provider.ts'

/** The effects of a change, each sentence on its own line. */
const Effects = ({ of }: { of: readonly (string | undefined)[] }) => of.map((text) => text && <p key={text}>{text}</p>)

const realPlayers = (environment: string): string | undefined =>
  isProduction(environment) ? `${environment} has real players.` : undefined

/** The number in a field; null when it is empty. The service refuses what is no number. */
const numberOr = (text: string): number | null => (text.trim() === '' ? null : Number(text))

export function EditProvider(props: {
  readonly all: readonly CustomProvider[]
  /** Undefined for a new one. */
  readonly provider?: CustomProvider
  readonly onClose: () => void
}) {
  const { all, onClose } = props
  // The provider with which the dialog was opened: the page may read it again meanwhile.
  const [provider] = useState(props.provider)
  const environment = useEnvironment()
  const set = useSetProvider()
  const recent = useRecentLogins(provider?.name)
  const [name, setName] = useState(provider?.name ?? (all.length === 0 ? 'default' : ''))
  const [url, setUrl] = useState(provider?.url ?? '')
  const [isEnabled, setEnabled] = useState(provider?.enabled ?? true)
  const [secret, setSecret] = useState('')
  const [timeoutMs, setTimeoutMs] = useState(String(provider?.timeoutMs ?? ''))
  const [attempts, setAttempts] = useState(String(provider?.attempts ?? ''))
  const [breakerAfter, setBreakerAfter] = useState(String(provider?.breakerAfter ?? ''))
  const [isSigned, setSigned] = useState(provider?.ed25519 === true)
  const [hasClaims, setClaims] = useState(provider?.claims === true)
  const [hasReasons, setReasons] = useState(provider?.denialReasons === true)
  const [caCertificates, setCaCertificates] = useState(provider?.caCertificates ?? '')
  const [clientCertificate, setClientCertificate] = useState(provider?.clientCertificate ?? '')
  const [clientKey, setClientKey] = useState('')
  const wanted = {
    enabled: isEnabled,
    url,
    timeoutMs: numberOr(timeoutMs),
    attempts: numberOr(attempts),
    breakerAfter: numberOr(breakerAfter),
    ed25519: isSigned,
    claims: hasClaims,
    denialReasons: hasReasons,
    caCertificates: caCertificates.trim() === '' ? null : caCertificates,
    clientCertificate: clientCertificate.trim() === '' ? null : clientCertificate,
  }
  const isKept = provider?.hasSecret === true
  const isComplete = name !== '' && url !== '' && (isKept || secret !== '')
  const changed = { hasNewSecret: isKept && secret !== '', hasNewClientKey: clientKey !== '' }
  const effects = isComplete ? effectsOf(name, { shown: provider, wanted, ...changed }) : []

  return (
    <ActionDialog
      title={provider ? `Edit ${provider.name}` : 'New provider'}
      effect={
        effects.length > 0 ? (
          <Effects of={[...effects, recent, realPlayers(environment)]} />
        ) : isComplete ? (
          'Nothing is changed yet.'
        ) : (
          'Fill in the fields to see what this will do.'
        )
      }
      confirm="Save"
      disabled={effects.length === 0}
      run={(reason) =>
        set({
          name,
          shown: provider,
          wanted: { ...wanted, ...(secret !== '' && { secret }), ...(clientKey !== '' && { clientKey }) },
          reason,
          done: `${name} is saved. Test it next.`,
        })
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
        label="Longest time of an attempt, in milliseconds"
        name="timeoutMs"
        inputMode="numeric"
        hint="100 to 3000. Empty for 3000."
        value={timeoutMs}
        onChange={setTimeoutMs}
      />
      <TextField
        label="Most attempts"
        name="attempts"
        inputMode="numeric"
        hint="1 to 3, when the webhook fails or does not answer. Empty for 3."
        value={attempts}
        onChange={setAttempts}
      />
      <TextField
        label="Failed calls in a row that open the breaker"
        name="breakerAfter"
        inputMode="numeric"
        hint="1 to 1000 within a minute: then logins fail at once, until a probe succeeds. Empty for no breaker."
        value={breakerAfter}
        onChange={setBreakerAfter}
      />
      <CheckField
        label="Also sign by an Ed25519 key"
        name="ed25519"
        hint="The webhook then verifies by a public key, and needs no secret."
        value={isSigned}
        onChange={setSigned}
      />
      <CheckField
        label="Claims in access tokens"
        name="claims"
        hint="Your game servers read them, and so can the player."
        value={hasClaims}
        onChange={setClaims}
      />
      <CheckField
        label="Clients see why a login is denied"
        name="denialReasons"
        hint="The client of a player whom the webhook denies receives its code and text."
        value={hasReasons}
        onChange={setReasons}
      />
      <TextField
        label={isKept ? 'New secret' : 'Secret'}
        name="secret"
        type="password"
        hint={
          isKept
            ? 'Leave it empty to keep the stored one. To replace it without failed logins, use Rotate secret.'
            : 'Shared with the webhook, which verifies the signature by it. It is stored encrypted and never shown.'
        }
        value={secret}
        onChange={setSecret}
        autoComplete="new-password"
      />
      <details open={Boolean(provider?.caCertificates || provider?.clientCertificate)}>
        <summary>Certificates</summary>
        <div className="form">
          <TextAreaField
            label="Private authorities"
            name="caCertificates"
            hint="In PEM, for a webhook whose certificate no public authority signed. Empty for the public ones."
            rows={4}
            value={caCertificates}
            onChange={setCaCertificates}
          />
          <TextAreaField
            label="Client certificate"
            name="clientCertificate"
            hint="In PEM, for a webhook that recognizes its callers by a certificate (mTLS)."
            rows={4}
            value={clientCertificate}
            onChange={setClientCertificate}
          />
          <TextAreaField
            label={provider?.clientCertificate ? 'New key of the client certificate' : 'Key of the client certificate'}
            name="clientKey"
            hint={
              provider?.clientCertificate
                ? 'Leave it empty to keep the stored one.'
                : 'In PEM, without a passphrase. It is stored encrypted and never shown.'
            }
            rows={4}
            value={clientKey}
            onChange={setClientKey}
          />
        </div>
      </details>
    </ActionDialog>
  )
}

export function RemoveProvider({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const [shown] = useState(provider)
  const { name } = shown
  const environment = useEnvironment()
  const set = useSetProvider()
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
            realPlayers(environment),
          ]}
        />
      }
      confirm="Remove"
      tone="danger"
      run={(reason) => set({ name, shown, wanted: undefined, reason, done: `${name} is removed.` })}
      onClose={onClose}
    />
  )
}
