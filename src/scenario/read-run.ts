import type { Command } from '../commit/group-commit.ts'
import { Refusal } from '../errors.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import { type EnteredNode, type ExecutionPlan, enteredNode } from './plan.ts'
import { type RunStatus, Runs } from './runs.ts'
import { Scenarios } from './scenarios.ts'

export type RunResult = {
  readonly runId: string
  readonly scenarioId: string
  readonly status: RunStatus
  readonly active: readonly EnteredNode[]
  /** The last plan: a client that lost an answer finds it here. */
  readonly plan: ExecutionPlan | null
}

/** Reads the player's own run, with its active nodes as the current version defines them. */
export function readRun(player: PlayerRef, { runId }: { runId: string }): Command<RunResult> {
  return {
    lane: 'reads',
    needs(group) {
      group.of(Standing).want(player)
      group.of(Runs).want(player, runId)
      group.of(Runs).wantPlan(player, runId)
      const run = group.of(Runs).get(player, runId)
      if (run) group.of(Scenarios).want({ environmentId: player.environmentId, scenarioId: run.scenarioId })
    },
    decide(group) {
      group.of(Standing).require(player)
      const run = group.of(Runs).get(player, runId)
      if (!run) throw new Refusal('runNotFound')
      const { nodes } = group.of(Scenarios).require({ environmentId: player.environmentId, scenarioId: run.scenarioId })
      const active = run.active.flatMap((nodeId) => nodes.get(nodeId) ?? [])
      const { scenarioId, status } = run
      const plan = group.of(Runs).plan(player, runId)
      return { runId: run.runId, scenarioId, status, active: active.map(enteredNode), plan }
    },
  }
}
