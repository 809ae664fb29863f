import { graphql } from '../graphql.ts'

export const scenariosQuery = graphql(`
  query ConsoleScenarios($environment: String!, $after: String) {
    scenarios(environment: $environment, first: 50, after: $after) {
      nodes { id scenarioId version publishedAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export const definitionQuery = graphql(`
  query ConsoleDefinition($environment: String!, $scenarioId: String!) {
    scenario(environment: $environment, scenarioId: $scenarioId) {
      id version publishedAt definition
    }
  }
`)
