import { requirePlatform } from '../../callers/access.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { answerType, enumType } from '../../declare/graphql/shapes.ts'
import { ProblemKindType } from '../problems/graphql.ts'
import type { ProblemKind } from '../problems/problems.ts'
import { alertAttempt } from './calls.ts'
import { ALERT_FORMATS, type AlertFormat } from './requests.ts'

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
    'A webhook that receives the problems of an environment when they begin, and when they are over. The service looks for problems every 30 seconds. It sends a message that does not arrive again until it does, with pauses that grow up to an hour.',
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
      description: 'The kinds of problems that it receives. Empty for all.',
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

answerType('AlertAttempt', alertAttempt)
