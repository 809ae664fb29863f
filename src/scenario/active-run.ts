import type { Group } from '../commit/group.ts'
import type { One, Player, PlayerRef } from '../commit/player.ts'
import { Refusal } from '../errors.ts'
import { Stream } from '../events/append.ts'
import { askStatus, requireActive } from '../players/player-status.ts'
import { grant } from '../wallet/holdings.ts'
import type { Definition, Reward } from './definition.ts'
import { type Crossing, type ExecutionPlan, granted, type Walk, walk } from './plan.ts'
import { addPayments, settle } from './reward-payments.ts'
import { askRun, type Run, setRun } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export interface RunInput {
  readonly scenarioId: string
  readonly runId: string
}

/** The rows that every call inside a run needs. While the group waits, they are not read yet. */
export interface RunRows {
  readonly player: Player
  /** The current definition; while the group waits, the last seen one. */
  readonly definition: Definition | null | undefined
  readonly run: One<Run> | null
}

/** Asks for a run of the player, at the scenario's current version. */
export function askRunRows(group: Group, ref: PlayerRef, { scenarioId, runId }: RunInput): RunRows {
  const player = group.player(ref)
  askStatus(player)
  const definition = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
  return { player, definition, run: askRun(player, runId) }
}

/** Refuses in this order: the player, the scenario, the run, the run's status. */
export function requireActiveRun(
  { player, definition, run }: RunRows,
  scenarioId: string,
): { definition: Definition; run: Run } {
  requireActive(player)
  const current = requireScenario(definition)
  const row = run?.value
  if (!row || row.scenarioId !== scenarioId) throw new Refusal('runNotFound')
  if (row.status !== 'active') throw new Refusal('runNotActive')
  return { definition: current, run: row }
}

/** The walk from crossings in a run, with the rewards that pay. While the group waits, the result is meaningless. */
export function settleWalk(player: Player, definition: Definition, run: Run, crossings: readonly Crossing[]): Walk {
  return settle(player, run.scenarioId, run.runId, walk(definition, run.active, crossings))
}

/** All rewards that a walk grants. */
export function rewardsOf({ grants }: Walk): readonly Reward[] {
  return grants.length === 0 ? NOTHING : grants.flatMap(({ rewards }) => rewards)
}

const NOTHING: readonly Reward[] = []

/**
 * Records a walk: the run after it, the rewards, and an event for each crossing. The caller must check first that the
 * rewards fit. Null when nothing was crossed.
 */
export function record(group: Group, player: Player, run: Run, step: Walk): ExecutionPlan | null {
  if (step.crossings.length === 0 && step.entered.length === 0) return null
  const { runId, scenarioId } = run
  const plan: ExecutionPlan = {
    runId,
    status: step.completed ? 'completed' : 'active',
    crossed: step.crossings.map(({ nodeId, handle }) => ({ nodeId, handle })),
    entered: step.entered,
    granted: rewardsOf(step).map(granted),
  }
  for (const { nodeId, rewards } of step.grants)
    grant(group, player, rewards, { reason: 'reward_node', reference: `${scenarioId}/${nodeId}/${runId}` })
  addPayments(group, player, run, step)
  setRun(player, { runId, scenarioId, status: plan.status, active: step.active, cause: null }, plan)
  const { environmentId, playerId } = player
  const at = { environmentId, playerId, scenarioId, runId }
  for (const { nodeId, handle, data, byClient = false } of step.crossings)
    group.of(Stream).append({ ...at, type: 'crossing', handle, nodeId, byClient, data })
  return plan
}
