import { Stream } from '../../events/append.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { One } from '../../transactions/player.ts'
import {
  assetsOf,
  boostsOf,
  type ClaimTrack,
  type Definition,
  type Granted,
  TRACKS,
  tierKey,
} from '../definition/definition.ts'
import { type ExecutionPlan, joined } from '../runs/plan.ts'
import { notePlan, type Run } from '../runs/runs.ts'
import { type ClaimOf, claim, offerAt } from './claim.ts'
import type { ClaimedBy } from './decide.ts'
import { earnedOf } from './open-tiers.ts'
import type { PassHandle } from './passes.ts'

// Claims that the service makes for the player.

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
    level,
    track,
    levelNodeId: nodeId,
  }))
}
