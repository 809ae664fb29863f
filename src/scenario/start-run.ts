import { newId } from '../db/ids.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, scenarioId as scenarioIdField, type Unkeyed } from '../declare/common.ts'
import { playerCall } from '../declare/player-call.ts'
import { type RequestOf, shape } from '../declare/shape.ts'
import { admitActive, askStatus, requireActive } from '../players/player-status.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { requireRoom } from '../wallet/holdings.ts'
import { begin, EXAMPLE_PLAN, executionPlan, isLost } from './plan.ts'
import { settle } from './reward-payments.ts'
import { askActiveRun, askCancel, askPlan, askRun, askWalk, cancel, type Run, record } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export const startRunRequest = shape(
  { scenarioId: scenarioIdField, idempotencyKey },
  { name: 'StartRunRequest', example: { scenarioId: 'season-1' } },
)
export type StartRun = Unkeyed<RequestOf<typeof startRunRequest>>

export const startRunAnswer = answer(
  'The active run. For a resumed run, `plan` is the last plan.',
  {
    runId: out.text('Id of the run.'),
    resumed: out.flag('True when the run was already active.'),
    plan: out.orNull(executionPlan),
  },
  {
    name: 'StartRunResponse',
    example: {
      runId: EXAMPLE_RUN.runId,
      resumed: false,
      plan: {
        ...EXAMPLE_PLAN,
        crossed: [{ nodeId: 'start', handle: 'onStart' }],
        entered: [{ nodeId: 'shop', type: 'shop', data: { offer: 'starter' } }],
      },
    },
  },
)
export type StartResult = AnswerOf<typeof startRunAnswer>

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
    *decide(group) {
      const { player, found, active } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const found = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
        return { player, found, active: askActiveRun(player, scenarioId) }
      })
      requireActive(player)
      const definition = requireScenario(found)
      let lost: Run | null = null
      if (active.value) {
        const { runId } = active.value
        const { run, last } = yield* group.rows(() => ({ run: askRun(player, runId), last: askPlan(player, runId) }))
        lost = run?.value ?? null
        if (!lost || !isLost(definition, lost)) return { runId, resumed: true, plan: last.value?.plan ?? null }
        yield* group.rows(() => {
          group.askTransaction()
          askCancel(player, runId)
        })
      }

      const begun = begin(definition)
      const { step, rewards } = yield* askWalk(group, player, () => settle(player, scenarioId, null, begun))
      requireRoom(player, rewards)
      if (lost) cancel(group, player, lost, 'definition changed')
      const runId = newId()
      const own: Run = { runId, scenarioId, status: 'active', active: [], cause: null }
      return { runId, resumed: false, plan: record(group, player, own, step) }
    },
  }
}

export const startRunCall = playerCall({
  request: startRunRequest,
  action: 'run.start',
  command: startRun,
  contract: {
    id: 'startRun',
    tag: 'Scenarios',
    summary:
      'Start a run, or resume the active one. When an edit has removed all active nodes of a run, the run ends as `cancelled` and another one begins.',
    answer: startRunAnswer,
    refusals: ['scenarioNotFound', 'balanceLimitExceeded', 'idempotencyKeyReused'],
  },
})
