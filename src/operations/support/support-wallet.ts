import { invalidRequest } from '../../base/errors.ts'
import { type CreditRules, requireCredit } from '../../game/wallet/currencies.ts'
import { askWallet, balanceAfter, balanceOf, move } from '../../game/wallet/holdings.ts'
import type { Command } from '../../transactions/command.ts'
import { act, type KeyedCall, type Recorded, requireUndoOf, type Undone } from './support-action.ts'

export interface Moved extends Recorded {
  readonly balance: bigint
  readonly entryId: string
}

export interface MoneyInput {
  readonly currency: string
  /** 1 or more. */
  readonly amount: bigint
}

/**
 * Credits a player. With rules, refuses an unknown currency unless `allowNew` is true, and an amount above the limit.
 */
export const creditWallet = (
  call: KeyedCall,
  input: MoneyInput & { readonly allowNew?: boolean },
  rules: CreditRules | null = null,
): Command<Moved> =>
  moveMoney(call, 'credit_wallet', input, input.amount, () => {
    if (rules) requireCredit(rules, input)
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
  return act(call, {
    name,
    request: { currency, amount },
    ask: askWallet,
    decide(player, group, { auditId, undone }) {
      if (undone) requireUndoOfMove(undone, { currency, amount })
      check?.()
      const before = balanceOf(player, currency)
      const balance = balanceAfter(player, currency, amount)
      // Players can read their ledger, so the operator's reason is only in the audit log.
      const cause = { reason: 'adjustment', reference: `support/${auditId}` } as const
      const { entryId } = move(group, player, currency, amount, cause)
      return { outcome: { balance, entryId }, before: { currency, balance: before }, after: { currency, balance } }
    },
  })
}

/** Refuses an undo in another currency, or of more than its entry has moved. */
function requireUndoOfMove({ before, after }: Undone, { currency, amount }: MoneyInput): void {
  requireUndoOf(after, { currency })
  const moved = BigInt(String(before.balance)) - BigInt(String(after.balance))
  if (moved > 0n ? amount <= moved : amount >= moved) return
  const most = moved < 0n ? -moved : moved
  throw invalidRequest({ path: 'amount', message: `must be at most ${most}, as in the entry that it undoes` })
}
