import { graphql } from '../graphql.ts'

/** Only the version, to notice that another designer has published. */
export const scenarioHeadQuery = graphql(`
  query ConsoleScenarioHead($environment: String!, $scenarioId: String!) {
    scenario(environment: $environment, scenarioId: $scenarioId) { id version publishedAt }
  }
`)

export const scenarioTextQuery = graphql(`
  query ConsoleScenarioText($environment: String!, $scenarioId: String!, $version: Int) {
    scenario(environment: $environment, scenarioId: $scenarioId, version: $version) {
      id version publishedAt definitionText
    }
  }
`)

export const versionsQuery = graphql(`
  query ConsoleScenarioVersions($environment: String!, $scenarioId: String!, $after: String) {
    scenarioVersions(environment: $environment, scenarioId: $scenarioId, first: 50, after: $after) {
      nodes { version publishedAt isCurrent bytes sha256 }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export const publicationsQuery = graphql(`
  query ConsolePublications($environment: String!, $scenarioId: String!) {
    auditLog(environment: $environment, target: $scenarioId, first: 200) {
      nodes { id actorLabel operator action reason after }
    }
  }
`)

export const namesQuery = graphql(`
  query ConsoleNames($environment: String!) {
    currencies(environment: $environment, first: 200) {
      nodes { id name }
      pageInfo { hasNextPage }
    }
    items(environment: $environment, first: 200) {
      nodes { id itemId }
      pageInfo { hasNextPage }
    }
  }
`)

export const validateQuery = graphql(`
  query ConsoleValidate($input: ValidateScenarioInput!) {
    validateScenario(input: $input) {
      valid
      faults { path message }
      notices { path message }
    }
  }
`)

export const replayQuery = graphql(`
  query ConsoleReplaySeason($input: ReplaySeasonInput!) {
    replaySeason(input: $input) {
      faults { path message }
      playersInAll players owners isComplete sent granted
      levels { level players playersThen medianDays medianStepDays }
      tracks {
        track
        rewards { amount currency itemId boost { percent minutes } }
      }
    }
  }
`)

export const previewQuery = graphql(`
  query ConsolePreview($input: PreviewScenarioInput!) {
    previewScenario(input: $input) {
      valid
      faults { path message }
      currentVersion
      passes {
        nodeId isAdded isRemoved players premiumOwners levelGained levelLost
        levels { level before after }
        priceBefore { currency amount }
        priceAfter { currency amount }
        claimsOpenBefore claimsOpenAfter
        newlyClaimable {
          track players
          tiers { level players }
        }
        removedClaims { level track players }
      }
      removedNodes { nodeId type activeRuns }
    }
  }
`)

export const publishMutation = graphql(`
  mutation ConsolePublish($input: PublishScenarioInput!) {
    publishScenario(input: $input) {
      scenario { id version publishedAt definitionText }
      auditEntry { id }
    }
  }
`)

export const planMutation = graphql(`
  mutation ConsolePlan($input: SchedulePublicationInput!) {
    schedulePublication(input: $input) {
      publication { id publishAt }
      auditEntry { id }
    }
  }
`)

export const plannedQuery = graphql(`
  query ConsolePlanned($environment: String!, $scenarioId: String!) {
    scheduledPublications(environment: $environment, scenarioId: $scenarioId) {
      id publicationId publishAt state version failure operator reason endedAt
    }
  }
`)

export const cancelPlanMutation = graphql(`
  mutation ConsoleCancelPlan($input: CancelPublicationInput!) {
    cancelPublication(input: $input) {
      publication { id state endedAt }
      auditEntry { id }
    }
  }
`)

export const cloneMutation = graphql(`
  mutation ConsoleClone($input: CloneScenarioInput!) {
    cloneScenario(input: $input) {
      scenario { id scenarioId environment version publishedAt definitionText }
      auditEntry { id }
    }
  }
`)
