import { graphql } from '../graphql.ts'

export const entryFragment = graphql(`
  fragment ConsoleAuditEntry on AuditLogEntry {
    id occurredAt action actor actorLabel operator operatorIsClaimed environment target reason
    attempts undoes
  }
`)

export const auditLogQuery = graphql(
  `
    query ConsoleAuditLog(
      $after: String, $action: String, $actor: String, $operator: String, $target: String,
      $environment: String, $from: DateTime, $to: DateTime
    ) {
      auditLog(
        first: 50, after: $after, action: $action, actor: $actor, operator: $operator,
        target: $target, environment: $environment, from: $from, to: $to
      ) {
        nodes { ...ConsoleAuditEntry }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [entryFragment],
)

export const auditEntryQuery = graphql(
  `
    query ConsoleAuditEntryById($id: ID!) {
      node(id: $id) {
        id ...ConsoleAuditEntry
        ... on AuditLogEntry { beforeText afterText }
      }
    }
  `,
  [entryFragment],
)

export const sdkKeysQuery = graphql(`
  query ConsoleSdkKeys($after: String, $environment: String) {
    sdkKeys(first: 50, after: $after, environment: $environment) {
      nodes { id keyId prefix label environment createdAt createdBy revokedAt revokedBy }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export const serverKeysQuery = graphql(`
  query ConsoleServerKeys($after: String, $environment: String) {
    serverKeys(first: 50, after: $after, environment: $environment) {
      nodes { id keyId prefix label environment createdAt createdBy revokedAt revokedBy }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export const platformKeysQuery = graphql(`
  query ConsolePlatformKeys($after: String, $role: Role) {
    platformKeys(first: 50, after: $after, role: $role) {
      nodes { id keyId prefix label role createdAt createdBy revokedAt revokedBy }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

/** How many keys are valid, and the project that a key belongs to. */
export const keyCountsQuery = graphql(`
  query ConsoleKeyCounts {
    project {
      id projectId
      environments { id name sdkKeys serverKeys }
      platformKeys { role keys }
    }
  }
`)

/** What was planned with a key, and continues without it. */
export const plannedWithKeyQuery = graphql(`
  query ConsolePlannedWithKey($id: ID!) {
    node(id: $id) {
      id
      ... on PlatformKey {
        plannedPublications { id environment scenarioId publishAt }
        openGrantJobs { id environment reason }
      }
    }
  }
`)

export const createSdkKeyMutation = graphql(`
  mutation ConsoleCreateSdkKey($input: CreateEnvironmentKeyInput!) {
    createSdkKey(input: $input) {
      key
      sdkKey { id }
      auditEntry { id }
    }
  }
`)

export const createServerKeyMutation = graphql(`
  mutation ConsoleCreateServerKey($input: CreateEnvironmentKeyInput!) {
    createServerKey(input: $input) {
      key
      serverKey { id }
      auditEntry { id }
    }
  }
`)

export const createPlatformKeyMutation = graphql(`
  mutation ConsoleCreatePlatformKey($input: CreatePlatformKeyInput!) {
    createPlatformKey(input: $input) {
      key
      platformKey { id }
      auditEntry { id }
    }
  }
`)

export const revokeSdkKeyMutation = graphql(`
  mutation ConsoleRevokeSdkKey($input: RevokeEnvironmentKeyInput!) {
    revokeSdkKey(input: $input) {
      sdkKey { id revokedAt }
      auditEntry { id }
    }
  }
`)

export const revokeServerKeyMutation = graphql(`
  mutation ConsoleRevokeServerKey($input: RevokeEnvironmentKeyInput!) {
    revokeServerKey(input: $input) {
      serverKey { id revokedAt }
      auditEntry { id }
    }
  }
`)

export const revokePlatformKeyMutation = graphql(`
  mutation ConsoleRevokePlatformKey($input: RevokePlatformKeyInput!) {
    revokePlatformKey(input: $input) {
      platformKey { id revokedAt }
      auditEntry { id }
    }
  }
`)

export const environmentsQuery = graphql(`
  query ConsoleEnvironments {
    project {
      id projectId name createdAt
      environments { id name createdAt sdkKeys serverKeys clock { now rate aheadSeconds } }
      platformKeys { role keys }
    }
  }
`)

export const environmentStepsQuery = graphql(`
  query ConsoleEnvironmentSteps($environment: String!, $withPlayers: Boolean!) {
    authProviders(environment: $environment) {
      environment
      custom { name enabled }
    }
    scenarios(environment: $environment, first: 1) {
      nodes { id }
    }
    players(environment: $environment, first: 1) @include(if: $withPlayers) {
      nodes { id }
    }
  }
`)

export const createEnvironmentMutation = graphql(`
  mutation ConsoleCreateEnvironment($input: CreateEnvironmentInput!) {
    createEnvironment(input: $input) {
      environment { id name }
      auditEntry { id }
    }
  }
`)

export const setClockMutation = graphql(`
  mutation ConsoleSetClock($input: SetEnvironmentClockInput!) {
    setEnvironmentClock(input: $input) {
      environment { id clock { now rate aheadSeconds } }
      auditEntry { id }
    }
  }
`)

export const renameProjectMutation = graphql(`
  mutation ConsoleRenameProject($input: RenameProjectInput!) {
    renameProject(input: $input) {
      project { id name }
      auditEntry { id }
    }
  }
`)
