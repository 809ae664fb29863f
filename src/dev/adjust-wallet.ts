import { Refusal } from '../base/errors.ts'
import { MAX_INT64 } from '../base/json.ts'
import { askWallet, balanceOf, move } from '../game/wallet/holdings.ts'
import { askStatus, requireActive } from '../players/player-status.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'

export interface Adjustment {
  readonly currency: string
  /** Positive or negative, not zero. */
  readonly amount: bigint
  /** The operator's reason. */
  readonly reference: string
}

/** Changes a balance from outside the game, with its ledger row. Refuses a balance below 0 or beyond int64. */
export function adjustWallet(
  ref: PlayerRef,
  { currency, amount, reference }: Adjustment,
): Command<{ balance: bigint }> {
  return {
    player: ref,
    *decide(group) {
      const player = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        askWallet(player)
        return player
      })
      requireActive(player)
      const balance = balanceOf(player, currency) + amount
      if (balance < 0n || balance > MAX_INT64) throw new Refusal('balanceLimitExceeded')
      move(group, player, currency, amount, { reason: 'adjustment', reference })
      return { balance }
    },
  }
}
