import { Refusal } from '../../base/errors.ts'
import { claimedLevel } from '../../game/battlepass/claim-tier.ts'
import { newPass } from '../../game/battlepass/decide.ts'
import {
  aboutPass,
  askPass,
  NO_RUN,
  type NodeInput,
  type PassHandle,
  requirePass,
} from '../../game/battlepass/passes.ts'
import {
  askPremiumGift,
  claimForPremium,
  givePremium,
  isGiftOf,
  notePremiumGift,
} from '../../game/battlepass/premium-gifts.ts'
import { assetsOf, type Definition, tierKey } from '../../game/definition/definition.ts'
import { askPayments, removePayments } from '../../game/runs/reward-payments.ts'
import { requireScenario, Scenarios } from '../../game/runs/scenarios.ts'
import { type About, askAnswers, type Command, forgetAnswers } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import { type Limits, requireGift } from '../calls/role-limits.ts'
import { removedClaims, restoreClaims, shownClaims } from './removed-claims.ts'
import {
  act,
  type Changed,
  type Context,
  type Done,
  type Recorded,
  requireUndoOf,
  type SupportAction,
  type SupportCall,
} from './support-action.ts'
import { NO_LIMITS, requireTierCredit, type TierInput } from './support-gifts.ts'

/** Makes a claimed tier claimable again. The player keeps its rewards. */
export function resetTier(
  call: SupportCall,
  { level, track, ...input }: TierInput,
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<Changed> {
  const forgotten = { answers: CLAIM_ANSWERS, isUndone: (tiers: About) => tiers.includes(tierKey(level, track)) }
  return actOnPass(call, 'reset_tier', { ...input, level, track }, forgotten, (group, pass, { undone }) => {
    claimedLevel(pass, level)
    if (pass.levelNode && track === 'bonus') throw new Refusal('tierNotFound')
    if (undone) requireUndoOf(undone.after, { scenarioId: input.scenarioId, level, track })
    else if (maxCredit !== null) requireTierCredit(pass, { level, track }, maxCredit)
    const tier = { scenarioId: input.scenarioId, nodeId: pass.node.id, level, track }
    const isClaimed = pass.claimed.includes(tierKey(level, track))
    const claims = isClaimed ? shownClaims(pass, [tierKey(level, track)]) : null
    if (isClaimed) pass.removeClaim(group, level, track)
    return {
      outcome: { changed: isClaimed },
      before: { ...tier, claimed: isClaimed, ...(claims && { claims }) },
      after: { ...tier, claimed: false },
    }
  })
}

/**
 * Lets a reward node that pays once pay the player again. The player keeps earlier rewards. Stored answers stay: what
 * they say was paid, and the next payment needs a new crossing.
 */
export function resetReward(
  call: SupportCall,
  { scenarioId, nodeId }: NodeInput,
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<Changed> {
  return act(call, {
    name: 'reset_reward',
    request: { scenarioId, nodeId },
    ask(player, group) {
      askPayments(player, scenarioId, nodeId)
      return group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId })
    },
    decide(player, _group, { asked }) {
      const { nodes } = requireScenario(asked)
      const node = nodes.get(nodeId)
      if (node?.type === 'reward') requireGift(maxCredit, node.rewards, 'nodeId')
      const count = removePayments(player, scenarioId, nodeId)
      // A node that an edit has removed may have paid.
      if (count === 0 && node?.type !== 'reward') throw new Refusal('nodeNotFound')
      const at = { scenarioId, nodeId }
      return {
        outcome: { changed: count > 0 },
        before: { ...at, payments: count },
        after: { ...at, payments: 0 },
      }
    },
  })
}

/**
 * Grants premium where it is sold. No price is charged, so `onPremiumPurchase` is not crossed. As the undo of a revocation
 * with its tiers, it restores their claims, too, which pays nothing.
 */
export function grantPremium(
  call: SupportCall,
  input: NodeInput,
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<Changed> {
  return setPremium(call, 'grant_premium', input, true, { answers: [] }, maxCredit)
}

/** Premium to revoke. With its tiers, those that are claimed become claimable again: the player keeps their rewards. */
export type Revocation = NodeInput & { readonly withTiers?: boolean }

/** Revokes premium. Without its tiers, refused while one is claimed, since its rewards required premium. */
export function revokePremium(call: SupportCall, { withTiers = false, ...input }: Revocation): Command<Changed> {
  if (!withTiers) return setPremium(call, 'revoke_premium', input, false, { answers: PREMIUM_ANSWERS })
  // Answers about premium itself are about no tier.
  const isUndone = (tiers: About) => tiers.length === 0 || tiers.some(isPremiumTier)
  const forgotten = { answers: [...PREMIUM_ANSWERS, ...CLAIM_ANSWERS], isUndone }
  return setPremium(call, 'revoke_premium', { ...input, withTiers }, false, forgotten)
}

const isPremiumTier = (tier: string): boolean => tier.startsWith('premium')

function setPremium(
  call: SupportCall,
  name: SupportAction,
  input: Revocation,
  owned: boolean,
  forgotten: Forgotten,
  maxCredit: bigint | null = null,
): Command<Changed> {
  const { scenarioId, withTiers } = input
  return actOnPass(call, name, input, forgotten, function* (group, pass, { auditId, undone, definition }) {
    const { current, node } = pass
    const at = { scenarioId, nodeId: node.id }
    if (undone) requireUndoOf(undone.after, at)
    const state = { ...at, premiumOwned: current.premiumOwned }
    // Premium that the player has bought since, or that something else gave, is not of what is undone.
    if (!owned && call.undoes && current.premiumOwned && !isGiftOf(pass, `support/${call.undoes}`))
      return { outcome: { changed: false }, before: state, after: state }
    const claimedTiers = owned ? [] : [...pass.claimed].filter(isPremiumTier).sort()
    if (owned && !node.premium) throw new Refusal('premiumNotAvailable')
    if (owned && node.premium && !undone) requireGift(maxCredit, [{ itemId: null, ...node.premium }], 'nodeId')
    if (!withTiers && claimedTiers.length > 0) throw new Refusal('premiumTiersClaimed')
    const claims = withTiers ? shownClaims(pass, claimedTiers) : null
    pass.clearClaims(group, claimedTiers)
    const isChange = current.premiumOwned !== owned
    const restored = owned && isChange ? restoreClaims(group, pass, at, removedClaims(undone)) : []
    if (isChange && owned) {
      givePremium(group, pass, `support/${auditId}`)
      yield* claimForPremium(group, pass, definition)
    } else if (isChange) {
      pass.set(group, { ...current, premiumOwned: false })
      notePremiumGift(pass, '')
    }
    const tiers = restored.map(({ level, track }) => tierKey(level, track))
    return {
      outcome: { changed: isChange || claimedTiers.length > 0 },
      before: { ...state, ...(withTiers && { claimedTiers, claims }) },
      after: {
        ...at,
        premiumOwned: owned,
        ...(withTiers && { claimedTiers: [] }),
        ...(tiers.length > 0 && { claimedTiers: tiers }),
      },
    }
  })
}

/** Resets a pass: no xp, no premium, no claims. The player keeps its rewards. */
export function resetPass(
  call: SupportCall,
  input: NodeInput,
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<Changed> {
  return actOnPass(call, 'reset_pass', input, { answers: PASS_ANSWERS }, (group, pass) => {
    const { node, level } = pass
    // What is claimed can be claimed again.
    const again = [...pass.claimed].flatMap((tier) => pass.askClaimRows().get(tier)?.granted ?? [])
    requireGift(maxCredit, assetsOf(again), 'nodeId')
    const { xp, premiumOwned, activeOn, xpCounts, beyond, ...crossed } = pass.current
    const claimedTiers = [...pass.claimed].sort()
    const hasCrossed = crossed.maxLevelCrossed || crossed.completed || crossed.completedNodes.length > 0
    const isUncounted = xpCounts === null && beyond === null
    const isAtStart = xp === 0n && isUncounted && crossed.level === newPass(node).level && !premiumOwned && !hasCrossed
    const changed = pass.stored !== null && !(isAtStart && claimedTiers.length === 0)
    if (changed) {
      pass.clearClaims(group)
      pass.set(group, { ...newPass(node), activeOn })
      if (premiumOwned) notePremiumGift(pass, '')
      if (xp > 0n) pass.addXp(group, { runId: NO_RUN, amount: -xp, source: 'support:reset', origin: 'operator' })
    }
    const at = { scenarioId: input.scenarioId, nodeId: node.id }
    return {
      outcome: { changed },
      before: { ...at, xp, level, premiumOwned, claimedTiers },
      after: { ...at, xp: 0n, premiumOwned: false, claimedTiers: [] },
    }
  })
}

/** The operations whose stored answers an action on a pass undoes. */
const CLAIM_ANSWERS = ['claim', 'claim-all', 'support.grant_tier']
export const PREMIUM_ANSWERS = ['premium', 'support.grant_premium']
const PASS_ANSWERS = ['xp', 'server.xp', 'support.grant_xp', ...CLAIM_ANSWERS, ...PREMIUM_ANSWERS]

/** The stored answers that an action makes untrue: those of some tiers, or of the whole pass. */
interface Forgotten {
  readonly answers: readonly string[]
  /** Whether an answer about these tiers of the pass is. Default: each is. */
  readonly isUndone?: (tiers: About) => boolean
}

interface OnPass extends Pick<Context<unknown>, 'auditId' | 'undone'> {
  readonly definition: Definition
}

/**
 * An action on one pass, in a group of its own: it may remove rows that other commands of the group have just written.
 * Forgets the stored answers that it undoes.
 */
function actOnPass<Outcome extends object>(
  call: SupportCall,
  name: SupportAction,
  input: NodeInput & Partial<TierInput> & Revocation,
  { answers, isUndone = () => true }: Forgotten,
  decide: (group: Group, pass: PassHandle, context: OnPass) => Done<Outcome> | Steps<Done<Outcome>>,
): Command<Outcome & Recorded> {
  const command = act(call, {
    name,
    request: {
      scenarioId: input.scenarioId,
      nodeId: input.nodeId,
      level: input.level ?? null,
      track: input.track ?? null,
      ...(input.withTiers && { withTiers: true }),
    },
    about: (group) => aboutPass(group, call.player, input),
    ask(player, group) {
      askAnswers(player, answers)
      const definition = group.of(Scenarios).find({ ...call.player, scenarioId: input.scenarioId })
      const pass = askPass(player, definition, input)?.askClaims()
      pass?.askClaimRows()
      if (pass) askPremiumGift(pass)
      return { definition, pass }
    },
    *decide(player, group, { asked, auditId, undone }) {
      const definition = requireScenario(asked.definition)
      const known = requirePass(asked.pass)
      const decision = decide(group, known, { auditId, undone, definition })
      const done = 'outcome' in decision ? decision : yield* decision
      forgetAnswers(player, answers, ([scenarioId, nodeId, ...tiers]) => {
        const isOfPass = scenarioId === input.scenarioId && nodeId === known.node.id
        return isOfPass && isUndone(tiers)
      })
      return done
    },
  })
  return { ...command, apart: true }
}
