import { createGuardedJson } from '../accounts/id-tokens/guarded-json.ts'
import { createWebhook } from '../accounts/webhook/webhook.ts'
import type { Config } from '../base/config.ts'
import { createAlertSender } from '../operations/alerts/send-message.ts'
import { createIssuerClient } from '../project/single-sign-on/issuer-client.ts'
import type { Reports } from './reports.ts'

/** Who calls others: login webhooks, alert webhooks, and issuers of tokens. */
export function openOutgoing({ allowPrivateWebhooks }: Config, { log, metrics }: Reports) {
  const guard = { allowPrivateAddresses: allowPrivateWebhooks }
  const webhook = createWebhook({
    ...guard,
    observe: ({ status, error, milliseconds }, { projectId }) => {
      metrics.webhookAttempts.inc({ project: projectId, result: error ?? `${Math.floor((status ?? 0) / 100)}xx` })
      metrics.webhookSeconds.observe(milliseconds / 1000)
    },
    onBreaker: (isOpen, { projectId, key }) => {
      const [environment, provider] = key.split('/')
      const about = { project: projectId, environment, provider }
      if (isOpen)
        log.warn(about, 'a login webhook keeps failing: its calls fail at once, but for a probe every five seconds')
      else log.info(about, 'the calls of a login webhook are made again')
    },
  })
  return {
    webhook,
    alertSender: createAlertSender(guard),
    issuerClient: createIssuerClient(guard),
    documents: createGuardedJson(guard),
  }
}
