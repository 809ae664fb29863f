import { graphql } from '../graphql.ts'

export const sharedViewsQuery = graphql(`
  query ConsoleSharedViews($page: ConsolePage!) {
    sharedViews(page: $page) { id sharedViewId name query sharedBy }
  }
`)

export const shareViewMutation = graphql(`
  mutation ConsoleShareView($input: ShareViewInput!) {
    shareView(input: $input) {
      sharedView { id name query }
      auditEntry { id }
    }
  }
`)

export const deleteSharedViewMutation = graphql(`
  mutation ConsoleDeleteSharedView($input: DeleteSharedViewInput!) {
    deleteSharedView(input: $input) {
      auditEntry { id }
    }
  }
`)
