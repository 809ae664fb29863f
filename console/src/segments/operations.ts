import { graphql } from '../graphql.ts'

export const filterFragment = graphql(`
  fragment ConsolePlayerFilter on PlayerFilter {
    status region language createdFrom createdTo lastLoginFrom lastLoginTo scenarioId nodeId premium
    levelFrom levelTo
  }
`)

/** The names alone, which need no count. */
export const segmentNamesQuery = graphql(
  `
    query ConsoleSegmentNames($environment: String!) {
      segments(environment: $environment) {
        id segmentId name
        filter { ...ConsolePlayerFilter }
      }
    }
  `,
  [filterFragment],
)

export const segmentsQuery = graphql(
  `
    query ConsoleSegments($environment: String!) {
      segments(environment: $environment) {
        id segmentId name playerCount playerCountIsExact createdAt updatedAt
        filter { ...ConsolePlayerFilter }
      }
    }
  `,
  [filterFragment],
)

export const createSegmentMutation = graphql(`
  mutation ConsoleCreateSegment($input: CreateSegmentInput!) {
    createSegment(input: $input) {
      segment { id name }
      auditEntry { id }
    }
  }
`)

export const updateSegmentMutation = graphql(`
  mutation ConsoleUpdateSegment($input: UpdateSegmentInput!) {
    updateSegment(input: $input) {
      segment { id name }
      auditEntry { id }
    }
  }
`)

export const deleteSegmentMutation = graphql(`
  mutation ConsoleDeleteSegment($input: DeleteSegmentInput!) {
    deleteSegment(input: $input) {
      auditEntry { id }
    }
  }
`)
