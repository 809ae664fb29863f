import { graphql, type ResultOf } from '../graphql.ts'

export const providersQuery = graphql(`
  query ConsoleProviders($environment: String!) {
    authProviders(environment: $environment) {
      environment version google apple
      openBreakers
      custom {
        name enabled url hasSecret updatedAt replacedSecretsExpireAt timeoutMs attempts breakerAfter ed25519 publicKey
        claims denialReasons caCertificates clientCertificate certificatesExpireAt
      }
      oidc {
        name enabled issuer audiences jwksUrl subjectClaim nicknameClaim maxAgeSeconds updatedAt
      }
      device { enabled }
      missing { path message }
    }
  }
`)

export const setProvidersMutation = graphql(`
  mutation ConsoleSetProviders($input: SetAuthProvidersInput!) {
    setAuthProviders(input: $input) {
      authProviders {
        environment version
        google apple
        custom {
          name enabled url hasSecret updatedAt replacedSecretsExpireAt timeoutMs attempts breakerAfter ed25519 publicKey
          claims denialReasons caCertificates clientCertificate certificatesExpireAt
        }
        oidc {
          name enabled issuer audiences jwksUrl subjectClaim nicknameClaim maxAgeSeconds updatedAt
        }
        device { enabled }
      }
      auditEntry { id }
    }
  }
`)

export const rotateSecretMutation = graphql(`
  mutation ConsoleRotateSecret($input: RotateProviderSecretInput!) {
    rotateProviderSecret(input: $input) {
      secret
      provider { name replacedSecretsExpireAt }
      auditEntry { id }
    }
  }
`)

const attemptFragment = graphql(`
  fragment ConsoleAttempt on WebhookAttempt {
    status error milliseconds cause excerpt hint
  }
`)

export const testProviderMutation = graphql(
  `
    mutation ConsoleTestProvider($input: TestAuthProviderInput!) {
      testAuthProvider(input: $input) {
        outcome status subject nickname avatarUrl dataText claimsText notes
        reason { code text }
        attempts { ...ConsoleAttempt }
        notices { path message }
        oddBody {
          result message customDataText
          attempts { ...ConsoleAttempt }
        }
      }
    }
  `,
  [attemptFragment],
)

/** The reach of a change: the logins of a provider in the last 24 hours. */
export const recentLoginsQuery = graphql(`
  query ConsoleRecentLogins($environment: String!, $provider: String!) {
    loginStatistics(environment: $environment, provider: $provider) {
      total { logins }
    }
  }
`)

const figuresFragment = graphql(`
  fragment ConsoleLoginFigures on LoginFigures {
    logins attemptsPerLogin
    latency { mean p50 p90 p95 p99 }
    outcomes { outcome logins rate }
  }
`)

export const loginStatisticsQuery = graphql(
  `
    query ConsoleLoginStatistics(
      $environment: String!, $provider: String, $from: DateTime!, $to: DateTime!, $by: InsightStep!
    ) {
      loginStatistics(environment: $environment, provider: $provider, from: $from, to: $to) {
        from to
        total { ...ConsoleLoginFigures }
        providers {
          provider
          figures { ...ConsoleLoginFigures }
        }
        times(by: $by) {
          startsAt
          figures {
            logins
            latency { p50 p95 }
            outcomes { outcome logins }
          }
        }
      }
    }
  `,
  [figuresFragment],
)

export const loginFragment = graphql(
  `
    fragment ConsoleLogin on LoginLogEntry {
      id occurredAt operation outcome provider subject playerId milliseconds notes
      attempts { ...ConsoleAttempt }
    }
  `,
  [attemptFragment],
)

export const loginLogQuery = graphql(
  `
    query ConsoleLoginLog(
      $environment: String!, $after: String, $provider: String, $subject: String, $playerId: ID
    ) {
      loginLog(
        environment: $environment, first: 50, after: $after, provider: $provider, subject: $subject,
        playerId: $playerId
      ) {
        nodes { ...ConsoleLogin }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [loginFragment],
)

export const accountPolicyQuery = graphql(`
  query ConsoleAccountPolicy {
    environments {
      id name
      accountPolicy { maxSessions whenFull deletionDays linkTickets identitiesAtDeletion clientProfile }
    }
  }
`)

export const setAccountPolicyMutation = graphql(`
  mutation ConsoleSetAccountPolicy($input: SetAccountPolicyInput!) {
    setAccountPolicy(input: $input) {
      policy { maxSessions whenFull deletionDays linkTickets identitiesAtDeletion clientProfile }
      auditEntry { id }
    }
  }
`)

export type CustomProvider = ResultOf<typeof providersQuery>['authProviders'][number]['custom'][number]
