import { graphql } from '../graphql.ts'
import { filterFragment } from '../segments/operations.ts'

export const jobFragment = graphql(
  `
    fragment ConsoleGrantJob on GrantJob {
      id jobId state players granted failed operator reason createdAt startsAt
      undoOf { id jobId }
      target {
        kind segment
        filter { ...ConsolePlayerFilter }
      }
      give {
        rewards { currency itemId amount boost { percent minutes } }
        xp { scenarioId nodeId amount source }
        levels { scenarioId nodeId levels }
        premium { scenarioId nodeId }
      }
      message { language title body }
    }
  `,
  [filterFragment],
)

export const jobsQuery = graphql(
  `
    query ConsoleGrantJobs($environment: String!, $after: String) {
      grantJobs(environment: $environment, first: 25, after: $after) {
        nodes { ...ConsoleGrantJob }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [jobFragment],
)

export const jobQuery = graphql(
  `
    query ConsoleGrantJobById($environment: String!, $jobId: ID!) {
      grantJob(environment: $environment, jobId: $jobId) {
        ...ConsoleGrantJob
        note image expiresInDays limit approvedAt approvedBy startedAt finishedAt totalXp
        total { currency itemId amount boost { percent minutes } }
        failedByCause { cause players }
        largest {
          playerId amount
          player { id nickname }
        }
        undos { id jobId state }
      }
    }
  `,
  [jobFragment],
)

export const jobPlayersQuery = graphql(`
  query ConsoleGrantJobPlayers(
    $environment: String!, $jobId: ID!, $outcomes: [GrantOutcome!], $after: String
  ) {
    grantJob(environment: $environment, jobId: $jobId) {
      id
      jobPlayers(first: 50, after: $after, outcomes: $outcomes) {
        nodes {
          playerId outcome cause amount actedAt
          player { id nickname }
          granted { currency itemId amount boost { percent minutes } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export const previewJobQuery = graphql(`
  query ConsolePreviewGrantJob($input: PreviewGrantJobInput!) {
    previewGrantJob(input: $input) {
      players isExact totalXp needsApproval
      total { currency itemId amount boost { percent minutes } }
      largest { playerId amount }
      failing { cause players }
    }
  }
`)

export const previewUndoQuery = graphql(`
  query ConsolePreviewGrantUndo($environment: String!, $jobId: ID!) {
    previewGrantUndo(environment: $environment, jobId: $jobId) {
      players isExact unclaimedMessages premium
      given { currency itemId amount boost { percent minutes } }
      taken { currency itemId amount boost { percent minutes } }
    }
  }
`)

export const createJobMutation = graphql(`
  mutation ConsoleCreateGrantJob($input: CreateGrantJobInput!) {
    createGrantJob(input: $input) {
      job { id jobId }
      auditEntry { id }
    }
  }
`)

export const undoJobMutation = graphql(`
  mutation ConsoleUndoGrantJob($input: UndoGrantJobInput!) {
    result: undoGrantJob(input: $input) {
      job { id jobId state }
      auditEntry { id }
    }
  }
`)

export const approveJobMutation = graphql(`
  mutation ConsoleApproveGrantJob($input: GrantJobMoveInput!) {
    result: approveGrantJob(input: $input) {
      job { id state }
      auditEntry { id }
    }
  }
`)

export const pauseJobMutation = graphql(`
  mutation ConsolePauseGrantJob($input: GrantJobMoveInput!) {
    result: pauseGrantJob(input: $input) {
      job { id state }
      auditEntry { id }
    }
  }
`)

export const resumeJobMutation = graphql(`
  mutation ConsoleResumeGrantJob($input: GrantJobMoveInput!) {
    result: resumeGrantJob(input: $input) {
      job { id state }
      auditEntry { id }
    }
  }
`)

export const cancelJobMutation = graphql(`
  mutation ConsoleCancelGrantJob($input: GrantJobMoveInput!) {
    result: cancelGrantJob(input: $input) {
      job { id state }
      auditEntry { id }
    }
  }
`)

export const policyQuery = graphql(`
  query ConsoleGrantPolicy($environment: String!) {
    grantPolicy(environment: $environment) {
      approvalAbovePlayers approvalAboveAmount
    }
  }
`)

export const setPolicyMutation = graphql(`
  mutation ConsoleSetGrantPolicy($input: SetGrantPolicyInput!) {
    setGrantPolicy(input: $input) {
      policy { approvalAbovePlayers approvalAboveAmount }
      auditEntry { id }
    }
  }
`)

/** Names that a person may give: those of the catalogue. */
export const assetsQuery = graphql(`
  query ConsoleGrantAssets($environment: String!) {
    currencies(environment: $environment, first: 200) {
      nodes { id name }
    }
    items(environment: $environment, first: 200) {
      nodes { id itemId }
    }
  }
`)
