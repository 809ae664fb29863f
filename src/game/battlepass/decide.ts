import { MAX_INT64 } from '../../base/json.ts'
import { boostPercentAt } from '../boosts/percent.ts'
import type { Boost } from '../boosts/stored.ts'
import {
  type ClaimKey,
  type ClaimTrack,
  type Offer,
  type PassNode,
  type Reward,
  tierKey,
} from '../definition/definition.ts'
import type { Crossing } from '../runs/plan.ts'
import { type BeyondState, convertXp, countClaim, earnedTiers, leftToday } from './beyond.ts'
import { allowXp, isTrusted, type Limited, maySend, type SentXp, type XpCounts } from './xp-limits.ts'

/** A player's state on one battle-pass node. What can be claimed is derived from it, never stored. */
export interface Pass {
  readonly xp: bigint
  /** The highest level whose gain was crossed. An edit of the definition can put the player's level above or below. */
  readonly level: number
  readonly premiumOwned: boolean
  readonly maxLevelCrossed: boolean
  readonly completed: boolean
  /** Level nodes of this pass that crossed their `onComplete`. */
  readonly completedNodes: readonly string[]
  /** The last day (UTC, as `2026-11-21`) on which the player earned xp, claimed or bought here. */
  readonly activeOn: string | null
  /** What counts towards the limits of xp. Null without rules of xp. */
  readonly xpCounts: XpCounts | null
  /** What is kept for xp above the top level. Null for nothing. */
  readonly beyond: BeyondState | null
  /** Which tiers are claimed. Asked for only where it matters: it may have to be loaded first. */
  readonly claimed: { has(tier: ClaimKey): boolean }
}

/** Describes the `error` of an answer. */
export const REFUSED = 'The reason why the game refused. Null on success.'

/** Why a claim is answered with `success` false, in the order in which it is checked (contract 7.2). */
export const CLAIM_ERRORS = [
  'tier not found',
  'season closed',
  'level not reached',
  'premium required',
  'choice required',
  'choice not found',
  'balance limit exceeded',
  'daily limit reached',
] as const
export type ClaimError = (typeof CLAIM_ERRORS)[number]

/** The same for a purchase. */
export const PURCHASE_ERRORS = [
  'idempotency key reused',
  'premium not available',
  'season closed',
  'premium already owned',
  'insufficient funds',
  'balance limit exceeded',
] as const
export type PurchaseError = (typeof PURCHASE_ERRORS)[number]

/** The pass of a player who has not played it yet. */
export function newPass(node: PassNode): Pass {
  return {
    xp: 0n,
    level: levelAt(node, 0n),
    premiumOwned: false,
    maxLevelCrossed: false,
    completed: false,
    completedNodes: [],
    activeOn: null,
    xpCounts: null,
    beyond: null,
    claimed: new Set(),
  }
}

/** The last day of play, which is today. A clock that is behind another's does not set it back. */
function playedOn({ activeOn }: Pass, now: Date): string {
  const today = dayOf(now)
  return activeOn !== null && activeOn >= today ? activeOn : today
}

const DAY_MS = 86_400_000
let lastDay = { number: Number.NaN, text: '' }

/** The day (UTC) of a moment. Most calls are of the same day as the one before. */
function dayOf(moment: Date): string {
  const number = Math.floor(moment.getTime() / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, text: moment.toISOString().slice(0, 10) }
  return lastDay.text
}

/** The season runs from `startsAt` up to, not including, `endsAt`. */
export function inSeason(node: PassNode, now: Date): boolean {
  return (node.startsAt === null || now >= node.startsAt) && (node.endsAt === null || now < node.endsAt)
}

/** Claims stay open after the season, up to `claimUntil`. */
export function claimsOpen(node: PassNode, now: Date): boolean {
  return (node.startsAt === null || now >= node.startsAt) && (node.claimUntil === null || now < node.claimUntil)
}

export type XpDecision =
  | { readonly kind: 'refused'; readonly reason: 'seasonClosed' | 'xpLimitExceeded' | 'xpNotAllowed' }
  /** The pass after it notes that an event has reported the limit. */
  | { readonly kind: 'refused'; readonly reason: 'xpLimitReached'; readonly limited: Limited; readonly next: Pass }
  | {
      readonly kind: 'added'
      readonly level: number
      readonly xp: bigint
      readonly leveledUp: boolean
      readonly maxLevel: boolean
      /** What the limits of xp granted. */
      readonly granted: bigint
      /** What was added to it for an owner of premium, and by boosts. */
      readonly bonus: bigint
      /** The limit that held a part back. */
      readonly limited: Limited | null
      /** What xp above the top level became. */
      readonly converted: readonly Reward[]
      readonly next: Pass
      readonly crossings: readonly Crossing[]
    }

/** What gives a bonus besides the pass itself: the boosts of its scenario, at a moment. */
export interface Boosting {
  readonly boosts: readonly Boost[]
  readonly now: Date
}

/**
 * The xp that a player gets on top of granted xp: the percentage of the pass for owners of premium and those of the boosts
 * that apply, as one sum, of the granted xp, rounded down. Limits of xp do not count it. Operators give exactly what they
 * name, and what comes along from another season has had its bonus.
 */
export function bonusOf(
  { premiumXpPercent }: Pick<PassNode, 'premiumXpPercent'>,
  { premiumOwned }: Pick<Pass, 'premiumOwned'>,
  { amount, source, origin }: SentXp,
  { boosts, now }: Boosting,
): bigint {
  if (isTrusted(origin)) return 0n
  const premium = premiumOwned ? (premiumXpPercent ?? 0n) : 0n
  const boost = boosts.length === 0 ? 0n : boostPercentAt(boosts, { source, isOwner: premiumOwned }, now)
  const percent = premium + boost
  return percent === 0n ? 0n : (amount * percent) / 100n
}

export function decideXp(
  node: PassNode,
  pass: Pass,
  sent: SentXp,
  now: Date,
  boosts: readonly Boost[] = [],
): XpDecision {
  const { xpRules: rules, topLevel } = node
  if (!maySend(rules, sent)) return { kind: 'refused', reason: 'xpNotAllowed' }
  if (!inSeason(node, now)) return { kind: 'refused', reason: 'seasonClosed' }
  const { granted, counts: xpCounts, limited } = allowXp(rules, pass.xpCounts, sent, now)
  if (limited && rules?.over === 'refuse')
    return { kind: 'refused', reason: 'xpLimitReached', limited, next: { ...pass, xpCounts } }
  const bonus = bonusOf(node, pass, { amount: granted, source: sent.source, origin: sent.origin }, { boosts, now })
  const xp = pass.xp + granted + bonus
  // The total never passes int64.
  if (xp > MAX_INT64) return { kind: 'refused', reason: 'xpLimitExceeded' }

  const level = levelAt(node, xp)
  const maxLevel = level >= topLevel
  const { rewards: converted, state: beyond } = convertXp(node, pass.beyond, { from: pass.xp, to: xp })
  const crossings: Crossing[] = []
  const added = (leveledUp: boolean, next: Pass): XpDecision => {
    return { kind: 'added', level, xp, leveledUp, maxLevel, granted, bonus, limited, converted, next, crossings }
  }
  if (granted === 0n) return added(false, { ...pass, xpCounts })

  const { source } = sent
  const leveledUp = level > pass.level
  if (leveledUp) crossings.push(crossing(node.id, 'onLevelUp', { fromLevel: pass.level, toLevel: level, xp, source }))
  if (maxLevel && !pass.maxLevelCrossed) crossings.push(crossing(node.id, 'onMaxLevel', { level, xp, source }))

  // In full: each call of xp comes here, and a spread is dear.
  const reached: Pass = {
    xp,
    level: leveledUp ? level : pass.level,
    premiumOwned: pass.premiumOwned,
    maxLevelCrossed: pass.maxLevelCrossed || maxLevel,
    completed: pass.completed,
    completedNodes: pass.completedNodes,
    activeOn: playedOn(pass, now),
    xpCounts,
    beyond,
    claimed: pass.claimed,
  }
  return added(leveledUp, complete(node, reached, crossings))
}

export type ClaimDecision =
  | { readonly kind: 'refused'; readonly error: ClaimError }
  | { readonly kind: 'repeated'; readonly next: Pass; readonly crossings: readonly Crossing[] }
  | {
      readonly kind: 'granted'
      readonly rewards: readonly Reward[]
      /** The bonus tiers of the day are claimed: the claim is refused, for this reason unless its rewards do not fit. */
      readonly isOverDay: boolean
      readonly next: Pass
      readonly crossings: readonly Crossing[]
    }

/**
 * Who claims a tier. `support` gives it: level and season do not matter. `season end` is the service, once claims have
 * closed: it picks the first option of a choice. Ownership of premium matters in any case. Only the player is bound to
 * the bonus tiers of a day.
 */
export type ClaimedBy = 'player' | 'support' | 'season end'

export interface ClaimRequest {
  /** For a bonus tier its number. */
  readonly level: number
  readonly track: ClaimTrack
  /** What the tier grants; undefined when there is no such tier. */
  readonly offer: Offer | undefined
  /** The option that the player picks, from 0. Null or absent for none. */
  readonly choice?: number | null
  /** The claim of the player itself unless said. */
  readonly by?: ClaimedBy
  /** The level node through which the claim came, if any. */
  readonly levelNodeId?: string
}

/**
 * Claims a tier. It is granted once. A repeat succeeds and grants nothing, even after the definition or the season has
 * changed, so that a client that lost the answer can still show it.
 */
export function decideClaim(node: PassNode, pass: Pass, request: ClaimRequest, now: Date): ClaimDecision {
  const { level, track, offer, by = 'player', choice = null, levelNodeId } = request
  const key = tierKey(level, track)
  // A level node has the tiers of its level.
  if (track === 'bonus' && levelNodeId !== undefined) return { kind: 'refused', error: 'tier not found' }
  if (pass.claimed.has(key)) {
    const crossings: Crossing[] = []
    return { kind: 'repeated', next: completeLevelNode(pass, request, crossings), crossings }
  }
  if (!offer) return { kind: 'refused', error: 'tier not found' }
  if (by === 'player' && !claimsOpen(node, now)) return { kind: 'refused', error: 'season closed' }
  const isReached = track === 'bonus' ? earnedTiers(node, pass.xp) >= level : levelAt(node, pass.xp) >= level
  if (by !== 'support' && !isReached) return { kind: 'refused', error: 'level not reached' }
  if (track === 'premium' && !pass.premiumOwned) return { kind: 'refused', error: 'premium required' }
  const picked = pick(offer, choice ?? (by === 'season end' && offer.choice ? 0 : null))
  if (typeof picked === 'string') return { kind: 'refused', error: picked }

  const isOfDay = track === 'bonus' && by === 'player'
  const isOverDay = isOfDay && leftToday(node, pass.beyond, now) === 0
  const claimed: Pass = {
    xp: pass.xp,
    level: pass.level,
    premiumOwned: pass.premiumOwned,
    maxLevelCrossed: pass.maxLevelCrossed,
    completed: pass.completed,
    completedNodes: pass.completedNodes,
    activeOn: by === 'player' ? playedOn(pass, now) : pass.activeOn,
    xpCounts: pass.xpCounts,
    beyond: isOfDay ? countClaim(node, pass.beyond, now) : pass.beyond,
    claimed: { has: (tier: ClaimKey) => tier === key || pass.claimed.has(tier) },
  }
  const crossings: Crossing[] = []
  const next = complete(node, completeLevelNode(claimed, request, crossings), crossings)
  return { kind: 'granted', rewards: picked, isOverDay, next, crossings }
}

/**
 * The rewards of a claim with this choice. A choice for a tier without one is not passed over: the player has chosen from
 * an earlier version of the tier, and a claim cannot be taken back.
 */
function pick({ rewards, choice }: Offer, picked: number | null): readonly Reward[] | ClaimError {
  if (picked === null) return choice ? 'choice required' : rewards
  const option = choice?.[picked]
  return option ? [...rewards, ...option] : 'choice not found'
}

export type PurchaseDecision =
  | { readonly kind: 'refused'; readonly error: PurchaseError }
  | {
      readonly kind: 'purchased'
      readonly price: { readonly currency: string; readonly amount: bigint }
      /** What is granted at once. */
      readonly rewards: readonly Reward[]
      readonly next: Pass
      readonly crossings: readonly Crossing[]
    }

/** Buys premium for the pass. Past premium tiers become claimable with it. */
export function decidePurchase(
  node: PassNode,
  pass: Pass,
  balance: (currency: string) => bigint,
  now: Date,
): PurchaseDecision {
  const price = node.premium
  if (!price) return { kind: 'refused', error: 'premium not available' }
  if (!inSeason(node, now)) return { kind: 'refused', error: 'season closed' }
  if (pass.premiumOwned) return { kind: 'refused', error: 'premium already owned' }
  if (balance(price.currency) < price.amount) return { kind: 'refused', error: 'insufficient funds' }
  const { currency, amount } = price
  return {
    kind: 'purchased',
    price,
    rewards: node.premiumInstant,
    next: { ...pass, activeOn: playedOn(pass, now), premiumOwned: true },
    crossings: [crossing(node.id, 'onPremiumPurchase', { price: { currency, amount } })],
  }
}

/** At top level with every tier of every open track claimed, the pass crosses `onComplete`, once. Adds the crossing. */
function complete(node: PassNode, pass: Pass, crossings: Crossing[]): Pass {
  if (pass.completed || levelAt(node, pass.xp) < node.topLevel) return pass
  for (const key of node.tiers.keys())
    if (!pass.claimed.has(key) && (pass.premiumOwned || node.tiers.get(key)?.track !== 'premium')) return pass
  crossings.push(crossing(node.id, 'onComplete', {}))
  return { ...pass, completed: true }
}

/**
 * A level node crosses `onComplete` at its first successful claim, even if the tier was claimed on the pass before. Adds
 * the crossing.
 */
function completeLevelNode(pass: Pass, { level, track, levelNodeId }: ClaimRequest, crossings: Crossing[]): Pass {
  if (levelNodeId === undefined || pass.completedNodes.includes(levelNodeId)) return pass
  crossings.push(crossing(levelNodeId, 'onComplete', { level, track }))
  return { ...pass, completedNodes: [...pass.completedNodes, levelNodeId] }
}

function crossing(nodeId: string, handle: string, data: Crossing['data']): Crossing {
  return { nodeId, handle, data }
}

/** A player's level: the highest that its xp reaches by the current version; 0 if none. */
export function levelAt({ levels }: Pick<PassNode, 'levels'>, xp: bigint): number {
  let reached = 0
  let low = 0
  let high = levels.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const entry = levels[middle]
    if (entry !== undefined && entry.xp <= xp) {
      reached = entry.level
      low = middle + 1
    } else {
      high = middle - 1
    }
  }
  return reached
}
