import { Refusal } from '../base/errors.ts'
import { MAX_SOURCE } from '../base/limits.ts'
import { newId } from '../db/ids.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, inRun, type Unkeyed } from '../declare/common.ts'
import { RUN_CALL } from '../declare/contract.ts'
import { playerCall } from '../declare/player-call.ts'
import { int64, optional, type RequestOf, shape, text } from '../declare/shape.ts'
import { admitActive } from '../players/player-status.ts'
import { EXAMPLE_PLAN, type ExecutionPlan, executionPlan } from '../scenario/plan.ts'
import { askRunRows, askWalk, record, requireActiveRun, settleWalk } from '../scenario/runs.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { requireRoom } from '../wallet/holdings.ts'
import { decideXp, levelAt } from './decide.ts'
import { aboutPass, askPass, requirePass } from './passes.ts'

/** The add-xp request of spec 2.1. Clients may leave `source` out. */
export const addXpRequest = shape(
  {
    ...inRun,
    amount: int64('The amount of xp: 1 or more.', { min: 1n }),
    source: optional(
      text(`The source of the xp: up to ${MAX_SOURCE} characters. Default: empty.`, { max: MAX_SOURCE, min: 0 }),
      '',
    ),
    idempotencyKey,
  },
  { name: 'AddXpRequest', example: { ...EXAMPLE_RUN, amount: 1200, source: 'match' } },
)
export type AddXp = Unkeyed<RequestOf<typeof addXpRequest>>

/** The add-xp response of spec 2.2. */
export const addXpAnswer = answer(
  'The state after the addition. A call that is repeated with its idempotency key answers the same.',
  {
    level: out.int32('The level after the addition.'),
    xp: out.int64('The xp after the addition.'),
    leveledUp: out.flag('Whether the call reached a new level.'),
    maxLevel: out.flag('Whether the player is at the last level.'),
    plan: out.orNull(executionPlan),
  },
  { name: 'AddXpResponse', example: { level: 2, xp: 1200, leveledUp: true, maxLevel: false, plan: EXAMPLE_PLAN } },
)
export type AddXpResult = AnswerOf<typeof addXpAnswer>

/**
 * Adds xp to the player's pass (spec 4.1). Every grant is a row of the xp ledger, with the id `entryId` if given. Each
 * level is crossed once.
 */
export function addXp(ref: PlayerRef, input: AddXp, entryId?: string): Command<AddXpResult> {
  const { scenarioId, nodeId, runId, amount, source, idempotencyKey: key } = input
  return {
    player: ref,
    once: {
      operation: 'xp',
      key,
      request: { scenarioId, nodeId, runId, amount, source },
      admit: (group) => admitActive(group, ref),
      about: (_result, group) => aboutPass(group, ref, input),
    },
    *decide(group) {
      const { rows, asked } = yield* group.rows(() => {
        const rows = askRunRows(group, ref, input)
        const asked = askPass(rows.player, rows.definition, input)
        // Xp at the top level may complete the pass, which depends on its claims.
        const stored = asked?.stored
        if (stored && !stored.completed && levelAt(asked.node, stored.xp + amount) >= asked.node.topLevel)
          asked.askClaims()
        return { rows, asked }
      })
      const { player } = rows
      const { definition, run } = requireActiveRun(rows, scenarioId)
      const pass = requirePass(asked)
      const decision = decideXp(pass.node, pass.current, { amount, source }, group.now)
      if (decision.kind === 'refused') throw new Refusal(decision.reason)
      const { level, xp, leveledUp, maxLevel, crossings } = decision
      let plan: ExecutionPlan | null = null
      if (crossings.length > 0) {
        const { step, rewards } = yield* askWalk(group, player, () => settleWalk(player, definition, run, crossings))
        requireRoom(player, rewards)
        plan = record(group, player, run, step)
      }
      pass.set(group, decision.next)
      pass.addXp(group, entryId ?? newId(), { runId: run.runId, amount, source })
      return { level, xp, leveledUp, maxLevel, plan }
    },
  }
}

export const addXpCall = playerCall({
  request: addXpRequest,
  action: 'battle_pass.add_xp',
  command: addXp,
  contract: {
    id: 'addXp',
    tag: 'Battle pass',
    summary: 'Add xp to a pass. The run must be active; it need not have entered the node.',
    answer: addXpAnswer,
    refusals: [...RUN_CALL, 'seasonClosed', 'xpLimitExceeded', 'balanceLimitExceeded', 'idempotencyKeyReused'],
  },
})
