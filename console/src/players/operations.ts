import { eventFragment } from '../events/operations.ts'
import { graphql } from '../graphql.ts'
import { entryFragment } from '../project/operations.ts'
import { loginFragment } from '../providers/operations.ts'

export const playersQuery = graphql(`
  query ConsolePlayers(
    $environment: String!, $after: String, $search: String, $provider: String, $segment: String,
    $filter: PlayerFilterInput, $sort: PlayerSortInput
  ) {
    players(
      environment: $environment, first: 50, after: $after, search: $search, provider: $provider,
      segment: $segment, filter: $filter, sort: $sort
    ) {
      nicknameSearch
      nodes {
        id playerId nickname status createdAt lastLoginAt region language
        passes { id scenarioId nodeId level premiumOwned }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

/** Counted in a query of its own, so that the list does not wait for the count. */
export const playerCountQuery = graphql(`
  query ConsolePlayerCount(
    $environment: String!, $search: String, $provider: String, $segment: String, $filter: PlayerFilterInput
  ) {
    players(
      environment: $environment, first: 1, search: $search, provider: $provider, segment: $segment, filter: $filter
    ) {
      totalCount totalCountIsExact
    }
  }
`)

/** Nicknames for ids, as lists of events and of the audit log have them. */
export const playerNamesQuery = graphql(`
  query ConsolePlayerNames($ids: [ID!]!) {
    nodes(ids: $ids) {
      id
      ... on Player { nickname }
    }
  }
`)

export const playerQuery = graphql(`
  query ConsolePlayer($id: ID!) {
    player(id: $id) {
      id playerId environment nickname status createdAt lastLoginAt region language avatarUrl
      ban { kind until publicReason }
      identities { provider subject }
      sessions { sessionId device createdAt lastUsedAt }
      deleteAt
      wallet { id currency balance }
      inventory { id itemId amount }
      boosts { id boostId percent startsAt endsAt reference }
      passes {
        id scenarioId nodeId xp level premiumOwned completed
        claims {
          level track claimedAt
          granted { currency itemId amount boost { percent minutes } }
        }
      }
    }
  }
`)

export const walletLedgerQuery = graphql(`
  query ConsoleWalletLedger($id: ID!, $after: String) {
    player(id: $id) {
      id
      walletLedger(first: 100, after: $after) {
        nodes { id occurredAt currency amount balance cause reference }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export const inboxQuery = graphql(`
  query ConsoleInbox($id: ID!, $after: String) {
    player(id: $id) {
      id
      inbox(first: 100, after: $after) {
        nodes {
          id messageId kind sentAt expiresAt readAt claimedAt
          texts { title }
          rewards { amount currency itemId }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export const xpLedgerQuery = graphql(`
  query ConsoleXpLedger($passId: ID!, $after: String) {
    node(id: $passId) {
      id
      ... on BattlePass {
        xpLedger(first: 100, after: $after) {
          nodes { id occurredAt amount bonus asked limitedBy source origin reference runId }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
`)

export const runsQuery = graphql(`
  query ConsoleRuns($id: ID!, $after: String) {
    player(id: $id) {
      id
      runs(first: 20, after: $after) {
        nodes { id runId scenarioId status cause startedAt endedAt activeNodes }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export const loginsQuery = graphql(
  `
    query ConsoleLogins($id: ID!, $after: String) {
      player(id: $id) {
        id
        loginLog(first: 50, after: $after) {
          nodes { ...ConsoleLogin }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [loginFragment],
)

export const storageKeysQuery = graphql(`
  query ConsoleStorageKeys($id: ID!, $after: String) {
    player(id: $id) {
      id
      storageKeys(first: 100, after: $after) {
        nodes { key bytes }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export const storageValueQuery = graphql(`
  query ConsoleStorageValue($id: ID!, $keys: [String!]) {
    player(id: $id) {
      id
      storage(keys: $keys) { key value updatedAt }
    }
  }
`)

export const playerAuditQuery = graphql(
  `
    query ConsolePlayerAudit($id: ID!, $after: String) {
      player(id: $id) {
        id
        auditLog(first: 50, after: $after) {
          nodes { ...ConsoleAuditEntry beforeText afterText }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [entryFragment],
)

export const currenciesQuery = graphql(`
  query ConsoleCurrencies($environment: String!) {
    currencies(environment: $environment, first: 200) {
      nodes { id name creditLimit }
    }
  }
`)

export const timelineQuery = graphql(
  `
    query ConsoleTimeline($id: ID!, $kinds: [TimelineKind!], $after: String) {
      player(id: $id) {
        id
        timeline(first: 50, kinds: $kinds, after: $after) {
          nodes {
            kind occurredAt
            login { id operation outcome provider }
            event { ...ConsoleEvent }
            claim { scenarioId nodeId level track granted { amount currency itemId boost { percent minutes } } }
            auditEntry { ...ConsoleAuditEntry beforeText afterText }
            message {
              id kind claimedAt readAt
              texts { title }
              rewards { amount currency itemId boost { percent minutes } }
            }
            note { id noteId text actor actorLabel operator operatorIsClaimed }
          }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  `,
  [eventFragment, entryFragment],
)
