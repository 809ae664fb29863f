import { builder } from '../../declare/graphql/builder.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { PROBLEM_KINDS, type Problem } from './problems.ts'

/** Alert webhooks name kinds, too. */
export const ProblemKindType = enumType('ProblemKind', PROBLEM_KINDS, {
  description: 'What is wrong.',
  values: {
    'secrets unreadable':
      'Stored secrets of the environment or its project cannot be read, since SECRETS_KEYS lacks the key that they are sealed with.',
    'logins fail':
      'Logins through a provider fail, by its webhook or its issuer: at least 10 and one of twenty, in this hour and the one before.',
    'xp limited':
      'Limits of xp held back a part of what calls sent: at least 50 calls and one of twenty, in this hour and the one before.',
    'settlement late': 'A season closed more than a quarter of an hour ago and is not settled.',
    'settlement incomplete': 'A season was settled in the last 7 days, and some of it did not fit a balance.',
    'publication failed': 'A planned publication was refused in the last 7 days.',
    'grant job failed': 'A grant job failed in the last 7 days.',
    'grant job paused': 'A grant job is paused.',
    'grant job awaits approval': 'A grant job awaits the approval of a second person.',
    'alerts fail': 'Messages to an alert webhook have failed for 10 minutes.',
  },
})

builder.objectRef<Problem>('Problem').implement({
  description: 'Something in an environment that needs a person.',
  fields: (t) => ({
    kind: t.field({ type: ProblemKindType, description: 'What is wrong.', resolve: ({ kind }) => kind }),
    at: t.expose('at', { type: 'DateTime', description: 'When it began, or the start of the hours that show it.' }),
    text: t.exposeString('text', { description: 'A sentence about it.' }),
    provider: t.exposeString('provider', { nullable: true, description: 'The provider, if it is about logins.' }),
    scenarioId: t.exposeString('scenarioId', {
      nullable: true,
      description: 'The scenario, if it is about a season or a publication.',
    }),
    nodeId: t.exposeString('nodeId', { nullable: true, description: 'The pass, if it is about a season.' }),
    grantJobId: t.exposeID('grantJobId', { nullable: true, description: 'The grant job, if it is about one.' }),
    publicationId: t.exposeID('publicationId', {
      nullable: true,
      description: 'The planned publication, if it is about one.',
    }),
    alertWebhookId: t.exposeID('alertWebhookId', {
      nullable: true,
      description: 'The alert webhook, if it is about one.',
    }),
  }),
})
