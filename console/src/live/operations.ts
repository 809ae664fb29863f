import { graphql } from '../graphql.ts'

export const liveEnvironmentQuery = graphql(`
  query ConsoleLiveEnvironment($environment: String!, $from: DateTime!) {
    callStatistics(environment: $environment, from: $from) { calls }
    loginStatistics(environment: $environment, from: $from) {
      total { logins }
    }
  }
`)

export const livePassQuery = graphql(`
  query ConsoleLivePass(
    $environment: String!, $scenarioId: String!, $nodeId: String!, $from: DateTime!
  ) {
    battlePassInsight(
      environment: $environment, scenarioId: $scenarioId, nodeId: $nodeId, from: $from
    ) {
      days { premium claims players }
      levels { level reachedInRange }
      completion { players }
    }
  }
`)

export const liveScenariosQuery = graphql(`
  query ConsoleLiveScenarios($environment: String!) {
    scenarios(environment: $environment, first: 100) {
      nodes { id scenarioId publishedAt }
    }
  }
`)
