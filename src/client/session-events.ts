import type { EnteredNode, Reward, RewardBoost } from './contract.ts'

export type Track = 'free' | 'premium' | 'bonus'

/** A handle that a node crossed. */
export interface Crossing {
  readonly nodeId: string
  readonly handle: string
}

/** A pass reached a higher level. */
export interface LevelUp extends Crossing {
  /** The level before; null when this session did not know it. */
  readonly fromLevel: number | null
  readonly toLevel: number
  readonly xp: bigint
  readonly source: string
}

/** The events of a session. */
export interface SessionEvents {
  /** Any handle was crossed. */
  readonly crossed: Crossing
  /** A call of this session entered a node. Its `type` says what the game is to do. */
  readonly entered: EnteredNode
  /** A call of this session granted rewards, or boosts of the player. */
  readonly granted: { readonly rewards: readonly Reward[]; readonly boosts: readonly RewardBoost[] }
  /** The run is over. */
  readonly ended: { readonly status: 'completed' | 'cancelled' }
}

/** The events of a battle pass: the handles that the service crosses. */
export interface BattlePassEvents {
  readonly onLevelUp: LevelUp
  readonly onMaxLevel: Crossing
  readonly onComplete: Crossing
  readonly onPremiumPurchase: Crossing
}

export interface AllEvents extends SessionEvents {
  /** A crossed handle, with its details. */
  readonly crossing: { readonly crossing: Crossing; readonly details: LevelUp | null }
}

/** What was granted. */
export interface GrantedRewards {
  readonly granted: readonly Reward[]
  /** Absent without a boost. */
  readonly boosts?: readonly RewardBoost[]
}

/** Tiers that were claimed together. */
export interface ClaimedTiers {
  readonly claimed: readonly ({ readonly level: number; readonly track: Track } & GrantedRewards)[]
}
