import { graphql } from '../graphql.ts'

export const liveFiguresQuery = graphql(`
  query ConsoleLiveFigures(
    $environment: String!, $scenarioId: String!, $nodeId: String!, $from: DateTime!
  ) {
    battlePassInsight(
      environment: $environment, scenarioId: $scenarioId, nodeId: $nodeId, from: $from
    ) {
      days { startsAt premium claims players }
      levels { level reachedInRange }
    }
    callStatistics(environment: $environment, from: $from) { calls }
    loginStatistics(environment: $environment, from: $from) {
      total { logins }
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
