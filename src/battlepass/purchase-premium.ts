import type { Command } from '../commit/group-commit.ts'
import { idempotent } from '../commit/idempotency.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import type { ExecutionPlan } from '../scenario/plan.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import { cross, hasRoom, openSession, type RunInput, wantSession } from '../scenario/session.ts'
import { Holdings } from '../wallet/holdings.ts'
import { type BusinessError, decidePurchase } from './decide.ts'
import { Passes } from './passes.ts'
import { findPlace, type NodeInput, passAt, passRef, requirePlace } from './place.ts'

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
export function purchasePremium(player: PlayerRef, input: PurchasePremium): Command<PurchaseResult> {
  const { scenarioId, nodeId, runId } = input
  const command: Command<PurchaseResult> = {
    needs(group) {
      wantSession(group, player, input)
      group.of(Holdings).want(player)
      const definition = group.of(Scenarios).expected({ environmentId: player.environmentId, scenarioId })
      const place = definition && findPlace(definition, nodeId)
      if (place) group.of(Passes).want(passRef(player, scenarioId, place))
    },
    decide(group) {
      const session = openSession(group, player, input)
      const place = requirePlace(session.definition, nodeId)
      const ref = passRef(player, scenarioId, place)
      const holdings = group.of(Holdings)
      const decision = decidePurchase(
        place.node,
        passAt(group, ref, place.node),
        (currency) => holdings.balance(player, currency),
        session.now,
      )
      if (decision.kind === 'refused') return { success: false, error: decision.error, plan: null }
      const { currency, amount } = decision.price
      // What the purchase leads to has the room that the price leaves.
      if (!hasRoom(group, session, decision.crossings, [{ currency, itemId: null, amount: -amount }])) {
        return { success: false, error: 'balance limit exceeded', plan: null }
      }

      const reference = `${scenarioId}/${place.node.id}`
      holdings.move(player, currency, -amount, { reason: 'premium_purchase', reference })
      const plan = cross(group, session, decision.crossings)
      group.of(Passes).set(ref, place.node, decision.next)
      return { success: true, error: null, plan }
    },
  }
  return idempotent(command, {
    player,
    operation: 'premium',
    admit: (group) => group.of(Standing).require(player),
    key: input.idempotencyKey,
    request: { scenarioId, nodeId, runId },
    tookEffect: ({ success }) => success,
    reused: () => ({ success: false, error: 'idempotency key reused', plan: null }),
  })
}
