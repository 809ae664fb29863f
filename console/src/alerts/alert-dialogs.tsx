import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_LABEL } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { isOutcomeOpen } from '../ui/errors.ts'
import { CheckField, SelectField, TextField } from '../ui/form.tsx'
import { Id } from '../ui/text.tsx'
import { createAlertWebhookMutation, deleteAlertWebhookMutation, updateAlertWebhookMutation } from './operations.ts'
import { type AlertWebhook, FORMATS, type Format, KINDS, type Kind, kindsText } from './words.ts'

/** A list without webhooks is read again after a change, too. */
export const ALERT_WEBHOOKS = { additionalTypenames: ['AlertWebhook'] }

const URL_HINTS: Readonly<Record<Format, string>> = {
  SLACK: 'From the app’s page “Incoming Webhooks” in Slack: https://hooks.slack.com/services/…',
  DISCORD: 'From “Integrations” in the settings of the channel: https://discord.com/api/webhooks/…',
  STANDARD: 'Any address that answers 2xx. Messages are signed with a secret, which is shown once.',
}

/** The page to which messages lead. */
const todayOf = (environment: string): string =>
  `${location.origin}/console/env/${encodeURIComponent(environment)}/today`

export function CreateAlertWebhook({ onClose }: { onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [name, setName] = useState('')
  const [format, setFormat] = useState<Format>('SLACK')
  const [url, setUrl] = useState('')
  const [link, setLink] = useState(() => todayOf(environment))
  const [kinds, setKinds] = useState<Kind[]>([])

  async function run(reason: string): Promise<ActionResult> {
    const asked = { name: name.trim(), format, url: url.trim(), link: link.trim() || undefined, kinds }
    const input = { environment, ...asked, reason }
    const { data, error } = await client.mutation(createAlertWebhookMutation, { input }, ALERT_WEBHOOKS)
    if (!data?.createAlertWebhook) return { error }
    const { secret, auditEntry } = data.createAlertWebhook
    return secretResult(
      secret,
      auditEntry,
      `${asked.name} receives problems from now on. Send a test to see that it arrives.`,
    )
  }
  return (
    <ActionDialog
      title={`New alert webhook in ${environment}`}
      effect={`It receives the problems that need a person in ${environment}: ${kindsText(kinds)}. Present problems are sent at once.`}
      confirm="Create"
      disabled={name.trim() === '' || url.trim() === ''}
      wide
      run={run}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <SelectField
        label="Sends to"
        name="format"
        value={format}
        onChange={(value) => setFormat(value as Format)}
        options={FORMATS}
      />
      <TextField
        label="Address"
        name="url"
        type="url"
        hint={URL_HINTS[format]}
        value={url}
        onChange={setUrl}
        autoComplete="off"
        required
      />
      <LinkField value={link} onChange={setLink} />
      <KindFields value={kinds} onChange={setKinds} />
    </ActionDialog>
  )
}

export function EditAlertWebhook({ webhook, onClose }: { webhook: AlertWebhook; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [before] = useState(webhook)
  const [name, setName] = useState(before.name)
  const [url, setUrl] = useState('')
  const [link, setLink] = useState(before.link ?? '')
  const [kinds, setKinds] = useState(before.kinds)
  const [enabled, setEnabled] = useState(before.enabled)
  const [newSecret, setNewSecret] = useState(false)

  async function run(reason: string): Promise<ActionResult> {
    const asked = { name: name.trim(), url: url.trim() || undefined, link: link.trim(), kinds, enabled, newSecret }
    const input = { environment, alertWebhookId: before.alertWebhookId, ...asked, reason }
    const { data, error } = await client.mutation(updateAlertWebhookMutation, { input })
    if (!data?.updateAlertWebhook) {
      if (newSecret && isOutcomeOpen(error)) return { refusal: LOST }
      return { error }
    }
    const { secret, auditEntry } = data.updateAlertWebhook
    return secretResult(secret, auditEntry, `${asked.name} is changed.`)
  }
  return (
    <ActionDialog
      title={`Change ${before.name}`}
      effect={
        enabled
          ? `It receives: ${kindsText(kinds)}.${before.enabled ? '' : ' Present problems are sent at once.'}`
          : 'Nothing is sent. A message that has not arrived yet is dropped.'
      }
      confirm="Save"
      disabled={name.trim() === ''}
      wide
      run={run}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <TextField
        label="Another address"
        name="url"
        type="url"
        hint={`It goes to ${before.host}. Leave this empty to keep the address, which is never shown.`}
        value={url}
        onChange={setUrl}
        autoComplete="off"
      />
      <LinkField value={link} onChange={setLink} />
      <KindFields value={kinds} onChange={setKinds} />
      <CheckField label="Enabled" name="enabled" value={enabled} onChange={setEnabled} />
      {before.format === 'STANDARD' && (
        <CheckField
          label="Make a new secret"
          name="newSecret"
          hint="The present one stops signing at once. The new one is shown once."
          value={newSecret}
          onChange={setNewSecret}
        />
      )}
    </ActionDialog>
  )
}

export function DeleteAlertWebhook({ webhook, onClose }: { webhook: AlertWebhook; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [{ alertWebhookId, name, host }] = useState(webhook)
  return (
    <ActionDialog
      title={`Delete ${name}`}
      tone="danger"
      effect={`Nothing is sent to ${host} any more. A message that has not arrived yet is dropped.`}
      confirm="Delete the webhook"
      run={async (reason) => {
        const input = { environment, alertWebhookId, reason }
        const { data, error } = await client.mutation(deleteAlertWebhookMutation, { input }, ALERT_WEBHOOKS)
        if (!data?.deleteAlertWebhook) return { error }
        return { done: `${name} is deleted.`, auditEntry: data.deleteAlertWebhook.auditEntry }
      }}
      onClose={onClose}
    />
  )
}

const LOST =
  'The answer was lost, and a new secret may sign by now that nobody has seen. Save again with “Make a new secret” to see one.'

const secretResult = (secret: string | null, auditEntry: ActionResult['auditEntry'], done: string): ActionResult =>
  secret === null
    ? { done, auditEntry }
    : {
        done: (
          <>
            <p>{done}</p>
            <p>Copy the secret now. It is not shown again.</p>
            <Id of={secret} />
          </>
        ),
        isShownOnce: true,
        auditEntry,
      }

interface FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

const NameField = (props: FieldProps) => (
  <TextField
    label="Name"
    name="name"
    hint="Where the alerts go, such as “#live-ops”."
    {...props}
    maxLength={MAX_LABEL}
    autoComplete="off"
    required
  />
)

const LinkField = (props: FieldProps) => (
  <TextField
    label="Link"
    name="link"
    type="url"
    hint="Each message ends with it. Empty for none."
    {...props}
    autoComplete="off"
  />
)

/** None chosen means all. */
const KindFields = (props: { readonly value: Kind[]; readonly onChange: (kinds: Kind[]) => void }) => (
  <fieldset className="choices">
    <legend>The problems that it receives. Nothing chosen: all</legend>
    {KINDS.map(([kind, text]) => (
      <CheckField
        key={kind}
        label={text}
        value={props.value.includes(kind)}
        onChange={(isChosen) =>
          props.onChange(isChosen ? [...props.value, kind] : props.value.filter((one) => one !== kind))
        }
      />
    ))}
  </fieldset>
)
