import type { Command } from '../commit/command.ts'
import { LATER } from '../commit/group.ts'
import type { PlayerRef } from '../commit/player.ts'
import { newId } from '../db/ids.ts'
import { playerCall } from '../players/player-call.ts'
import { admitActive, askStatus, requireActive } from '../players/player-status.ts'
import { idempotencyKey, scenarioId as scenarioIdField, type Unkeyed } from '../request/common.ts'
import { type RequestOf, shape } from '../request/shape.ts'
import { askHoldings, requireRoom } from '../wallet/holdings.ts'
import { begin, type ExecutionPlan, isLost } from './plan.ts'
import { settle } from './reward-payments.ts'
import { askActiveRun, askPlan, askRun, cancel, type Run, record, rewardsOf } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export const startRunRequest = shape({ scenarioId: scenarioIdField, idempotencyKey })
export type StartRun = Unkeyed<RequestOf<typeof startRunRequest>>

export type StartResult = {
  readonly runId: string
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
}

/**
 * Starts the player's run of a scenario, or resumes the active one: there is never a second. A run that an edit left
 * without anything to do is cancelled, and another begins (decisions 11.3).
 */
export function startRun(ref: PlayerRef, { scenarioId, idempotencyKey: key }: StartRun): Command<StartResult> {
  return {
    player: ref,
    once: {
      operation: 'start',
      key,
      request: { scenarioId },
      admit: (group) => admitActive(group, ref),
      about: ({ runId }) => [runId],
    },
    decide(group) {
      const player = group.player(ref)
      askStatus(player)
      const found = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
      const active = askActiveRun(player, scenarioId)
      if (group.waits) return LATER
      requireActive(player)
      const definition = requireScenario(found)
      const run = active.value && askRun(player, active.value.runId)
      if (run) {
        const last = askPlan(player, run.key)
        if (group.waits) return LATER
        if (!run.value || !isLost(definition, run.value))
          return { runId: run.key, resumed: true, plan: last.value?.plan ?? null }
      }

      const step = settle(player, scenarioId, null, begin(definition))
      const rewards = rewardsOf(step)
      askHoldings(player, rewards)
      if (group.waits) return LATER
      requireRoom(player, rewards)
      if (run?.value) cancel(group, player, run.value, 'definition changed')
      const runId = newId()
      const begun: Run = { runId, scenarioId, status: 'active', active: [], cause: null }
      return { runId, resumed: false, plan: record(group, player, begun, step) }
    },
  }
}

export const startRunCall = playerCall({ request: startRunRequest, action: 'run.start', command: startRun })
