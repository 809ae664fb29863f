import { graphql } from '../graphql.ts'

export const limitsFragment = graphql(`
  fragment ConsoleRoleLimits on RoleLimits @_unmask {
    role readsOnly maxCredit maxXp maxGiftsPerDay maxJobPlayers
  }
`)

export const roleLimitsQuery = graphql(
  `
    query ConsoleRoleLimits {
      project {
        id
        environments { id name roleLimits { ...ConsoleRoleLimits } }
      }
    }
  `,
  [limitsFragment],
)

export const setRoleLimitsMutation = graphql(
  `
    mutation ConsoleSetRoleLimits($input: SetRoleLimitsInput!) {
      setRoleLimits(input: $input) {
        limits { ...ConsoleRoleLimits }
        auditEntry { id }
      }
    }
  `,
  [limitsFragment],
)

export const signOnFragment = graphql(`
  fragment ConsoleSingleSignOn on SingleSignOn @_unmask {
    title issuer clientId hasClientSecret consoleUrl redirectUri scopes groupsClaim sessionHours isOn updatedAt
    groups { group role isOn }
  }
`)

export const signOnQuery = graphql(
  `
    query ConsoleSingleSignOnQuery {
      singleSignOn { ...ConsoleSingleSignOn }
    }
  `,
  [signOnFragment],
)

export const setSignOnMutation = graphql(
  `
    mutation ConsoleSetSingleSignOn($input: SetSingleSignOnInput!) {
      setSingleSignOn(input: $input) {
        singleSignOn { ...ConsoleSingleSignOn }
        auditEntry { id }
      }
    }
  `,
  [signOnFragment],
)

export const testSignOnMutation = graphql(`
  mutation ConsoleTestSingleSignOn($input: TestSingleSignOnInput!) {
    testSingleSignOn(input: $input) {
      tests { of result message }
    }
  }
`)

export const deleteSignOnMutation = graphql(`
  mutation ConsoleDeleteSingleSignOn($input: DeleteSingleSignOnInput!) {
    deleteSingleSignOn(input: $input) {
      singleSignOn { title }
      auditEntry { id }
    }
  }
`)
