import type { ResultOf } from '../graphql.ts'
import { errorName } from '../providers/words.ts'
import type { alertWebhooksQuery, testAlertWebhookMutation } from './operations.ts'

export type AlertWebhook = ResultOf<typeof alertWebhooksQuery>['alertWebhooks'][number]
export type Format = AlertWebhook['format']
export type Kind = AlertWebhook['kinds'][number]
type Attempt = NonNullable<ResultOf<typeof testAlertWebhookMutation>['testAlertWebhook']>

export const FORMATS: readonly (readonly [Format, string])[] = [
  ['SLACK', 'Slack'],
  ['DISCORD', 'Discord'],
  ['STANDARD', 'JSON, signed (Standard Webhooks)'],
]

export const formatName = (format: Format): string => FORMATS.find(([one]) => one === format)?.[1] ?? format

/** In the order in which the page of today lists them. */
export const KINDS: readonly (readonly [Kind, string])[] = [
  ['SECRETS_UNREADABLE', 'Stored secrets cannot be read'],
  ['LOGINS_FAIL', 'Logins fail by their provider'],
  ['XP_LIMITED', 'Limits hold back much xp'],
  ['SETTLEMENT_LATE', 'A season is not settled in time'],
  ['SETTLEMENT_INCOMPLETE', 'A settlement could not grant all'],
  ['PUBLICATION_FAILED', 'A planned publication failed'],
  ['GRANT_JOB_FAILED', 'A grant failed'],
  ['GRANT_JOB_PAUSED', 'A grant is paused'],
  ['GRANT_JOB_AWAITS_APPROVAL', 'A grant awaits approval'],
  ['ALERTS_FAIL', 'Alerts do not arrive'],
]

/** The problems that a webhook receives. */
export function kindsText(kinds: readonly Kind[]): string {
  if (kinds.length === 0) return 'everything'
  return KINDS.flatMap(([kind, text]) => (kinds.includes(kind) ? [text] : [])).join('; ')
}

/** How a test went, in a sentence. */
export function attemptText({ hasArrived, status, error, milliseconds }: Attempt): string {
  if (hasArrived) return `The test arrived, in ${milliseconds} ms. Look for it where the alerts go.`
  if (error !== null) return `The test did not arrive: ${errorName(error)}.`
  return `The test did not arrive: the webhook answered with status ${status}.`
}
