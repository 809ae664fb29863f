/**
 * The client library of Tierway, for games in JavaScript: browsers, Node, React Native. Its page is docs/client.md.
 *
 * @packageDocumentation
 */
export type {
  AddXpResponse,
  BonusView,
  ClaimedTier,
  ClaimResponse,
  ConversionView,
  CustomLinkRequest,
  CustomLoginRequest,
  DeviceLoginRequest,
  EnteredNode,
  EventFields,
  ExecutionPlan,
  IdentityUnlinkRequest,
  IdTokenLinkRequest,
  IdTokenLoginRequest,
  InboxClaimAllResponse,
  InboxClaimResponse,
  InboxMessage,
  InboxRequest,
  InboxResponse,
  LevelView,
  OidcLinkRequest,
  OidcLoginRequest,
  OptionView,
  OwnIdentities,
  OwnSessions,
  PassState,
  PassView,
  Player,
  PlayerUpdateRequest,
  PremiumResponse,
  PremiumView,
  ProgressResponse,
  RefusalCode,
  Reward,
  RewardBoost,
  RewardView,
  ScenarioView,
  SeasonBoost,
  SeasonProgress,
  SeasonResponse,
  SeasonsResponse,
  StorageKeys,
  StorageListRequest,
  SwitchRequest,
  TierView,
} from './contract.ts'
export { type ErrorCode, type Fault, TierwayError } from './error.ts'
export type { EventOptions, TierwayEvent } from './events.ts'
export { parseExact, printExact } from './json.ts'
export type { SignedOut } from './login.ts'
export { Outbox, type OutboxEvents, type QueuedXp } from './outbox.ts'
export type { Fetch, FetchBody, FetchRequest, FetchResponse, Signal } from './platform.ts'
export type { BattlePassSession, ClaimOptions, LevelSession, Scenario, ScenarioSession } from './scenario.ts'
export type {
  BattlePassEvents,
  ClaimedTiers,
  Crossing,
  GrantedRewards,
  LevelUp,
  SessionEvents,
  Track,
} from './session-events.ts'
export { localStorage, memoryStorage, type Storage } from './storage.ts'
export { type GuestRequest, type LoginEvents, type PlayerStorage, Tierway, type TierwayOptions } from './tierway.ts'
export type { CallOptions, ChangeOptions } from './transport.ts'
export type { ViewOptions } from './views.ts'
