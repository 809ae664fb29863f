import { graphql } from '../graphql.ts'

export const boostFragment = graphql(`
  fragment ConsoleBoost on Boost {
    id boostId name state percent startsAt endsAt endedAt scenarios sources audience
  }
`)

export const boostsQuery = graphql(
  `
    query ConsoleBoosts($environment: String!, $after: String) {
      boosts(environment: $environment, first: 50, after: $after) {
        nodes { ...ConsoleBoost }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [boostFragment],
)

export const previewBoostQuery = graphql(`
  query ConsolePreviewBoost(
    $environment: String!, $percent: Int!, $scenarios: [String!], $sources: [String!],
    $audience: BoostAudience, $days: Int
  ) {
    previewBoost(
      environment: $environment, percent: $percent, scenarios: $scenarios, sources: $sources,
      audience: $audience, days: $days
    ) {
      players xp levelGained
    }
  }
`)

export const createBoostMutation = graphql(
  `
    mutation ConsoleCreateBoost($input: CreateBoostInput!) {
      createBoost(input: $input) {
        boost { ...ConsoleBoost }
        auditEntry { id }
      }
    }
  `,
  [boostFragment],
)

export const updateBoostMutation = graphql(
  `
    mutation ConsoleUpdateBoost($input: UpdateBoostInput!) {
      updateBoost(input: $input) {
        boost { ...ConsoleBoost }
        auditEntry { id }
      }
    }
  `,
  [boostFragment],
)

export const endBoostMutation = graphql(
  `
    mutation ConsoleEndBoost($input: EndBoostInput!) {
      endBoost(input: $input) {
        boost { ...ConsoleBoost }
        auditEntry { id }
      }
    }
  `,
  [boostFragment],
)
