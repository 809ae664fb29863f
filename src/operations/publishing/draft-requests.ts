import { MAX_DRAFT, MAX_ID, MAX_NAME, MAX_NOTE } from '../../base/limits.ts'
import { environment, reason, requiredKey, scenarioId } from '../../declare/common.ts'
import { described, flag, int32, mapped, optional, type RequestOf, shape, text, uuid } from '../../declare/shape.ts'

const draftId = mapped(uuid("A draft's id.", 'ScenarioDraft'), (id) => id.toLowerCase())
const name = text(`The name: 1 to ${MAX_NAME} characters. Another draft of the scenario has another one.`, {
  max: MAX_NAME,
})
const definition = text(
  `The text of the draft: up to ${MAX_DRAFT} characters. It need not be a valid definition yet.`,
  { max: MAX_DRAFT, min: 0 },
)
const baseVersion = int32('The version that the draft began with; 0 for a scenario without one.', { min: 0 })
const revision = int32('The revision that the caller has seen.', { min: 1 })

export const draftsRequest = shape({
  environment,
  scenarioId: optional(described(scenarioId, 'Only drafts of this scenario.')),
})
export const draftRequest = shape({ environment, draftId })
export const createDraftRequest = shape({ environment, scenarioId, name, definition, baseVersion })
export const saveDraftRequest = shape({
  environment,
  draftId,
  expectedRevision: described(revision, 'Refused with `VERSION_CONFLICT` unless this revision is current.'),
  definition,
  baseVersion: optional(described(baseVersion, 'Another version, when the changes were carried over to it.')),
  name: optional(described(name, 'Another name. Default: the present one.')),
})
export const deleteDraftRequest = shape({ environment, draftId, reason })
export const approveDraftRequest = shape({
  environment,
  draftId,
  revision: described(revision, 'The revision that is approved. Refused with `VERSION_CONFLICT` unless it is current.'),
  reason,
})
export const commentRequest = shape({
  environment,
  draftId,
  text: text(`What others should know or change: 1 to ${MAX_NOTE} characters.`, { max: MAX_NOTE }),
  path: optional(text('The place in the definition, such as `nodes[2].levels[4]`.', { max: MAX_ID })),
  idempotencyKey: described(requiredKey, 'A comment with the same key is made once.'),
})
export const resolveRequest = shape({
  environment,
  draftId,
  commentId: mapped(uuid('The `commentId` of a comment.'), (id) => id.toLowerCase()),
})
export const publishPolicyRequest = shape({
  environment,
  requiresApproval: flag(
    'True lets nobody publish a text that no second person has approved as a draft of the environment.',
  ),
  reason,
})

export type CreateDraft = RequestOf<typeof createDraftRequest>
