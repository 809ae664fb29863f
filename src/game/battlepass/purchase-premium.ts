import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, inRun, type Unkeyed } from '../../declare/common.ts'
import { RUN_CALL } from '../../declare/contract.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape } from '../../declare/shape.ts'
import { admitActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { EXAMPLE_PLAN, executionPlan } from '../runs/plan.ts'
import { askRunRows, askWalk, record, requireActiveRun, settleWalk } from '../runs/runs.ts'
import { askHoldings, askWallet, balanceOf, grant, move, overflowOf } from '../wallet/holdings.ts'
import { askEveryTier } from './ask-tiers.ts'
import { claimForPlayer } from './claim-earned.ts'
import { decidePurchase, PURCHASE_ERRORS, type PurchaseError, REFUSED } from './decide.ts'
import { aboutPass, askPass, requirePass } from './passes.ts'

/** The premium request of contract 2.1. Without a key, ownership alone guards against a second charge. */
export const purchasePremiumRequest = shape(
  { ...inRun, idempotencyKey },
  { name: 'PremiumRequest', example: { ...EXAMPLE_RUN, idempotencyKey: '6f1c7e0a-premium' } },
)
export type PurchasePremium = Unkeyed<RequestOf<typeof purchasePremiumRequest>>

export const purchaseAnswer = answer(
  'The outcome of a purchase. The price is charged once.',
  {
    success: out.success('True when premium was bought.'),
    error: out.orNull(out.oneOf(PURCHASE_ERRORS, { description: REFUSED })),
    plan: out.orNull(executionPlan),
  },
  {
    name: 'PremiumResponse',
    example: {
      success: true,
      error: null,
      plan: { ...EXAMPLE_PLAN, crossed: [{ nodeId: 'pass', handle: 'onPremiumPurchase' }] },
    },
  },
)
export type PurchaseResult = AnswerOf<typeof purchaseAnswer>

/**
 * Buys premium from the wallet (contract 4.1): debit, instant rewards, ownership, ledger, key and crossing are one
 * transaction.
 */
export function purchasePremium(ref: PlayerRef, input: PurchasePremium): Command<PurchaseResult> {
  const { scenarioId, nodeId, runId, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'premium',
      key,
      request: { scenarioId, nodeId, runId },
      admit: (group) => admitActive(group, ref),
      tookEffect: ({ success }) => success,
      about: (_result, group) => aboutPass(group, ref, input),
      reused: () => refused('idempotency key reused'),
    },
    *decide(group) {
      const { rows, asked } = yield* group.rows(() => {
        const rows = askRunRows(group, ref, input)
        askWallet(rows.player)
        const asked = askPass(rows.player, rows.definition, input)
        if (asked) askHoldings(rows.player, asked.node.premiumInstant)
        if (rows.definition && asked?.node.autoClaim === 'always')
          askEveryTier(asked, rows.definition, rows.run?.key ?? null)
        return { rows, asked }
      })
      const { player } = rows
      const { definition, run } = requireActiveRun(rows, scenarioId)
      const pass = requirePass(asked)
      const decision = decidePurchase(
        pass.node,
        pass.current,
        (currency) => balanceOf(player, currency),
        pass.nowIn(group),
      )
      if (decision.kind === 'refused') return refused(decision.error)
      const { currency, amount } = decision.price
      const { crossings, rewards: instant } = decision
      const { step, rewards } = yield* askWalk(group, player, () => settleWalk(player, definition, run, crossings))
      // The rewards that follow may use the room that the price leaves in the balance.
      if (overflowOf(player, [{ currency, itemId: null, amount: -amount }, ...instant, ...rewards]))
        return refused('balance limit exceeded')

      const reference = `${scenarioId}/${pass.node.id}`
      const cause = { reason: 'premium_purchase', reference } as const
      if (amount > 0n) move(group, player, currency, -amount, cause)
      grant(group, player, instant, cause)
      let plan = record(group, player, run, step)
      pass.addSale(group, decision.price)
      pass.set(group, decision.next)
      if (pass.node.autoClaim === 'always')
        plan = yield* claimForPlayer(group, pass, { definition, run: rows.run }, plan)
      return { success: true, error: null, plan }
    },
  }
}

function refused(error: PurchaseError): PurchaseResult {
  return { success: false, error, plan: null }
}

export const purchasePremiumCall = playerCall({
  request: purchasePremiumRequest,
  action: 'battle_pass.purchase_premium',
  command: purchasePremium,
  contract: {
    id: 'purchasePremium',
    tag: 'Battle pass',
    summary: 'Buy premium from the wallet. The run must be active; it need not have entered the node.',
    answer: purchaseAnswer,
    refusals: RUN_CALL,
  },
})
