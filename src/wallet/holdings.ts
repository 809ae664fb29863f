import type { Group } from '../commit/group.ts'
import type { Player } from '../commit/player.ts'
import { bigint, table, text, uuid } from '../commit/table.ts'
import { newId } from '../db/ids.ts'
import { MAX_INT64 } from '../json.ts'
import type { Reward } from '../scenario/definition.ts'

export const WALLET_CAUSES = ['tier_claim', 'premium_purchase', 'reward_node', 'adjustment'] as const
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

/** Asks for the balances of a player. */
export function askWallet(player: Player): void {
  player.many(balances)
}

/** Asks for the rows that rewards change. */
export function askHoldings(player: Player, rewards: readonly Reward[]): void {
  for (const { itemId } of rewards) {
    if (itemId === null) player.many(balances)
    else player.one(item, itemId)
  }
}

export function balanceOf(player: Player, currency: string): bigint {
  return player.many(balances).get(currency)?.balance ?? 0n
}

/** Whether every balance and amount stays within int64 with all of these rewards. Ask for the holdings first. */
export function canGrant(player: Player, rewards: readonly Reward[]): boolean {
  if (rewards.length === 0) return true
  const totals = new Map<string, bigint>()
  for (const { currency, itemId, amount } of rewards) {
    const key = currency === null ? `item/${itemId}` : `currency/${currency}`
    const held = () =>
      currency === null ? (player.one(item, itemId ?? '').value?.amount ?? 0n) : balanceOf(player, currency)
    const total = (totals.get(key) ?? held()) + amount
    if (total > MAX_INT64) return false
    totals.set(key, total)
  }
  return true
}

/** Adds rewards. Ask `canGrant` first. */
export function grant(group: Group, player: Player, rewards: readonly Reward[], cause: Cause): void {
  for (const { currency, itemId, amount } of rewards) {
    if (currency !== null) {
      move(group, player, currency, amount, cause)
    } else if (itemId !== null) {
      const held = player.one(item, itemId)
      held.set({ itemId, amount: (held.value?.amount ?? 0n) + amount })
    }
  }
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
