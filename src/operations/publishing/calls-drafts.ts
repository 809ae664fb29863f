import { out } from '../../declare/answer.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import {
  approveDraftRequest,
  commentRequest,
  createDraftRequest,
  deleteDraftRequest,
  draftRequest,
  publishPolicyRequest,
  resolveRequest,
  saveDraftRequest,
} from './draft-requests.ts'
import {
  addComment,
  approveDraft,
  createDraft,
  deleteDraft,
  EDITING_SECONDS,
  openDraft,
  publishPolicy,
  resolveComment,
  type ShownDraft,
  saveDraft,
  setPublishPolicy,
  showDraft,
} from './drafts.ts'

const draft = out.orNull(
  out.ofType<ShownDraft>('ScenarioDraft'),
  'The draft after the change. Null when it was published or deleted.',
)
const auditedDraft = payload('AuditedDraftPayload', { draft })
const changedDraft = payload(
  'ScenarioDraftPayload',
  { draft },
  null,
  'A change of a draft, which the audit log does not have: it has what becomes of the draft.',
)

export const draftCalls = [
  operatorChange({
    name: 'createScenarioDraft',
    summary:
      'Shares a draft of a scenario with the other designers. A call that is repeated changes nothing; a name that another draft of the scenario has is refused.',
    request: createDraftRequest,
    answer: auditedDraft,
    right: 'design',
    action: 'scenario_draft.create',
    title: 'Share a draft',
    target: 'environment',
    change: createDraft,
  }),
  operatorAct({
    name: 'saveScenarioDraft',
    refusals: ['versionConflict'],
    summary:
      'Changes a shared draft. Refused when somebody else has changed it since the revision that the caller has seen. A new text is not approved.',
    request: saveDraftRequest,
    answer: changedDraft,
    right: 'design',
    action: 'scenario_draft.save',
    title: 'Change a shared draft',
    target: 'draftId',
    async act({ caller, service }, asked) {
      await saveDraft(service.transact, caller, asked)
      return { outcome: await showDraft(service.operatorPool, asked) }
    },
  }),
  operatorAct({
    name: 'openScenarioDraft',
    formerly: 'enterScenarioDraft',
    summary: `Says that the caller has a draft open, for ${EDITING_SECONDS} seconds, and answers the draft as it is now.`,
    request: draftRequest,
    answer: changedDraft,
    right: 'design',
    action: 'scenario_draft.enter',
    title: 'Open a shared draft',
    target: 'draftId',
    async act({ caller, service }, asked) {
      await openDraft(service.operatorPool, caller, asked)
      return { outcome: await showDraft(service.operatorPool, asked) }
    },
  }),
  operatorAct({
    name: 'commentOnScenarioDraft',
    summary: 'Adds a comment to a draft. A call that is repeated with its key changes nothing.',
    request: commentRequest,
    answer: changedDraft,
    right: 'design',
    action: 'scenario_draft.comment',
    title: 'Comment on a shared draft',
    target: 'draftId',
    async act({ caller, service }, asked) {
      await addComment(service.operatorPool, caller, asked)
      return { outcome: await showDraft(service.operatorPool, asked) }
    },
  }),
  operatorAct({
    name: 'resolveDraftComment',
    summary: 'Marks a comment of a draft as done.',
    request: resolveRequest,
    answer: changedDraft,
    right: 'design',
    action: 'scenario_draft.comment',
    target: 'draftId',
    async act({ caller, service }, asked) {
      await resolveComment(service.operatorPool, caller, asked)
      return { outcome: await showDraft(service.operatorPool, asked) }
    },
  }),
  operatorChange({
    name: 'approveScenarioDraft',
    refusals: ['versionConflict'],
    summary:
      'Approves a revision of a draft, as a second person: one who has not changed its text since the last approval. A later change is not approved.',
    request: approveDraftRequest,
    answer: auditedDraft,
    right: 'design',
    action: 'scenario_draft.approve',
    title: 'Approve a shared draft',
    target: 'draftId',
    change: approveDraft,
  }),
  operatorChange({
    name: 'deleteScenarioDraft',
    summary: 'Deletes a shared draft with its comments.',
    request: deleteDraftRequest,
    answer: auditedDraft,
    right: 'design',
    action: 'scenario_draft.delete',
    title: 'Delete a shared draft',
    target: 'draftId',
    change: deleteDraft,
  }),
  operatorChange({
    name: 'setPublishPolicy',
    summary:
      'Sets what an environment demands of publications, over GraphQL and REST, of every role. Publications that are planned already stay planned.',
    request: publishPolicyRequest,
    answer: payload('SetPublishPolicyPayload', { policy: out.of(publishPolicy, 'The policy after the change.') }),
    right: 'manage',
    action: 'publish_policy.set',
    title: 'Set the approval of publications',
    target: 'environment',
    change: (changing, asked) => setPublishPolicy(changing, asked.environmentId, asked),
  }),
]
