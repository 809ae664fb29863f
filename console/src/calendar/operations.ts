import { jobFragment } from '../grants/operations.ts'
import { graphql } from '../graphql.ts'

export const calendarQuery = graphql(
  `
    query ConsoleCalendar($environment: String!, $from: DateTime!, $to: DateTime!) {
      calendar(environment: $environment, from: $from, to: $to) {
        seasons { scenarioId nodeId phase phases { phase startsAt } nextScenarioId publicationId }
        plannedSeasons { scenarioId nodeId phase phases { phase startsAt } nextScenarioId publicationId }
        boosts { id boostId name state percent startsAt endsAt endedAt scenarios }
        publications { id publicationId scenarioId publishAt state version failure reason }
        grantJobs { ...ConsoleGrantJob }
        conflicts { kind scenarioId nodeId boostId publicationId startsAt endsAt }
      }
    }
  `,
  [jobFragment],
)
