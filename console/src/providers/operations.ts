import { graphql } from '../graphql.ts'

export const providersQuery = graphql(`
  query ConsoleProviders($environment: String!) {
    authProviders(environment: $environment) {
      environment
      google
      apple
      custom {
        name
        enabled
        url
        hasSecret
        updatedAt
        replacedSecretsExpireAt
      }
    }
  }
`)

export const setProvidersMutation = graphql(`
  mutation ConsoleSetProviders($input: SetAuthProvidersInput!) {
    setAuthProviders(input: $input) {
      authProviders {
        environment
        custom {
          name
          enabled
          url
          hasSecret
          updatedAt
        }
      }
      auditEntry {
        id
      }
    }
  }
`)

export const rotateSecretMutation = graphql(`
  mutation ConsoleRotateSecret($input: RotateProviderSecretInput!) {
    rotateProviderSecret(input: $input) {
      secret
      provider {
        name
        replacedSecretsExpireAt
      }
      auditEntry {
        id
      }
    }
  }
`)

export const testProviderMutation = graphql(`
  mutation ConsoleTestProvider($input: TestAuthProviderInput!) {
    testAuthProvider(input: $input) {
      outcome
      status
      subject
      notes
      attempts {
        status
        error
        milliseconds
        excerpt
        hint
      }
    }
  }
`)

export const loginStatisticsQuery = graphql(`
  query ConsoleLoginStatistics(
    $environment: String!
    $provider: String
    $from: DateTime!
    $to: DateTime!
    $by: InsightStep!
  ) {
    loginStatistics(environment: $environment, provider: $provider, from: $from, to: $to) {
      from
      to
      total {
        logins
        attemptsPerLogin
        latency {
          mean
          p50
          p90
          p95
          p99
        }
        outcomes {
          outcome
          logins
          rate
        }
      }
      times(by: $by) {
        startsAt
        figures {
          logins
          latency {
            p50
            p95
          }
          outcomes {
            outcome
            logins
          }
        }
      }
    }
  }
`)

export const loginLogQuery = graphql(`
  query ConsoleLoginLog(
    $environment: String!
    $after: String
    $provider: String
    $subject: String
    $playerId: ID
  ) {
    loginLog(
      environment: $environment
      first: 50
      after: $after
      provider: $provider
      subject: $subject
      playerId: $playerId
    ) {
      nodes {
        id
        occurredAt
        operation
        outcome
        provider
        subject
        playerId
        milliseconds
        attempts {
          status
          error
          milliseconds
          excerpt
          hint
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)
