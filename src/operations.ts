import type { Pool } from 'pg'
import { type AddXp, type AddXpResult, addXp } from './battlepass/add-xp.ts'
import {
  type ClaimAll,
  type ClaimAllResult,
  type ClaimResult,
  type ClaimTier,
  claimAll,
  claimTier,
} from './battlepass/claim-tier.ts'
import type { NodeInput } from './battlepass/place.ts'
import { type PurchasePremium, type PurchaseResult, purchasePremium } from './battlepass/purchase-premium.ts'
import { type Progress, readProgress } from './battlepass/read-progress.ts'
import type { GroupCommit } from './commit/group-commit.ts'
import { createPlayer } from './players/create-player.ts'
import { admitPlayer, type PlayerRef } from './players/standing.ts'
import { findEnvironment } from './projects/projects.ts'
import { type CrossHandle, type CrossResult, crossHandle } from './scenario/cross-handle.ts'
import { type PublishedScenario, publishScenario, readScenario } from './scenario/publish.ts'
import { type RunResult, readRun } from './scenario/read-run.ts'
import type { ScenarioRef } from './scenario/scenarios.ts'
import { type StartResult, startRun } from './scenario/start-run.ts'
import { type Adjustment, adjustWallet } from './wallet/adjust.ts'

/** Contents page of what the service does. Both edges call these and nothing else. */
export interface Operations {
  readProgress(player: PlayerRef, input: NodeInput): Promise<Progress>
  addXp(player: PlayerRef, input: AddXp): Promise<AddXpResult>
  claimTier(player: PlayerRef, input: ClaimTier): Promise<ClaimResult>
  claimAll(player: PlayerRef, input: ClaimAll): Promise<ClaimAllResult>
  purchasePremium(player: PlayerRef, input: PurchasePremium): Promise<PurchaseResult>

  startRun(player: PlayerRef, input: { scenarioId: string }): Promise<StartResult>
  crossHandle(player: PlayerRef, input: CrossHandle): Promise<CrossResult>
  readRun(player: PlayerRef, input: { runId: string }): Promise<RunResult>

  publishScenario(scenario: ScenarioRef, definition: string): Promise<PublishedScenario>
  readScenario(scenario: ScenarioRef, version: number | null): Promise<PublishedScenario>
  findEnvironment(projectId: string, name: string): Promise<string>

  /** Refuses a player that is banned, deleted or unknown. */
  admitPlayer(player: PlayerRef): Promise<void>
  createPlayer(environmentId: string, nickname: string | null): Promise<PlayerRef>
  adjustWallet(player: PlayerRef, adjustment: Adjustment): Promise<{ balance: bigint }>
}

export interface OperationsOptions {
  readonly pool: Pool
  /** Where game writes are committed. */
  readonly writes: GroupCommit
  /** Where game reads take their snapshots. */
  readonly reads: GroupCommit
}

export function createOperations({ pool, writes, reads }: OperationsOptions): Operations {
  return {
    readProgress: (player, input) => reads.run(readProgress(player, input)),
    addXp: (player, input) => writes.run(addXp(player, input)),
    claimTier: (player, input) => writes.run(claimTier(player, input)),
    claimAll: (player, input) => writes.run(claimAll(player, input)),
    purchasePremium: (player, input) => writes.run(purchasePremium(player, input)),

    startRun: (player, input) => writes.run(startRun(player, input)),
    crossHandle: (player, input) => writes.run(crossHandle(player, input)),
    readRun: (player, input) => reads.run(readRun(player, input)),

    publishScenario: (scenario, definition) => publishScenario(pool, scenario, definition),
    readScenario: (scenario, version) => readScenario(pool, scenario, version),
    findEnvironment: (projectId, name) => findEnvironment(pool, projectId, name),

    admitPlayer: (player) => reads.run(admitPlayer(player)),
    createPlayer: (environmentId, nickname) => writes.run(createPlayer(environmentId, nickname)),
    adjustWallet: (player, adjustment) => writes.run(adjustWallet(player, adjustment)),
  }
}
