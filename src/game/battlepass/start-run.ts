import { newId } from '../../db/ids.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, scenarioId as scenarioIdField, type Unkeyed } from '../../declare/common.ts'
import { playerCall } from '../../declare/player-call.ts'
import { type RequestOf, shape } from '../../declare/shape.ts'
import { admitActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { askBegin, beginRun, hasRoom } from '../runs/begin-run.ts'
import { EXAMPLE_PLAN, executionPlan, joined } from '../runs/plan.ts'
import { askRun, notePlan } from '../runs/runs.ts'
import { askCarried, carry, seasonAfter } from './next-season.ts'

export const startRunRequest = shape(
  { scenarioId: scenarioIdField, idempotencyKey },
  { name: 'StartRunRequest', example: { scenarioId: 'season-1' } },
)
export type StartRun = Unkeyed<RequestOf<typeof startRunRequest>>

const startedRun = {
  runId: out.id('Id of the run.'),
  resumed: out.flag('True when the run was already active.'),
  plan: out.orNull(executionPlan),
}

export const nextRun = answer(
  'The run of the next season.',
  { scenarioId: out.text('The scenario of the next season. From now on, xp goes there.'), ...startedRun },
  { name: 'NextRun' },
)

export const startRunAnswer = answer(
  'The active run. For a resumed run, `plan` is the last plan.',
  {
    ...startedRun,
    next: out.optional(
      out.orNull(
        nextRun,
        'The run of the season that follows. Over REST it is absent unless the season of this scenario has ended and another one follows.',
      ),
    ),
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
 * Starts the player's run of a scenario, or resumes the active one: there is never a second (contract 12). Once its
 * season has ended, the run of the season that follows is started, too; what a player takes along from the season before
 * is given with it.
 */
export function startRun(ref: PlayerRef, { scenarioId, idempotencyKey: key }: StartRun): Command<StartResult> {
  const { environmentId } = ref
  return {
    player: ref,
    once: {
      operation: 'start',
      key,
      request: { scenarioId },
      admit: (group) => admitActive(group, ref),
      about: ({ runId, next }) => [runId, ...(next ? [next.runId] : [])],
    },
    *decide(group) {
      const [runId, nextRunId] = [newId(), newId()]
      const { own, next, carried } = yield* group.rows(() => {
        const own = askBegin(group, ref, scenarioId)
        const after = seasonAfter(group, { environmentId, scenarioId })
        const next = after === null ? null : askBegin(group, ref, after)
        const into = next ?? own
        const begunId = into.resumed?.runId ?? (next ? nextRunId : runId)
        return { own, next, carried: askCarried(group, ref, into, begunId) }
      })
      const started = beginRun(group, ref, own, runId)
      // Otherwise the next season waits: a later start tries again.
      const followed = next && hasRoom(group, ref, next) ? beginRun(group, ref, next, nextRunId) : null
      const begun = followed ?? started
      const player = group.player(ref)

      let { plan } = begun
      for (const one of carried) {
        // A next season that was not started gets nothing yet.
        const run = next && !followed ? null : askRun(player, begun.runId)?.value
        const more = run ? yield* carry(group, player, one, run) : null
        // The plan of a resumed run is that of an earlier call.
        if (more) plan = begun.resumed ? more : joined(plan, more)
      }
      if (plan !== begun.plan) notePlan(player, begun.runId, plan)
      if (!next || !followed) return { ...started, plan, next: undefined }
      return { ...started, next: { scenarioId: next.scenarioId, ...followed, plan } }
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
      'Start a run, or resume the active one. When an edit has removed all active nodes of a run, the run ends as `cancelled` and another one begins. Once the season of the scenario has ended, the next one is started, too, as `next`.',
    answer: startRunAnswer,
    refusals: ['scenarioNotFound', 'balanceLimitExceeded', 'idempotencyKeyReused'],
  },
})
