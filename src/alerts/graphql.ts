import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { builder } from '../declare/graphql/builder.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { argsOf, enumType, inputOf } from '../declare/graphql/shapes.ts'
import { WebhookErrorType } from '../login/log/graphql-login-log.ts'
import { ProblemKindType } from '../problems/graphql.ts'
import type { ProblemKind } from '../problems/problems.ts'
import { findEnvironment } from '../projects/projects.ts'
import { readChange } from '../roles/graphql-change.ts'
import {
  type AlertWebhookChange,
  createAlertWebhook,
  deleteAlertWebhook,
  testAlertWebhook,
  updateAlertWebhook,
} from './alert-webhooks.ts'
import {
  ALERT_FORMATS,
  type AlertFormat,
  alertWebhooksRequest,
  createAlertWebhookRequest,
  deleteAlertWebhookRequest,
  testAlertWebhookRequest,
  updateAlertWebhookRequest,
} from './requests.ts'
import { type AlertAttempt, hasArrived } from './send-message.ts'

const FormatType = enumType('AlertFormat', ALERT_FORMATS, {
  description: 'What an alert webhook understands.',
  values: {
    slack: "An incoming webhook of Slack, or of a service that takes Slack's messages.",
    discord: 'A webhook of a Discord channel.',
    standard:
      'JSON by the rules of Standard Webhooks, signed with a secret: `type` is `problems.changed`, and `data` has the problems that `began` and `ended`.',
  },
})

builder.prismaObject('AlertWebhook', {
  description:
    'A webhook that is told which problems of an environment began, and which are over. It is looked for them every half minute. A message that does not arrive is sent again until it does, with longer and longer pauses up to an hour.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('AlertWebhook', id) }),
    alertWebhookId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    name: t.exposeString('name', { description: 'The name, for operators.' }),
    format: t.field({
      type: FormatType,
      description: 'What it understands.',
      resolve: ({ format }) => format as AlertFormat,
    }),
    host: t.exposeString('host', { description: 'The host of its address. The address itself is never shown.' }),
    link: t.exposeString('link', { nullable: true, description: 'The address that messages lead to. Null for none.' }),
    kinds: t.field({
      type: [ProblemKindType],
      description: 'The problems that it is told. Empty for all.',
      resolve: ({ kinds }) => kinds as ProblemKind[],
    }),
    enabled: t.exposeBoolean('enabled', { description: 'False while nothing is sent.' }),
    sentAt: t.expose('sentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a message arrived last. Null for never. Tests do not count.',
    }),
    failure: t.exposeString('failure', {
      nullable: true,
      description: 'Why the last attempt failed, such as `status 404`. Null when it did not.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'The first failed attempt of the message that is being sent. Null when none failed.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change by an operator.' }),
  }),
})

nodesOf('AlertWebhook', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requirePlatform(context, 'read')
  return context.prisma.alertWebhook.findFirst({ where: { id, environment: { projectId } } })
})

builder.queryField('alertWebhooks', (t) =>
  t.prismaField({
    type: ['AlertWebhook'],
    description: 'The alert webhooks of an environment, by their names.',
    args: argsOf(alertWebhooksRequest),
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'read')
      const { environment } = alertWebhooksRequest.readInput(args)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      return context.prisma.alertWebhook.findMany({ ...query, where: { environmentId }, orderBy: { name: 'asc' } })
    },
  }),
)

type Payload = Audited & Omit<AlertWebhookChange, 'auditId'>

const AlertWebhookPayload = builder.objectRef<Payload>('AlertWebhookPayload').implement({
  fields: (t) => ({
    alertWebhook: t.prismaField({
      type: 'AlertWebhook',
      nullable: true,
      description: 'The webhook after the change. Null for one that was deleted.',
      resolve: (query, { alertWebhookId: id }, _args, { prisma }) =>
        prisma.alertWebhook.findUnique({ ...query, where: { id } }),
    }),
    secret: t.exposeString('secret', {
      nullable: true,
      description: 'A secret that was made by this call, shown in this answer only. Null when none was.',
    }),
  }),
})
addAuditEntry(AlertWebhookPayload, 'Null when nothing changed.')

const AlertAttemptType = builder.objectRef<AlertAttempt>('AlertAttempt').implement({
  description: 'One call of an alert webhook.',
  fields: (t) => ({
    hasArrived: t.boolean({ description: 'Whether the message arrived: the status is 2xx.', resolve: hasArrived }),
    status: t.exposeInt('status', { nullable: true, description: 'Null when no answer came.' }),
    error: t.expose('error', {
      type: WebhookErrorType,
      nullable: true,
      description: 'The class of the failure. Null when an answer came.',
    }),
    milliseconds: t.exposeInt('milliseconds'),
  }),
})

async function payloadOf(caller: PlatformCaller, changed: Promise<AlertWebhookChange>): Promise<Payload> {
  const { auditId, ...change } = await changed
  return { ...change, audit: auditRef(caller, auditId) }
}

builder.mutationFields((t) => ({
  createAlertWebhook: t.field({
    type: AlertWebhookPayload,
    description:
      'Makes an alert webhook, which is told the present problems at once. A call that is repeated changes nothing; a name that another one has is refused.',
    args: inputOf('CreateAlertWebhookInput', createAlertWebhookRequest),
    resolve: async (_root, { input }, context) => {
      const about = { action: ACTIONS.createAlertWebhook, target: input.environment }
      const { caller, asked } = await readChange(context, 'manage', about, () =>
        createAlertWebhookRequest.readInput(input),
      )
      return payloadOf(caller, createAlertWebhook(context.service, caller, asked))
    },
  }),
  updateAlertWebhook: t.field({
    type: AlertWebhookPayload,
    description: 'Changes an alert webhook. Members that are absent stay as they are.',
    args: inputOf('UpdateAlertWebhookInput', updateAlertWebhookRequest),
    resolve: async (_root, { input }, context) => {
      const about = { action: ACTIONS.updateAlertWebhook, target: input.alertWebhookId }
      const { caller, asked } = await readChange(context, 'manage', about, () =>
        updateAlertWebhookRequest.readInput(input),
      )
      return payloadOf(caller, updateAlertWebhook(context.service, caller, asked))
    },
  }),
  deleteAlertWebhook: t.field({
    type: AlertWebhookPayload,
    description: 'Deletes an alert webhook. A message that has not arrived is dropped.',
    args: inputOf('DeleteAlertWebhookInput', deleteAlertWebhookRequest),
    resolve: async (_root, { input }, context) => {
      const about = { action: ACTIONS.deleteAlertWebhook, target: input.alertWebhookId }
      const { caller, asked } = await readChange(context, 'manage', about, () =>
        deleteAlertWebhookRequest.readInput(input),
      )
      return payloadOf(caller, deleteAlertWebhook(context.service, caller, asked))
    },
  }),
  testAlertWebhook: t.field({
    type: AlertAttemptType,
    description: 'Sends a test to an alert webhook, once, and says how it went. Nothing changes.',
    args: inputOf('TestAlertWebhookInput', testAlertWebhookRequest),
    resolve: async (_root, { input }, context) => {
      const about = { action: ACTIONS.testAlertWebhook, target: input.alertWebhookId }
      const { caller, asked } = await readChange(context, 'manage', about, () =>
        testAlertWebhookRequest.readInput(input),
      )
      return testAlertWebhook(context.service, caller, asked)
    },
  }),
}))
