import type { Command } from '../commit/group-commit.ts'
import { Refusal } from '../errors.ts'
import { MAX_INT64 } from '../json.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import { Holdings } from './holdings.ts'

export interface Adjustment {
  readonly currency: string
  /** Up or down, not zero. */
  readonly amount: bigint
  /** Why, in the operator's words. */
  readonly reference: string
}

/** Changes a balance from outside the game, with its ledger row. Refuses what would leave 0 or int64. */
export function adjustWallet(
  player: PlayerRef,
  { currency, amount, reference }: Adjustment,
): Command<{ balance: bigint }> {
  return {
    needs(group) {
      group.of(Standing).want(player)
      group.of(Holdings).want(player)
    },
    decide(group) {
      group.of(Standing).require(player)
      const holdings = group.of(Holdings)
      const balance = holdings.balance(player, currency) + amount
      if (balance < 0n || balance > MAX_INT64) throw new Refusal('balanceLimitExceeded')
      holdings.move(player, currency, amount, { reason: 'adjustment', reference })
      return { balance }
    },
  }
}
