import { invalidRequest, Refusal } from '../../base/errors.ts'
import { newId } from '../../db/ids.ts'
import { type AddXpResult, addXp } from '../../game/battlepass/add-xp.ts'
import { offerAt } from '../../game/battlepass/claim.ts'
import { aboutClaim, type ClaimResult, claimedLevel, giveTier } from '../../game/battlepass/claim-tier.ts'
import type { ClaimError } from '../../game/battlepass/decide.ts'
import { aboutPass, askPass, type NodeInput, type PassHandle, requirePass } from '../../game/battlepass/passes.ts'
import { assetsOf, boostsOf, type Claimable, type Reward, tierKey } from '../../game/definition/definition.ts'
import { type CrossResult, crossInRun } from '../../game/runs/cross-handle.ts'
import { askActiveRun, askCancel, askRun, cancel } from '../../game/runs/runs.ts'
import { requireScenario, Scenarios } from '../../game/runs/scenarios.ts'
import { walletLedger } from '../../game/wallet/holdings.ts'
import { requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player } from '../../transactions/player.ts'
import { type Limits, requireGift } from '../calls/role-limits.ts'
import { removedClaims, restoreClaims } from './removed-claims.ts'
import { act, type KeyedCall, type Recorded, requireUndoOf, type SupportCall } from './support-action.ts'

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
          success: true,
          alreadyClaimed: true,
          error: null,
          walletEntryIds: [],
          granted: assetsOf(granted),
          boosts: boostsOf(granted),
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

export const NO_LIMITS = { maxCredit: null }

/** Refuses a tier that pays, or can be claimed for, more than the role gives at once. */
export function requireTierCredit(pass: PassHandle, tier: Claimable, most: bigint, choice: number | null = null): void {
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
