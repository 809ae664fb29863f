import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { LONG } from '../../declare/graphql/field-marks.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { answerType } from '../../declare/graphql/shapes.ts'
import { findOwnEnvironment } from '../../players/graphql-readable.ts'
import {
  type Comment,
  EDITING_SECONDS,
  publishPolicy,
  readComments,
  readDefinition,
  readDraft,
  readEditors,
  readPublishPolicy,
  type ShownDraft,
} from './drafts.ts'

/** The comments are read for a whole list at once. */
type Shown = ShownDraft & { readonly comments?: readonly Comment[] }

const PERSON = 'The person, or `platform_key:` and its id where the call named none.'

const CommentType = builder.objectRef<Comment>('DraftComment').implement({
  description: 'What a designer said about a draft.',
  fields: (t) => ({
    commentId: t.exposeID('id', { description: 'The id, for `resolveDraftComment`.' }),
    revision: t.exposeInt('revision', { description: 'The revision of the draft that it is about.' }),
    path: t.exposeString('path', {
      nullable: true,
      description: 'The place in the definition. Null for a comment on the whole draft.',
    }),
    text: t.exposeString('text', { description: 'What was said.' }),
    createdBy: t.exposeString('createdBy', { description: PERSON }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    resolvedBy: t.exposeString('resolvedBy', {
      nullable: true,
      description: 'The person who marked it as done. Null until then.',
    }),
    resolvedAt: t.expose('resolvedAt', { type: 'DateTime', nullable: true, description: 'Null until it is done.' }),
  }),
})

interface Approval {
  readonly revision: number
  readonly by: string
  readonly at: Date
  readonly isCurrent: boolean
}

const ApprovalType = builder.objectRef<Approval>('DraftApproval').implement({
  description: 'The last approval of a draft by a second person.',
  fields: (t) => ({
    revision: t.exposeInt('revision', { description: 'The revision that was approved.' }),
    by: t.exposeString('by', { description: PERSON }),
    at: t.expose('at', { type: 'DateTime', description: 'The time of the approval.' }),
    isCurrent: t.exposeBoolean('isCurrent', { description: 'False when the draft was changed since.' }),
  }),
})

builder.objectRef<Shown>('ScenarioDraft').implement({
  description: 'A draft of a scenario that designers share. It applies to nobody before it is published.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, id }) => globalId('ScenarioDraft', environment, id) }),
    draftId: t.exposeID('id', { description: 'The id, for the mutations of drafts.' }),
    environment: t.exposeString('environment'),
    scenarioId: t.exposeString('scenarioId'),
    name: t.exposeString('name', { description: 'The name, of which a scenario has one draft.' }),
    definitionText: t.string({
      extensions: LONG,
      description: 'The text, byte for byte. It can have faults.',
      resolve: async ({ id }, _args, { service }) => (await readDefinition(service.operatorPool, id)) ?? '',
    }),
    baseVersion: t.exposeInt('baseVersion', {
      description: 'The version that it began with; 0 for a scenario without one.',
    }),
    revision: t.exposeInt('revision', { description: 'The number of its text, from 1.' }),
    createdBy: t.exposeString('createdBy', { description: PERSON }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    changedBy: t.exposeString('changedBy', { description: `Who wrote the present text. ${PERSON}` }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'The time of the last change.' }),
    approval: t.field({
      type: ApprovalType,
      nullable: true,
      description: 'The last approval by a second person. Null without one.',
      resolve: ({ approvedRevision, approvedBy, approvedAt, revision }) =>
        approvedRevision === null || approvedBy === null || approvedAt === null
          ? null
          : { revision: approvedRevision, by: approvedBy, at: approvedAt, isCurrent: approvedRevision === revision },
    }),
    comments: t.field({
      type: [CommentType],
      description: 'The comments, in the order in which they were made.',
      resolve: async ({ id, comments }, _args, { service }) => [
        ...(comments ?? (await readComments(service.operatorPool, [id])).get(id) ?? []),
      ],
    }),
    editors: t.stringList({
      description: `The people who have it open: who called \`openScenarioDraft\` in the last ${EDITING_SECONDS} seconds.`,
      resolve: async ({ id }, _args, { service }) => [...(await readEditors(service.operatorPool, id))],
    }),
  }),
})

nodesOf('ScenarioDraft', ['name', 'uuid'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const found = await readDraft(context.service.operatorPool, environmentId, id)
  return found && { ...found, environment }
})

const PolicyType = answerType('PublishPolicy', publishPolicy)

builder.prismaObjectField('Environment', 'publishPolicy', (t) =>
  t.field({
    type: PolicyType,
    description: 'What the environment demands of publications.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => readPublishPolicy(service.operatorPool, id),
  }),
)
