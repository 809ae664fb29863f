import { graphql } from '../graphql.ts'

export const createTokenMutation = graphql(`
  mutation ConsoleSignIn($input: CreateOperatorTokenInput!) {
    createOperatorToken(input: $input) {
      token expiresAt
      auditEntry { id }
    }
  }
`)
