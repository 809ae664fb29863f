import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { Refusal } from '../base/errors.ts'
import { MAX_DRAFTS } from '../base/limits.ts'
import { type AttemptedAction, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { builder } from '../declare/graphql/builder.ts'
import type { Context } from '../declare/graphql/context.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { answerType, argsOf, inputOf } from '../declare/graphql/shapes.ts'
import { findOwnEnvironment } from '../players/graphql-readable.ts'
import { findEnvironment } from '../projects/projects.ts'
import { readChange } from '../roles/graphql-change.ts'
import {
  approveDraftRequest,
  commentRequest,
  createDraftRequest,
  deleteDraftRequest,
  draftRequest,
  draftsRequest,
  resolveRequest,
  saveDraftRequest,
} from './draft-requests.ts'
import {
  addComment,
  approveDraft,
  type Comment,
  createDraft,
  type Draft,
  deleteDraft,
  EDITING_SECONDS,
  enterDraft,
  listDrafts,
  publishPolicy,
  readComments,
  readDefinition,
  readDraft,
  readEditors,
  readPublishPolicy,
  resolveComment,
  saveDraft,
} from './drafts.ts'

/** The comments are read for a whole list at once. */
type Shown = Draft & { readonly environment: string; readonly comments?: readonly Comment[] }

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

const DraftType = builder.objectRef<Shown>('ScenarioDraft').implement({
  description: 'A draft of a scenario that designers share. It applies to nobody before it is published.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, id }) => globalId('ScenarioDraft', environment, id) }),
    draftId: t.exposeID('id', { description: 'The id, for the mutations of drafts.' }),
    environment: t.exposeString('environment'),
    scenarioId: t.exposeString('scenarioId'),
    name: t.exposeString('name', { description: 'The name, of which a scenario has one draft.' }),
    definitionText: t.string({
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
      description: `The people who have it open: who called \`enterScenarioDraft\` in the last ${EDITING_SECONDS} seconds.`,
      resolve: async ({ id }, _args, { service }) => [...(await readEditors(service.operatorPool, id))],
    }),
  }),
})

builder.queryFields((t) => ({
  scenarioDrafts: t.field({
    type: [DraftType],
    description: `The shared drafts of an environment, the last changed first: up to ${MAX_DRAFTS}.`,
    args: argsOf(draftsRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'read')
      const { environment, scenarioId } = draftsRequest.readInput(args)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const found = await listDrafts(context.service.operatorPool, environmentId, scenarioId)
      const comments = await readComments(
        context.service.operatorPool,
        found.map(({ id }) => id),
      )
      return found.map((draft) => ({ ...draft, environment, comments: comments.get(draft.id) ?? [] }))
    },
  }),
  scenarioDraft: t.field({
    type: DraftType,
    nullable: true,
    description: 'One shared draft. Null for an unknown one, and for one that was published or deleted.',
    args: argsOf(draftRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'read')
      const { environment, draftId } = draftRequest.readInput(args)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const found = await readDraft(context.service.operatorPool, environmentId, draftId)
      return found && { ...found, environment }
    },
  }),
}))

nodesOf('ScenarioDraft', ['name', 'uuid'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const found = await readDraft(context.service.operatorPool, environmentId, id)
  return found && { ...found, environment }
})

interface Changed {
  readonly environment: string
  readonly environmentId: string
  readonly draftId: string
}

const draftField = {
  type: DraftType,
  nullable: true,
  description: 'The draft after the change. Null when it was published or deleted.',
  resolve: async ({ environment, environmentId, draftId }: Changed, _args: object, { service }: Context) => {
    const found = await readDraft(service.operatorPool, environmentId, draftId)
    return found && { ...found, environment }
  },
} as const

const DraftPayload = builder.objectRef<Changed>('ScenarioDraftPayload').implement({
  description: 'A change of a draft, which the audit log does not have: it has what becomes of the draft.',
  fields: (t) => ({ draft: t.field(draftField) }),
})
const AuditedPayload = builder.objectRef<Changed & Audited>('AuditedDraftPayload').implement({
  fields: (t) => ({ draft: t.field(draftField) }),
})
addAuditEntry(AuditedPayload, 'Null when nothing changed.')

const PolicyType = answerType('PublishPolicy', publishPolicy)

builder.prismaObjectField('Environment', 'publishPolicy', (t) =>
  t.field({
    type: PolicyType,
    description: 'What the environment demands of publications.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => readPublishPolicy(service.operatorPool, id),
  }),
)

/** Runs a change as a designer. A refused caller is in the audit log. */
async function change<Asked extends { readonly environment: string }, Done extends object>(
  context: Context,
  attempt: AttemptedAction,
  read: () => Asked,
  apply: (caller: PlatformCaller, asked: Asked & { readonly environmentId: string }) => Promise<Done>,
) {
  const { caller, asked } = await readChange(context, 'design', attempt, read)
  const { environment, environmentId } = asked
  return { environment, environmentId, caller, ...(await apply(caller, asked)) }
}

builder.mutationFields((t) => ({
  createScenarioDraft: t.field({
    type: AuditedPayload,
    description:
      'Shares a draft of a scenario with the other designers. A call that is repeated changes nothing; a name that another draft of the scenario has is refused.',
    args: inputOf('CreateScenarioDraftInput', createDraftRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.createDraft, target: input.environment }
      const read = () => createDraftRequest.readInput(input)
      const done = await change(context, attempt, read, (caller, asked) =>
        createDraft(context.service.operatorPool, caller, asked),
      )
      return { ...done, audit: auditRef(done.caller, done.auditId) }
    },
  }),
  saveScenarioDraft: t.field({
    type: DraftPayload,
    description:
      'Changes a shared draft. Refused when somebody else has changed it since the revision that the caller has seen. A new text is not approved.',
    args: inputOf('SaveScenarioDraftInput', saveDraftRequest),
    resolve: (_root, { input }, context) => {
      const attempt = { action: ACTIONS.saveDraft, target: input.draftId }
      const read = () => saveDraftRequest.readInput(input)
      return change(context, attempt, read, async (caller, asked) => {
        await saveDraft(context.service.operatorPool, caller, asked)
        return { draftId: asked.draftId }
      })
    },
  }),
  enterScenarioDraft: t.field({
    type: DraftPayload,
    description: `Says that the caller has a draft open, for ${EDITING_SECONDS} seconds, and answers the draft as it is now.`,
    args: inputOf('EnterScenarioDraftInput', draftRequest),
    resolve: (_root, { input }, context) => {
      const attempt = { action: ACTIONS.enterDraft, target: input.draftId }
      const read = () => draftRequest.readInput(input)
      return change(context, attempt, read, async (caller, asked) => {
        await enterDraft(context.service.operatorPool, caller, asked)
        return { draftId: asked.draftId }
      })
    },
  }),
  commentOnScenarioDraft: t.field({
    type: DraftPayload,
    description: 'Adds a comment to a draft. A call that is repeated with its key changes nothing.',
    args: inputOf('CommentOnScenarioDraftInput', commentRequest),
    resolve: (_root, { input }, context) => {
      const attempt = { action: ACTIONS.commentDraft, target: input.draftId }
      const read = () => commentRequest.readInput(input)
      return change(context, attempt, read, async (caller, asked) => {
        await addComment(context.service.operatorPool, caller, asked)
        return { draftId: asked.draftId }
      })
    },
  }),
  resolveDraftComment: t.field({
    type: DraftPayload,
    description: 'Marks a comment of a draft as done.',
    args: inputOf('ResolveDraftCommentInput', resolveRequest),
    resolve: (_root, { input }, context) => {
      const attempt = { action: ACTIONS.commentDraft, target: input.draftId }
      const read = () => resolveRequest.readInput(input)
      return change(context, attempt, read, async (caller, asked) => {
        await resolveComment(context.service.operatorPool, caller, asked)
        return { draftId: asked.draftId }
      })
    },
  }),
  approveScenarioDraft: t.field({
    type: AuditedPayload,
    description:
      'Approves a revision of a draft, as a second person: one who has not changed its text since the last approval. A later change is not approved.',
    args: inputOf('ApproveScenarioDraftInput', approveDraftRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.approveDraft, target: input.draftId }
      const read = () => approveDraftRequest.readInput(input)
      const done = await change(context, attempt, read, async (caller, asked) => {
        try {
          const auditId = await approveDraft(context.service.operatorPool, caller, asked)
          return { draftId: asked.draftId, auditId }
        } catch (refusal) {
          // The person is the one who wrote it.
          if (refusal instanceof Refusal && refusal.kind === 'forbidden')
            await context.service.auditDenied(caller, attempt.action, asked.draftId)
          throw refusal
        }
      })
      return { ...done, audit: auditRef(done.caller, done.auditId) }
    },
  }),
  deleteScenarioDraft: t.field({
    type: AuditedPayload,
    description: 'Deletes a shared draft with its comments.',
    args: inputOf('DeleteScenarioDraftInput', deleteDraftRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.deleteDraft, target: input.draftId }
      const read = () => deleteDraftRequest.readInput(input)
      const done = await change(context, attempt, read, async (caller, asked) => ({
        draftId: asked.draftId,
        auditId: await deleteDraft(context.service.operatorPool, caller, asked),
      }))
      return { ...done, audit: auditRef(done.caller, done.auditId) }
    },
  }),
}))
