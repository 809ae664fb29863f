import { Refusal } from '../../base/errors.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN, runId as runIdField } from '../../declare/common.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape } from '../../declare/shape.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { EXAMPLE_PLAN, enteredNode, enteredNodeAnswer, executionPlan, RUN_STATUSES } from './plan.ts'
import { askPlan, askRun, RUN_CAUSES } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export const runRequest = shape({ runId: runIdField }, { name: 'RunRequest', example: { runId: EXAMPLE_RUN.runId } })

export const runAnswer = answer(
  'The run, with its last plan.',
  {
    runId: out.id('Id of the run.'),
    scenarioId: out.text('Id of the scenario.'),
    status: out.oneOf(RUN_STATUSES, { description: 'The status of the run.' }),
    active: out.list(enteredNodeAnswer, 'Active nodes: entered and not left.'),
    plan: out.orNull(executionPlan, 'The last plan, for a client that lost an answer.'),
    cause: out.orNull(
      out.oneOf(RUN_CAUSES, {
        description: 'The reason why the run was cancelled. Null for any other run.',
      }),
    ),
  },
  {
    name: 'RunResponse',
    example: {
      runId: EXAMPLE_RUN.runId,
      scenarioId: 'season-1',
      status: 'active',
      active: [{ nodeId: 'shop', type: 'shop', data: { offer: 'starter' } }],
      plan: EXAMPLE_PLAN,
      cause: null,
    },
  },
)
export type RunResult = AnswerOf<typeof runAnswer>

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

export const runCall = playerCall({
  request: runRequest,
  command: readRun,
  contract: {
    id: 'readRun',
    tag: 'Scenarios',
    summary: 'Read a run, with its last plan.',
    answer: runAnswer,
    refusals: ['runNotFound', 'scenarioNotFound'],
  },
})
