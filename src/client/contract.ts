// Written by `npm run schema` from the declarations of the service. Change these.

export interface ProgressResponse {
  /** The current level; 0 if none is reached. */
  readonly level: number
  /** The current xp. */
  readonly xp: bigint
  /** The premium track is owned. */
  readonly premiumOwned: boolean
  /** Claimed tiers, by level, the free track first. */
  readonly claimedTiers: readonly ClaimedTier[]
}

export interface ClaimedTier {
  /** The level of the tier. */
  readonly level: number
  readonly track: 'free' | 'premium'
}

export interface AddXpResponse {
  /** The level after the addition. */
  readonly level: number
  /** The xp after the addition. */
  readonly xp: bigint
  /** A level was gained. */
  readonly leveledUp: boolean
  /** The top level is reached. */
  readonly maxLevel: boolean
  readonly plan: ExecutionPlan | null
}

export interface ClaimResponse {
  /** The tier is claimed, now or before. */
  readonly success: boolean
  /** It was claimed before. */
  readonly alreadyClaimed: boolean
  /** Why the game said no. Null on success. */
  readonly error:
    | 'tier not found'
    | 'season closed'
    | 'level not reached'
    | 'premium required'
    | 'balance limit exceeded'
    | null
  /** What the tier granted. A repeat answers the original list. */
  readonly granted: readonly Reward[]
}

export interface PremiumResponse {
  /** Premium was bought. */
  readonly success: boolean
  /** Why the game said no. Null on success. */
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

/** Exactly one of currency and itemId is set. */
export interface Reward {
  /** How much. */
  readonly amount: bigint
  /** Set for money. */
  readonly currency: string | null
  /** Set for items. */
  readonly itemId: string | null
}

/** The continuation of the run that the call caused; null when it crossed nothing. */
export interface ExecutionPlan {
  /** The run. */
  readonly runId: string
  readonly status: 'active' | 'completed'
  /** Handles crossed, in order. */
  readonly crossed: readonly {
    /** The node. */
    readonly nodeId: string
    /** The handle that it crossed. */
    readonly handle: string
  }[]
  /** Nodes entered, in order. Types that the service does not run are for the client. */
  readonly entered: readonly EnteredNode[]
  /** What reward nodes granted. */
  readonly granted: readonly Reward[]
}

/** A node. */
export interface EnteredNode {
  /** The node. */
  readonly nodeId: string
  /** Its type. */
  readonly type: string
  /** Its data, as published. */
  readonly data: Readonly<Record<string, unknown>>
}

/** The active run; on a resume the plan is the last one. */
export interface StartRunResponse {
  /** The run. */
  readonly runId: string
  /** It was active already. */
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
}

/** What the crossing caused. */
export interface CrossResponse {
  readonly plan: ExecutionPlan | null
}

/** The run, with its last plan. */
export interface RunResponse {
  /** The run. */
  readonly runId: string
  /** Its scenario. */
  readonly scenarioId: string
  readonly status: 'active' | 'completed' | 'cancelled'
  /** Nodes entered and not left. */
  readonly active: readonly EnteredNode[]
  readonly plan: ExecutionPlan | null
  /** Why the run was cancelled. Null for any other run, and for one that was cancelled before causes were recorded. */
  readonly cause: 'cancelled by support' | 'definition changed' | null
}

export interface CustomLoginRequest {
  /** Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text. */
  readonly customData: Readonly<Record<string, unknown>>
  /** The name of a custom provider. Default: `default`. */
  readonly provider?: string | null
  /** The nickname of a new player, unless the webhook gives one. */
  readonly nickname?: string | null
  /** The region of a new player, such as `eu-west`. */
  readonly region?: string | null
  /** The language of a new player, such as `pt-BR`. */
  readonly language?: string | null
}

export interface CustomLinkRequest {
  /** Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text. */
  readonly customData: Readonly<Record<string, unknown>>
  /** The name of a custom provider. Default: `default`. */
  readonly provider?: string | null
}

export interface TokenPair {
  /** A JWT for `Authorization: Bearer`. Valid 24 hours, or until two seconds after its login has ended. */
  readonly accessToken: string
  /** Valid 7 days, and used up by its first use. */
  readonly refreshToken: string
}

export interface StorageListRequest {
  /** The `next` of the previous answer. Default: from the first key. */
  readonly after?: string | null
  /** The number of keys: 1 to 200. Default: 200. */
  readonly first?: number | null
}

/** A part of the keys. */
export interface StorageKeys {
  /** Keys in the order of their bytes. */
  readonly keys: readonly {
    /** A key. */
    readonly key: string
    /** The size of its value in UTF-8. */
    readonly bytes: number
  }[]
  /** What to give as `after` for the keys that follow. Null when there are none. */
  readonly next: string | null
}

/** The calling player. */
export interface Player {
  /** The player. */
  readonly playerId: string
  /** Its name. */
  readonly nickname: string | null
  /** Its picture. */
  readonly avatarUrl: string | null
  /** From its first login. */
  readonly region: string | null
  /** From its first login. */
  readonly language: string | null
  /** When. */
  readonly createdAt: string
  /** By currency. */
  readonly wallet: readonly {
    /** A currency. */
    readonly currency: string
    /** How much of it. */
    readonly balance: bigint
  }[]
  /** By item. */
  readonly inventory: readonly {
    /** An item. */
    readonly itemId: string
    /** How many. */
    readonly amount: bigint
  }[]
  /** By provider and subject. */
  readonly identities: readonly {
    /** `custom`, or `custom:` and the name of another provider. */
    readonly provider: string
    /** The studio's own id of the player. */
    readonly subject: string
  }[]
}

/** What the service answers with a status of 400 or more. */
export type RefusalCode =
  | 'invalid_request'
  | 'storage_limit_exceeded'
  | 'invalid_sdk_key'
  | 'invalid_token'
  | 'custom_auth_disabled'
  | 'custom_auth_rejected'
  | 'custom_auth_invalid_data'
  | 'player_banned'
  | 'player_deleted'
  | 'forbidden'
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
  | 'request_timeout'
  | 'run_not_active'
  | 'node_not_active'
  | 'season_closed'
  | 'xp_limit_exceeded'
  | 'balance_limit_exceeded'
  | 'insufficient_funds'
  | 'unknown_currency'
  | 'credit_limit_exceeded'
  | 'premium_tiers_claimed'
  | 'premium_not_available'
  | 'environment_already_exists'
  | 'too_many_environments'
  | 'too_many_secrets'
  | 'identity_already_linked'
  | 'cursor_expired'
  | 'version_conflict'
  | 'payload_too_large'
  | 'expectation_failed'
  | 'idempotency_key_reused'
  | 'headers_too_large'
  | 'internal_error'
  | 'custom_auth_invalid_response'
  | 'custom_auth_unavailable'
  | 'unavailable'

// Where answers have 64-bit integers.

export const PROGRESS_RESPONSE_INT64 = { xp: 1 } as const

export const ADD_XP_RESPONSE_INT64 = { xp: 1, plan: { granted: [{ amount: 1 }] } } as const

export const CLAIM_RESPONSE_INT64 = { granted: [{ amount: 1 }] } as const

export const PREMIUM_RESPONSE_INT64 = { plan: { granted: [{ amount: 1 }] } } as const

export const START_RUN_RESPONSE_INT64 = { plan: { granted: [{ amount: 1 }] } } as const

export const CROSS_RESPONSE_INT64 = { plan: { granted: [{ amount: 1 }] } } as const

export const RUN_RESPONSE_INT64 = { plan: { granted: [{ amount: 1 }] } } as const

export const PLAYER_INT64 = { wallet: [{ balance: 1 }], inventory: [{ amount: 1 }] } as const
