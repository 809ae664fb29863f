import { Refusal } from '../../base/errors.ts'
import { isUuid } from '../../declare/shape.ts'
import { Stream } from '../../events/append.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import { type Column, exactJson, json, named, nullable, text, uuid, writeOnly } from '../../transactions/columns.ts'
import { askAnswers, forgetAnswers } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { One, Player, PlayerRef } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import { assetsOf, boostsOf, type Definition, granted, type Reward } from '../definition/definition.ts'
import { askHoldings, grant } from '../wallet/holdings.ts'
import { type Crossing, type ExecutionPlan, type RunStatus, type Walk, walk } from './plan.ts'
import { addPayments, settle } from './reward-payments.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

export const RUN_CAUSES = ['cancelled by support', 'definition changed'] as const
export type RunCause = (typeof RUN_CAUSES)[number]

export const runs = table('runs', {
  key: { runId: named('id', uuid) },
  columns: {
    scenarioId: text,
    status: text as Column<RunStatus>,
    /** Ids of the nodes that were entered and not left. */
    active: json<readonly string[]>(),
    // The plan contains the data of the entered nodes, so it is large, and read only when it is asked for.
    plan: writeOnly(nullable(exactJson<ExecutionPlan>())),
    cause: nullable(text) as Column<RunCause | null>,
  },
  kind: 'state',
  // Only one run of a player and scenario can be active, so a run that ends is written before one that begins.
  order: `r.status = 'active'`,
  computed: { completed_at: `CASE WHEN r.status = 'active' THEN NULL ELSE now() END` },
})
const byId = runs.one({ columns: ['runId', 'scenarioId', 'status', 'active', 'cause'] })
const activeOf = runs.one({ by: ['scenarioId'], where: `t.status = 'active'`, columns: ['runId'] })
const planOf = runs.one({ columns: ['plan'], isKept: false })

/** A player's walk through a scenario. */
export interface Run {
  readonly runId: string
  readonly scenarioId: string
  readonly status: RunStatus
  readonly active: readonly string[]
  /** Null unless the run is cancelled. */
  readonly cause: RunCause | null
}

/**
 * A run of the player, by its id. Text that is no id matches no run: the database would refuse it for the whole group.
 */
export function askRun(player: Player, runId: string): One<Run> | null {
  return isUuid(runId) ? player.one(byId, runId.toLowerCase()) : null
}

/** The player's active run of a scenario. There is at most one. */
export function askActiveRun(player: Player, scenarioId: string): One<{ readonly runId: string }> {
  return player.one(activeOf, scenarioId)
}

/** The plan of the last call that crossed something in a run. */
export function askPlan(player: Player, runId: string): One<{ readonly plan: ExecutionPlan | null }> {
  return player.one(planOf, runId)
}

/** Writes a run after a call, with the plan of the call's answer. */
function setRun(player: Player, run: Run, plan: ExecutionPlan | null): void {
  const { runId, scenarioId, status, active: nodes, cause } = run
  const written = { runId, scenarioId, status, active: nodes, cause, plan }
  player.slot(byId, runId).set(written)
  player.slot(planOf, run.runId).note({ plan })
  const active = player.slot(activeOf, run.scenarioId)
  if (run.status === 'active') active.note({ runId: run.runId })
  else active.note(null)
}

/** The operations whose stored answers the cancelling of a run undoes. Xp, claims and purchases in it stay. */
const RUN_ANSWERS = ['start', 'cross', 'server.cross', 'support.cross_handle']

/** Asks for what `cancel` needs: the last plan, which is kept, and the stored answers. */
export function askCancel(player: Player, runId: string): void {
  askPlan(player, runId)
  askAnswers(player, RUN_ANSWERS)
}

/** Cancels a run, forgets the stored answers that this undoes, and appends the event. Only in a transaction. */
export function cancel(group: Group, player: Player, run: Run, cause: RunCause): void {
  const { runId, scenarioId } = run
  const { environmentId, playerId } = player
  setRun(player, { ...run, status: 'cancelled', active: [], cause }, askPlan(player, runId).value?.plan ?? null)
  forgetAnswers(player, RUN_ANSWERS, (about) => about.includes(runId))
  const at = { environmentId, playerId, scenarioId, runId }
  group
    .of(Stream)
    .append({ ...at, type: 'run.cancelled', handle: null, nodeId: null, byClient: false, data: { cause } })
}

/** Replaces the plan of a run that the call has already written. */
export function notePlan(player: Player, runId: string, plan: ExecutionPlan | null): void {
  const run = player.slot(byId, runId).value
  if (run) setRun(player, run, plan)
}

export interface RunInput {
  readonly scenarioId: string
  readonly runId: string
}

/** The rows that every call inside a run needs. */
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

/** The id of the player's active run, for a server that names none. Empty without one: no run has that id. */
export function* askActive(group: Group, ref: PlayerRef, scenarioId: string): Steps<string> {
  const active = yield* group.rows(() => {
    const player = group.player(ref)
    askStatus(player)
    group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
    return askActiveRun(player, scenarioId)
  })
  return active.value?.runId ?? ''
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

export interface Walked {
  readonly step: Walk
  readonly rewards: readonly Reward[]
}

/** A walk and its rewards, once the rows that they depend on are in memory. */
export const askWalk = (group: Group, player: Player, settled: () => Walk): Steps<Walked> =>
  group.rows(() => {
    const step = settled()
    const rewards = rewardsOf(step)
    askHoldings(player, rewards)
    return { step, rewards }
  })

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
  const all = rewardsOf(step).map(granted)
  const plan: ExecutionPlan = {
    runId,
    status: step.completed ? 'completed' : 'active',
    crossed: step.crossings.map(({ nodeId, handle }) => ({ nodeId, handle })),
    entered: step.entered,
    granted: assetsOf(all),
    boosts: boostsOf(all),
  }
  for (const { nodeId, rewards } of step.grants)
    grant(group, player, rewards, { reason: 'reward_node', reference: `${scenarioId}/${nodeId}/${runId}` })
  addPayments(group, player, run, step)
  setRun(player, { runId, scenarioId, status: plan.status, active: step.active, cause: null }, plan)
  const { environmentId, playerId } = player
  for (const { nodeId, handle, data, byClient = false } of step.crossings)
    group
      .of(Stream)
      .append({ environmentId, playerId, scenarioId, runId, type: 'crossing', handle, nodeId, byClient, data })
  return plan
}
