import { Refusal } from '../errors.ts'
import { playerCall } from '../players/player-call.ts'
import { askStatus, requireActive } from '../players/player-status.ts'
import { runId as runIdField } from '../request/common.ts'
import { type RequestOf, shape } from '../request/shape.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { type EnteredNode, type ExecutionPlan, enteredNode } from './plan.ts'
import { askPlan, askRun, type RunCause, type RunStatus } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export const runRequest = shape({ runId: runIdField })

export type RunResult = {
  readonly runId: string
  readonly scenarioId: string
  readonly status: RunStatus
  readonly active: readonly EnteredNode[]
  /** The last plan, for a client that lost an answer. */
  readonly plan: ExecutionPlan | null
  /**
   * The cause of the cancellation. Null for any other run, and for one that was cancelled before causes were recorded.
   */
  readonly cause: RunCause | null
}

/** Reads a run of the player, with its active nodes as the current version defines them. */
export function readRun(ref: PlayerRef, { runId }: RequestOf<typeof runRequest>): Command<RunResult> {
  return {
    engine: 'reads',
    // The last plan is not remembered.
    fresh: true,
    player: ref,
    *decide(group) {
      const { player, run, last } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const run = askRun(player, runId)
        return { player, run, last: run && askPlan(player, run.key) }
      })
      requireActive(player)
      if (!run?.value) throw new Refusal('runNotFound')
      const { scenarioId, status, active, cause } = run.value
      const { environmentId } = ref
      const { nodes } = requireScenario(
        yield* group.rows(() => group.of(Scenarios).find({ environmentId, scenarioId })),
      )
      return {
        runId: run.key,
        scenarioId,
        status,
        active: active.flatMap((nodeId) => nodes.get(nodeId) ?? []).map(enteredNode),
        plan: last?.value?.plan ?? null,
        cause,
      }
    },
  }
}

export const runCall = playerCall({ request: runRequest, command: readRun })
