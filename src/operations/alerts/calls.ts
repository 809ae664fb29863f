import { ATTEMPT_ERRORS } from '../../base/outgoing/attempt-fault.ts'
import { out, answer as plain } from '../../declare/answer.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { createAlertWebhook, deleteAlertWebhook, testAlertWebhook, updateAlertWebhook } from './alert-webhooks.ts'
import {
  createAlertWebhookRequest,
  deleteAlertWebhookRequest,
  testAlertWebhookRequest,
  updateAlertWebhookRequest,
} from './requests.ts'
import { hasArrived } from './send-message.ts'

const answer = payload('AlertWebhookPayload', {
  alertWebhook: out.orNull(out.kept('AlertWebhook'), 'The webhook after the change. Null for one that was deleted.'),
  secret: out.orNull(out.text('A secret that was made by this call, shown in this answer only. Null when none was.')),
})

export const alertAttempt = plain('One call of an alert webhook.', {
  hasArrived: out.flag('Whether the message arrived: the status is 2xx.'),
  status: out.orNull(out.int32('Null when no answer came.')),
  error: out.orNull(out.oneOf(ATTEMPT_ERRORS, { description: 'The class of the failure. Null when an answer came.' })),
  milliseconds: out.int32('The duration, in milliseconds.'),
})

export const alertCalls = [
  operatorChange({
    name: 'createAlertWebhook',
    summary:
      'Makes an alert webhook, which receives the present problems at once. A call that is repeated changes nothing. A name that another webhook has is refused.',
    request: createAlertWebhookRequest,
    answer,
    right: 'manage',
    action: 'alert_webhook.create',
    title: 'Make an alert webhook',
    target: 'environment',
    change: createAlertWebhook,
  }),
  operatorChange({
    name: 'updateAlertWebhook',
    summary: 'Changes an alert webhook. Members that are absent stay as they are.',
    request: updateAlertWebhookRequest,
    answer,
    right: 'manage',
    action: 'alert_webhook.update',
    title: 'Change an alert webhook',
    target: 'alertWebhookId',
    change: updateAlertWebhook,
  }),
  operatorChange({
    name: 'deleteAlertWebhook',
    summary: 'Deletes an alert webhook. A message that has not arrived is dropped.',
    request: deleteAlertWebhookRequest,
    answer,
    right: 'manage',
    action: 'alert_webhook.delete',
    title: 'Delete an alert webhook',
    target: 'alertWebhookId',
    change: deleteAlertWebhook,
  }),
  operatorAct({
    name: 'testAlertWebhook',
    summary: 'Sends a test to an alert webhook, once, and says how it went. Nothing changes.',
    request: testAlertWebhookRequest,
    answer: alertAttempt,
    right: 'manage',
    action: 'alert_webhook.test',
    title: 'Test an alert webhook',
    target: 'alertWebhookId',
    async act({ caller, service }, asked) {
      const attempt = await testAlertWebhook(service, caller, asked)
      return { outcome: { ...attempt, hasArrived: hasArrived(attempt) } }
    },
  }),
]
