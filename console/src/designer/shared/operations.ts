import { graphql } from '../../graphql.ts'

export const draftFragment = graphql(`
  fragment ConsoleScenarioDraft on ScenarioDraft @_unmask {
    id draftId scenarioId name definitionText baseVersion revision createdBy changedBy changedAt editors
    approval { revision by at isCurrent }
    comments { commentId revision path text createdBy createdAt resolvedBy }
  }
`)

/** Without the texts. */
export const draftsQuery = graphql(`
  query ConsoleScenarioDrafts($environment: String!, $scenarioId: String) {
    scenarioDrafts(environment: $environment, scenarioId: $scenarioId) {
      id draftId scenarioId name revision changedBy changedAt
      approval { by isCurrent }
      comments { commentId resolvedBy }
    }
  }
`)

export const draftQuery = graphql(
  `
    query ConsoleScenarioDraft($environment: String!, $draftId: ID!) {
      scenarioDraft(environment: $environment, draftId: $draftId) { ...ConsoleScenarioDraft }
    }
  `,
  [draftFragment],
)

export const createDraftMutation = graphql(
  `
    mutation ConsoleCreateDraft($input: CreateScenarioDraftInput!) {
      createScenarioDraft(input: $input) {
        draft { ...ConsoleScenarioDraft }
        auditEntry { id }
      }
    }
  `,
  [draftFragment],
)

export const saveDraftMutation = graphql(
  `
    mutation ConsoleSaveDraft($input: SaveScenarioDraftInput!) {
      saveScenarioDraft(input: $input) { draft { ...ConsoleScenarioDraft } }
    }
  `,
  [draftFragment],
)

export const openDraftMutation = graphql(
  `
    mutation ConsoleOpenDraft($input: OpenScenarioDraftInput!) {
      openScenarioDraft(input: $input) { draft { ...ConsoleScenarioDraft } }
    }
  `,
  [draftFragment],
)

export const commentMutation = graphql(
  `
    mutation ConsoleCommentOnDraft($input: CommentOnScenarioDraftInput!) {
      commentOnScenarioDraft(input: $input) { draft { ...ConsoleScenarioDraft } }
    }
  `,
  [draftFragment],
)

export const resolveMutation = graphql(
  `
    mutation ConsoleResolveComment($input: ResolveDraftCommentInput!) {
      resolveDraftComment(input: $input) { draft { ...ConsoleScenarioDraft } }
    }
  `,
  [draftFragment],
)

export const approveMutation = graphql(
  `
    mutation ConsoleApproveDraft($input: ApproveScenarioDraftInput!) {
      approveScenarioDraft(input: $input) {
        draft { ...ConsoleScenarioDraft }
        auditEntry { id }
      }
    }
  `,
  [draftFragment],
)

export const deleteDraftMutation = graphql(`
  mutation ConsoleDeleteDraft($input: DeleteScenarioDraftInput!) {
    deleteScenarioDraft(input: $input) { auditEntry { id } }
  }
`)

export const publishPolicyQuery = graphql(`
  query ConsolePublishPolicy {
    project {
      id
      environments { id name publishPolicy { requiresApproval } }
    }
  }
`)

export const setPublishPolicyMutation = graphql(`
  mutation ConsoleSetPublishPolicy($input: SetPublishPolicyInput!) {
    setPublishPolicy(input: $input) {
      policy { requiresApproval }
      auditEntry { id }
    }
  }
`)
