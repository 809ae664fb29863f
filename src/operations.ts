import type { Pool } from 'pg'
import { type AuditDenied, createAuditDenied } from './audit/denied.ts'
import type { ClientRef, PlatformCaller, Role } from './auth/callers.ts'
import {
  type CustomCredentials,
  type LoginCustom,
  linkCustom,
  loginCustom,
  type Rehearsal,
  rehearseLogin,
} from './auth/custom-login.ts'
import type { IdentityRef } from './auth/identities.ts'
import type { NewKey } from './auth/keys.ts'
import {
  type LoginStatistics,
  type LoginStatisticsRef,
  type LoginTime,
  readLoginStatistics,
  readLoginTimes,
} from './auth/login-statistics.ts'
import { issuePlatformKey, issueSdkKey, type KeyKind, revokeKey } from './auth/manage-keys.ts'
import { endSession } from './auth/refresh-tokens.ts'
import { refreshTokens, type TokenPair } from './auth/token-pair.ts'
import type { Tokens } from './auth/tokens.ts'
import type { Webhook } from './auth/webhook.ts'
import { type AddXp, type AddXpResult, addXp } from './battlepass/add-xp.ts'
import {
  type ClaimAll,
  type ClaimAllResult,
  type ClaimResult,
  type ClaimTier,
  claimAll,
  claimTier,
} from './battlepass/claim-tier.ts'
import { claimsOpen } from './battlepass/decide.ts'
import { levelAt } from './battlepass/levels.ts'
import type { NodeInput } from './battlepass/place.ts'
import { type PurchasePremium, type PurchaseResult, purchasePremium } from './battlepass/purchase-premium.ts'
import { type Progress, readProgress } from './battlepass/read-progress.ts'
import type { GroupCommit, Lane } from './commit/group-commit.ts'
import type { Fault } from './errors.ts'
import { type EventFilter, type EventPage, type History, readEvents } from './events/history.ts'
import type { Step } from './insight/range.ts'
import {
  type CompletionInsight,
  type DayInsight,
  findPass,
  type InsightRef,
  type LevelInsight,
  type PassPlace,
  readCompletion,
  readDays,
  readLevels,
  readTiers,
  readXp,
  type SourceInsight,
  type TierInsight,
} from './insight/read-insight.ts'
import {
  banPlayer,
  cancelRun,
  creditWallet,
  debitWallet,
  deletePlayer,
  deletePlayerStorage,
  endSessions,
  grantPremium,
  grantTier,
  grantXp,
  type KeyedCall,
  type MoneyInput,
  resetPass,
  resetTier,
  revokePremium,
  type SupportCall,
  setPlayerStorage,
  type TierInput,
  unbanPlayer,
  unlinkIdentity,
} from './liveops/support.ts'
import type { Logger } from './log.ts'
import { createPlayer } from './players/create-player.ts'
import { findPlayer, type PlayerPage, type PlayerSearch, searchPlayers } from './players/find-player.ts'
import { type PlayerView, readPlayer } from './players/read-player.ts'
import { admitPlayer, type PlayerRef } from './players/standing.ts'
import { deleteStorage, type StorageValues, setStorage } from './players/storage.ts'
import { type BeginStorageAnswer, createStorageAnswers } from './players/storage-answers.ts'
import { createEnvironment, findEnvironment, renameProject } from './projects/projects.ts'
import { type AuthProvidersView, readAuthProviders } from './providers/auth-providers.ts'
import { type RotatedSecret, type RotateSecret, rotateProviderSecret } from './providers/rotate-secret.ts'
import type { Secrets } from './providers/secrets.ts'
import { type ReadSettings, setAuthProviders } from './providers/settings.ts'
import { type CloneScenario, cloneScenario } from './scenario/clone.ts'
import { type CrossHandle, type CrossResult, crossHandle } from './scenario/cross-handle.ts'
import { type PassNode, validateDefinition } from './scenario/definition.ts'
import type { ScenarioDiff } from './scenario/diff.ts'
import { createPreview, type ScenarioPreview } from './scenario/preview.ts'
import { type PublishedScenario, type Publisher, publishScenario, readScenario } from './scenario/publish.ts'
import { type RunResult, readRun } from './scenario/read-run.ts'
import type { ScenarioRef } from './scenario/scenarios.ts'
import { type StartResult, startRun } from './scenario/start-run.ts'
import { diffVersions, listVersions, type VersionPage, type VersionSummary } from './scenario/versions.ts'
import { type Adjustment, adjustWallet } from './wallet/adjust.ts'

/** Contents page of what the service does. Both edges call these and nothing else. */
export interface Operations {
  readProgress(player: PlayerRef, input: NodeInput): Promise<Progress>
  addXp(player: PlayerRef, input: AddXp): Promise<AddXpResult>
  claimTier(player: PlayerRef, input: ClaimTier): Promise<ClaimResult>
  claimAll(player: PlayerRef, input: ClaimAll): Promise<ClaimAllResult>
  purchasePremium(player: PlayerRef, input: PurchasePremium): Promise<PurchaseResult>

  loginCustom(client: ClientRef, input: LoginCustom): Promise<TokenPair>
  linkCustom(client: ClientRef, player: PlayerRef, input: CustomCredentials): Promise<IdentityRef>
  /** What a login would come to; nothing is written. */
  rehearseLogin(place: { projectId: string; environmentId: string }, input: CustomCredentials): Promise<Rehearsal>
  refreshTokens(client: ClientRef, refreshToken: string): Promise<TokenPair>
  logout(client: ClientRef, refreshToken: string): Promise<void>

  readPlayer(player: PlayerRef): Promise<PlayerView>
  /** Begins an answer that carries storage: all of a player's, or some keys. */
  readonly beginStorageAnswer: BeginStorageAnswer
  setStorage(player: PlayerRef, values: StorageValues): Promise<void>
  deleteStorage(player: PlayerRef, keys: readonly string[]): Promise<void>

  /** A player of a project, by its id. */
  findPlayer(projectId: string, playerId: string): Promise<PlayerRef>
  /** Ids of players, the newest first. */
  searchPlayers(search: PlayerSearch, page: PlayerPage): Promise<string[]>

  banPlayer(call: SupportCall): Promise<void>
  unbanPlayer(call: SupportCall): Promise<void>
  deletePlayer(call: SupportCall): Promise<void>
  endSessions(call: SupportCall): Promise<void>
  unlinkIdentity(call: SupportCall, identity: { provider: string; subject: string }): Promise<void>
  creditWallet(call: KeyedCall, input: MoneyInput): Promise<{ balance: bigint }>
  debitWallet(call: KeyedCall, input: MoneyInput): Promise<{ balance: bigint }>
  grantXp(call: KeyedCall, input: NodeInput & { amount: bigint; source: string }): Promise<AddXpResult>
  grantTier(call: KeyedCall, input: TierInput): Promise<ClaimResult>
  resetTier(call: SupportCall, input: TierInput): Promise<{ changed: boolean }>
  grantPremium(call: SupportCall, input: NodeInput): Promise<{ changed: boolean }>
  revokePremium(call: SupportCall, input: NodeInput): Promise<{ changed: boolean }>
  resetPass(call: SupportCall, input: NodeInput): Promise<{ changed: boolean }>
  cancelRun(call: SupportCall, input: { runId: string }): Promise<void>
  setPlayerStorage(call: SupportCall, values: StorageValues): Promise<void>
  deletePlayerStorage(call: SupportCall, keys: readonly string[]): Promise<void>
  /** Writes down that a caller tried what it may not. */
  readonly auditDenied: AuditDenied

  /** Makes an environment; answers its id. */
  createEnvironment(caller: PlatformCaller, input: { name: string; reason: string }): Promise<string>
  renameProject(caller: PlatformCaller, input: { name: string; reason: string }): Promise<void>

  issueSdkKey(caller: PlatformCaller, input: { environmentId: string; reason: string }): Promise<NewKey>
  issuePlatformKey(caller: PlatformCaller, input: { role: Role; reason: string }): Promise<NewKey>
  revokeKey(caller: PlatformCaller, input: { kind: KeyKind; keyId: string; reason: string }): Promise<void>

  /** The settings of one environment of a project, or of all. */
  readAuthProviders(projectId: string, environment: string | null): Promise<AuthProvidersView[]>
  setAuthProviders(caller: PlatformCaller, settings: ReadSettings, reason?: string): Promise<AuthProvidersView>
  rotateProviderSecret(caller: PlatformCaller, input: RotateSecret): Promise<RotatedSecret>

  readLoginStatistics(ref: LoginStatisticsRef): Promise<LoginStatistics>
  readLoginTimes(ref: LoginStatisticsRef, by: 'hour' | 'day'): Promise<LoginTime[]>

  startRun(player: PlayerRef, input: { scenarioId: string }): Promise<StartResult>
  crossHandle(player: PlayerRef, input: CrossHandle): Promise<CrossResult>
  readRun(player: PlayerRef, input: { runId: string }): Promise<RunResult>

  publishScenario(scenario: ScenarioRef, definition: string, publisher: Publisher): Promise<PublishedScenario>
  readScenario(scenario: ScenarioRef, version: number | null): Promise<PublishedScenario>
  cloneScenario(caller: PlatformCaller, clone: CloneScenario): Promise<PublishedScenario>
  /** Everything that publishing a definition would refuse it for. */
  validateScenario(definition: string): readonly Fault[]
  previewScenario(scenario: ScenarioRef, definition: string): Promise<ScenarioPreview>
  listVersions(scenario: ScenarioRef, page: VersionPage): Promise<VersionSummary[]>
  diffScenario(scenario: ScenarioRef, versions: { from: number; to: number }): Promise<ScenarioDiff>
  findEnvironment(projectId: string, name: string): Promise<string>

  /** A battle-pass node as it is published now. */
  findPass(place: PassPlace): Promise<PassNode>
  readInsightLevels(insight: InsightRef): Promise<LevelInsight[]>
  readInsightTiers(insight: InsightRef, levels: readonly LevelInsight[]): Promise<TierInsight[]>
  readInsightDays(insight: InsightRef): Promise<DayInsight[]>
  readInsightXp(insight: InsightRef, options: { step: Step; sources: number }): Promise<SourceInsight[]>
  readInsightCompletion(insight: InsightRef, levels: readonly LevelInsight[]): Promise<CompletionInsight>

  /** A page of the events of a stream. */
  readEvents(filter: EventFilter, page: EventPage): Promise<History>

  /** Refuses a player that is banned, deleted or unknown. */
  admitPlayer(player: PlayerRef): Promise<void>
  createPlayer(environmentId: string, nickname: string | null): Promise<PlayerRef>
  adjustWallet(player: PlayerRef, adjustment: Adjustment): Promise<{ balance: bigint }>
}

export interface OperationsOptions {
  readonly pool: Pool
  /** For what operators read and change: it may take long, or wait for a lock, and then waits for its like alone. */
  readonly operatorPool: Pool
  readonly engines: Readonly<Record<Lane, GroupCommit>>
  readonly webhook: Webhook
  readonly secrets: Secrets
  readonly tokens: Tokens
  readonly log: Logger
}

export function createOperations(options: OperationsOptions): Operations {
  const { pool, operatorPool, engines, webhook, secrets, tokens, log } = options
  const run: GroupCommit['run'] = (command) => engines[command.lane ?? 'game'].run(command)
  const desk = {
    pool,
    secrets,
    webhook,
    tokens,
    run,
    warn: (message: string, detail: unknown) => log.warn({ err: String(detail) }, message),
  }

  return {
    readProgress: (player, input) => run(readProgress(player, input)),
    addXp: (player, input) => run(addXp(player, input)),
    claimTier: (player, input) => run(claimTier(player, input)),
    claimAll: (player, input) => run(claimAll(player, input)),
    purchasePremium: (player, input) => run(purchasePremium(player, input)),

    loginCustom: (client, input) => loginCustom(desk, client, input),
    linkCustom: (client, player, input) => linkCustom(desk, client, player, input),
    rehearseLogin: (place, input) => rehearseLogin(desk, place, input),
    refreshTokens: (client, refreshToken) => refreshTokens(desk, client, refreshToken),
    logout: (client, refreshToken) => run(endSession(client.environmentId, refreshToken)),

    readPlayer: (player) => readPlayer(pool, player),
    beginStorageAnswer: createStorageAnswers(run),
    setStorage: (player, values) => run(setStorage(player, values)),
    deleteStorage: (player, keys) => run(deleteStorage(player, keys)),

    findPlayer: (projectId, playerId) => findPlayer(pool, projectId, playerId),
    searchPlayers: (search, page) => searchPlayers(operatorPool, search, page),

    banPlayer: (call) => run(banPlayer(call)),
    unbanPlayer: (call) => run(unbanPlayer(call)),
    deletePlayer: (call) => run(deletePlayer(call)),
    endSessions: (call) => run(endSessions(call)),
    unlinkIdentity: (call, identity) => run(unlinkIdentity(call, identity)),
    creditWallet: (call, input) => run(creditWallet(call, input)),
    debitWallet: (call, input) => run(debitWallet(call, input)),
    grantXp: (call, input) => run(grantXp(call, input)),
    grantTier: (call, input) => run(grantTier(call, input)),
    resetTier: (call, input) => run(resetTier(call, input)),
    grantPremium: (call, input) => run(grantPremium(call, input)),
    revokePremium: (call, input) => run(revokePremium(call, input)),
    resetPass: (call, input) => run(resetPass(call, input)),
    cancelRun: (call, input) => run(cancelRun(call, input)),
    setPlayerStorage: (call, values) => run(setPlayerStorage(call, values)),
    deletePlayerStorage: (call, keys) => run(deletePlayerStorage(call, keys)),
    auditDenied: createAuditDenied(operatorPool),

    createEnvironment: (caller, input) => createEnvironment(operatorPool, caller, input),
    renameProject: (caller, input) => renameProject(operatorPool, caller, input),

    issueSdkKey: (caller, input) => issueSdkKey(operatorPool, caller, input),
    issuePlatformKey: (caller, input) => issuePlatformKey(operatorPool, caller, input),
    revokeKey: (caller, input) => revokeKey(operatorPool, caller, input),

    readAuthProviders: (projectId, environment) => readAuthProviders(operatorPool, projectId, environment),
    setAuthProviders: (caller, settings, reason) =>
      setAuthProviders({ pool: operatorPool, secrets }, caller, settings, reason),
    rotateProviderSecret: (caller, input) => rotateProviderSecret({ pool: operatorPool, secrets }, caller, input),

    readLoginStatistics: (ref) => readLoginStatistics(operatorPool, ref),
    readLoginTimes: (ref, by) => readLoginTimes(operatorPool, ref, by),

    startRun: (player, input) => run(startRun(player, input)),
    crossHandle: (player, input) => run(crossHandle(player, input)),
    readRun: (player, input) => run(readRun(player, input)),

    publishScenario: (scenario, definition, publisher) =>
      publishScenario(operatorPool, scenario, definition, publisher),
    readScenario: (scenario, version) => readScenario(operatorPool, scenario, version),
    cloneScenario: (caller, clone) => cloneScenario(operatorPool, caller, clone),
    validateScenario: validateDefinition,
    previewScenario: createPreview({ pool: operatorPool, rules: { levelAt, claimsOpen } }),
    listVersions: (scenario, page) => listVersions(operatorPool, scenario, page),
    diffScenario: (scenario, versions) => diffVersions(operatorPool, scenario, versions),
    findEnvironment: (projectId, name) => findEnvironment(pool, projectId, name),

    findPass: (place) => run(findPass(place)),
    readInsightLevels: (insight) => readLevels(operatorPool, insight),
    readInsightTiers: (insight, levels) => readTiers(operatorPool, insight, levels),
    readInsightDays: (insight) => readDays(operatorPool, insight),
    readInsightXp: (insight, options) => readXp(operatorPool, insight, options),
    readInsightCompletion: (insight, levels) => readCompletion(operatorPool, insight, levels),

    readEvents: (filter, page) => readEvents(operatorPool, filter, page),

    admitPlayer: (player) => run(admitPlayer(player)),
    createPlayer: (environmentId, nickname) => run(createPlayer(environmentId, nickname)),
    adjustWallet: (player, adjustment) => run(adjustWallet(player, adjustment)),
  }
}
