// Written by `npm run schema` from the declarations of the service. Change those instead.

import { CLAIMED_TIER, type ClaimedTier } from '../client/contract.ts'
import type { ShapeOf } from '../client/shape.ts'

export interface FindPlayerRequest {
  /** The provider: `custom`, or `custom:` and the name of another one. */
  readonly provider: string
  /** The studio's own id of the player. */
  readonly subject: string
}

export interface PlayersProgressRequest {
  /** The players: 1 to 200, each by `playerId`, or by `provider` and `subject`. */
  readonly players: readonly {
    /** The id of the player. Leave it out with `provider` and `subject`. */
    readonly playerId?: string | null
    /** The provider: `custom`, or `custom:` and the name of another one. */
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
  /** Claimed tiers, by level, the free track first. */
  readonly claimedTiers: readonly ClaimedTier[] | null
  readonly error: 'player not found' | 'player banned' | 'player deleted' | null
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
