import type { Group } from '../commit/group.ts'
import { Refusal } from '../errors.ts'
import { Stream } from '../events/append.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import { Holdings } from '../wallet/holdings.ts'
import type { Definition, Reward } from './definition.ts'
import { type Crossing, type ExecutionPlan, granted, type Walk, walk } from './plan.ts'
import { type Run, Runs } from './runs.ts'
import { Scenarios } from './scenarios.ts'

export interface RunInput {
  readonly scenarioId: string
  readonly runId: string
}

/** A player's turn inside its own active run, at the scenario's current version. */
export interface Session {
  readonly player: PlayerRef
  readonly definition: Definition
  readonly run: Run
  readonly now: Date
}

/** Names what every call inside a run rests on. */
export function wantSession(group: Group, player: PlayerRef, { scenarioId, runId }: RunInput): void {
  group.of(Standing).want(player)
  group.of(Scenarios).want({ environmentId: player.environmentId, scenarioId })
  group.of(Runs).want(player, runId)
}

/** Refuses in this order: the player, the scenario, the run, the run's state. */
export function openSession(group: Group, player: PlayerRef, { scenarioId, runId }: RunInput): Session {
  group.of(Standing).require(player)
  const definition = group.of(Scenarios).require({ environmentId: player.environmentId, scenarioId })
  const run = group.of(Runs).get(player, runId)
  if (!run || run.scenarioId !== scenarioId) throw new Refusal('runNotFound')
  if (run.status !== 'active') throw new Refusal('runNotActive')
  return { player, definition, run, now: group.of(Standing).now }
}

/** Whether the call's own rewards and those that its crossings lead to all fit into the player's holdings. */
export function hasRoom(
  group: Group,
  session: Session,
  crossings: readonly Crossing[],
  own: readonly Reward[] = [],
): boolean {
  const { grants } = walk(session.definition, session.run.active, crossings)
  return fits(group, session.player, [...own, ...grants.flatMap(({ rewards }) => rewards)])
}

/**
 * Walks on from crossings and records everything that follows: rewards, the run, the events. Refuses rewards that
 * would carry a balance past int64 before it changes anything.
 */
export function cross(group: Group, session: Session, crossings: readonly Crossing[]): ExecutionPlan | null {
  if (crossings.length === 0) return null
  return record(group, session.player, session.run, walk(session.definition, session.run.active, crossings))
}

function fits(group: Group, player: PlayerRef, rewards: readonly Reward[]): boolean {
  return rewards.length === 0 || group.of(Holdings).canGrant(player, rewards)
}

/** Writes a walk down: the run as it is afterwards, the rewards, and an event for each crossing. Refuses first. */
export function record(group: Group, player: PlayerRef, run: Run, step: Walk): ExecutionPlan {
  if (
    !fits(
      group,
      player,
      step.grants.flatMap(({ rewards }) => rewards),
    )
  )
    throw new Refusal('balanceLimitExceeded')
  const plan: ExecutionPlan = {
    runId: run.runId,
    status: step.completed ? 'completed' : 'active',
    crossed: step.crossings.map(({ nodeId, handle }) => ({ nodeId, handle })),
    entered: step.entered,
    granted: step.grants.flatMap(({ rewards }) => rewards.map(granted)),
  }
  for (const { nodeId, rewards } of step.grants) {
    group
      .of(Holdings)
      .grant(player, rewards, { reason: 'reward_node', reference: `${run.scenarioId}/${nodeId}/${run.runId}` })
  }
  group.of(Runs).set({ ...run, active: step.active, status: plan.status }, plan)
  for (const { nodeId, handle, data } of step.crossings) {
    group.of(Stream).append({
      environmentId: player.environmentId,
      type: 'crossing',
      handle,
      playerId: player.playerId,
      scenarioId: run.scenarioId,
      nodeId,
      runId: run.runId,
      data,
    })
  }
  return plan
}
