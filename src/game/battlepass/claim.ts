import type { Group, Steps } from '../../transactions/group.ts'
import {
  type Claimable,
  type Definition,
  type Granted,
  granted,
  type Offer,
  type Reward,
  tierKey,
} from '../definition/definition.ts'
import type { ExecutionPlan, Walk } from '../runs/plan.ts'
import { type Run, record, rewardsOf, settleWalk } from '../runs/runs.ts'
import { askHoldings, grant, overflowOf } from '../wallet/holdings.ts'
import { bonusOffer } from './beyond.ts'
import { type ClaimError, type ClaimedBy, decideClaim, type Pass } from './decide.ts'
import { NO_RUN, type PassHandle } from './passes.ts'

/** The tier of a claim, and how it is claimed. */
export interface ClaimOf extends Claimable {
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
export interface Claimed {
  readonly success: boolean
  readonly alreadyClaimed: boolean
  readonly error: ClaimError | null
  readonly granted: readonly Granted[]
}

/** Claims a tier. Without a run nothing is crossed. */
export function* claim(
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
