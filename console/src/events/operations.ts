import { graphql } from '../graphql.ts'

export const eventFragment = graphql(`
  fragment ConsoleEvent on Event {
    id cursor type handle occurredAt playerId runId scenarioId nodeId byClient data
  }
`)

export const streamCursorQuery = graphql(`
  query ConsoleStreamCursor($environment: String!) {
    streamCursor(environment: $environment)
  }
`)

export const latestEventsQuery = graphql(
  `
    query ConsoleLatestEvents(
      $environment: String!, $playerId: ID, $scenarioId: String, $handles: [String!],
      $types: [EventType!], $last: Int!
    ) {
      events(
        environment: $environment, playerId: $playerId, scenarioId: $scenarioId, handles: $handles,
        types: $types, last: $last
      ) {
        nodes { ...ConsoleEvent }
      }
    }
  `,
  [eventFragment],
)

export const eventsSubscription = graphql(
  `
    subscription ConsoleEvents(
      $environment: String!, $playerId: ID, $scenarioId: String, $handles: [String!],
      $types: [EventType!], $after: String
    ) {
      onEvent(
        environment: $environment, playerId: $playerId, scenarioId: $scenarioId, handles: $handles,
        types: $types, after: $after
      ) {
        ...ConsoleEvent
      }
    }
  `,
  [eventFragment],
)
