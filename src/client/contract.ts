// Written by `npm run schema` from the declarations of the service. Change those instead.

import type { ShapeOf } from './shape.ts'

/** A player's progress on a battle pass: the state after all calls that were answered. */
export interface ProgressResponse {
  /** The current level; 0 below the first. */
  readonly level: number
  /** The current xp. */
  readonly xp: bigint
  /** Whether the player owns the premium track. */
  readonly premiumOwned: boolean
  /** Claimed tiers, by level, then by track: free, premium, bonus. */
  readonly claimedTiers: readonly ClaimedTier[]
}

/** A claimed tier. */
export interface ClaimedTier {
  /** The level of the tier; for a bonus tier its number. */
  readonly level: number
  /** The track of the tier. Only a pass with bonus tiers has `bonus`. */
  readonly track: 'free' | 'premium' | 'bonus'
}

/** The state after the addition. A call that is repeated with its idempotency key answers the same. */
export interface AddXpResponse {
  /** The level after the addition. */
  readonly level: number
  /** The xp after the addition. */
  readonly xp: bigint
  /** Whether the call reached a new level. */
  readonly leveledUp: boolean
  /** Whether the player is at the last level. */
  readonly maxLevel: boolean
  readonly plan: ExecutionPlan | null
}

/** The steps of the run that the call caused; null when it caused none. Of a pass with `autoClaim` also what it claimed for the player. */
export interface ExecutionPlan {
  /** Id of the run. */
  readonly runId: string
  /** The status of the run. */
  readonly status: 'active' | 'completed'
  /** Crossed handles, in order. */
  readonly crossed: readonly {
    /** Id of the node. */
    readonly nodeId: string
    /** The crossed handle. */
    readonly handle: string
  }[]
  /** Entered nodes, in order. The client runs the types that the service does not know. */
  readonly entered: readonly EnteredNode[]
  /** Rewards that reward nodes granted, and those of tiers that a pass with `autoClaim` claimed. */
  readonly granted: readonly Reward[]
  /** The boosts among the rewards, which the list of rewards does not have. Absent without one. */
  readonly boosts?: readonly RewardBoost[]
}

/** An entered node. */
export interface EnteredNode {
  /** Id of the node. */
  readonly nodeId: string
  /** Type of the node, such as `battle-pass`. */
  readonly type: string
  /** Data of the node, as it was published. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Something granted: exactly one of `currency` and `itemId` is set. */
export interface Reward {
  /** The amount of the currency or item. */
  readonly amount: bigint
  /** The currency; null for an item. */
  readonly currency: string | null
  /** The item; null for a currency. */
  readonly itemId: string | null
}

/** A boost of the player alone: more of each xp for a time, from the moment at which it is granted. */
export interface RewardBoost {
  /** The percentage that is added to each xp. */
  readonly percent: number
  /** The duration in minutes. */
  readonly minutes: number
}

/** The outcome of a claim. A tier is granted once, however often it is claimed. */
export interface ClaimResponse {
  /** True when the tier is claimed, by this call or an earlier one. */
  readonly success: boolean
  /** True when an earlier call claimed the tier. */
  readonly alreadyClaimed: boolean
  /** The reason why the game refused. Null on success. */
  readonly error:
    | 'tier not found'
    | 'season closed'
    | 'level not reached'
    | 'premium required'
    | 'choice required'
    | 'choice not found'
    | 'balance limit exceeded'
    | 'daily limit reached'
    | null
  /** The rewards of the tier. A repeated claim answers the same list. */
  readonly granted: readonly Reward[]
  /** The boosts among the rewards, which the list of rewards does not have. Absent without one. */
  readonly boosts?: readonly RewardBoost[]
}

/** The outcome of a purchase. The price is charged once. */
export interface PremiumResponse {
  /** True when premium was bought. */
  readonly success: boolean
  /** The reason why the game refused. Null on success. */
  readonly error:
    | 'idempotency key reused'
    | 'premium not available'
    | 'season closed'
    | 'premium already owned'
    | 'insufficient funds'
    | 'balance limit exceeded'
    | null
  readonly plan: ExecutionPlan | null
}

/** The dates of the season of a battle pass, and where it stands now. */
export interface SeasonResponse {
  /** Before the season: `planned`, then `announced`. While xp counts: `running`, then `ending`. Afterwards: `ended` while tiers can be claimed, then `closed`. */
  readonly phase: 'planned' | 'announced' | 'running' | 'ending' | 'ended' | 'closed'
  /** The time at which the season is announced, in UTC. Null when it is not. */
  readonly announcedAt: string | null
  /** The time at which the season starts, in UTC. Null when it has always run. */
  readonly startsAt: string | null
  /** The time from which the season is about to end, in UTC. Null without one. */
  readonly endingAt: string | null
  /** The first time without xp and premium, in UTC. Null when the season does not end. */
  readonly endsAt: string | null
  /** The first time without claims, in UTC. Null when claims stay open. */
  readonly claimUntil: string | null
  /** The phase that comes next. Null when none does. */
  readonly nextPhase: 'planned' | 'announced' | 'running' | 'ending' | 'ended' | 'closed' | null
  /** The time at which the next phase begins, in UTC. Null when none does. */
  readonly nextPhaseAt: string | null
  /** In how many seconds the next phase begins, by the clock of the environment, rounded up. At most 2147483647. Null when none does. */
  readonly secondsToNextPhase: number | null
  /** The boosts of the scenario and the player's own that run now, the first to end first. */
  readonly boosts: readonly SeasonBoost[]
  /** The time of the answer, by the clock of the environment, in UTC. */
  readonly now: string
}

/** More xp for a time, which runs now. */
export interface SeasonBoost {
  /** The percentage that is added to each xp. Boosts that run at the same time are added. */
  readonly percent: number
  /** The time at which it started, in UTC. */
  readonly startsAt: string
  /** The first time without it, in UTC. An operator may end it earlier. */
  readonly endsAt: string
  /** In how many seconds it ends, by the clock of the environment, rounded up. At most 2147483647. */
  readonly secondsLeft: number
  /** The players who get it: `everybody`, or with `premium` the owners of premium of the pass. */
  readonly audience: 'everybody' | 'premium'
  /** The sources of xp that it is for. Empty for all. */
  readonly sources: readonly string[]
  /** True for a boost that the player alone has. Absent for any other. */
  readonly personal?: boolean
}

/** A player's seasons: one for each battle pass that it has begun, also those that are over. */
export interface SeasonsResponse {
  /** The last started season first. Seasons without a start are the last ones. Those of the same start are in the order of their scenarios and nodes. */
  readonly seasons: readonly SeasonProgress[]
}

/** What a player has reached in a season: on a battle pass that it has begun. The phase, dates and top level are null when the current version of the scenario no longer has the pass. */
export interface SeasonProgress {
  /** A scenario's id in its environment. */
  readonly scenarioId: string
  /** A node's id in its scenario. */
  readonly nodeId: string
  /** Where the season stands now. */
  readonly phase: 'planned' | 'announced' | 'running' | 'ending' | 'ended' | 'closed' | null
  /** The time at which the season starts, in UTC. Null when it has always run. */
  readonly startsAt: string | null
  /** The first time without xp and premium, in UTC. Null when the season does not end. */
  readonly endsAt: string | null
  /** The first time without claims, in UTC. Null when claims stay open. */
  readonly claimUntil: string | null
  /** The level by the current version of the scenario; 0 below the first. A pass that the current version no longer has keeps its last level. */
  readonly level: number
  /** The highest level of the pass. */
  readonly topLevel: number | null
  /** The current xp. */
  readonly xp: bigint
  /** Whether the player owns the premium track. */
  readonly premiumOwned: boolean
  /** The number of tiers that the player has claimed. */
  readonly claimed: number
}

export interface InboxRequest {
  /** A tag of a language, such as `pt-BR`. Default: the language of the player's profile. */
  readonly language?: string | null
  /** Messages of the page: 1 to 100. Default: 50. */
  readonly limit?: number | null
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string | null
}

/** A page of a player's inbox, with counts of the whole inbox. */
export interface InboxResponse {
  /** The newest first. Expired messages are left out. */
  readonly messages: readonly InboxMessage[]
  /** The number of messages that were not read. */
  readonly unread: number
  /** The number of messages with rewards that can still be claimed. */
  readonly unclaimed: number
  /** Pass it as `cursor` to read the next page. Null on the last page. */
  readonly cursor: string | null
}

/** A message in the inbox of a player. */
export interface InboxMessage {
  /** The id of the message. */
  readonly messageId: string
  /** What the message is. */
  readonly kind: 'message' | 'season_end'
  /** The title, in `language`. Null for a message without a text, for which the game has words of its own. */
  readonly title: string | null
  /** The text below the title; it may be empty. Null for a message without a text, for which the game has words of its own. */
  readonly body: string | null
  /** The language of the title and the body. Null for a message without a text, for which the game has words of its own. */
  readonly language: string | null
  /** The picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
  /** What a claim grants. Empty for a message without rewards. */
  readonly rewards: readonly Reward[]
  /** The boosts among the rewards, which the list of rewards does not have. Absent without one. */
  readonly boosts?: readonly RewardBoost[]
  /** The time at which it was sent, in UTC. */
  readonly sentAt: string
  /** The first time at which it is no longer there, in UTC. */
  readonly expiresAt: string
  /** Whether it was read or claimed. */
  readonly isRead: boolean
  /** Whether it was claimed. */
  readonly isClaimed: boolean
  /** The scenario of the season that the message is about; null for none. */
  readonly scenarioId: string | null
  /** The pass of the season that the message is about; null for none. */
  readonly nodeId: string | null
}

/** The outcome of a claim. A message is granted once, however often it is claimed. */
export interface InboxClaimResponse {
  /** True when the message is claimed, by this call or an earlier one. */
  readonly success: boolean
  /** True when an earlier call claimed the message. */
  readonly alreadyClaimed: boolean
  /** Why nothing was granted. Null on success. */
  readonly error: 'message not found' | 'message expired' | 'balance limit exceeded' | null
  /** The rewards of the message. A repeated claim answers the same list. Empty for a message without rewards. */
  readonly granted: readonly Reward[]
  /** The boosts among the rewards, which the list of rewards does not have. Absent without one. */
  readonly boosts?: readonly RewardBoost[]
}

/** The outcome of a claim of all messages. */
export interface InboxClaimAllResponse {
  /** The newly claimed messages, the oldest first: at most 100. A message whose rewards do not fit is passed over. */
  readonly claimed: readonly {
    /** The message. */
    readonly messageId: string
    /** The granted rewards. */
    readonly granted: readonly Reward[]
    /** The boosts among the rewards, which the list of rewards does not have. Absent without one. */
    readonly boosts?: readonly RewardBoost[]
  }[]
  /** The number of messages with rewards that can still be claimed: they did not fit, or the call had too many. */
  readonly remaining: number
  /** Why nothing was claimed. Null when a message was claimed, and when there was none to claim. */
  readonly error: 'balance limit exceeded' | null
}

/** The inbox after messages were read. */
export interface InboxReadResponse {
  /** The number of messages that were not read. */
  readonly unread: number
}

export interface CustomLoginRequest {
  /** Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text. */
  readonly customData: Readonly<Record<string, unknown>>
  /** The name of a custom provider. Default: `default`. */
  readonly provider?: string | null
  /** The nickname of a new player, unless the provider gives one. Later logins ignore it. */
  readonly nickname?: string | null
  /** The region of a new player, such as `eu-west`. Later logins ignore it. */
  readonly region?: string | null
  /** The language of a new player, such as `pt-BR`. Later logins ignore it. */
  readonly language?: string | null
  /** The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions. */
  readonly deviceName?: string | null
}

/** The tokens of a login. */
export interface TokenPair {
  /** A JWT for `Authorization: Bearer`. Valid for 24 hours; when the login ends earlier, the token ends within two seconds. */
  readonly accessToken: string
  /** Valid for 7 days and for one use. */
  readonly refreshToken: string
}

export interface CustomLinkRequest {
  /** Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text. */
  readonly customData: Readonly<Record<string, unknown>>
  /** The name of a custom provider. Default: `default`. */
  readonly provider?: string | null
}

export interface IdTokenLoginRequest {
  /** The ID token that the issuer gave the game: a signed JWT. */
  readonly idToken: string
  /** The nonce of the token, which works once. Required for a token with one. The token may have its SHA-256 instead, in hex or base64url. */
  readonly nonce?: string | null
  /** The nickname of a new player, unless the provider gives one. Later logins ignore it. */
  readonly nickname?: string | null
  /** The region of a new player, such as `eu-west`. Later logins ignore it. */
  readonly region?: string | null
  /** The language of a new player, such as `pt-BR`. Later logins ignore it. */
  readonly language?: string | null
  /** The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions. */
  readonly deviceName?: string | null
}

export interface IdTokenLinkRequest {
  /** The ID token that the issuer gave the game: a signed JWT. */
  readonly idToken: string
  /** The nonce of the token, which works once. Required for a token with one. The token may have its SHA-256 instead, in hex or base64url. */
  readonly nonce?: string | null
}

export interface OidcLoginRequest {
  /** The name of the issuer in the settings of the environment. */
  readonly provider: string
  /** The ID token that the issuer gave the game: a signed JWT. */
  readonly idToken: string
  /** The nonce of the token, which works once. Required for a token with one. The token may have its SHA-256 instead, in hex or base64url. */
  readonly nonce?: string | null
  /** The nickname of a new player, unless the provider gives one. Later logins ignore it. */
  readonly nickname?: string | null
  /** The region of a new player, such as `eu-west`. Later logins ignore it. */
  readonly region?: string | null
  /** The language of a new player, such as `pt-BR`. Later logins ignore it. */
  readonly language?: string | null
  /** The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions. */
  readonly deviceName?: string | null
}

export interface OidcLinkRequest {
  /** The name of the issuer in the settings of the environment. */
  readonly provider: string
  /** The ID token that the issuer gave the game: a signed JWT. */
  readonly idToken: string
  /** The nonce of the token, which works once. Required for a token with one. The token may have its SHA-256 instead, in hex or base64url. */
  readonly nonce?: string | null
}

export interface DeviceLoginRequest {
  /** A text that the client made at random for this device and keeps. A client that sends it is this player. */
  readonly deviceId: string
  /** The nickname of a new player, unless the provider gives one. Later logins ignore it. */
  readonly nickname?: string | null
  /** The region of a new player, such as `eu-west`. Later logins ignore it. */
  readonly region?: string | null
  /** The language of a new player, such as `pt-BR`. Later logins ignore it. */
  readonly language?: string | null
  /** The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions. */
  readonly deviceName?: string | null
}

export interface SwitchRequest {
  /** The `ticket` of the `conflict` in the refusal of a link. */
  readonly ticket: string
  /** The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions. */
  readonly deviceName?: string | null
}

/** A player with everything that it owns. */
export interface Player {
  /** Id of the player. */
  readonly playerId: string
  /** The player's name. */
  readonly nickname: string | null
  /** The URL of the player's picture, from the webhook. */
  readonly avatarUrl: string | null
  /** The region that the client gave at the first login, such as `eu-west`. */
  readonly region: string | null
  /** The language that the client gave at the first login, such as `pt-BR`. */
  readonly language: string | null
  /** The time of its creation, in UTC. */
  readonly createdAt: string
  /** By currency. */
  readonly wallet: readonly {
    /** The currency, as the scenario and its prices name it. */
    readonly currency: string
    /** The balance, in whole units. */
    readonly balance: bigint
  }[]
  /** By item. */
  readonly inventory: readonly {
    /** The item's id in scenarios. */
    readonly itemId: string
    /** The number of units. */
    readonly amount: bigint
  }[]
  /** By provider and subject. */
  readonly identities: readonly {
    /** `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. */
    readonly provider: string
    /** The provider's own id of the player. Of a device, a hash of its id. */
    readonly subject: string
  }[]
}

export interface PlayerUpdateRequest {
  /** The new name. */
  readonly nickname?: string | null
  /** The new region, such as `eu-west`. */
  readonly region?: string | null
  /** The new language, such as `pt-BR`. */
  readonly language?: string | null
}

/** The identities of the calling player. */
export interface OwnIdentities {
  /** By provider and subject. */
  readonly identities: readonly {
    /** `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. */
    readonly provider: string
    /** The provider's own id of the player. Of a device, a hash of its id. */
    readonly subject: string
    /** The time at which it was linked, in UTC. */
    readonly createdAt: string
  }[]
}

export interface IdentityUnlinkRequest {
  /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
  readonly provider: string
  /** The provider's own id of the player. */
  readonly subject: string
}

/** The sessions of the calling player. */
export interface OwnSessions {
  /** The last used first. */
  readonly sessions: readonly {
    /** Its id. The `jti` of its access tokens begins with it. */
    readonly sessionId: string
    /** The name of the device, as its client gave it at the login. */
    readonly device: string | null
    /** The time of the login, in UTC. */
    readonly createdAt: string
    /** The time of its last refresh, or of the login, in UTC. */
    readonly lastUsedAt: string
    /** Whether the call came from this session. */
    readonly isCurrent: boolean
  }[]
}

/** How many sessions have ended by the call. */
export interface EndedSessions {
  /** 0 when they had ended before. */
  readonly ended: number
}

/** The deletion that the player has asked for. */
export interface PlannedDeletion {
  /** The time from which on the player is deleted, in UTC. A login before then cancels it. */
  readonly deleteAt: string
}

/** Stored values. */
export interface StorageValues {
  /** Values by key, byte for byte as they were written. */
  readonly values: Readonly<Record<string, unknown>>
}

export interface StorageListRequest {
  /** The `next` of the previous answer. Default: from the first key. */
  readonly after?: string | null
  /** The number of keys: 1 to 200. Default: 200. */
  readonly first?: number | null
}

/** A page of keys. */
export interface StorageKeys {
  /** Keys in the order of their bytes. */
  readonly keys: readonly {
    /** A key. */
    readonly key: string
    /** The size of its value in UTF-8. */
    readonly bytes: number
  }[]
  /** Pass it as `after` to read the next page. Null on the last page. */
  readonly next: string | null
}

/** The active run. For a resumed run, `plan` is the last plan. */
export interface StartRunResponse {
  /** Id of the run. */
  readonly runId: string
  /** True when the run was already active. */
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
  /** The run of the season that follows. Over REST it is absent unless the season of this scenario has ended and another one follows. */
  readonly next?: NextRun | null
}

/** The run of the next season. */
export interface NextRun {
  /** The scenario of the next season. From now on, xp goes there. */
  readonly scenarioId: string
  /** Id of the run. */
  readonly runId: string
  /** True when the run was already active. */
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
}

/** The steps that the crossing caused. */
export interface CrossResponse {
  readonly plan: ExecutionPlan | null
}

/** The run, with its last plan. */
export interface RunResponse {
  /** Id of the run. */
  readonly runId: string
  /** Id of the scenario. */
  readonly scenarioId: string
  /** The status of the run. */
  readonly status: 'active' | 'completed' | 'cancelled'
  /** Active nodes: entered and not left. */
  readonly active: readonly EnteredNode[]
  /** The last plan, for a client that lost an answer. */
  readonly plan: ExecutionPlan | null
  /** The reason why the run was cancelled. Null for any other run. */
  readonly cause: 'cancelled by support' | 'definition changed' | null
}

/** What a game draws of a scenario: its passes with texts and pictures, and the state of the player. */
export interface ScenarioView {
  /** A scenario's id in its environment. */
  readonly scenarioId: string
  /** The version of the definition. */
  readonly version: number
  /** The name of the scenario in the language of the player, otherwise the one of the definition. */
  readonly name: string
  /** A description in that language. Null without one. */
  readonly description: string | null
  /** Its picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
  /** The language that was chosen. A text without it is in its nearest one. Null without texts. */
  readonly language: string | null
  /** The battle passes, in the order of the definition. */
  readonly passes: readonly PassView[]
}

/** A battle pass of a scenario, as the game shows it. */
export interface PassView {
  /** A node's id in its scenario. */
  readonly nodeId: string
  /** What it is called, in the language of the player. Null without a text. */
  readonly name: string | null
  /** A description in that language. Null without one. */
  readonly description: string | null
  /** Its picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
  /** The time at which the season is announced, in UTC. Null when it is not. */
  readonly announcedAt: string | null
  /** The time at which the season starts, in UTC. Null when it has always run. */
  readonly startsAt: string | null
  /** The time from which the season is about to end, in UTC. Null without one. */
  readonly endingAt: string | null
  /** The first time without xp and premium, in UTC. Null when the season does not end. */
  readonly endsAt: string | null
  /** The first time without claims, in UTC. Null when claims stay open. */
  readonly claimUntil: string | null
  /** Null for a pass without a premium track. */
  readonly premium: PremiumView | null
  /** By level. */
  readonly levels: readonly LevelView[]
  /** By level, then by track: free, premium. */
  readonly tiers: readonly TierView[]
  /** Null without bonus tiers. */
  readonly bonus: BonusView | null
  /** Null where xp above the top level becomes no currency. */
  readonly conversion: ConversionView | null
  readonly state: PassState
}

/** The premium of a pass. */
export interface PremiumView {
  /** The currency of the price. */
  readonly currency: string
  /** The price. */
  readonly amount: bigint
  /** The percentage that is added to each xp of owners. Null for none. */
  readonly xpPercent: bigint | null
  /** What the purchase grants at once. */
  readonly instant: readonly RewardView[]
}

/** A reward as the game shows it: exactly one of `currency`, `itemId` and `boost` is set. */
export interface RewardView {
  /** The amount of the currency or item. For a boost: the number of boosts, which is 1 in most places. */
  readonly amount: bigint
  /** The currency; null for anything else. */
  readonly currency: string | null
  /** The item; null for anything else. */
  readonly itemId: string | null
  readonly boost?: RewardBoost
  /** What it is called, in the language of the player. Null without a text. */
  readonly name: string | null
  /** A description in that language. Null without one. */
  readonly description: string | null
  /** Its picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
}

/** A level of a pass. */
export interface LevelView {
  /** Its number. */
  readonly level: number
  /** The total of xp that reaches it. */
  readonly xp: bigint
  /** What it is called, in the language of the player. Null without a text. */
  readonly name: string | null
  /** A description in that language. Null without one. */
  readonly description: string | null
  /** Its picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
}

/** A tier of a pass. */
export interface TierView {
  /** The level that opens it. */
  readonly level: number
  readonly track: 'free' | 'premium'
  /** What it is called, in the language of the player. Null without a text. */
  readonly name: string | null
  /** A description in that language. Null without one. */
  readonly description: string | null
  /** Its picture: a URL, or a key of the game's own assets. Null without one. */
  readonly image: string | null
  /** What a claim grants in any case. */
  readonly rewards: readonly RewardView[]
  /** The options of which the player picks one, by its index. Empty without a choice. */
  readonly choice: readonly OptionView[]
}

/** An option of the choice of a tier. */
export interface OptionView {
  /** What the player gets with it. */
  readonly rewards: readonly RewardView[]
}

/** A tier that repeats above the top level. Its tiers are claimed on the track `bonus`, by numbers from 1. */
export interface BonusView {
  /** The xp above the top level that earns one bonus tier. */
  readonly every: bigint
  /** The number of bonus tiers. */
  readonly max: number
  /** How many are claimed on a day of the game. Null for no limit. */
  readonly perDay: number | null
  /** What a claim grants in any case. */
  readonly rewards: readonly RewardView[]
  /** The options of which the player picks one, by its index. Empty without a choice. */
  readonly choice: readonly OptionView[]
}

/** One of a currency for each `per` xp above the top level. */
export interface ConversionView {
  /** The currency. */
  readonly currency: string
  /** The xp that becomes one of the currency. */
  readonly per: bigint
}

/** Where the season and the player stand on a pass. */
export interface PassState {
  /** Before the season: `planned`, then `announced`. While xp counts: `running`, then `ending`. Afterwards: `ended` while tiers can be claimed, then `closed`. */
  readonly phase: 'planned' | 'announced' | 'running' | 'ending' | 'ended' | 'closed'
  /** The phase that comes next. Null when none does. */
  readonly nextPhase: 'planned' | 'announced' | 'running' | 'ending' | 'ended' | 'closed' | null
  /** The time at which the next phase begins, in UTC. Null when none does. */
  readonly nextPhaseAt: string | null
  /** In how many seconds the next phase begins, by the clock of the environment, rounded up. At most 2147483647. Null when none does. */
  readonly secondsToNextPhase: number | null
  /** The current level; 0 below the first. */
  readonly level: number
  /** The current xp. */
  readonly xp: bigint
  /** The total of xp that reaches the next level. Null at the top level. */
  readonly nextLevelXp: bigint | null
  /** Whether the player owns the premium track. */
  readonly premiumOwned: boolean
  /** Claimed tiers, by level, then by track: free, premium, bonus. */
  readonly claimed: readonly ClaimedTier[]
  /** Tiers that the player can claim now, in the same order. Of bonus tiers at most as many as are left of the day. */
  readonly claimable: readonly ClaimedTier[]
  /** The boosts of the scenario and the player's own that run now, the first to end first. */
  readonly boosts: readonly SeasonBoost[]
}

/** The fields of every event, except its data. */
export interface EventFields {
  /** Its place in the stream. Store it, and pass it as `after` to continue from there. */
  readonly cursor: string
  readonly type:
    | 'CROSSING'
    | 'INBOX_RECEIVED'
    | 'PLAYER_CREATED'
    | 'RUN_CANCELLED'
    | 'SEASON_SETTLED'
    | 'TIERS_CLAIMED'
    | 'XP_LIMITED'
  /** RFC 3339, UTC. */
  readonly occurredAt: string
  /** A player's id. */
  readonly playerId: string
  /** The scenario of the run or of the season; null for `PLAYER_CREATED`, and for a message that is about no season. */
  readonly scenarioId: string | null
  /** The node of the crossed handle, or the pass of the tiers, of the xp, of the season or of a message about it; null for any other event. */
  readonly nodeId: string | null
  /** The run; null for `PLAYER_CREATED`, `INBOX_RECEIVED` and events of a season. */
  readonly runId: string | null
  /** The crossed handle; null for an event that is no crossing. */
  readonly handle: string | null
}

/** The code of an answer with a status of 400 or more. */
export type RefusalCode =
  | 'invalid_request'
  | 'storage_limit_exceeded'
  | 'cost_limit_exceeded'
  | 'invalid_sdk_key'
  | 'invalid_token'
  | 'custom_auth_disabled'
  | 'custom_auth_rejected'
  | 'custom_auth_invalid_data'
  | 'sign_in_disabled'
  | 'id_token_rejected'
  | 'ticket_rejected'
  | 'player_banned'
  | 'player_deleted'
  | 'forbidden'
  | 'profile_not_allowed'
  | 'xp_not_allowed'
  | 'persisted_query_required'
  | 'handle_is_server_owned'
  | 'scenario_not_found'
  | 'node_not_found'
  | 'run_not_found'
  | 'project_not_found'
  | 'environment_not_found'
  | 'player_not_found'
  | 'persisted_query_not_found'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_timeout'
  | 'run_not_active'
  | 'node_not_active'
  | 'season_closed'
  | 'xp_limit_exceeded'
  | 'xp_limit_reached'
  | 'balance_limit_exceeded'
  | 'insufficient_funds'
  | 'unknown_currency'
  | 'credit_limit_exceeded'
  | 'role_limit_exceeded'
  | 'premium_tiers_claimed'
  | 'premium_not_available'
  | 'tier_not_found'
  | 'premium_required'
  | 'inbox_full'
  | 'too_many_notes'
  | 'already_undone'
  | 'last_identity'
  | 'approval_required'
  | 'environment_already_exists'
  | 'too_many_environments'
  | 'too_many_secrets'
  | 'too_many_sessions'
  | 'identity_already_linked'
  | 'cursor_expired'
  | 'version_conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'subscription_limit_exceeded'
  | 'headers_too_large'
  | 'internal_error'
  | 'custom_auth_invalid_response'
  | 'custom_auth_unavailable'
  | 'sign_in_unavailable'
  | 'unavailable'

/** Types of nodes that the service leaves at once, so that they are never active. */
export const PASSED_TYPES: readonly string[] = ['start', 'reward']

// The shapes of answers.

export const CLAIMED_TIER: ShapeOf<ClaimedTier> = { members: { level: 'integer', track: 'string' } }

export const PROGRESS_RESPONSE: ShapeOf<ProgressResponse> = {
  members: { level: 'integer', xp: 'int64', premiumOwned: 'boolean', claimedTiers: { list: CLAIMED_TIER } },
}

export const SEASON_BOOST: ShapeOf<SeasonBoost> = {
  members: {
    percent: 'integer',
    startsAt: 'string',
    endsAt: 'string',
    secondsLeft: 'integer',
    audience: 'string',
    sources: { list: 'string' },
    personal: { ifPresent: 'boolean' },
  },
}

export const SEASON_RESPONSE: ShapeOf<SeasonResponse> = {
  members: {
    phase: 'string',
    announcedAt: { orNull: 'string' },
    startsAt: { orNull: 'string' },
    endingAt: { orNull: 'string' },
    endsAt: { orNull: 'string' },
    claimUntil: { orNull: 'string' },
    nextPhase: { orNull: 'string' },
    nextPhaseAt: { orNull: 'string' },
    secondsToNextPhase: { orNull: 'integer' },
    boosts: { list: SEASON_BOOST },
    now: 'string',
  },
}

export const SEASON_PROGRESS: ShapeOf<SeasonProgress> = {
  members: {
    scenarioId: 'string',
    nodeId: 'string',
    phase: { orNull: 'string' },
    startsAt: { orNull: 'string' },
    endsAt: { orNull: 'string' },
    claimUntil: { orNull: 'string' },
    level: 'integer',
    topLevel: { orNull: 'integer' },
    xp: 'int64',
    premiumOwned: 'boolean',
    claimed: 'integer',
  },
}

export const SEASONS_RESPONSE: ShapeOf<SeasonsResponse> = { members: { seasons: { list: SEASON_PROGRESS } } }

export const REWARD_BOOST: ShapeOf<RewardBoost> = { members: { percent: 'integer', minutes: 'integer' } }

export const REWARD_VIEW: ShapeOf<RewardView> = {
  members: {
    amount: 'int64',
    currency: { orNull: 'string' },
    itemId: { orNull: 'string' },
    boost: { ifPresent: REWARD_BOOST },
    name: { orNull: 'string' },
    description: { orNull: 'string' },
    image: { orNull: 'string' },
  },
}

export const PREMIUM_VIEW: ShapeOf<PremiumView> = {
  members: { currency: 'string', amount: 'int64', xpPercent: { orNull: 'int64' }, instant: { list: REWARD_VIEW } },
}

export const LEVEL_VIEW: ShapeOf<LevelView> = {
  members: {
    level: 'integer',
    xp: 'int64',
    name: { orNull: 'string' },
    description: { orNull: 'string' },
    image: { orNull: 'string' },
  },
}

export const OPTION_VIEW: ShapeOf<OptionView> = { members: { rewards: { list: REWARD_VIEW } } }

export const TIER_VIEW: ShapeOf<TierView> = {
  members: {
    level: 'integer',
    track: 'string',
    name: { orNull: 'string' },
    description: { orNull: 'string' },
    image: { orNull: 'string' },
    rewards: { list: REWARD_VIEW },
    choice: { list: OPTION_VIEW },
  },
}

export const BONUS_VIEW: ShapeOf<BonusView> = {
  members: {
    every: 'int64',
    max: 'integer',
    perDay: { orNull: 'integer' },
    rewards: { list: REWARD_VIEW },
    choice: { list: OPTION_VIEW },
  },
}

export const CONVERSION_VIEW: ShapeOf<ConversionView> = { members: { currency: 'string', per: 'int64' } }

export const PASS_STATE: ShapeOf<PassState> = {
  members: {
    phase: 'string',
    nextPhase: { orNull: 'string' },
    nextPhaseAt: { orNull: 'string' },
    secondsToNextPhase: { orNull: 'integer' },
    level: 'integer',
    xp: 'int64',
    nextLevelXp: { orNull: 'int64' },
    premiumOwned: 'boolean',
    claimed: { list: CLAIMED_TIER },
    claimable: { list: CLAIMED_TIER },
    boosts: { list: SEASON_BOOST },
  },
}

export const PASS_VIEW: ShapeOf<PassView> = {
  members: {
    nodeId: 'string',
    name: { orNull: 'string' },
    description: { orNull: 'string' },
    image: { orNull: 'string' },
    announcedAt: { orNull: 'string' },
    startsAt: { orNull: 'string' },
    endingAt: { orNull: 'string' },
    endsAt: { orNull: 'string' },
    claimUntil: { orNull: 'string' },
    premium: { orNull: PREMIUM_VIEW },
    levels: { list: LEVEL_VIEW },
    tiers: { list: TIER_VIEW },
    bonus: { orNull: BONUS_VIEW },
    conversion: { orNull: CONVERSION_VIEW },
    state: PASS_STATE,
  },
}

export const SCENARIO_VIEW: ShapeOf<ScenarioView> = {
  members: {
    scenarioId: 'string',
    version: 'integer',
    name: 'string',
    description: { orNull: 'string' },
    image: { orNull: 'string' },
    language: { orNull: 'string' },
    passes: { list: PASS_VIEW },
  },
}

export const ENTERED_NODE: ShapeOf<EnteredNode> = { members: { nodeId: 'string', type: 'string', data: 'object' } }

export const REWARD: ShapeOf<Reward> = {
  members: { amount: 'int64', currency: { orNull: 'string' }, itemId: { orNull: 'string' } },
}

export const EXECUTION_PLAN: ShapeOf<ExecutionPlan> = {
  members: {
    runId: 'string',
    status: 'string',
    crossed: { list: { members: { nodeId: 'string', handle: 'string' } } },
    entered: { list: ENTERED_NODE },
    granted: { list: REWARD },
    boosts: { ifPresent: { list: REWARD_BOOST } },
  },
}

export const ADD_XP_RESPONSE: ShapeOf<AddXpResponse> = {
  members: {
    level: 'integer',
    xp: 'int64',
    leveledUp: 'boolean',
    maxLevel: 'boolean',
    plan: { orNull: EXECUTION_PLAN },
  },
}

export const CLAIM_RESPONSE: ShapeOf<ClaimResponse> = {
  members: {
    success: 'boolean',
    alreadyClaimed: 'boolean',
    error: { orNull: 'string' },
    granted: { list: REWARD },
    boosts: { ifPresent: { list: REWARD_BOOST } },
  },
}

export const PREMIUM_RESPONSE: ShapeOf<PremiumResponse> = {
  members: { success: 'boolean', error: { orNull: 'string' }, plan: { orNull: EXECUTION_PLAN } },
}

export const NEXT_RUN: ShapeOf<NextRun> = {
  members: { scenarioId: 'string', runId: 'string', resumed: 'boolean', plan: { orNull: EXECUTION_PLAN } },
}

export const START_RUN_RESPONSE: ShapeOf<StartRunResponse> = {
  members: {
    runId: 'string',
    resumed: 'boolean',
    plan: { orNull: EXECUTION_PLAN },
    next: { ifPresent: { orNull: NEXT_RUN } },
  },
}

export const CROSS_RESPONSE: ShapeOf<CrossResponse> = { members: { plan: { orNull: EXECUTION_PLAN } } }

export const RUN_RESPONSE: ShapeOf<RunResponse> = {
  members: {
    runId: 'string',
    scenarioId: 'string',
    status: 'string',
    active: { list: ENTERED_NODE },
    plan: { orNull: EXECUTION_PLAN },
    cause: { orNull: 'string' },
  },
}

export const INBOX_MESSAGE: ShapeOf<InboxMessage> = {
  members: {
    messageId: 'string',
    kind: 'string',
    title: { orNull: 'string' },
    body: { orNull: 'string' },
    language: { orNull: 'string' },
    image: { orNull: 'string' },
    rewards: { list: REWARD },
    boosts: { ifPresent: { list: REWARD_BOOST } },
    sentAt: 'string',
    expiresAt: 'string',
    isRead: 'boolean',
    isClaimed: 'boolean',
    scenarioId: { orNull: 'string' },
    nodeId: { orNull: 'string' },
  },
}

export const INBOX_RESPONSE: ShapeOf<InboxResponse> = {
  members: { messages: { list: INBOX_MESSAGE }, unread: 'integer', unclaimed: 'integer', cursor: { orNull: 'string' } },
}

export const INBOX_CLAIM_RESPONSE: ShapeOf<InboxClaimResponse> = {
  members: {
    success: 'boolean',
    alreadyClaimed: 'boolean',
    error: { orNull: 'string' },
    granted: { list: REWARD },
    boosts: { ifPresent: { list: REWARD_BOOST } },
  },
}

export const INBOX_CLAIM_ALL_RESPONSE: ShapeOf<InboxClaimAllResponse> = {
  members: {
    claimed: {
      list: {
        members: { messageId: 'string', granted: { list: REWARD }, boosts: { ifPresent: { list: REWARD_BOOST } } },
      },
    },
    remaining: 'integer',
    error: { orNull: 'string' },
  },
}

export const INBOX_READ_RESPONSE: ShapeOf<InboxReadResponse> = { members: { unread: 'integer' } }

export const OWN_IDENTITIES: ShapeOf<OwnIdentities> = {
  members: { identities: { list: { members: { provider: 'string', subject: 'string', createdAt: 'string' } } } },
}

export const OWN_SESSIONS: ShapeOf<OwnSessions> = {
  members: {
    sessions: {
      list: {
        members: {
          sessionId: 'string',
          device: { orNull: 'string' },
          createdAt: 'string',
          lastUsedAt: 'string',
          isCurrent: 'boolean',
        },
      },
    },
  },
}

export const ENDED_SESSIONS: ShapeOf<EndedSessions> = { members: { ended: 'integer' } }

export const PLANNED_DELETION: ShapeOf<PlannedDeletion> = { members: { deleteAt: 'string' } }

export const TOKEN_PAIR: ShapeOf<TokenPair> = { members: { accessToken: 'string', refreshToken: 'string' } }

export const PLAYER: ShapeOf<Player> = {
  members: {
    playerId: 'string',
    nickname: { orNull: 'string' },
    avatarUrl: { orNull: 'string' },
    region: { orNull: 'string' },
    language: { orNull: 'string' },
    createdAt: 'string',
    wallet: { list: { members: { currency: 'string', balance: 'int64' } } },
    inventory: { list: { members: { itemId: 'string', amount: 'int64' } } },
    identities: { list: { members: { provider: 'string', subject: 'string' } } },
  },
}

export const STORAGE_VALUES: ShapeOf<StorageValues> = { members: { values: 'object' } }

export const STORAGE_KEYS: ShapeOf<StorageKeys> = {
  members: { keys: { list: { members: { key: 'string', bytes: 'integer' } } }, next: { orNull: 'string' } },
}

export const EVENT_FIELDS: ShapeOf<EventFields> = {
  members: {
    cursor: 'string',
    type: 'string',
    occurredAt: 'string',
    playerId: 'string',
    scenarioId: { orNull: 'string' },
    nodeId: { orNull: 'string' },
    runId: { orNull: 'string' },
    handle: { orNull: 'string' },
  },
}
