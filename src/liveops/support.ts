import { AuditLog } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { Identities, type IdentityRef } from '../auth/identities.ts'
import { RefreshTokens } from '../auth/refresh-tokens.ts'
import { type AddXpResult, addXp } from '../battlepass/add-xp.ts'
import { type ClaimResult, claimedLevel, giveTier } from '../battlepass/claim-tier.ts'
import { newPass } from '../battlepass/decide.ts'
import { Passes } from '../battlepass/passes.ts'
import { findPlace, type NodeInput, type Place, passAt, passRef, requirePlace } from '../battlepass/place.ts'
import { NO_RUN, XpLedger } from '../battlepass/xp-ledger.ts'
import type { Group } from '../commit/group.ts'
import type { Command } from '../commit/group-commit.ts'
import { idempotent } from '../commit/idempotency.ts'
import { Refusal } from '../errors.ts'
import { type Json, MAX_INT64 } from '../json.ts'
import { Erasures } from '../players/erase.ts'
import { type PlayerRef, Standing, type Status } from '../players/standing.ts'
import { bytesOf, putWithinLimits, Storage, type StorageValues } from '../players/storage.ts'
import { type Track, tierKey } from '../scenario/definition.ts'
import { Runs } from '../scenario/runs.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import { Holdings } from '../wallet/holdings.ts'

// What support does to a player: the same engine, locks and rules as the player's own calls, and one audit row for each.

/** Who acts on which player, and why. */
export interface SupportCall {
  readonly caller: PlatformCaller
  readonly player: PlayerRef
  readonly reason: string
}

/** What moves value is sent with a key: the same key and request is done once and answered alike. */
export interface KeyedCall extends SupportCall {
  readonly idempotencyKey: string
}

export interface TierInput extends NodeInput {
  readonly level: number
  readonly track: Track
}

/** What an action made of a player: for the audit row, and for the operator. */
interface Done<Outcome> {
  readonly outcome: Outcome
  readonly before: Json
  readonly after: Json
}

interface Action<Outcome> {
  readonly name: string
  /** Names what the action rests on, beside the player itself. */
  readonly needs?: (group: Group) => void
  readonly decide: (group: Group, auditId: string) => Done<Outcome>
}

/** Runs an action on a player that is not deleted, and writes it down. */
function act<Outcome>(call: SupportCall, action: Action<Outcome>): Command<Outcome> {
  const { caller, player, reason } = call
  return {
    needs(group) {
      group.of(Standing).want(player)
      action.needs?.(group)
    },
    decide(group) {
      const status = group.of(Standing).statusOf(player)
      if (status === undefined) throw new Refusal('playerNotFound')
      if (status === 'deleted') throw new Refusal('playerDeleted')
      const audit = group.of(AuditLog)
      const id = audit.newId()
      const { outcome, before, after } = action.decide(group, id)
      const { environmentId, playerId: target } = player
      audit.add(caller, { environmentId, action: `player.${action.name}`, target, before, after, reason }, id)
      return outcome
    },
  }
}

function once<Outcome>(
  call: KeyedCall,
  action: Action<Outcome>,
  request: Json,
  tookEffect: (outcome: Outcome) => boolean = () => true,
): Command<Outcome> {
  return idempotent(act(call, action), {
    player: call.player,
    operation: `support.${action.name}`,
    admit: () => undefined,
    key: call.idempotencyKey,
    request,
    tookEffect,
  })
}

/** Bans a player: from the next call on, on every instance, whatever tokens it has. */
export const banPlayer = (call: SupportCall): Command<void> => setStatus(call, 'ban', 'banned')

export const unbanPlayer = (call: SupportCall): Command<void> => setStatus(call, 'unban', 'active')

/**
 * Deletes a player for good. What it was called and looked like, its storage and its sessions are erased; the books stay,
 * and so do its identities, by which a login is told that the player is deleted (spec 7.1).
 */
export const deletePlayer = (call: SupportCall): Command<void> =>
  setStatus(call, 'delete', 'deleted', (group) => {
    group.of(Erasures).add(call.player)
    group.of(RefreshTokens).revokeAll(call.player)
  })

function setStatus(call: SupportCall, name: string, status: Status, more?: (group: Group) => void): Command<void> {
  return act(call, {
    name,
    decide(group) {
      const before = group.of(Standing).statusOf(call.player) ?? null
      group.of(Standing).setStatus(call.player, status)
      more?.(group)
      return { outcome: undefined, before: { status: before }, after: { status } }
    },
  })
}

/** Ends all logins of a player: its refresh tokens, and within two seconds its sockets. It may log in again. */
export function endSessions(call: SupportCall): Command<void> {
  return act(call, {
    name: 'end_sessions',
    decide(group) {
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: undefined, before: null, after: null }
    },
  })
}

/**
 * Takes an identity from a player: its subject is free again. All logins of the player end, as it is not known which of
 * them came by that identity. Runs among the logins, whose locks it takes.
 */
export function unlinkIdentity(
  call: SupportCall,
  { provider, subject }: Omit<IdentityRef, 'environmentId'>,
): Command<void> {
  const ref = { environmentId: call.player.environmentId, provider, subject }
  const command = act(call, {
    name: 'unlink_identity',
    decide(group) {
      const owner = group.of(Identities).ownerOf(ref)
      if (owner?.playerId !== call.player.playerId) throw new Refusal('notFound')
      group.of(Identities).remove(ref)
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: undefined, before: { provider, subject }, after: null }
    },
  })
  return {
    lane: 'logins',
    // The subject is locked before the player, as by a login.
    needs: (group) => (group.of(Identities).want(ref) ? command.needs(group) : undefined),
    decide: (group) => command.decide(group),
  }
}

export interface MoneyInput {
  readonly currency: string
  /** 1 or more. */
  readonly amount: bigint
}

export const creditWallet = (call: KeyedCall, input: MoneyInput): Command<{ balance: bigint }> =>
  moveMoney(call, 'credit_wallet', input, input.amount)

/** Refuses what is more than the player has. */
export const debitWallet = (call: KeyedCall, input: MoneyInput): Command<{ balance: bigint }> =>
  moveMoney(call, 'debit_wallet', input, -input.amount)

function moveMoney(
  call: KeyedCall,
  name: 'credit_wallet' | 'debit_wallet',
  { currency }: MoneyInput,
  amount: bigint,
): Command<{ balance: bigint }> {
  const { player } = call
  const action: Action<{ balance: bigint }> = {
    name,
    needs: (group) => group.of(Holdings).want(player),
    decide(group, auditId) {
      const before = group.of(Holdings).balance(player, currency)
      const balance = before + amount
      if (balance < 0n) throw new Refusal('insufficientFunds')
      if (balance > MAX_INT64) throw new Refusal('balanceLimitExceeded')
      // The player sees its ledger: an operator's reason stays in the audit log.
      group.of(Holdings).move(player, currency, amount, { reason: 'adjustment', reference: `support/${auditId}` })
      return { outcome: { balance }, before: { currency, balance: before }, after: { currency, balance } }
    },
  }
  return once(call, action, { currency, amount })
}

/** Adds xp in the player's active run, by the rules of the game: the season, the levels, what they cross. */
export function grantXp(call: KeyedCall, input: NodeInput & { amount: bigint; source: string }): Command<AddXpResult> {
  const { player } = call
  const { scenarioId, nodeId, amount, source } = input
  const addIn = (runId: string) => addXp(player, { ...input, runId })
  const action: Action<AddXpResult> = {
    name: 'grant_xp',
    needs(group) {
      // The run may begin in this very group: all but the run is named in any case.
      addIn(needRun(group, player, scenarioId)?.runId ?? NO_RUN).needs(group)
    },
    decide(group) {
      const { runId } = requireRun(group, player, scenarioId)
      const place = findPlace(group.of(Scenarios).require({ environmentId: player.environmentId, scenarioId }), nodeId)
      const earlier = place && passAt(group, passRef(player, scenarioId, place), place.node)
      // A node that is none is refused here.
      const outcome = addIn(runId).decide(group)
      const { xp, level } = outcome
      const at = { scenarioId, nodeId: place?.node.id ?? nodeId, runId }
      const before = { ...at, xp: earlier?.xp ?? 0n, level: earlier?.level ?? 0 }
      return { outcome, before, after: { ...at, xp, level, source } }
    },
  }
  return once(call, action, { scenarioId, nodeId, amount, source })
}

/** Claims a tier for the player, also one that it has not reached. Premium tiers need premium. */
export function grantTier(call: KeyedCall, input: TierInput): Command<ClaimResult> {
  const { player } = call
  const { scenarioId, nodeId, level, track } = input
  const claimIn = (runId: string) => giveTier(player, { ...input, runId })
  const action: Action<ClaimResult> = {
    name: 'grant_tier',
    needs(group) {
      claimIn(needRun(group, player, scenarioId)?.runId ?? NO_RUN).needs(group)
    },
    decide(group) {
      const { runId } = requireRun(group, player, scenarioId)
      const outcome = claimIn(runId).decide(group)
      const tier = { scenarioId, nodeId, level, track }
      const after = { ...tier, success: outcome.success, error: outcome.error, granted: outcome.granted }
      return { outcome, before: { ...tier, claimed: outcome.alreadyClaimed }, after }
    },
  }
  return once(call, action, { scenarioId, nodeId, level, track }, ({ success }) => success)
}

/** Makes a claimed tier claimable again. What it granted stays with the player. */
export function resetTier(call: SupportCall, { level, track, ...input }: TierInput): Command<{ changed: boolean }> {
  return actOnPass(call, 'reset_tier', input, (group, place, ref) => {
    const passes = group.of(Passes)
    claimedLevel(place, level)
    const tier = { scenarioId: input.scenarioId, nodeId: place.node.id, level, track }
    const isClaimed = passes.claimedTiers(ref).has(tierKey(level, track))
    if (isClaimed) passes.removeClaim({ ...ref, level, track })
    return {
      outcome: { changed: isClaimed },
      before: { ...tier, claimed: isClaimed },
      after: { ...tier, claimed: false },
    }
  })
}

/** Gives premium for nothing, where it is sold. No price is charged, and so no purchase is crossed. */
export function grantPremium(call: SupportCall, input: NodeInput): Command<{ changed: boolean }> {
  return setPremium(call, 'grant_premium', input, true)
}

/** Takes premium back. Refused while premium tiers are claimed: what they granted was granted to an owner. */
export function revokePremium(call: SupportCall, input: NodeInput): Command<{ changed: boolean }> {
  return setPremium(call, 'revoke_premium', input, false)
}

function setPremium(call: SupportCall, name: string, input: NodeInput, owned: boolean): Command<{ changed: boolean }> {
  return actOnPass(call, name, input, (group, place, ref) => {
    const passes = group.of(Passes)
    const pass = passAt(group, ref, place.node)
    if (owned && !place.node.premium) throw new Refusal('premiumNotAvailable')
    const claimed = [...passes.claimedTiers(ref)]
    if (!owned && claimed.some((tier) => tier.startsWith('premium'))) throw new Refusal('premiumTiersClaimed')
    if (pass.premiumOwned !== owned) passes.set(ref, place.node, { ...pass, premiumOwned: owned })
    const { scenarioId } = input
    const at = { scenarioId, nodeId: place.node.id }
    return {
      outcome: { changed: pass.premiumOwned !== owned },
      before: { ...at, premiumOwned: pass.premiumOwned },
      after: { ...at, premiumOwned: owned },
    }
  })
}

/** Puts a pass back to its beginning: no xp, no premium, no claims. What was granted stays with the player. */
export function resetPass(call: SupportCall, input: NodeInput): Command<{ changed: boolean }> {
  return actOnPass(call, 'reset_pass', input, (group, place, ref) => {
    const passes = group.of(Passes)
    const { xp, level, premiumOwned, activeOn, ...crossed } = passAt(group, ref, place.node)
    const claimedTiers = [...passes.claimedTiers(ref)].sort()
    const hasCrossed = crossed.maxLevelCrossed || crossed.completed || crossed.completedNodes.length > 0
    const isAtStart = xp === 0n && level === newPass(place.node).level && !premiumOwned && !hasCrossed
    const changed = passes.stored(ref) !== undefined && !(isAtStart && claimedTiers.length === 0)
    if (changed) {
      passes.clearClaims(ref)
      passes.set(ref, place.node, { ...newPass(place.node), activeOn })
      if (xp > 0n) group.of(XpLedger).add({ ...ref, runId: NO_RUN, amount: -xp, source: 'support:reset' })
    }
    const at = { scenarioId: input.scenarioId, nodeId: place.node.id }
    return {
      outcome: { changed },
      before: { ...at, xp, level, premiumOwned, claimedTiers },
      after: { ...at, xp: 0n, premiumOwned: false, claimedTiers: [] },
    }
  })
}

function actOnPass<Outcome>(
  call: SupportCall,
  name: string,
  { scenarioId, nodeId }: NodeInput,
  decide: (group: Group, place: Place, ref: ReturnType<typeof passRef>) => Done<Outcome>,
): Command<Outcome> {
  const { player } = call
  const scenario = { environmentId: player.environmentId, scenarioId }
  return act(call, {
    name,
    needs(group) {
      group.of(Scenarios).want(scenario)
      const definition = group.of(Scenarios).expected(scenario)
      const place = definition && findPlace(definition, nodeId)
      if (!place) return
      group.of(Passes).want(passRef(player, scenarioId, place))
      group.of(Passes).wantClaims(passRef(player, scenarioId, place))
    },
    decide(group) {
      const place = requirePlace(group.of(Scenarios).require(scenario), nodeId)
      return decide(group, place, passRef(player, scenarioId, place))
    },
  })
}

/** Ends a run as it stands. The player may start another. */
export function cancelRun(call: SupportCall, { runId }: { runId: string }): Command<void> {
  const { player } = call
  return act(call, {
    name: 'cancel_run',
    needs(group) {
      group.of(Runs).want(player, runId)
      group.of(Runs).wantPlan(player, runId)
    },
    decide(group) {
      const run = group.of(Runs).get(player, runId)
      if (!run) throw new Refusal('runNotFound')
      if (run.status !== 'active') throw new Refusal('runNotActive')
      group.of(Runs).set({ ...run, status: 'cancelled', active: [] }, group.of(Runs).plan(player, runId))
      const { scenarioId, active } = run
      const at = { runId: run.runId, scenarioId }
      return {
        outcome: undefined,
        before: { ...at, status: run.status, active },
        after: { ...at, status: 'cancelled', active: [] },
      }
    },
  })
}

function needRun(group: Group, player: PlayerRef, scenarioId: string) {
  group.of(Runs).wantActive(player, scenarioId)
  return group.of(Runs).active(player, scenarioId)
}

function requireRun(group: Group, player: PlayerRef, scenarioId: string) {
  // In the order of the player's own call.
  group.of(Standing).require(player)
  group.of(Scenarios).require({ environmentId: player.environmentId, scenarioId })
  const run = group.of(Runs).active(player, scenarioId)
  if (!run) throw new Refusal('runNotActive')
  return run
}

/** Merges values into the player's storage, within the limits of spec 8. */
export function setPlayerStorage(call: SupportCall, values: StorageValues): Command<void> {
  const command = act(call, {
    name: 'set_storage',
    needs: (group) => group.of(Storage).want(call.player),
    decide(group) {
      putWithinLimits(group, call.player, values)
      const keys = [...values.keys()]
      return { outcome: undefined, before: null, after: { keys } }
    },
  })
  return { ...command, bytes: bytesOf(values) }
}

export function deletePlayerStorage(call: SupportCall, keys: readonly string[]): Command<void> {
  return act(call, {
    name: 'delete_storage',
    needs: (group) => group.of(Storage).want(call.player),
    decide(group) {
      group.of(Storage).remove(call.player, keys)
      return { outcome: undefined, before: { keys }, after: null }
    },
  })
}
