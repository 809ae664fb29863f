import { text, uuid } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf, type Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import { type Grant, type Walk, withoutPaid } from './plan.ts'

/** Payments of reward nodes. `scope` is empty for a node that pays once, and the run for one that pays once per run. */
export const rewardPayments = table('reward_payments', {
  key: { scenarioId: text, nodeId: text, scope: text },
  columns: { runId: uuid },
  kind: 'append',
})
const payment = rewardPayments.one({ columns: ['runId'] })
const paymentsOf = rewardPayments.many(['scenarioId', 'nodeId'], ({ scope }) => scope, {
  columns: ['scope'],
  isKept: false,
})

interface RunRef {
  readonly scenarioId: string
  readonly runId: string
}

/** Null when there is no payment to look up: the node pays each time, or it pays once per run and the run is new. */
export function scopeOf({ repeat }: Pick<Grant, 'repeat'>, runId: string | null): string | null {
  if (repeat === 'always') return null
  return repeat === 'run' ? runId : ''
}

/** Asks whether a node has paid. The run is null when it is about to begin. */
export function askPaid(
  player: Player,
  scenarioId: string,
  grant: Pick<Grant, 'nodeId' | 'repeat'>,
  runId: string | null,
): boolean {
  const scope = scopeOf(grant, runId)
  if (scope === null) return false
  const found = player.one(payment, keyOf(scenarioId, grant.nodeId, scope))
  return found.isKnown && found.value !== null
}

/**
 * A walk with only the rewards that pay. A node that pays once is left out when it has paid, and when one walk enters it
 * a second time. While the group waits, the result is meaningless.
 */
export function settle(player: Player, scenarioId: string, runId: string | null, step: Walk): Walk {
  if (step.grants.every(({ repeat }) => repeat === 'always')) return step
  const entered = new Set<string>()
  return withoutPaid(step, (grant) => {
    const isSecond = grant.repeat !== 'always' && entered.has(grant.nodeId)
    entered.add(grant.nodeId)
    return isSecond || askPaid(player, scenarioId, grant, runId)
  })
}

/** Records the payments of a settled walk. */
export function addPayments(group: Group, player: Player, { scenarioId, runId }: RunRef, { grants }: Walk): void {
  for (const grant of grants) {
    const scope = scopeOf(grant, runId)
    if (scope === null) continue
    const { nodeId } = grant
    group.append(rewardPayments, player, { scenarioId, nodeId, scope, runId })
    player.slot(payment, keyOf(scenarioId, nodeId, scope)).note({ runId })
  }
}

/** Asks for all payments of a node to a player. */
export const askPayments = (player: Player, scenarioId: string, nodeId: string) =>
  player.many(paymentsOf, keyOf(scenarioId, nodeId))

/** Lets a node pay again. Ask for its payments first. Returns how many there were. */
export function removePayments(player: Player, scenarioId: string, nodeId: string): number {
  const payments = askPayments(player, scenarioId, nodeId)
  const scopes = payments.keys()
  for (const scope of scopes) {
    payments.set(scope, null)
    player.slot(payment, keyOf(scenarioId, nodeId, scope)).note(null)
  }
  return scopes.length
}
