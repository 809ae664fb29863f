import { invalidRequest } from '../../base/errors.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, inRun, type Unkeyed } from '../../declare/common.ts'
import { RUN_CALL } from '../../declare/contract.ts'
import { playerCall } from '../../declare/player-call.ts'
import { int32, mustBeOneOf, oneOf, optional, type RequestOf, shape } from '../../declare/shape.ts'
import { admitActive, requireActive } from '../../players/player-status.ts'
import type { About, Command } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import {
  allRewards,
  assetsOf,
  boosts,
  boostsOf,
  byLevel,
  CLAIM_TRACKS,
  type Offer,
  reward,
  TRACKS,
  tierKey,
} from '../definition/definition.ts'
import { askRunRows, requireActiveRun } from '../runs/runs.ts'
import { requireScenario, Scenarios } from '../runs/scenarios.ts'
import { askHoldings } from '../wallet/holdings.ts'
import { askAllTiers } from './ask-tiers.ts'
import { claim, offerAt } from './claim.ts'
import { CLAIM_ERRORS, type ClaimError, type ClaimedBy, REFUSED } from './decide.ts'
import { openBonusTiers, tiersOf } from './open-tiers.ts'
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
    success: out.success('True when the tier is claimed, by this call or an earlier one.'),
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

/** Claims one tier of one track (contract 4.1). Repeated calls grant the tier once. */
export function claimTier(ref: PlayerRef, input: ClaimTier): Command<ClaimResult> {
  const { scenarioId, nodeId, runId, level, track, choice = null, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'claim',
      key,
      request: { scenarioId, nodeId, runId, level, track, choice },
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

function askOffer(player: Player, offer: Offer | undefined): void {
  if (offer) askHoldings(player, allRewards(offer))
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
