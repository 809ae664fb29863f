import { uuidv7 } from 'uuidv7'
import type { Command } from '../commit/group-commit.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import { begin, type ExecutionPlan } from './plan.ts'
import { Runs } from './runs.ts'
import { Scenarios } from './scenarios.ts'
import { record } from './session.ts'

export type StartResult = {
  readonly runId: string
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
}

/** Starts the player's run of a scenario, or resumes the one that is active: there is never a second. */
export function startRun(player: PlayerRef, { scenarioId }: { scenarioId: string }): Command<StartResult> {
  const scenario = { environmentId: player.environmentId, scenarioId }
  return {
    needs(group) {
      group.of(Standing).want(player)
      group.of(Scenarios).want(scenario)
      group.of(Runs).wantActive(player, scenarioId)
      const active = group.of(Runs).active(player, scenarioId)
      if (active) group.of(Runs).wantPlan(player, active.runId)
    },
    decide(group) {
      group.of(Standing).require(player)
      const definition = group.of(Scenarios).require(scenario)
      const active = group.of(Runs).active(player, scenarioId)
      if (active) return { runId: active.runId, resumed: true, plan: group.of(Runs).plan(player, active.runId) }

      const { environmentId, playerId } = player
      const run = {
        environmentId,
        playerId,
        runId: uuidv7(),
        scenarioId,
        status: 'active',
        active: [],
      } as const
      return { runId: run.runId, resumed: false, plan: record(group, player, run, begin(definition)) }
    },
  }
}
