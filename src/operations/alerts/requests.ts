import { urlFault } from '../../accounts/webhook/webhook-url.ts'
import { MAX_ALERT_LINK, MAX_LABEL, MAX_URL, nameFault } from '../../base/limits.ts'
import { environment, reason } from '../../declare/common.ts'
import { someOf } from '../../declare/list-fields.ts'
import { described, flag, mapped, oneOf, optional, shape, text, uuid } from '../../declare/shape.ts'
import { PROBLEM_KINDS } from '../problems/problems.ts'

/** What a webhook understands: messages of a chat service, or JSON by the rules of Standard Webhooks. */
export const ALERT_FORMATS = ['slack', 'discord', 'standard'] as const
export type AlertFormat = (typeof ALERT_FORMATS)[number]

const name = text(`The name, unique in its environment: 1 to ${MAX_LABEL} characters.`, {
  max: MAX_LABEL,
  check: nameFault,
})
const format = oneOf('What the webhook understands. It cannot change later.', ALERT_FORMATS)
const url = text('Its address: absolute, http or https, without credentials. It is stored encrypted and never shown.', {
  max: MAX_URL,
  check: urlFault,
})
const link = text("The address that messages lead to, such as the console's.", { max: MAX_ALERT_LINK, check: urlFault })
const kinds = someOf('The kinds of problems that it receives. Default, and for an empty list: all.', PROBLEM_KINDS, {
  min: 0,
})
const alertWebhookId = mapped(uuid('The id of an alert webhook.', 'AlertWebhook'), (id) => id.toLowerCase())

const ALL: readonly string[] = []

export const alertWebhooksRequest = shape({ environment })
export const createAlertWebhookRequest = shape({
  environment,
  name,
  format,
  url,
  link: optional(link),
  kinds: optional(kinds, ALL),
  reason,
})
export const updateAlertWebhookRequest = shape({
  environment,
  alertWebhookId,
  name: optional(name),
  url: optional(described(url, 'Another address. Default: the present one.')),
  link: optional(
    text('Another address that messages lead to. An empty text removes it. Default: the present one.', {
      min: 0,
      max: MAX_ALERT_LINK,
      check: (value) => (value === '' ? undefined : urlFault(value)),
    }),
  ),
  kinds: optional(
    described(kinds, 'The kinds of problems that it receives: all for an empty list. Default: the present ones.'),
  ),
  enabled: optional(
    flag('False sends nothing. When it is true again, all present problems are sent. Default: as it is.'),
  ),
  newSecret: optional(flag('True makes another secret, which signs from then on. For the format STANDARD.')),
  reason,
})
export const deleteAlertWebhookRequest = shape({ environment, alertWebhookId, reason })
export const testAlertWebhookRequest = shape({ environment, alertWebhookId })
