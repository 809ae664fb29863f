import type { Group } from '../commit/group.ts'
import type { One, Player, PlayerRef } from '../commit/player.ts'
import { Refusal } from '../errors.ts'
import { Stream } from '../events/append.ts'
import { askStanding, requireActive } from '../players/standing.ts'
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

/** What every call inside a run rests on. While the group waits, its rows are not read yet. */
export interface Session {
  readonly player: Player
  /** The current definition; while the group waits, the one that was last seen. */
  readonly definition: Definition | null | undefined
  readonly run: One<Run> | null
}

/** Asks for a player's own run, at the scenario's current version. */
export function askSession(group: Group, ref: PlayerRef, { scenarioId, runId }: RunInput): Session {
  const player = group.player(ref)
  askStanding(player)
  const definition = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
  return { player, definition, run: askRun(player, runId) }
}

/** Refuses in this order: the player, the scenario, the run, the run's state. */
export function openSession(
  { player, definition, run }: Session,
  scenarioId: string,
): { definition: Definition; run: Run } {
  requireActive(player)
  const current = requireScenario(definition)
  const row = run?.value
  if (!row || row.scenarioId !== scenarioId) throw new Refusal('runNotFound')
  if (row.status !== 'active') throw new Refusal('runNotActive')
  return { definition: current, run: row }
}

/** Where crossings lead in a run, with the rewards that are paid. While the group waits, the answer is of no use. */
export function follow(player: Player, definition: Definition, run: Run, crossings: readonly Crossing[]): Walk {
  return settle(player, run.scenarioId, run.runId, walk(definition, run.active, crossings))
}

/** All that the reward nodes of a walk grant. */
export function rewardsOf({ grants }: Walk): readonly Reward[] {
  return grants.length === 0 ? NOTHING : grants.flatMap(({ rewards }) => rewards)
}

const NOTHING: readonly Reward[] = []

/**
 * Writes a walk down: the run as it is afterwards, the rewards, and an event for each crossing. That the rewards fit is
 * for the caller to see first. Null when nothing was crossed.
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
