import { graphql } from '../graphql.ts'
import { entryFragment } from '../project/operations.ts'

/** The hours of the last 8 days. Of logins only those of the days that are compared. */
export const todayQuery = graphql(`
  query ConsoleToday(
    $environment: String!, $lastWeek: DateTime!, $lastWeekEnd: DateTime!, $yesterday: DateTime!, $to: DateTime!
  ) {
    passes: battlePassStatistics(environment: $environment, from: $lastWeek, to: $to, by: HOUR) {
      asOf
      times { startsAt players newPlayers xp claims sold }
      sales { currency times { startsAt amount } }
    }
    logins: loginStatistics(environment: $environment, from: $yesterday, to: $to) {
      times(by: HOUR) { startsAt figures { logins } }
    }
    loginsLastWeek: loginStatistics(environment: $environment, from: $lastWeek, to: $lastWeekEnd) {
      times(by: HOUR) { startsAt figures { logins } }
    }
  }
`)

export const problemsQuery = graphql(`
  query ConsoleProblems($environment: String!) {
    problems(environment: $environment) {
      kind at text provider scenarioId nodeId grantJobId publicationId alertWebhookId
    }
  }
`)

/** What was done to single players is on their pages. */
export const changesQuery = graphql(
  `
    query ConsoleChanges($from: DateTime!) {
      auditLog(first: 50, from: $from, isAboutPlayer: false) {
        nodes { ...ConsoleAuditEntry }
      }
    }
  `,
  [entryFragment],
)
