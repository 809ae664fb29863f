import { AuditLog } from '../audit/audit-log.ts'
import { type PlatformCaller, roleIncludes } from '../auth/callers.ts'
import { askOwner, type IdentityRef, removeIdentity } from '../auth/identities.ts'
import { RefreshTokens } from '../auth/refresh-tokens.ts'
import { type AddXpResult, addXp } from '../battlepass/add-xp.ts'
import { type ClaimResult, claimedLevel, giveTier } from '../battlepass/claim-tier.ts'
import { newPass } from '../battlepass/decide.ts'
import { askPass, NO_RUN, type NodeInput, type PassHandle, requirePass } from '../battlepass/passes.ts'
import { type CreditRules, unknownMessage } from '../catalogue/currencies.ts'
import type { Command } from '../commit/command.ts'
import { type Group, LATER } from '../commit/group.ts'
import type { Player, PlayerRef } from '../commit/player.ts'
import { newId } from '../db/ids.ts'
import { type REFUSALS, Refusal, type RefusalKind } from '../errors.ts'
import { type Json, MAX_INT64 } from '../json.ts'
import { askStatus, requireActive, type Status, setStatus } from '../players/player-status.ts'
import type { StorageValues } from '../players/requests.ts'
import { askKeys, bytesOf, putWithinLimits, removeValues } from '../players/storage.ts'
import { type Track, tierKey } from '../scenario/definition.ts'
import { askPayments, removePayments } from '../scenario/reward-payments.ts'
import { askActiveRun, askPlan, askRun, cancel } from '../scenario/runs.ts'
import { requireScenario, Scenarios } from '../scenario/scenarios.ts'
import { askWallet, balanceOf, move, walletLedger } from '../wallet/holdings.ts'
import { Erasures } from './erase.ts'

// Actions of support on a player: with the engine, locks and rules of the player's own calls, and one audit row each.

/** The operator, the player and the reason. */
export interface SupportCall {
  readonly caller: PlatformCaller
  readonly player: PlayerRef
  readonly reason: string
}

/** An action that moves value needs a key: the same key and request takes effect once and gets the same answer. */
export interface KeyedCall extends SupportCall {
  readonly idempotencyKey: string
}

export interface TierInput extends NodeInput {
  readonly level: number
  readonly track: Track
}

/** Refusals that an operator can act on. They are data of the payload; any other refusal is an error of the request. */
export const SUPPORT_ERRORS = [
  'player banned',
  'player deleted',
  'run not active',
  'season closed',
  'xp limit exceeded',
  'balance limit exceeded',
  'insufficient funds',
  'unknown currency',
  'credit limit exceeded',
  'premium tiers claimed',
  'premium not available',
] as const satisfies readonly (typeof REFUSALS)[RefusalKind][1][]
export type SupportError = (typeof SUPPORT_ERRORS)[number]

/** The common part of every action's answer. */
export interface Recorded {
  /** Its entry in the audit log. Missing in answers that an earlier version stored. */
  readonly auditId?: string
}

/** The result of an action on a player, for the audit row and for the operator. */
interface Done<Outcome> {
  readonly outcome: Outcome
  readonly before: Json
  readonly after: Json
}

interface Action<Outcome> {
  readonly name: string
  /** Asks for the rows that the action needs beside the player. */
  readonly ask?: (player: Player, group: Group) => void
  readonly decide: (player: Player, group: Group, auditId: string) => Done<Outcome> | typeof LATER
}

/** Runs an action on a player that is not deleted, and adds its audit entry. */
function act<Outcome extends object>(call: SupportCall, action: Action<Outcome>): Command<Outcome & Recorded> {
  const { caller, reason } = call
  return {
    player: call.player,
    locks: true,
    decide(group) {
      const player = group.player(call.player)
      const standing = askStatus(player)
      action.ask?.(player, group)
      if (group.waits) return LATER
      if (!standing.value) throw new Refusal('playerNotFound')
      if (standing.value.status === 'deleted') throw new Refusal('playerDeleted')
      const id = newId()
      const done = action.decide(player, group, id)
      if (done === LATER) return LATER
      const { environmentId, playerId: target } = player
      const { before, after } = done
      const entry = { environmentId, action: `player.${action.name}`, target, before, after, reason }
      group.of(AuditLog).add(caller, entry, id)
      return { ...done.outcome, auditId: id }
    },
  }
}

function once<Outcome extends object>(
  call: KeyedCall,
  action: Action<Outcome>,
  request: Json,
  tookEffect: (outcome: Outcome) => boolean = () => true,
): Command<Outcome & Recorded> {
  const operation = `support.${action.name}`
  return { ...act(call, action), once: { operation, key: call.idempotencyKey, request, tookEffect } }
}

/** Bans a player, from the next call on, on every instance, with any token. */
export const banPlayer = (call: SupportCall): Command<Recorded> => changeStatus(call, 'ban', 'banned')

export const unbanPlayer = (call: SupportCall): Command<Recorded> => changeStatus(call, 'unban', 'active')

/**
 * Deletes a player permanently. Erases its name, picture, storage and sessions. The books stay, and so do its
 * identities: by them a login answers that the player is deleted (spec 7.1).
 */
export const deletePlayer = (call: SupportCall): Command<Recorded> =>
  changeStatus(call, 'delete', 'deleted', (group) => {
    group.of(Erasures).add(call.player)
    group.of(RefreshTokens).revokeAll(call.player)
  })

function changeStatus(
  call: SupportCall,
  name: string,
  status: Status,
  more?: (group: Group) => void,
): Command<Recorded> {
  return act(call, {
    name,
    decide(player, group) {
      const before = askStatus(player).value?.status ?? null
      setStatus(player, status)
      more?.(group)
      return { outcome: {}, before: { status: before }, after: { status } }
    },
  })
}

/**
 * Ends all logins of a player: refresh tokens at once, access tokens and sockets within two seconds. The player can log
 * in again.
 */
export function endSessions(call: SupportCall): Command<Recorded> {
  return act(call, {
    name: 'end_sessions',
    decide(_player, group) {
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: {}, before: null, after: null }
    },
  })
}

/**
 * Removes an identity from a player, so that its subject is free. Ends all logins of the player, as a login does not
 * record its identity. Runs in the lane of logins, whose locks it takes.
 */
export function unlinkIdentity(
  call: SupportCall,
  { provider, subject }: Omit<IdentityRef, 'environmentId'>,
): Command<Recorded> {
  const ref = { environmentId: call.player.environmentId, provider, subject }
  const command = act(call, {
    name: 'unlink_identity',
    decide(_player, group) {
      if (askOwner(group, ref)?.playerId !== call.player.playerId) throw new Refusal('notFound')
      removeIdentity(group, ref)
      group.of(RefreshTokens).revokeAll(call.player)
      return { outcome: {}, before: { provider, subject }, after: null }
    },
  })
  return {
    lane: 'logins',
    locks: true,
    decide(group) {
      // The subject is locked before the player, as a login does.
      askOwner(group, ref)
      return group.waits ? LATER : command.decide(group)
    },
  }
}

export interface Changed extends Recorded {
  /** Whether anything changed. */
  readonly changed: boolean
}

/** A balance that an operator changed. */
export interface Moved extends Recorded {
  /** The balance after the change. */
  readonly balance: bigint
  /** The row of the ledger. Missing in answers that an earlier version stored. */
  readonly entryId?: string
}

/** A grant that may pay. Answers that an earlier version stored have no entries. */
interface Paid extends Recorded {
  /** The rows of the wallet's ledger, in their order. */
  readonly walletEntryIds?: readonly string[]
}

/** Granted xp. */
export interface GrantedXp extends AddXpResult, Paid {
  /** The row of the xp ledger. Missing in answers that an earlier version stored. */
  readonly entryId?: string
}

/** A granted tier. */
export type GrantedTier = ClaimResult & Paid

/** An unknown currency is mostly a typing mistake. */
export class UnknownCurrency extends Refusal {
  readonly nearest: readonly string[]

  constructor(currency: string, nearest: readonly string[]) {
    const message = `\`${currency}\` ${unknownMessage(nearest)}. To credit it all the same, send \`allowNew: true\`.`
    super('unknownCurrency', { faults: [{ path: 'currency', message }] })
    this.nearest = nearest
  }
}

export interface MoneyInput {
  readonly currency: string
  /** 1 or more. */
  readonly amount: bigint
}

/**
 * Credits a player. With rules, refuses an unknown currency unless the call says that it is new, and an amount above
 * the limit unless the caller is an admin.
 */
export const creditWallet = (
  call: KeyedCall,
  input: MoneyInput & { readonly allowNew?: boolean },
  rules: CreditRules | null = null,
): Command<Moved> =>
  moveMoney(call, 'credit_wallet', input, input.amount, () => {
    if (rules && !rules.isKnown && !input.allowNew) throw new UnknownCurrency(input.currency, rules.nearest)
    const limit = rules?.creditLimit ?? null
    if (limit === null || input.amount <= limit || roleIncludes(call.caller.role, 'admin')) return
    const message = `The amount is above ${limit}, the largest that an operator can credit. An admin can credit more.`
    throw new Refusal('creditLimitExceeded', { faults: [{ path: 'amount', message }] })
  })

/** Refuses an amount above the balance. */
export const debitWallet = (call: KeyedCall, input: MoneyInput): Command<Moved> =>
  moveMoney(call, 'debit_wallet', input, -input.amount)

function moveMoney(
  call: KeyedCall,
  name: 'credit_wallet' | 'debit_wallet',
  { currency }: MoneyInput,
  amount: bigint,
  check?: () => void,
): Command<Moved> {
  const action: Action<Moved> = {
    name,
    ask: askWallet,
    decide(player, group, auditId) {
      check?.()
      const before = balanceOf(player, currency)
      const balance = before + amount
      if (balance < 0n) throw new Refusal('insufficientFunds')
      if (balance > MAX_INT64) throw new Refusal('balanceLimitExceeded')
      // The player can read its ledger: the operator's reason stays in the audit log.
      const cause = { reason: 'adjustment', reference: `support/${auditId}` } as const
      const { entryId } = move(group, player, currency, amount, cause)
      return { outcome: { balance, entryId }, before: { currency, balance: before }, after: { currency, balance } }
    },
  }
  return once(call, action, { currency, amount })
}

/** Adds xp in the player's active run by the rules of the game: season, levels, crossings. */
export function grantXp(call: KeyedCall, input: NodeInput & { amount: bigint; source: string }): Command<GrantedXp> {
  const { scenarioId, nodeId, amount, source } = input
  const action: Action<GrantedXp> = {
    name: 'grant_xp',
    ask: (player, group) => askRunOf(player, group, scenarioId),
    decide(player, group) {
      const runId = requireRun(player, group, scenarioId)
      const definition = group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId })
      const pass = askPass(player, definition, input)
      const earlier = pass?.isKnown ? pass.current : null
      const count = group.appendedCount
      const entryId = newId()
      // An unknown node is refused here.
      const result = addXp(call.player, { ...input, runId }, entryId).decide(group)
      if (result === LATER) return LATER
      const { xp, level } = result
      const at = { scenarioId, nodeId: pass?.node.id ?? nodeId, runId }
      const before = { ...at, xp: earlier?.xp ?? 0n, level: earlier?.level ?? 0 }
      const walletEntryIds = paidSince(group, count)
      return { outcome: { ...result, entryId, walletEntryIds }, before, after: { ...at, xp, level, source } }
    },
  }
  return once(call, action, { scenarioId, nodeId, amount, source })
}

/** Claims a tier for the player, even one that it has not reached. Premium tiers require premium. */
export function grantTier(call: KeyedCall, input: TierInput): Command<GrantedTier> {
  const { scenarioId, nodeId, level, track } = input
  const action: Action<GrantedTier> = {
    name: 'grant_tier',
    ask: (player, group) => askRunOf(player, group, scenarioId),
    decide(player, group) {
      const runId = requireRun(player, group, scenarioId)
      const count = group.appendedCount
      const result = giveTier(group, call.player, { ...input, runId })
      if (result === LATER) return LATER
      const tier = { scenarioId, nodeId, level, track }
      const { success, error, granted, alreadyClaimed: claimed } = result
      const outcome = { ...result, walletEntryIds: paidSince(group, count) }
      return { outcome, before: { ...tier, claimed }, after: { ...tier, success, error, granted } }
    },
  }
  return once(call, action, { scenarioId, nodeId, level, track }, ({ success }) => success)
}

/** The rows that were added to the wallet's ledger after this count of appended rows. */
const paidSince = (group: Group, count: number): string[] =>
  group.appendedSince(count, walletLedger).map(({ id }) => id)

/** Makes a claimed tier claimable again. The player keeps its rewards. */
export function resetTier(call: SupportCall, { level, track, ...input }: TierInput): Command<Changed> {
  return actOnPass(call, 'reset_tier', input, (group, pass) => {
    claimedLevel(pass, level)
    const tier = { scenarioId: input.scenarioId, nodeId: pass.node.id, level, track }
    const isClaimed = pass.claimed.includes(tierKey(level, track))
    if (isClaimed) pass.removeClaim(group, level, track)
    return {
      outcome: { changed: isClaimed },
      before: { ...tier, claimed: isClaimed },
      after: { ...tier, claimed: false },
    }
  })
}

/** Lets a reward node that pays once pay the player again. The player keeps earlier rewards. */
export function resetReward(call: SupportCall, { scenarioId, nodeId }: NodeInput): Command<Changed> {
  const find = (group: Group) => group.of(Scenarios).find({ environmentId: call.player.environmentId, scenarioId })
  return act(call, {
    name: 'reset_reward',
    ask(player, group) {
      find(group)
      askPayments(player, scenarioId, nodeId)
    },
    decide(player, group) {
      const { nodes } = requireScenario(find(group))
      const count = removePayments(player, scenarioId, nodeId)
      // A node that an edit has removed may have paid.
      if (count === 0 && nodes.get(nodeId)?.type !== 'reward') throw new Refusal('nodeNotFound')
      const at = { scenarioId, nodeId }
      return {
        outcome: { changed: count > 0 },
        before: { ...at, payments: count },
        after: { ...at, payments: 0 },
      }
    },
  })
}

/** Grants premium where it is sold. No price is charged, so no purchase is crossed. */
export function grantPremium(call: SupportCall, input: NodeInput): Command<Changed> {
  return setPremium(call, 'grant_premium', input, true)
}

/** Takes premium back. Refused while premium tiers are claimed, since their rewards required it. */
export function revokePremium(call: SupportCall, input: NodeInput): Command<Changed> {
  return setPremium(call, 'revoke_premium', input, false)
}

function setPremium(call: SupportCall, name: string, input: NodeInput, owned: boolean): Command<Changed> {
  return actOnPass(call, name, input, (group, pass) => {
    const { current, node } = pass
    if (owned && !node.premium) throw new Refusal('premiumNotAvailable')
    if (!owned && pass.claimed.some((tier) => tier.startsWith('premium'))) throw new Refusal('premiumTiersClaimed')
    if (current.premiumOwned !== owned) pass.set(group, { ...current, premiumOwned: owned })
    const at = { scenarioId: input.scenarioId, nodeId: node.id }
    return {
      outcome: { changed: current.premiumOwned !== owned },
      before: { ...at, premiumOwned: current.premiumOwned },
      after: { ...at, premiumOwned: owned },
    }
  })
}

/** Resets a pass: no xp, no premium, no claims. The player keeps its rewards. */
export function resetPass(call: SupportCall, input: NodeInput): Command<Changed> {
  return actOnPass(call, 'reset_pass', input, (group, pass) => {
    const { node } = pass
    const { xp, level, premiumOwned, activeOn, ...crossed } = pass.current
    const claimedTiers = [...pass.claimed].sort()
    const hasCrossed = crossed.maxLevelCrossed || crossed.completed || crossed.completedNodes.length > 0
    const isAtStart = xp === 0n && level === newPass(node).level && !premiumOwned && !hasCrossed
    const changed = pass.stored !== null && !(isAtStart && claimedTiers.length === 0)
    if (changed) {
      pass.clearClaims(group)
      pass.set(group, { ...newPass(node), activeOn })
      if (xp > 0n) pass.addXp(group, newId(), { runId: NO_RUN, amount: -xp, source: 'support:reset' })
    }
    const at = { scenarioId: input.scenarioId, nodeId: node.id }
    return {
      outcome: { changed },
      before: { ...at, xp, level, premiumOwned, claimedTiers },
      after: { ...at, xp: 0n, premiumOwned: false, claimedTiers: [] },
    }
  })
}

/**
 * An action on one pass, in a group of its own: it may remove rows that other commands of the group have just written.
 */
function actOnPass<Outcome extends object>(
  call: SupportCall,
  name: string,
  input: NodeInput,
  decide: (group: Group, pass: PassHandle) => Done<Outcome>,
): Command<Outcome & Recorded> {
  const { environmentId } = call.player
  const ask = (player: Player, group: Group) => {
    const definition = group.of(Scenarios).find({ environmentId, scenarioId: input.scenarioId })
    return { definition, pass: askPass(player, definition, input)?.askClaims() }
  }
  const command = act(call, {
    name,
    ask,
    decide(player, group) {
      const { definition, pass } = ask(player, group)
      requireScenario(definition)
      return decide(group, requirePass(pass))
    },
  })
  return { ...command, apart: true }
}

/** Cancels a run. The player may start another. */
export function cancelRun(call: SupportCall, { runId }: { runId: string }): Command<Recorded> {
  return act(call, {
    name: 'cancel_run',
    ask(player) {
      const run = askRun(player, runId)
      if (run) askPlan(player, run.key)
    },
    decide(player, group) {
      const run = askRun(player, runId)?.value
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
}

function askRunOf(player: Player, group: Group, scenarioId: string): void {
  group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId })
  askActiveRun(player, scenarioId)
}

/** The player's active run. Refuses in the same order as the player's own call. */
function requireRun(player: Player, group: Group, scenarioId: string): string {
  requireActive(player)
  requireScenario(group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId }))
  const run = askActiveRun(player, scenarioId).value
  if (!run) throw new Refusal('runNotActive')
  return run.runId
}

/** Merges values into the player's storage, within the limits of spec 8. */
export function setPlayerStorage(call: SupportCall, values: StorageValues): Command<Recorded> {
  const command = act(call, {
    name: 'set_storage',
    ask: askKeys,
    decide(player) {
      putWithinLimits(player, values)
      const keys = [...values.keys()]
      return { outcome: {}, before: null, after: { keys } }
    },
  })
  return { ...command, bytes: bytesOf(values) }
}

export function deletePlayerStorage(call: SupportCall, keys: readonly string[]): Command<Recorded> {
  return act(call, {
    name: 'delete_storage',
    ask: askKeys,
    decide(player) {
      removeValues(player, keys)
      return { outcome: {}, before: { keys }, after: null }
    },
  })
}
