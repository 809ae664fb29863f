import { type Fault, Refusal } from '../../base/errors.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { newId } from '../../db/ids.ts'
import { bigint, text, uuid } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import { askBoosts, giveBoost, takeBoost } from '../boosts/player-boosts.ts'
import type { Reward } from '../definition/definition.ts'

export const WALLET_CAUSES = [
  'tier_claim',
  'season_end',
  'premium_purchase',
  'reward_node',
  'adjustment',
  'server_grant',
  'server_spend',
  'xp_conversion',
  'inbox_claim',
  'grant_job',
] as const
export type WalletCause = (typeof WALLET_CAUSES)[number]

/** The cause of a change of a balance, for audits of the ledger and the books. */
export interface Cause {
  readonly reason: WalletCause
  /** The object behind it, such as `season-1/pass/free/5`. */
  readonly reference: string
}

export const wallets = table('wallets', { key: { currency: text }, columns: { balance: bigint }, kind: 'state' })
export const inventory = table('inventory', { key: { itemId: text }, columns: { amount: bigint }, kind: 'state' })
export const walletLedger = table('wallet_ledger', {
  key: { id: uuid },
  columns: { currency: text, amount: bigint, balance: bigint, reason: text, reference: text },
  kind: 'append',
})
const balances = wallets.many([], ({ currency }) => currency)
const item = inventory.one()

export function askWallet(player: Player): void {
  player.many(balances)
}

export function askHoldings(player: Player, rewards: readonly Reward[]): void {
  for (const { itemId, boost } of rewards) {
    if (boost) askBoosts(player)
    else if (itemId === null) player.many(balances)
    else player.one(item, itemId)
  }
}

/** The rewards without those for which `askHoldings` asks the same. */
export function oneOfEachHolding(rewards: readonly Reward[]): readonly Reward[] {
  const holdingOf = ({ itemId, boost }: Reward) => (boost ? 'boosts' : itemId === null ? 'wallet' : `item ${itemId}`)
  return [...new Map(rewards.map((reward) => [holdingOf(reward), reward])).values()]
}

export function balanceOf(player: Player, currency: string): bigint {
  return player.many(balances).get(currency)?.balance ?? 0n
}

/**
 * The first currency or item of these rewards whose balance or amount would pass int64; undefined when all fit. Ask for
 * the holdings first.
 */
export const overflowOf = (player: Player, rewards: readonly Reward[]): Fault | undefined =>
  rewards.length === 0 ? undefined : roomOf(player)(rewards)

/**
 * Tells of several lists of rewards, one after another, whether the player can hold them with those that fitted before.
 * Returns the fault of a list that does not fit.
 */
export function roomOf(player: Player): (rewards: readonly Reward[]) => Fault | undefined {
  const taken = new Map<string, bigint>()
  return (rewards) => {
    const totals = new Map<string, bigint>()
    for (const { currency, itemId, amount, boost } of rewards) {
      // What passes the longest time of a boost is cut.
      if (boost) continue
      const key = currency === null ? `item/${itemId}` : `currency/${currency}`
      const held = () =>
        currency === null ? (player.one(item, itemId).value?.amount ?? 0n) : balanceOf(player, currency)
      const total = (totals.get(key) ?? taken.get(key) ?? held()) + amount
      if (total > MAX_INT64) return currency === null ? amountOverflow(itemId) : balanceOverflow(currency)
      totals.set(key, total)
    }
    for (const [key, total] of totals) taken.set(key, total)
    return undefined
  }
}

/** The fault of a balance beyond int64. */
const balanceOverflow = (currency: string): Fault => ({
  path: '',
  message: `The balance of ${JSON.stringify(currency)} would pass ${MAX_INT64}.`,
})

const amountOverflow = (itemId: string): Fault => ({
  path: '',
  message: `The amount of the item ${JSON.stringify(itemId)} would pass ${MAX_INT64}.`,
})

/** Refuses rewards that a player cannot hold. */
export function requireRoom(player: Player, rewards: readonly Reward[]): void {
  const fault = overflowOf(player, rewards)
  if (fault) throw new Refusal('balanceLimitExceeded', { faults: [fault] })
}

/** Adds rewards. Ask `overflowOf` first. */
export function grant(group: Group, player: Player, rewards: readonly Reward[], cause: Cause): void {
  for (const { currency, itemId, amount, boost } of rewards) {
    if (boost) {
      giveBoost(player, boost, cause.reference, group.now)
    } else if (currency !== null) {
      move(group, player, currency, amount, cause)
    } else {
      const held = player.one(item, itemId)
      held.set({ itemId, amount: (held.value?.amount ?? 0n) + amount })
    }
  }
}

/**
 * Takes back what the player still has of each reward, and returns what was taken: of a boost the minutes that are
 * left of what `given` gave, rounded up. Ask for the holdings first. Only in a transaction.
 */
export function takeBack(
  group: Group,
  player: Player,
  rewards: readonly Reward[],
  { given: givenBy, ...cause }: Cause & { readonly given: string },
): Reward[] {
  return rewards.flatMap((reward): Reward[] => {
    const { currency, itemId, amount: given, boost } = reward
    if (boost) {
      const minutes = takeBoost(player, boost, givenBy, group.now)
      return minutes === 0 ? [] : [{ ...reward, boost: { ...boost, minutes } }]
    }
    const held = currency === null ? player.one(item, itemId) : null
    const has = currency === null ? (held?.value?.amount ?? 0n) : balanceOf(player, currency)
    const amount = has < given ? has : given
    if (amount === 0n) return []
    if (currency !== null) move(group, player, currency, -amount, cause)
    else held?.set({ itemId, amount: has - amount })
    return [{ ...reward, amount }]
  })
}

/** The balance after a change. Refuses a change that it does not allow. */
export function balanceAfter(player: Player, currency: string, amount: bigint): bigint {
  const before = balanceOf(player, currency)
  const balance = before + amount
  if (balance < 0n) {
    const message = `The balance of ${JSON.stringify(currency)} is ${before}.`
    throw new Refusal('insufficientFunds', { faults: [{ path: '', message }] })
  }
  if (balance > MAX_INT64) throw new Refusal('balanceLimitExceeded', { faults: [balanceOverflow(currency)] })
  return balance
}

/** Changes one balance and writes its ledger row. The balance must stay between 0 and the largest int64. */
export function move(
  group: Group,
  player: Player,
  currency: string,
  amount: bigint,
  { reason, reference }: Cause,
): { readonly entryId: string } {
  const balance = balanceOf(player, currency) + amount
  const entryId = newId()
  player.many(balances).set(currency, { currency, balance })
  group.append(walletLedger, player, { id: entryId, currency, amount, balance, reason, reference })
  return { entryId }
}
