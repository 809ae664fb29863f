import type { Group } from '../commit/group.ts'
import type { Command } from '../commit/group-commit.ts'
import { idempotent } from '../commit/idempotency.ts'
import { invalidRequest } from '../errors.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import { type Definition, type Reward, TRACKS, type Track, tierKey } from '../scenario/definition.ts'
import { type Granted, granted } from '../scenario/plan.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import { cross, hasRoom, openSession, type RunInput, type Session, wantSession } from '../scenario/session.ts'
import { Holdings } from '../wallet/holdings.ts'
import { type BusinessError, decideClaim } from './decide.ts'
import { Passes } from './passes.ts'
import { findPlace, type NodeInput, type Place, passAt, passRef, requirePlace } from './place.ts'

export interface ClaimTier extends NodeInput, RunInput {
  /** The tier's level; on a level node null stands for the node's own. */
  readonly level: number | null
  readonly track: Track
  readonly idempotencyKey?: string | null
}

/** The claim response of spec 2.2. */
export type ClaimResult = {
  readonly success: boolean
  readonly alreadyClaimed: boolean
  readonly error: BusinessError | null
  readonly granted: readonly Granted[]
}

/** Claims one tier of one track (spec 4.1). However often it is sent, the tier is granted once. */
export function claimTier(player: PlayerRef, input: ClaimTier): Command<ClaimResult> {
  const { scenarioId, nodeId, runId, track } = input
  return idempotent(claimCommand(player, input, false), {
    player,
    operation: 'claim',
    admit: (group) => group.of(Standing).require(player),
    key: input.idempotencyKey,
    request: { scenarioId, nodeId, runId, level: input.level, track },
    tookEffect: ({ success }) => success,
  })
}

/** Claims a tier for the player, whatever its level and the season: what support gives. */
export function giveTier(player: PlayerRef, input: ClaimTier): Command<ClaimResult> {
  return claimCommand(player, input, true)
}

function claimCommand(player: PlayerRef, input: ClaimTier, isGift: boolean): Command<ClaimResult> {
  const { scenarioId, nodeId, track } = input
  return {
    needs(group) {
      wantSession(group, player, input)
      const definition = group.of(Scenarios).expected({ environmentId: player.environmentId, scenarioId })
      const place = definition && findPlace(definition, nodeId)
      const level = place?.levelNode?.levelNumber ?? input.level
      if (!place || level === null) return
      wantClaim(group, player, scenarioId, place, { level, track })
    },
    decide(group) {
      const session = openSession(group, player, input)
      const place = requirePlace(session.definition, nodeId)
      return claim(group, session, place, { level: claimedLevel(place, input.level), track, isGift })
    },
  }
}

export interface ClaimAll extends NodeInput, RunInput {}

export type ClaimAllResult = {
  readonly claimed: readonly { readonly level: number; readonly track: Track; readonly granted: readonly Granted[] }[]
}

/** Claims every tier of the pass that can be claimed now, all in one transaction. */
export function claimAll(player: PlayerRef, input: ClaimAll): Command<ClaimAllResult> {
  const { scenarioId, nodeId } = input
  return {
    needs(group) {
      wantSession(group, player, input)
      const definition = group.of(Scenarios).expected({ environmentId: player.environmentId, scenarioId })
      const place = definition && findPlace(definition, nodeId)
      if (!place) return
      const ref = passRef(player, scenarioId, place)
      group.of(Passes).want(ref)
      group.of(Passes).wantClaims(ref)
      group.of(Holdings).want(
        player,
        [...place.node.tiers.values()].flatMap((tier) => tier.rewards),
      )
      group.of(Holdings).want(player, ownRewards(place))
      // Several claims are decided in one go, so what a completion may lead to must be at hand from the start.
      group.of(Holdings).want(player, rewardNodes(definition))
    },
    decide(group) {
      const { definition } = openSession(group, player, input)
      const place = requirePlace(definition, nodeId)
      const claimed = passAt(group, passRef(player, scenarioId, place), place.node).claimed
      const tiers = tiersOf(place).filter(({ level, track }) => !claimed.has(tierKey(level, track)))
      return {
        claimed: tiers.flatMap(({ level, track }) => {
          // A claim may change the run, so each is made in a session of its own.
          const result = claim(group, openSession(group, player, input), place, { level, track })
          return result.success ? [{ level, track, granted: result.granted }] : []
        }),
      }
    },
  }
}

/** The tiers behind a node, in order of level, the free track first. */
function tiersOf({ node, levelNode }: Place): TierInput[] {
  if (levelNode) return TRACKS.map((track) => ({ level: levelNode.levelNumber, track }))
  return [...node.tiers.values()].sort((a, b) => a.level - b.level || a.track.localeCompare(b.track))
}

/** The level that is meant: a level node has one of its own, and no other is asked for through it. */
export function claimedLevel({ levelNode }: Place, level: number | null): number {
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

interface TierInput {
  readonly level: number
  readonly track: Track
  readonly isGift?: boolean
}

function wantClaim(group: Group, player: PlayerRef, scenarioId: string, place: Place, tier: TierInput): void {
  const ref = passRef(player, scenarioId, place)
  group.of(Passes).want(ref)
  group.of(Passes).wantClaims(ref)
  group.of(Passes).wantGranted({ ...ref, ...tier })
  group.of(Holdings).want(player, rewardsAt(place, tier))
}

/** A level node may have rewards of its own; else it grants what the pass's tier grants. */
function rewardsAt({ node, levelNode }: Place, { level, track }: TierInput): readonly Reward[] | undefined {
  return levelNode?.rewards[track] ?? node.tiers.get(tierKey(level, track))?.rewards
}

function rewardNodes({ nodes }: Definition): readonly Reward[] {
  return [...nodes.values()].flatMap((node) => (node.type === 'reward' ? node.rewards : []))
}

function ownRewards({ levelNode }: Place): readonly Reward[] {
  return [...(levelNode?.rewards.free ?? []), ...(levelNode?.rewards.premium ?? [])]
}

function claim(group: Group, session: Session, place: Place, tier: TierInput): ClaimResult {
  const { player, run, now } = session
  const passes = group.of(Passes)
  const ref = passRef(player, run.scenarioId, place)
  const levelNodeId = place.levelNode?.id
  const pass = passAt(group, ref, place.node)
  const decision = decideClaim(place.node, pass, { ...tier, rewards: rewardsAt(place, tier), levelNodeId }, now)
  const { level, track } = tier
  switch (decision.kind) {
    case 'refused':
      return refused(decision.error)
    case 'repeated':
      if (!hasRoom(group, session, decision.crossings)) return refused('balance limit exceeded')
      cross(group, session, decision.crossings)
      if (decision.next !== pass) passes.set(ref, place.node, decision.next)
      return {
        success: true,
        alreadyClaimed: true,
        error: null,
        granted: passes.originalGrant({ ...ref, level, track }) ?? [],
      }
    case 'granted': {
      if (!hasRoom(group, session, decision.crossings, decision.rewards)) return refused('balance limit exceeded')
      cross(group, session, decision.crossings)
      const rewards = decision.rewards.map(granted)
      const reference = `${run.scenarioId}/${place.node.id}/${track}/${level}`
      group.of(Holdings).grant(player, decision.rewards, { reason: 'tier_claim', reference })
      passes.addClaim({ ...ref, level, track, granted: rewards, runId: run.runId })
      passes.set(ref, place.node, decision.next)
      return { success: true, alreadyClaimed: false, error: null, granted: rewards }
    }
  }
}

function refused(error: BusinessError): ClaimResult {
  return { success: false, alreadyClaimed: false, error, granted: [] }
}
