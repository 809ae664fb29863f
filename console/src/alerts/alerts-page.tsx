import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { textOf } from '../ui/errors.ts'
import { Page } from '../ui/page.tsx'
import { Answer, Empty } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { Ago } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import { ALERT_WEBHOOKS, CreateAlertWebhook, DeleteAlertWebhook, EditAlertWebhook } from './alert-dialogs.tsx'
import { alertWebhooksQuery, testAlertWebhookMutation } from './operations.ts'
import { type AlertWebhook, attemptText, formatName, kindsText } from './words.ts'

type Open = 'create' | { readonly kind: 'edit' | 'delete'; readonly webhook: AlertWebhook }

/** The receivers of problems: chat channels, and services of the studio. */
export default function AlertsPage() {
  const environment = useEnvironment()
  const [open, setOpen] = useState<Open>()
  const [result, read] = useQuery({
    query: alertWebhooksQuery,
    variables: { environment },
    requestPolicy: 'cache-and-network',
    context: ALERT_WEBHOOKS,
  })
  const close = () => setOpen(undefined)
  return (
    <Page
      title="Alerts"
      actions={
        <RoleButton needs="manage" tone="primary" onClick={() => setOpen('create')}>
          New alert webhook
        </RoleButton>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ alertWebhooks }) => (
          <Table
            caption={`Alert webhooks of ${environment}`}
            rows={alertWebhooks}
            keyOf={({ id }) => id}
            empty={
              <Empty title={`Nobody receives alerts of ${environment} yet`}>
                An alert webhook notifies a channel of Slack or Discord, or a service of yours, of problems: logins that
                fail, a season that is not settled, a grant that failed.
              </Empty>
            }
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Sends to', cell: ({ format, host }) => `${formatName(format)}, ${host}` },
              { title: 'Receives', cell: ({ kinds }) => kindsText(kinds) },
              { title: 'State', cell: (webhook) => <State of={webhook} /> },
              { title: 'Last message', cell: ({ sentAt }) => <Ago at={sentAt} /> },
              {
                title: 'Actions',
                cell: (webhook) => (
                  <span className="actions">
                    <Test webhook={webhook} />
                    <RoleButton
                      needs="manage"
                      tone="quiet"
                      label={`Change ${webhook.name}`}
                      onClick={() => setOpen({ kind: 'edit', webhook })}
                    >
                      Change
                    </RoleButton>
                    <RoleButton
                      needs="manage"
                      tone="quiet"
                      label={`Delete ${webhook.name}`}
                      onClick={() => setOpen({ kind: 'delete', webhook })}
                    >
                      Delete
                    </RoleButton>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Answer>
      {open === 'create' && <CreateAlertWebhook onClose={close} />}
      {typeof open === 'object' && open.kind === 'edit' && <EditAlertWebhook webhook={open.webhook} onClose={close} />}
      {typeof open === 'object' && open.kind === 'delete' && (
        <DeleteAlertWebhook webhook={open.webhook} onClose={close} />
      )}
    </Page>
  )
}

function State({ of: { enabled, sentAt, failure, failingSince } }: { of: AlertWebhook }) {
  if (!enabled) return <span className="badge">disabled</span>
  if (failure !== null)
    return (
      <>
        <span className="badge bad">fails</span> {failure}, since <Ago at={failingSince} />
      </>
    )
  return sentAt === null ? <span className="badge">ready</span> : <span className="badge good">works</span>
}

/** Sends a test, and says how it went. */
function Test({ webhook: { alertWebhookId, name } }: { webhook: AlertWebhook }) {
  const environment = useEnvironment()
  const client = useClient()
  const [isBusy, setBusy] = useState(false)

  async function send(): Promise<void> {
    setBusy(true)
    const input = { environment, alertWebhookId }
    const { data, error } = await client.mutation(testAlertWebhookMutation, { input })
    const attempt = data?.testAlertWebhook
    if (attempt) toast(attemptText(attempt), attempt.hasArrived ? 'success' : 'error')
    else if (error) toast(textOf(error), 'error')
    setBusy(false)
  }
  return (
    <RoleButton needs="manage" tone="quiet" label={`Send a test to ${name}`} busy={isBusy} onClick={send}>
      Test
    </RoleButton>
  )
}
