import type { Command } from '../commit/command.ts'
import { LATER } from '../commit/group.ts'
import type { PlayerRef } from '../commit/player.ts'
import { admitActive } from '../players/standing.ts'
import { type ExecutionPlan, walk } from '../scenario/plan.ts'
import { askSession, openSession, type RunInput, record, rewardsOf } from '../scenario/session.ts'
import { askHoldings, askWallet, balanceOf, canGrant, move } from '../wallet/holdings.ts'
import { type BusinessError, decidePurchase } from './decide.ts'
import { askPass, type NodeInput, requirePass } from './passes.ts'

export interface PurchasePremium extends NodeInput, RunInput {
  /** The same key and request is charged once and answered alike. Without one, ownership alone guards. */
  readonly idempotencyKey?: string | null
}

/** The premium purchase response of spec 2.2. */
export type PurchaseResult = {
  readonly success: boolean
  readonly error: BusinessError | null
  readonly plan: ExecutionPlan | null
}

/** Buys premium from the wallet (spec 4.1): debit, ownership, ledger, key and crossing are one transaction. */
export function purchasePremium(ref: PlayerRef, input: PurchasePremium): Command<PurchaseResult> {
  const { scenarioId, nodeId, runId, idempotencyKey } = input
  return {
    player: ref,
    once: {
      operation: 'premium',
      key: idempotencyKey,
      request: { scenarioId, nodeId, runId },
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ success }) => success,
      reused: () => refused('idempotency key reused'),
    },
    decide(group) {
      const session = askSession(group, ref, input)
      const { player } = session
      const asked = askPass(player, session.definition, input)
      askWallet(player)
      if (group.waits) return LATER

      const { definition, run } = openSession(session, scenarioId)
      const pass = requirePass(asked)
      const decision = decidePurchase(pass.node, pass.current, (currency) => balanceOf(player, currency), group.now)
      if (decision.kind === 'refused') return refused(decision.error)
      const { currency, amount } = decision.price
      const step = walk(definition, run.active, decision.crossings)
      // What the purchase leads to has the room that the price leaves.
      const changes = [{ currency, itemId: null, amount: -amount }, ...rewardsOf(step)]
      askHoldings(player, changes)
      if (group.waits) return LATER
      if (!canGrant(player, changes)) return refused('balance limit exceeded')

      move(group, player, currency, -amount, { reason: 'premium_purchase', reference: `${scenarioId}/${pass.node.id}` })
      const plan = record(group, player, run, step)
      pass.set(group, decision.next)
      return { success: true, error: null, plan }
    },
  }
}

function refused(error: BusinessError): PurchaseResult {
  return { success: false, error, plan: null }
}
