import { graphql, type ResultOf } from '../graphql.ts'

export const insightQuery = graphql(`
  query ConsoleInsight(
    $environment: String!, $scenarioId: String!, $nodeId: String!, $from: DateTime, $to: DateTime,
    $by: InsightStep!
  ) {
    battlePassInsight(
      environment: $environment, scenarioId: $scenarioId, nodeId: $nodeId, from: $from, to: $to
    ) {
      from to
      completion { atTopLevel completed players rate }
      days { startsAt players newPlayers claims premium sold completed }
      sales { currency purchases amount }
      levels {
        level players reached reachedInRange premium reachedPremium premiumInRange conversion
      }
      tiers { level track reached entitled claimed claimedInRange unclaimed }
      xp(by: $by, sources: 8) {
        source xp grants
        times { startsAt xp }
      }
      xpByOrigin(by: $by) {
        origin xp
        times { startsAt xp }
      }
      clippedXp(by: $by, sources: 8) { source calls xp }
    }
  }
`)

/** Read apart from the other figures: it can take longer, as it reads the ledger of a day. */
export const outliersQuery = graphql(`
  query ConsoleXpOutliers(
    $environment: String!, $scenarioId: String!, $nodeId: String!, $to: DateTime!
  ) {
    battlePassInsight(
      environment: $environment, scenarioId: $scenarioId, nodeId: $nodeId, to: $to
    ) {
      xpOutliers {
        from to players median
        top {
          player { id playerId nickname }
          grants xp timesMedian
        }
      }
    }
  }
`)

export const settlementsQuery = graphql(`
  query ConsoleSeasonSettlements($environment: String!, $scenarioId: String!) {
    seasonSettlements(environment: $environment, scenarioId: $scenarioId) {
      nodeId dueAt startedAt finishedAt players tiers failed
    }
  }
`)

export type InsightData = NonNullable<ResultOf<typeof insightQuery>['battlePassInsight']>
