import { invalidRequest } from '../base/errors.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, inRun, type Unkeyed } from '../declare/common.ts'
import { RUN_CALL } from '../declare/contract.ts'
import { playerCall } from '../declare/player-call.ts'
import { int32, mustBeOneOf, oneOf, optional, type RequestOf, shape } from '../declare/shape.ts'
import { Stream } from '../events/append.ts'
import { admitActive, requireActive } from '../players/player-status.ts'
import {
  allRewards,
  assetsOf,
  boosts,
  boostsOf,
  byLevel,
  CLAIM_TRACKS,
  type Claimable,
  type ClaimTrack,
  type Definition,
  type Granted,
  granted,
  type Offer,
  type PassNode,
  type Reward,
  type RewardNode,
  reward,
  TRACKS,
  tierKey,
} from '../scenario/definition.ts'
import { type ExecutionPlan, joined, type Walk } from '../scenario/plan.ts'
import { askPaid } from '../scenario/reward-payments.ts'
import { askRunRows, notePlan, type Run, record, requireActiveRun, rewardsOf, settleWalk } from '../scenario/runs.ts'
import { requireScenario, Scenarios } from '../scenario/scenarios.ts'
import type { About, Command } from '../transactions/command.ts'
import type { Group, Steps } from '../transactions/group.ts'
import type { One, Player, PlayerRef } from '../transactions/player.ts'
import { askHoldings, grant, oneOfEachHolding, overflowOf } from '../wallet/holdings.ts'
import { bonusOffer, earnedTiers, leftToday, unclaimedTiers } from './beyond.ts'
import { CLAIM_ERRORS, type ClaimError, type ClaimedBy, decideClaim, type Pass, REFUSED } from './decide.ts'
import { aboutPass, askPass, NO_RUN, type NodeInput, type PassHandle, requirePass } from './passes.ts'
import { claimedTier } from './read-progress.ts'

export const track = oneOf(
  'The track of the tier. `bonus` is for passes with bonus tiers: any other pass refuses it as an unknown word.',
  CLAIM_TRACKS,
  TRACKS,
)

export const claimTierRequest = shape(
  {
    ...inRun,
    level: optional(
      int32(
        'The level of the tier; for a bonus tier its number, from 1. Optional on a level node, which has its own.',
        { min: 0 },
      ),
    ),
    track,
    choice: optional(
      int32('The option that the player picks, from 0, of a tier with a choice. Absent for any other tier.', {
        min: 0,
      }),
    ),
    idempotencyKey,
  },
  { name: 'ClaimRequest', example: { ...EXAMPLE_RUN, level: 2, track: 'free' } },
)
export type ClaimTier = Omit<Unkeyed<RequestOf<typeof claimTierRequest>>, 'choice'> & {
  readonly choice?: number | null
}

export const claimAnswer = answer(
  'The outcome of a claim. A tier is granted once, however often it is claimed.',
  {
    success: out.flag('True when the tier is claimed, by this call or an earlier one.'),
    alreadyClaimed: out.flag('True when an earlier call claimed the tier.'),
    error: out.orNull(out.oneOf(CLAIM_ERRORS, { description: REFUSED })),
    granted: out.list(reward, 'The rewards of the tier. A repeated claim answers the same list.', { size: 2 }),
    boosts,
  },
  {
    name: 'ClaimResponse',
    example: {
      success: true,
      alreadyClaimed: false,
      error: null,
      granted: [{ amount: 100, currency: 'gold', itemId: null }],
    },
  },
)
export type ClaimResult = AnswerOf<typeof claimAnswer>

/** Claims one tier of one track (spec 4.1). Repeated calls grant the tier once. */
export function claimTier(ref: PlayerRef, input: ClaimTier): Command<ClaimResult> {
  const { scenarioId, nodeId, runId, level, track, choice = null, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'claim',
      key,
      // Without a choice it is the request of earlier versions, whose answers may be stored.
      request:
        choice === null
          ? { scenarioId, nodeId, runId, level, track }
          : { scenarioId, nodeId, runId, level, track, choice },
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ success }) => success,
      about: (_result, group) => aboutClaim(group, ref, input),
    },
    decide: (group) => decideClaimOf(group, ref, input, 'player'),
  }
}

type ClaimInput = NodeInput & Pick<ClaimTier, 'level' | 'track'>

/** What the answer of a claim is about. A level node has the level of its tier. */
export function aboutClaim(group: Group, ref: PlayerRef, input: ClaimInput): About {
  const { scenarioId, nodeId, level, track } = input
  const node = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })?.nodes.get(nodeId)
  const claimed = node?.type === 'battle-pass-level' ? node.levelNumber : level
  return aboutPass(group, ref, input, claimed === null ? [] : [tierKey(claimed, track)])
}

type GivenTier = Omit<ClaimTier, 'runId'> & { readonly runId: string | null }

/** Claims a tier as a gift of support: the player's level and the season do not matter. Without a run nothing is crossed. */
export const giveTier = (group: Group, ref: PlayerRef, input: GivenTier): Steps<ClaimResult> =>
  decideClaimOf(group, ref, input, 'support')

function* decideClaimOf(group: Group, ref: PlayerRef, input: GivenTier, by: ClaimedBy): Steps<ClaimResult> {
  const { scenarioId, runId, track, choice } = input
  const { rows, asked } = yield* group.rows(() => {
    const rows = askRunRows(group, ref, { scenarioId, runId: runId ?? NO_RUN })
    const asked = askPass(rows.player, rows.definition, input)?.askClaims()
    const named = asked?.levelNode?.levelNumber ?? input.level
    if (asked && named !== null) askOffer(rows.player, offerAt(asked, { level: named, track }))
    return { rows, asked }
  })
  // Before what else is wrong with the request: an unknown word is found when it is read.
  if (by === 'player' && track === 'bonus' && !mayHaveBonusTier(asked, input.level)) {
    requireActive(rows.player)
    throw invalidRequest({ path: 'track', message: mustBeOneOf(TRACKS) })
  }
  const { definition, run } =
    runId === null ? { definition: requireScenario(rows.definition), run: null } : requireActiveRun(rows, scenarioId)
  const pass = requirePass(asked)
  const tier = { level: claimedLevel(pass, input.level), track, choice, by }
  const { success, alreadyClaimed, error, granted } = yield* claim(group, pass, { definition, run }, tier)
  return { success, alreadyClaimed, error, granted: assetsOf(granted), boosts: boostsOf(granted) }
}

/** Whether a pass has bonus tiers, or had the one that the player has claimed: a repeated claim is still answered. */
const mayHaveBonusTier = (pass: PassHandle | undefined, level: number | null): boolean =>
  pass !== undefined &&
  (pass.node.beyond?.kind === 'tiers' || (level !== null && pass.current.claimed.has(tierKey(level, 'bonus'))))

export const claimAllRequest = shape({ ...inRun, idempotencyKey })
export type ClaimAll = Unkeyed<RequestOf<typeof claimAllRequest>>

export const grantedTier = answer('A claimed tier with its rewards.', {
  ...claimedTier.members,
  granted: out.list(reward, 'The granted rewards.', { size: 2 }),
  boosts,
})

export const claimAllAnswer = answer('The result of `claimAll`.', {
  claimed: out.list(grantedTier, 'The newly claimed tiers, by level.', { size: 100 }),
  /** A choice that only the player can make, otherwise the first reason in the order of `CLAIM_ERRORS`. */
  error: out.orNull(
    out.oneOf(CLAIM_ERRORS, {
      description:
        'The reason why nothing was claimed: `choice required` when a tier waits for the choice of the player. Null when a tier was claimed, and when every tier is already claimed.',
    }),
  ),
})
export type ClaimAllResult = AnswerOf<typeof claimAllAnswer>

/** Claims every tier of the pass that can be claimed now, all in one transaction, except those with a choice. */
export function claimAll(ref: PlayerRef, input: ClaimAll): Command<ClaimAllResult> {
  const { scenarioId, nodeId, runId, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'claim-all',
      key,
      request: { scenarioId, nodeId, runId },
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ claimed }) => claimed.length > 0,
      about: ({ claimed }, group) =>
        aboutPass(
          group,
          ref,
          input,
          claimed.map(({ level, track }) => tierKey(level, track)),
        ),
    },
    *decide(group) {
      const { rows, asked } = yield* group.rows(() => askAllTiers(group, ref, input))
      requireActiveRun(rows, input.scenarioId)
      const pass = requirePass(asked)
      const { claimed: before } = pass.current
      const open = [
        ...tiersOf(pass).filter(({ level, track }) => !before.has(tierKey(level, track))),
        ...openBonusTiers(pass, pass.nowIn(group)),
      ].sort(byLevel)
      const errors = new Set<ClaimError | null>()
      const claimed: ClaimAllResult['claimed'][number][] = []
      for (const { level, track } of open) {
        // A claim may change the run, so each claim looks up the run again.
        const result = yield* claim(group, pass, requireActiveRun(rows, input.scenarioId), { level, track })
        errors.add(result.error)
        const { success, granted } = result
        if (success) claimed.push({ level, track, granted: assetsOf(granted), boosts: boostsOf(granted) })
      }
      const error = ['choice required' as const, ...CLAIM_ERRORS].find((known) => errors.has(known)) ?? null
      return { claimed, error: claimed.length > 0 ? null : error }
    },
  }
}

/** Several claims are decided together, so the rows that a completion may need are asked for before the first. */
export function askAllTiers(group: Group, ref: PlayerRef, input: NodeInput & { readonly runId: string }) {
  const rows = askRunRows(group, ref, input)
  const { player, definition } = rows
  const asked = askPass(player, definition, input)?.askClaims()
  if (asked && definition) askEveryTier(asked, definition, rows.run?.key ?? null)
  return { rows, asked }
}

/** Asks for what claims of any tiers of a pass may need, with the completions that they cause. */
export function askEveryTier(pass: PassHandle, definition: Definition, runId: string | null): void {
  const { player, scenarioId, node } = pass.askClaims()
  const { rewards, nodes } = claimableOf(node, definition)
  askHoldings(player, rewards)
  for (const { id, repeat } of nodes) askPaid(player, scenarioId, { nodeId: id, repeat }, runId)
}

/** What claims of any tiers of a pass may give: one reward of each holding, and the reward nodes that they may lead to. */
interface Everything {
  readonly rewards: readonly Reward[]
  readonly nodes: readonly RewardNode[]
}

/** By the pass, which belongs to one definition: a pass with `autoClaim` needs it in each call. */
const claimable = new WeakMap<PassNode, Everything>()

function claimableOf(node: PassNode, definition: Definition): Everything {
  const known = claimable.get(node)
  if (known) return known
  const nodes = [...definition.nodes.values()].filter((other) => other.type === 'reward')
  const offers = [...node.tiers.values(), bonusOffer(node, 1)]
  const all = [
    ...offers.flatMap((offer) => (offer ? allRewards(offer) : [])),
    ...nodes.flatMap(({ rewards }) => rewards),
  ]
  const everything = { rewards: oneOfEachHolding(all), nodes }
  claimable.set(node, everything)
  return everything
}

function askOffer(player: Player, offer: Offer | undefined): void {
  if (offer) askHoldings(player, allRewards(offer))
}

/** What was claimed of the tiers that a player has earned. */
export interface ClaimedEarned {
  /** The claimed tiers, by level, each with its rewards but for those that were mailed. */
  readonly claimed: readonly { level: number; track: ClaimTrack; granted: readonly Granted[] }[]
  /** The plans of the claims that crossed something, in their order. */
  readonly plans: readonly ExecutionPlan[]
  /** Tiers that were not claimed, as their rewards do not fit or claims are closed. */
  readonly failed: number
}

/**
 * Claims each tier that the player has earned and not claimed. Tiers with a choice are left to the player, unless it is
 * the end of the season. `askEveryTier` must have asked for their rows.
 */
export function* claimEarned(
  group: Group,
  pass: PassHandle,
  { definition, run }: { readonly definition: Definition; readonly run: One<Run> | null },
  { by, mail }: Pick<ClaimOf, 'mail'> & { readonly by: ClaimedBy },
): Steps<ClaimedEarned> {
  const now = pass.nowIn(group)
  const earned = earnedOf(pass, by, now).filter((tier) => by === 'season end' || !offerAt(pass, tier)?.choice)
  const claimed: ClaimedEarned['claimed'][number][] = []
  const plans: ExecutionPlan[] = []
  for (const { level, track } of earned) {
    // A claim may change the run, or complete it.
    const active = run?.value?.status === 'active' ? run.value : null
    const mailed = mail?.length ?? 0
    const result = yield* claim(group, pass, { definition, run: active }, { level, track, by, mail, plans })
    if (!result.success) continue
    claimed.push({ level, track, granted: result.granted.slice((mail?.length ?? 0) - mailed) })
  }
  return { claimed, plans, failed: earned.length - claimed.length }
}

/**
 * Claims for the player what it has earned on a pass with `autoClaim`, in the call that brought it, and reports it in one
 * event. Returns the plan of the call, which then has what the claims crossed, entered and granted; the run keeps it.
 * `askEveryTier` must have asked for the rows.
 */
export function* claimForPlayer(
  group: Group,
  pass: PassHandle,
  { definition, run }: { readonly definition: Definition; readonly run: One<Run> | null },
  plan: ExecutionPlan | null,
): Steps<ExecutionPlan | null> {
  const { claimed, plans } = yield* claimEarned(group, pass, { definition, run }, { by: 'player' })
  const completions = yield* completeClaimed(group, pass, { definition, run })
  const now = run?.value
  if (!now) return plan
  const { player, node } = pass
  const { runId, scenarioId } = now
  let whole = plan
  if (claimed.length > 0) {
    const { environmentId, playerId } = player
    group.of(Stream).append({
      environmentId,
      playerId,
      scenarioId,
      nodeId: node.id,
      runId,
      type: 'tiers.claimed',
      handle: null,
      byClient: false,
      data: { claimed },
    })
    const all = claimed.flatMap(({ granted }) => granted)
    whole = joined(plan, {
      runId,
      status: now.status === 'completed' ? 'completed' : 'active',
      crossed: plans.flatMap(({ crossed }) => crossed),
      entered: plans.flatMap(({ entered }) => entered),
      granted: assetsOf(all),
      boosts: boostsOf(all),
    })
  }
  for (const completion of completions) whole = joined(whole, completion)
  if (whole && whole !== plan) notePlan(player, runId, whole)
  return whole
}

/**
 * Completes the level nodes of the pass that are active although a tier of theirs is claimed: on a pass with `autoClaim`
 * nobody claims on them. Each completion may enter the next. Returns the plans, in their order.
 */
function* completeClaimed(
  group: Group,
  pass: PassHandle,
  { definition, run }: { readonly definition: Definition; readonly run: One<Run> | null },
): Steps<readonly ExecutionPlan[]> {
  const plans: ExecutionPlan[] = []
  const tried = new Set<string>()
  for (;;) {
    const active = run?.value?.status === 'active' ? run.value : null
    const stays = active?.active.flatMap((id) => (tried.has(id) ? [] : claimedOn(pass, definition, id)))[0]
    if (!active || !stays) return plans
    tried.add(stays.levelNodeId)
    yield* claim(group, pass, { definition, run: active }, { ...stays, by: 'player', plans })
  }
}

/** The claimed tier of a level node of the pass, if any. */
function claimedOn(pass: PassHandle, definition: Definition, nodeId: string) {
  const node = definition.nodes.get(nodeId)
  if (node?.type !== 'battle-pass-level' || node.passNodeId !== pass.node.id) return []
  const level = node.levelNumber
  return TRACKS.filter((track) => pass.current.claimed.has(tierKey(level, track))).map((track) => ({
    ...{ level, track, levelNodeId: nodeId },
  }))
}

/** The tiers that a player has earned and not claimed, by level; of bonus tiers only those that it may claim on the day. */
export function earnedOf(pass: PassHandle, by: ClaimedBy, now: Date): Claimable[] {
  const { premiumOwned, claimed } = pass.current
  const { level } = pass
  const listed = tiersOf(pass).filter(
    (tier) =>
      tier.level <= level && (tier.track === 'free' || premiumOwned) && !claimed.has(tierKey(tier.level, tier.track)),
  )
  return [...listed, ...earnedBonusTiers(pass, by, now)].sort(byLevel)
}

/** The tiers that are listed behind a node. */
function tiersOf({ node, levelNode }: PassHandle): Claimable[] {
  if (levelNode) return TRACKS.map((track) => ({ level: levelNode.levelNumber, track }))
  return [...node.tiers.values()]
}

/** The bonus tiers that the player has earned and not claimed; to claim by itself only those of the day. */
function earnedBonusTiers(pass: PassHandle, by: ClaimedBy, now: Date): Claimable[] {
  const { node, current } = pass
  if (node.beyond?.kind !== 'tiers') return []
  const open = unclaimedTiers(node, isBonusClaimed(pass), earnedTiers(node, current.xp))
  return by === 'player' ? open.slice(0, leftToday(node, current.beyond, now)) : open
}

/** The bonus tiers that can be claimed, and the next one, which tells why no other can. */
function openBonusTiers(pass: PassHandle, now: Date): Claimable[] {
  const { node, levelNode, current } = pass
  if (node.beyond?.kind !== 'tiers' || levelNode) return []
  const open = unclaimedTiers(node, isBonusClaimed(pass), earnedTiers(node, current.xp) + 1)
  return open.slice(0, leftToday(node, current.beyond, now) + 1)
}

function isBonusClaimed({ current: { claimed } }: PassHandle): (number: number) => boolean {
  return (number) => claimed.has(tierKey(number, 'bonus'))
}

/** The level of the claim. A level node has its own, and refuses any other. */
export function claimedLevel({ levelNode }: PassHandle, level: number | null): number {
  if (!levelNode) {
    if (level === null) throw invalidRequest({ path: 'level', message: 'is required' })
    return level
  }
  if (level !== null && level !== levelNode.levelNumber) {
    throw invalidRequest({
      path: 'level',
      message: `must be ${levelNode.levelNumber}, the level of this node, or be left out`,
    })
  }
  return levelNode.levelNumber
}

interface ClaimOf extends Claimable {
  /** The level node on which it is claimed. Default: that of the call, if any. */
  readonly levelNodeId?: string
  readonly choice?: number | null | undefined
  readonly by?: ClaimedBy
  /** Takes the rewards of the tier, instead of the wallet. Those of reward nodes are paid all the same. */
  readonly mail?: Reward[] | undefined
  /** Takes the plan of a claim that crosses something. */
  readonly plans?: ExecutionPlan[] | undefined
}

export function offerAt({ node }: PassHandle, { level, track }: Claimable): Offer | undefined {
  return track === 'bonus' ? bonusOffer(node, level) : node.tiers.get(tierKey(level, track))
}

/** The outcome of a claim, with boosts among what was granted. */
interface Claimed extends Pick<ClaimResult, 'success' | 'alreadyClaimed' | 'error'> {
  readonly granted: readonly Granted[]
}

/** Claims a tier. Without a run nothing is crossed. */
function* claim(
  group: Group,
  pass: PassHandle,
  { definition, run }: { definition: Definition; run: Run | null },
  tier: ClaimOf,
): Steps<Claimed> {
  const { player, node, scenarioId } = pass
  const { level, track, by, mail, plans, levelNodeId = pass.levelNode?.id } = tier
  const before = pass.current
  const request = { level, track, by, choice: tier.choice ?? null, offer: offerAt(pass, tier), levelNodeId }
  const decision = decideClaim(node, before, request, pass.nowIn(group))
  if (decision.kind === 'refused') return refused(decision.error)

  const isRepeat = decision.kind === 'repeated'
  const { step, rewards, paid, original } = yield* group.rows(() => {
    const isStill = run === null || decision.crossings.length === 0
    const step = isStill ? NOWHERE : settleWalk(player, definition, run, decision.crossings)
    const further = rewardsOf(step)
    const rewards = isRepeat ? further : further.length === 0 ? decision.rewards : [...decision.rewards, ...further]
    const paid = mail ? further : rewards
    askHoldings(player, paid)
    return { step, rewards, paid, original: isRepeat ? pass.askGrant(level, track) : null }
  })
  if (overflowOf(player, paid)) return refused('balance limit exceeded')
  if (!isRepeat && decision.isOverDay) return refused('daily limit reached')

  const plan = run && record(group, player, run, step)
  if (plan) plans?.push(plan)
  // What a gift without a run completes is crossed in the next run.
  const isApart = run === null && by === 'support'
  if (isRepeat) {
    if (decision.next !== before && !isApart) pass.set(group, decision.next)
    // A repeat can complete a level node, which may lead to reward nodes: the answer has what this call paid, too.
    const all = [...(original?.value?.granted ?? []), ...rewards.map(granted)]
    return { success: true, alreadyClaimed: true, error: null, granted: all }
  }
  const reference = `${scenarioId}/${node.id}/${track}/${level}`
  if (mail) mail.push(...decision.rewards)
  else grant(group, player, decision.rewards, { reason: by === 'season end' ? 'season_end' : 'tier_claim', reference })
  // The tier's own rewards, then those of the reward nodes that its crossings led to.
  const all = rewards.map(granted)
  pass.addClaim(group, level, track, run?.runId ?? NO_RUN, all)
  pass.set(group, isApart ? withoutCompletions(decision.next, before) : decision.next)
  return { success: true, alreadyClaimed: false, error: null, granted: all }
}

const withoutCompletions = (next: Pass, { completed, completedNodes }: Pass): Pass => ({
  ...next,
  completed,
  completedNodes,
})

/** Most claims cross nothing. */
const NOWHERE: Walk = { crossings: [], entered: [], grants: [], active: [], completed: false }

function refused(error: ClaimError): Claimed {
  return { success: false, alreadyClaimed: false, error, granted: [] }
}

export const claimTierCall = playerCall({
  request: claimTierRequest,
  action: 'battle_pass.claim_tier',
  command: claimTier,
  contract: {
    id: 'claimTier',
    tag: 'Battle pass',
    summary:
      'Claim one tier of one track. Repeated calls grant the tier once. The run must be active; it need not have entered the node. The rewards of a level node replace those of the pass for its tier.',
    answer: claimAnswer,
    refusals: [...RUN_CALL, 'idempotencyKeyReused'],
  },
})
export const claimAllCall = playerCall({
  request: claimAllRequest,
  action: 'battle_pass.claim_all',
  command: claimAll,
})
