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
