import { invalidRequest, Refusal } from '../base/errors.ts'
import { freeze, thaw } from '../base/frozen-json.ts'
import type { Json } from '../base/json.ts'
import { type AddXpResult, addXp } from '../battlepass/add-xp.ts'
import { offerAt } from '../battlepass/claim.ts'
import { aboutClaim, type ClaimResult, claimedLevel, giveTier } from '../battlepass/claim-tier.ts'
import { type ClaimError, newPass } from '../battlepass/decide.ts'
import {
  aboutPass,
  askPass,
  type ClaimRow,
  NO_RUN,
  type NodeInput,
  type PassHandle,
  requirePass,
} from '../battlepass/passes.ts'
import { askPremiumGift, claimForPremium, givePremium, isGiftOf, notePremiumGift } from '../battlepass/premium-gifts.ts'
import { newId } from '../db/ids.ts'
import { requireActive } from '../players/player-status.ts'
import { type Limits, requireGift } from '../roles/role-limits.ts'
import { type CrossResult, crossInRun } from '../scenario/cross-handle.ts'
import {
  assetsOf,
  boostsOf,
  type Claimable,
  type ClaimKey,
  type Definition,
  type Granted,
  type Reward,
  readTierKey,
  tierKey,
} from '../scenario/definition.ts'
import { askPayments, removePayments } from '../scenario/reward-payments.ts'
import { askActiveRun, askCancel, askRun, cancel } from '../scenario/runs.ts'
import { requireScenario, Scenarios } from '../scenario/scenarios.ts'
import { type About, askAnswers, type Command, forgetAnswers } from '../transactions/command.ts'
import type { Group, Steps } from '../transactions/group.ts'
import type { Player } from '../transactions/player.ts'
import { walletLedger } from '../wallet/holdings.ts'
import {
  act,
  type Changed,
  type Context,
  type Done,
  type KeyedCall,
  type Recorded,
  requireUndoOf,
  type SupportAction,
  type SupportCall,
  type Undone,
} from './support-action.ts'

export interface TierInput extends NodeInput, Claimable {}

/** A grant that may pay. */
interface Paid extends Recorded {
  /** The rows of the wallet's ledger, in their order. */
  readonly walletEntryIds: readonly string[]
}

export interface GrantedXp extends AddXpResult, Paid {
  readonly entryId: string
}

export type GrantedTier = ClaimResult & Paid

/** Adds xp in the player's active run by the rules of the game: season, levels, crossings. */
export function grantXp(call: KeyedCall, input: NodeInput & { amount: bigint; source: string }): Command<GrantedXp> {
  const { scenarioId, nodeId, amount, source } = input
  return act(call, {
    name: 'grant_xp',
    request: { scenarioId, nodeId, amount, source },
    about: (group) => aboutPass(group, call.player, input),
    ask: (player, group) => askRunOf(player, group, scenarioId),
    *decide(player, group, { asked }) {
      const { definition, runId } = requireRun(player, asked)
      const count = group.appendedCount
      const entryId = newId()
      const pass = yield* group.rows(() => askPass(player, definition, input))
      const earlier = pass ? { xp: pass.current.xp, level: pass.level } : null
      // An unknown node is refused here.
      const result = yield* addXp(call.player, { ...input, runId }, { origin: 'operator', entryId }).decide(group)
      if (result instanceof Refusal) throw new Error('xp of an operator was limited', { cause: result })
      const { xp, level } = result
      const at = { scenarioId, nodeId: pass?.node.id ?? nodeId, runId }
      const before = { ...at, ...earlier }
      const walletEntryIds = paidSince(group, group.player(call.player), count)
      return { outcome: { ...result, entryId, walletEntryIds }, before, after: { ...at, xp, level, source } }
    },
  })
}

/**
 * Claims a tier for the player, even one that it has not reached, in its active run if it has one. Premium tiers require
 * premium, and one with a choice the option. As the undo of a reset, it restores the claim, and pays nothing: the player
 * has kept the rewards.
 */
export function grantTier(
  call: KeyedCall,
  input: TierInput & { readonly choice?: number | null },
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<GrantedTier> {
  const { scenarioId, nodeId, level, track, choice = null } = input
  const picked = choice !== null && { choice }
  return act(call, {
    name: 'grant_tier',
    request: { scenarioId, nodeId, level, track, ...picked },
    about: (group) => aboutClaim(group, call.player, input),
    ask: (player, group) => askRunOf(player, group, scenarioId),
    *decide(player, group, { asked, undone }) {
      requireActive(player)
      const definition = requireScenario(asked.definition)
      const runId = asked.run.value?.runId ?? null
      if (undone) {
        const pass = requirePass(yield* group.rows(() => askPass(player, definition, input)?.askClaims()))
        const tier = { scenarioId, nodeId: pass.node.id, level: claimedLevel(pass, level), track }
        requireUndoOf(undone.after, tier)
        const removed = removedClaims(undone)
        if (removed.length === 0)
          throw invalidRequest({ path: 'undoes', message: 'must be an entry that has reset a claimed tier' })
        const restored = restoreClaims(group, pass, tier, removed)
        const granted = restored[0]?.granted ?? []
        const outcome: Omit<GrantedTier, 'auditId'> = {
          ...{ success: true, alreadyClaimed: true, error: null, walletEntryIds: [] },
          ...{ granted: assetsOf(granted), boosts: boostsOf(granted) },
        }
        return { outcome, before: { ...tier, claimed: restored.length === 0 }, after: { ...tier, claimed: true } }
      }
      if (maxCredit !== null) {
        const pass = requirePass(yield* group.rows(() => askPass(player, definition, input)?.askClaims()))
        const tier = { level: claimedLevel(pass, level), track }
        if (!pass.claimed.includes(tierKey(tier.level, track))) requireTierCredit(pass, tier, maxCredit, choice)
      }
      const count = group.appendedCount
      const result = yield* giveTier(group, call.player, { ...input, runId })
      if (result.error) throw refusalOf(result.error)
      const tier = { scenarioId, nodeId, level, track, ...picked }
      const { success, error, granted, boosts, alreadyClaimed: claimed } = result
      const outcome = { ...result, walletEntryIds: paidSince(group, group.player(call.player), count) }
      return { outcome, before: { ...tier, claimed }, after: { ...tier, success, error, granted, boosts } }
    },
  })
}

const NO_LIMITS = { maxCredit: null }

/** Refuses a tier that pays, or can be claimed for, more than the role gives at once. */
function requireTierCredit(pass: PassHandle, tier: Claimable, most: bigint, choice: number | null = null): void {
  const { rewards = [], choice: options = [] } = offerAt(pass, tier) ?? {}
  const picked = choice === null ? options : options.slice(choice, choice + 1)
  for (const option of picked.length === 0 ? [[]] : picked) requireGift(most, [...rewards, ...option], 'level')
}

/** A claim's "no" is a refusal of the action. The level and the season do not matter for a gift. */
function refusalOf(error: ClaimError): Error {
  switch (error) {
    case 'tier not found':
      return new Refusal('tierNotFound')
    case 'premium required':
      return new Refusal('premiumRequired')
    case 'choice required':
      return invalidRequest({ path: 'choice', message: 'is required: the tier has a choice' })
    case 'choice not found':
      return invalidRequest({ path: 'choice', message: 'names no option of the tier' })
    case 'balance limit exceeded':
      return new Refusal('balanceLimitExceeded')
    case 'season closed':
    case 'level not reached':
    case 'daily limit reached':
      return new Error(`a gift was refused: ${error}`)
  }
}

/** The rows that were added to the player's ledger after this count of appended rows. */
const paidSince = (group: Group, player: Player, count: number): string[] =>
  group.appendedSince(count, walletLedger, player).map(({ id }) => id)

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

interface RemovedClaim extends ClaimRow {
  readonly scenarioId: unknown
  readonly nodeId: unknown
}

/** Claims for the audit log. What they granted is text, as it may hold larger integers than JSON readers keep. */
const shownClaims = (pass: PassHandle, tiers: readonly ClaimKey[]): Json =>
  tiers.flatMap((tier) => {
    const row = pass.askClaimRows().get(tier)
    return row ? [{ level: row.level, track: row.track, runId: row.runId, granted: freeze(row.granted as Json) }] : []
  })

/** The claims that an action removed, from its entry. Those of earlier versions say only which. */
function removedClaims(undone: Undone | null): readonly RemovedClaim[] {
  if (!undone) return []
  const { scenarioId, nodeId, level, track, claimed, claims, claimedTiers } = undone.before
  const at = { scenarioId, nodeId }
  if (claims)
    return (claims as readonly (Claimable & { granted: string; runId: string })[]).map((claim) => ({
      ...at,
      ...claim,
      granted: thaw(claim.granted) as readonly Granted[],
    }))
  const tiers =
    claimed === true ? [{ level, track } as Claimable] : ((claimedTiers ?? []) as ClaimKey[]).map(readTierKey)
  return tiers.map((tier) => ({ ...at, ...tier, granted: [], runId: NO_RUN }))
}

/** Restores claims of a pass, or of one tier of it, that nobody has made again. Returns them. */
function restoreClaims(
  group: Group,
  pass: PassHandle,
  { scenarioId, nodeId, ...tier }: NodeInput & Partial<Claimable>,
  claims: readonly RemovedClaim[],
): readonly ClaimRow[] {
  const restored = claims.filter(
    (one) =>
      one.scenarioId === scenarioId &&
      one.nodeId === nodeId &&
      (tier.level ?? one.level) === one.level &&
      (tier.track ?? one.track) === one.track &&
      !pass.claimed.includes(tierKey(one.level, one.track)),
  )
  for (const { level, track, runId, granted } of restored) pass.addClaim(group, level, track, runId, granted)
  return restored
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

export function cancelRun(call: SupportCall, { runId }: { runId: string }): Command<Recorded> {
  const command = act(call, {
    name: 'cancel_run',
    request: { runId },
    ask(player) {
      const run = askRun(player, runId)
      if (run) askCancel(player, run.key)
      return run
    },
    decide(player, group, { asked }) {
      const run = asked?.value
      if (!run) throw new Refusal('runNotFound')
      if (run.status !== 'active') throw new Refusal('runNotActive')
      cancel(group, player, run, 'cancelled by support')
      const { scenarioId, active } = run
      const at = { runId: run.runId, scenarioId }
      return {
        outcome: {},
        before: { ...at, status: run.status, active },
        after: { ...at, status: 'cancelled', active: [] },
      }
    },
  })
  return { ...command, apart: true }
}

export type CrossedHandle = CrossResult & Paid

/** Crosses a handle of an active node in the player's active run, also one that only servers cross. */
export function crossHandle(
  call: KeyedCall,
  input: NodeInput & { handle: string },
  { maxCredit }: Pick<Limits, 'maxCredit'> = NO_LIMITS,
): Command<CrossedHandle> {
  const { scenarioId, nodeId, handle } = input
  return act(call, {
    name: 'cross_handle',
    request: { scenarioId, nodeId, handle },
    ask: (player, group) => askRunOf(player, group, scenarioId),
    *decide(player, group, { asked }) {
      const { runId } = requireRun(player, asked)
      const count = group.appendedCount
      const run = yield* group.rows(() => askRun(player, runId))
      const active = run?.value?.active ?? []
      const checkRewards = (rewards: readonly Reward[]) => requireGift(maxCredit, rewards, 'handle')
      const crossed = { scenarioId, nodeId, handle, runId, byClient: false, checkRewards }
      const result = yield* crossInRun(group, call.player, crossed)
      const at = { scenarioId, nodeId, handle, runId }
      const { status = null, granted = [], boosts } = result.plan ?? {}
      const after = { ...at, status, active: run?.value?.active ?? [], granted, boosts }
      const outcome = { ...result, walletEntryIds: paidSince(group, player, count) }
      return { outcome, before: { ...at, status: 'active', active }, after }
    },
    about: (_group, { plan }) => [plan?.runId ?? ''],
  })
}

const askRunOf = (player: Player, group: Group, scenarioId: string) => ({
  definition: group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId }),
  run: askActiveRun(player, scenarioId),
})

/** The player's active run. Refuses in the same order as the player's own call. */
function requireRun(player: Player, { definition, run }: ReturnType<typeof askRunOf>) {
  requireActive(player)
  const current = requireScenario(definition)
  if (!run.value) throw new Refusal('runNotActive')
  return { definition: current, runId: run.value.runId }
}
