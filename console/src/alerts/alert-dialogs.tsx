import { useState } from 'react'
import { MAX_LABEL } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { isOutcomeOpen } from '../ui/errors.ts'
import { Fields, useFields } from '../ui/fields.tsx'
import { CheckField } from '../ui/form.tsx'
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

const NAME = {
  name: 'name',
  label: 'Name',
  hint: 'Where the alerts go, such as “#live-ops”.',
  maxLength: MAX_LABEL,
  autoComplete: 'off',
  required: true,
} as const
const LINK = {
  name: 'link',
  label: 'Link',
  type: 'url',
  hint: 'Each message ends with it. Empty for none.',
  autoComplete: 'off',
} as const

/** The page to which messages lead. */
const todayOf = (environment: string): string =>
  `${location.origin}/console/env/${encodeURIComponent(environment)}/today`

export function CreateAlertWebhook({ onClose }: { onClose: () => void }) {
  const environment = useEnvironment()
  const fields = useFields(() => ({
    name: '',
    format: 'SLACK' as Format,
    url: '',
    link: todayOf(environment),
    kinds: [] as Kind[],
  }))
  const { format, kinds } = fields.values
  const [name, url, link] = [fields.values.name.trim(), fields.values.url.trim(), fields.values.link.trim()]
  const done = `${name} receives problems from now on. Send a test to see that it arrives.`
  return (
    <ChangeDialog
      title={`New alert webhook in ${environment}`}
      effect={`It receives the problems that need a person in ${environment}: ${kindsText(kinds)}. Present problems are sent at once.`}
      confirm="Create"
      disabled={name === '' || url === ''}
      wide
      mutation={createAlertWebhookMutation}
      input={{ environment, name, format, url, link: link || undefined, kinds }}
      context={ALERT_WEBHOOKS}
      done={({ secret }) => secretResult(secret, done)}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          NAME,
          { kind: 'choice', name: 'format', label: 'Sends to', options: FORMATS },
          { name: 'url', label: 'Address', type: 'url', hint: URL_HINTS[format], autoComplete: 'off', required: true },
          LINK,
          <KindFields key="kinds" value={kinds} onChange={(kinds) => fields.set({ kinds })} />,
        ]}
      />
    </ChangeDialog>
  )
}

export function EditAlertWebhook({ webhook, onClose }: { webhook: AlertWebhook; onClose: () => void }) {
  const environment = useEnvironment()
  const [before] = useState(webhook)
  const fields = useFields({
    name: before.name,
    url: '',
    link: before.link ?? '',
    kinds: before.kinds,
    enabled: before.enabled,
    newSecret: false,
  })
  const { kinds, enabled, newSecret } = fields.values
  const [name, url, link] = [fields.values.name.trim(), fields.values.url.trim(), fields.values.link.trim()]
  const asked = { name, url: url || undefined, link, kinds, enabled, newSecret }
  return (
    <ChangeDialog
      title={`Change ${before.name}`}
      effect={
        enabled
          ? `It receives: ${kindsText(kinds)}.${before.enabled ? '' : ' Present problems are sent at once.'}`
          : 'Nothing is sent. A message that has not arrived yet is dropped.'
      }
      confirm="Save"
      disabled={name === ''}
      wide
      mutation={updateAlertWebhookMutation}
      input={{ environment, alertWebhookId: before.alertWebhookId, ...asked }}
      done={({ secret }) => secretResult(secret, `${name} is changed.`)}
      refused={(error) => (newSecret && isOutcomeOpen(error) ? { refusal: LOST } : undefined)}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          NAME,
          {
            name: 'url',
            label: 'Another address',
            type: 'url',
            hint: `It goes to ${before.host}. Leave this empty to keep the address, which is never shown.`,
            autoComplete: 'off',
          },
          LINK,
          <KindFields key="kinds" value={kinds} onChange={(kinds) => fields.set({ kinds })} />,
          { kind: 'check', name: 'enabled', label: 'Enabled' },
          before.format === 'STANDARD' && {
            kind: 'check',
            name: 'newSecret',
            label: 'Make a new secret',
            hint: 'The present one stops signing at once. The new one is shown once.',
          },
        ]}
      />
    </ChangeDialog>
  )
}

export function DeleteAlertWebhook({ webhook, onClose }: { webhook: AlertWebhook; onClose: () => void }) {
  const environment = useEnvironment()
  const [{ alertWebhookId, name, host }] = useState(webhook)
  return (
    <ChangeDialog
      title={`Delete ${name}`}
      tone="danger"
      effect={`Nothing is sent to ${host} any more. A message that has not arrived yet is dropped.`}
      confirm="Delete the webhook"
      mutation={deleteAlertWebhookMutation}
      input={{ environment, alertWebhookId }}
      context={ALERT_WEBHOOKS}
      done={`${name} is deleted.`}
      onClose={onClose}
    />
  )
}

const LOST =
  'The answer was lost, and a new secret may sign by now that nobody has seen. Save again with “Make a new secret” to see one.'

const secretResult = (secret: string | null, done: string): ActionResult =>
  secret === null
    ? { done }
    : {
        done: (
          <>
            <p>{done}</p>
            <p>Copy the secret now. It is not shown again.</p>
            <Id of={secret} />
          </>
        ),
        isShownOnce: true,
      }

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
