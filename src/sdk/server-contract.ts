// Written by `npm run schema` from the declarations of the service. Change those instead.

import { CLAIMED_TIER, type ClaimedTier, EXECUTION_PLAN, type ExecutionPlan } from '../client/contract.ts'
import type { ShapeOf } from '../client/shape.ts'

export interface FindPlayerRequest {
  /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
  readonly provider: string
  /** The studio's own id of the player. */
  readonly subject: string
}

export interface PlayersProgressRequest {
  /** The players: 1 to 200, each by `playerId`, or by `provider` and `subject`. */
  readonly players: readonly {
    /** The id of the player. Leave it out with `provider` and `subject`. */
    readonly playerId?: string | null
    /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
    readonly provider?: string | null
    /** The studio's own id of the player. */
    readonly subject?: string | null
  }[]
  /** A scenario's id in its environment. */
  readonly scenarioId: string
  /** A node's id in its scenario. */
  readonly nodeId: string
}

/** Progress of several players. */
export interface PlayersProgressResponse {
  /** One result for each player of the request, in its order. */
  readonly results: readonly PlayerProgress[]
}

/** A player's progress; null with an `error`. */
export interface PlayerProgress {
  /** The player. Null for one that the environment does not have. */
  readonly playerId: string | null
  /** The current level; 0 below the first. */
  readonly level: number | null
  /** The current xp. */
  readonly xp: bigint | null
  /** Whether the player owns the premium track. */
  readonly premiumOwned: boolean | null
  /** Claimed tiers, by level, then by track: free, premium, bonus. */
  readonly claimedTiers: readonly ClaimedTier[] | null
  readonly error: 'player not found' | 'player banned' | 'player deleted' | null
}

export interface GrantXpRequest {
  /** The grants: 1 to 200. Those of one player are made in their order. Repeated with the key, in any order or in part, each is made once. */
  readonly grants: readonly {
    /** The player: `playerId`, or `provider` and `subject`. */
    readonly player: {
      /** The id of the player. Leave it out with `provider` and `subject`. */
      readonly playerId?: string | null
      /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
      readonly provider?: string | null
      /** The studio's own id of the player. */
      readonly subject?: string | null
    }
    /** A scenario's id in its environment. */
    readonly scenarioId: string
    /** A node's id in its scenario. */
    readonly nodeId: string
    /** A run's id. */
    readonly runId?: string | null
    /** Whether a run is started for a player without an active one. Default: true. A call with `runId` starts none. */
    readonly start?: boolean | null
    /** The amount of xp: 1 or more. */
    readonly amount: bigint | number
    /** The source of the xp: 1 to 64 characters. */
    readonly source: string
    /** Your own reference, such as the id of a match. The xp ledger keeps it. */
    readonly reference?: string | null
  }[]
  /** The same key and request takes effect once and gets the same answer for seven days. */
  readonly idempotencyKey: string
}

/** The results of the grants. A call that is repeated with its idempotency key answers the same, and makes the grants that are missing. */
export interface GrantXpResponse {
  /** One result for each grant, in the order of the request. */
  readonly results: readonly XpGrantResult[]
}

/** The state after a grant; null with an `error`, which changed nothing. */
export interface XpGrantResult {
  /** The player. Null for one that the environment does not have. */
  readonly playerId: string | null
  /** The level after the addition. */
  readonly level: number | null
  /** The xp after the addition. */
  readonly xp: bigint | null
  /** Whether the call reached a new level. */
  readonly leveledUp: boolean | null
  /** Whether the player is at the last level. */
  readonly maxLevel: boolean | null
  readonly plan: ExecutionPlan | null
  readonly error:
    | 'player not found'
    | 'player banned'
    | 'player deleted'
    | 'scenario not found'
    | 'node not found'
    | 'run not found'
    | 'run not active'
    | 'xp not allowed'
    | 'season closed'
    | 'xp limit reached'
    | 'xp limit exceeded'
    | 'balance limit exceeded'
    | 'idempotency key reused'
    | null
  /** What the `error` concerns, as in the answer to a call of the player. Absent without any. */
  readonly details?: readonly Detail[]
}

/** What is wrong. */
export interface Detail {
  /** The member that it concerns; may be empty. */
  readonly path: string
  /** What is wrong. */
  readonly message: string
}

export interface WalletGrantRequest {
  /** The player: `playerId`, or `provider` and `subject`. */
  readonly player: {
    /** The id of the player. Leave it out with `provider` and `subject`. */
    readonly playerId?: string | null
    /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
    readonly provider?: string | null
    /** The studio's own id of the player. */
    readonly subject?: string | null
  }
  /** The currency. */
  readonly currency: string
  /** The amount: 1 or more. */
  readonly amount: bigint | number
  /** Your own reference, such as the id of a purchase. The ledger keeps it. */
  readonly reference?: string | null
  /** The same key and request takes effect once and gets the same answer for seven days. */
  readonly idempotencyKey: string
  /** Whether the currency may be one that the environment does not know. Default: false. */
  readonly allowNew?: boolean | null
}

/** The balance after the change. A call that is repeated with its idempotency key answers the same. */
export interface WalletResponse {
  /** The player. */
  readonly playerId: string
  /** The currency. */
  readonly currency: string
  /** The balance. */
  readonly balance: bigint
}

export interface WalletSpendRequest {
  /** The player: `playerId`, or `provider` and `subject`. */
  readonly player: {
    /** The id of the player. Leave it out with `provider` and `subject`. */
    readonly playerId?: string | null
    /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
    readonly provider?: string | null
    /** The studio's own id of the player. */
    readonly subject?: string | null
  }
  /** The currency. */
  readonly currency: string
  /** The amount: 1 or more. */
  readonly amount: bigint | number
  /** Your own reference, such as the id of a purchase. The ledger keeps it. */
  readonly reference?: string | null
  /** The same key and request takes effect once and gets the same answer for seven days. */
  readonly idempotencyKey: string
}

export interface ServerCrossRequest {
  /** The player: `playerId`, or `provider` and `subject`. */
  readonly player: {
    /** The id of the player. Leave it out with `provider` and `subject`. */
    readonly playerId?: string | null
    /** The provider: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. `default` is taken for `custom`. */
    readonly provider?: string | null
    /** The studio's own id of the player. */
    readonly subject?: string | null
  }
  /** A scenario's id in its environment. */
  readonly scenarioId: string
  /** The run. Default: the active run of the player. */
  readonly runId?: string | null
  /** A node's id in its scenario. */
  readonly nodeId: string
  /** A handle of the node, such as `onClick`. */
  readonly handle: string
  /** The same key and request takes effect once and gets the same answer for seven days. */
  readonly idempotencyKey: string
}

/** The `data` of an event `ended`, as JSON. An event `current`, which says that the follower is up to date, has only `environmentId`. */
export interface EndedLogins {
  /** The environment of the server key. */
  readonly environmentId: string
  /** Logins that have ended. */
  readonly logins: readonly EndedLogin[]
  /** Players whose status has changed, with their present status. */
  readonly players: readonly ChangedPlayer[]
}

/** A login that has ended. Access tokens of it are no longer valid: their `jti` begins with its id. */
export interface EndedLogin {
  /** The login. */
  readonly loginId: string
  /** The player. */
  readonly playerId: string
  /** When it ended. */
  readonly endedAt: string
}

/** A player whose status has changed. Access tokens of a player that is not active are not valid. */
export interface ChangedPlayer {
  /** The player. */
  readonly playerId: string
  readonly status: 'active' | 'banned' | 'deleted'
  /** When it changed. */
  readonly changedAt: string
  /** When a ban ends: from then on, the tokens are valid again. Null for any other status. */
  readonly until?: string | null
}

// The shapes of answers.

export const PLAYER_PROGRESS: ShapeOf<PlayerProgress> = {
  members: {
    playerId: { orNull: 'string' },
    level: { orNull: 'integer' },
    xp: { orNull: 'int64' },
    premiumOwned: { orNull: 'boolean' },
    claimedTiers: { orNull: { list: CLAIMED_TIER } },
    error: { orNull: 'string' },
  },
}

export const PLAYERS_PROGRESS_RESPONSE: ShapeOf<PlayersProgressResponse> = {
  members: { results: { list: PLAYER_PROGRESS } },
}

export const DETAIL: ShapeOf<Detail> = { members: { path: 'string', message: 'string' } }

export const XP_GRANT_RESULT: ShapeOf<XpGrantResult> = {
  members: {
    playerId: { orNull: 'string' },
    level: { orNull: 'integer' },
    xp: { orNull: 'int64' },
    leveledUp: { orNull: 'boolean' },
    maxLevel: { orNull: 'boolean' },
    plan: { orNull: EXECUTION_PLAN },
    error: { orNull: 'string' },
    details: { ifPresent: { list: DETAIL } },
  },
}

export const GRANT_XP_RESPONSE: ShapeOf<GrantXpResponse> = { members: { results: { list: XP_GRANT_RESULT } } }

export const WALLET_RESPONSE: ShapeOf<WalletResponse> = {
  members: { playerId: 'string', currency: 'string', balance: 'int64' },
}

export const ENDED_LOGIN: ShapeOf<EndedLogin> = {
  members: { loginId: 'string', playerId: 'string', endedAt: 'string' },
}

export const CHANGED_PLAYER: ShapeOf<ChangedPlayer> = {
  members: { playerId: 'string', status: 'string', changedAt: 'string', until: { ifPresent: { orNull: 'string' } } },
}

export const ENDED_LOGINS: ShapeOf<EndedLogins> = {
  members: { environmentId: 'string', logins: { list: ENDED_LOGIN }, players: { list: CHANGED_PLAYER } },
}
